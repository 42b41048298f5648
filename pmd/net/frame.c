/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layers below ICMP and ARP. Received bytes are a stranger's: every length is checked against
 * what is left before it is used, and nothing is read behind the frame.
 */
#include <string.h>

#include "address.h"
#include "checksum.h"
#include "frame.h"
#include "protocols.h"

#define VLAN_ID_MASK 0x0fff
#define HOP_LIMIT 64

enum net_drop frame_parse(struct frame *frame, const uint8_t *data, uint32_t length)
{
	uint32_t header = sizeof(struct ether_header);

	if (length < header)
		return NET_SHORT;
	frame->ether = (const struct ether_header *)data;
	frame->type = be16_get(&frame->ether->type);
	frame->vlan = VLAN_NONE;
	if (frame->type == ETHER_VLAN) {
		const struct vlan_header *tag = (const struct vlan_header *)(data + header);

		header += sizeof(*tag);
		if (length < header)
			return NET_SHORT;
		frame->vlan = be16_get(&tag->tci) & VLAN_ID_MASK;
		frame->type = be16_get(&tag->type);
	}
	frame->payload = data + header;
	frame->length = length - header;
	return NET_OK;
}

enum net_drop ipv4_parse(struct ip_packet *ip, const uint8_t *data, uint32_t length)
{
	const struct ipv4_header *header = (const struct ipv4_header *)data;
	uint32_t header_length, total;

	if (length < sizeof(*header))
		return NET_SHORT;
	header_length = (header->version_ihl & 0x0fu) * 4;
	total = be16_get(&header->total_length);
	if (header->version_ihl >> 4 != 4 || header_length < sizeof(*header))
		return NET_FORMAT;
	if (total > length || total < header_length)
		return NET_LENGTH;
	if (checksum_finish(checksum_add(0, data, header_length)) != 0)
		return NET_CHECKSUM;
	if (be16_get(&header->fragment) & IPV4_FRAGMENT_MASK)
		return NET_FRAGMENT;
	address_from_ipv4(ip->source, header->source);
	address_from_ipv4(ip->destination, header->destination);
	ip->protocol = header->protocol;
	ip->traffic_class = header->tos;
	ip->hop_limit = header->ttl;
	ip->payload = data + header_length;
	ip->length = total - header_length;
	return NET_OK;
}

enum net_drop ipv6_parse(struct ip_packet *ip, const uint8_t *data, uint32_t length)
{
	const struct ipv6_header *header = (const struct ipv6_header *)data;
	uint32_t first, payload;

	if (length < sizeof(*header))
		return NET_SHORT;
	first = be32_get(&header->version_class_flow);
	payload = be16_get(&header->payload_length);
	if (first >> 28 != 6)
		return NET_FORMAT;
	if (payload > length - sizeof(*header))
		return NET_LENGTH;
	/*
	 * Mapped addresses are IPv4's name in this program and never lie on a wire (RFC
	 * 4291 2.5.5.2): let in, they would let IPv6 speak about IPv4 neighbours. Groups do not
	 * send (2.7).
	 */
	if (address_is_ipv4(header->source) || address_is_ipv4(header->destination) ||
		address_is_multicast(header->source))
		return NET_FORMAT;
	memcpy(ip->source, header->source, sizeof(ip->source));
	memcpy(ip->destination, header->destination, sizeof(ip->destination));
	ip->protocol = header->next_header;
	ip->traffic_class = (uint8_t)(first >> 20);
	ip->hop_limit = header->hop_limit;
	ip->payload = data + sizeof(*header);
	ip->length = payload;
	return NET_OK;
}

static uint32_t padded_length(uint16_t vlan, uint32_t length)
{
	uint32_t whole = frame_header_length(vlan) + length;

	return whole < FRAME_MIN ? FRAME_MIN : whole;
}

uint8_t *frame_begin(struct net_sink *sink, const uint8_t destination[6], const uint8_t source[6],
	uint16_t vlan, uint16_t type, uint32_t length)
{
	uint32_t padded = padded_length(vlan, length);
	uint32_t unpadded = frame_header_length(vlan) + length;
	uint8_t *data = sink->begin(sink, padded);
	struct ether_header *ether = (struct ether_header *)data;

	if (!data)
		return NULL;
	memcpy(ether->destination, destination, 6);
	memcpy(ether->source, source, 6);
	be16_put(&ether->type, vlan ? ETHER_VLAN : type);
	if (vlan) {
		struct vlan_header *tag = (struct vlan_header *)(ether + 1);

		be16_put(&tag->tci, vlan);
		be16_put(&tag->type, type);
	}
	memset(data + unpadded, 0, padded - unpadded);
	return data + frame_header_length(vlan);
}

void frame_end(struct net_sink *sink, uint16_t vlan, uint32_t length)
{
	sink->end(sink, padded_length(vlan, length));
}

uint8_t *ipv4_build(uint8_t *at, const uint8_t source[16], const uint8_t destination[16],
	uint8_t protocol, uint8_t tos, uint32_t length)
{
	struct ipv4_header *header = (struct ipv4_header *)at;

	header->version_ihl = 0x45;
	header->tos = tos;
	be16_put(&header->total_length, (uint16_t)(sizeof(*header) + length));
	be16_put(&header->id, 0); /* atomic datagram: RFC 6864 4.1 */
	be16_put(&header->fragment, IPV4_DF);
	header->ttl = HOP_LIMIT;
	header->protocol = protocol;
	be16_put(&header->checksum, 0);
	memcpy(header->source, address_ipv4(source), 4);
	memcpy(header->destination, address_ipv4(destination), 4);
	be16_put(&header->checksum, checksum_finish(checksum_add(0, header, sizeof(*header))));
	return at + sizeof(*header);
}

uint8_t *ipv6_build(uint8_t *at, const uint8_t source[16], const uint8_t destination[16],
	uint8_t protocol, uint8_t traffic_class, uint8_t hop_limit, uint32_t length)
{
	struct ipv6_header *header = (struct ipv6_header *)at;

	be32_put(&header->version_class_flow, 6u << 28 | (uint32_t)traffic_class << 20);
	be16_put(&header->payload_length, (uint16_t)length);
	header->next_header = protocol;
	header->hop_limit = hop_limit;
	memcpy(header->source, source, 16);
	memcpy(header->destination, destination, 16);
	return at + sizeof(*header);
}
