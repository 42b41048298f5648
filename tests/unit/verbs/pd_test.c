/* SPDX-License-Identifier: BSD-3-Clause */
/* Protection domains: errors as the engine gives them, the object kept when it could not be freed.
 */
#include "world.h"

static struct world world;

static void made_and_freed(void)
{
	struct ibv_pd *pd;

	world_open(&world, false);
	pd = ibv_alloc_pd(world.context);
	CU_ASSERT_PTR_NOT_NULL_FATAL(pd);
	CU_ASSERT_PTR_EQUAL(pd->context, world.context);
	CU_ASSERT_NOT_EQUAL(pd->handle, world.pd->handle);
	CU_ASSERT_EQUAL(ibv_dealloc_pd(pd), 0);
	world_close(&world);
}

static void errors(void)
{
	world_open(&world, false);
	fake_fail(world.engine, UROCE_ABI_ALLOC_PD, -ENOMEM);
	ASSERT_NULL_ERRNO(ibv_alloc_pd(world.context), ENOMEM);
	fake_fail(world.engine, UROCE_ABI_DEALLOC_PD, -EBUSY);
	CU_ASSERT_EQUAL(ibv_dealloc_pd(world.pd), EBUSY);
	fake_fail(world.engine, UROCE_ABI_DEALLOC_PD, 0);
	world_close(&world);
}

static const struct unit_case cases[] = {UNIT_CASE(made_and_freed), UNIT_CASE(errors)};

UNIT_MAIN("verbs-pd", cases)
