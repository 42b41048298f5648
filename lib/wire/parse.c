/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A frame's checks in the order of enum wire_drop: Ethernet, IP, UDP, BTH. Each step is given how
 * many bytes are left and looks at nothing behind them; lengths are only ever compared with, and
 * subtracted from, what is known to be there.
 */
#include <stddef.h>
#include <string.h>

#include "icrc.h"
#include "parse.h"

enum ip_protocol { IP_UDP = 17, IP_FRAGMENT = 44 };

#define IPV4_MF 0x2000
#define IPV4_OFFSET_MASK 0x1fff
#define IPV6_FRAGMENT_LENGTH 8u

/* What lies between two headers that have been checked. */
struct span {
	const uint8_t *data;
	uint32_t length;
};

static bool take(struct span *span, uint32_t length)
{
	if (span->length < length)
		return false;
	span->data += length;
	span->length -= length;
	return true;
}

/* Leaves what follows the Ethernet header in `rest`. */
static enum wire_drop parse_ethernet(struct span *rest, struct wire_packet *packet, uint16_t *type)
{
	const struct ether_header *ether = (const void *)rest->data;
	const struct vlan_header *vlan;

	if (!take(rest, sizeof(*ether)))
		return WIRE_RUNT;
	*type = be16_get(&ether->type);
	if (*type != ETHER_VLAN)
		return WIRE_OK;
	vlan = (const void *)rest->data;
	if (!take(rest, sizeof(*vlan)))
		return WIRE_RUNT;
	packet->has_vlan = true;
	packet->vlan_tci = be16_get(&vlan->tci);
	*type = be16_get(&vlan->type);
	return WIRE_OK;
}

/*
 * RFC 1071: the sum over a header with a right checksum is all ones, in any byte order. Inline, so
 * that the usual length is a constant and the loop is none.
 */
static inline __attribute__((always_inline)) bool sum_is_ones(
	const uint8_t *header, uint32_t length)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < length; i += sizeof(uint32_t)) {
		uint32_t word;

		memcpy(&word, header + i, sizeof(word));
		sum += word;
	}
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16) == 0xffff;
}

static bool ipv4_checksum_ok(const uint8_t *header, uint32_t length)
{
	if (length == sizeof(struct ipv4_header))
		return sum_is_ones(header, sizeof(struct ipv4_header));
	return sum_is_ones(header, length);
}

/* RFC 791. Whatever lies behind the total length is Ethernet's padding and cut off. */
static enum wire_drop parse_ipv4_header(struct span *rest, uint32_t *header_length)
{
	const struct ipv4_header *ip = (const void *)rest->data;
	uint32_t total;

	if (rest->length < sizeof(*ip))
		return WIRE_RUNT;
	*header_length = (ip->version_ihl & 0x0fu) * 4u;
	total = be16_get(&ip->total_length);
	if (ip->version_ihl >> 4 != 4 || *header_length < sizeof(*ip) || total < *header_length)
		return WIRE_IP_HEADER;
	if (total > rest->length)
		return WIRE_RUNT;
	if (!ipv4_checksum_ok(rest->data, *header_length))
		return WIRE_IP_HEADER;
	rest->length = total;
	return WIRE_OK;
}

/* The port decides whether the packet is ours at all; only then are we strict. */
static enum wire_drop parse_udp_port(const struct span *rest, struct wire_packet *packet)
{
	const struct udp_header *udp = (const void *)rest->data;

	if (rest->length < sizeof(*udp))
		return WIRE_RUNT;
	if (be16_get(&udp->destination_port) != ROCE_UDP_PORT)
		return WIRE_NOT_ROCE;
	packet->udp_source_port = be16_get(&udp->source_port);
	return WIRE_OK;
}

static enum wire_drop parse_ipv4(struct span *rest, struct wire_packet *packet)
{
	const struct ipv4_header *ip = (const void *)rest->data;
	uint32_t header_length;
	uint16_t fragment;
	enum wire_drop drop;

	drop = parse_ipv4_header(rest, &header_length);
	if (drop != WIRE_OK)
		return drop;
	packet->ip = rest->data;
	packet->ip_version = 4;
	packet->tos = ip->tos;
	packet->source = ip->source;
	packet->destination = ip->destination;
	if (ip->protocol != IP_UDP)
		return WIRE_NOT_ROCE;
	fragment = be16_get(&ip->fragment);
	if (fragment & IPV4_OFFSET_MASK) /* no UDP header to tell whose it is */
		return WIRE_FRAGMENT;
	take(rest, header_length);
	drop = parse_udp_port(rest, packet);
	if (drop != WIRE_OK)
		return drop;
	if (header_length != sizeof(*ip)) /* the ICRC has no rule for options */
		return WIRE_IP_HEADER;
	return fragment & IPV4_MF ? WIRE_FRAGMENT : WIRE_OK;
}

/* RFC 8200. Of the extension headers only a fragment's is looked at: it may hide a UDP packet. */
static enum wire_drop parse_ipv6(struct span *rest, struct wire_packet *packet)
{
	const struct ipv6_header *ip = (const void *)rest->data;
	uint32_t first;

