/* SPDX-License-Identifier: BSD-3-Clause */
/* IPv6 neighbour discovery (RFC 4861) and duplicate address detection (RFC 4862). */
#ifndef UROCE_NET_ND_H
#define UROCE_NET_ND_H

#include <stdint.h>

#include "frame.h"

struct net;
struct neighbour;

/* A solicitation or an advertisement; the ICMPv6 checksum has been verified. */
enum net_drop nd_input(struct net *net, struct net_sink *sink, const struct frame *frame,
	const struct ip_packet *ip, uint64_t now);
void nd_solicit(
	struct net *net, struct net_sink *sink, const struct neighbour *neighbour, bool to_all);
/* Duplicate address detection's question (RFC 4862 5.4.2). */
void nd_probe(struct net *net, struct net_sink *sink, uint16_t index);
/* An unsolicited advertisement to all nodes (RFC 4861 7.2.6). */
void nd_announce(struct net *net, struct net_sink *sink, uint16_t index);

#endif
