/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two engines over a wire: every operation from a post through the region to a completion at the
 * other end, in sizes around the MTU, and a port that refuses, has no buffers, or loses frames.
 */
#include <string.h>

#include "rig.h"

#define ACCESS                                                                                     \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
		IBV_ACCESS_REMOTE_ATOMIC)
#define SIZE 20000u

/* Two QPs in RTS with memory on both sides. */
struct pair {
	struct rig rig;
	struct front *a, *b;
	struct front_cq cq_a, cq_b;
	struct front_qp qp_a, qp_b;
	_Alignas(8) uint8_t memory_a[SIZE], memory_b[SIZE];
	uint32_t key_a, key_b;
};

static void fill_pattern(uint8_t *memory, uint32_t seed)
{
	for (uint32_t i = 0; i < SIZE; i++)
		memory[i] = (uint8_t)((i * 31 + seed) ^ i >> 8);
}

static void pair_open(struct pair *p, const struct loop_config *wire)
{
	rig_open_with(&p->rig, wire, NULL);
	p->a = &p->rig.fronts[0];
	p->b = &p->rig.fronts[1];
	p->cq_a = front_create_cq(p->a, 256, 0);
	p->cq_b = front_create_cq(p->b, 256, 0);
	p->qp_a = front_create_qp(p->a, &p->cq_a);
	p->qp_b = front_create_qp(p->b, &p->cq_b);
	fill_pattern(p->memory_a, 1);
	fill_pattern(p->memory_b, 2);
	p->key_a = front_reg_mr(p->a, p->memory_a, SIZE, ACCESS);
	p->key_b = front_reg_mr(p->b, p->memory_b, SIZE, ACCESS);
	front_connect(p->a, &p->qp_a, RIG_ADDRESS, p->b, &p->qp_b, RIG_ADDRESS + 1);
}

static void pair_close(struct pair *p)
{
	rig_close(&p->rig);
}

static void expect_success(
	struct front_qp *qp, uint64_t wr_id, enum ibv_wc_opcode opcode, uint32_t byte_len)
{
	struct uroce_abi_cqe cqe;

