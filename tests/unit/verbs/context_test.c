/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing: what a context holds, what is left of one, and why opening fails. */
#include <fcntl.h>
#include <unistd.h>

#include "world.h"

static struct world world;

static unsigned int descriptors(void)
{
	unsigned int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* The fields and operations that inline functions of verbs.h use without a look at them. */
static void filled(void)
{
	const struct ibv_context_ops *ops;
	struct verbs_context *verbs;
	int copy;

	world_open(&world, false);
	verbs = verbs_get_ctx(world.context);
	ops = &world.context->ops;
	CU_ASSERT_PTR_NOT_NULL_FATAL(verbs);
	CU_ASSERT_EQUAL(verbs->sz, sizeof(struct verbs_context));
	CU_ASSERT_PTR_EQUAL(world.context->device, uroce_find_device("uroce0"));
	CU_ASSERT_EQUAL(world.context->num_comp_vectors, 1);
	CU_ASSERT(ops->alloc_mw && ops->bind_mw && ops->dealloc_mw && ops->poll_cq);
	CU_ASSERT(ops->req_notify_cq && ops->post_srq_recv && ops->post_send && ops->post_recv);
	CU_ASSERT_PTR_NOT_NULL(verbs->close_xrcd);
	CU_ASSERT_EQUAL(verbs->close_xrcd(NULL), EOPNOTSUPP);
	copy = dup(world.context->cmd_fd); /* pyverbs does */
	CU_ASSERT(copy >= 0);
	close(copy);
	CU_ASSERT(fcntl(world.context->async_fd, F_GETFD) & FD_CLOEXEC);
	CU_ASSERT(fcntl(world.context->cmd_fd, F_GETFD) & FD_CLOEXEC);
	world_close(&world);
}

/* What isn't built is refused by verbs.h itself, since the operation is absent. */
static void absent(void)
{
	struct ibv_cq_init_attr_ex cq = {.cqe = 1};
	struct ibv_xrcd_init_attr xrcd = {0};
	struct ibv_td_init_attr td = {0};
	struct ibv_parent_domain_init_attr domain = {0};
	struct ibv_values_ex values = {0};
	struct ibv_modify_cq_attr modify = {0};

	world_open(&world, false);
	ASSERT_NULL_ERRNO(ibv_create_cq_ex(world.context, &cq), EOPNOTSUPP);
	ASSERT_NULL_ERRNO(ibv_open_xrcd(world.context, &xrcd), EOPNOTSUPP);
	ASSERT_NULL_ERRNO(ibv_alloc_td(world.context, &td), EOPNOTSUPP);
	domain.pd = world.pd;
	ASSERT_NULL_ERRNO(ibv_alloc_parent_domain(world.context, &domain), EOPNOTSUPP);
	ASSERT_NULL_ERRNO(ibv_alloc_null_mr(world.pd), EOPNOTSUPP);
	CU_ASSERT_EQUAL(ibv_query_rt_values_ex(world.context, &values), EOPNOTSUPP);
	CU_ASSERT_EQUAL(ibv_modify_cq(world.cq, &modify), EOPNOTSUPP);
	CU_ASSERT_EQUAL(ibv_advise_mr(world.pd, 0, 0, NULL, 0), EOPNOTSUPP);
	world_close(&world);
}

static void closed(void)
{
	unsigned int before;

	before = descriptors();
	world_open(&world, false);
	CU_ASSERT(descriptors() > before);
	world_close(&world);
	CU_ASSERT_EQUAL(descriptors(), before);
}

static void fails(void)
{
	static const struct {
		uint32_t op;
		int error;
	} steps[] = {{UROCE_ABI_QUERY_DEVICE, ENOMEM}, {UROCE_ABI_CREATE_CHANNEL, ENOSPC}};
	struct engine *engine = fake_create("uroce0", false);
	struct ibv_device *device = uroce_find_device("uroce0");
	unsigned int before = descriptors();

	CU_ASSERT_PTR_NOT_NULL_FATAL(device);
	for (unsigned int i = 0; i < 2; i++) {
		fake_fail(engine, steps[i].op, -steps[i].error);
		ASSERT_NULL_ERRNO(ibv_open_device(device), steps[i].error);
		fake_fail(engine, steps[i].op, 0);
		CU_ASSERT_EQUAL(fake_clients(engine), 0);
		CU_ASSERT_EQUAL(descriptors(), before);
	}
	fake_destroy(engine);
	ASSERT_NULL_ERRNO(ibv_open_device(device), ENODEV); /* its engine is gone */
}

static void two_contexts(void)
{
	struct ibv_context *other;

	world_open(&world, false);
	other = ibv_open_device(world.context->device);
	CU_ASSERT_PTR_NOT_NULL_FATAL(other);
	CU_ASSERT_PTR_NOT_EQUAL(other, world.context);
	CU_ASSERT_EQUAL(fake_clients(world.engine), 2);
	CU_ASSERT_EQUAL(ibv_close_device(other), 0);
	CU_ASSERT_EQUAL(fake_clients(world.engine), 1);
	world_close(&world);
}

static const struct unit_case cases[] = {
	UNIT_CASE(filled),
	UNIT_CASE(absent),
	UNIT_CASE(closed),
	UNIT_CASE(fails),
	UNIT_CASE(two_contexts),
};

UNIT_MAIN("verbs-context", cases)
