/* SPDX-License-Identifier: BSD-3-Clause */
/* Registering: which arguments are refused, and what each flag of a change keeps. */
#include <errno.h>

#include "fixture.h"

static uint8_t buffer[4096];
static uint8_t other[4096];

static uint8_t *at(uint64_t address)
{
	return (uint8_t *)(uintptr_t)address;
}

struct register_row {
	uint64_t host;
	uint64_t length;
	uint64_t iova;
	uint32_t access;
	int result;
};

#define MAX UINT64_MAX

static void arguments(void)
{
	static const struct register_row rows[] = {
		/* addresses: the last byte must have one */
		{0x1000, 1, MAX, 0, 0},
		{0x1000, 2, MAX, 0, -EINVAL},
		{0x1000, 0, MAX, 0, 0},
		{1, MAX, 0, 0, 0},
		{1, MAX, 1, 0, 0},
		{1, MAX, 2, 0, -EINVAL},
		{2, MAX, 0, 0, -EINVAL},
		{MAX - 15, 16, 0, 0, 0},
		{MAX - 15, 17, 0, 0, -EINVAL},
		{MAX, 1, 0, 0, 0},
		{MAX, MAX, MAX, 0, -EINVAL},
		{0x1000, 0x1000, MAX - 0xfff, 0, 0},
		{0x1000, 0x1000, MAX - 0xffe, 0, -EINVAL},
		/* no memory at all */
		{0, 0, 0, 0, 0},
		{0, 1, 0, 0, -EINVAL},
		/* man ibv_reg_mr: remote write and remote atomic need local write */
		{0x1000, 1, 0, RW, -EINVAL},
		{0x1000, 1, 0, RA, -EINVAL},
		{0x1000, 1, 0, RW | RA | RR | MB, -EINVAL},
		{0x1000, 1, 0, RW | LW, 0},
		{0x1000, 1, 0, RA | LW, 0},
		{0x1000, 1, 0, RR, 0},
		{0x1000, 1, 0, MB, 0},
		{0x1000, 1, 0, LW | RW | RR | RA | MB, 0},
		/* zero based, on demand: not here; huge pages: a hint */
		{0x1000, 1, 0, 1 << 5, -EOPNOTSUPP},
		{0x1000, 1, 0, 1 << 6, -EOPNOTSUPP},
		{0x1000, 1, 0, LW | 1 << 7, 0},
		{0x1000, 1, 0, 1 << 8, -EOPNOTSUPP},
		{0x1000, 1, 0, 1 << 19, -EOPNOTSUPP},
		{0x1000, 1, 0, 1 << 20, 0},
		{0x1000, 1, 0, 1 << 29, 0},
		{0x1000, 1, 0, 0x3ff00000, 0},
		{0x1000, 1, 0, 1 << 30, -EOPNOTSUPP},
		{0x1000, 1, 0, 1u << 31, -EOPNOTSUPP},
	};
	struct mem_table *table = table_new(64);
	uint32_t key, count = 0;

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct register_row *row = &rows[i];

		key = 0;
		CU_ASSERT_EQUAL(mem_register(table, PD, at(row->host), row->length, row->iova,
					row->access, &key),
			row->result);
		CU_ASSERT_EQUAL(key != 0, row->result == 0);
		count += row->result == 0;
		CU_ASSERT_EQUAL(mem_count(table), count);
	}
	mem_table_destroy(table);
}

/* A hint gives no right. */
static void hints_are_not_rights(void)
{
	struct mem_table *table = table_new(4);
	uint32_t key = region_new(table, PD, buffer, 8, 0x3ff00080);
	uint8_t *host;

	CU_ASSERT_EQUAL(mem_local(table, PD, key, (uintptr_t)buffer, 1, 0, &host), MEM_OK);
	CU_ASSERT_EQUAL(mem_local(table, PD, key, (uintptr_t)buffer, 1, LW, &host), MEM_BAD_ACCESS);
	CU_ASSERT_EQUAL(
		mem_remote(table, PD, QP, key, (uintptr_t)buffer, 1, RR, &host), MEM_BAD_ACCESS);
	mem_table_destroy(table);
}

