/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A whole packet taken apart: every field of every header in host order, and nothing of the frame
 * itself kept. For tools and tests; what comes out of wire_decode() goes back byte for byte
 * through wire_encode().
 */
#ifndef UROCE_WIRE_FIELDS_H
#define UROCE_WIRE_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include "headers.h"
#include "layout.h"

/* In the order they travel. */
enum wire_header {
	HEADER_ETHERNET,
	HEADER_VLAN,
	HEADER_IPV4,
	HEADER_IPV6,
	HEADER_UDP,
	HEADER_BTH,
	HEADER_DETH,
	HEADER_RETH,
	HEADER_AETH,
	HEADER_ATOMIC_ETH,
	HEADER_ATOMIC_ACK_ETH,
	HEADER_IMMDT,
	HEADER_IETH,
	HEADER_CNP,
	WIRE_HEADERS, /* how many there are */
};

#define WIRE_FIELDS_PAYLOAD 9216u /* a jumbo frame's */
#define WIRE_FIELDS_TRAILER 64u
#define WIRE_FIELDS_FRAME (WIRE_FIELDS_PAYLOAD + 256u + WIRE_FIELDS_TRAILER)

struct wire_fields {
	uint32_t headers; /* 1 << enum wire_header for each that is there */
	struct {
		uint8_t destination[6];
		uint8_t source[6];
		uint16_t type;
	} ethernet;
	struct {
		uint8_t pcp;
		uint8_t dei;
		uint16_t vid;
		uint16_t type;
	} vlan;
	struct {
		uint8_t version;
		uint8_t ihl;
		uint8_t dscp;
		uint8_t ecn;
		uint16_t total_length;
		uint16_t id;
		uint8_t reserved_flag;
		uint8_t dont_fragment;
		uint8_t more_fragments;
		uint16_t fragment_offset;
		uint8_t ttl;
		uint8_t protocol;
		uint16_t checksum;
		uint32_t source;
		uint32_t destination;
	} ipv4;
	struct {
		uint8_t version;
		uint8_t dscp;
		uint8_t ecn;
		uint32_t flow_label;
		uint16_t payload_length;
		uint8_t next_header;
		uint8_t hop_limit;
		uint8_t source[16];
		uint8_t destination[16];
	} ipv6;
	struct {
		uint16_t source_port;
		uint16_t destination_port;
		uint16_t length;
		uint16_t checksum;
	} udp;
	struct {
		uint8_t opcode;
		uint8_t solicited;
		uint8_t migreq;
		uint8_t pad_count;
		uint8_t tver;
		uint16_t pkey;
		uint8_t fecn;
		uint8_t becn;
		uint8_t reserved_congestion;
		uint32_t destination_qp;
		uint8_t ack_request;
		uint8_t reserved_ack;
		uint32_t psn;
	} bth;
	struct {
		uint32_t qkey;
		uint8_t reserved;
		uint32_t source_qp;
	} deth;
	struct {
		uint64_t address;
		uint32_t rkey;
		uint32_t length;
	} reth;
	struct {
		uint8_t syndrome;
		uint32_t msn;
	} aeth;
	struct {
		uint64_t address;
		uint32_t rkey;
		uint64_t swap_or_add;
		uint64_t compare;
	} atomic_eth;
	struct {
		uint64_t original;
	} atomic_ack_eth;
	struct {
		uint32_t data;
	} immdt;
	struct {
		uint32_t rkey;
	} ieth;
	struct {
		uint8_t reserved[CNP_RESERVED_LENGTH];
	} cnp;
	uint32_t payload_length;
	uint32_t pad_length;	 /* what is there; bth.pad_count is what the BTH says */
	uint32_t trailer_length; /* behind the IP packet: Ethernet's padding */
	uint32_t icrc;
	uint8_t pad[3];
	uint8_t trailer[WIRE_FIELDS_TRAILER];
	uint8_t payload[WIRE_FIELDS_PAYLOAD];
};

/* Indexed by enum wire_header: the fields of each, which together are all its bits. */
extern const struct layout wire_layout[WIRE_HEADERS];

static inline bool wire_has(const struct wire_fields *fields, enum wire_header header)
{
	return fields->headers >> header & 1;
}

/* Where a header is in the frame, or would be. WIRE_HEADERS: the payload. */
uint32_t wire_header_offset(const struct wire_fields *fields, enum wire_header header);

/*
 * Takes a frame apart that wire_parse() finds sound; its ICRC may be wrong. Returns 0, -EINVAL if
 * it isn't sound, -EMSGSIZE if payload or trailer are longer than the struct's.
 */
int wire_decode(const uint8_t *frame, uint32_t length, struct wire_fields *fields);

/*
 * Writes the headers named in fields->headers, with lengths and checksums as the fields say, right
 * or wrong. Returns the frame's length, -EINVAL if a length is beyond the struct's arrays,
 * -EMSGSIZE if the frame is longer than `room`.
 */
int wire_encode(const struct wire_fields *fields, uint8_t *frame, uint32_t room);

/* The ICRC that belongs to the fields, whatever fields->icrc says. Needs IP, UDP and BTH. */
uint32_t wire_fields_icrc(const struct wire_fields *fields);

#endif
