/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues: made, resized, armed, destroyed. */
#include <poll.h>

#include "world.h"

static struct world world;

static bool readable(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	return poll(&poll_fd, 1, 0) == 1;
}

static const struct {
	int cqe, vector, error;
} sizes[] = {
	{1, 0, 0},
	{FAKE_MAX_CQE / 2, 0, 0},
	{FAKE_MAX_CQE, 0, 0},
	{FAKE_MAX_CQE + 1, 0, EINVAL},
	{0, 0, EINVAL},
	{-1, 0, EINVAL},
	{1, 1, EINVAL},
	{1, -1, EINVAL},
};

static void created(void)
{
	world_open(&world, false);
	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct ibv_cq *cq;

		errno = 0;
		cq = ibv_create_cq(world.context, sizes[i].cqe, NULL, NULL, sizes[i].vector);
		CU_ASSERT_EQUAL(cq == NULL, sizes[i].error != 0);
		CU_ASSERT_EQUAL(errno, sizes[i].error);
		if (!cq)
			continue;
		CU_ASSERT(cq->cqe >= sizes[i].cqe);
		CU_ASSERT_PTR_EQUAL(cq->context, world.context);
		CU_ASSERT_EQUAL(ibv_destroy_cq(cq), 0);
	}
	fake_fail(world.engine, UROCE_ABI_CREATE_CQ, -ENOMEM);
	ASSERT_NULL_ERRNO(ibv_create_cq(world.context, 1, NULL, NULL, 0), ENOMEM);
	world_close(&world);
}

static void foreign_channel(void)
{
	struct ibv_context *other;
	struct ibv_comp_channel *channel;

	world_open(&world, false);
	other = ibv_open_device(world.context->device);
	channel = ibv_create_comp_channel(other);
	ASSERT_NULL_ERRNO(ibv_create_cq(world.context, 1, NULL, channel, 0), EINVAL);
	CU_ASSERT_EQUAL(ibv_destroy_comp_channel(channel), 0);
	CU_ASSERT_EQUAL(ibv_close_device(other), 0);
	CU_ASSERT_EQUAL(fake_clients(world.engine), 1);
	world_close(&world);
}

static void resized(void)
{
	struct ibv_wc wc[4];

	world_open(&world, false);
	CU_ASSERT_EQUAL(ibv_resize_cq(world.cq, 0), EINVAL);
	CU_ASSERT_EQUAL(ibv_resize_cq(world.cq, FAKE_MAX_CQE + 1), EINVAL);
	CU_ASSERT_EQUAL(world_move(world.qp, IBV_QPS_RTS), 0);
	for (unsigned int i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(world_send(world.qp, i), 0);
		world_complete(&world, 0);
	}
	CU_ASSERT_EQUAL(ibv_resize_cq(world.cq, 2), EINVAL); /* three are pending */
	CU_ASSERT_EQUAL(world.cq->cqe, 64);
	CU_ASSERT_EQUAL(ibv_resize_cq(world.cq, 128), 0);
	CU_ASSERT_EQUAL(world.cq->cqe, 128);
	CU_ASSERT_EQUAL(ibv_poll_cq(world.cq, 4, wc), 3);
	CU_ASSERT_EQUAL(ibv_resize_cq(world.cq, 2), 0);
	world_close(&world);
}

/* Armed once, told once; solicited only tells of those. */
static void armed(void)
{
	struct ibv_wc wc;
	struct ibv_cq *cq = NULL;
	void *context = NULL;

	world_open(&world, false);
	CU_ASSERT_EQUAL(world_move(world.qp, IBV_QPS_RTS), 0);
	for (unsigned int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(world_send(world.qp, i), 0);
	world_complete(&world, 0);
	CU_ASSERT_FALSE(readable(world.channel->fd)); /* not armed */
	CU_ASSERT_EQUAL(ibv_req_notify_cq(world.cq, 1), 0);
	world_complete(&world, 0);
	CU_ASSERT_FALSE(readable(world.channel->fd)); /* not solicited */
	CU_ASSERT_EQUAL(ibv_poll_cq(world.cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(ibv_poll_cq(world.cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(world_send(world.qp, 1), 0);
	world_complete(&world, 1);
	CU_ASSERT(readable(world.channel->fd));
	CU_ASSERT_EQUAL(ibv_get_cq_event(world.channel, &cq, &context), 0);
	CU_ASSERT_PTR_EQUAL(cq, world.cq);
	CU_ASSERT_PTR_EQUAL(context, &world.cq);
	CU_ASSERT_FALSE(readable(world.channel->fd));
	ibv_ack_cq_events(cq, 1);
	world_close(&world);
}

static void busy(void)
{
	world_open(&world, false);
	CU_ASSERT_EQUAL(ibv_destroy_cq(world.cq), EBUSY);
	world_close(&world);
}

/* A destroyed CQ leaves no event behind. */
static void destroyed_with_event(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct fake_send send;

	world_open(&world, false);
	cq = ibv_create_cq(world.context, 4, NULL, world.channel, 0);
	init = world_qp_init(&world);
	init.send_cq = cq;
	qp = ibv_create_qp(world.pd, &init);
	CU_ASSERT_EQUAL(world_move(qp, IBV_QPS_RTS), 0);
	CU_ASSERT_EQUAL(ibv_req_notify_cq(cq, 0), 0);
	CU_ASSERT_EQUAL(world_send(qp, 1), 0);
	CU_ASSERT(fake_take_send(world.engine, qp->handle, &send));
	fake_complete_send(world.engine, qp->handle, &(struct uroce_abi_cqe){0});
	CU_ASSERT(readable(world.channel->fd));
	CU_ASSERT_EQUAL(ibv_destroy_qp(qp), 0);
	CU_ASSERT_EQUAL(ibv_destroy_cq(cq), 0);
	CU_ASSERT_FALSE(readable(world.channel->fd));
	world_close(&world);
}

static const struct unit_case cases[] = {
	UNIT_CASE(created),
	UNIT_CASE(foreign_channel),
	UNIT_CASE(resized),
	UNIT_CASE(armed),
	UNIT_CASE(busy),
	UNIT_CASE(destroyed_with_event),
};

UNIT_MAIN("verbs-cq", cases)
