/* SPDX-License-Identifier: BSD-3-Clause */
/* 24-bit serial arithmetic around both edges: the wrap at 2^24 and the half at 2^23. */
#include <stdint.h>

#include "psn.h"
#include "unit.h"

static const struct {
	uint32_t psn, n, sum;
} sums[] = {
	{0x000000, 0, 0x000000},
	{0x000000, 1, 0x000001},
	{0xfffffe, 1, 0xffffff},
	{0xffffff, 1, 0x000000},
	{0xffffff, 2, 0x000001},
	{0x7fffff, 1, 0x800000},
	{0x000001, 0xffffff, 0x000000},
	{0x123456, 0x1000000, 0x123456},
};

/* cmp: the signed distance; ahead: the unsigned one. */
static const struct {
	uint32_t a, b;
	int32_t cmp;
	uint32_t ahead;
} distances[] = {
	{0x000000, 0x000000, 0, 0},
	{0x000001, 0x000000, 1, 1},
	{0x000000, 0x000001, -1, 0xffffff},
	{0x000000, 0xffffff, 1, 1},
	{0xffffff, 0x000000, -1, 0xffffff},
	{0xffffff, 0xffffff, 0, 0},
	{0x000005, 0xfffffb, 10, 10},
	{0xfffffb, 0x000005, -10, 0xfffff6},
	{0x7fffff, 0x000000, 8388607, 0x7fffff},
	{0x800000, 0x000000, -8388608, 0x800000},
	{0x800001, 0x000000, -8388607, 0x800001},
	{0x000000, 0x7fffff, -8388607, 0x800001},
	{0x000000, 0x800000, -8388608, 0x800000},
	{0x000000, 0x800001, 8388607, 0x7fffff},
	{0x7ffffe, 0xffffff, 8388607, 0x7fffff},
	{0x7fffff, 0xffffff, -8388608, 0x800000},
};

static void add(void)
{
	for (unsigned int i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
		CU_ASSERT_EQUAL(psn_add(sums[i].psn, sums[i].n), sums[i].sum);
}

static void compare(void)
{
	for (unsigned int i = 0; i < sizeof(distances) / sizeof(distances[0]); i++)
		CU_ASSERT_EQUAL(psn_cmp(distances[i].a, distances[i].b), distances[i].cmp);
}

static void ahead(void)
{
	for (unsigned int i = 0; i < sizeof(distances) / sizeof(distances[0]); i++)
		CU_ASSERT_EQUAL(psn_ahead(distances[i].a, distances[i].b), distances[i].ahead);
}

/* Every number is before its successor, all the way round. */
static void round_trip(void)
{
	unsigned int wrong = 0;
	uint32_t psn = 0;

	do {
		uint32_t next = psn_add(psn, 1);

		wrong += psn_cmp(next, psn) != 1 || psn_cmp(psn, next) != -1;
		psn = next;
	} while (psn != 0);
	CU_ASSERT_EQUAL(wrong, 0);
}

static const struct unit_case cases[] = {
	UNIT_CASE(add),
	UNIT_CASE(compare),
	UNIT_CASE(ahead),
	UNIT_CASE(round_trip),
};

UNIT_MAIN("base-psn", cases)
