/* SPDX-License-Identifier: BSD-3-Clause */
/* The ring of kept responder resources by itself. */
#include <stdlib.h>

#include "psn.h"
#include "replay.h"
#include "unit.h"

/* A READ of `packets` PSNs from `psn` on, answered or not. */
static struct replay_entry *keep(
	struct replay *replay, uint32_t psn, uint32_t packets, bool answered)
{
	struct replay_entry *entry = replay_add(replay);

	if (!entry)
		return NULL;
	entry->psn = psn;
	entry->packets = packets;
	replay_answer(replay, entry, 0, packets);
	if (answered)
		replay_done(replay, entry);
	return entry;
}

static void no_depth(void)
{
	struct replay replay;

	CU_ASSERT_EQUAL(replay_init(&replay, 0), 0);
	replay_reset(&replay, 0);
	CU_ASSERT_PTR_NULL(replay_add(&replay));
	CU_ASSERT_PTR_NULL(replay_find(&replay, 0));
	CU_ASSERT_PTR_NULL(replay_pending(&replay));
	replay_reset(&replay, 4); /* never more than there is room for */
	CU_ASSERT_PTR_NULL(replay_add(&replay));
	replay_fini(&replay);

	CU_ASSERT_EQUAL(replay_init(&replay, 16), 0);
	replay_reset(&replay, 0);
	CU_ASSERT_PTR_NULL(replay_add(&replay));
	replay_fini(&replay);
}

/* The newest `depth` ones are found, by each of their PSNs; all depths that a QP may have. */
static void the_newest_are_kept(void)
{
	for (uint32_t depth = 1; depth <= 128; depth++) {
		struct replay replay;

		CU_ASSERT_EQUAL(replay_init(&replay, 128), 0);
		replay_reset(&replay, depth);
		for (uint32_t i = 0; i < 300; i++)
			CU_ASSERT_PTR_NOT_NULL(keep(&replay, 0xffff00 + 3 * i, 3, true));
		for (uint32_t i = 0; i < 300; i++)
			for (uint32_t k = 0; k < 3; k++) {
				struct replay_entry *entry =
					replay_find(&replay, (0xffff00 + 3 * i + k) & PSN_MASK);

				CU_ASSERT((entry != NULL) == (i >= 300 - depth));
				if (entry)
					CU_ASSERT_EQUAL(entry->psn, 0xffff00 + 3 * i);
			}
		CU_ASSERT_PTR_NULL(replay_find(&replay, 0xfffeff));
		CU_ASSERT_PTR_NULL(replay_find(&replay, (0xffff00 + 900) & PSN_MASK));
		replay_reset(&replay, depth);
		CU_ASSERT_PTR_NULL(replay_find(&replay, (0xffff00 + 897) & PSN_MASK));
		replay_fini(&replay);
	}
}

/* Positions count freely; after 2^32 requests nothing may fall onto another's place. */
static void positions_wrap(void)
{
	for (uint32_t depth = 1; depth <= 16; depth++) {
		struct replay replay;

		CU_ASSERT_EQUAL(replay_init(&replay, 16), 0);
		replay_reset(&replay, depth);
		replay.first = 0xffffffff - 8;
		replay.last = replay.first;
		for (uint32_t psn = 0; psn < 40; psn++) {
			uint32_t oldest = psn + 1 < depth ? 0 : psn + 1 - depth;

			keep(&replay, psn, 1, true);
			for (uint32_t kept = oldest; kept <= psn; kept++) {
				struct replay_entry *entry = replay_find(&replay, kept);

				CU_ASSERT(entry && entry->psn == kept);
			}
		}
		replay_fini(&replay);
	}
}

/* Answers leave in the order of PSNs, whatever was marked first. */
static void answers_in_order(void)
{
	struct replay_entry *entries[4];
	struct replay replay;

	CU_ASSERT_EQUAL(replay_init(&replay, 4), 0);
	replay_reset(&replay, 4);
	for (uint32_t i = 0; i < 4; i++)
		entries[i] = keep(&replay, 0xfffffe + i, 1, true);
	CU_ASSERT_PTR_NULL(replay_pending(&replay));
	for (uint32_t i = 4; i-- > 0;)
		replay_answer(&replay, entries[i], 0, 1);
	replay_answer(&replay, entries[2], 0, 1); /* twice: still one answer */
	CU_ASSERT_EQUAL(replay.pending, 4);
	for (uint32_t i = 0; i < 4; i++) {
		CU_ASSERT_PTR_EQUAL(replay_pending(&replay), entries[i]);
		replay_done(&replay, entries[i]);
	}
	CU_ASSERT_PTR_NULL(replay_pending(&replay));
	CU_ASSERT_EQUAL(replay.pending, 0);
	replay_fini(&replay);
}

