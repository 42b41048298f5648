/* SPDX-License-Identifier: BSD-3-Clause */
/* The configuration, checked: a port with a wrong address must not start and then stay silent. */
#include <errno.h>
#include <string.h>

#include "address.h"
#include "net.h"

/* A network's own number and its broadcast address name no host (RFC 1122 3.2.1.3; RFC 3021: /31).
 */
static bool is_network_or_broadcast(const struct port_gid *gid)
{
	unsigned int bits = address_bits(gid->gid, gid->prefix_length);

	return address_is_ipv4(gid->gid) && gid->prefix_length <= 30 &&
		(address_tail_is(gid->gid, bits, false) || address_tail_is(gid->gid, bits, true));
}

static const char *wrong_address(const struct net *net, const struct port_gid *gid)
{
	if (!address_is_unicast(gid->gid))
		return "is not the address of one host";
	if (gid->prefix_length > address_bits_max(gid->gid))
		return "has too long a prefix";
	if (is_network_or_broadcast(gid))
		return "is the network's or the broadcast address of its prefix";
	if (gid->has_vlan && (gid->vlan_id == 0 || gid->vlan_id > VLAN_ID_MAX))
		return "has a VLAN id that is not 1 to 4094";
	/* A source address alone names its VLAN, so one address cannot be on two. */
	for (uint16_t i = 0; i < net->address_count; i++)
		if (address_equal(net->addresses[i].gid, gid->gid))
			return "is given twice";
	if (net->address_count == PORT_GIDS_MAX)
		return "is one more than a port has room for";
	return NULL;
}

static int add_address(struct net *net, const struct port_gid *gid)
{
	const char *wrong = wrong_address(net, gid);
	char text[ADDRESS_TEXT];

	if (wrong) {
		log_error("address %s/%u %s", address_format(text, gid->gid), gid->prefix_length,
			wrong);
		return -EINVAL;
	}
	net->addresses[net->address_count++] = *gid;
	return 0;
}

static int add_family(struct net *net, const struct net_config *config, bool ipv4)
{
	for (uint16_t i = 0; i < config->address_count; i++) {
		int err = 0;

		if (address_is_ipv4(config->addresses[i].gid) == ipv4)
			err = add_address(net, &config->addresses[i]);
		if (err)
			return err;
	}
	return 0;
}

static int add_link_local(struct net *net)
{
	struct port_gid gid = {.prefix_length = 64};

	address_link_local(gid.gid, net->mac);
	return add_address(net, &gid);
}

int net_setup_addresses(struct net *net, const struct net_config *config)
{
	int err = add_family(net, config, true); /* IPv4-mapped GIDs come first */

	if (!err)
		err = add_family(net, config, false);
	if (!err && config->link_local)
		err = add_link_local(net);
	if (!err && net->address_count == 0) {
		log_error("the port has no address: give it one with --address A/P");
		return -EINVAL;
	}
	return err;
}

static void clear_tail(uint8_t prefix[16], unsigned int bits)
{
	for (unsigned int bit = bits; bit < IPV6_BITS; bit++)
		prefix[bit / 8] &= (uint8_t) ~(0x80u >> bit % 8);
}

/* Two addresses of one prefix give one route. */
static int add_connected(struct net *net, const struct port_gid *gid)
{
	struct route route = {.vlan = gid_vlan(gid), .on_link = true};
	int err;

	route.bits = (uint8_t)address_bits(gid->gid, gid->prefix_length);
	memcpy(route.prefix, gid->gid, sizeof(route.prefix));
	clear_tail(route.prefix, route.bits);
	err = routes_add(&net->routes, &route);
	return err == -EEXIST ? 0 : err;
}

static bool on_link(const struct port_gid *own, const uint8_t address[16])
{
	return address_is_ipv4(own->gid) == address_is_ipv4(address) &&
		address_in_prefix(address, own->gid, address_bits(own->gid, own->prefix_length));
}

/* The address of ours whose link holds the gateway; a link-local one is on any link. */
static const struct port_gid *gateway_link(const struct net *net, const struct net_route *route)
{
	for (uint16_t i = 0; i < net->address_count; i++) {
		const struct port_gid *own = &net->addresses[i];

		if (route->has_vlan && gid_vlan(own) != route->vlan_id)
			continue;
		if (on_link(own, route->gateway))
			return own;
		if (address_is_link_local(route->gateway) && !address_is_ipv4(own->gid))
			return own;
	}
	return NULL;
}

static const char *wrong_route(
	const struct net *net, const struct net_route *route, const struct port_gid *link)
{
	if (address_is_ipv4(route->prefix) != address_is_ipv4(route->gateway))
		return "mixes IPv4 and IPv6";
	if (route->prefix_length > address_bits_max(route->prefix))
		return "has too long a prefix";
	if (!address_tail_is(
		    route->prefix, address_bits(route->prefix, route->prefix_length), false))
		return "has bits set behind its prefix length";
	if (!link)
		return "has a gateway that is in the prefix of no address of this port (--address)";
	if (net_own_address(net, route->gateway, gid_vlan(link)) != NET_NO_ADDRESS)
		return "has one of our own addresses as its gateway";
	return NULL;
}

static int add_route(struct net *net, const struct net_route *config)
{
	const struct port_gid *link = gateway_link(net, config);
	const char *wrong = wrong_route(net, config, link);
	char prefix[ADDRESS_TEXT], gateway[ADDRESS_TEXT];
	struct route route = {0};

	if (!wrong) {
		memcpy(route.prefix, config->prefix, sizeof(route.prefix));
		memcpy(route.gateway, config->gateway, sizeof(route.gateway));
		route.vlan = gid_vlan(link);
		route.bits = (uint8_t)address_bits(config->prefix, config->prefix_length);
		if (routes_add(&net->routes, &route) == 0)
			return 0;
		wrong = "is there already, or is one too many";
	}
	log_error("route %s/%u via %s %s", address_format(prefix, config->prefix),
		config->prefix_length, address_format(gateway, config->gateway), wrong);
	return -EINVAL;
}

int net_setup_routes(struct net *net, const struct net_config *config)
{
	int err = 0;

	for (uint16_t i = 0; !err && i < net->address_count; i++)
		err = add_connected(net, &net->addresses[i]);
	for (uint16_t i = 0; !err && i < config->route_count; i++)
		err = add_route(net, &config->routes[i]);
	return err;
}
