/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast listener discovery (RFC 2710), the listener's half: a switch that watches it passes the
 * solicited-node group of an address on only to those who say that they listen. Version 1 it is,
 * since queriers of version 2 know it, too (RFC 3810 8.3.2).
 */
#ifndef UROCE_NET_MLD_H
#define UROCE_NET_MLD_H

#include <stdint.h>

#include "frame.h"

struct net;

/* "I listen to the solicited-node group of this address of mine." */
void mld_report(struct net *net, struct net_sink *sink, uint16_t index);
/* A query; the checksum has been verified. The reports come from announce_run(), some time later.
 */
enum net_drop mld_input(
	struct net *net, const struct frame *frame, const struct ip_packet *ip, uint64_t now);

#endif
