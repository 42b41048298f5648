/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every opcode with every length, in blocks of exactly the frame's size so that a sanitizer sees
 * any read beyond. What must come out follows from a table of its own, typed from IBTA vol. 1,
 * tables 38 and 39, and from the order of the checks that parse.h names; each drop is counted by
 * its reason, and all reasons together are all frames.
 */
#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "parse.h"
#include "unit.h"

enum place { FIRST_OR_MIDDLE, LAST, ONLY };

/* Bytes of extension headers behind the BTH, and whether payload may follow. */
static const struct row {
	uint8_t opcode;
	uint8_t extension;
	bool payload;
	enum place place;
} known[] = {
	{0x00, 0, true, FIRST_OR_MIDDLE},
	{0x01, 0, true, FIRST_OR_MIDDLE},
	{0x02, 0, true, LAST},
	{0x03, 4, true, LAST},
	{0x04, 0, true, ONLY},
	{0x05, 4, true, ONLY},
	{0x06, 16, true, FIRST_OR_MIDDLE},
	{0x07, 0, true, FIRST_OR_MIDDLE},
	{0x08, 0, true, LAST},
	{0x09, 4, true, LAST},
	{0x0a, 16, true, ONLY},
	{0x0b, 20, true, ONLY},
	{0x0c, 16, false, ONLY},
	{0x0d, 4, true, FIRST_OR_MIDDLE},
	{0x0e, 0, true, FIRST_OR_MIDDLE},
	{0x0f, 4, true, LAST},
	{0x10, 4, true, ONLY},
	{0x11, 4, false, ONLY},
	{0x12, 12, false, ONLY},
	{0x13, 28, false, ONLY},
	{0x14, 28, false, ONLY},
	{0x16, 4, true, LAST},
	{0x17, 4, true, ONLY},
	{0x20, 0, true, FIRST_OR_MIDDLE},
	{0x21, 0, true, FIRST_OR_MIDDLE},
	{0x22, 0, true, LAST},
	{0x23, 4, true, LAST},
	{0x24, 0, true, ONLY},
	{0x25, 4, true, ONLY},
	{0x26, 16, true, FIRST_OR_MIDDLE},
	{0x27, 0, true, FIRST_OR_MIDDLE},
	{0x28, 0, true, LAST},
	{0x29, 4, true, LAST},
	{0x2a, 16, true, ONLY},
	{0x2b, 20, true, ONLY},
	{0x64, 8, true, ONLY},
	{0x65, 12, true, ONLY},
	{0x81, 16, false, ONLY},
};

static const struct row *find(unsigned int opcode)
{
	for (unsigned int i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].opcode == opcode)
			return &known[i];
	return NULL;
}

/* `length` is UDP's payload: BTH, extension headers, payload, pad, ICRC. */
static enum wire_drop expected(const struct row *row, uint32_t length, uint8_t flags)
{
	uint32_t pad = flags >> 4 & 3;
	uint32_t left;

	if (length < 12 + 4)
		return WIRE_LENGTH;
	if (!row)
		return WIRE_OPCODE;
	if (length < 12u + row->extension + 4)
		return WIRE_LENGTH;
	if (flags & 0x0f)
		return WIRE_TVER;
	left = length - 12 - row->extension - 4;
	if (pad > 0 && pad >= left)
		return WIRE_PAD;
	if (left % 4 != 0)
		return WIRE_ALIGNMENT;
	if (!row->payload && left > pad)
		return WIRE_UNEXPECTED_PAYLOAD;
	return WIRE_OK;
}

static bool fits(enum place place, uint32_t payload, uint32_t pmtu)
{
	switch (place) {
	case FIRST_OR_MIDDLE:
		return payload == pmtu;
	case LAST:
		return payload >= 1 && payload <= pmtu;
	default:
		return payload <= pmtu;
	}
}

struct sweep {
	uint64_t frames;
	uint64_t want[WIRE_DROPS];
	uint64_t got[WIRE_DROPS];
};

static void check_accepted(struct frame *frame, uint8_t *block, const struct row *row, uint8_t pad)
{
	uint32_t payload = frame->length - frame->bth - 12 - row->extension - pad - 4;
	struct wire_packet packet;

	frame->icrc = frame->length - 4;
	frame_seal(frame);
	memcpy(block, frame->byte, frame->length);
	CU_ASSERT_EQUAL_FATAL(wire_parse(block, frame->length, &packet), WIRE_OK);
	CU_ASSERT_EQUAL(packet.payload_length, payload);
	CU_ASSERT_EQUAL(packet.pad, pad);
	CU_ASSERT_PTR_EQUAL(packet.payload, block + frame->bth + 12 + row->extension);
	CU_ASSERT_TRUE(wire_icrc_ok(&packet));
	block[frame->length - 1] ^= 1;
	CU_ASSERT_FALSE(wire_icrc_ok(&packet));
	for (uint32_t pmtu = 256; pmtu <= 4096; pmtu *= 2)
		CU_ASSERT_EQUAL(wire_length_ok(&packet, pmtu), fits(row->place, payload, pmtu));
}

