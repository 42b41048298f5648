/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers to ping: ICMP (RFC 792, RFC 1122 3.2.2.6) and ICMPv6 (RFC 4443 4.2), within a budget. */
#ifndef UROCE_NET_ECHO_H
#define UROCE_NET_ECHO_H

#include <stdint.h>

#include "frame.h"

struct net;

/* A bucket of tokens: so many answers a second, and so many in a row. */
#define ECHO_RATE 1000u
#define ECHO_BURST 200u

struct echo_budget {
	uint64_t filled; /* until when the tokens have been counted */
	uint32_t tokens;
};

void echo_budget_init(struct echo_budget *budget, uint64_t now);

/* `ip` is an ICMP or ICMPv6 message to one of our addresses; the checksum has been verified. */
enum net_drop echo_input(struct net *net, struct net_sink *sink, const struct frame *frame,
	const struct ip_packet *ip, uint64_t now);

#endif
