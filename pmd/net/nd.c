/* SPDX-License-Identifier: BSD-3-Clause */
/* Solicitations for our addresses are answered; advertisements go to the neighbour table. */
#include <string.h>

#include "address.h"
#include "checksum.h"
#include "nd.h"
#include "net.h"
#include "protocols.h"

/* What one message says, and where it goes. */
struct nd_words {
	const uint8_t *to_mac;
	uint16_t vlan;
	const uint8_t *source;
	const uint8_t *destination;
	enum icmpv6_type type;
	uint32_t flags;
	const uint8_t *target;
	enum nd_option_type option; /* with our MAC; 0: none */
};

static void send_nd(struct net *net, struct net_sink *sink, const struct nd_words *words)
{
	uint32_t length = sizeof(struct nd_message);
	uint8_t *at;
	struct nd_message *message;
	uint64_t sum;

	if (words->option)
		length += sizeof(struct nd_option);
	at = frame_begin(sink, words->to_mac, net->mac, words->vlan, ETHER_IPV6,
		(uint32_t)sizeof(struct ipv6_header) + length);
	if (!at) {
		net->counters.drops[NET_BUFFER]++;
		return;
	}
	at = ipv6_build(at, words->source, words->destination, IP_ICMPV6, 0, ND_HOP_LIMIT, length);
	message = (struct nd_message *)at;
	memset(message, 0, sizeof(*message));
	message->header.type = (uint8_t)words->type;
	be32_put(&message->flags, words->flags);
	memcpy(message->target, words->target, 16);
	if (words->option) {
		struct nd_option *option = (struct nd_option *)(message + 1);

		option->type = (uint8_t)words->option;
		option->length = 1;
		memcpy(option->mac, net->mac, 6);
	}
	sum = checksum_pseudo_ipv6(words->source, words->destination, length, IP_ICMPV6);
	be16_put(&message->header.checksum, checksum_finish(checksum_add(sum, message, length)));
	frame_end(sink, words->vlan, (uint32_t)sizeof(struct ipv6_header) + length);
	net->counters.nd_out++;
}

void nd_solicit(
	struct net *net, struct net_sink *sink, const struct neighbour *neighbour, bool to_all)
{
	uint8_t group[16], group_mac[6];
	struct nd_words words = {
		.to_mac = to_all ? group_mac : neighbour->mac,
		.vlan = neighbour->vlan,
		.source = neighbour->source,
		.destination = to_all ? group : neighbour->address,
		.type = ICMPV6_SOLICITATION,
		.target = neighbour->address,
		.option = ND_SOURCE_MAC,
	};

	address_solicited_node(group, neighbour->address);
	address_multicast_mac(group_mac, group);
	send_nd(net, sink, &words);
}

void nd_probe(struct net *net, struct net_sink *sink, uint16_t index)
{
	const struct port_gid *own = &net->addresses[index];
	uint8_t group[16], group_mac[6];
	struct nd_words words = {
		.to_mac = group_mac,
		.vlan = gid_vlan(own),
		.source = address_unspecified,
		.destination = group,
		.type = ICMPV6_SOLICITATION,
		.target = own->gid,
	};

	address_solicited_node(group, own->gid);
	address_multicast_mac(group_mac, group);
	send_nd(net, sink, &words);
}

void nd_announce(struct net *net, struct net_sink *sink, uint16_t index)
{
	const struct port_gid *own = &net->addresses[index];
	uint8_t mac[6];
	struct nd_words words = {
		.to_mac = mac,
		.vlan = gid_vlan(own),
		.source = own->gid,
		.destination = address_all_nodes,
		.type = ICMPV6_ADVERTISEMENT,
		.flags = ND_OVERRIDE,
		.target = own->gid,
		.option = ND_TARGET_MAC,
	};

	address_multicast_mac(mac, address_all_nodes);
	send_nd(net, sink, &words);
}

/* RFC 4861 7.2.4: to the one who asked, or to all if that one has no address yet. */
static void answer(struct net *net, struct net_sink *sink, const struct frame *frame,
	const struct ip_packet *ip, const uint8_t *mac, uint16_t index)
{
	struct nd_words words = {
		.to_mac = mac ? mac : frame->ether->source,
		.vlan = frame->vlan,
		.source = net->addresses[index].gid,
		.destination = ip->source,
		.type = ICMPV6_ADVERTISEMENT,
		.flags = ND_SOLICITED | ND_OVERRIDE,
		.target = net->addresses[index].gid,
		.option = ND_TARGET_MAC,
	};

	if (address_is_unspecified(ip->source))
		nd_announce(net, sink, index);
	else
		send_nd(net, sink, &words);
}

/*
 * The MAC in an option of the kind. NET_FORMAT: an option of length zero, which makes the packet
 * invalid (RFC 4861 4.6), or a MAC that no station can have.
 */
