/* SPDX-License-Identifier: BSD-3-Clause */
/* The CRC, its masks, and the tables that replace a second pass over what varies. */
#include <string.h>

#include "frame.h"
#include "icrc.h"
#include "unit.h"

/* An empty SEND and its ACK as Linux's Soft-RoCE sent them. */
static const uint8_t soft_roce[2][62] = {
	{0x02, 0x00, 0x00, 0x00, 0x99, 0x03, 0x02, 0x00, 0x00, 0x00, 0x99, 0x02, 0x08, 0x00, 0x45,
		0x00, 0x00, 0x2c, 0xd9, 0x3f, 0x40, 0x00, 0x40, 0x11, 0x4c, 0xb7, 0x0a, 0x63, 0x00,
		0x02, 0x0a, 0x63, 0x00, 0x03, 0xc1, 0x69, 0x12, 0xb7, 0x00, 0x18, 0x00, 0x00, 0x04,
		0x00, 0xff, 0xff, 0x00, 0x00, 0x00, 0x13, 0x80, 0x10, 0x00, 0x00, 0xb0, 0xe6, 0xcc,
		0x80},
	{0x02, 0x00, 0x00, 0x00, 0x99, 0x02, 0x02, 0x00, 0x00, 0x00, 0x99, 0x03, 0x08, 0x00, 0x45,
		0x00, 0x00, 0x30, 0x41, 0x0b, 0x40, 0x00, 0x40, 0x11, 0xe4, 0xe7, 0x0a, 0x63, 0x00,
		0x03, 0x0a, 0x63, 0x00, 0x02, 0xc1, 0x69, 0x12, 0xb7, 0x00, 0x1c, 0x00, 0x00, 0x11,
		0x00, 0xff, 0xff, 0x00, 0x00, 0x00, 0x13, 0x00, 0x10, 0x00, 0x00, 0x1f, 0x00, 0x00,
		0x01, 0x0b, 0xc4, 0xa1, 0x14},
};

static void check_value(void)
{
	const uint8_t digits[] = {'1', '2', '3', '4', '5', '6', '7', '8', '9'};

	/* The check value that every catalogue of CRCs gives for CRC-32 of Ethernet. */
	CU_ASSERT_EQUAL(icrc_extend(0, digits, 9), 0xcbf43926);
	CU_ASSERT_EQUAL(slow_crc(digits, 9), 0xcbf43926);
	CU_ASSERT_EQUAL(icrc_extend(icrc_extend(0, digits, 4), digits + 4, 5), 0xcbf43926);
	CU_ASSERT_EQUAL(icrc_extend(0, digits, 0), 0);
}

static void as_soft_roce(void)
{
	CU_ASSERT_EQUAL(icrc_packet(soft_roce[0] + 14, 4, 40), 0x80cce6b0);
	CU_ASSERT_EQUAL(icrc_get(soft_roce[0] + 54), 0x80cce6b0);
	CU_ASSERT_EQUAL(icrc_packet(soft_roce[1] + 14, 4, 44), 0x14a1c40b);
}

static void bytes_on_the_wire(void)
{
	uint8_t at[4];

	icrc_put(at, 0x80cce6b0);
	CU_ASSERT_EQUAL(memcmp(at, soft_roce[0] + 54, 4), 0);
	CU_ASSERT_EQUAL(icrc_get(at), 0x80cce6b0);
}

/* Flips every bit from the IP header to the end of the body: masked bits and no others are free. */
static void check_masks(bool ipv6, const uint8_t *masked)
{
	struct frame_spec spec = {.ipv6 = ipv6, .opcode = 0x04, .body = 8, .psn = 77};
	uint32_t length = (ipv6 ? 40 : 20) + 8 + 12 + 8;
	struct frame frame;
	uint32_t right;
	uint8_t *ip;

	frame_make(&frame, &spec);
	ip = frame.byte + frame.ip;
	right = icrc_packet(ip, ipv6 ? 6 : 4, length);
	CU_ASSERT_EQUAL(right, icrc_get(frame.byte + frame.icrc));
	for (uint32_t bit = 0; bit < length * 8; bit++) {
		uint8_t mask = (uint8_t)(0x80 >> bit % 8);
		uint32_t icrc;

		ip[bit / 8] ^= mask;
		icrc = icrc_packet(ip, ipv6 ? 6 : 4, length);
		CU_ASSERT_EQUAL(icrc == right, (masked[bit / 8] & mask) != 0);
		ip[bit / 8] ^= mask;
	}
}

