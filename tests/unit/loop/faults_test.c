/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults: each kind alone with what it may do, counts near their chances, and the same run twice.
 */
#include "wire_fixture.h"

#define MANY 10000u

/* Sends MANY frames 1000 ns apart and hands each that arrives to seen(). */
static void run(
	struct fixture *f, void (*seen)(void *context, const struct packet *packet), void *context)
{
	struct port *port = f->port[1];

	for (uint32_t i = 0; i < 2 * MANY; i++) {
		struct packet packet;

		if (i < MANY)
			CU_ASSERT_FATAL(fixture_send(f, 0, 1, i, FRAME));
		while (port->ops->rx(port, 0, &packet, 1)) {
			seen(context, &packet);
			port->ops->release(port, 0, &packet, 1);
		}
		f->now += 1000;
	}
	CU_ASSERT_EQUAL(loop_buffers_used(f->wire) + loop_buffers_flying(f->wire), 0);
}

static uint32_t number_of(const struct packet *packet)
{
	uint32_t number;

	memcpy(&number, packet->data + 14, sizeof(number));
	return number;
}

struct tally {
	uint32_t frames;
	uint32_t backwards; /* frames with a lower number than one before */
	uint32_t equal;	    /* the same number as the one before */
	uint32_t spoilt;
	uint32_t spoilt_mac;
	uint32_t most_bits;
	uint32_t highest;
	bool first[MANY]; /* numbers seen */
	uint64_t hash;
};

/* Bits that differ from the frame that fixture_send() makes. */
static uint32_t spoilt_bits(const struct packet *packet, uint32_t number)
{
	uint8_t expected[FRAME] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};
	uint32_t bits = 0;

	memcpy(expected + 14, &number, sizeof(number));
	for (unsigned int i = 0; i < FRAME; i++)
		bits += (uint32_t)__builtin_popcount(expected[i] ^ packet->data[i]);
	return bits;
}

static void tally(void *context, const struct packet *packet)
{
	struct tally *t = context;
	uint32_t number = number_of(packet);
	uint32_t bits = spoilt_bits(packet, number);

	for (uint32_t i = 0; i < packet->length; i++)
		t->hash = (t->hash ^ packet->data[i]) * 0x100000001b3ull;
	t->spoilt_mac += memcmp(packet->data, "\2\0\0\0\0\2\2\0\0\0\0\1", 12) != 0;
	t->equal += t->frames && number == t->highest;
	t->backwards += number < t->highest;
	t->highest = number > t->highest ? number : t->highest;
	t->frames++;
	if (number < MANY)
		t->first[number] = true;
	t->spoilt += bits != 0;
	t->most_bits = bits > t->most_bits ? bits : t->most_bits;
}

static struct tally tally_of(
	const struct loop_faults *faults, uint64_t seed, struct loop_counters *counters)
{
	struct loop_config config = {.seed = seed};
	struct tally t = {0};
	struct fixture f;

	fixture_open(&f, &config);
	loop_set_faults(f.wire, 0, 1, faults);
	run(&f, tally, &t);
	*counters = fixture_count(&f, 0, 1);
	fixture_close(&f);
	return t;
}

/* 10 % of 10,000: standard deviation 30; 5 of them are 150. */
static bool about_a_tenth(uint64_t count)
{
	return count > 850 && count < 1150;
}

static void none(void)
{
	struct loop_faults faults = {0};
	struct loop_counters c;
	struct tally t = tally_of(&faults, 1, &c);

	CU_ASSERT_EQUAL(t.frames, MANY);
	CU_ASSERT_EQUAL(t.backwards + t.equal + t.spoilt, 0);
}

static void loss(void)
{
	struct loop_faults faults = {.loss = LOOP_MILLION / 10};
	struct loop_counters c;
	struct tally t = tally_of(&faults, 1, &c);

	CU_ASSERT(about_a_tenth(c.lost));
	CU_ASSERT_EQUAL(t.frames + c.lost, MANY);
	CU_ASSERT_EQUAL(t.backwards + t.equal + t.spoilt, 0);
}

static void duplication(void)
{
	struct loop_faults faults = {.duplicate = LOOP_MILLION / 10};
	struct loop_counters c;
	struct tally t = tally_of(&faults, 1, &c);

	CU_ASSERT(about_a_tenth(c.duplicated));
	CU_ASSERT_EQUAL(t.equal, c.duplicated);
	CU_ASSERT_EQUAL(t.frames, MANY + c.duplicated);
	CU_ASSERT_EQUAL(t.backwards + t.spoilt, 0);
}

static void reordering(void)
{
	struct loop_faults faults = {.reorder = LOOP_MILLION / 10, .reorder_by = 10000};
	struct loop_counters c;
	struct tally t = tally_of(&faults, 1, &c);

	CU_ASSERT(about_a_tenth(c.reordered));
	CU_ASSERT_EQUAL(t.frames, MANY);
	/* By up to ten frames' time: most of them are overtaken. */
	CU_ASSERT(t.backwards > c.reordered / 2 && t.backwards <= c.reordered);
	CU_ASSERT_EQUAL(t.equal + t.spoilt, 0);
}

