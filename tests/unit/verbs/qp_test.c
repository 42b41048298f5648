/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue pairs: arguments, states that the front keeps, RESET, destroy. */
#include "world.h"

static struct world world;

static void created(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp *qp;

	world_open(&world, false);
	init = world_qp_init(&world);
	init.cap.max_send_sge = 1;
	init.qp_context = &world;
	qp = ibv_create_qp(world.pd, &init);
	CU_ASSERT_PTR_NOT_NULL_FATAL(qp);
	CU_ASSERT_EQUAL(init.cap.max_send_sge, FAKE_MAX_SGE); /* as granted */
	CU_ASSERT_PTR_EQUAL(qp->context, world.context);
	CU_ASSERT_PTR_EQUAL(qp->qp_context, &world);
	CU_ASSERT_PTR_EQUAL(qp->pd, world.pd);
	CU_ASSERT_PTR_EQUAL(qp->send_cq, world.cq);
	CU_ASSERT_PTR_EQUAL(qp->recv_cq, world.cq);
	CU_ASSERT_EQUAL(qp->state, IBV_QPS_RESET);
	CU_ASSERT_EQUAL(qp->qp_type, IBV_QPT_RC);
	CU_ASSERT_NOT_EQUAL(qp->qp_num, world.qp->qp_num);
	ASSERT_NULL_ERRNO(ibv_qp_to_qp_ex(qp), EOPNOTSUPP);
	CU_ASSERT_EQUAL(ibv_destroy_qp(qp), 0);
	world_close(&world);
}

static void wrong_creates(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_context *other;
	struct ibv_cq *foreign;
	static const int errors[] = {EINVAL, EOPNOTSUPP, ENOMEM};

	world_open(&world, false);
	other = ibv_open_device(world.context->device);
	foreign = ibv_create_cq(other, 4, NULL, NULL, 0);
	init = world_qp_init(&world);
	init.send_cq = NULL;
	ASSERT_NULL_ERRNO(ibv_create_qp(world.pd, &init), EINVAL);
	init = world_qp_init(&world);
	init.recv_cq = NULL;
	ASSERT_NULL_ERRNO(ibv_create_qp(world.pd, &init), EINVAL);
	init = world_qp_init(&world);
	init.recv_cq = foreign;
	ASSERT_NULL_ERRNO(ibv_create_qp(world.pd, &init), EINVAL);
	CU_ASSERT_EQUAL(ibv_destroy_cq(foreign), 0);
	CU_ASSERT_EQUAL(ibv_close_device(other), 0);
	init = world_qp_init(&world);
	for (unsigned int i = 0; i < 3; i++) {
		fake_fail(world.engine, UROCE_ABI_CREATE_QP, -errors[i]);
		ASSERT_NULL_ERRNO(ibv_create_qp(world.pd, &init), errors[i]);
	}
	world_close(&world);
}

static void create_ex(void)
{
	struct ibv_qp_init_attr_ex init = {0};
	struct ibv_qp_init_attr plain;
	struct ibv_qp *qp;

	world_open(&world, false);
	plain = world_qp_init(&world);
	memcpy(&init, &plain, sizeof(plain));
	init.pd = world.pd;
	init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
	qp = ibv_create_qp_ex(world.context, &init);
	CU_ASSERT_PTR_NOT_NULL_FATAL(qp);
	CU_ASSERT_EQUAL(ibv_destroy_qp(qp), 0);
	init.create_flags = IBV_QP_CREATE_SCATTER_FCS;
	ASSERT_NULL_ERRNO(ibv_create_qp_ex(world.context, &init), EOPNOTSUPP);
	init.comp_mask = IBV_QP_INIT_ATTR_CREATE_FLAGS;
	init.create_flags = 0;
	ASSERT_NULL_ERRNO(ibv_create_qp_ex(world.context, &init), EINVAL);
	init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	ASSERT_NULL_ERRNO(ibv_create_qp_ex(world.context, &init), EOPNOTSUPP);
	init.comp_mask = IBV_QP_INIT_ATTR_PD; /* goes by ibv_create_qp() */
	qp = ibv_create_qp_ex(world.context, &init);
	CU_ASSERT_PTR_NOT_NULL_FATAL(qp);
	CU_ASSERT_EQUAL(ibv_destroy_qp(qp), 0);
	world_close(&world);
}