static void try_frame(struct sweep *sweep, const struct frame_spec *spec, uint32_t length)
{
	const struct row *row = find(spec->opcode);
	enum wire_drop want = expected(row, length, spec->flags);
	struct wire_packet packet;
	struct frame frame;
	enum wire_drop got;
	uint8_t *block;

	frame_draft(&frame, spec);
	frame_resize(&frame, length);
	block = malloc(frame.length);
	CU_ASSERT_PTR_NOT_NULL_FATAL(block);
	memcpy(block, frame.byte, frame.length);
	got = wire_parse(block, frame.length, &packet);
	CU_ASSERT_EQUAL(got, want);
	if (got == WIRE_OK && want == WIRE_OK)
		check_accepted(&frame, block, row, spec->flags >> 4 & 3);
	free(block);
	sweep->frames++;
	sweep->want[want]++;
	sweep->got[got]++;
}

/* Each pad count, and a transport version that isn't ours, over IPv4 and IPv6. */
static void try_length(struct sweep *sweep, unsigned int opcode, uint32_t length)
{
	static const uint8_t flags[] = {0x00, 0x10, 0x20, 0x30, 0x01};
	uint32_t body = length > 12 + 4 ? length - 12 - 4 : 0;

	for (unsigned int i = 0; i < 2 * sizeof(flags); i++) {
		struct frame_spec spec = {.opcode = (uint8_t)opcode,
			.ipv6 = i & 1,
			.flags = flags[i / 2],
			.body = body};

		try_frame(sweep, &spec, length);
	}
}

static void finish(const struct sweep *sweep)
{
	uint64_t sum = 0;

	for (unsigned int drop = 0; drop < WIRE_DROPS; drop++) {
		CU_ASSERT_EQUAL(sweep->got[drop], sweep->want[drop]);
		sum += sweep->got[drop];
	}
	CU_ASSERT_EQUAL(sum, sweep->frames);
	CU_ASSERT(sweep->got[WIRE_OK] && sweep->got[WIRE_OPCODE] && sweep->got[WIRE_TVER]);
	CU_ASSERT(sweep->got[WIRE_ALIGNMENT] && sweep->got[WIRE_UNEXPECTED_PAYLOAD]);
}

static void every_opcode_and_length(void)
{
	struct sweep sweep = {0};

	for (unsigned int opcode = 0; opcode < 256; opcode++)
		for (uint32_t length = 0; length <= 200; length++)
			try_length(&sweep, opcode, length);
	CU_ASSERT_EQUAL(sweep.frames, 256 * 201 * 10);
	CU_ASSERT(sweep.got[WIRE_LENGTH] && sweep.got[WIRE_PAD]);
	finish(&sweep);
}

static void around_each_mtu(void)
{
	struct sweep sweep = {0};

	for (unsigned int opcode = 0; opcode < 256; opcode++) {
		const struct row *row = find(opcode);
		uint32_t around = 12 + (row ? row->extension : 0) + 4;

		for (uint32_t pmtu = 256; pmtu <= 4096; pmtu *= 2)
			for (uint32_t payload = pmtu - 5; payload <= pmtu + 5; payload++)
				try_length(&sweep, opcode, around + payload);
	}
	CU_ASSERT_EQUAL(sweep.frames, 256 * 5 * 11 * 10);
	finish(&sweep);
}

/* The same around all header lengths for a frame that ends anywhere before it should. */
static void cut_short(void)
{
	for (unsigned int opcode = 0; opcode < 256; opcode++)
		for (unsigned int shape = 0; shape < 4; shape++) {
			struct frame_spec spec = {.opcode = (uint8_t)opcode,
				.ipv6 = shape & 1,
				.vlan = shape & 2,
				.body = 36};
			struct wire_packet packet;
			struct frame frame;

			frame_make(&frame, &spec);
			for (uint32_t length = 0; length < frame.length; length++) {
				uint8_t *block = malloc(length ? length : 1);

				CU_ASSERT_PTR_NOT_NULL_FATAL(block);
				memcpy(block, frame.byte, length);
				CU_ASSERT_EQUAL(wire_parse(block, length, &packet), WIRE_RUNT);
				free(block);
			}
		}
}

static const struct unit_case cases[] = {
	UNIT_CASE(every_opcode_and_length),
	UNIT_CASE(around_each_mtu),
	UNIT_CASE(cut_short),
};

UNIT_MAIN("wire-sweep", cases)
