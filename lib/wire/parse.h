/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A frame from the wire, checked as far as it can be without knowing the QP. Nothing is copied:
 * the pointers lead into the frame, which must outlive the struct.
 */
#ifndef UROCE_WIRE_PARSE_H
#define UROCE_WIRE_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "headers.h"
#include "opcode.h"

/* Why a frame was dropped; each has a counter. Order of the checks. */
enum wire_drop {
	WIRE_OK,
	WIRE_NOT_ROCE,	 /* sound so far, but not UDP 4791: for the neighbour code, not an error */
	WIRE_RUNT,	 /* shorter than its headers say */
	WIRE_IP_HEADER,	 /* version, IHL, total length, header checksum of IPv4 */
	WIRE_FRAGMENT,	 /* MF or a fragment offset */
	WIRE_UDP_LENGTH, /* UDP length is not what the IP header leaves */
	WIRE_OPCODE,	 /* unknown opcode: decided before any length arithmetic */
	WIRE_LENGTH,	 /* too short for the opcode's headers and the ICRC */
	WIRE_TVER,	 /* transport header version not 0 (9.6.1.1) */
	WIRE_PAD,	 /* pad longer than what it pads, or padding without payload */
	WIRE_ALIGNMENT,	 /* headers, payload, pad are not a multiple of 4 */
	WIRE_UNEXPECTED_PAYLOAD, /* payload with an opcode that carries none */
	WIRE_ICRC,
	WIRE_DROPS, /* how many there are */
};

struct wire_packet {
	const struct opcode_info *info;
	const struct bth *bth;
	const uint8_t *payload;
	uint32_t payload_length; /* without pad */
	uint32_t psn;
	uint32_t destination_qp;
	uint16_t pkey;
	uint8_t opcode;
	bool solicited;
	bool ack_request;
	bool fecn;
	bool becn;
	uint8_t pad;
	uint8_t ip_version; /* 4 or 6 */
	uint8_t tos;	    /* TOS or traffic class, ECN included */
	bool has_vlan;
	uint16_t vlan_tci;
	const uint8_t *ip;     /* the IPv4 or IPv6 header */
	const uint8_t *source; /* 4 or 16 bytes by ip_version */
	const uint8_t *destination;
	uint16_t udp_source_port;
};

/*
 * Parses `length` bytes at `frame`. Trailing bytes behind the IP packet (Ethernet padding) are
 * allowed. The ICRC is not checked: wire_icrc_ok() does that, after the cheap checks of the QP
 * have let the packet through. After WIRE_NOT_ROCE only the fields up to `ip` may be valid.
 */
enum wire_drop wire_parse(const uint8_t *frame, uint32_t length, struct wire_packet *packet);

/* The ICRC at the end of the packet agrees with its bytes (7.8.1, annex A17.3.3). */
bool wire_icrc_ok(const struct wire_packet *packet);
/* The ICRC that the packet should have. */
uint32_t wire_icrc(const struct wire_packet *packet);

/*
 * FIRST and MIDDLE carry exactly the path MTU, LAST 1 to MTU, ONLY 0 to MTU (9.7.2.1 and C9-... of
 * the responder's length checks). `pmtu` in bytes.
 */
static inline bool wire_length_ok(const struct wire_packet *packet, uint32_t pmtu)
{
	if (opcode_is(packet->info, IS_FIRST) || opcode_is(packet->info, IS_MIDDLE))
		return packet->payload_length == pmtu;
	if (opcode_is(packet->info, IS_LAST) && packet->payload_length == 0)
		return false;
	return packet->payload_length <= pmtu;
}

/* P_Keys match: same 15 bits, not 0, and at least one of them a full member (10.9.3). */
static inline bool wire_pkey_ok(uint16_t received, uint16_t own)
{
	const uint16_t full_member = 0x8000;
	const uint16_t key = 0x7fff;

	return ((received ^ own) & key) == 0 && (own & key) != 0 &&
		((received | own) & full_member) != 0;
}

const char *wire_drop_name(enum wire_drop drop);

/* Extension headers; only where the opcode's table row says that they are there. */
static inline const struct deth *wire_deth(const struct wire_packet *packet)
{
	return (const void *)((const uint8_t *)packet->bth + packet->info->deth);
}

static inline const struct reth *wire_reth(const struct wire_packet *packet)
{
	return (const void *)((const uint8_t *)packet->bth + packet->info->reth);
}

static inline const struct aeth *wire_aeth(const struct wire_packet *packet)
{
	return (const void *)((const uint8_t *)packet->bth + packet->info->aeth);
}

static inline const struct atomic_eth *wire_atomic(const struct wire_packet *packet)
{
	return (const void *)((const uint8_t *)packet->bth + packet->info->atomic);
}

static inline const struct atomic_ack_eth *wire_atomic_ack(const struct wire_packet *packet)
{
	return (const void *)((const uint8_t *)packet->bth + packet->info->atomic_ack);
}

static inline uint32_t wire_immediate(const struct wire_packet *packet)
{
	const struct immdt *immdt =
		(const void *)((const uint8_t *)packet->bth + packet->info->immdt);

	return be32_get(&immdt->data);
}

static inline uint32_t wire_invalidate_rkey(const struct wire_packet *packet)
{
	const struct ieth *ieth = (const void *)((const uint8_t *)packet->bth + packet->info->ieth);

	return be32_get(&ieth->rkey);
}

#endif
