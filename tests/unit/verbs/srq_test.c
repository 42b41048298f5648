/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues: arguments, limits, destroy. Posting to them is in post_test.c. */
#include "world.h"

static struct world world;

static const struct {
	uint32_t max_wr, max_sge;
	int error;
} sizes[] = {
	{1, 1, 0},
	{FAKE_MAX_WR, FAKE_MAX_SGE, 0},
	{1, 0, 0},
	{0, 1, EINVAL},
	{FAKE_MAX_WR + 1, 1, EINVAL},
	{1, FAKE_MAX_SGE + 1, EINVAL},
	{UINT32_MAX, 1, EINVAL},
};

static void created(void)
{
	world_open(&world, false);
	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct ibv_srq_init_attr init = {.srq_context = &world,
			.attr = {.max_wr = sizes[i].max_wr, .max_sge = sizes[i].max_sge}};
		struct ibv_srq *srq;

		errno = 0;
		srq = ibv_create_srq(world.pd, &init);
		CU_ASSERT_EQUAL(srq == NULL, sizes[i].error != 0);
		CU_ASSERT_EQUAL(errno, sizes[i].error);
		if (!srq)
			continue;
		CU_ASSERT_PTR_EQUAL(srq->srq_context, &world);
		CU_ASSERT_PTR_EQUAL(srq->pd, world.pd);
		CU_ASSERT(init.attr.max_wr >= sizes[i].max_wr);
		CU_ASSERT_EQUAL(init.attr.max_sge, FAKE_MAX_SGE); /* as granted */
		CU_ASSERT_EQUAL(ibv_destroy_srq(srq), 0);
	}
	world_close(&world);
}

static void modified(void)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 8, .max_sge = 1}};
	struct ibv_srq_attr attr = {.max_wr = 16, .srq_limit = 8};
	struct ibv_srq *srq;

	world_open(&world, false);
	srq = ibv_create_srq(world.pd, &init);
	CU_ASSERT_EQUAL(ibv_modify_srq(srq, &attr, 1 << 2), EINVAL);
	CU_ASSERT_EQUAL(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EOPNOTSUPP);
	CU_ASSERT_EQUAL(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), EOPNOTSUPP);
	CU_ASSERT_EQUAL(fake_commands(world.engine, UROCE_ABI_MODIFY_SRQ), 0);
	attr.srq_limit = 9;
	CU_ASSERT_EQUAL(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), EINVAL);
	attr.srq_limit = 8;
	CU_ASSERT_EQUAL(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	memset(&attr, 0, sizeof(attr));
	CU_ASSERT_EQUAL(ibv_query_srq(srq, &attr), 0);
	CU_ASSERT_EQUAL(attr.srq_limit, 8);
	CU_ASSERT_EQUAL(attr.max_wr, 8);
	CU_ASSERT_EQUAL(attr.max_sge, FAKE_MAX_SGE);
	CU_ASSERT_EQUAL(ibv_modify_srq(srq, &attr, 0), 0);
	fake_fail(world.engine, UROCE_ABI_DESTROY_SRQ, -EBUSY);
	CU_ASSERT_EQUAL(ibv_destroy_srq(srq), EBUSY);
	fake_fail(world.engine, UROCE_ABI_DESTROY_SRQ, 0);
	CU_ASSERT_EQUAL(ibv_destroy_srq(srq), 0);
	world_close(&world);
}

static const struct unit_case cases[] = {UNIT_CASE(created), UNIT_CASE(modified)};

UNIT_MAIN("verbs-srq", cases)
