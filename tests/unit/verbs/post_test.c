/* SPDX-License-Identifier: BSD-3-Clause */
/* Posting: what is refused and how, what lies in the slots, what a full queue does. */
#include <pthread.h>
#include <sched.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "world.h"

static struct world world;

static void begin(enum ibv_qp_state state)
{
	world_open(&world, false);
	for (enum ibv_qp_state next = IBV_QPS_INIT; next <= state && state <= IBV_QPS_RTS; next++)
		CU_ASSERT_EQUAL(world_move(world.qp, next), 0);
	if (state > IBV_QPS_RTS)
		CU_ASSERT_EQUAL(world_move(world.qp, state), 0);
}

/* EP-1 and EP-2 at the front: which posts each state takes, by policy. */
static const struct {
	enum ibv_qp_state state;
	int send_hold, send_strict, recv;
} states[] = {
	{IBV_QPS_RESET, EINVAL, EINVAL, EINVAL},
	{IBV_QPS_INIT, EINVAL, EINVAL, 0},
	{IBV_QPS_RTR, 0, EINVAL, 0},
	{IBV_QPS_RTS, 0, 0, 0},
	{IBV_QPS_SQD, 0, 0, 0},
	{IBV_QPS_SQE, 0, 0, 0},
	{IBV_QPS_ERR, 0, 0, 0},
};

