/* SPDX-License-Identifier: BSD-3-Clause */
/* ARP (RFC 826), probes and announcements (RFC 5227). */
#ifndef UROCE_NET_ARP_H
#define UROCE_NET_ARP_H

#include <stdint.h>

#include "frame.h"

struct net;
struct neighbour;

enum net_drop arp_input(
	struct net *net, struct net_sink *sink, const struct frame *frame, uint64_t now);
/* Asks for a neighbour's MAC: everybody, or the MAC that is known (RFC 1122 2.3.2.1). */
void arp_solicit(
	struct net *net, struct net_sink *sink, const struct neighbour *neighbour, bool to_all);
/* "Has anybody this address of mine?" The sender is 0.0.0.0, so that no cache learns from it. */
void arp_probe(struct net *net, struct net_sink *sink, uint16_t index);
/* "I have this address." */
void arp_announce(struct net *net, struct net_sink *sink, uint16_t index);

#endif
