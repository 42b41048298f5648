/* SPDX-License-Identifier: BSD-3-Clause */
/* A sender's packets, as they are known again: by everything but what may differ between them. */
#include <string.h>

#include "frame.h"
#include "known.h"
#include "unit.h"

static void parse(const struct frame *frame, struct wire_packet *packet)
{
	CU_ASSERT_EQUAL_FATAL(wire_parse(frame->byte, frame->length, packet), WIRE_OK);
}

/* An ONLY packet of a SEND; sealed, so that its checksums are right. */
static void make(struct frame *frame, bool ipv6, uint32_t body, uint32_t psn)
{
	struct frame_spec spec = {.ipv6 = ipv6, .opcode = 0x04, .body = body, .psn = psn};

	frame_make(frame, &spec);
}

static void know(struct wire_known *known, bool ipv6)
{
	struct wire_packet packet;
	struct frame frame;

	make(&frame, ipv6, 8, 1);
	parse(&frame, &packet);
	wire_know(known, &packet);
}

/* Every bit of IP header and UDP, flipped: `free` has those that don't matter. */
static void check_bits(bool ipv6, const uint8_t *free)
{
	uint32_t length = (ipv6 ? 40 : 20) + 8;
	struct wire_known known;
	struct wire_packet packet;
	struct frame frame;
	uint8_t *ip;

	know(&known, ipv6);
	make(&frame, ipv6, 64, 2);
	parse(&frame, &packet);
	ip = frame.byte + frame.ip;
	CU_ASSERT(wire_known_is(&known, &packet));
	for (uint32_t bit = 0; bit < length * 8; bit++) {
		uint8_t mask = (uint8_t)(0x80 >> bit % 8);

		ip[bit / 8] ^= mask;
		CU_ASSERT_EQUAL(wire_known_is(&known, &packet), (free[bit / 8] & mask) != 0);
		ip[bit / 8] ^= mask;
	}
}

static void what_must_be_the_same(void)
{
	/* TOS, total length, TTL, checksum; UDP's length and checksum */
	static const uint8_t ipv4[28] = {[1] = 0xff,
		0xff,
		0xff,
		[8] = 0xff,
		[10] = 0xff,
		0xff,
		[24] = 0xff,
		0xff,
		0xff,
		0xff};
	/* version (the parser's), class, flow label, length, hop limit; UDP's */
	static const uint8_t ipv6[48] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, [7] = 0xff, [44] = 0xff, 0xff, 0xff, 0xff};

	check_bits(false, ipv4);
	check_bits(true, ipv6);
}

static void nothing_is_known_at_first(void)
{
	struct wire_known known = {.seed = 0};
	struct wire_packet packet;
	struct frame frame;

	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		make(&frame, ipv6, 8, 1);
		parse(&frame, &packet);
		memset(&known, 0, sizeof(known));
		CU_ASSERT(!wire_known_is(&known, &packet));
		wire_know(&known, &packet);
		CU_ASSERT(wire_known_is(&known, &packet));
		wire_forget(&known);
		CU_ASSERT(!wire_known_is(&known, &packet));
	}
}

static void families_are_apart(void)
{
	struct wire_known known;
	struct wire_packet packet;
	struct frame frame;

	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		know(&known, ipv6);
		make(&frame, !ipv6, 8, 1);
		parse(&frame, &packet);
		CU_ASSERT(!wire_known_is(&known, &packet));
	}
}

/* Lengths that the seed has not seen, pads, and what routers and switches change on the way. */
static void icrc_of_others(void)
{
	struct wire_known known;
	struct wire_packet packet;
	struct frame frame;

	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		know(&known, ipv6);
		for (uint32_t body = 0; body < 1100; body += body < 300 ? 4 : 96) {
			make(&frame, ipv6, body, body * 7);
			frame.byte[frame.udp + 6] = (uint8_t)body; /* UDP's checksum */
			frame.byte[frame.bth + 4] = 0xc0;	   /* FECN, BECN */
			parse(&frame, &packet);
			CU_ASSERT(wire_known_is(&known, &packet));
			CU_ASSERT(wire_known_icrc_ok(&known, &packet));
			CU_ASSERT(wire_icrc_ok(&packet));
		}
	}
}

/* Every bit from the BTH to the ICRC itself. */
static void icrc_of_the_broken(void)
{
	struct wire_known known;
	struct wire_packet packet;
	struct frame frame;

	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		know(&known, ipv6);
		make(&frame, ipv6, 40, 5);
		parse(&frame, &packet);
		for (uint32_t bit = frame.bth * 8; bit < (frame.icrc + 4) * 8; bit++) {
			bool masked = bit / 8 == frame.bth + 4;

			frame.byte[bit / 8] ^= (uint8_t)(1 << bit % 8);
			CU_ASSERT_EQUAL(wire_known_icrc_ok(&known, &packet), masked);
			frame.byte[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
}

static const struct unit_case cases[] = {
	UNIT_CASE(what_must_be_the_same),
	UNIT_CASE(nothing_is_known_at_first),
	UNIT_CASE(families_are_apart),
	UNIT_CASE(icrc_of_others),
	UNIT_CASE(icrc_of_the_broken),
};

UNIT_MAIN("wire-known", cases)
