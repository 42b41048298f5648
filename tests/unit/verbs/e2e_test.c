/* SPDX-License-Identifier: BSD-3-Clause */
/* The whole stack through the verbs API: traffic of every kind, events, objects in every order. */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pair.h"

static struct pair pair;
static struct end *const left = &pair.end[0];
static struct end *const right = &pair.end[1];

static void begin(void)
{
	pair_open(&pair, false);
	pair_connect(&pair);
}

static void pattern(uint8_t *to, uint32_t length, uint8_t seed)
{
	for (uint32_t i = 0; i < length; i++)
		to[i] = (uint8_t)(seed + i * 7 + (i >> 8));
}

/* Messages of no, one and many packets, there and back. */
static void ping_pong(void)
{
	static const uint32_t lengths[] = {0, 1, 3, 1023, 1024, 1025, 4096, 20000, 32768};

	begin();
	for (unsigned int i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint32_t length = lengths[i];

		pattern(left->buffer, length, (uint8_t)i);
		memset(right->buffer, 0, length);
		memset(left->buffer + 32768, 0, length);
		CU_ASSERT_EQUAL(end_recv(right, 2, 0, 32768), 0);
		CU_ASSERT_EQUAL(end_recv(left, 4, 32768, 32768), 0);
		CU_ASSERT_EQUAL(end_send(left, 1, 0, length), 0);
		pair_expect(&pair, 1, 2, IBV_WC_RECV);
		CU_ASSERT_EQUAL(memcmp(left->buffer, right->buffer, length), 0);
		CU_ASSERT_EQUAL(end_send(right, 3, 0, length), 0);
		pair_expect(&pair, 1, 3, IBV_WC_SEND);
		pair_expect(&pair, 0, 1, IBV_WC_SEND);
		pair_expect(&pair, 0, 4, IBV_WC_RECV);
		CU_ASSERT_EQUAL(memcmp(left->buffer, left->buffer + 32768, length), 0);
	}
	pair_close(&pair);
}

static struct ibv_send_wr rdma(enum ibv_wr_opcode opcode, struct ibv_sge *sge, uint32_t local,
	uint32_t remote, uint32_t length)
{
	*sge = (struct ibv_sge){.addr = (uintptr_t)(left->buffer + local),
		.length = length,
		.lkey = left->mr->lkey};
	return (struct ibv_send_wr){.wr_id = 7,
		.sg_list = sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = (uintptr_t)(right->buffer + remote),
			.rkey = right->mr->rkey}};
}

