/* SPDX-License-Identifier: BSD-3-Clause */
/* From two addresses to the next hop's MAC: what a QP's path is resolved by. */
#include <errno.h>
#include <string.h>

#include "address.h"
#include "net.h"

/* The index of a source; a QP names it without a VLAN, which it has from its GID entry. */
static uint16_t source_index(const struct net *net, const uint8_t source[16])
{
	uint16_t i = 0;

	while (i < net->address_count && !address_equal(net->addresses[i].gid, source))
		i++;
	return i;
}

/* The broadcast address of a prefix that we are in is no destination. */
static bool is_broadcast(const struct route *route, const uint8_t destination[16])
{
	return route->on_link && address_is_ipv4(destination) && route->bits <= IPV6_BITS - 2 &&
		(address_tail_is(destination, route->bits, true) ||
			address_tail_is(destination, route->bits, false));
}

/*
 * Whom a solicitation comes from: the QP's source, unless another address of ours shares the
 * neighbour's prefix, since a host may ignore a question from outside its network.
 */
static const uint8_t *asking_address(const struct net *net, uint16_t source, const uint8_t hop[16])
{
	const struct port_gid *own = &net->addresses[source];
	uint16_t vlan = gid_vlan(own);

	if (address_in_prefix(hop, own->gid, address_bits(own->gid, own->prefix_length)))
		return own->gid;
	for (uint16_t i = 0; i < net->address_count; i++) {
		const struct port_gid *other = &net->addresses[i];

		if (gid_vlan(other) == vlan &&
			address_is_ipv4(other->gid) == address_is_ipv4(hop) &&
			address_in_prefix(
				hop, other->gid, address_bits(other->gid, other->prefix_length)))
			return other->gid;
	}
	return own->gid;
}

int net_route(struct net *net, const uint8_t source[16], const uint8_t destination[16],
	uint64_t now, uint32_t *neighbour)
{
	uint16_t index = source_index(net, source);
	const struct route *route;
	const uint8_t *hop;
	uint16_t vlan;

	if (index == net->address_count || !address_is_unicast(destination) ||
		address_is_ipv4(source) != address_is_ipv4(destination))
		return -EINVAL;
	vlan = gid_vlan(&net->addresses[index]);
	if (net_own_address(net, destination, vlan) != NET_NO_ADDRESS)
		return neighbours_open_permanent(
			&net->neighbours, destination, vlan, net->mac, neighbour);
	route = routes_find(&net->routes, destination, vlan);
	if (!route)
		return -ENETUNREACH;
	if (is_broadcast(route, destination))
		return -EINVAL;
	hop = route->on_link ? destination : route->gateway;
	return neighbours_open(
		&net->neighbours, hop, vlan, asking_address(net, index, hop), now, neighbour);
}

int net_neighbour(
	struct net *net, struct net_sink *sink, uint32_t neighbour, uint64_t now, uint8_t mac[6])
{
	return neighbours_ask(&net->neighbours, neighbour, now, mac, sink);
}

uint64_t net_service(struct net *net, struct net_sink *sink, uint64_t now)
{
	uint64_t announcement = announce_run(net, sink, now);
	uint64_t neighbour = neighbours_run(&net->neighbours, now, sink);

	return announcement < neighbour ? announcement : neighbour;
}
