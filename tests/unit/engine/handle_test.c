/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles: values that were never given out, limits, and how late a number comes again. */
#include <errno.h>

#include "handle.h"
#include "unit.h"

static int objects[5000];

static void strange_values(void)
{
	static const uint32_t values[] = {
		0, 2, 255, 256, 257, 1000, 0x7fffffff, 0x80000000, UINT32_MAX - 1, UINT32_MAX};
	struct handle_table table;
	uint32_t handle;

	CU_ASSERT_EQUAL_FATAL(handle_table_init(&table, 1000), 0);
	CU_ASSERT_PTR_NULL(handle_get(&table, 1));
	CU_ASSERT_EQUAL(handle_put(&table, &objects[0], &handle), 0);
	CU_ASSERT_EQUAL(handle, 1);
	CU_ASSERT_PTR_EQUAL(handle_get(&table, 1), &objects[0]);
	for (unsigned int i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		CU_ASSERT_PTR_NULL(handle_get(&table, values[i]));
	handle_remove(&table, 1);
	CU_ASSERT_PTR_NULL(handle_get(&table, 1));
	handle_table_fini(&table);
}

static void limits(void)
{
	static const uint32_t rows[] = {1, 2, 63, 64, 65, 255, 256, 257, 1000};

	for (unsigned int row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		struct handle_table table;
		uint32_t handle = 0;

		CU_ASSERT_EQUAL_FATAL(handle_table_init(&table, rows[row]), 0);
		for (uint32_t i = 0; i < rows[row]; i++)
			CU_ASSERT_EQUAL(handle_put(&table, &objects[i], &handle), 0);
		CU_ASSERT_EQUAL(table.live, rows[row]);
		CU_ASSERT_EQUAL(handle_put(&table, &objects[0], &handle), -ENOMEM);
		handle_remove(&table, rows[row]);
		CU_ASSERT_EQUAL(handle_put(&table, &objects[7], &handle), 0);
		CU_ASSERT_EQUAL(handle, rows[row]);
		CU_ASSERT_PTR_EQUAL(handle_get(&table, handle), &objects[7]);
		handle_table_fini(&table);
	}
}

/* One at a time: 63 others are given out before a number comes again. */
static void numbers_rest(void)
{
	struct handle_table table;
	uint32_t last[5000] = {0};

	CU_ASSERT_EQUAL_FATAL(handle_table_init(&table, 1000), 0);
	for (uint32_t i = 1; i < 3000; i++) {
		uint32_t handle;

		CU_ASSERT_EQUAL_FATAL(handle_put(&table, &objects[0], &handle), 0);
		CU_ASSERT(last[handle] == 0 || i - last[handle] >= 64);
		last[handle] = i;
		handle_remove(&table, handle);
	}
	CU_ASSERT_EQUAL(table.live, 0);
	handle_table_fini(&table);
}

static void walking(void)
{
	struct handle_table table;
	uint32_t handle, seen = 0;

	CU_ASSERT_EQUAL_FATAL(handle_table_init(&table, 1000), 0);
	CU_ASSERT_EQUAL(handle_next(&table, 0), 0);
	for (uint32_t i = 0; i < 600; i++)
		CU_ASSERT_EQUAL(handle_put(&table, &objects[i], &handle), 0);
	for (uint32_t i = 1; i <= 600; i += 3)
		handle_remove(&table, i);
	for (handle = handle_next(&table, 0); handle; handle = handle_next(&table, handle)) {
		CU_ASSERT_NOT_EQUAL(handle % 3, 1);
		CU_ASSERT_PTR_EQUAL(handle_get(&table, handle), &objects[handle - 1]);
		seen++;
	}
	CU_ASSERT_EQUAL(seen, 400);
	handle_table_fini(&table);
}

static const struct unit_case cases[] = {
	UNIT_CASE(strange_values),
	UNIT_CASE(limits),
	UNIT_CASE(numbers_rest),
	UNIT_CASE(walking),
};

UNIT_MAIN("engine-handle", cases)
