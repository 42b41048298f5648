/* SPDX-License-Identifier: BSD-3-Clause */
/* What arrives goes to its protocol, what is asked goes to routes and neighbours. */
#include <errno.h>
#include <string.h>

#include "address.h"
#include "arp.h"
#include "checksum.h"
#include "list.h"
#include "mld.h"
#include "nd.h"
#include "net.h"
#include "protocols.h"

static void solicit(struct neighbours *neighbours, const struct neighbour *neighbour, bool to_all,
	void *context)
{
	struct net *net = container_of(neighbours, struct net, neighbours);

	(address_is_ipv4(neighbour->address) ? arp_solicit : nd_solicit)(
		net, context, neighbour, to_all);
}

int net_init(struct net *net, const struct net_config *config, const uint8_t mac[6], uint32_t mtu,
	uint64_t seed, uint64_t now)
{
	int err;

	memset(net, 0, sizeof(*net));
	memcpy(net->mac, mac, sizeof(net->mac));
	net->mtu = mtu;
	if (config->neighbours > NEIGHBOURS_MAX) {
		log_error("%u neighbours are too many: at most %u", config->neighbours,
			NEIGHBOURS_MAX);
		return -EINVAL;
	}
	err = net_setup_addresses(net, config);
	if (!err)
		err = net_setup_routes(net, config);
	if (err)
		return err;
	echo_budget_init(&net->echo, now);
	net_link_up(net, now);
	return neighbours_init(&net->neighbours,
		config->neighbours ? config->neighbours : NET_NEIGHBOURS_DEFAULT, seed, solicit);
}

void net_fini(struct net *net)
{
	neighbours_fini(&net->neighbours);
}

void net_link_up(struct net *net, uint64_t now)
{
	for (uint16_t i = 0; i < net->address_count; i++)
		announce_begin(&net->announcements[i], now);
}

uint16_t net_own_address(const struct net *net, const uint8_t address[16], uint16_t vlan)
{
	for (uint16_t i = 0; i < net->address_count; i++)
		if (gid_vlan(&net->addresses[i]) == vlan &&
			address_equal(net->addresses[i].gid, address))
			return i;
	return NET_NO_ADDRESS;
}

void net_conflict(struct net *net, uint16_t index, const uint8_t mac[6], uint64_t now)
{
	char text[ADDRESS_TEXT];

	net->counters.conflicts++;
	announce_defend(&net->announcements[index], now);
	if (log_limited(&net->conflict_log, now))
		log_error("address conflict: %02x:%02x:%02x:%02x:%02x:%02x uses our address %s too",
			mac[0], mac[1], mac[2], mac[3], mac[4], mac[5],
			address_format(text, net->addresses[index].gid));
}

static enum net_drop icmp_input(struct net *net, struct net_sink *sink, const struct frame *frame,
	const struct ip_packet *ip, uint64_t now)
{
	const struct icmp_header *header = (const struct icmp_header *)ip->payload;

	if (net_own_address(net, ip->destination, frame->vlan) == NET_NO_ADDRESS)
		return NET_ADDRESS;
	if (ip->protocol != IP_ICMP)
		return NET_TYPE;
	if (ip->length < sizeof(*header))
		return NET_SHORT;
	if (checksum_finish(checksum_add(0, ip->payload, ip->length)) != 0)
		return NET_CHECKSUM;
	if (header->type != ICMP_ECHO_REQUEST)
		return NET_TYPE;
	return echo_input(net, sink, frame, ip, now);
}

/* Is the packet for one of our addresses, or for a group that we have joined? */
static bool ipv6_is_ours(
	const struct net *net, const struct frame *frame, const struct ip_packet *ip)
{
	uint8_t group[16];

	if (!address_is_multicast(ip->destination))
		return net_own_address(net, ip->destination, frame->vlan) != NET_NO_ADDRESS;
	for (uint16_t i = 0; i < net->address_count; i++) {
		const struct port_gid *own = &net->addresses[i];

		if (gid_vlan(own) != frame->vlan || address_is_ipv4(own->gid))
			continue;
		address_solicited_node(group, own->gid);
		if (address_equal(ip->destination, group) ||
			address_equal(ip->destination, address_all_nodes))
			return true;
	}
	return false;
}

/* Queries of listeners have hop-by-hop options (RFC 8200 4.3) before them: a router alert. */
static enum net_drop skip_options(struct ip_packet *ip)
{
	uint32_t length;

	if (ip->protocol != IP_HOP_BY_HOP)
		return NET_OK;
	if (ip->length < 8)
		return NET_SHORT;
	length = (ip->payload[1] + 1u) * 8;
	if (length > ip->length)
		return NET_LENGTH;
	ip->protocol = ip->payload[0];
	ip->payload += length;
	ip->length -= length;
	return NET_OK;
}

static enum net_drop icmpv6_input(struct net *net, struct net_sink *sink, const struct frame *frame,
	struct ip_packet *ip, uint64_t now)
{
	const struct icmp_header *header;
	enum net_drop drop;
	uint64_t sum;

	if (!ipv6_is_ours(net, frame, ip))
		return NET_ADDRESS;
	drop = skip_options(ip);
	if (drop)
		return drop;
	if (ip->protocol != IP_ICMPV6)
		return NET_TYPE;
	if (ip->length < sizeof(*header))
		return NET_SHORT;
	header = (const struct icmp_header *)ip->payload;
	sum = checksum_pseudo_ipv6(ip->source, ip->destination, ip->length, IP_ICMPV6);
	if (checksum_finish(checksum_add(sum, ip->payload, ip->length)) != 0)
		return NET_CHECKSUM;
	switch (header->type) {
	case ICMPV6_SOLICITATION:
	case ICMPV6_ADVERTISEMENT:
		return nd_input(net, sink, frame, ip, now);
	case ICMPV6_MLD_QUERY:
		return mld_input(net, frame, ip, now);
	case ICMPV6_ECHO_REQUEST:
		if (address_is_multicast(ip->destination))
			return NET_ADDRESS;
		return echo_input(net, sink, frame, ip, now);
	default:
		return NET_TYPE;
	}
}

static enum net_drop input(
	struct net *net, struct net_sink *sink, const uint8_t *data, uint32_t length, uint64_t now)
{
	struct frame frame;
	struct ip_packet ip;
	enum net_drop drop = frame_parse(&frame, data, length);

	if (drop)
		return drop;
	if (!mac_is_unicast(frame.ether->source))
		return NET_FORMAT;
	if (mac_equal(frame.ether->source, net->mac))
		return NET_OWN;
	if (!mac_is_multicast(frame.ether->destination) &&
		!mac_equal(frame.ether->destination, net->mac))
		return NET_ADDRESS;
	switch (frame.type) {
	case ETHER_ARP:
		return arp_input(net, sink, &frame, now);
	case ETHER_IPV4:
		drop = ipv4_parse(&ip, frame.payload, frame.length);
		return drop ? drop : icmp_input(net, sink, &frame, &ip, now);
	case ETHER_IPV6:
		drop = ipv6_parse(&ip, frame.payload, frame.length);
		return drop ? drop : icmpv6_input(net, sink, &frame, &ip, now);
	default:
		return NET_TYPE;
	}
}

void net_input(
	struct net *net, struct net_sink *sink, const uint8_t *data, uint32_t length, uint64_t now)
{
	net->counters.drops[input(net, sink, data, length, now)]++;
}
