/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routes: connected prefixes, static routes, default gateways. Longest prefix first.
 *
 * This is a sorted array and neither rte_fib nor rte_lpm: a port has a handful of routes, they are
 * searched when a QP is given its path and never for a packet, a table of 2^24 entries would cost
 * more than it saves, and this folder needs no EAL.
 */
#ifndef UROCE_NET_ROUTES_H
#define UROCE_NET_ROUTES_H

#include <stdbool.h>
#include <stdint.h>

#define ROUTES_MAX 96u /* NET_ROUTES_MAX and a connected prefix per address */

struct route {
	uint8_t prefix[16];
	uint8_t gateway[16]; /* meaningless if on_link */
	uint16_t vlan;
	uint8_t bits; /* of 128; IPv4's are 96 to 128 */
	bool on_link;
};

struct routes {
	uint16_t count;
	struct route route[ROUTES_MAX];
};

/* 0, -EEXIST (same prefix and VLAN), -ENOSPC. */
int routes_add(struct routes *routes, const struct route *route);
/* The most specific route of the VLAN, or NULL. */
const struct route *routes_find(
	const struct routes *routes, const uint8_t destination[16], uint16_t vlan);

#endif