static void masks(void)
{
	static const uint8_t ipv4[20 + 8 + 12 + 8] = {[1] = 0xff,
		[8] = 0xff,
		[10] = 0xff,
		[11] = 0xff,
		[26] = 0xff,
		[27] = 0xff,
		[32] = 0xff};
	static const uint8_t ipv6[40 + 8 + 12 + 8] = {[0] = 0x0f,
		[1] = 0xff,
		[2] = 0xff,
		[3] = 0xff,
		[7] = 0xff,
		[46] = 0xff,
		[47] = 0xff,
		[52] = 0xff};

	check_masks(false, ipv4);
	check_masks(true, ipv6);
}

/* One byte with `following` bytes behind it: what the CRC changes by. */
static void check_delta(const struct icrc_delta *delta, uint32_t following)
{
	uint8_t byte[80] = {0};
	uint32_t zero = slow_crc(byte, following + 1);

	for (unsigned int value = 0; value < 256; value++) {
		byte[0] = (uint8_t)value;
		CU_ASSERT_EQUAL(delta->by[value], slow_crc(byte, following + 1) ^ zero);
	}
}

static void deltas(void)
{
	check_delta(&icrc_delta_ipv4[0], 17 + 4); /* byte 2 of 20, then UDP's ports */
	check_delta(&icrc_delta_ipv4[1], 16 + 4);
	check_delta(&icrc_delta_ipv6[0], 35 + 4); /* byte 4 of 40 */
	check_delta(&icrc_delta_ipv6[1], 34 + 4);
	CU_ASSERT_EQUAL(icrc_seed_for(7, icrc_delta_ipv4, 0), 7);
}

/* The packet as it is, by a seed that took the masks: every value of each masked byte. */
static void masks_in_the_seed(void)
{
	for (uint32_t value = 0; value < 256; value++)
		for (int ipv6 = 0; ipv6 < 2; ipv6++) {
			struct frame_spec spec = {.ipv6 = ipv6, .opcode = 0x04, .body = 8};
			struct frame frame;
			uint32_t right, seed;
			uint8_t *udp;

			frame_make(&frame, &spec);
			right = icrc_get(frame.byte + frame.icrc);
			seed = icrc_seed(frame.byte + frame.ip, ipv6 ? 6 : 4);
			udp = frame.byte + frame.bth - 8;
			udp[6] = (uint8_t)value;
			udp[7] = (uint8_t)(value ^ 0x5a);
			udp[12] = (uint8_t)(value * 3);
			CU_ASSERT_EQUAL(icrc_behind_seed(seed, udp, 4 + 12 + 8), right);
			udp[8] ^= 1; /* the opcode is not masked */
			CU_ASSERT_NOT_EQUAL(icrc_behind_seed(seed, udp, 4 + 12 + 8), right);
		}
}

/* A seed for length 0 with a length folded in is the seed of a header with that length. */
static void seeds(void)
{
	for (uint32_t length = 0; length < 0x10000; length += 251) {
		struct frame_spec spec = {.ipv6 = length & 1, .opcode = 0x04};
		const struct icrc_delta *delta = spec.ipv6 ? icrc_delta_ipv6 : icrc_delta_ipv4;
		uint8_t version = spec.ipv6 ? 6 : 4;
		struct frame frame;
		uint8_t *field;
		uint32_t seed;

		frame_make(&frame, &spec);
		field = frame.byte + frame.ip + (spec.ipv6 ? 4 : 2);
		memset(field, 0, 2);
		seed = icrc_seed(frame.byte + frame.ip, version);
		field[0] = (uint8_t)(length >> 8);
		field[1] = (uint8_t)length;
		CU_ASSERT_EQUAL(icrc_seed_for(seed, delta, (uint16_t)length),
			icrc_seed(frame.byte + frame.ip, version));
	}
}

/* Around the length up to which the rest is copied, and around ISA-L's own steps. */
static void lengths(void)
{
	for (uint32_t body = 0; body < 1100; body += body < 340 ? 1 : 97)
		for (int ipv6 = 0; ipv6 < 2; ipv6++) {
			struct frame_spec spec = {.ipv6 = ipv6, .opcode = 0x04, .body = body};
			struct frame frame;

			frame_make(&frame, &spec);
			CU_ASSERT_EQUAL(icrc_packet(frame.byte + frame.ip, ipv6 ? 6 : 4,
						frame.icrc - frame.ip),
				frame_icrc(&frame));
		}
}

static const struct unit_case cases[] = {
	UNIT_CASE(check_value),
	UNIT_CASE(as_soft_roce),
	UNIT_CASE(bytes_on_the_wire),
	UNIT_CASE(masks),
	UNIT_CASE(deltas),
	UNIT_CASE(masks_in_the_seed),
	UNIT_CASE(seeds),
	UNIT_CASE(lengths),
};

UNIT_MAIN("wire-icrc", cases)