	if (!take(rest, sizeof(*ip)))
		return WIRE_RUNT;
	first = be32_get(&ip->version_class_flow);
	if (first >> 28 != 6)
		return WIRE_IP_HEADER;
	if (be16_get(&ip->payload_length) > rest->length)
		return WIRE_RUNT;
	rest->length = be16_get(&ip->payload_length);
	packet->ip = (const uint8_t *)ip;
	packet->ip_version = 6;
	packet->tos = (uint8_t)(first >> 20);
	packet->source = ip->source;
	packet->destination = ip->destination;
	if (ip->next_header == IP_FRAGMENT && rest->length >= IPV6_FRAGMENT_LENGTH)
		return rest->data[0] == IP_UDP ? WIRE_FRAGMENT : WIRE_NOT_ROCE;
	if (ip->next_header != IP_UDP)
		return WIRE_NOT_ROCE;
	return parse_udp_port(rest, packet);
}

static enum wire_drop parse_ip(struct span *rest, struct wire_packet *packet, uint16_t type)
{
	switch (type) {
	case ETHER_IPV4:
		return parse_ipv4(rest, packet);
	case ETHER_IPV6:
		return parse_ipv6(rest, packet);
	default:
		packet->ip = rest->data;
		return WIRE_NOT_ROCE;
	}
}

/* A field of three bytes and the flags before it are read as one of four. */
static void take_bth(struct wire_packet *packet, const struct bth *bth)
{
	uint32_t where = be32_get((const struct be32 *)(const void *)&bth->congestion);
	uint32_t order = be32_get((const struct be32 *)(const void *)&bth->ack_request);

	packet->bth = bth;
	packet->opcode = bth->opcode;
	packet->info = opcode_info(bth->opcode);
	packet->pkey = be16_get(&bth->pkey);
	packet->psn = order & 0xffffff;
	packet->destination_qp = where & 0xffffff;
	packet->solicited = bth->flags & BTH_SOLICITED;
	packet->pad = (bth->flags & BTH_PAD_MASK) >> BTH_PAD_SHIFT;
	packet->fecn = where >> 24 & BTH_FECN;
	packet->becn = where >> 24 & BTH_BECN;
	packet->ack_request = order >> 24 & BTH_ACK_REQUEST;
}

/* What the opcode's headers leave, up to the ICRC: payload and pad (9.2.4: PadCnt). */
static enum wire_drop parse_payload(struct span *rest, struct wire_packet *packet)
{
	if (packet->pad && packet->pad >= rest->length)
		return WIRE_PAD;
	if (rest->length % 4)
		return WIRE_ALIGNMENT;
	packet->payload = rest->data;
	packet->payload_length = rest->length - packet->pad;
	if (packet->payload_length && !opcode_is(packet->info, HAS_PAYLOAD))
		return WIRE_UNEXPECTED_PAYLOAD;
	return WIRE_OK;
}

/* `rest` is the UDP payload. */
static enum wire_drop parse_transport(struct span *rest, struct wire_packet *packet)
{
	const struct bth *bth = (const void *)rest->data;

	if (rest->length < sizeof(*bth) + ICRC_LENGTH)
		return WIRE_LENGTH;
	take_bth(packet, bth);
	if (packet->info->service == SERVICE_NONE)
		return WIRE_OPCODE;
	if (rest->length < packet->info->header_length + ICRC_LENGTH)
		return WIRE_LENGTH;
	if (bth->flags & BTH_TVER_MASK)
		return WIRE_TVER;
	take(rest, packet->info->header_length);
	rest->length -= ICRC_LENGTH;
	return parse_payload(rest, packet);
}

/* A copy of a few moves: what compilers make of clearing so many bytes is slower than the parser.
 */
static const struct wire_packet nothing;

enum wire_drop wire_parse(const uint8_t *frame, uint32_t length, struct wire_packet *packet)
{
	struct span rest = {frame, length};
	const struct udp_header *udp;
	enum wire_drop drop;
	uint16_t type;

	*packet = nothing;
	drop = parse_ethernet(&rest, packet, &type);
	if (drop == WIRE_OK)
		drop = parse_ip(&rest, packet, type);
	if (drop != WIRE_OK)
		return drop;
	udp = (const void *)rest.data;
	if (be16_get(&udp->length) != rest.length)
		return WIRE_UDP_LENGTH;
	take(&rest, sizeof(*udp));
	return parse_transport(&rest, packet);
}

static const uint8_t *icrc_of(const struct wire_packet *packet)
{
	return packet->payload + packet->payload_length + packet->pad;
}

uint32_t wire_icrc(const struct wire_packet *packet)
{
	return icrc_packet(
		packet->ip, packet->ip_version, (uint32_t)(icrc_of(packet) - packet->ip));
}

bool wire_icrc_ok(const struct wire_packet *packet)
{
	return wire_icrc(packet) == icrc_get(icrc_of(packet));
}

const char *wire_drop_name(enum wire_drop drop)
{
	static const char *const name[WIRE_DROPS] = {
		[WIRE_OK] = "ok",
		[WIRE_NOT_ROCE] = "not RoCE",
		[WIRE_RUNT] = "runt",
		[WIRE_IP_HEADER] = "IP header",
		[WIRE_FRAGMENT] = "IP fragment",
		[WIRE_UDP_LENGTH] = "UDP length",
		[WIRE_OPCODE] = "opcode",
		[WIRE_LENGTH] = "length",
		[WIRE_TVER] = "transport version",
		[WIRE_PAD] = "pad",
		[WIRE_ALIGNMENT] = "alignment",
		[WIRE_UNEXPECTED_PAYLOAD] = "unexpected payload",
		[WIRE_ICRC] = "ICRC",
	};

	return drop < WIRE_DROPS ? name[drop] : "unknown";
}
