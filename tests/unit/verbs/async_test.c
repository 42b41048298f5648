/* SPDX-License-Identifier: BSD-3-Clause */
/* Asynchronous events: each type finds its object; destroy waits for those got, drops the others.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "world.h"

static struct world world;
static struct ibv_srq *srq;

static void begin(void)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};

	world_open(&world, false);
	srq = ibv_create_srq(world.pd, &init);
	CU_ASSERT_PTR_NOT_NULL_FATAL(srq);
	CU_ASSERT_EQUAL(fcntl(world.context->async_fd, F_SETFL, O_NONBLOCK), 0);
}

static void end(void)
{
	CU_ASSERT_EQUAL(ibv_destroy_srq(srq), 0);
	world_close(&world);
}

static bool readable(void)
{
	struct pollfd poll_fd = {.fd = world.context->async_fd, .events = POLLIN};

	return poll(&poll_fd, 1, 0) == 1;
}

static const enum ibv_event_type of_qp[] = {IBV_EVENT_QP_FATAL, IBV_EVENT_QP_REQ_ERR,
	IBV_EVENT_QP_ACCESS_ERR, IBV_EVENT_COMM_EST, IBV_EVENT_SQ_DRAINED, IBV_EVENT_PATH_MIG,
	IBV_EVENT_PATH_MIG_ERR, IBV_EVENT_QP_LAST_WQE_REACHED};
static const enum ibv_event_type of_srq[] = {IBV_EVENT_SRQ_ERR, IBV_EVENT_SRQ_LIMIT_REACHED};
static const enum ibv_event_type of_port[] = {IBV_EVENT_PORT_ACTIVE, IBV_EVENT_PORT_ERR,
	IBV_EVENT_LID_CHANGE, IBV_EVENT_PKEY_CHANGE, IBV_EVENT_GID_CHANGE};

static struct ibv_async_event get(uint32_t type, uint32_t object)
{
	struct ibv_async_event event = {0};

	CU_ASSERT_FALSE(readable());
	fake_event(world.engine, type, object);
	CU_ASSERT(readable());
	CU_ASSERT_EQUAL(ibv_get_async_event(world.context, &event), 0);
	CU_ASSERT_EQUAL(event.event_type, type);
	CU_ASSERT_FALSE(readable());
	return event;
}

static void types(void)
{
	struct ibv_async_event event;

	begin();
	ASSERT_MINUS_ERRNO(ibv_get_async_event(world.context, &event), EAGAIN);
	for (unsigned int i = 0; i < sizeof(of_qp) / sizeof(of_qp[0]); i++) {
		event = get(of_qp[i], world.qp->handle);
		CU_ASSERT_PTR_EQUAL(event.element.qp, world.qp);
		ibv_ack_async_event(&event);
		CU_ASSERT_EQUAL(world.qp->events_completed, i + 1);
	}
	for (unsigned int i = 0; i < sizeof(of_srq) / sizeof(of_srq[0]); i++) {
		event = get(of_srq[i], srq->handle);
		CU_ASSERT_PTR_EQUAL(event.element.srq, srq);
		ibv_ack_async_event(&event);
		CU_ASSERT_EQUAL(srq->events_completed, i + 1);
	}
	event = get(IBV_EVENT_CQ_ERR, world.cq->handle);
	CU_ASSERT_PTR_EQUAL(event.element.cq, world.cq);
	ibv_ack_async_event(&event);
	CU_ASSERT_EQUAL(world.cq->async_events_completed, 1);
	for (unsigned int i = 0; i < sizeof(of_port) / sizeof(of_port[0]); i++) {
		event = get(of_port[i], 1);
		CU_ASSERT_EQUAL(event.element.port_num, 1);
		ibv_ack_async_event(&event);
	}
	end();
}

/* EP-9: undelivered events of a destroyed QP are removed, those of others stay, in order. */
static void removed(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_async_event event;
	struct ibv_qp *qp;
	uint32_t handle;

	begin();
	init = world_qp_init(&world);
	qp = ibv_create_qp(world.pd, &init);
	handle = qp->handle;
	fake_event(world.engine, IBV_EVENT_COMM_EST, handle);
	fake_event(world.engine, IBV_EVENT_PORT_ERR, 1);
	fake_event(world.engine, IBV_EVENT_QP_FATAL, handle);
	fake_event(world.engine, IBV_EVENT_SRQ_ERR, handle); /* an SRQ's number: not its own */
	fake_event(world.engine, IBV_EVENT_COMM_EST, world.qp->handle);
	CU_ASSERT_EQUAL(ibv_destroy_qp(qp), 0);
	CU_ASSERT_EQUAL(ibv_get_async_event(world.context, &event), 0);
	CU_ASSERT_EQUAL(event.event_type, IBV_EVENT_PORT_ERR);
	CU_ASSERT_EQUAL(ibv_get_async_event(world.context, &event), 0);
	CU_ASSERT_EQUAL(event.event_type, IBV_EVENT_COMM_EST);
	CU_ASSERT_PTR_EQUAL(event.element.qp, world.qp);
	ibv_ack_async_event(&event);
	ASSERT_MINUS_ERRNO(ibv_get_async_event(world.context, &event), EAGAIN);
	CU_ASSERT_FALSE(readable());
	end();
}

static void *acknowledge_later(void *argument)
{
	usleep(20000);
	ibv_ack_async_event(argument);
	return NULL;
}

static void destroy_waits(void)
{
	struct ibv_async_event event;
	pthread_t thread;

	begin();
	event = get(IBV_EVENT_COMM_EST, world.qp->handle);
	pthread_create(&thread, NULL, acknowledge_later, &event);
	end();
	pthread_join(thread, NULL);
}

/* An event of an object that nobody knows is passed over. */
static void unknown_object(void)
{
	struct ibv_async_event event;

	begin();
	fake_event(world.engine, IBV_EVENT_COMM_EST, 31);
	fake_event(world.engine, IBV_EVENT_SRQ_ERR, 31);
	fake_event(world.engine, IBV_EVENT_CQ_ERR, 31);
	ASSERT_MINUS_ERRNO(ibv_get_async_event(world.context, &event), EAGAIN);
	end();
}

static const struct unit_case cases[] = {
	UNIT_CASE(types),
	UNIT_CASE(removed),
	UNIT_CASE(destroy_waits),
	UNIT_CASE(unknown_object),
};

UNIT_MAIN("verbs-async", cases)
