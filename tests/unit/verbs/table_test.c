/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles to objects: edges, growth, removal. */
#include <errno.h>
#include <stdlib.h>

#include "table.h"
#include "unit.h"

#define LAST (TABLE_PAGE * TABLE_PAGES)

static void edges(void)
{
	struct table *table = calloc(1, sizeof(*table));
	int object[4];
	static const uint32_t handles[] = {1, TABLE_PAGE, TABLE_PAGE + 1, LAST};

	for (unsigned int i = 0; i < 4; i++) {
		CU_ASSERT_PTR_NULL(table_get(table, handles[i]));
		CU_ASSERT_EQUAL(table_set(table, handles[i], &object[i]), 0);
	}
	for (unsigned int i = 0; i < 4; i++)
		CU_ASSERT_PTR_EQUAL(table_get(table, handles[i]), &object[i]);
	CU_ASSERT_EQUAL(table_set(table, TABLE_PAGE, NULL), 0);
	CU_ASSERT_PTR_NULL(table_get(table, TABLE_PAGE));
	CU_ASSERT_PTR_EQUAL(table_get(table, 1), &object[0]);
	table_free(table);
	free(table);
}

static void impossible(void)
{
	struct table *table = calloc(1, sizeof(*table));
	int object;

	CU_ASSERT_EQUAL(table_set(table, 0, &object), -EPROTO);
	CU_ASSERT_EQUAL(table_set(table, LAST + 1, &object), -EPROTO);
	CU_ASSERT_EQUAL(table_set(table, UINT32_MAX, &object), -EPROTO);
	CU_ASSERT_PTR_NULL(table_get(table, 0));
	CU_ASSERT_PTR_NULL(table_get(table, LAST + 1));
	CU_ASSERT_EQUAL(table_set(table, 7, NULL), 0); /* nothing was there */
	table_free(table);
	free(table);
}

static const struct unit_case cases[] = {UNIT_CASE(edges), UNIT_CASE(impossible)};

UNIT_MAIN("verbs-table", cases)