/* One more than the depth while the oldest has never been answered: the peer's fault. */
static void overrun(void)
{
	for (uint32_t depth = 1; depth <= 5; depth++) {
		struct replay_entry *oldest;
		struct replay replay;

		CU_ASSERT_EQUAL(replay_init(&replay, 5), 0);
		replay_reset(&replay, depth);
		oldest = keep(&replay, 0, 1, false);
		for (uint32_t i = 1; i < depth; i++)
			CU_ASSERT_PTR_NOT_NULL(keep(&replay, i, 1, false));
		CU_ASSERT_PTR_NULL(replay_add(&replay));
		CU_ASSERT_EQUAL(replay.pending, depth);
		replay_done(&replay, oldest);
		CU_ASSERT_PTR_NOT_NULL(keep(&replay, depth, 1, false));
		CU_ASSERT_PTR_NULL(replay_find(&replay, 0));
		CU_ASSERT_EQUAL(replay.pending, depth);
		replay_fini(&replay);
	}
}

/* The oldest was answered and is to be answered again: it makes way, and its answer with it. */
static void repeated_answer_makes_way(void)
{
	struct replay_entry *oldest;
	struct replay replay;

	CU_ASSERT_EQUAL(replay_init(&replay, 2), 0);
	replay_reset(&replay, 2);
	oldest = keep(&replay, 0, 5, true);
	keep(&replay, 5, 1, true);
	replay_answer(&replay, oldest, 3, 4);
	CU_ASSERT_PTR_NOT_NULL(keep(&replay, 6, 1, false));
	CU_ASSERT_PTR_NULL(replay_find(&replay, 0));
	CU_ASSERT_EQUAL(replay.pending, 1);
	CU_ASSERT_EQUAL(replay_pending(&replay)->psn, 6);
	replay_fini(&replay);
}

/* A part that was asked for again does not make a whole answer of one that was cut short. */
static void part_is_no_answer(void)
{
	struct replay_entry *oldest;
	struct replay replay;

	CU_ASSERT_EQUAL(replay_init(&replay, 1), 0);
	replay_reset(&replay, 1);
	oldest = keep(&replay, 0, 5, false);
	replay_answer(&replay, oldest, 0, 2);
	replay_done(&replay, oldest);
	replay_answer(&replay, oldest, 0, 5);
	CU_ASSERT_PTR_NULL(replay_add(&replay));
	replay_fini(&replay);
}

/* A new depth forgets nothing by itself; the next request brings the ring down to it. */
static void depth_changes(void)
{
	struct replay replay;

	CU_ASSERT_EQUAL(replay_init(&replay, 8), 0);
	replay_reset(&replay, 8);
	for (uint32_t psn = 0; psn < 6; psn++)
		keep(&replay, psn, 1, psn < 4);
	replay_set_depth(&replay, 3);
	for (uint32_t psn = 0; psn < 6; psn++)
		CU_ASSERT_PTR_NOT_NULL(replay_find(&replay, psn));
	CU_ASSERT_EQUAL(replay_pending(&replay)->psn, 4);
	keep(&replay, 6, 1, true);
	for (uint32_t psn = 0; psn < 7; psn++)
		CU_ASSERT((replay_find(&replay, psn) != NULL) == (psn >= 4));
	replay_set_depth(&replay, 2);
	CU_ASSERT_PTR_NULL(replay_add(&replay)); /* the oldest of them has not been answered */
	replay_set_depth(&replay, 8);
	for (uint32_t psn = 7; psn < 12; psn++)
		keep(&replay, psn, 1, true);
	for (uint32_t psn = 4; psn < 12; psn++)
		CU_ASSERT_PTR_NOT_NULL(replay_find(&replay, psn));
	replay_set_depth(&replay, 0);
	CU_ASSERT_PTR_NULL(replay_add(&replay));
	CU_ASSERT_PTR_NOT_NULL(replay_find(&replay, 11));
	replay_fini(&replay);
}

static const struct unit_case cases[] = {
	UNIT_CASE(no_depth),
	UNIT_CASE(the_newest_are_kept),
	UNIT_CASE(positions_wrap),
	UNIT_CASE(answers_in_order),
	UNIT_CASE(overrun),
	UNIT_CASE(repeated_answer_makes_way),
	UNIT_CASE(part_is_no_answer),
	UNIT_CASE(depth_changes),
};

UNIT_MAIN("replay", cases)
