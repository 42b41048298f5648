/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A packet as a line: Ethernet, IP and UDP as "key=value" where the key isn't plain, the opcode by
 * name, BTH, extension headers, lengths, and the judgement at the end. BTH bits are named if set.
 */
#include "dump.h"
#include "icrc.h"

static void dump_ethernet(struct text *text, const uint8_t *frame, const struct wire_packet *packet)
{
	const struct ether_header *ether = (const void *)frame;

	text_mac(text, ether->source);
	text_put(text, " > ");
	text_mac(text, ether->destination);
	if (packet->has_vlan)
		text_put(text, " vlan=%u pcp=%u dei=%u", packet->vlan_tci & 0xfff,
			packet->vlan_tci >> 13, packet->vlan_tci >> 12 & 1);
}

static void dump_ipv4(struct text *text, const struct wire_packet *packet)
{
	const struct ipv4_header *ip = (const void *)packet->ip;

	text_put(text, " ");
	text_ipv4(text, packet->source);
	text_put(text, " > ");
	text_ipv4(text, packet->destination);
	text_put(text, " tos=0x%02x ttl=%u id=0x%04x", ip->tos, ip->ttl, be16_get(&ip->id));
	if (be16_get(&ip->fragment) != IPV4_DF)
		text_put(text, " fragment=0x%04x", be16_get(&ip->fragment));
	text_put(text, " total=%u", be16_get(&ip->total_length));
}

static void dump_ipv6(struct text *text, const struct wire_packet *packet)
{
	const struct ipv6_header *ip = (const void *)packet->ip;

	text_put(text, " ");
	text_ipv6(text, packet->source);
	text_put(text, " > ");
	text_ipv6(text, packet->destination);
	text_put(text, " class=0x%02x flow=0x%05x hops=%u total=%u", packet->tos,
		be32_get(&ip->version_class_flow) & 0xfffff, ip->hop_limit,
		be16_get(&ip->payload_length));
}

/* "12 (0.64 ms)": table 45. From 2 on, each two steps double the time; 0 comes after 31. */
static void dump_rnr_timer(struct text *text, uint8_t timer)
{
	uint32_t step = timer ? timer : 32;
	uint32_t in_10us = step == 1 ? 1 : (2 + step % 2) << (step / 2 - 1);

	text_put(text, " RNR_NAK timer=%u (%u.%02u ms)", timer, in_10us / 100, in_10us % 100);
}

static const char *nak_name(uint8_t syndrome)
{
	switch (syndrome) {
	case NAK_PSN_SEQUENCE_ERROR:
		return "PSN sequence error";
	case NAK_INVALID_REQUEST:
		return "invalid request";
	case NAK_REMOTE_ACCESS_ERROR:
		return "remote access error";
	case NAK_REMOTE_OPERATIONAL_ERROR:
		return "remote operational error";
	case NAK_INVALID_RD_REQUEST:
		return "invalid RD request";
	default:
		return "reserved code";
	}
}

static void dump_aeth(struct text *text, const struct aeth *aeth)
{
	uint8_t value = aeth->syndrome & AETH_VALUE_MASK;

	switch (aeth->syndrome & (AETH_KIND_MASK | AETH_RESERVED_BIT)) {
	case AETH_ACK:
		if (value == AETH_CREDITS_INVALID)
			text_put(text, " credits=none");
		else
			text_put(text, " credits=%u", value);
		break;
	case AETH_RNR_NAK:
		dump_rnr_timer(text, value);
		break;
	case AETH_NAK:
		text_put(text, " NAK (%s)", nak_name(aeth->syndrome));
		break;
	default:
		text_put(text, " syndrome=reserved");
		break;
	}
	text_put(text, " syndrome=0x%02x msn=%u", aeth->syndrome, be24_get(&aeth->msn));
}

static void dump_atomic(struct text *text, const struct wire_packet *packet)
{
	const struct atomic_eth *atomic = wire_atomic(packet);

	text_put(text, " va=0x%llx rkey=0x%08x", (unsigned long long)be64_get(&atomic->address),
		be32_get(&atomic->rkey));
	text_put(text, packet->opcode == OPCODE_RC_FAA ? " add=0x%llx" : " swap=0x%llx",
		(unsigned long long)be64_get(&atomic->swap_or_add));
	text_put(text, " compare=0x%llx", (unsigned long long)be64_get(&atomic->compare));
}

static void dump_extensions(struct text *text, const struct wire_packet *packet)
{
	const struct opcode_info *info = packet->info;

	if (opcode_is(info, HAS_DETH))
		text_put(text, " qkey=0x%08x source_qp=0x%06x", be32_get(&wire_deth(packet)->qkey),
			be24_get(&wire_deth(packet)->source_qp));
	if (opcode_is(info, HAS_RETH))
		text_put(text, " va=0x%llx rkey=0x%08x dma_len=%u",
			(unsigned long long)be64_get(&wire_reth(packet)->address),
			be32_get(&wire_reth(packet)->rkey), be32_get(&wire_reth(packet)->length));
	if (opcode_is(info, HAS_AETH))
		dump_aeth(text, wire_aeth(packet));
	if (opcode_is(info, HAS_ATOMIC_ETH))
		dump_atomic(text, packet);
	if (opcode_is(info, HAS_ATOMIC_ACK_ETH))
		text_put(text, " original=0x%llx",
			(unsigned long long)be64_get(&wire_atomic_ack(packet)->original));
	if (opcode_is(info, HAS_IMMDT))
		text_put(text, " imm=0x%08x", wire_immediate(packet));
	if (opcode_is(info, HAS_IETH))
		text_put(text, " invalidate=0x%08x", wire_invalidate_rkey(packet));
}