static enum net_drop find_option(
	const struct ip_packet *ip, enum nd_option_type type, const uint8_t **mac)
{
	uint32_t at = sizeof(struct nd_message);

	*mac = NULL;
	while (ip->length - at >= sizeof(struct nd_option)) {
		const struct nd_option *option = (const struct nd_option *)(ip->payload + at);
		uint32_t length = option->length * 8u;

		if (length == 0)
			return NET_FORMAT;
		if (length > ip->length - at)
			return NET_LENGTH;
		if (option->type == type) {
			if (option->length != 1 || !mac_is_unicast(option->mac))
				return NET_FORMAT;
			*mac = option->mac;
		}
		at += length;
	}
	return at == ip->length ? NET_OK : NET_LENGTH;
}

/* RFC 4861 7.1.1 and 7.1.2, what both kinds share. */
static enum net_drop check(const struct ip_packet *ip, const struct nd_message *message)
{
	if (ip->length < sizeof(*message))
		return NET_SHORT;
	if (ip->hop_limit != ND_HOP_LIMIT || message->header.code != 0 ||
		address_is_multicast(message->target) || address_is_ipv4(message->target))
		return NET_FORMAT;
	return NET_OK;
}

/* A question from nobody must go to the target's group, and cannot name a MAC (7.1.1). */
static bool probe_is_valid(
	const struct ip_packet *ip, const struct nd_message *message, const uint8_t *mac)
{
	uint8_t group[16];

	address_solicited_node(group, message->target);
	return !mac && address_equal(ip->destination, group);
}

static enum net_drop solicitation(struct net *net, struct net_sink *sink, const struct frame *frame,
	const struct ip_packet *ip, uint64_t now)
{
	const struct nd_message *message = (const struct nd_message *)ip->payload;
	const uint8_t *mac;
	enum net_drop drop = find_option(ip, ND_SOURCE_MAC, &mac);
	struct neighbour *neighbour;
	uint16_t index;

	if (drop)
		return drop;
	if (address_is_unspecified(ip->source) && !probe_is_valid(ip, message, mac))
		return NET_FORMAT;
	index = net_own_address(net, ip->source, frame->vlan);
	if (index != NET_NO_ADDRESS) {
		net_conflict(net, index, frame->ether->source, now);
		return NET_OK;
	}
	index = net_own_address(net, message->target, frame->vlan);
	if (index == NET_NO_ADDRESS)
		return NET_ADDRESS;
	neighbour = neighbours_find(&net->neighbours, ip->source, frame->vlan);
	if (neighbour && mac)
		neighbours_heard(&net->neighbours, neighbour, mac, now, sink);
	answer(net, sink, frame, ip, mac, index);
	return NET_OK;
}

/* RFC 4861 7.2.5 and appendix C: what the flags and the option say about an entry. */
static void advertised(struct net *net, struct net_sink *sink, struct neighbour *neighbour,
	uint32_t flags, const uint8_t *mac, uint64_t now)
{
	struct neighbours *table = &net->neighbours;
	bool known = neighbour_has_mac(neighbour);

	if (!known && !mac)
		return; /* says nothing that could be used */
	if (known && mac && !(flags & ND_OVERRIDE) && !mac_equal(mac, neighbour->mac)) {
		neighbours_doubt(table, neighbour, now, sink);
		return;
	}
	if (!mac)
		mac = neighbour->mac;
	if (flags & ND_SOLICITED)
		neighbours_answered(table, neighbour, mac, now, sink);
	else
		neighbours_heard(table, neighbour, mac, now, sink);
}

static enum net_drop advertisement(struct net *net, struct net_sink *sink,
	const struct frame *frame, const struct ip_packet *ip, uint64_t now)
{
	const struct nd_message *message = (const struct nd_message *)ip->payload;
	uint32_t flags = be32_get(&message->flags);
	const uint8_t *mac;
	enum net_drop drop = find_option(ip, ND_TARGET_MAC, &mac);
	struct neighbour *neighbour;
	uint16_t index;

	if (drop)
		return drop;
	if (address_is_multicast(ip->destination) && flags & ND_SOLICITED)
		return NET_FORMAT; /* 7.1.2 */
	index = net_own_address(net, message->target, frame->vlan);
	if (index != NET_NO_ADDRESS) {
		net_conflict(net, index, mac ? mac : frame->ether->source, now);
		return NET_OK;
	}
	neighbour = neighbours_find(&net->neighbours, message->target, frame->vlan);
	if (!neighbour)
		return NET_ADDRESS;
	advertised(net, sink, neighbour, flags, mac, now);
	return NET_OK;
}

enum net_drop nd_input(struct net *net, struct net_sink *sink, const struct frame *frame,
	const struct ip_packet *ip, uint64_t now)
{
	const struct nd_message *message = (const struct nd_message *)ip->payload;
	enum net_drop drop = check(ip, message);

	if (drop)
		return drop;
	net->counters.nd_in++;
	if (message->header.type == ICMPV6_SOLICITATION)
		return solicitation(net, sink, frame, ip, now);
	return advertisement(net, sink, frame, ip, now);
}
