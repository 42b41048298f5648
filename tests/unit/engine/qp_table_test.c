/* SPDX-License-Identifier: BSD-3-Clause */
/* QP numbers: which, how random, how long they rest; names that outlive their QP. */
#include <errno.h>
#include <stdlib.h>

#include "qp_table.h"
#include "unit.h"

#define MANY 20000u

/* The table never looks into a QP. */
static struct engine_qp *qp_of(uintptr_t n)
{
	return (struct engine_qp *)(n + 1);
}

static const struct cores one = {.count = 1};

static void numbers(void)
{
	struct random random;
	struct qp_table table;
	uint32_t qp_num, high = 0, low = 0;
	struct qp_name name;

	random_seed(&random, 1);
	CU_ASSERT_EQUAL_FATAL(qp_table_init(&table, MANY, &one, 0), 0);
	for (uint32_t i = 0; i < MANY; i++) {
		CU_ASSERT_EQUAL_FATAL(qp_table_add(&table, &random, qp_of(i), &qp_num, &name), 0);
		CU_ASSERT(qp_num > 1 && qp_num < 0xffffff);
		CU_ASSERT_PTR_EQUAL(qp_table_find(&table, qp_num), qp_of(i));
		CU_ASSERT_PTR_EQUAL(qp_table_at(&table, name), qp_of(i));
		high += qp_num >= 0x800000;
		low += qp_num & 1;
	}
	/* Half of them each: the standard deviation is 71. */
	CU_ASSERT(high > MANY / 2 - 500 && high < MANY / 2 + 500);
	CU_ASSERT(low > MANY / 2 - 500 && low < MANY / 2 + 500);
	CU_ASSERT_EQUAL(qp_table_add(&table, &random, qp_of(0), &qp_num, &name), -ENOMEM);
	CU_ASSERT_EQUAL(table.count, MANY);
	qp_table_fini(&table);
}

static void strange_numbers(void)
{
	static const uint32_t rows[] = {0, 1, 2, 0xfffffe, 0xffffff, 0x1000000, UINT32_MAX};
	struct qp_table table;

	CU_ASSERT_EQUAL_FATAL(qp_table_init(&table, 4, &one, 0), 0);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CU_ASSERT_PTR_NULL(qp_table_find(&table, rows[i]));
	qp_table_fini(&table);
}

/* A number that was in use is found by nobody, and isn't given out while it rests. */
static void numbers_rest(void)
{
	uint32_t *last = calloc(1u << 24, sizeof(*last));
	struct random random;
	struct qp_table table;

	random_seed(&random, 2);
	CU_ASSERT_EQUAL_FATAL(qp_table_init(&table, 1, &one, 0), 0);
	for (uint32_t i = 1; i < 50000; i++) {
		struct qp_name name;
		uint32_t qp_num;

		CU_ASSERT_EQUAL_FATAL(qp_table_add(&table, &random, qp_of(i), &qp_num, &name), 0);
		CU_ASSERT(last[qp_num] == 0 || i - last[qp_num] > QP_REST);
		last[qp_num] = i;
		qp_table_remove(&table, qp_num, name);
		CU_ASSERT_PTR_NULL(qp_table_find(&table, qp_num));
	}
	CU_ASSERT_EQUAL(table.numbers.count, QP_REST);
	qp_table_fini(&table);
	free(last);
}

/* The random numbers are made to repeat: what rests is passed over. */
static void resting_numbers_are_passed_over(void)
{
	struct random random;
	struct qp_table table;
	uint32_t first[100], again;
	struct qp_name name;

	CU_ASSERT_EQUAL_FATAL(qp_table_init(&table, 1, &one, 0), 0);
	random_seed(&random, 3);
	for (unsigned int i = 0; i < 100; i++) {
		CU_ASSERT_EQUAL_FATAL(qp_table_add(&table, &random, qp_of(i), &first[i], &name), 0);
		qp_table_remove(&table, first[i], name);
	}
	random_seed(&random, 3);
	for (unsigned int i = 0; i < 100; i++) {
		CU_ASSERT_EQUAL_FATAL(qp_table_add(&table, &random, qp_of(i), &again, &name), 0);
		for (unsigned int j = 0; j < 100; j++)
			CU_ASSERT_NOT_EQUAL(again, first[j]);
		qp_table_remove(&table, again, name);
	}
	qp_table_fini(&table);
}

static void names_die(void)
{
	struct random random;
	struct qp_table table;
	struct qp_name old, name;
	uint32_t old_num, qp_num;

	random_seed(&random, 4);
	CU_ASSERT_EQUAL_FATAL(qp_table_init(&table, 2, &one, 0), 0);
	CU_ASSERT_EQUAL(qp_table_add(&table, &random, qp_of(1), &old_num, &old), 0);
	qp_table_remove(&table, old_num, old);
	CU_ASSERT_PTR_NULL(qp_table_at(&table, old));
	CU_ASSERT_EQUAL(qp_table_add(&table, &random, qp_of(2), &qp_num, &name), 0);
	CU_ASSERT_EQUAL(name.index, old.index); /* the same place, another QP */
	CU_ASSERT_PTR_NULL(qp_table_at(&table, old));
	CU_ASSERT_PTR_EQUAL(qp_table_at(&table, name), qp_of(2));
	qp_table_fini(&table);
}

static const struct unit_case cases[] = {
	UNIT_CASE(numbers),
	UNIT_CASE(strange_numbers),
	UNIT_CASE(numbers_rest),
	UNIT_CASE(resting_numbers_are_passed_over),
	UNIT_CASE(names_die),
};

UNIT_MAIN("engine-qp_table", cases)
