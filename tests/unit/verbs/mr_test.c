/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory regions: what the man pages refuse, what reaches the engine, what changes with rereg. */
#include <sys/mman.h>

#include "fallthrough.h" /* the functions that macros of verbs.h hide */
#include "world.h"

static struct world world;

static const struct {
	int access;
	size_t length;
	int error;
} registrations[] = {
	{0, 1, 0},
	{IBV_ACCESS_LOCAL_WRITE, 4096, 0},
	{IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND,
		4096, 0},
	{0, 0, EINVAL},
	{IBV_ACCESS_REMOTE_WRITE, 1, EINVAL},
	{IBV_ACCESS_REMOTE_ATOMIC, 1, EINVAL},
	{IBV_ACCESS_ON_DEMAND, 1, EOPNOTSUPP},
	{IBV_ACCESS_ZERO_BASED, 1, EOPNOTSUPP},
	{0, SIZE_MAX, EFAULT},
	{0, SIZE_MAX / 2, EFAULT},
};

static void registered(void)
{
	world_open(&world, false);
	for (unsigned int i = 0; i < sizeof(registrations) / sizeof(registrations[0]); i++) {
		struct ibv_mr *mr;

		errno = 0;
		mr = ibv_reg_mr(
			world.pd, world.buffer, registrations[i].length, registrations[i].access);
		CU_ASSERT_EQUAL(mr == NULL, registrations[i].error != 0);
		CU_ASSERT_EQUAL(errno, registrations[i].error);
		if (!mr)
			continue;
		CU_ASSERT_PTR_EQUAL(mr->context, world.context);
		CU_ASSERT_PTR_EQUAL(mr->pd, world.pd);
		CU_ASSERT_PTR_EQUAL(mr->addr, world.buffer);
		CU_ASSERT_EQUAL(mr->length, registrations[i].length);
		CU_ASSERT_NOT_EQUAL(mr->lkey, 0);
		CU_ASSERT_EQUAL(mr->lkey, mr->rkey);
		CU_ASSERT_EQUAL(ibv_dereg_mr(mr), 0);
	}
	world_close(&world);
}

