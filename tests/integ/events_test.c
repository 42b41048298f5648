/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events as descriptors, from the wire to poll() and epoll: completion channels and asynchronous
 * events, of an engine with a core of its own and of one that is driven.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "bench.h"
#include "link.h"

#define STREAM 200u /* messages */
#define WINDOW 16u

static const enum mode modes[][2] = {
	{INLINE, DEDICATED},
	{DEDICATED, INLINE},
	{MIXED, INLINE},
	{INLINE, MIXED},
};
#define MODES (sizeof(modes) / sizeof(modes[0]))

/* The passive end's receives complete in a CQ of its own, with a channel. */
struct scene {
	enum mode mode; /* of the passive end */
	struct node nodes[2];
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct link link;
	struct end *passive, *active;
};

static void scene_open(struct scene *scene, const enum mode mode[2])
{
	memset(scene, 0, sizeof(*scene));
	scene->mode = mode[0];
	node_open(&scene->nodes[0], EAST, mode[0]);
	node_open(&scene->nodes[1], WEST, mode[1]);
	scene->channel = ibv_create_comp_channel(scene->nodes[0].context);
	CU_ASSERT_PTR_NOT_NULL_FATAL(scene->channel);
	scene->cq = ibv_create_cq(scene->nodes[0].context, 64, scene, scene->channel, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(scene->cq);
	scene->passive = &scene->link.ends[0];
	scene->active = &scene->link.ends[1];
	scene->passive->node = &scene->nodes[0];
	scene->active->node = &scene->nodes[1];
	scene->passive->recv_cq = scene->cq;
	link_open_as_set(&scene->link, REACH_RTS);
}

static void scene_close(struct scene *scene)
{
	link_close(&scene->link);
	CU_ASSERT_EQUAL(ibv_destroy_cq(scene->cq), 0);
	CU_ASSERT_EQUAL(ibv_destroy_comp_channel(scene->channel), 0);
	node_close(&scene->nodes[0]);
	node_close(&scene->nodes[1]);
}

static void in_all_modes(void (*run)(struct scene *scene))
{
	struct scene scene;

	for (size_t i = 0; i < MODES; i++) {
		scene_open(&scene, modes[i]);
		run(&scene);
		scene_close(&scene);
	}
}

static void send_one(struct scene *scene, unsigned int flags)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .send_flags = flags};

	CU_ASSERT_EQUAL_FATAL(end_recv(scene->passive, 0, 0, 8), 0);
	CU_ASSERT_EQUAL_FATAL(end_send(scene->active, &wr, 0, 8, 0), 0);
}

static bool readable(int fd)
{
	struct pollfd ask = {.fd = fd, .events = POLLIN};

	return poll(&ask, 1, 0) == 1 && ask.revents == POLLIN;
}

static void take_channel_event(struct scene *scene)
{
	struct ibv_cq *cq = NULL;
	void *context = NULL;

	CU_ASSERT_EQUAL_FATAL(ibv_get_cq_event(scene->channel, &cq, &context), 0);
	CU_ASSERT_PTR_EQUAL(cq, scene->cq);
	CU_ASSERT_PTR_EQUAL(context, scene);
	ibv_ack_cq_events(cq, 1);
}

/* ---- completion channels ---- */

static void wake_poll(struct scene *scene)
{
	struct ibv_cq *cq;
	void *context;

	CU_ASSERT_EQUAL(ibv_req_notify_cq(scene->cq, 0), 0);
	CU_ASSERT_FALSE(readable(scene->channel->fd));
	send_one(scene, 0);
	CU_ASSERT(bench_until(readable(scene->channel->fd)));
	take_channel_event(scene);
	CU_ASSERT_FALSE(readable(scene->channel->fd));
	bench_complete(scene->cq);
	/* once armed, one event */
	send_one(scene, 0);
	bench_complete(scene->cq);
	CU_ASSERT_EQUAL(fcntl(scene->channel->fd, F_SETFL, O_NONBLOCK), 0);
	CU_ASSERT_EQUAL(ibv_get_cq_event(scene->channel, &cq, &context), -1);
	CU_ASSERT_EQUAL(errno, EAGAIN);
}

static void polled(void)
{
	in_all_modes(wake_poll);
}

static void watch(int epoll, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	CU_ASSERT_EQUAL_FATAL(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), 0);
}

static bool woken_by(int epoll, int fd)
{
	struct epoll_event event;

	return bench_until(epoll_wait(epoll, &event, 1, 0) == 1) && event.data.fd == fd;
}

