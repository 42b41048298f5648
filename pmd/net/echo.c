/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The answer goes back to the MAC that the request came from: no route is looked up and no
 * neighbour made, so that a stranger's ping costs one frame and no memory.
 */
#include <string.h>

#include "address.h"
#include "checksum.h"
#include "echo.h"
#include "net.h"
#include "protocols.h"

#define NS_PER_TOKEN (NEIGHBOUR_SECOND / ECHO_RATE)

void echo_budget_init(struct echo_budget *budget, uint64_t now)
{
	budget->filled = now;
	budget->tokens = ECHO_BURST;
}

static bool spend(struct echo_budget *budget, uint64_t now)
{
	uint64_t gained = now > budget->filled ? (now - budget->filled) / NS_PER_TOKEN : 0;

	if (gained >= ECHO_BURST - budget->tokens) {
		budget->tokens = ECHO_BURST;
		budget->filled = now;
	} else {
		budget->tokens += (uint32_t)gained;
		budget->filled += gained * NS_PER_TOKEN;
	}
	if (budget->tokens == 0)
		return false;
	budget->tokens--;
	return true;
}

/* The request's bytes under another type, behind headers of our own. */
static enum net_drop answer(struct net *net, struct net_sink *sink, const struct frame *frame,
	const struct ip_packet *ip, bool ipv4)
{
	uint32_t header = ipv4 ? sizeof(struct ipv4_header) : sizeof(struct ipv6_header);
	uint16_t type = ipv4 ? ETHER_IPV4 : ETHER_IPV6;
	struct icmp_header *reply;
	uint64_t sum = 0;
	uint8_t *at;

	if (header + ip->length > net->mtu)
		return NET_LENGTH;
	at = frame_begin(
		sink, frame->ether->source, net->mac, frame->vlan, type, header + ip->length);
	if (!at)
		return NET_BUFFER;
	if (ipv4) {
		at = ipv4_build(
			at, ip->destination, ip->source, IP_ICMP, ip->traffic_class, ip->length);
	} else {
		at = ipv6_build(at, ip->destination, ip->source, IP_ICMPV6, ip->traffic_class, 64,
			ip->length);
		sum = checksum_pseudo_ipv6(ip->destination, ip->source, ip->length, IP_ICMPV6);
	}
	memcpy(at, ip->payload, ip->length);
	reply = (struct icmp_header *)at;
	reply->type = ipv4 ? ICMP_ECHO_REPLY : ICMPV6_ECHO_REPLY;
	be16_put(&reply->checksum, 0);
	be16_put(&reply->checksum, checksum_finish(checksum_add(sum, at, ip->length)));
	frame_end(sink, frame->vlan, header + ip->length);
	net->counters.echo++;
	return NET_OK;
}

enum net_drop echo_input(struct net *net, struct net_sink *sink, const struct frame *frame,
	const struct ip_packet *ip, uint64_t now)
{
	const struct icmp_header *header = (const struct icmp_header *)ip->payload;
	bool ipv4 = address_is_ipv4(ip->destination);

	if (ip->length < sizeof(struct icmp_echo))
		return NET_SHORT;
	if (header->code != 0)
		return NET_FORMAT;
	/* An answer to a group's or to a forged source would make us somebody's amplifier. */
	if (mac_is_multicast(frame->ether->destination) || !address_is_unicast(ip->source) ||
		net_own_address(net, ip->source, frame->vlan) != NET_NO_ADDRESS)
		return NET_ADDRESS;
	if (!spend(&net->echo, now))
		return NET_RATE;
	return answer(net, sink, frame, ip, ipv4);
}
