/* SPDX-License-Identifier: BSD-3-Clause */
/* A packet to and from its fields: the layouts of all headers, and what is behind the headers. */
#include <errno.h>
#include <string.h>

#include "fields.h"
#include "icrc.h"
#include "parse.h"

#define FIELD(header, member, bit, width)                                                          \
	LAYOUT_FIELD(struct wire_fields, header.member, #member, bit, width)

static const struct layout_field ethernet[] = {
	FIELD(ethernet, destination, 0, 48),
	FIELD(ethernet, source, 48, 48),
	FIELD(ethernet, type, 96, 16),
};

static const struct layout_field vlan[] = {
	FIELD(vlan, pcp, 0, 3),
	FIELD(vlan, dei, 3, 1),
	FIELD(vlan, vid, 4, 12),
	FIELD(vlan, type, 16, 16),
};

static const struct layout_field ipv4[] = {
	FIELD(ipv4, version, 0, 4),
	FIELD(ipv4, ihl, 4, 4),
	FIELD(ipv4, dscp, 8, 6),
	FIELD(ipv4, ecn, 14, 2),
	FIELD(ipv4, total_length, 16, 16),
	FIELD(ipv4, id, 32, 16),
	FIELD(ipv4, reserved_flag, 48, 1),
	FIELD(ipv4, dont_fragment, 49, 1),
	FIELD(ipv4, more_fragments, 50, 1),
	FIELD(ipv4, fragment_offset, 51, 13),
	FIELD(ipv4, ttl, 64, 8),
	FIELD(ipv4, protocol, 72, 8),
	FIELD(ipv4, checksum, 80, 16),
	FIELD(ipv4, source, 96, 32),
	FIELD(ipv4, destination, 128, 32),
};

static const struct layout_field ipv6[] = {
	FIELD(ipv6, version, 0, 4),
	FIELD(ipv6, dscp, 4, 6),
	FIELD(ipv6, ecn, 10, 2),
	FIELD(ipv6, flow_label, 12, 20),
	FIELD(ipv6, payload_length, 32, 16),
	FIELD(ipv6, next_header, 48, 8),
	FIELD(ipv6, hop_limit, 56, 8),
	FIELD(ipv6, source, 64, 128),
	FIELD(ipv6, destination, 192, 128),
};

static const struct layout_field udp[] = {
	FIELD(udp, source_port, 0, 16),
	FIELD(udp, destination_port, 16, 16),
	FIELD(udp, length, 32, 16),
	FIELD(udp, checksum, 48, 16),
};

static const struct layout_field bth[] = {
	FIELD(bth, opcode, 0, 8),
	FIELD(bth, solicited, 8, 1),
	FIELD(bth, migreq, 9, 1),
	FIELD(bth, pad_count, 10, 2),
	FIELD(bth, tver, 12, 4),
	FIELD(bth, pkey, 16, 16),
	FIELD(bth, fecn, 32, 1),
	FIELD(bth, becn, 33, 1),
	FIELD(bth, reserved_congestion, 34, 6),
	FIELD(bth, destination_qp, 40, 24),
	FIELD(bth, ack_request, 64, 1),
	FIELD(bth, reserved_ack, 65, 7),
	FIELD(bth, psn, 72, 24),
};

static const struct layout_field deth[] = {
	FIELD(deth, qkey, 0, 32),
	FIELD(deth, reserved, 32, 8),
	FIELD(deth, source_qp, 40, 24),
};

static const struct layout_field reth[] = {
	FIELD(reth, address, 0, 64),
	FIELD(reth, rkey, 64, 32),
	FIELD(reth, length, 96, 32),
};

static const struct layout_field aeth[] = {
	FIELD(aeth, syndrome, 0, 8),
	FIELD(aeth, msn, 8, 24),
};

static const struct layout_field atomic_eth[] = {
	FIELD(atomic_eth, address, 0, 64),
	FIELD(atomic_eth, rkey, 64, 32),
	FIELD(atomic_eth, swap_or_add, 96, 64),
	FIELD(atomic_eth, compare, 160, 64),
};

static const struct layout_field atomic_ack_eth[] = {FIELD(atomic_ack_eth, original, 0, 64)};
static const struct layout_field immdt[] = {FIELD(immdt, data, 0, 32)};
static const struct layout_field ieth[] = {FIELD(ieth, rkey, 0, 32)};
static const struct layout_field cnp[] = {FIELD(cnp, reserved, 0, 8 * CNP_RESERVED_LENGTH)};

const struct layout wire_layout[WIRE_HEADERS] = {
	[HEADER_ETHERNET] = LAYOUT("ethernet", sizeof(struct ether_header), ethernet),
	[HEADER_VLAN] = LAYOUT("vlan", sizeof(struct vlan_header), vlan),
	[HEADER_IPV4] = LAYOUT("ipv4", sizeof(struct ipv4_header), ipv4),
	[HEADER_IPV6] = LAYOUT("ipv6", sizeof(struct ipv6_header), ipv6),
	[HEADER_UDP] = LAYOUT("udp", sizeof(struct udp_header), udp),
	[HEADER_BTH] = LAYOUT("bth", sizeof(struct bth), bth),
	[HEADER_DETH] = LAYOUT("deth", sizeof(struct deth), deth),
	[HEADER_RETH] = LAYOUT("reth", sizeof(struct reth), reth),
	[HEADER_AETH] = LAYOUT("aeth", sizeof(struct aeth), aeth),
	[HEADER_ATOMIC_ETH] = LAYOUT("atomic_eth", sizeof(struct atomic_eth), atomic_eth),
	[HEADER_ATOMIC_ACK_ETH] =
		LAYOUT("atomic_ack_eth", sizeof(struct atomic_ack_eth), atomic_ack_eth),
	[HEADER_IMMDT] = LAYOUT("immdt", sizeof(struct immdt), immdt),
	[HEADER_IETH] = LAYOUT("ieth", sizeof(struct ieth), ieth),
	[HEADER_CNP] = LAYOUT("cnp", CNP_RESERVED_LENGTH, cnp),
};

static uint32_t headers_of(const struct wire_packet *packet)
{
	static const struct {
		enum opcode_property property;
		enum wire_header header;
	} extension[] = {
		{HAS_DETH, HEADER_DETH},
		{HAS_RETH, HEADER_RETH},
		{HAS_AETH, HEADER_AETH},
		{HAS_ATOMIC_ETH, HEADER_ATOMIC_ETH},
		{HAS_ATOMIC_ACK_ETH, HEADER_ATOMIC_ACK_ETH},
		{HAS_IMMDT, HEADER_IMMDT},
		{HAS_IETH, HEADER_IETH},
	};
	uint32_t headers = 1u << HEADER_ETHERNET | 1u << HEADER_UDP | 1u << HEADER_BTH;

	headers |= 1u << (packet->ip_version == 4 ? HEADER_IPV4 : HEADER_IPV6);
	if (packet->has_vlan)
		headers |= 1u << HEADER_VLAN;
	if (packet->info->service == SERVICE_CNP)
		headers |= 1u << HEADER_CNP;
	for (unsigned int i = 0; i < sizeof(extension) / sizeof(extension[0]); i++)
		if (opcode_is(packet->info, extension[i].property))
			headers |= 1u << extension[i].header;
	return headers;
}

uint32_t wire_header_offset(const struct wire_fields *fields, enum wire_header header)
{
	uint32_t offset = 0;

	for (unsigned int before = 0; before < header; before++)
		if (wire_has(fields, before))
			offset += wire_layout[before].length;
	return offset;
}

int wire_decode(const uint8_t *frame, uint32_t length, struct wire_fields *fields)
{
	struct wire_packet packet;
	const uint8_t *end;

	if (wire_parse(frame, length, &packet) != WIRE_OK)
		return -EINVAL;
	end = packet.payload + packet.payload_length + packet.pad + ICRC_LENGTH;
	memset(fields, 0, sizeof(*fields));
	fields->payload_length = packet.payload_length;
	fields->pad_length = packet.pad;
	fields->trailer_length = length - (uint32_t)(end - frame);
	if (fields->payload_length > sizeof(fields->payload) ||
		fields->trailer_length > sizeof(fields->trailer))
		return -EMSGSIZE;
	fields->headers = headers_of(&packet);
	for (unsigned int header = 0; header < WIRE_HEADERS; header++)
		if (wire_has(fields, header))
			layout_decode(&wire_layout[header],
				frame + wire_header_offset(fields, header), fields);
	memcpy(fields->payload, packet.payload, packet.payload_length);
	memcpy(fields->pad, packet.payload + packet.payload_length, packet.pad);
	fields->icrc = icrc_get(end - ICRC_LENGTH);
	memcpy(fields->trailer, end, fields->trailer_length);
	return 0;
}

static uint8_t *put_bytes(uint8_t *to, const uint8_t *bytes, uint32_t length)
{
	memcpy(to, bytes, length);
	return to + length;
}

int wire_encode(const struct wire_fields *fields, uint8_t *frame, uint32_t room)
{
	uint32_t length = wire_header_offset(fields, WIRE_HEADERS);
	uint8_t *to = frame + length;

	if (fields->payload_length > sizeof(fields->payload) ||
		fields->pad_length > sizeof(fields->pad) ||
		fields->trailer_length > sizeof(fields->trailer))
		return -EINVAL;
	length +=
		fields->payload_length + fields->pad_length + ICRC_LENGTH + fields->trailer_length;
	if (length > room)
		return -EMSGSIZE;
	for (unsigned int header = 0; header < WIRE_HEADERS; header++)
		if (wire_has(fields, header))
			layout_encode(&wire_layout[header],
				frame + wire_header_offset(fields, header), fields);
	to = put_bytes(to, fields->payload, fields->payload_length);
	to = put_bytes(to, fields->pad, fields->pad_length);
	icrc_put(to, fields->icrc);
	put_bytes(to + ICRC_LENGTH, fields->trailer, fields->trailer_length);
	return (int)length;
}

uint32_t wire_fields_icrc(const struct wire_fields *fields)
{
	uint8_t frame[WIRE_FIELDS_FRAME];
	bool is_ipv4 = wire_has(fields, HEADER_IPV4);
	uint32_t ip = wire_header_offset(fields, is_ipv4 ? HEADER_IPV4 : HEADER_IPV6);
	int length = wire_encode(fields, frame, sizeof(frame));

	if (length < 0)
		return 0;
	return icrc_packet(frame + ip, is_ipv4 ? 4 : 6,
		(uint32_t)length - fields->trailer_length - ICRC_LENGTH - ip);
}