/* One epoll over a completion channel and the asynchronous events, as servers have it. */
static void wake_epoll(struct scene *scene)
{
	int async = scene->nodes[0].context->async_fd;
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE};
	struct ibv_async_event event;
	struct epoll_event none;
	int epoll = epoll_create1(0);

	watch(epoll, scene->channel->fd);
	watch(epoll, async);
	CU_ASSERT_EQUAL(ibv_req_notify_cq(scene->cq, 0), 0);
	send_one(scene, 0);
	CU_ASSERT(woken_by(epoll, scene->channel->fd));
	take_channel_event(scene);
	CU_ASSERT_EQUAL(epoll_wait(epoll, &none, 1, 0), 0);
	/* beyond the end of the peer's memory */
	CU_ASSERT_EQUAL_FATAL(end_send(scene->active, &wr, 0, 8, NODE_MEMORY - 7), 0);
	CU_ASSERT(woken_by(epoll, async));
	CU_ASSERT_EQUAL(ibv_get_async_event(scene->nodes[0].context, &event), 0);
	CU_ASSERT_EQUAL(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
	CU_ASSERT_PTR_EQUAL(event.element.qp, scene->passive->qp);
	ibv_ack_async_event(&event);
	CU_ASSERT_EQUAL(bench_any_completion(scene->nodes[1].cq).status, IBV_WC_REM_ACCESS_ERR);
	close(epoll);
}

static void epolled(void)
{
	in_all_modes(wake_epoll);
}

static void only_solicited(struct scene *scene)
{
	CU_ASSERT_EQUAL(ibv_req_notify_cq(scene->cq, 1), 0);
	send_one(scene, 0);
	bench_complete(scene->cq);
	bench_settle();
	CU_ASSERT_FALSE(readable(scene->channel->fd));
	send_one(scene, IBV_SEND_SOLICITED);
	CU_ASSERT(bench_until(readable(scene->channel->fd)));
	take_channel_event(scene);
	bench_complete(scene->cq);
}

static void solicited(void)
{
	in_all_modes(only_solicited);
}

/* ---- a thread that sleeps until there is something ---- */

struct waiter {
	struct scene *scene;
	uint32_t got; /* atomic */
	uint32_t events;
	bool failed;
};

/* The loop of man ibv_get_cq_event: wait, acknowledge, arm, and only then empty the CQ. */
static void *wait_for_events(void *argument)
{
	struct waiter *waiter = argument;
	struct scene *scene = waiter->scene;
	struct ibv_wc wc;
	struct ibv_cq *cq;
	void *context;

	while (waiter->got < STREAM && !waiter->failed) {
		waiter->failed = ibv_get_cq_event(scene->channel, &cq, &context) != 0;
		ibv_ack_cq_events(scene->cq, 1);
		waiter->events++;
		waiter->failed |= ibv_req_notify_cq(scene->cq, 0) != 0;
		while (ibv_poll_cq(scene->cq, 1, &wc) == 1) {
			waiter->failed |= wc.status != IBV_WC_SUCCESS;
			__atomic_store_n(&waiter->got, waiter->got + 1, __ATOMIC_RELEASE);
		}
	}
	return NULL;
}

/* A few messages at a time, so that it goes to sleep again and again: a wake-up that is lost would
 * be the end. */
static void feed(struct waiter *waiter)
{
	for (uint32_t sent = 0; sent < STREAM; sent++) {
		CU_ASSERT_FATAL(bench_until(
			sent - __atomic_load_n(&waiter->got, __ATOMIC_ACQUIRE) < WINDOW));
		send_one(waiter->scene, IBV_SEND_SIGNALED);
		bench_complete(waiter->scene->nodes[1].cq);
	}
}

static void stream(struct scene *scene)
{
	struct waiter waiter = {.scene = scene};
	pthread_t thread;

	CU_ASSERT_EQUAL(ibv_req_notify_cq(scene->cq, 0), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, wait_for_events, &waiter), 0);
	feed(&waiter);
	CU_ASSERT(bench_until(__atomic_load_n(&waiter.got, __ATOMIC_ACQUIRE) == STREAM));
	CU_ASSERT_EQUAL(pthread_join(thread, NULL), 0);
	CU_ASSERT_FALSE(waiter.failed);
	CU_ASSERT(waiter.events >= 1 && waiter.events <= STREAM);
}

static void a_thread_that_sleeps(void)
{
	in_all_modes(stream);
}

/* ---- asynchronous events ---- */

static bool next_event(struct scene *scene, struct ibv_async_event *event)
{
	struct ibv_context *context = scene->nodes[0].context;

	if (!bench_until(readable(context->async_fd)) || ibv_get_async_event(context, event) != 0)
		return false;
	ibv_ack_async_event(event);
	return true;
}

