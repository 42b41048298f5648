/* SPDX-License-Identifier: BSD-3-Clause */
/* The values of arguments. Each parser takes the whole text and returns 0 or -EINVAL. */
#ifndef UROCE_EAL_VALUES_H
#define UROCE_EAL_VALUES_H

#include <stdint.h>

#include "capture.h"
#include "lcores.h"
#include "net.h"

/* A decimal number in [low, high]. */
int value_number(const char *text, uint32_t low, uint32_t high, uint32_t *number);
/* Numbers of lcores, each once: N, N-M, and lists of both with commas. */
int value_lcores(const char *text, struct lcores *lcores);
/* Six pairs of hex digits between colons; not a group's. */
int value_mac(const char *text, uint8_t mac[6]);
/* A/P or A/P@VLAN. */
int value_address(const char *text, struct port_gid *gid);
/* A gateway's A or A@VLAN, into the route's gateway and VLAN. */
int value_gateway(const char *text, struct net_route *route);
/* A/P, into the route's prefix. */
int value_prefix(const char *text, struct net_route *route);

/* FILE[,snaplen=N][,packets=N][,bytes=N]; the name of the file has no comma. */
int value_capture(const char *text, struct capture_config *capture);

#endif
