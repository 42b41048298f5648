/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of keys: capacity, the order of indices, quarantine, and how much memory it takes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fixture.h"

static uint8_t buffer[64];

/* The sanitizers keep up to four bytes, and more, beside one of ours. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SHADOW 8u
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SHADOW 8u
#endif
#endif
#ifndef SHADOW
#define SHADOW 1u
#endif

static uint64_t resident(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long long size, pages = 0;

	if (!file || fscanf(file, "%llu %llu", &size, &pages) != 2)
		pages = 0;
	if (file)
		fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void creation_errors(void)
{
	struct mem_table *table = NULL;
	struct random random;

	random_seed(&random, 1);
	CU_ASSERT_EQUAL(mem_table_create(0, &random, &table), -EINVAL);
	CU_ASSERT_EQUAL(mem_table_create((1u << 23) + 1, &random, &table), -EINVAL);
	CU_ASSERT_EQUAL(mem_table_create(UINT32_MAX, &random, &table), -EINVAL);
	CU_ASSERT_PTR_NULL(table);
	mem_table_destroy(NULL);
}

/* The largest table is address space until it is used. */
static void largest_table_is_cheap(void)
{
	uint64_t before = resident();
	struct mem_table *table = table_new(1u << 23);
	uint32_t largest = 0;

	for (int i = 0; i < 1000; i++) {
		uint32_t key = region_new(table, PD, buffer, sizeof(buffer), 0);

		if (key >> 8 > largest)
			largest = key >> 8;
	}
	/* 1,000 keys, a page each at most in the entries and two in the order of indices */
	CU_ASSERT(resident() - before < SHADOW * (16u << 20));
	/* All of the space is used from the start: the chance of less is 2^-1000. */
	CU_ASSERT(largest > 1u << 22);
	CU_ASSERT_EQUAL(mem_count(table), 1000);
	mem_table_destroy(table);
}

/* Every index 1 to capacity once, in no order; then -ENOMEM; no key is 0. */
static void all_of_a_capacity(uint32_t capacity)
{
	struct mem_table *table = table_new(capacity);
	uint8_t *seen = calloc(capacity + 1, 1);
	uint32_t previous = 0, steps = 0, key = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(seen);
	for (uint32_t i = 0; i < capacity; i++) {
		uint32_t index = region_new(table, PD, buffer, sizeof(buffer), 0) >> 8;

		CU_ASSERT_FATAL(index >= 1 && index <= capacity);
		CU_ASSERT_EQUAL(seen[index], 0);
		seen[index] = 1;
		steps += index == previous + 1 || index + 1 == previous;
		previous = index;
	}
	/* In a random order neighbours follow each other twice on average. */
	if (capacity > 100)
		CU_ASSERT(steps < 20);
	CU_ASSERT_EQUAL(mem_count(table), capacity);
	CU_ASSERT_EQUAL(mem_register(table, PD, buffer, 1, 0, 0, &key), -ENOMEM);
	CU_ASSERT_EQUAL(mem_window_alloc(table, PD, 1, &key), -ENOMEM);
	CU_ASSERT_EQUAL(key, 0);
	free(seen);
	mem_table_destroy(table);
}

static void capacities(void)
{
	static const uint32_t rows[] = {1, 2, 3, 255, 256, 257, 1000, 70000};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		all_of_a_capacity(rows[i]);
}

/* The low byte of the keys: each value about as often as any other. */
static void low_byte_is_random(void)
{
	struct mem_table *table = table_new(51200);
	uint32_t count[256] = {0};

	for (int i = 0; i < 51200; i++)
		count[region_new(table, PD, buffer, 1, 0) & 0xff]++;
	/* 200 expected each, standard deviation 14. Value 0 is never the first of an index. */
	for (int i = 1; i < 256; i++)
		CU_ASSERT(count[i] > 100 && count[i] < 300);
	mem_table_destroy(table);
}

/* Two tables of different seeds give different keys. */
static void seeds_differ(void)
{
	struct mem_table *tables[2];
	struct random random;
	uint32_t keys[2], same = 0;

	for (uint64_t i = 0; i < 2; i++) {
		random_seed(&random, 100 + i);
		CU_ASSERT_EQUAL_FATAL(mem_table_create(1u << 20, &random, &tables[i]), 0);
	}
	for (int i = 0; i < 100; i++) {
		keys[0] = region_new(tables[0], PD, buffer, 1, 0);
		keys[1] = region_new(tables[1], PD, buffer, 1, 0);
		same += keys[0] == keys[1];
	}
	CU_ASSERT_EQUAL(same, 0);
	mem_table_destroy(tables[0]);
	mem_table_destroy(tables[1]);
}