static void one_sided(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_wc wc;

	begin();
	pattern(left->buffer, 5000, 1);
	wr = rdma(IBV_WR_RDMA_WRITE, &sge, 0, 100, 5000);
	CU_ASSERT_EQUAL(qp_post(left->qp, &wr), 0);
	pair_expect(&pair, 0, 7, IBV_WC_RDMA_WRITE);
	CU_ASSERT_EQUAL(memcmp(left->buffer, right->buffer + 100, 5000), 0);
	wr = rdma(IBV_WR_RDMA_READ, &sge, 20000, 100, 5000);
	CU_ASSERT_EQUAL(qp_post(left->qp, &wr), 0);
	pair_expect(&pair, 0, 7, IBV_WC_RDMA_READ);
	CU_ASSERT_EQUAL(memcmp(left->buffer, left->buffer + 20000, 5000), 0);

	CU_ASSERT_EQUAL(end_recv(right, 8, 0, 1), 0);
	wr = rdma(IBV_WR_RDMA_WRITE_WITH_IMM, &sge, 0, 0, 10);
	wr.imm_data = 0x11223344;
	CU_ASSERT_EQUAL(qp_post(left->qp, &wr), 0);
	CU_ASSERT(pair_poll(&pair, 1, &wc));
	CU_ASSERT_EQUAL(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	CU_ASSERT_EQUAL(wc.imm_data, 0x11223344);
	CU_ASSERT_EQUAL(wc.wc_flags, IBV_WC_WITH_IMM);
	CU_ASSERT_EQUAL(wc.byte_len, 10);
	pair_expect(&pair, 0, 7, IBV_WC_RDMA_WRITE);
	pair_close(&pair);
}

static void atomics(void)
{
	uint64_t *there, *here;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_wc wc;

	begin();
	there = (uint64_t *)right->buffer;
	here = (uint64_t *)left->buffer;
	*there = 40;
	wr = rdma(IBV_WR_ATOMIC_FETCH_AND_ADD, &sge, 0, 0, 8);
	wr.wr.atomic.remote_addr = (uintptr_t)there;
	wr.wr.atomic.rkey = right->mr->rkey;
	wr.wr.atomic.compare_add = 2;
	CU_ASSERT_EQUAL(qp_post(left->qp, &wr), 0);
	pair_expect(&pair, 0, 7, IBV_WC_FETCH_ADD);
	CU_ASSERT_EQUAL(*here, 40);
	CU_ASSERT_EQUAL(*there, 42);
	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic.compare_add = 42;
	wr.wr.atomic.swap = 99;
	CU_ASSERT_EQUAL(qp_post(left->qp, &wr), 0);
	pair_expect(&pair, 0, 7, IBV_WC_COMP_SWAP);
	CU_ASSERT_EQUAL(*here, 42);
	CU_ASSERT_EQUAL(*there, 99);
	/* unaligned: taken by the post, refused by the completion */
	wr.wr.atomic.remote_addr++;
	CU_ASSERT_EQUAL(qp_post(left->qp, &wr), 0);
	CU_ASSERT(pair_poll(&pair, 0, &wc));
	CU_ASSERT_NOT_EQUAL(wc.status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(*there, 99);
	pair_close(&pair);
}

/* A window of type 1: bound by its call, used by the peer, closed by a bind of length 0. */
static void window(void)
{
	struct ibv_mw_bind bind = {.wr_id = 5, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_mw *mw;
	struct ibv_wc wc;

	begin();
	mw = ibv_alloc_mw(right->pd, IBV_MW_TYPE_1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(mw);
	bind.bind_info.mr = right->mr;
	bind.bind_info.addr = (uintptr_t)right->buffer;
	bind.bind_info.length = 64;
	bind.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_WRITE;
	CU_ASSERT_EQUAL(ibv_bind_mw(right->qp, mw, &bind), 0);
	pair_expect(&pair, 1, 5, IBV_WC_BIND_MW);
	CU_ASSERT_EQUAL(ibv_dereg_mr(right->mr), EBUSY);
	pattern(left->buffer, 64, 9);
	wr = rdma(IBV_WR_RDMA_WRITE, &sge, 0, 0, 64);
	wr.wr.rdma.rkey = mw->rkey;
	CU_ASSERT_EQUAL(qp_post(left->qp, &wr), 0);
	pair_expect(&pair, 0, 7, IBV_WC_RDMA_WRITE);
	CU_ASSERT_EQUAL(memcmp(left->buffer, right->buffer, 64), 0);
	memset(&bind.bind_info, 0, sizeof(bind.bind_info));
	CU_ASSERT_EQUAL(ibv_bind_mw(right->qp, mw, &bind), 0);
	pair_expect(&pair, 1, 5, IBV_WC_BIND_MW);
	CU_ASSERT_EQUAL(qp_post(left->qp, &wr), 0); /* with the key that it had */
	CU_ASSERT(pair_poll(&pair, 0, &wc));
	CU_ASSERT_EQUAL(wc.status, IBV_WC_REM_ACCESS_ERR);
	CU_ASSERT_EQUAL(ibv_dealloc_mw(mw), 0);
	pair_close(&pair);
}

/* A window of type 2: bound by a work request, invalidated by the peer's SEND, dealloc'ed under
 * whatever key it has. */
static void window_2(void)
{
	struct ibv_send_wr bind = {
		.wr_id = 6, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_mw *mw;
	struct ibv_wc wc;

	begin();
	mw = ibv_alloc_mw(right->pd, IBV_MW_TYPE_2);
	CU_ASSERT_PTR_NOT_NULL_FATAL(mw);
	bind.bind_mw.mw = mw;
	bind.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	bind.bind_mw.bind_info.mr = right->mr;
	bind.bind_mw.bind_info.addr = (uintptr_t)right->buffer;
	bind.bind_mw.bind_info.length = 64;
	bind.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_WRITE;
	CU_ASSERT_EQUAL(qp_post(right->qp, &bind), 0);
	pair_expect(&pair, 1, 6, IBV_WC_BIND_MW);
	pattern(left->buffer, 64, 3);
	wr = rdma(IBV_WR_RDMA_WRITE, &sge, 0, 0, 64);
	wr.wr.rdma.rkey = bind.bind_mw.rkey;
	CU_ASSERT_EQUAL(qp_post(left->qp, &wr), 0);
	pair_expect(&pair, 0, 7, IBV_WC_RDMA_WRITE);
	CU_ASSERT_EQUAL(memcmp(left->buffer, right->buffer, 64), 0);
	CU_ASSERT_EQUAL(end_recv(right, 8, 1000, 64), 0);
	wr.opcode = IBV_WR_SEND_WITH_INV;
	wr.invalidate_rkey = bind.bind_mw.rkey;
	CU_ASSERT_EQUAL(qp_post(left->qp, &wr), 0);
	CU_ASSERT(pair_poll(&pair, 1, &wc));
	CU_ASSERT_EQUAL(wc.status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(wc.wc_flags, IBV_WC_WITH_INV);
	CU_ASSERT_EQUAL(wc.invalidated_rkey, bind.bind_mw.rkey);
	pair_expect(&pair, 0, 7, IBV_WC_SEND);
	/* mw->rkey is the program's to keep; this one didn't */
	CU_ASSERT_EQUAL(ibv_dealloc_mw(mw), 0);
	pair_close(&pair);
}

/* Inline at its limit, from memory that is no region, gone when the request goes out. */
static void inline_data(void)
{
	uint8_t data[PAIR_INLINE];
	struct ibv_sge sge = {.addr = (uintptr_t)data, .length = sizeof(data)};
	struct ibv_send_wr wr = {.wr_id = 1,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE};

	begin();
	pattern(data, sizeof(data), 77);
	CU_ASSERT_EQUAL(end_recv(right, 2, 0, 64), 0);
	CU_ASSERT_EQUAL(qp_post(left->qp, &wr), 0);
	memset(data, 0, sizeof(data));
	pair_expect(&pair, 1, 2, IBV_WC_RECV);
	pattern(data, sizeof(data), 77);
	CU_ASSERT_EQUAL(memcmp(right->buffer, data, sizeof(data)), 0);
	pair_expect(&pair, 0, 1, IBV_WC_SEND);
	pair_close(&pair);
}

/* Two QPs of one device, by its own address. */
static void own_address(void)
{
	struct ibv_qp *other;
	struct ibv_wc wc[2];
	struct ibv_recv_wr recv = {.wr_id = 5}, *bad;
	int polled = 0;

	pair_open(&pair, false);
	other = end_create_qp(left, left->cq, NULL);
	CU_ASSERT_EQUAL(end_to_init(left, left->qp), 0);
	CU_ASSERT_EQUAL(end_to_init(left, other), 0);
	CU_ASSERT_EQUAL(end_to_rtr(left->qp, left, other), 0);
	CU_ASSERT_EQUAL(end_to_rtr(other, left, left->qp), 0);
	CU_ASSERT_EQUAL(end_to_rts(left->qp), 0);
	CU_ASSERT_EQUAL(end_to_rts(other), 0);
	CU_ASSERT_EQUAL(ibv_post_recv(other, &recv, &bad), 0);
	CU_ASSERT_EQUAL(end_send(left, 4, 0, 0), 0);
	for (unsigned int i = 0; i < 1000 && polled < 2; i++)
		polled += ibv_poll_cq(left->cq, 2 - polled, wc + polled);
	CU_ASSERT_EQUAL(polled, 2);
	CU_ASSERT_EQUAL(wc[0].status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(wc[1].status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(wc[0].wr_id + wc[1].wr_id, 9);
	CU_ASSERT_EQUAL(ibv_destroy_qp(other), 0);
	pair_close(&pair);
}

static bool stop;

static void *poll_right(void *argument)
{
	struct ibv_wc wc;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		if (ibv_poll_cq(right->cq, 1, &wc) == 1)
			end_send(right, 3, 0, 10);
	return NULL;
}

/* A program that sleeps in ibv_get_cq_event() while its peer runs elsewhere. */
static void blocking_events(void)
{
	pthread_t thread;
	struct ibv_cq *cq = NULL;
	void *context = NULL;
	struct ibv_wc wc;
	int got = 0;

	for (int dedicated = 0; dedicated < 2; dedicated++) {
		pair_open(&pair, dedicated);
		pair_connect(&pair);
		CU_ASSERT_EQUAL(end_recv(right, 2, 0, 64), 0);
		CU_ASSERT_EQUAL(end_recv(left, 4, 0, 64), 0);
		CU_ASSERT_EQUAL(ibv_req_notify_cq(left->cq, 0), 0);
		stop = false;
		pthread_create(&thread, NULL, poll_right, NULL);
		CU_ASSERT_EQUAL(end_send(left, 1, 0, 10), 0);
		for (got = 0; got < 2;) { /* the send's and the answer's completion */
			CU_ASSERT_EQUAL_FATAL(ibv_get_cq_event(left->channel, &cq, &context), 0);
			CU_ASSERT_PTR_EQUAL(cq, left->cq);
			CU_ASSERT_PTR_EQUAL(context, left);
			ibv_ack_cq_events(cq, 1);
			CU_ASSERT_EQUAL(ibv_req_notify_cq(cq, 0), 0);
			while (ibv_poll_cq(cq, 1, &wc) == 1) {
				CU_ASSERT_EQUAL(wc.status, IBV_WC_SUCCESS);
				got++;
			}
		}
		__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
		pthread_join(thread, NULL);
		pair_close(&pair);
	}
}

/* Dedicated: a program that only epolls its descriptors. */
static void epolled(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(0);
	struct ibv_cq *cq;
	void *context;

	pair_open(&pair, true);
	pair_connect(&pair);
	CU_ASSERT_EQUAL(epoll_ctl(epoll, EPOLL_CTL_ADD, right->channel->fd, &event), 0);
	CU_ASSERT_EQUAL(end_recv(right, 2, 0, 64), 0);
	CU_ASSERT_EQUAL(ibv_req_notify_cq(right->cq, 1), 0);
	CU_ASSERT_EQUAL(end_send(left, 1, 0, 10), 0);
	pair_expect(&pair, 0, 1, IBV_WC_SEND);
	CU_ASSERT_EQUAL(epoll_wait(epoll, &event, 1, 20), 0); /* not solicited */
	pair_expect(&pair, 1, 2, IBV_WC_RECV);
	CU_ASSERT_EQUAL(ibv_req_notify_cq(right->cq, 0), 0);
	CU_ASSERT_EQUAL(end_recv(right, 2, 0, 64), 0);
	CU_ASSERT_EQUAL(end_send(left, 1, 0, 10), 0);
	CU_ASSERT_EQUAL(epoll_wait(epoll, &event, 1, 5000), 1);
	CU_ASSERT_EQUAL(ibv_get_cq_event(right->channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	close(epoll);
	pair_close(&pair);
}

static bool async_readable(const struct end *end)
{
	struct pollfd poll_fd = {.fd = end->context->async_fd, .events = POLLIN};

	pair_drive(&pair);
	return poll(&poll_fd, 1, 0) == 1;
}

static void srq_limit(void)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 8, .max_sge = 1}};
	struct ibv_srq_attr attr = {.srq_limit = 2};
	struct ibv_recv_wr recv = {0}, *bad;
	struct ibv_async_event event;
	struct ibv_srq *srq;

	pair_open(&pair, false);
	srq = ibv_create_srq(right->pd, &init);
	CU_ASSERT_PTR_NOT_NULL_FATAL(srq);
	CU_ASSERT_EQUAL(ibv_destroy_qp(right->qp), 0);
	right->qp = end_create_qp(right, right->cq, srq);
	CU_ASSERT_PTR_NOT_NULL_FATAL(right->qp);
	CU_ASSERT_EQUAL(ibv_destroy_srq(srq), EBUSY);
	pair_connect(&pair);
	for (unsigned int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(ibv_post_srq_recv(srq, &recv, &bad), 0);
	CU_ASSERT_EQUAL(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	CU_ASSERT_FALSE(async_readable(right));
	for (unsigned int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(end_send(left, 1, 0, 0), 0);
		pair_expect(&pair, 1, 0, IBV_WC_RECV);
	}
	CU_ASSERT(async_readable(right));
	CU_ASSERT_EQUAL(ibv_get_async_event(right->context, &event), 0);
	CU_ASSERT_EQUAL(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	CU_ASSERT_PTR_EQUAL(event.element.srq, srq);
	ibv_ack_async_event(&event);
	CU_ASSERT_EQUAL(ibv_query_srq(srq, &attr), 0);
	CU_ASSERT_EQUAL(attr.srq_limit, 0); /* once per arming */
	CU_ASSERT_EQUAL(ibv_destroy_qp(right->qp), 0);
	CU_ASSERT_EQUAL(ibv_destroy_srq(srq), 0);
	right->qp = end_create_qp(right, right->cq, NULL);
	pair_close(&pair);
}

/* Never silence: the CQ's event, its QPs in ERR, and a poll that fails. */
static void cq_overrun(void)
{
	struct ibv_async_event event;
	struct ibv_cq *small;
	struct ibv_qp *qp;
	struct ibv_wc wc[8];
	int polled;

	pair_open(&pair, false);
	small = ibv_create_cq(left->context, 1, NULL, NULL, 0);
	qp = end_create_qp(left, small, NULL);
	CU_ASSERT_EQUAL(ibv_destroy_qp(left->qp), 0);
	left->qp = qp;
	pair_connect(&pair);
	for (unsigned int i = 0; i < (unsigned int)small->cqe + 1; i++) {
		CU_ASSERT_EQUAL(end_recv(right, 9, 0, 8), 0);
		CU_ASSERT_EQUAL(end_send(left, i, 0, 0), 0);
	}
	CU_ASSERT(async_readable(left));
	CU_ASSERT_EQUAL(ibv_get_async_event(left->context, &event), 0);
	CU_ASSERT_EQUAL(event.event_type, IBV_EVENT_CQ_ERR);
	CU_ASSERT_PTR_EQUAL(event.element.cq, small);
	ibv_ack_async_event(&event);
	CU_ASSERT_EQUAL(qp_state(qp), IBV_QPS_ERR);
	polled = ibv_poll_cq(small, 8, wc);
	CU_ASSERT(polled >= 1);
	CU_ASSERT_EQUAL(ibv_poll_cq(small, 8, wc), -1);
	CU_ASSERT_EQUAL(ibv_destroy_qp(qp), 0);
	CU_ASSERT_EQUAL(ibv_destroy_cq(small), 0);
	left->qp = end_create_qp(left, left->cq, NULL);
	pair_close(&pair);
}

/* What holds what (EBUSY), and that the right order goes. */
static void busy_objects(void)
{
	pair_open(&pair, false);
	CU_ASSERT_EQUAL(ibv_dealloc_pd(left->pd), EBUSY);
	CU_ASSERT_EQUAL(ibv_destroy_cq(left->cq), EBUSY);
	CU_ASSERT_EQUAL(ibv_destroy_comp_channel(left->channel), EBUSY);
	CU_ASSERT_EQUAL(ibv_destroy_qp(left->qp), 0);
	CU_ASSERT_EQUAL(ibv_dealloc_pd(left->pd), EBUSY); /* its region */
	left->qp = end_create_qp(left, left->cq, NULL);
	pair_close(&pair);
}

/* ERR: what is posted comes back flushed, in order, in both directions. */
static void flushed(void)
{
	struct ibv_wc wc;

	begin();
	CU_ASSERT_EQUAL(end_recv(left, 1, 0, 8), 0);
	CU_ASSERT_EQUAL(qp_move(left->qp, IBV_QPS_ERR), 0);
	CU_ASSERT(pair_poll(&pair, 0, &wc));
	CU_ASSERT_EQUAL(wc.status, IBV_WC_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(wc.wr_id, 1);
	for (uint64_t id = 2; id < 2 + 3 * PAIR_DEPTH; id += 2) { /* EP-1: accepted and flushed */
		CU_ASSERT_EQUAL(end_send(left, id, 0, 8), 0);
		CU_ASSERT(pair_poll(&pair, 0, &wc));
		CU_ASSERT_EQUAL(wc.status, IBV_WC_WR_FLUSH_ERR);
		CU_ASSERT_EQUAL(wc.wr_id, id);
		CU_ASSERT_EQUAL(end_recv(left, id + 1, 0, 8), 0);
		CU_ASSERT(pair_poll(&pair, 0, &wc));
		CU_ASSERT_EQUAL(wc.status, IBV_WC_WR_FLUSH_ERR);
		CU_ASSERT_EQUAL(wc.wr_id, id + 1);
	}
	CU_ASSERT_EQUAL(qp_move(left->qp, IBV_QPS_RESET), 0);
	CU_ASSERT_EQUAL(qp_move(right->qp, IBV_QPS_RESET), 0);
	pair_connect(&pair); /* and once more */
	CU_ASSERT_EQUAL(end_recv(right, 2, 0, 64), 0);
	CU_ASSERT_EQUAL(end_send(left, 1, 0, 10), 0);
	pair_expect(&pair, 1, 2, IBV_WC_RECV);
	pair_expect(&pair, 0, 1, IBV_WC_SEND);
	pair_close(&pair);
}

/* A full queue's ENOMEM, and that polling alone makes room. */
static void depth(void)
{
	begin();
	for (uint64_t round = 0; round < 3; round++) {
		for (uint64_t id = 0; id < PAIR_DEPTH; id++) {
			CU_ASSERT_EQUAL(end_recv(right, id, 0, 8), 0);
			CU_ASSERT_EQUAL(end_send(left, id, 0, 8), 0);
		}
		CU_ASSERT_EQUAL(end_recv(right, 99, 0, 8), ENOMEM);
		CU_ASSERT_EQUAL(end_send(left, 99, 0, 8), ENOMEM);
		pair_drive(&pair);
		CU_ASSERT_EQUAL(end_recv(right, 99, 0, 8), ENOMEM); /* not polled yet */
		CU_ASSERT_EQUAL(end_send(left, 99, 0, 8), ENOMEM);
		for (uint64_t id = 0; id < PAIR_DEPTH; id++) {
			pair_expect(&pair, 1, id, IBV_WC_RECV);
			pair_expect(&pair, 0, id, IBV_WC_SEND);
		}
	}
	pair_close(&pair);
}

/* Closing a context with all its objects alive; the engine has none of them left. */
static void closed_with_objects(void)
{
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;

	pair_open(&pair, false);
	context = ibv_open_device(left->context->device);
	CU_ASSERT_PTR_NOT_NULL_FATAL(context);
	pd = ibv_alloc_pd(context);
	cq = ibv_create_cq(context, 4, NULL, NULL, 0);
	mr = ibv_reg_mr(pd, left->buffer, 64, 0);
	CU_ASSERT_PTR_NOT_NULL(mr);
	CU_ASSERT_EQUAL(ibv_close_device(context), 0);
	free(mr); /* what the program leaks: the structs of its own */
	free(cq);
	free(pd);
	pair_close(&pair);
}

/* The child sees no device of its parent's engines, and the parent goes on. */
static void forked(void)
{
	int status = -1;
	pid_t child;

	begin();
	child = fork();
	if (child == 0) {
		struct ibv_wc wc;
		int wrong = 0;

		wrong += uroce_find_device("uroce0") != NULL;
		wrong += ibv_poll_cq(left->cq, 1, &wc) != -1 || errno != EIO;
		wrong += end_recv(left, 1, 0, 1) != EIO;
		wrong += ibv_dereg_mr(left->mr) != EIO;
		_exit(wrong);
	}
	CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
	CU_ASSERT_EQUAL(status, 0);
	CU_ASSERT_EQUAL(end_recv(right, 2, 0, 64), 0);
	CU_ASSERT_EQUAL(end_send(left, 1, 0, 10), 0);
	pair_expect(&pair, 1, 2, IBV_WC_RECV);
	pair_expect(&pair, 0, 1, IBV_WC_SEND);
	pair_close(&pair);
}

/* uroce_alloc()'s memory as source and target. */
static void region_memory(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_mr *mr;
	uint8_t *memory;

	begin();
	memory = uroce_alloc(right->context, 10000);
	CU_ASSERT_PTR_NOT_NULL_FATAL(memory);
	mr = ibv_reg_mr(right->pd, memory, 10000, PAIR_FLAGS);
	CU_ASSERT_PTR_NOT_NULL_FATAL(mr);
	pattern(left->buffer, 9999, 5);
	wr = rdma(IBV_WR_RDMA_WRITE, &sge, 0, 0, 9999);
	wr.wr.rdma.remote_addr = (uintptr_t)memory + 1;
	wr.wr.rdma.rkey = mr->rkey;
	CU_ASSERT_EQUAL(qp_post(left->qp, &wr), 0);
	pair_expect(&pair, 0, 7, IBV_WC_RDMA_WRITE);
	CU_ASSERT_EQUAL(memory[0], 0);
	CU_ASSERT_EQUAL(memcmp(memory + 1, left->buffer, 9999), 0);
	CU_ASSERT_EQUAL(uroce_free(right->context, memory), EBUSY); /* registered */
	CU_ASSERT_EQUAL(ibv_dereg_mr(mr), 0);
	CU_ASSERT_EQUAL(uroce_free(right->context, memory), 0);
	pair_close(&pair);
}

static const struct unit_case cases[] = {
	UNIT_CASE(ping_pong),
	UNIT_CASE(one_sided),
	UNIT_CASE(atomics),
	UNIT_CASE(window),
	UNIT_CASE(window_2),
	UNIT_CASE(inline_data),
	UNIT_CASE(own_address),
	UNIT_CASE(blocking_events),
	UNIT_CASE(epolled),
	UNIT_CASE(srq_limit),
	UNIT_CASE(cq_overrun),
	UNIT_CASE(busy_objects),
	UNIT_CASE(flushed),
	UNIT_CASE(depth),
	UNIT_CASE(closed_with_objects),
	UNIT_CASE(forked),
	UNIT_CASE(region_memory),
};

UNIT_MAIN("verbs-e2e", cases)