/* The engine's word decides; what it refused has changed nothing. */
static void modified(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS, .timeout = 14};

	world_open(&world, false);
	fake_fail(world.engine, UROCE_ABI_MODIFY_QP, -EINVAL);
	CU_ASSERT_EQUAL(ibv_modify_qp(world.qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT), EINVAL);
	CU_ASSERT_EQUAL(world.qp->state, IBV_QPS_RESET);
	CU_ASSERT_EQUAL(world_send(world.qp, 1), EINVAL);
	fake_fail(world.engine, UROCE_ABI_MODIFY_QP, -EHOSTUNREACH);
	CU_ASSERT_EQUAL(ibv_modify_qp(world.qp, &attr, IBV_QP_STATE), EHOSTUNREACH);
	fake_fail(world.engine, UROCE_ABI_MODIFY_QP, 0);
	CU_ASSERT_EQUAL(ibv_modify_qp(world.qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT), 0);
	CU_ASSERT_EQUAL(world.qp->state, IBV_QPS_RTS);
	CU_ASSERT_EQUAL(fake_last(world.engine, UROCE_ABI_MODIFY_QP)->u.qp.mask,
		IBV_QP_STATE | IBV_QP_TIMEOUT);
	CU_ASSERT_EQUAL(fake_last(world.engine, UROCE_ABI_MODIFY_QP)->u.qp.attr.timeout, 14);
	CU_ASSERT_EQUAL(world_send(world.qp, 1), 0);
	/* a refused RESET leaves the QP open for posts */
	fake_fail(world.engine, UROCE_ABI_MODIFY_QP, -EINVAL);
	CU_ASSERT_EQUAL(world_move(world.qp, IBV_QPS_RESET), EINVAL);
	CU_ASSERT_EQUAL(world_send(world.qp, 1), 0);
	attr.qp_state = IBV_QPS_ERR; /* without its bit in the mask it says nothing */
	fake_fail(world.engine, UROCE_ABI_MODIFY_QP, 0);
	CU_ASSERT_EQUAL(ibv_modify_qp(world.qp, &attr, IBV_QP_TIMEOUT), 0);
	CU_ASSERT_EQUAL(world.qp->state, IBV_QPS_RTS);
	world_close(&world);
}

/* RESET: the QP's completions vanish, others' stay; the queues are empty and whole again. */
static void reset(void)
{
	struct ibv_qp_init_attr init;
	struct fake_send send;
	struct ibv_qp *other;
	struct ibv_wc wc[4];

	world_open(&world, false);
	init = world_qp_init(&world);
	other = ibv_create_qp(world.pd, &init);
	CU_ASSERT_EQUAL(world_move(other, IBV_QPS_RTS), 0);
	CU_ASSERT_EQUAL(world_move(world.qp, IBV_QPS_RTS), 0);
	for (unsigned int i = 0; i < WORLD_DEPTH; i++)
		CU_ASSERT_EQUAL(world_send(world.qp, i), 0);
	CU_ASSERT_EQUAL(world_send(world.qp, 9), ENOMEM);
	CU_ASSERT_EQUAL(world_send(other, 55), 0);
	world_complete(&world, 0);
	CU_ASSERT(fake_take_send(world.engine, other->handle, &send));
	fake_complete_send(world.engine, other->handle, &(struct uroce_abi_cqe){.wr_id = 55});
	world_complete(&world, 0);
	CU_ASSERT_EQUAL(world_move(world.qp, IBV_QPS_RESET), 0);
	CU_ASSERT_EQUAL(ibv_poll_cq(world.cq, 4, wc), 1);
	CU_ASSERT_EQUAL(wc[0].wr_id, 55);
	CU_ASSERT_EQUAL(world_send(world.qp, 1), EINVAL);
	CU_ASSERT_EQUAL(world_move(world.qp, IBV_QPS_RTS), 0);
	CU_ASSERT_FALSE(fake_take_send(world.engine, world.qp->handle, &send));
	for (unsigned int i = 0; i < WORLD_DEPTH; i++)
		CU_ASSERT_EQUAL(world_send(world.qp, 100 + i), 0);
	CU_ASSERT_EQUAL(world_send(world.qp, 9), ENOMEM);
	CU_ASSERT(fake_take_send(world.engine, world.qp->handle, &send));
	CU_ASSERT_EQUAL(send.wqe.wr_id, 100);
	CU_ASSERT_EQUAL(ibv_destroy_qp(other), 0);
	world_close(&world);
}

