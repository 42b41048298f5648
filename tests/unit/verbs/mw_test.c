/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory windows: types, binds of type 1 through their own call, keys. */
#include "world.h"

static struct world world;

static void types(void)
{
	struct ibv_mw *mw;

	world_open(&world, false);
	ASSERT_NULL_ERRNO(ibv_alloc_mw(world.pd, (enum ibv_mw_type)3), EINVAL);
	ASSERT_NULL_ERRNO(ibv_alloc_mw(world.pd, (enum ibv_mw_type)0), EINVAL);
	for (enum ibv_mw_type type = IBV_MW_TYPE_1; type <= IBV_MW_TYPE_2; type++) {
		mw = ibv_alloc_mw(world.pd, type);
		CU_ASSERT_PTR_NOT_NULL_FATAL(mw);
		CU_ASSERT_EQUAL(mw->type, type);
		CU_ASSERT_PTR_EQUAL(mw->pd, world.pd);
		CU_ASSERT_PTR_EQUAL(mw->context, world.context);
		CU_ASSERT_NOT_EQUAL(mw->rkey, 0);
		CU_ASSERT_EQUAL(ibv_dealloc_mw(mw), 0);
	}
	fake_fail(world.engine, UROCE_ABI_ALLOC_MW, -ENOMEM);
	ASSERT_NULL_ERRNO(ibv_alloc_mw(world.pd, IBV_MW_TYPE_1), ENOMEM);
	world_close(&world);
}

/* man ibv_bind_mw: the new key is in mw->rkey when the call returns; it differs in the low byte. */
static void bind_type_1(void)
{
	struct ibv_mw_bind bind = {.wr_id = 9, .send_flags = IBV_SEND_SIGNALED};
	struct fake_send send;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	uint32_t key;

	world_open(&world, false);
	mr = ibv_reg_mr(world.pd, world.buffer, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	mw = ibv_alloc_mw(world.pd, IBV_MW_TYPE_1);
	key = mw->rkey;
	bind.bind_info.mr = mr;
	bind.bind_info.addr = (uintptr_t)world.buffer;
	bind.bind_info.length = 64;
	bind.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_WRITE;
	CU_ASSERT_EQUAL(ibv_bind_mw(world.qp, mw, &bind), EINVAL); /* RESET */
	CU_ASSERT_EQUAL(mw->rkey, key);
	CU_ASSERT_EQUAL(world_move(world.qp, IBV_QPS_RTS), 0);
	CU_ASSERT_EQUAL(ibv_bind_mw(world.qp, mw, &bind), 0);
	CU_ASSERT_NOT_EQUAL(mw->rkey, key);
	CU_ASSERT_EQUAL(mw->rkey >> 8, key >> 8);
	CU_ASSERT_FATAL(fake_take_send(world.engine, world.qp->handle, &send));
	CU_ASSERT_EQUAL(send.wqe.opcode, IBV_WR_BIND_MW);
	CU_ASSERT_EQUAL(send.wqe.wr_id, 9);
	CU_ASSERT_EQUAL(send.wqe.flags, IBV_SEND_SIGNALED);
	CU_ASSERT_EQUAL(send.wqe.wr.bind.window, key);
	CU_ASSERT_EQUAL(send.wqe.wr.bind.new_rkey, mw->rkey);
	CU_ASSERT_EQUAL(send.wqe.wr.bind.lkey, mr->lkey);
	CU_ASSERT_EQUAL(send.wqe.wr.bind.access, UROCE_ABI_BIND_TYPE1 | IBV_ACCESS_REMOTE_WRITE);
	memset(&bind.bind_info, 0, sizeof(bind.bind_info)); /* unbinds */
	CU_ASSERT_EQUAL(ibv_bind_mw(world.qp, mw, &bind), 0);
	CU_ASSERT_FATAL(fake_take_send(world.engine, world.qp->handle, &send));
	CU_ASSERT_EQUAL(send.wqe.wr.bind.length, 0);
	bind.bind_info.length = 1; /* of no region */
	CU_ASSERT_EQUAL(ibv_bind_mw(world.qp, mw, &bind), EINVAL);
	CU_ASSERT_EQUAL(ibv_dealloc_mw(mw), 0);
	CU_ASSERT_EQUAL(ibv_dereg_mr(mr), 0);
	world_close(&world);
}

static void wrong_binds(void)
{
	struct ibv_mw_bind bind = {0};
	struct ibv_pd *other;
	struct ibv_mw *mw1, *mw2, *foreign;
	struct ibv_mr *mr;

	world_open(&world, false);
	CU_ASSERT_EQUAL(world_move(world.qp, IBV_QPS_RTS), 0);
	other = ibv_alloc_pd(world.context);
	mw1 = ibv_alloc_mw(world.pd, IBV_MW_TYPE_1);
	mw2 = ibv_alloc_mw(world.pd, IBV_MW_TYPE_2);
	foreign = ibv_alloc_mw(other, IBV_MW_TYPE_1);
	mr = ibv_reg_mr(other, world.buffer, 64, IBV_ACCESS_LOCAL_WRITE);
	CU_ASSERT_EQUAL(ibv_bind_mw(world.qp, mw2, &bind), EINVAL); /* wants ibv_post_send() */
	CU_ASSERT_EQUAL(ibv_bind_mw(world.qp, foreign, &bind), EINVAL);
	bind.bind_info.mr = mr;
	CU_ASSERT_EQUAL(ibv_bind_mw(world.qp, mw1, &bind), EPERM);
	CU_ASSERT_EQUAL(ibv_dereg_mr(mr), 0);
	CU_ASSERT_EQUAL(ibv_dealloc_mw(mw1), 0);
	CU_ASSERT_EQUAL(ibv_dealloc_mw(mw2), 0);
	CU_ASSERT_EQUAL(ibv_dealloc_mw(foreign), 0);
	CU_ASSERT_EQUAL(ibv_dealloc_pd(other), 0);
	world_close(&world);
}

static const struct unit_case cases[] = {
	UNIT_CASE(types),
	UNIT_CASE(bind_type_1),
	UNIT_CASE(wrong_binds),
};

UNIT_MAIN("verbs-mw", cases)