static void lateness_keeps_order(void)
{
	struct loop_faults faults = {.late = LOOP_MILLION / 10, .late_by = 10000};
	struct loop_counters c;
	struct tally t = tally_of(&faults, 1, &c);

	CU_ASSERT(about_a_tenth(c.delayed));
	CU_ASSERT_EQUAL(t.frames, MANY);
	CU_ASSERT_EQUAL(t.backwards + t.equal + t.spoilt, 0);
}

/* Numbers may be spoilt, too: then the frame counts as another one, with the rest intact. */
static void corruption(void)
{
	struct loop_faults faults = {.corrupt = LOOP_MILLION / 10, .corrupt_bits = 3};
	struct loop_counters c;
	struct tally t = tally_of(&faults, 1, &c);
	uint32_t intact = 0;

	for (uint32_t i = 0; i < MANY; i++)
		intact += t.first[i];
	CU_ASSERT(about_a_tenth(c.corrupted));
	CU_ASSERT_EQUAL(t.frames, MANY);
	CU_ASSERT(t.spoilt > c.corrupted / 2 && t.spoilt <= c.corrupted);
	CU_ASSERT_EQUAL(t.most_bits, 3);
	CU_ASSERT_EQUAL(t.spoilt_mac, 0);
	CU_ASSERT(intact > MANY - c.corrupted && intact < MANY);
}

static void blackout_is_one_way(void)
{
	struct loop_faults faults = {.blackout_from = 1000, .blackout_until = 2000};
	static const struct {
		uint64_t at;
		bool passes;
	} rows[] = {{999, true}, {1000, false}, {1999, false}, {2000, true}};
	struct fixture f;

	fixture_open(&f, NULL);
	loop_set_faults(f.wire, 0, 1, &faults);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		f.now = rows[i].at;
		fixture_send(&f, 0, 1, i, FRAME);
		fixture_send(&f, 1, 0, i, FRAME);
		fixture_send(&f, 0, 2, i, FRAME);
		CU_ASSERT_EQUAL(fixture_receive(&f, 1), rows[i].passes ? (int64_t)i : -1);
		CU_ASSERT_EQUAL(fixture_receive(&f, 0), i);
		CU_ASSERT_EQUAL(fixture_receive(&f, 2), i);
	}
	CU_ASSERT_EQUAL(fixture_count(&f, 0, 1).blacked_out, 2);
	fixture_close(&f);
}

static const struct loop_faults all_faults = {
	.loss = 50000,
	.duplicate = 50000,
	.reorder = 50000,
	.late = 50000,
	.corrupt = 50000,
	.corrupt_bits = 8,
	.reorder_by = 20000,
	.late_by = 20000,
};

static void same_seed_same_run(void)
{
	struct loop_counters first, again, other;
	uint64_t hash = tally_of(&all_faults, 7, &first).hash;

	CU_ASSERT_EQUAL(tally_of(&all_faults, 7, &again).hash, hash);
	CU_ASSERT_EQUAL(memcmp(&first, &again, sizeof(first)), 0);
	CU_ASSERT_NOT_EQUAL(tally_of(&all_faults, 8, &other).hash, hash);
}

/* What happens from 0 to 1 doesn't depend on what happens from 2 to 1. */
static void directions_are_independent(void)
{
	struct loop_config config = {.seed = 7};
	struct loop_counters alone;
	struct fixture f;
	struct port *port;
	struct packet packet;

	(void)tally_of(&all_faults, 7, &alone);
	fixture_open(&f, &config);
	loop_set_faults(f.wire, LOOP_ANY, LOOP_ANY, &all_faults);
	port = f.port[1];
	for (uint32_t i = 0; i < MANY; i++) {
		fixture_send(&f, 2, 1, i, FRAME);
		fixture_send(&f, 0, 1, i, FRAME);
		while (port->ops->rx(port, 0, &packet, 1))
			port->ops->release(port, 0, &packet, 1);
		f.now += 1000;
	}
	CU_ASSERT_EQUAL(fixture_count(&f, 0, 1).lost, alone.lost);
	CU_ASSERT_EQUAL(fixture_count(&f, 0, 1).duplicated, alone.duplicated);
	CU_ASSERT_EQUAL(fixture_count(&f, 0, 1).corrupted, alone.corrupted);
	CU_ASSERT_NOT_EQUAL(fixture_count(&f, 2, 1).lost, alone.lost);
	fixture_close(&f);
}

static const struct unit_case cases[] = {
	UNIT_CASE(none),
	UNIT_CASE(loss),
	UNIT_CASE(duplication),
	UNIT_CASE(reordering),
	UNIT_CASE(lateness_keeps_order),
	UNIT_CASE(corruption),
	UNIT_CASE(blackout_is_one_way),
	UNIT_CASE(same_seed_same_run),
	UNIT_CASE(directions_are_independent),
};

UNIT_MAIN("loop-faults", cases)