/* What was unlinked is given out again after mem_reclaim() only, and not under the same key. */
static void quarantine(void)
{
	struct mem_table *table = table_new(2);
	uint32_t first = region_new(table, PD, buffer, 1, 0);
	uint32_t second = window_new(table, PD, 2);
	uint32_t key = 0;

	CU_ASSERT_EQUAL(mem_deregister(table, first), 0);
	CU_ASSERT_EQUAL(mem_count(table), 1);
	CU_ASSERT_EQUAL(mem_register(table, PD, buffer, 1, 0, 0, &key), -ENOMEM);
	mem_reclaim(table);
	for (int i = 0; i < 1000; i++) {
		key = region_new(table, PD, buffer, 1, 0);
		CU_ASSERT_EQUAL(key >> 8, first >> 8);
		CU_ASSERT_NOT_EQUAL(key, first);
		CU_ASSERT_EQUAL(mem_deregister(table, first), -EINVAL);
		CU_ASSERT_EQUAL(mem_deregister(table, key), 0);
		mem_reclaim(table);
		first = key;
	}
	CU_ASSERT_EQUAL(mem_window_dealloc(table, second), 0);
	CU_ASSERT_EQUAL(mem_count(table), 0);
	mem_table_destroy(table);
}

/* One at a time, for long: an index comes back after 256 others at the earliest. */
static void a_million_in_a_loop(void)
{
	struct mem_table *table = table_new(1u << 23);
	uint32_t last = 0, repeats = 0;
	uint64_t before = 0;

	for (int i = 0; i < 1000000; i++) {
		uint32_t key = region_new(table, PD, buffer, sizeof(buffer), LW);

		repeats += key >> 8 == last;
		last = key >> 8;
		if (mem_deregister(table, key) != 0)
			CU_FAIL_FATAL("deregister");
		mem_reclaim(table);
		if (i == 1000)
			before = resident();
	}
	CU_ASSERT(resident() - before < SHADOW << 20 || resident() < before);
	/* one in 256 by chance */
	CU_ASSERT(repeats < 1000000 / 128);
	CU_ASSERT_EQUAL(mem_count(table), 0);
	CU_ASSERT_FALSE(mem_pd_used(table, PD));
	mem_table_destroy(table);
}

/* Entries of several PDs, two of which share a bucket of any power of two. */
static void pd_used(void)
{
	static const uint32_t pds[] = {0, 1, 0x80000001, UINT32_MAX};
	struct mem_table *table = table_new(16);
	uint32_t region[4], window[4];

	for (int i = 0; i < 4; i++) {
		CU_ASSERT_FALSE(mem_pd_used(table, pds[i]));
		region[i] = region_new(table, pds[i], buffer, 1, 0);
		window[i] = window_new(table, pds[i], 1 + i % 2);
		CU_ASSERT_TRUE(mem_pd_used(table, pds[i]));
	}
	for (int i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(mem_deregister(table, region[i]), 0);
		CU_ASSERT_TRUE(mem_pd_used(table, pds[i]));
		CU_ASSERT_EQUAL(mem_window_dealloc(table, window[i]), 0);
		CU_ASSERT_FALSE(mem_pd_used(table, pds[i]));
		for (int j = i + 1; j < 4; j++)
			CU_ASSERT_TRUE(mem_pd_used(table, pds[j]));
	}
	mem_table_destroy(table);
}

/* Keys that were never given out, at every place of the key's 32 bits. */
static void strange_keys(void)
{
	struct mem_table *table = table_new(100);
	uint32_t key = region_new(table, PD, buffer, 64, LW | RR);
	uint32_t window = window_new(table, PD, 1);
	uint8_t *host;

	for (uint32_t bit = 0; bit < 33; bit++) {
		uint32_t wrong = bit < 32 ? key ^ 1u << bit : 0;

		if (wrong == window)
			continue;
		CU_ASSERT_EQUAL(
			mem_local(table, PD, wrong, (uintptr_t)buffer, 1, 0, &host), MEM_BAD_KEY);
		CU_ASSERT_EQUAL(mem_remote(table, PD, QP, wrong, (uintptr_t)buffer, 1, RR, &host),
			MEM_BAD_KEY);
		CU_ASSERT_EQUAL(mem_deregister(table, wrong), -EINVAL);
		CU_ASSERT_EQUAL(mem_window_dealloc(table, wrong), -EINVAL);
		CU_ASSERT_EQUAL(mem_invalidate(table, wrong, PD, QP), MEM_BAD_KEY);
	}
	/* beyond the capacity, at the top */
	CU_ASSERT_EQUAL(mem_local(table, PD, 101u << 8, 0, 1, 0, &host), MEM_BAD_KEY);
	CU_ASSERT_EQUAL(mem_local(table, PD, UINT32_MAX, 0, 1, 0, &host), MEM_BAD_KEY);
	CU_ASSERT_EQUAL(mem_local(table, PD, 0xff, 0, 1, 0, &host), MEM_BAD_KEY);
	/* each kind by its own call only */
	CU_ASSERT_EQUAL(mem_window_dealloc(table, key), -EINVAL);
	CU_ASSERT_EQUAL(mem_deregister(table, window), -EINVAL);
	CU_ASSERT_EQUAL(mem_count(table), 2);
	mem_table_destroy(table);
}

static const struct unit_case cases[] = {
	UNIT_CASE(creation_errors),
	UNIT_CASE(largest_table_is_cheap),
	UNIT_CASE(capacities),
	UNIT_CASE(low_byte_is_random),
	UNIT_CASE(seeds_differ),
	UNIT_CASE(quarantine),
	UNIT_CASE(a_million_in_a_loop),
	UNIT_CASE(pd_used),
	UNIT_CASE(strange_keys),
};

UNIT_MAIN("mem-table", cases)
