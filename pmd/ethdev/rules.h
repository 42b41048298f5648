/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network rules behind a port's control calls, of which there are two: with addresses of the
 * port's own (own_rules.c, over pmd/net), and with the kernel's (kernel_rules.c, over pmd/netlink).
 * All are called under the control's lock.
 */
#ifndef UROCE_ETHDEV_RULES_H
#define UROCE_ETHDEV_RULES_H

#include <stdint.h>

#include "ethdev.h"
#include "net.h"
#include "port.h"

struct rules;

struct rules_ops {
	/* A frame that is not RoCE. NULL: such frames are somebody else's. */
	void (*input)(struct rules *rules, struct net_sink *sink, const uint8_t *data,
		uint32_t length, uint64_t now);
	/* As in struct port_ops. */
	int (*route)(struct rules *rules, const uint8_t source[16], const uint8_t destination[16],
		uint64_t now, uint32_t *neighbour);
	int (*neighbour)(struct rules *rules, struct net_sink *sink, uint32_t neighbour,
		uint64_t now, uint8_t mac[6]);
	uint64_t (*service)(struct rules *rules, struct net_sink *sink, uint64_t now);
	void (*link_up)(struct rules *rules, uint64_t now);
	/* The port's MAC and its GIDs, into the info. */
	void (*addresses)(const struct rules *rules, struct port_info *info);
	/* A number that moves when the port's epoch has to. */
	uint64_t (*changes)(const struct rules *rules);
	void (*counters)(const struct rules *rules, struct port_counters *counters);
	void (*close)(struct rules *rules);
};

struct rules {
	const struct rules_ops *ops;
};

/* What rules have to know of their port. */
struct rules_port {
	const char *interface; /* the kernel's, or "" */
	unsigned int index;    /* its, or 0 */
	const uint8_t *mac;
	uint32_t mtu;
};

/* 0 or -errno, with a line. */
int own_rules_open(
	const struct rules_port *port, const struct net_config *config, struct rules **rules);
int kernel_rules_open(
	const struct rules_port *port, const struct net_config *config, struct rules **rules);

#endif
