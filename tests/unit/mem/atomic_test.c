/* SPDX-License-Identifier: BSD-3-Clause */
/* The two atomic operations (IBTA 9.4.5), alone and against the application's own. */
#include <pthread.h>
#include <string.h>

#include "copy.h"
#include "unit.h"

struct row {
	bool add;
	uint64_t before;
	uint64_t compare; /* or what to add */
	uint64_t swap;
	uint64_t after;
};

static void values(void)
{
	static const struct row rows[] = {
		{false, 5, 5, 9, 9},
		{false, 5, 6, 9, 5},
		{false, 0, 0, UINT64_MAX, UINT64_MAX},
		{false, UINT64_MAX, UINT64_MAX, 0, 0},
		{false, UINT64_C(0x100000001), 1, 9, UINT64_C(0x100000001)},
		{false, UINT64_C(0x100000000), 0, 9, UINT64_C(0x100000000)},
		{true, 5, 6, 0, 11},
		{true, 5, 0, 0, 5},
		{true, UINT64_MAX, 1, 0, 0},
		{true, 1, UINT64_MAX, 0, 0},
		{true, UINT64_C(0xffffffff), 1, 0, UINT64_C(0x100000000)},
	};
	uint64_t words[3];
	uint8_t *host = (uint8_t *)&words[1];

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		uint64_t original;

		memset(words, 0xff, sizeof(words));
		words[1] = row->before;
		original = row->add ? mem_fetch_add(host, row->compare)
				    : mem_compare_swap(host, row->compare, row->swap);
		CU_ASSERT_EQUAL(original, row->before);
		CU_ASSERT_EQUAL(words[1], row->after);
		CU_ASSERT_EQUAL(words[0], UINT64_MAX);
		CU_ASSERT_EQUAL(words[2], UINT64_MAX);
	}
}

static uint64_t counter;

#define TURNS 200000

/* An application that counts with its CPU's atomics. */
static void *application(void *unused)
{
	for (int i = 0; i < TURNS; i++)
		__atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void none_is_lost(void)
{
	uint8_t *host = (uint8_t *)&counter;
	pthread_t thread;

	counter = 0;
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, application, NULL), 0);
	for (int i = 0; i < TURNS; i++) {
		uint64_t seen;

		mem_fetch_add(host, UINT64_C(1) << 32);
		do {
			seen = __atomic_load_n(&counter, __ATOMIC_RELAXED);
		} while (mem_compare_swap(host, seen, seen + 1) != seen);
	}
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(counter, ((uint64_t)TURNS << 32) + 2 * TURNS);
}

static const struct unit_case cases[] = {
	UNIT_CASE(values),
	UNIT_CASE(none_is_lost),
};

UNIT_MAIN("mem-atomic", cases)
