/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RoCEv2 frames made the slow way, byte by byte at typed offsets, with a CRC that is worked out
 * bit by bit: nothing here comes from lib/wire, so that tests can hold lib/wire against it.
 */
#ifndef UROCE_TESTS_WIRE_FRAME_H
#define UROCE_TESTS_WIRE_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#define FRAME_MAX 9200u

struct frame_spec {
	bool ipv6;
	bool vlan;
	uint8_t opcode;
	uint8_t flags;	 /* second byte of the BTH, pad count included */
	uint8_t ecn;	 /* fifth byte of the BTH: FECN, BECN, reserved */
	uint8_t request; /* ninth byte of the BTH: AckReq, reserved */
	uint32_t psn;
	uint32_t destination_qp;
	uint32_t body; /* bytes between BTH and ICRC: extension headers, payload, pad */
};

struct frame {
	uint8_t byte[FRAME_MAX];
	uint32_t length;
	uint32_t ip; /* offsets */
	uint32_t udp;
	uint32_t bth;
	uint32_t icrc;
};

/* Addresses, MACs and ports of every frame made here. */
#define FRAME_SOURCE_PORT 0xc169
#define FRAME_PKEY 0xffff
#define FRAME_VLAN 0x6123
#define FRAME_TOS 0x02
#define FRAME_TTL 64
extern const uint8_t frame_destination_mac[6];
extern const uint8_t frame_source_mac[6];
extern const uint8_t frame_source4[4];
extern const uint8_t frame_destination4[4];
extern const uint8_t frame_source6[16];
extern const uint8_t frame_destination6[16];

/* The body is filled with a pattern; frame_seal() makes checksum and ICRC right after changes. */
void frame_make(struct frame *frame, const struct frame_spec *spec);
void frame_seal(struct frame *frame);
/* The same without checksum and ICRC. */
void frame_draft(struct frame *frame, const struct frame_spec *spec);
/* UDP's payload becomes `length` bytes; lengths and checksum of IP and UDP are made right. */
void frame_resize(struct frame *frame, uint32_t length);

/* The ICRC that the frame should have. */
uint32_t frame_icrc(const struct frame *frame);

/* CRC-32 of Ethernet, bit by bit, most significant bit first as the polynomial is written. */
uint32_t slow_crc(const uint8_t *byte, uint32_t length);

#endif