static void unmapped(void)
{
	uint8_t *page = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;

	world_open(&world, false);
	munmap(page + 4096, 4096);
	mr = ibv_reg_mr(world.pd, page, 4096, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(mr);
	CU_ASSERT_EQUAL(ibv_dereg_mr(mr), 0);
	ASSERT_NULL_ERRNO(ibv_reg_mr(world.pd, page, 4096, IBV_ACCESS_LOCAL_WRITE), EFAULT);
	ASSERT_NULL_ERRNO(ibv_reg_mr_iova(world.pd, page, 4097, 0, 0), EFAULT);
	munmap(page, 4096);
	ASSERT_NULL_ERRNO(ibv_reg_mr(world.pd, page, 4096, 0), EFAULT);
	ASSERT_NULL_ERRNO(ibv_reg_mr(world.pd, NULL, 4096, 0), EFAULT);
	CU_ASSERT_EQUAL(fake_commands(world.engine, UROCE_ABI_REG_MR), 1);
	world_close(&world);
}

static void with_iova(void)
{
	const struct uroce_abi_command *seen;
	struct ibv_mr *mr;

	world_open(&world, false);
	mr = ibv_reg_mr_iova(world.pd, world.buffer, 100, 0x12345000, IBV_ACCESS_LOCAL_WRITE);
	CU_ASSERT_PTR_NOT_NULL_FATAL(mr);
	seen = fake_last(world.engine, UROCE_ABI_REG_MR);
	CU_ASSERT_EQUAL(seen->u.mr.pd, world.pd->handle);
	CU_ASSERT_EQUAL(seen->u.mr.address, (uintptr_t)world.buffer);
	CU_ASSERT_EQUAL(seen->u.mr.length, 100);
	CU_ASSERT_EQUAL(seen->u.mr.iova, 0x12345000);
	CU_ASSERT_EQUAL(seen->u.mr.access, IBV_ACCESS_LOCAL_WRITE);
	CU_ASSERT_EQUAL(ibv_dereg_mr(mr), 0);
	/* an optional bit is dropped, not refused: perftest sets it */
	mr = ibv_reg_mr_iova2(world.pd, world.buffer, 100, (uintptr_t)world.buffer,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING);
	CU_ASSERT_PTR_NOT_NULL_FATAL(mr);
	CU_ASSERT_EQUAL(seen->u.mr.access, IBV_ACCESS_LOCAL_WRITE);
	CU_ASSERT_EQUAL(seen->u.mr.iova, (uintptr_t)world.buffer);
	CU_ASSERT_EQUAL(ibv_dereg_mr(mr), 0);
	world_close(&world);
}

static void engine_refuses(void)
{
	struct ibv_mr *mr;

	world_open(&world, false);
	fake_fail(world.engine, UROCE_ABI_REG_MR, -ENOMEM);
	ASSERT_NULL_ERRNO(ibv_reg_mr(world.pd, world.buffer, 1, 0), ENOMEM);
	fake_fail(world.engine, UROCE_ABI_REG_MR, 0);
	mr = ibv_reg_mr(world.pd, world.buffer, 1, 0);
	fake_fail(world.engine, UROCE_ABI_DEREG_MR, -EBUSY); /* a window is bound */
	CU_ASSERT_EQUAL(ibv_dereg_mr(mr), EBUSY);
	fake_fail(world.engine, UROCE_ABI_DEREG_MR, 0);
	CU_ASSERT_EQUAL(ibv_dereg_mr(mr), 0);
	world_close(&world);
}

#define ALL (IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS)

static const struct {
	int flags;
	bool pd, address;
	size_t length;
	int access;
	int error; /* errno with IBV_REREG_MR_ERR_INPUT */
} wrong_reregs[] = {
	{0, true, true, 1, 0, EINVAL},
	{1 << 5, true, true, 1, 0, EINVAL},
	{IBV_REREG_MR_CHANGE_TRANSLATION, false, false, 1, 0, EINVAL},
	{IBV_REREG_MR_CHANGE_TRANSLATION, false, true, 0, 0, EINVAL},
	{IBV_REREG_MR_CHANGE_TRANSLATION, false, true, 1, IBV_ACCESS_LOCAL_WRITE, EINVAL},
	{IBV_REREG_MR_CHANGE_PD, false, false, 0, 0, EINVAL},
	{IBV_REREG_MR_CHANGE_ACCESS, false, false, 0, IBV_ACCESS_REMOTE_WRITE, EINVAL},
	{IBV_REREG_MR_CHANGE_TRANSLATION, false, true, SIZE_MAX, 0, EFAULT},
};

static void rereg(void)
{
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	uint32_t key;

	world_open(&world, false);
	pd = ibv_alloc_pd(world.context);
	mr = ibv_reg_mr(world.pd, world.buffer, 100, IBV_ACCESS_LOCAL_WRITE);
	key = mr->lkey;
	for (unsigned int i = 0; i < sizeof(wrong_reregs) / sizeof(wrong_reregs[0]); i++) {
		errno = 0;
		CU_ASSERT_EQUAL(
			ibv_rereg_mr(mr, wrong_reregs[i].flags, wrong_reregs[i].pd ? pd : NULL,
				wrong_reregs[i].address ? world.buffer : NULL,
				wrong_reregs[i].length, wrong_reregs[i].access),
			IBV_REREG_MR_ERR_INPUT);
		CU_ASSERT_EQUAL(errno, wrong_reregs[i].error);
	}
	CU_ASSERT_EQUAL(mr->lkey, key);
	CU_ASSERT_PTR_EQUAL(mr->pd, world.pd);
	CU_ASSERT_EQUAL(ibv_rereg_mr(mr, ALL, pd, world.buffer + 8, 50, 0), 0);
	CU_ASSERT_NOT_EQUAL(mr->lkey, key);
	CU_ASSERT_EQUAL(mr->lkey, mr->rkey);
	CU_ASSERT_PTR_EQUAL(mr->pd, pd);
	CU_ASSERT_PTR_EQUAL(mr->addr, world.buffer + 8);
	CU_ASSERT_EQUAL(mr->length, 50);
	fake_fail(world.engine, UROCE_ABI_REREG_MR, -EBUSY);
	CU_ASSERT_EQUAL(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, world.pd, NULL, 0, 0),
		IBV_REREG_MR_ERR_INPUT);
	CU_ASSERT_EQUAL(errno, EBUSY);
	CU_ASSERT_PTR_EQUAL(mr->pd, pd);
	CU_ASSERT_EQUAL(ibv_dereg_mr(mr), 0);
	CU_ASSERT_EQUAL(ibv_dealloc_pd(pd), 0);
	world_close(&world);
}

/* A region that becomes writable needs memory that is. */
static void rereg_access(void)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;

	world_open(&world, false);
	mr = ibv_reg_mr(world.pd, page, 4096, 0);
	CU_ASSERT_EQUAL(
		ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE),
		IBV_REREG_MR_ERR_INPUT);
	CU_ASSERT_EQUAL(errno, EFAULT);
	CU_ASSERT_EQUAL(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr(world.pd, world.buffer, 100, IBV_ACCESS_LOCAL_WRITE);
	CU_ASSERT_EQUAL(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, page, 4096, 0),
		IBV_REREG_MR_ERR_INPUT);
	CU_ASSERT_EQUAL(errno, EFAULT);
	CU_ASSERT_EQUAL(ibv_dereg_mr(mr), 0);
	munmap(page, 4096);
	world_close(&world);
}

static const struct unit_case cases[] = {
	UNIT_CASE(registered),
	UNIT_CASE(unmapped),
	UNIT_CASE(with_iova),
	UNIT_CASE(engine_refuses),
	UNIT_CASE(rereg),
	UNIT_CASE(rereg_access),
};

UNIT_MAIN("verbs-mr", cases)