static void queried(void)
{
	struct ibv_qp_attr attr = {0};
	struct ibv_qp_init_attr init = {0};

	world_open(&world, false);
	CU_ASSERT_EQUAL(world_move(world.qp, IBV_QPS_RTR), 0);
	world.qp->state = IBV_QPS_RESET; /* so that the query's own writing shows */
	CU_ASSERT_EQUAL(ibv_query_qp(world.qp, &attr, IBV_QP_CAP, &init), 0);
	CU_ASSERT_EQUAL(world.qp->state, IBV_QPS_RESET);
	CU_ASSERT_EQUAL(ibv_query_qp(world.qp, &attr, IBV_QP_STATE, &init), 0);
	CU_ASSERT_EQUAL(attr.qp_state, IBV_QPS_RTR);
	CU_ASSERT_EQUAL(world.qp->state, IBV_QPS_RTR);
	CU_ASSERT_PTR_EQUAL(init.send_cq, world.cq);
	CU_ASSERT_PTR_EQUAL(init.recv_cq, world.cq);
	CU_ASSERT_PTR_NULL(init.srq);
	CU_ASSERT_EQUAL(init.cap.max_send_wr, WORLD_DEPTH);
	CU_ASSERT_EQUAL(init.qp_type, IBV_QPT_RC);
	CU_ASSERT_EQUAL(init.sq_sig_all, 0);
	fake_fail(world.engine, UROCE_ABI_QUERY_QP, -ENOMEM);
	CU_ASSERT_EQUAL(ibv_query_qp(world.qp, &attr, IBV_QP_STATE, &init), ENOMEM);
	world_close(&world);
}

static void destroyed(void)
{
	struct ibv_qp_init_attr init;
	struct fake_send send;
	struct ibv_qp *qp;
	struct ibv_wc wc;

	world_open(&world, false);
	init = world_qp_init(&world);
	qp = ibv_create_qp(world.pd, &init);
	CU_ASSERT_EQUAL(world_move(qp, IBV_QPS_RTS), 0);
	CU_ASSERT_EQUAL(world_send(qp, 1), 0);
	CU_ASSERT(fake_take_send(world.engine, qp->handle, &send));
	fake_complete_send(world.engine, qp->handle, &(struct uroce_abi_cqe){0});
	fake_fail(world.engine, UROCE_ABI_DESTROY_QP, -EBUSY);
	CU_ASSERT_EQUAL(ibv_destroy_qp(qp), EBUSY);
	fake_fail(world.engine, UROCE_ABI_DESTROY_QP, 0);
	CU_ASSERT_EQUAL(ibv_destroy_qp(qp), 0);
	CU_ASSERT_EQUAL(ibv_poll_cq(world.cq, 1, &wc), 0); /* its completion went with it */
	world_close(&world);
}

static const struct unit_case cases[] = {
	UNIT_CASE(created),
	UNIT_CASE(wrong_creates),
	UNIT_CASE(create_ex),
	UNIT_CASE(modified),
	UNIT_CASE(reset),
	UNIT_CASE(queried),
	UNIT_CASE(destroyed),
};

UNIT_MAIN("verbs-qp", cases)