/* What the region is after a change: the old value where the flag is absent. */
static void changes_by_flag(void)
{
	for (int flags = 1; flags < 8; flags++) {
		struct mem_table *table = table_new(4);
		uint32_t old = region_new(table, PD, buffer, 100, LW);
		uint32_t key = old;
		bool moved = flags & 1, given = flags & 2, opened = flags & 4;
		uint32_t pd = given ? 8 : PD;
		uint64_t iova = moved ? 0x5000 : (uintptr_t)buffer;
		uint64_t length = moved ? 200 : 100;
		uint8_t *host = NULL;

		CU_ASSERT_EQUAL(mem_reregister(table, &key, flags, 8, other, 200, 0x5000, RR), 0);
		CU_ASSERT_NOT_EQUAL(key, old);
		CU_ASSERT_EQUAL(mem_count(table), 1);
		CU_ASSERT_EQUAL(mem_local(table, pd, old, iova, 1, 0, &host), MEM_BAD_KEY);
		CU_ASSERT_EQUAL(mem_local(table, pd, key, iova, length, 0, &host), MEM_OK);
		CU_ASSERT_PTR_EQUAL(host, moved ? other : buffer);
		CU_ASSERT_EQUAL(
			mem_local(table, pd, key, iova, length + 1, 0, &host), MEM_BAD_RANGE);
		CU_ASSERT_EQUAL(mem_local(table, pd, key, iova, 1, LW, &host),
			opened ? MEM_BAD_ACCESS : MEM_OK);
		CU_ASSERT_EQUAL(mem_remote(table, pd, QP, key, iova, 1, RR, &host),
			opened ? MEM_OK : MEM_BAD_ACCESS);
		CU_ASSERT_EQUAL(
			mem_local(table, given ? PD : 8, key, iova, 1, 0, &host), MEM_BAD_PD);
		CU_ASSERT_EQUAL(mem_pd_used(table, PD), !given);
		CU_ASSERT_EQUAL(mem_pd_used(table, 8), given);
		CU_ASSERT_EQUAL(mem_deregister(table, key), 0);
		CU_ASSERT_FALSE(mem_pd_used(table, pd));
		mem_table_destroy(table);
	}
}

struct change_row {
	int flags;
	uint64_t host;
	uint64_t length;
	uint64_t iova;
	uint32_t access;
	int result;
};

/* The region was registered with LW | RW. A refused change leaves it and its key. */
static void refused_changes(void)
{
	static const struct change_row rows[] = {
		{0, 0x1000, 1, 0, LW, -EINVAL},
		{8, 0x1000, 1, 0, LW, -EINVAL},
		{-1, 0x1000, 1, 0, LW, -EINVAL},
		{1, 0x1000, 2, MAX, 0, -EINVAL},
		{1, MAX, 2, 0, 0, -EINVAL},
		{1, 0, 1, 0, 0, -EINVAL},
		{4, 0x1000, 1, 0, RW, -EINVAL},
		{4, 0x1000, 1, 0, RA, -EINVAL},
		{4, 0x1000, 1, 0, 1 << 6, -EOPNOTSUPP},
		{7, 0x1000, 2, MAX, LW, -EINVAL},
	};
	struct mem_table *table = table_new(4);
	uint32_t old = region_new(table, PD, buffer, 100, LW | RW);
	uint32_t key = old;
	uint8_t *host;

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct change_row *row = &rows[i];

		CU_ASSERT_EQUAL(mem_reregister(table, &key, row->flags, 8, at(row->host),
					row->length, row->iova, row->access),
			row->result);
		CU_ASSERT_EQUAL(key, old);
		CU_ASSERT_EQUAL(
			mem_remote(table, PD, QP, key, (uintptr_t)buffer, 100, RW, &host), MEM_OK);
	}
	key = old ^ 1;
	CU_ASSERT_EQUAL(mem_reregister(table, &key, 1, 8, other, 1, 0, 0), -EINVAL);
	key = window_new(table, PD, 1);
	CU_ASSERT_EQUAL(mem_reregister(table, &key, 1, 8, other, 1, 0, 0), -EINVAL);
	mem_table_destroy(table);
}

/* A change needs no second index. */
static void change_in_a_full_table(void)
{
	struct mem_table *table = table_new(1);
	uint32_t key = region_new(table, PD, buffer, 100, LW);

	for (int i = 0; i < 300; i++) {
		uint32_t old = key;

		CU_ASSERT_EQUAL(mem_reregister(table, &key, 4, 0, NULL, 0, 0, LW), 0);
		CU_ASSERT_NOT_EQUAL(key, old);
	}
	CU_ASSERT_EQUAL(mem_deregister(table, key), 0);
	CU_ASSERT_EQUAL(mem_deregister(table, key), -EINVAL);
	mem_table_destroy(table);
}

static const struct unit_case cases[] = {
	UNIT_CASE(arguments),
	UNIT_CASE(hints_are_not_rights),
	UNIT_CASE(changes_by_flag),
	UNIT_CASE(refused_changes),
	UNIT_CASE(change_in_a_full_table),
};

UNIT_MAIN("mem-region", cases)
