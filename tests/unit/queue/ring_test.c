/* SPDX-License-Identifier: BSD-3-Clause */
/* What all rings share: their size, what a front refuses to open, records taken out of the middle.
 */
#include <errno.h>
#include <string.h>

#include "ring.h"
#include "views.h"

#define MIB (1ull << 20)

static void slots_of_a_depth(void)
{
	static const struct {
		uint32_t depth;
		uint32_t slots;
	} rows[] = {
		{0, 1},
		{1, 1},
		{2, 2},
		{3, 4},
		{4, 4},
		{5, 8},
		{1000, 1024},
		{1024, 1024},
		{1025, 2048},
		{(1u << 29) + 1, 1u << 30},
		{1u << 30, 1u << 30},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CU_ASSERT_EQUAL(ring_slots(rows[i].depth), rows[i].slots);
}

static void create_and_open(void)
{
	struct views views;
	struct ring_place place;
	struct ring_shape shape;

	views_open(&views, MIB);
	CU_ASSERT_EQUAL_FATAL(ring_create(views.region, 5, 192, &place), 0);
	CU_ASSERT_EQUAL_FATAL(ring_open(&views.front, place.ref, &shape), 0);
	CU_ASSERT_EQUAL(shape.mask, 7);
	CU_ASSERT_EQUAL(shape.stride, 192);
	CU_ASSERT_EQUAL(shape.depth, 5);
	place.slots[8 * 192 - 1] = 0x5a;
	CU_ASSERT_EQUAL(shape.slots[8 * 192 - 1], 0x5a);
	ring_destroy(views.region, place.ref, place.slots_ref, 8 * 192);
	views_close(&views);
}

/* Nothing stays behind when only the record fits. */
static void create_without_room(void)
{
	static const uint32_t depths[] = {1u << 14, 1u << 30, (1u << 30) + 1, UINT32_MAX};
	struct views views;
	struct ring_place place;

	views_open(&views, MIB);
	for (unsigned int i = 0; i < sizeof(depths) / sizeof(depths[0]); i++)
		CU_ASSERT_EQUAL(ring_create(views.region, depths[i], 64, &place), -ENOMEM);
	views_close(&views);
}

#define OFFSET(field) offsetof(struct uroce_abi_ring, fixed.field)

static void open_refuses(void)
{
	static const struct {
		size_t offset;
		uint32_t value;
	} rows[] = {
		{OFFSET(count), 0}, {OFFSET(count), 3},
		{OFFSET(count), 4},	   /* less than the depth */
		{OFFSET(count), 1u << 31}, /* beyond the view */
		{OFFSET(depth), 9}, {OFFSET(stride), 0}, {OFFSET(stride), 32}, {OFFSET(stride), 65},
		{OFFSET(stride), 1u << 20},			   /* beyond the view */
		{OFFSET(slots), MIB - 64}, {OFFSET(slots) + 4, 0}, /* another region's id */
	};
	struct views views;
	struct ring_place place;
	struct ring_shape shape;

	views_open(&views, MIB);
	CU_ASSERT_EQUAL_FATAL(ring_create(views.region, 5, 64, &place), 0);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t *field = (uint8_t *)place.ring + rows[i].offset;
		uint32_t saved;

		memcpy(&saved, field, sizeof(saved));
		memcpy(field, &rows[i].value, sizeof(saved));
		CU_ASSERT_EQUAL(ring_open(&views.front, place.ref, &shape), -EPROTO);
		memcpy(field, &saved, sizeof(saved));
	}
	CU_ASSERT_EQUAL(ring_open(&views.front, place.ref, &shape), 0);
	CU_ASSERT_EQUAL(ring_open(&views.front, 0, &shape), -EPROTO);
	CU_ASSERT_EQUAL(ring_open(&views.front, place.ref + MIB, &shape), -EPROTO);
	ring_destroy(views.region, place.ref, place.slots_ref, 8 * 64);
	views_close(&views);
}

/* ---- purge ---- */

#define SLOTS 8u

struct record {
	char name;
	uint8_t rest[63];
};

struct seen {
	char names[SLOTS + 1];
	unsigned int count;
};

static bool is_lower(const void *record, void *context)
{
	const struct record *one = record;
	struct seen *seen = context;

	seen->names[seen->count++] = one->name;
	return one->name >= 'a';
}

/* Lower case goes; what is left keeps its order; the newest is seen first. */
static void purge(void)
{
	static const struct {
		const char *before;
		const char *after;
	} rows[] = {
		{"", ""},
		{"A", "A"},
		{"a", ""},
		{"abcdefgh", ""},
		{"ABCDEFGH", "ABCDEFGH"},
		{"aBcDeFgH", "BDFH"},
		{"AbCdEfGh", "ACEG"},
		{"abCDefGH", "CDGH"},
		{"ABcd", "AB"},
		{"abCD", "CD"},
		{"AbcdE", "AE"},
	};
	static const uint32_t starts[] = {0, 5, 7, UINT32_MAX - 3, UINT32_MAX};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned int s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
			uint32_t length = (uint32_t)strlen(rows[i].before);
			uint32_t left = (uint32_t)strlen(rows[i].after);
			struct record records[SLOTS] = {0};
			struct seen seen = {0};
			uint32_t removed;

			for (uint32_t n = 0; n < length; n++)
				records[(starts[s] + n) % SLOTS].name = rows[i].before[n];
			removed = ring_purge((uint8_t *)records, SLOTS - 1, starts[s],
				starts[s] + length, is_lower, &seen);
			CU_ASSERT_EQUAL(removed, length - left);
			for (uint32_t n = 0; n < left; n++)
				CU_ASSERT_EQUAL(records[(starts[s] + removed + n) % SLOTS].name,
					rows[i].after[n]);
			CU_ASSERT_EQUAL(seen.count, length);
			for (uint32_t n = 0; n < length; n++)
				CU_ASSERT_EQUAL(seen.names[n], rows[i].before[length - 1 - n]);
		}
}

static const struct unit_case cases[] = {
	UNIT_CASE(slots_of_a_depth),
	UNIT_CASE(create_and_open),
	UNIT_CASE(create_without_room),
	UNIT_CASE(open_refuses),
	UNIT_CASE(purge),
};

UNIT_MAIN("queue-ring", cases)
