/* SPDX-License-Identifier: BSD-3-Clause */
/* The sorted array: insertion keeps longer prefixes in front, so that the first match is the best.
 */
#include <errno.h>
#include <string.h>

#include "address.h"
#include "routes.h"

static bool same_prefix(const struct route *a, const struct route *b)
{
	return a->bits == b->bits && a->vlan == b->vlan && address_equal(a->prefix, b->prefix);
}

int routes_add(struct routes *routes, const struct route *route)
{
	uint16_t at = 0;

	for (uint16_t i = 0; i < routes->count; i++)
		if (same_prefix(&routes->route[i], route))
			return -EEXIST;
	if (routes->count == ROUTES_MAX)
		return -ENOSPC;
	while (at < routes->count && routes->route[at].bits >= route->bits)
		at++;
	memmove(&routes->route[at + 1], &routes->route[at],
		(size_t)(routes->count - at) * sizeof(*route));
	routes->route[at] = *route;
	routes->count++;
	return 0;
}

/* ::/0 covers the mapped addresses in bits, but IPv6's default route is none of IPv4's. */
static bool covers(const struct route *route, const uint8_t destination[16], bool ipv4)
{
	return address_is_ipv4(route->prefix) == ipv4 &&
		address_in_prefix(destination, route->prefix, route->bits);
}

const struct route *routes_find(
	const struct routes *routes, const uint8_t destination[16], uint16_t vlan)
{
	bool ipv4 = address_is_ipv4(destination);

	for (uint16_t i = 0; i < routes->count; i++) {
		const struct route *route = &routes->route[i];

		if (route->vlan == vlan && covers(route, destination, ipv4))
			return route;
	}
	return NULL;
}
