/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of lib/mem share: a table from a fixed seed, and shorter calls. */
#ifndef UROCE_TESTS_MEM_FIXTURE_H
#define UROCE_TESTS_MEM_FIXTURE_H

#include <infiniband/verbs.h>

#include "mem.h"
#include "random.h"
#include "unit.h"

#define PD 7u
#define QP 0x1234u

/* The bits as verbs.h has them, written out. */
enum {
	LW = 1,
	RW = 2,
	RR = 4,
	RA = 8,
	MB = 16,
	ZB = 32,
};

static inline struct mem_table *table_new(uint32_t capacity)
{
	struct mem_table *table = NULL;
	struct random random;

	random_seed(&random, 1);
	CU_ASSERT_EQUAL_FATAL(mem_table_create(capacity, &random, &table), 0);
	return table;
}

/* A region whose peers use the engine's own addresses. */
static inline uint32_t region_new(
	struct mem_table *table, uint32_t pd, void *at, uint64_t length, uint32_t access)
{
	uint32_t key = 0;

	CU_ASSERT_EQUAL_FATAL(mem_register(table, pd, at, length, (uintptr_t)at, access, &key), 0);
	return key;
}

static inline uint32_t window_new(struct mem_table *table, uint32_t pd, int type)
{
	uint32_t rkey = 0;

	CU_ASSERT_EQUAL_FATAL(mem_window_alloc(table, pd, type, &rkey), 0);
	return rkey;
}

#endif
