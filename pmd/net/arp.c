/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests for our addresses are answered; what the others say of themselves goes to the table. */
#include <string.h>

#include "address.h"
#include "arp.h"
#include "net.h"
#include "protocols.h"

static const uint8_t mac_zero[6];

/* What one ARP packet says, and where it goes. */
struct arp_words {
	const uint8_t *to; /* Ethernet destination */
	uint16_t vlan;
	enum arp_operation operation;
	const uint8_t *sender; /* IPv4 */
	const uint8_t *target_mac;
	const uint8_t *target; /* IPv4 */
};

static void send_arp(struct net *net, struct net_sink *sink, const struct arp_words *words)
{
	struct arp_packet *arp = (struct arp_packet *)frame_begin(
		sink, words->to, net->mac, words->vlan, ETHER_ARP, sizeof(*arp));

	if (!arp) {
		net->counters.drops[NET_BUFFER]++;
		return;
	}
	be16_put(&arp->hardware, ARP_HARDWARE_ETHERNET);
	be16_put(&arp->protocol, ETHER_IPV4);
	arp->hardware_length = sizeof(arp->sender_mac);
	arp->protocol_length = sizeof(arp->sender);
	be16_put(&arp->operation, (uint16_t)words->operation);
	memcpy(arp->sender_mac, net->mac, 6);
	memcpy(arp->sender, words->sender, 4);
	memcpy(arp->target_mac, words->target_mac, 6);
	memcpy(arp->target, words->target, 4);
	frame_end(sink, words->vlan, sizeof(*arp));
	net->counters.arp_out++;
}

void arp_solicit(
	struct net *net, struct net_sink *sink, const struct neighbour *neighbour, bool to_all)
{
	struct arp_words words = {
		.to = to_all ? mac_broadcast : neighbour->mac,
		.vlan = neighbour->vlan,
		.operation = ARP_REQUEST,
		.sender = address_ipv4(neighbour->source),
		.target_mac = mac_zero,
		.target = address_ipv4(neighbour->address),
	};

	send_arp(net, sink, &words);
}

/* Probe and announcement differ in the sender only (RFC 5227 2.1.1, 2.3). */
static void send_own(struct net *net, struct net_sink *sink, uint16_t index, const uint8_t *sender)
{
	const struct port_gid *own = &net->addresses[index];
	struct arp_words words = {
		.to = mac_broadcast,
		.vlan = gid_vlan(own),
		.operation = ARP_REQUEST,
		.sender = sender,
		.target_mac = mac_zero,
		.target = address_ipv4(own->gid),
	};

	send_arp(net, sink, &words);
}

void arp_probe(struct net *net, struct net_sink *sink, uint16_t index)
{
	static const uint8_t nobody[4];

	send_own(net, sink, index, nobody);
}

void arp_announce(struct net *net, struct net_sink *sink, uint16_t index)
{
	send_own(net, sink, index, address_ipv4(net->addresses[index].gid));
}

static void answer(struct net *net, struct net_sink *sink, const struct frame *frame,
	const struct arp_packet *request)
{
	struct arp_words words = {
		.to = request->sender_mac,
		.vlan = frame->vlan,
		.operation = ARP_REPLY,
		.sender = request->target,
		.target_mac = request->sender_mac,
		.target = request->sender,
	};

	send_arp(net, sink, &words);
}

static enum net_drop check(const struct frame *frame, const struct arp_packet *arp)
{
	uint16_t operation;

	if (frame->length < sizeof(*arp))
		return NET_SHORT;
	operation = be16_get(&arp->operation);
	if (be16_get(&arp->hardware) != ARP_HARDWARE_ETHERNET ||
		be16_get(&arp->protocol) != ETHER_IPV4 || arp->hardware_length != 6 ||
		arp->protocol_length != 4)
		return NET_FORMAT;
	if (operation != ARP_REQUEST && operation != ARP_REPLY)
		return NET_TYPE;
	if (!mac_is_unicast(arp->sender_mac))
		return NET_FORMAT;
	return NET_OK;
}

/*
 * The sender gives its own pair. An answer counts as one if it was sent to us alone and names us;
 * everything else is hearsay. An address without an entry is not learned, whatever it says.
 */
static void learn(struct net *net, struct net_sink *sink, const struct frame *frame,
	const struct arp_packet *arp, bool for_us, uint64_t now)
{
	struct neighbour *neighbour;
	uint8_t sender[16];

	address_from_ipv4(sender, arp->sender);
	neighbour = neighbours_find(&net->neighbours, sender, frame->vlan);
	if (!neighbour)
		return;
	if (for_us && be16_get(&arp->operation) == ARP_REPLY &&
		!mac_is_multicast(frame->ether->destination))
		neighbours_answered(&net->neighbours, neighbour, arp->sender_mac, now, sink);
	else
		neighbours_heard(&net->neighbours, neighbour, arp->sender_mac, now, sink);
}

enum net_drop arp_input(
	struct net *net, struct net_sink *sink, const struct frame *frame, uint64_t now)
{
	const struct arp_packet *arp = (const struct arp_packet *)frame->payload;
	enum net_drop drop = check(frame, arp);
	uint8_t address[16];
	uint16_t index;

	if (drop)
		return drop;
	net->counters.arp_in++;
	address_from_ipv4(address, arp->sender);
	index = net_own_address(net, address, frame->vlan);
	if (index != NET_NO_ADDRESS) {
		if (mac_equal(arp->sender_mac, net->mac))
			return NET_OWN;
		net_conflict(net, index, arp->sender_mac, now);
		return NET_OK;
	}
	address_from_ipv4(address, arp->target);
	index = net_own_address(net, address, frame->vlan);
	learn(net, sink, frame, arp, index != NET_NO_ADDRESS, now);
	if (index == NET_NO_ADDRESS)
		return NET_ADDRESS;
	if (be16_get(&arp->operation) == ARP_REQUEST)
		answer(net, sink, frame, arp);
	return NET_OK;
}