static void cross_limit(struct scene *scene)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 16, .max_sge = 1}};
	struct ibv_srq_attr attr = {.srq_limit = 3};
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_async_event event;
	struct ibv_recv_wr *bad;
	struct ibv_srq *srq = ibv_create_srq(scene->nodes[0].pd, &init);
	struct link link = {0};

	CU_ASSERT_PTR_NOT_NULL_FATAL(srq);
	link.ends[0] = (struct end){.node = &scene->nodes[0], .srq = srq, .recv_cq = scene->cq};
	link.ends[1].node = &scene->nodes[1];
	link_open_as_set(&link, REACH_RTS);
	for (uint64_t i = 0; i < 5; i++) {
		struct ibv_sge sge = {
			(uintptr_t)scene->nodes[0].memory, 8, scene->nodes[0].mr->lkey};
		struct ibv_recv_wr recv = {.wr_id = i, .sg_list = &sge, .num_sge = 1};

		CU_ASSERT_EQUAL_FATAL(ibv_post_srq_recv(srq, &recv, &bad), 0);
	}
	CU_ASSERT_EQUAL(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	CU_ASSERT_FALSE(readable(scene->nodes[0].context->async_fd));
	for (uint64_t i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL_FATAL(end_send(&link.ends[1], &wr, 0, 8, 0), 0);
		bench_complete(scene->nodes[1].cq);
		CU_ASSERT_EQUAL(bench_complete(scene->cq).wr_id, i);
	}
	CU_ASSERT_FATAL(next_event(scene, &event));
	CU_ASSERT_EQUAL(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	CU_ASSERT_PTR_EQUAL(event.element.srq, srq);
	link_close(&link);
	CU_ASSERT_EQUAL(ibv_destroy_srq(srq), 0);
}

static void srq_limit(void)
{
	in_all_modes(cross_limit);
}

/* A CQ that nobody empties: an event and the QP in ERR, never silence. */
static void overrun(struct scene *scene)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};
	struct ibv_async_event event;
	struct link link = {0};
	struct ibv_cq *cq = ibv_create_cq(scene->nodes[0].context, 1, NULL, NULL, 0);
	struct ibv_wc wc;
	int polled;

	CU_ASSERT_PTR_NOT_NULL_FATAL(cq);
	CU_ASSERT_FATAL(cq->cqe < (int)LINK_DEPTH);
	link.ends[0] = (struct end){.node = &scene->nodes[0], .recv_cq = cq};
	link.ends[1].node = &scene->nodes[1];
	link_open_as_set(&link, REACH_RTS);
	for (int i = 0; i <= cq->cqe; i++)
		CU_ASSERT_EQUAL_FATAL(end_recv(&link.ends[0], 0, 0, 8), 0);
	for (int i = 0; i <= cq->cqe; i++)
		CU_ASSERT_EQUAL_FATAL(end_send(&link.ends[1], &wr, 0, 8, 0), 0);
	do { /* the QP's own event may come first */
		CU_ASSERT_FATAL(next_event(scene, &event));
	} while (event.event_type != IBV_EVENT_CQ_ERR);
	CU_ASSERT_PTR_EQUAL(event.element.cq, cq);
	CU_ASSERT(bench_until(end_state(&link.ends[0]) == IBV_QPS_ERR));
	for (int i = 0; i < cq->cqe; i++)
		CU_ASSERT_EQUAL(ibv_poll_cq(cq, 1, &wc), 1);
	polled = ibv_poll_cq(cq, 1, &wc);
	CU_ASSERT_EQUAL(polled, -1);
	link_close(&link);
	CU_ASSERT_EQUAL(ibv_destroy_cq(cq), 0);
}

static void cq_overrun(void)
{
	in_all_modes(overrun);
}

static void lose_link(struct scene *scene)
{
	struct ibv_async_event event;
	struct ibv_port_attr attr;
	uint16_t id;

	CU_ASSERT_EQUAL_FATAL(rte_eth_dev_get_port_by_name(bench_port(EAST, scene->mode), &id), 0);
	CU_ASSERT_EQUAL_FATAL(rte_eth_dev_set_link_down(id), 0);
	CU_ASSERT_FATAL(next_event(scene, &event));
	CU_ASSERT_EQUAL(event.event_type, IBV_EVENT_PORT_ERR);
	CU_ASSERT_EQUAL(event.element.port_num, 1);
	CU_ASSERT_EQUAL(ibv_query_port(scene->nodes[0].context, 1, &attr), 0);
	CU_ASSERT_EQUAL(attr.state, IBV_PORT_DOWN);
	CU_ASSERT_EQUAL_FATAL(rte_eth_dev_set_link_up(id), 0);
	CU_ASSERT_FATAL(next_event(scene, &event));
	CU_ASSERT_EQUAL(event.event_type, IBV_EVENT_PORT_ACTIVE);
	CU_ASSERT_EQUAL(ibv_query_port(scene->nodes[0].context, 1, &attr), 0);
	CU_ASSERT_EQUAL(attr.state, IBV_PORT_ACTIVE);
	send_one(scene, 0);
	bench_complete(scene->cq);
}

static void link_state(void)
{
	in_all_modes(lose_link);
}

static const struct unit_case cases[] = {
	UNIT_CASE(polled),
	UNIT_CASE(epolled),
	UNIT_CASE(solicited),
	UNIT_CASE(a_thread_that_sleeps),
	UNIT_CASE(srq_limit),
	UNIT_CASE(cq_overrun),
	UNIT_CASE(link_state),
};

int main(int argc, char **argv)
{
	bench_start();
	return unit_run("integ-events", cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
