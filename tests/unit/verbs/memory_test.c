/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of the region. */
#include "world.h"

static struct world world;

static void given(void)
{
	uint8_t *small, *large;
	struct ibv_mr *mr;

	world_open(&world, false);
	small = uroce_alloc(world.context, 1);
	large = uroce_alloc(world.context, 10000);
	CU_ASSERT_PTR_NOT_NULL_FATAL(small);
	CU_ASSERT_PTR_NOT_NULL_FATAL(large);
	CU_ASSERT_EQUAL((uintptr_t)small % 64, 0);
	CU_ASSERT_EQUAL((uintptr_t)large % 4096, 0);
	for (unsigned int i = 0; i < 10000; i++)
		CU_ASSERT_EQUAL_FATAL(large[i], 0);
	memset(large, 0xee, 10000);
	mr = ibv_reg_mr(world.pd, large, 10000, IBV_ACCESS_LOCAL_WRITE);
	CU_ASSERT_PTR_NOT_NULL_FATAL(mr);
	CU_ASSERT_EQUAL(ibv_dereg_mr(mr), 0);
	fake_fail(world.engine, UROCE_ABI_FREE, -EBUSY);
	CU_ASSERT_EQUAL(uroce_free(world.context, large), EBUSY);
	fake_fail(world.engine, UROCE_ABI_FREE, 0);
	CU_ASSERT_EQUAL(uroce_free(world.context, large), 0);
	CU_ASSERT_EQUAL(fake_last(world.engine, UROCE_ABI_FREE)->u.memory.size, 10000);
	CU_ASSERT_EQUAL(uroce_free(world.context, large), EINVAL); /* once */
	CU_ASSERT_EQUAL(uroce_free(world.context, small + 1), EINVAL);
	CU_ASSERT_EQUAL(uroce_free(world.context, world.buffer), EINVAL);
	CU_ASSERT_EQUAL(uroce_free(world.context, NULL), 0);
	world_close(&world); /* with `small` in use: it goes with the context */
}

static void refused(void)
{
	world_open(&world, false);
	ASSERT_NULL_ERRNO(uroce_alloc(world.context, 0), EINVAL);
	fake_fail(world.engine, UROCE_ABI_ALLOC, -ENOMEM);
	ASSERT_NULL_ERRNO(uroce_alloc(world.context, 1), ENOMEM);
	world_close(&world);
}

static const struct unit_case cases[] = {UNIT_CASE(given), UNIT_CASE(refused)};

UNIT_MAIN("verbs-memory", cases)