static void dump_bth(struct text *text, const struct wire_packet *packet)
{
	const struct bth *bth = packet->bth;
	const struct opcode_info *info = packet->info;

	if (info->service == SERVICE_NONE)
		text_put(text, " opcode=0x%02x", packet->opcode);
	else if (info->service == SERVICE_CNP)
		text_put(text, " CNP");
	else
		text_put(text, " %s %s", opcode_service_name(info->service), info->name);
	text_put(text, " qp=0x%06x psn=%u pkey=0x%04x", packet->destination_qp, packet->psn,
		packet->pkey);
	text_put(text, "%s%s%s%s%s", packet->solicited ? " solicited" : "",
		packet->ack_request ? " ack_req" : "", bth->flags & BTH_MIGREQ ? " migreq" : "",
		packet->fecn ? " fecn" : "", packet->becn ? " becn" : "");
	if (bth->flags & BTH_TVER_MASK)
		text_put(text, " tver=%u", bth->flags & BTH_TVER_MASK);
	if (bth->congestion & BTH_RESERVED_MASK || bth->ack_request & (uint8_t)~BTH_ACK_REQUEST)
		text_put(text, " reserved=0x%02x,0x%02x", bth->congestion & BTH_RESERVED_MASK,
			bth->ack_request & (uint8_t)~BTH_ACK_REQUEST);
}

static void dump_payload(struct text *text, const struct wire_packet *packet)
{
	struct mad mad;

	text_put(text, " len=%u pad=%u", packet->payload_length, packet->pad);
	if (packet->info->service == SERVICE_UD && packet->destination_qp == QP1 &&
		mad_decode(packet->payload, packet->payload_length, &mad) == 0)
		dump_mad(text, &mad);
}

/* Our packets have no UDP checksum, and any is accepted (RFC 768, RFC 6935 for IPv6). */
static void dump_udp(struct text *text, const struct wire_packet *packet)
{
	const struct udp_header *udp = (const void *)(packet->ip +
		(packet->ip_version == 4 ? sizeof(struct ipv4_header)
					 : sizeof(struct ipv6_header)));

	text_put(text, " udp=%u", packet->udp_source_port);
	if (be16_get(&udp->checksum))
		text_put(text, " checksum=0x%04x", be16_get(&udp->checksum));
}

/* What it is instead, if only that is known. */
static void dump_stranger(
	struct text *text, const uint8_t *frame, const struct wire_packet *packet, uint32_t length)
{
	const struct ether_header *ether = (const void *)frame;
	const struct vlan_header *vlan = (const void *)(ether + 1);

	if (packet->ip_version == 4)
		text_put(text, " protocol=%u",
			((const struct ipv4_header *)(const void *)packet->ip)->protocol);
	else if (packet->ip_version == 6)
		text_put(text, " protocol=%u",
			((const struct ipv6_header *)(const void *)packet->ip)->next_header);
	else
		text_put(text, " type=0x%04x",
			be16_get(packet->has_vlan ? &vlan->type : &ether->type));
	text_put(text, " not RoCE, %u bytes", length);
}

static void dump_headers(struct text *text, const struct wire_packet *packet, enum wire_drop drop)
{
	bool has_udp = packet->bth || drop == WIRE_UDP_LENGTH || drop == WIRE_LENGTH;

	if (packet->ip_version == 4)
		dump_ipv4(text, packet);
	if (packet->ip_version == 6)
		dump_ipv6(text, packet);
	if (has_udp)
		dump_udp(text, packet);
	if (!packet->bth)
		return;
	dump_bth(text, packet);
	/* From here on, the length is known to hold them. */
	if (drop == WIRE_OK || drop > WIRE_LENGTH)
		dump_extensions(text, packet);
	if (drop == WIRE_OK || drop == WIRE_UNEXPECTED_PAYLOAD)
		dump_payload(text, packet);
	else
		text_put(text, " pad=%u", packet->pad);
}

static enum wire_drop judge(struct text *text, const struct wire_packet *packet)
{
	const uint8_t *icrc = packet->payload + packet->payload_length + packet->pad;

	if (wire_icrc_ok(packet)) {
		text_put(text, " icrc=ok");
		return WIRE_OK;
	}
	text_put(text, " icrc=BAD (0x%08x, should be 0x%08x)", icrc_get(icrc), wire_icrc(packet));
	return WIRE_ICRC;
}

enum wire_drop wire_dump(const uint8_t *frame, uint32_t length, char *line, size_t room)
{
	struct text text = text_start(line, room);
	struct wire_packet packet;
	enum wire_drop drop = wire_parse(frame, length, &packet);

	if (length >= sizeof(struct ether_header)) {
		dump_ethernet(&text, frame, &packet);
		dump_headers(&text, &packet, drop);
	}
	if (drop == WIRE_OK)
		return judge(&text, &packet);
	if (drop == WIRE_NOT_ROCE)
		dump_stranger(&text, frame, &packet, length);
	else
		text_put(&text, " bad: %s, %u bytes", wire_drop_name(drop), length);
	return drop;
}
