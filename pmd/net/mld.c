/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports, and the queries that ask for them. */
#include <string.h>

#include "address.h"
#include "checksum.h"
#include "mld.h"
#include "net.h"
#include "protocols.h"

#define MLD_HOP_LIMIT 1
#define NS_PER_MS 1000000ull
#define DELAY_MAX 10000u /* ms; RFC 2710 7.3's default */

void mld_report(struct net *net, struct net_sink *sink, uint16_t index)
{
	/* Next header, 8 bytes long; router alert: MLD (RFC 2711); two bytes of padding. */
	static const uint8_t options[8] = {IP_ICMPV6, 0, 5, 2, 0, 0, 1, 0};
	const struct port_gid *own = &net->addresses[index];
	const uint32_t length = sizeof(options) + sizeof(struct mld_message);
	struct mld_message *message;
	uint8_t group[16], mac[6], *at;
	uint64_t sum;

	address_solicited_node(group, own->gid);
	address_multicast_mac(mac, group);
	at = frame_begin(sink, mac, net->mac, gid_vlan(own), ETHER_IPV6,
		(uint32_t)sizeof(struct ipv6_header) + length);
	if (!at) {
		net->counters.drops[NET_BUFFER]++;
		return;
	}
	/* From nobody: a report's source is link-local, and we need not have one (RFC 3590). */
	at = ipv6_build(at, address_unspecified, group, IP_HOP_BY_HOP, 0, MLD_HOP_LIMIT, length);
	memcpy(at, options, sizeof(options));
	message = (struct mld_message *)(at + sizeof(options));
	memset(message, 0, sizeof(*message));
	message->header.type = ICMPV6_MLD_REPORT;
	memcpy(message->group, group, 16);
	sum = checksum_pseudo_ipv6(address_unspecified, group, sizeof(*message), IP_ICMPV6);
	be16_put(&message->header.checksum,
		checksum_finish(checksum_add(sum, message, sizeof(*message))));
	frame_end(sink, gid_vlan(own), (uint32_t)sizeof(struct ipv6_header) + length);
	net->counters.nd_out++;
}

/* Is the query about the group of this address: that one by name, or all? */
static bool is_asked(
	const struct port_gid *own, const struct frame *frame, const struct mld_message *query)
{
	uint8_t group[16];

	if (address_is_ipv4(own->gid) || gid_vlan(own) != frame->vlan)
		return false;
	address_solicited_node(group, own->gid);
	return address_is_unspecified(query->group) || address_equal(query->group, group);
}

enum net_drop mld_input(
	struct net *net, const struct frame *frame, const struct ip_packet *ip, uint64_t now)
{
	const struct mld_message *query = (const struct mld_message *)ip->payload;
	uint64_t delay;

	if (ip->length < sizeof(*query)) /* version 2's are longer */
		return NET_SHORT;
	if (ip->hop_limit != MLD_HOP_LIMIT || !address_is_link_local(ip->source))
		return NET_FORMAT;
	net->counters.nd_in++;
	delay = be16_get(&query->delay);
	delay = (delay < DELAY_MAX ? delay : DELAY_MAX) * NS_PER_MS;
	for (uint16_t i = 0; i < net->address_count; i++)
		if (is_asked(&net->addresses[i], frame, query))
			announce_report(&net->announcements[i],
				now + random_below(&net->neighbours.random, delay + 1));
	return NET_OK;
}