static void by_state(void)
{
	struct uroce_qp_counters counters;

	for (unsigned int i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		for (int strict = 0; strict < 2; strict++) {
			struct fake_send send;
			int want = strict ? states[i].send_strict : states[i].send_hold;

			world_open(&world, false);
			CU_ASSERT_EQUAL(uroce_qp_set_policy(world.qp,
						strict ? UROCE_POLICY_STRICT : UROCE_POLICY_HOLD),
				0);
			CU_ASSERT_EQUAL(world_move(world.qp, states[i].state), 0);
			CU_ASSERT_EQUAL(world_send(world.qp, 1), want);
			CU_ASSERT_EQUAL(
				fake_take_send(world.engine, world.qp->handle, &send), want == 0);
			CU_ASSERT_EQUAL(world_recv(world.qp, 1), states[i].recv);
			CU_ASSERT_EQUAL(uroce_qp_query_counters(world.qp, &counters), 0);
			CU_ASSERT_EQUAL(
				counters.refused_strict, strict && states[i].state == IBV_QPS_RTR);
			world_close(&world);
		}
}

/* Full: ENOMEM, bad_wr at the first not taken, those before it stay; a completion makes room. */
static void full(void)
{
	struct ibv_send_wr wr[WORLD_DEPTH + 2] = {0};
	struct ibv_send_wr *bad = NULL;
	struct uroce_qp_counters counters;
	struct fake_send send;
	struct ibv_wc wc;

	begin(IBV_QPS_RTR);
	for (uint32_t i = 0; i < WORLD_DEPTH + 2; i++) {
		wr[i].wr_id = i;
		wr[i].opcode = IBV_WR_SEND;
		wr[i].next = i + 1 < WORLD_DEPTH + 2 ? &wr[i + 1] : NULL;
	}
	CU_ASSERT_EQUAL(ibv_post_send(world.qp, wr, &bad), ENOMEM);
	CU_ASSERT_PTR_EQUAL(bad, &wr[WORLD_DEPTH]);
	CU_ASSERT_EQUAL(world_send(world.qp, 100), ENOMEM);
	CU_ASSERT_EQUAL(uroce_qp_query_counters(world.qp, &counters), 0);
	CU_ASSERT_EQUAL(counters.refused_full, 2);
	world_complete(&world, 0);
	CU_ASSERT_EQUAL(world_send(world.qp, 100), ENOMEM); /* until it has been polled */
	CU_ASSERT_EQUAL(ibv_poll_cq(world.cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(world_send(world.qp, 100), 0);
	for (uint32_t i = 1; i < WORLD_DEPTH; i++) {
		CU_ASSERT(fake_take_send(world.engine, world.qp->handle, &send));
		CU_ASSERT_EQUAL(send.wqe.wr_id, i);
	}
	CU_ASSERT(fake_take_send(world.engine, world.qp->handle, &send));
	CU_ASSERT_EQUAL(send.wqe.wr_id, 100);
	CU_ASSERT_FALSE(fake_take_send(world.engine, world.qp->handle, &send));
	world_close(&world);
}

/* Work requests that cannot be taken, each alone and as third of a chain of four. */
static struct ibv_sge some[FAKE_MAX_SGE + 1] = {{.length = 1}, {.length = 1}, {.length = 1}};
static struct ibv_sge long_inline = {.length = FAKE_MAX_INLINE + 1};
static struct ibv_sge huge[2] = {{.length = 0x80000000u}, {.length = 1}};
static struct ibv_mw window1 = {.type = IBV_MW_TYPE_1};
static struct ibv_mw window2 = {.type = IBV_MW_TYPE_2};

static const struct ibv_send_wr unfit[] = {
	{.opcode = IBV_WR_TSO},
	{.opcode = IBV_WR_DRIVER1},
	{.opcode = (enum ibv_wr_opcode)200},
	{.opcode = (enum ibv_wr_opcode) - 1},
	{.opcode = IBV_WR_SEND, .num_sge = FAKE_MAX_SGE + 1, .sg_list = some},
	{.opcode = IBV_WR_SEND, .num_sge = -1, .sg_list = some},
	{.opcode = IBV_WR_SEND, .send_flags = 1u << 5},
	{.opcode = IBV_WR_SEND, .send_flags = 1u << 31},
	{.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE,
		.num_sge = 1,
		.sg_list = &long_inline},
	{.opcode = IBV_WR_RDMA_READ, .send_flags = IBV_SEND_INLINE, .num_sge = 1, .sg_list = some},
	{.opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
		.send_flags = IBV_SEND_INLINE,
		.num_sge = 1,
		.sg_list = some},
	{.opcode = IBV_WR_RDMA_WRITE, .num_sge = 2, .sg_list = huge},
	{.opcode = IBV_WR_BIND_MW},
	{.opcode = IBV_WR_BIND_MW, .bind_mw = {.mw = &window1}},
	{.opcode = IBV_WR_BIND_MW, .bind_mw = {.mw = &window2, .bind_info = {.length = 1}}},
};

static void refused(void)
{
	begin(IBV_QPS_RTS);
	for (unsigned int i = 0; i < sizeof(unfit) / sizeof(unfit[0]); i++) {
		struct ibv_send_wr chain[4] = {0};
		struct ibv_send_wr *bad = NULL;
		struct fake_send send;

		for (unsigned int n = 0; n < 4; n++) {
			if (n == 2)
				chain[n] = unfit[i];
			else
				chain[n].opcode = IBV_WR_SEND;
			chain[n].next = n < 3 ? &chain[n + 1] : NULL;
		}
		CU_ASSERT_EQUAL(ibv_post_send(world.qp, &chain[2], &bad), EINVAL);
		CU_ASSERT_PTR_EQUAL(bad, &chain[2]);
		CU_ASSERT_FALSE(fake_take_send(world.engine, world.qp->handle, &send));
		CU_ASSERT_EQUAL(ibv_post_send(world.qp, chain, &bad), EINVAL);
		CU_ASSERT_PTR_EQUAL(bad, &chain[2]);
		for (unsigned int n = 0; n < 2; n++) {
			struct ibv_wc wc;

			world_complete(&world, 0);
			CU_ASSERT_EQUAL(ibv_poll_cq(world.cq, 1, &wc), 1);
		}
		CU_ASSERT_FALSE(fake_take_send(world.engine, world.qp->handle, &send));
	}
	world_close(&world);
}

static void take(struct fake_send *send)
{
	CU_ASSERT_FATAL(fake_take_send(world.engine, world.qp->handle, send));
}

/* Every field of every operation arrives where abi.h has it. */
static void fields(void)
{
	struct ibv_sge list[2] = {{.addr = 0x1000, .length = 10, .lkey = 5},
		{.addr = 0x2000, .length = 20, .lkey = 6}};
	struct ibv_mr mr = {.lkey = 0x99};
	struct ibv_mw mw = {.type = IBV_MW_TYPE_2, .rkey = 0x1234};
	struct ibv_send_wr wr = {.wr_id = 0x1122334455667788,
		.sg_list = list,
		.num_sge = 2,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED,
		.imm_data = 0xaabbccdd,
		.wr.rdma = {.remote_addr = 0xdeadbeef00, .rkey = 0x77}};
	struct ibv_send_wr *bad;
	struct fake_send send;
	struct uroce_abi_sge *sges = (struct uroce_abi_sge *)send.tail;

	begin(IBV_QPS_RTS);
	CU_ASSERT_EQUAL(ibv_post_send(world.qp, &wr, &bad), 0);
	take(&send);
	CU_ASSERT_EQUAL(send.wqe.opcode, IBV_WR_RDMA_WRITE_WITH_IMM);
	CU_ASSERT_EQUAL(send.wqe.flags, wr.send_flags);
	CU_ASSERT_EQUAL(send.wqe.wr_id, 0x1122334455667788);
	CU_ASSERT_EQUAL(send.wqe.imm_or_rkey, 0xaabbccdd);
	CU_ASSERT_EQUAL(send.wqe.wr.remote.address, 0xdeadbeef00);
	CU_ASSERT_EQUAL(send.wqe.wr.remote.rkey, 0x77);
	CU_ASSERT_EQUAL(send.wqe.sge_count, 2);
	CU_ASSERT_EQUAL(send.wqe.inline_length, 0);
	CU_ASSERT_EQUAL(sges[0].address, 0x1000);
	CU_ASSERT_EQUAL(sges[1].length, 20);
	CU_ASSERT_EQUAL(sges[1].lkey, 6);

	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.num_sge = 1;
	wr.wr.atomic.remote_addr = 0x7001; /* not aligned: the completion says so, not the post */
	wr.wr.atomic.compare_add = 11;
	wr.wr.atomic.swap = 22;
	wr.wr.atomic.rkey = 33;
	CU_ASSERT_EQUAL(ibv_post_send(world.qp, &wr, &bad), 0);
	take(&send);
	CU_ASSERT_EQUAL(send.wqe.wr.remote.address, 0x7001);
	CU_ASSERT_EQUAL(send.wqe.wr.remote.compare_add, 11);
	CU_ASSERT_EQUAL(send.wqe.wr.remote.swap, 22);
	CU_ASSERT_EQUAL(send.wqe.wr.remote.rkey, 33);

	wr.opcode = IBV_WR_LOCAL_INV;
	wr.invalidate_rkey = 0x4242;
	CU_ASSERT_EQUAL(ibv_post_send(world.qp, &wr, &bad), 0);
	take(&send);
	CU_ASSERT_EQUAL(send.wqe.imm_or_rkey, 0x4242);
	CU_ASSERT_EQUAL(send.wqe.sge_count, 0);

	wr.opcode = IBV_WR_BIND_MW;
	wr.bind_mw.mw = &mw;
	wr.bind_mw.rkey = 0x1235;
	wr.bind_mw.bind_info.mr = &mr;
	wr.bind_mw.bind_info.addr = 0x5000;
	wr.bind_mw.bind_info.length = 0x100;
	wr.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_READ;
	CU_ASSERT_EQUAL(ibv_post_send(world.qp, &wr, &bad), 0);
	take(&send);
	CU_ASSERT_EQUAL(send.wqe.wr.bind.address, 0x5000);
	CU_ASSERT_EQUAL(send.wqe.wr.bind.length, 0x100);
	CU_ASSERT_EQUAL(send.wqe.wr.bind.window, 0x1234);
	CU_ASSERT_EQUAL(send.wqe.wr.bind.new_rkey, 0x1235);
	CU_ASSERT_EQUAL(send.wqe.wr.bind.lkey, 0x99);
	CU_ASSERT_EQUAL(send.wqe.wr.bind.access, IBV_ACCESS_REMOTE_READ);
	CU_ASSERT_EQUAL(mw.rkey, 0x1234); /* type 2: the program's to change */
	world_close(&world);
}

/* Inline data is taken at the post, gathered, up to the last byte; nothing behind it is touched. */
static void inline_data(void)
{
	uint8_t data[FAKE_MAX_INLINE];
	struct ibv_sge list[3] = {{.addr = (uintptr_t)data, .length = 10}, {.addr = 0, .length = 0},
		{.addr = (uintptr_t)(data + 10), .length = FAKE_MAX_INLINE - 10}};
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE,
		.sg_list = list,
		.num_sge = 3};
	struct ibv_send_wr *bad;
	struct fake_send send;

	begin(IBV_QPS_RTR);
	for (unsigned int i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i + 1);
	CU_ASSERT_EQUAL(ibv_post_send(world.qp, &wr, &bad), 0);
	memset(data, 0xee, sizeof(data));
	take(&send);
	CU_ASSERT_EQUAL(send.wqe.inline_length, FAKE_MAX_INLINE);
	CU_ASSERT_EQUAL(send.wqe.sge_count, 0);
	CU_ASSERT(send.wqe.flags & IBV_SEND_INLINE);
	for (unsigned int i = 0; i < sizeof(data); i++)
		CU_ASSERT_EQUAL(send.tail[i], i + 1);
	wr.num_sge = 0;
	CU_ASSERT_EQUAL(ibv_post_send(world.qp, &wr, &bad), 0);
	take(&send);
	CU_ASSERT_EQUAL(send.wqe.inline_length, 0);
	world_close(&world);
}

static void sig_all(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp *qp;
	struct fake_send send;

	begin(IBV_QPS_RTS);
	CU_ASSERT_EQUAL(world_send(world.qp, 1), 0);
	take(&send);
	CU_ASSERT_EQUAL(send.wqe.flags, 0);
	init = world_qp_init(&world);
	init.sq_sig_all = 1;
	qp = ibv_create_qp(world.pd, &init);
	CU_ASSERT_EQUAL(world_move(qp, IBV_QPS_RTS), 0);
	CU_ASSERT_EQUAL(world_send(qp, 1), 0);
	CU_ASSERT(fake_take_send(world.engine, qp->handle, &send));
	CU_ASSERT_EQUAL(send.wqe.flags, IBV_SEND_SIGNALED);
	CU_ASSERT_EQUAL(ibv_destroy_qp(qp), 0);
	world_close(&world);
}

/* Once until the core has taken it, not once per request. */
static void announced(void)
{
	uint32_t last = 0;

	begin(IBV_QPS_RTS);
	for (unsigned int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(world_send(world.qp, i), 0);
	CU_ASSERT_EQUAL(fake_announcements(world.engine, &last), 1);
	CU_ASSERT_EQUAL(last, world.qp->handle);
	CU_ASSERT_EQUAL(world_send(world.qp, 3), 0);
	CU_ASSERT_EQUAL(fake_announcements(world.engine, NULL), 2);
	world_close(&world);
}

static void no_ring(void)
{
	begin(IBV_QPS_RTS);
	fake_fail(world.engine, UROCE_ABI_ATTACH_THREAD, -EAGAIN);
	CU_ASSERT_EQUAL(world_send(world.qp, 1), ENOMEM);
	fake_fail(world.engine, UROCE_ABI_ATTACH_THREAD, 0);
	CU_ASSERT_EQUAL(world_send(world.qp, 1), 0);
	world_close(&world);
}

/* Receives: fields, limits, full, and the announcement that only a flushing QP asks for. */
static void receives(void)
{
	struct ibv_sge list[FAKE_MAX_SGE + 1] = {{.addr = 0x1000, .length = 10, .lkey = 5}};
	struct ibv_recv_wr wr[2] = {{.wr_id = 1, .next = &wr[1], .sg_list = list, .num_sge = 1},
		{.wr_id = 2, .sg_list = list, .num_sge = FAKE_MAX_SGE + 1}};
	struct ibv_recv_wr *bad = NULL;
	struct fake_recv recv;
	uint32_t last;

	begin(IBV_QPS_INIT);
	CU_ASSERT_EQUAL(ibv_post_recv(world.qp, wr, &bad), EINVAL);
	CU_ASSERT_PTR_EQUAL(bad, &wr[1]);
	wr[1].num_sge = -1;
	CU_ASSERT_EQUAL(ibv_post_recv(world.qp, &wr[1], &bad), EINVAL);
	CU_ASSERT_FATAL(fake_take_recv(world.engine, world.qp->handle, &recv));
	CU_ASSERT_EQUAL(recv.wqe.wr_id, 1);
	CU_ASSERT_EQUAL(recv.wqe.sge_count, 1);
	CU_ASSERT_EQUAL(recv.sge[0].address, 0x1000);
	CU_ASSERT_EQUAL(recv.sge[0].length, 10);
	CU_ASSERT_EQUAL(recv.sge[0].lkey, 5);
	for (uint32_t i = 1; i < WORLD_DEPTH; i++)
		CU_ASSERT_EQUAL(world_recv(world.qp, i), 0);
	CU_ASSERT_EQUAL(world_recv(world.qp, 99), ENOMEM);
	CU_ASSERT_EQUAL(fake_announcements(world.engine, NULL), 0);
	fake_flushing(world.engine, world.qp->handle);
	fake_complete_recv(world.engine, world.qp->handle, &(struct uroce_abi_cqe){.wr_id = 1});
	CU_ASSERT_EQUAL(ibv_poll_cq(world.cq, 1, &(struct ibv_wc){0}), 1);
	CU_ASSERT_EQUAL(world_recv(world.qp, 99), 0);
	CU_ASSERT_EQUAL(fake_announcements(world.engine, &last), 1);
	CU_ASSERT_EQUAL(last, world.qp->handle | 0x80000000u);
	world_close(&world);
}

/* A QP with an SRQ has no receive queue of its own (man ibv_post_recv). */
static void shared_receives(void)
{
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = 4, .max_sge = 2}};
	struct ibv_recv_wr wr[6] = {0};
	struct ibv_recv_wr *bad = NULL;
	struct ibv_qp_init_attr init;
	struct fake_recv recv;
	struct ibv_srq *srq;
	struct ibv_qp *qp;

	begin(IBV_QPS_INIT);
	srq = ibv_create_srq(world.pd, &attr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(srq);
	init = world_qp_init(&world);
	init.srq = srq;
	qp = ibv_create_qp(world.pd, &init);
	CU_ASSERT_PTR_NOT_NULL_FATAL(qp);
	CU_ASSERT_EQUAL(world_move(qp, IBV_QPS_INIT), 0);
	CU_ASSERT_EQUAL(world_recv(qp, 1), EINVAL);
	for (unsigned int i = 0; i < 6; i++) {
		wr[i].wr_id = i;
		wr[i].next = i < 5 ? &wr[i + 1] : NULL;
	}
	CU_ASSERT_EQUAL(ibv_post_srq_recv(srq, wr, &bad), ENOMEM);
	CU_ASSERT_PTR_EQUAL(bad, &wr[4]);
	CU_ASSERT(fake_take_srq(world.engine, srq->handle, &recv));
	CU_ASSERT_EQUAL(recv.wqe.wr_id, 0);
	wr[5].num_sge = FAKE_MAX_SGE + 1;
	CU_ASSERT_EQUAL(ibv_post_srq_recv(srq, &wr[5], &bad), EINVAL);
	wr[5].num_sge = 0;
	CU_ASSERT_EQUAL(ibv_post_srq_recv(srq, &wr[5], &bad), 0); /* claimed means free */
	CU_ASSERT_EQUAL(ibv_destroy_qp(qp), 0);
	CU_ASSERT_EQUAL(ibv_destroy_srq(srq), 0);
	world_close(&world);
}

/* Threads that post to one QP: each request arrives once, each thread's in its order. */
#define THREADS 4u
#define EACH 2000u

static void *post_many(void *argument)
{
	uint64_t base = (uintptr_t)argument * EACH;

	for (uint64_t i = 0; i < EACH;) {
		struct ibv_send_wr wr = {.wr_id = base + i, .opcode = IBV_WR_SEND};
		struct ibv_send_wr *bad;

		if (ibv_post_send(world.qp, &wr, &bad) == 0)
			i++;
		else
			sched_yield();
	}
	return NULL;
}

static void threads(void)
{
	pthread_t thread[THREADS];
	uint64_t next[THREADS] = {0};
	struct fake_send send;
	struct ibv_wc wc;
	bool in_order = true;

	begin(IBV_QPS_RTS);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, post_many, (void *)i);
	for (unsigned int taken = 0; taken < THREADS * EACH;) {
		if (fake_take_send(world.engine, world.qp->handle, &send)) {
			uint64_t who = send.wqe.wr_id / EACH;

			in_order =
				in_order && who < THREADS && send.wqe.wr_id % EACH == next[who]++;
			fake_complete_send(
				world.engine, world.qp->handle, &(struct uroce_abi_cqe){0});
			taken++;
		}
		ibv_poll_cq(world.cq, 1, &wc);
	}
	CU_ASSERT(in_order);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	CU_ASSERT_FALSE(fake_take_send(world.engine, world.qp->handle, &send));
	CU_ASSERT_EQUAL(fake_threads(world.engine), 0); /* given back at their end */
	world_close(&world);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1 /* its runtime calls the system by itself */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifndef SANITIZED
/*
 * From here on the kernel kills the thread at any system call but read, write and exit (prctl(2),
 * PR_SET_SECCOMP). It leaves by the last one, past everything that a thread does at its end.
 */
static void *post_without_calls(void *reached)
{
	struct uroce_abi_cqe cqe = {0};
	struct fake_send send;
	struct ibv_wc wc;

	CU_ASSERT_EQUAL(world_send(world.qp, 0), 0); /* makes the ring */
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	for (unsigned int i = 0; i < 1000; i++) {
		struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};
		struct ibv_send_wr *bad;

		while (ibv_post_send(world.qp, &wr, &bad) == 0)
			(*(unsigned int *)reached)++;
		while (fake_take_send(world.engine, world.qp->handle, &send))
			fake_complete_send(world.engine, world.qp->handle, &cqe);
		while (ibv_poll_cq(world.cq, 1, &wc) > 0)
			continue;
	}
	syscall(SYS_exit, 0);
	return NULL;
}

/* EP-15: in RTR as in RTS. */
static void no_system_call(void)
{
	for (enum ibv_qp_state state = IBV_QPS_RTR; state <= IBV_QPS_RTS; state++) {
		unsigned int posted = 0;
		pthread_t thread;

		begin(state);
		pthread_create(&thread, NULL, post_without_calls, &posted);
		pthread_join(thread, NULL);
		CU_ASSERT(posted >= 1000 * (WORLD_DEPTH - 1));
		ibv_close_device(world.context);
		fake_destroy(world.engine);
	}
}
#endif

static const struct unit_case cases[] = {
#ifndef SANITIZED
	UNIT_CASE(no_system_call),
#endif
	UNIT_CASE(by_state),
	UNIT_CASE(full),
	UNIT_CASE(refused),
	UNIT_CASE(fields),
	UNIT_CASE(inline_data),
	UNIT_CASE(sig_all),
	UNIT_CASE(announced),
	UNIT_CASE(no_ring),
	UNIT_CASE(receives),
	UNIT_CASE(shared_receives),
	UNIT_CASE(threads),
};

UNIT_MAIN("verbs-post", cases)