	CU_ASSERT_FATAL(front_poll(qp, &cqe));
	CU_ASSERT_EQUAL(cqe.status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(cqe.wr_id, wr_id);
	CU_ASSERT_EQUAL(cqe.opcode, opcode);
	CU_ASSERT_EQUAL(cqe.qp_num, qp->qp_num);
	CU_ASSERT_EQUAL(cqe.qp, qp->handle);
	if (opcode & IBV_WC_RECV || opcode == IBV_WC_RDMA_READ)
		CU_ASSERT_EQUAL(cqe.byte_len, byte_len);
}

static void expect_nothing(struct pair *p)
{
	struct uroce_abi_cqe cqe;

	CU_ASSERT_FALSE(front_poll(&p->qp_a, &cqe));
	CU_ASSERT_FALSE(front_poll(&p->qp_b, &cqe));
}

static const uint32_t sizes[] = {0, 1, 3, 1023, 1024, 1025, 2048, 4097, SIZE};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void sends(void)
{
	static struct pair p;
	struct uroce_abi_send_wqe wqe = {
		.opcode = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .wr_id = 7};

	pair_open(&p, NULL);
	for (unsigned int i = 0; i < SIZES; i++) {
		memset(p.memory_b, 0xee, SIZE);
		CU_ASSERT(front_recv(p.b, &p.qp_b, 8 + i, p.memory_b, SIZE, p.key_b));
		CU_ASSERT(front_send(p.a, &p.qp_a, &wqe, p.memory_a, sizes[i], p.key_a));
		rig_run(&p.rig, p.rig.now + MS);
		expect_success(&p.qp_a, 7, IBV_WC_SEND, 0);
		expect_success(&p.qp_b, 8 + i, IBV_WC_RECV, sizes[i]);
		expect_nothing(&p);
		CU_ASSERT_EQUAL(memcmp(p.memory_a, p.memory_b, sizes[i]), 0);
		CU_ASSERT(sizes[i] == SIZE || p.memory_b[sizes[i]] == 0xee);
	}
	pair_close(&p);
}

static void inline_data_is_that_of_the_post(void)
{
	static struct pair p;
	struct uroce_abi_send_wqe wqe = {
		.opcode = IBV_WR_SEND_WITH_IMM,
		.flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
		.imm_or_rkey = 0x11223344,
	};
	char text[] = "said once";
	struct uroce_abi_cqe cqe;

	pair_open(&p, NULL);
	front_recv(p.b, &p.qp_b, 1, p.memory_b, SIZE, p.key_b);
	CU_ASSERT(front_send(p.a, &p.qp_a, &wqe, text, sizeof(text), 0));
	memset(text, 'x', sizeof(text));
	rig_run(&p.rig, p.rig.now + MS);
	expect_success(&p.qp_a, 0, IBV_WC_SEND, 0);
	CU_ASSERT(front_poll(&p.qp_b, &cqe));
	CU_ASSERT_EQUAL(cqe.flags & IBV_WC_WITH_IMM, IBV_WC_WITH_IMM);
	CU_ASSERT_EQUAL(cqe.imm_or_rkey, 0x11223344);
	CU_ASSERT_STRING_EQUAL((char *)p.memory_b, "said once");
	pair_close(&p);
}

static void writes_and_reads(void)
{
	static struct pair p;
	struct uroce_abi_send_wqe wqe = {.flags = IBV_SEND_SIGNALED};

	pair_open(&p, NULL);
	wqe.wr.remote.address = (uintptr_t)p.memory_b;
	wqe.wr.remote.rkey = p.key_b;
	for (unsigned int i = 0; i < SIZES; i++) {
		fill_pattern(p.memory_a, i);
		memset(p.memory_b, 0xee, SIZE);
		wqe.opcode = IBV_WR_RDMA_WRITE;
		front_send(p.a, &p.qp_a, &wqe, p.memory_a, sizes[i], p.key_a);
		rig_run(&p.rig, p.rig.now + MS);
		expect_success(&p.qp_a, 0, IBV_WC_RDMA_WRITE, 0);
		CU_ASSERT_EQUAL(memcmp(p.memory_a, p.memory_b, sizes[i]), 0);
		CU_ASSERT(sizes[i] == SIZE || p.memory_b[sizes[i]] == 0xee);

		memset(p.memory_a, 0xdd, SIZE);
		wqe.opcode = IBV_WR_RDMA_READ;
		front_send(p.a, &p.qp_a, &wqe, p.memory_a, sizes[i], p.key_a);
		rig_run(&p.rig, p.rig.now + MS);
		expect_success(&p.qp_a, 0, IBV_WC_RDMA_READ, sizes[i]);
		CU_ASSERT_EQUAL(memcmp(p.memory_a, p.memory_b, sizes[i]), 0);
		CU_ASSERT(sizes[i] == SIZE || p.memory_a[sizes[i]] == 0xdd);
		expect_nothing(&p);
	}
	pair_close(&p);
}

static void atomics(void)
{
	static struct pair p;
	struct uroce_abi_send_wqe wqe = {.flags = IBV_SEND_SIGNALED};
	uint64_t value = 40, *remote, *original;

	pair_open(&p, NULL);
	remote = (uint64_t *)(void *)p.memory_b;
	original = (uint64_t *)(void *)p.memory_a;
	memcpy(remote, &value, sizeof(value));
	wqe.wr.remote.address = (uintptr_t)remote;
	wqe.wr.remote.rkey = p.key_b;
	wqe.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wqe.wr.remote.compare_add = 2;
	front_send(p.a, &p.qp_a, &wqe, original, 8, p.key_a);
	rig_run(&p.rig, p.rig.now + MS);
	expect_success(&p.qp_a, 0, IBV_WC_FETCH_ADD, 8);
	CU_ASSERT_EQUAL(*remote, 42);
	CU_ASSERT_EQUAL(*original, 40);
	wqe.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wqe.wr.remote.compare_add = 42;
	wqe.wr.remote.swap = 1000;
	front_send(p.a, &p.qp_a, &wqe, original, 8, p.key_a);
	rig_run(&p.rig, p.rig.now + MS);
	expect_success(&p.qp_a, 0, IBV_WC_COMP_SWAP, 8);
	CU_ASSERT_EQUAL(*remote, 1000);
	CU_ASSERT_EQUAL(*original, 42);
	pair_close(&p);
}

/* A thousand messages in chains as long as the queue, in order. */
static uint32_t stream(struct pair *p, uint32_t messages, uint64_t until)
{
	struct uroce_abi_send_wqe wqe = {.opcode = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED};
	uint32_t posted = 0, sent = 0, received = 0, recvs = 0;
	struct uroce_abi_cqe cqe;

	while (received < messages && p->rig.now < until) {
		while (recvs < messages &&
			front_recv(p->b, &p->qp_b, recvs, p->memory_b, 3000, p->key_b))
			recvs++;
		for (wqe.wr_id = posted; posted < messages &&
			front_send(p->a, &p->qp_a, &wqe, p->memory_a, 2500, p->key_a);
			wqe.wr_id = posted)
			posted++;
		rig_run(&p->rig, p->rig.now + MS);
		while (front_poll(&p->qp_a, &cqe)) {
			CU_ASSERT_EQUAL(cqe.status, IBV_WC_SUCCESS);
			CU_ASSERT_EQUAL(cqe.wr_id, sent++);
		}
		while (front_poll(&p->qp_b, &cqe)) {
			CU_ASSERT_EQUAL(cqe.status, IBV_WC_SUCCESS);
			CU_ASSERT_EQUAL(cqe.wr_id, received++);
		}
	}
	return received;
}

static void many_in_order(void)
{
	static struct pair p;

	pair_open(&p, NULL);
	CU_ASSERT_EQUAL(stream(&p, 1000, UINT64_MAX), 1000);
	pair_close(&p);
}

/* A port that takes three frames a call: the others wait, in order, and none is lost. */
static void a_port_that_refuses(void)
{
	static struct pair p;

	pair_open(&p, NULL);
	loop_set_tx_limit(p.rig.wire, 0, 3);
	CU_ASSERT_EQUAL(stream(&p, 300, UINT64_MAX), 300);
	CU_ASSERT(rig_worker(&p.rig, 0)->counters.tx_refused > 0);
	CU_ASSERT_EQUAL(rig_worker(&p.rig, 0)->core.counters.retransmitted_pkts, 0);
	pair_close(&p);
}

static void a_port_with_few_buffers(void)
{
	static struct pair p;

	pair_open(&p, NULL);
	loop_set_alloc_limit(p.rig.wire, 0, 1);
	CU_ASSERT_EQUAL(stream(&p, 300, UINT64_MAX), 300);
	CU_ASSERT(rig_worker(&p.rig, 0)->counters.no_buffer > 0);
	CU_ASSERT_EQUAL(rig_worker(&p.rig, 0)->core.counters.retransmitted_pkts, 0);
	/* None at all: nothing moves, nothing breaks; then it goes on. */
	loop_set_alloc_limit(p.rig.wire, 0, 0);
	for (unsigned int i = 0; i < 1000; i++)
		rig_round(&p.rig);
	loop_set_alloc_limit(p.rig.wire, 0, UINT32_MAX);
	CU_ASSERT_EQUAL(stream(&p, 300, UINT64_MAX), 300);
	pair_close(&p);
}

/* Everything at once goes wrong, and all messages arrive, once and in order. */
static void a_bad_wire(void)
{
	static const struct loop_faults faults = {
		.loss = 20000,
		.duplicate = 20000,
		.reorder = 20000,
		.reorder_by = 50000,
		.corrupt = 20000,
		.corrupt_bits = 4,
	};
	struct loop_link link = {.rate = 10000000000ull, .delay = 5000};
	struct loop_config wire = {.seed = 5};
	struct loop_counters counters;
	static struct pair p;

	pair_open(&p, &wire);
	loop_set_link(p.rig.wire, LOOP_ANY, &link);
	loop_set_faults(p.rig.wire, LOOP_ANY, LOOP_ANY, &faults);
	CU_ASSERT_EQUAL(stream(&p, 1000, 3600000 * MS), 1000);
	loop_count(p.rig.wire, LOOP_ANY, LOOP_ANY, &counters);
	CU_ASSERT(counters.lost > 10 && counters.corrupted > 10 && counters.duplicated > 10);
	CU_ASSERT(rig_worker(&p.rig, 0)->core.counters.retransmitted_pkts > 10);
	pair_close(&p);
}

static void end_by_destroy(struct pair *p)
{
	CU_ASSERT_EQUAL(front_simple(p->b, UROCE_ABI_DESTROY_QP, p->qp_b.handle), 0);
}

static void end_by_detach(struct pair *p)
{
	front_detach(p->b);
}

/*
 * The program has what came before it is acknowledged; ending its QP, or all of its objects, does
 * not take the answer along: an ACK, and READ data of several turns before it.
 */
static void answers_are_owed(void)
{
	static void (*const ends[])(struct pair * p) = {end_by_destroy, end_by_detach};
	static struct pair p;

	for (unsigned int i = 0; i < 2; i++) {
		struct uroce_abi_send_wqe read = {
			.opcode = IBV_WR_RDMA_READ, .flags = IBV_SEND_SIGNALED, .wr_id = 1};
		struct uroce_abi_send_wqe send = {
			.opcode = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .wr_id = 2};

		pair_open(&p, NULL);
		rig_worker(&p.rig, 1)->budget = 2;
		read.wr.remote.address = (uintptr_t)p.memory_b;
		read.wr.remote.rkey = p.key_b;
		front_recv(p.b, &p.qp_b, 3, p.memory_b, 8, p.key_b);
		front_send(p.a, &p.qp_a, &read, p.memory_a, SIZE, p.key_a);
		front_send(p.a, &p.qp_a, &send, p.memory_a, 8, p.key_a);
		engine_round(p.rig.engines[0]);
		engine_round(p.rig.engines[1]);
		expect_success(&p.qp_b, 3, IBV_WC_RECV, 8); /* not acknowledged yet */
		CU_ASSERT_EQUAL(rig_worker(&p.rig, 1)->counters.tx_packets, 0);
		ends[i](&p);
		rig_run(&p.rig, p.rig.now + MS);
		expect_success(&p.qp_a, 1, IBV_WC_RDMA_READ, SIZE);
		expect_success(&p.qp_a, 2, IBV_WC_SEND, 0);
		pair_close(&p);
	}
}

static const struct unit_case cases[] = {
	UNIT_CASE(sends),
	UNIT_CASE(inline_data_is_that_of_the_post),
	UNIT_CASE(writes_and_reads),
	UNIT_CASE(atomics),
	UNIT_CASE(many_in_order),
	UNIT_CASE(a_port_that_refuses),
	UNIT_CASE(a_port_with_few_buffers),
	UNIT_CASE(a_bad_wire),
	UNIT_CASE(answers_are_owed),
};

UNIT_MAIN("engine-worker", cases)
