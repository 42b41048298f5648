/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data between two engines of one process, whichever of them has a core of its own, or two: every
 * operation, sizes around each packet's edge, data compared, and nothing written beside it.
 */
#include <arpa/inet.h>
#include <string.h>

#include "bench.h"
#include "link.h"
#include "pattern.h"

#define OUT 0u
#define IN (NODE_MEMORY / 2)
#define GUARD 64u

static const uint32_t sizes[] = {
	0, 1, 7, 64, 255, 256, 257, 1023, 1024, 1025, 2048, 4095, 4097, 65536, 1000003};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static const enum mode modes[][2] = {
	{INLINE, DEDICATED},
	{DEDICATED, INLINE},
	{INLINE, INLINE},
	{MIXED, INLINE},
	{INLINE, MIXED},
};
#define MODES (sizeof(modes) / sizeof(modes[0]))

struct pair {
	struct node nodes[2];
};

static void pair_open(struct pair *pair, const enum mode mode[2])
{
	node_open(&pair->nodes[0], EAST, mode[0]);
	node_open(&pair->nodes[1], WEST, mode[1]);
}

static void pair_close(struct pair *pair)
{
	node_close(&pair->nodes[0]);
	node_close(&pair->nodes[1]);
}

/* Every case in every combination of modes. */
static void in_all_modes(void (*run)(struct pair *pair))
{
	struct pair pair;

	for (size_t i = 0; i < MODES; i++) {
		pair_open(&pair, modes[i]);
		run(&pair);
		pair_close(&pair);
	}
}

/* Where the n-th message lies, in OUT and in IN. */
static uint32_t place(size_t n)
{
	uint32_t offset = GUARD;

	for (size_t i = 0; i < n; i++)
		offset += sizes[i] + GUARD;
	return offset;
}

static void fill(struct node *node, uint64_t base, uint32_t seed)
{
	for (size_t i = 0; i < SIZES; i++)
		pattern_fill(node->memory + base + place(i), sizes[i], seed + (uint32_t)i);
}

static void check(const struct node *node, uint64_t base, uint32_t seed)
{
	for (size_t i = 0; i < SIZES; i++) {
		const uint8_t *message = node->memory + base + place(i);

		CU_ASSERT(pattern_matches(message, sizes[i], seed + (uint32_t)i));
		CU_ASSERT(pattern_is_clear(message - GUARD, GUARD));
		CU_ASSERT(pattern_is_clear(message + sizes[i], GUARD));
	}
}

static void check_wc(
	const struct ibv_wc *wc, const struct end *end, enum ibv_wc_opcode opcode, size_t n)
{
	CU_ASSERT_EQUAL(wc->opcode, opcode);
	CU_ASSERT_EQUAL(wc->wr_id, n);
	CU_ASSERT_EQUAL(wc->qp_num, end->qp->qp_num);
	if (opcode & IBV_WC_RECV) {
		CU_ASSERT_EQUAL(wc->byte_len, sizes[n]);
		CU_ASSERT_EQUAL(wc->wc_flags, 0);
	}
}

/* ---- SEND, both ways at a time ---- */

static void send_all(struct end *end)
{
	for (size_t i = 0; i < SIZES; i++) {
		struct ibv_send_wr wr = {
			.wr_id = i, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};

		CU_ASSERT_EQUAL_FATAL(end_send(end, &wr, OUT + place(i), sizes[i], 0), 0);
	}
}

/* Sends and receives complete in their own order each; they share the CQ. */
static void take_all(struct end *end)
{
	size_t sent = 0, received = 0;

	while (sent < SIZES || received < SIZES) {
		struct ibv_wc wc = bench_complete(end->node->cq);
		bool is_recv = wc.opcode & IBV_WC_RECV;

		check_wc(&wc, end, is_recv ? IBV_WC_RECV : IBV_WC_SEND,
			is_recv ? received++ : sent++);
	}
}

static void send_both_ways(struct pair *pair)
{
	struct link link;

	link_open(&link, &pair->nodes[0], &pair->nodes[1], REACH_RTS);
	for (int e = 0; e < 2; e++) {
		fill(link.ends[e].node, OUT, 100 * (uint32_t)e);
		for (size_t i = 0; i < SIZES; i++)
			CU_ASSERT_EQUAL_FATAL(
				end_recv(&link.ends[e], i, IN + place(i), sizes[i]), 0);
	}
	for (int e = 0; e < 2; e++)
		send_all(&link.ends[e]);
	for (int e = 0; e < 2; e++)
		take_all(&link.ends[e]);
	for (int e = 0; e < 2; e++)
		check(link.ends[e].node, IN, 100 * (uint32_t)(1 - e));
	link_close(&link);
}

static void sends(void)
{
	in_all_modes(send_both_ways);
}

/* ---- WRITE and READ ---- */

static void move_all(struct end *end, enum ibv_wr_opcode opcode, uint64_t local, uint64_t remote)
{
	for (size_t i = 0; i < SIZES; i++) {
		struct ibv_send_wr wr = {
			.wr_id = i, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED};

		CU_ASSERT_EQUAL_FATAL(
			end_send(end, &wr, local + place(i), sizes[i], remote + place(i)), 0);
	}
	for (size_t i = 0; i < SIZES; i++) {
		struct ibv_wc wc = bench_complete(end->node->cq);

		check_wc(&wc, end,
			opcode == IBV_WR_RDMA_READ ? IBV_WC_RDMA_READ : IBV_WC_RDMA_WRITE, i);
	}
}

static void write_and_read(struct pair *pair)
{
	struct link link;

	link_open(&link, &pair->nodes[0], &pair->nodes[1], REACH_RTS);
	for (int e = 0; e < 2; e++) {
		struct end *end = &link.ends[e];

		fill(end->node, OUT, 7);
		pattern_clear(end->peer->node->memory, NODE_MEMORY);
		move_all(end, IBV_WR_RDMA_WRITE, OUT, IN);
		check(end->peer->node, IN, 7);
		pattern_clear(end->node->memory, NODE_MEMORY);
		move_all(end, IBV_WR_RDMA_READ, OUT, IN);
		check(end->node, OUT, 7);
	}
	bench_no_completion(pair->nodes[0].cq);
	link_close(&link);
}

static void writes_and_reads(void)
{
	in_all_modes(write_and_read);
}

/* ---- atomics ---- */

#define COUNTER 4096u
#define ADDS 40u

static uint64_t word_at(const struct node *node, uint64_t offset)
{
	uint64_t word;

	memcpy(&word, node->memory + offset, sizeof(word));
	return word;
}

static uint64_t atomic(struct end *end, enum ibv_wr_opcode opcode, uint64_t compare, uint64_t other)
{
	struct ibv_send_wr wr = {.opcode = opcode, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_wc wc;

	wr.wr.atomic.compare_add = compare;
	wr.wr.atomic.swap = other;
	CU_ASSERT_EQUAL_FATAL(end_send(end, &wr, 0, 8, COUNTER), 0);
	wc = bench_complete(end->node->cq);
	CU_ASSERT_EQUAL(wc.opcode,
		opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? IBV_WC_COMP_SWAP : IBV_WC_FETCH_ADD);
	return word_at(end->node, 0);
}

/* Every add sees another value, and all of them count. */
static void add_many(struct end *end)
{
	for (uint32_t i = 0; i < ADDS; i++) {
		struct ibv_send_wr wr = {.wr_id = i,
			.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
			.send_flags = i + 1 == ADDS ? IBV_SEND_SIGNALED : 0};

		wr.wr.atomic.compare_add = 3;
		CU_ASSERT_EQUAL_FATAL(end_send(end, &wr, 8 * i, 8, COUNTER), 0);
	}
	CU_ASSERT_EQUAL(bench_complete(end->node->cq).wr_id, ADDS - 1);
}

static void do_atomics(struct pair *pair)
{
	const uint64_t start = 0xfffffffffffffff0ull;
	struct link link;
	struct end *end;

	link_open(&link, &pair->nodes[0], &pair->nodes[1], REACH_RTS);
	for (int e = 0; e < 2; e++) {
		end = &link.ends[e];
		memcpy(end->peer->node->memory + COUNTER, &start, sizeof(start));
		CU_ASSERT_EQUAL(atomic(end, IBV_WR_ATOMIC_CMP_AND_SWP, 1, 2), start);
		CU_ASSERT_EQUAL(word_at(end->peer->node, COUNTER), start);
		CU_ASSERT_EQUAL(atomic(end, IBV_WR_ATOMIC_CMP_AND_SWP, start, 5), start);
		CU_ASSERT_EQUAL(word_at(end->peer->node, COUNTER), 5);
		CU_ASSERT_EQUAL(atomic(end, IBV_WR_ATOMIC_FETCH_AND_ADD, (uint64_t)-6, 0), 5);
		CU_ASSERT_EQUAL(word_at(end->peer->node, COUNTER), UINT64_MAX);
		CU_ASSERT_EQUAL(atomic(end, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0), UINT64_MAX);
		add_many(end);
		for (uint32_t i = 0; i < ADDS; i++)
			CU_ASSERT_EQUAL(word_at(end->node, 8 * i), 3 * i);
		CU_ASSERT_EQUAL(word_at(end->peer->node, COUNTER), 3 * ADDS);
	}
	link_close(&link);
}

static void atomics(void)
{
	in_all_modes(do_atomics);
}

/* ---- path MTUs ---- */

#define MTU_SIZE 20001u

static void send_at(struct pair *pair, enum ibv_mtu mtu)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
	struct link link = {.mtu = mtu};
	uint64_t before = bench_counter(pair->nodes[1].context, "sent_pkts");

	link.ends[0].node = &pair->nodes[0];
	link.ends[1].node = &pair->nodes[1];
	link_open_as_set(&link, REACH_RTS);
	pattern_fill(pair->nodes[1].memory + OUT, MTU_SIZE, mtu);
	pattern_clear(pair->nodes[0].memory + IN, MTU_SIZE + GUARD);
	CU_ASSERT_EQUAL_FATAL(end_recv(&link.ends[0], 0, IN, MTU_SIZE + GUARD), 0);
	CU_ASSERT_EQUAL_FATAL(end_send(&link.ends[1], &wr, OUT, MTU_SIZE, 0), 0);
	CU_ASSERT_EQUAL(bench_complete(pair->nodes[0].cq).byte_len, MTU_SIZE);
	bench_complete(pair->nodes[1].cq);
	CU_ASSERT(pattern_matches(pair->nodes[0].memory + IN, MTU_SIZE, mtu));
	CU_ASSERT(pattern_is_clear(pair->nodes[0].memory + IN + MTU_SIZE, GUARD));
	/* more of them, if a time-out struck on a busy machine */
	CU_ASSERT(bench_counter(pair->nodes[1].context, "sent_pkts") - before >=
		MTU_SIZE / (128u << mtu) + 1);
	link_close(&link);
}

static void path_mtus(void)
{
	struct pair pair;

	pair_open(&pair, modes[0]);
	for (enum ibv_mtu mtu = IBV_MTU_256; mtu <= IBV_MTU_4096; mtu++)
		send_at(&pair, mtu);
	pair_close(&pair);
}

/* ---- pieces, inline data, immediate ---- */

static void gather_and_scatter(struct pair *pair)
{
	struct node *to = &pair->nodes[0], *from = &pair->nodes[1];
	uint32_t in_length[3] = {1000, 1, 2000}, out_length[4] = {3, 1500, 0, 1498};
	struct ibv_sge in[3], out[4];
	struct ibv_recv_wr recv = {.wr_id = 1, .sg_list = in, .num_sge = 3}, *bad_recv;
	struct ibv_send_wr send = {.wr_id = 2,
		.sg_list = out,
		.num_sge = 4,
		.opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htonl(0x12345678)};
	struct ibv_send_wr *bad_send;
	uint8_t whole[3001];
	uint32_t at = 0;
	struct link link;
	struct ibv_wc wc;

	link_open(&link, to, from, REACH_RTS);
	pattern_fill(whole, sizeof(whole), 9);
	for (uint32_t i = 0; i < 4; at += out_length[i++]) {
		out[i] = (struct ibv_sge){
			(uintptr_t)from->memory + 10000 * i, out_length[i], from->mr->lkey};
		memcpy(from->memory + 10000 * i, whole + at, out_length[i]);
	}
	for (uint32_t i = 0; i < 3; i++)
		in[i] = (struct ibv_sge){
			(uintptr_t)to->memory + 7001 * i, in_length[i], to->mr->lkey};
	CU_ASSERT_EQUAL_FATAL(ibv_post_recv(link.ends[0].qp, &recv, &bad_recv), 0);
	CU_ASSERT_EQUAL_FATAL(ibv_post_send(link.ends[1].qp, &send, &bad_send), 0);
	wc = bench_complete(to->cq);
	CU_ASSERT_EQUAL(wc.wc_flags, IBV_WC_WITH_IMM);
	CU_ASSERT_EQUAL(ntohl(wc.imm_data), 0x12345678);
	CU_ASSERT_EQUAL(wc.byte_len, sizeof(whole));
	CU_ASSERT_EQUAL(bench_complete(from->cq).wr_id, 2);
	at = 0;
	for (uint32_t i = 0; i < 3; at += in_length[i++])
		CU_ASSERT_EQUAL(memcmp(to->memory + 7001 * i, whole + at, in_length[i]), 0);
	link_close(&link);
}

/* The memory of inline data is the caller's again as soon as the post returns. */
static void inline_data(struct pair *pair)
{
	struct node *to = &pair->nodes[0], *from = &pair->nodes[1];
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
		.imm_data = htonl(5)};
	struct link link;
	struct ibv_wc wc;

	link_open(&link, to, from, REACH_RTS);
	pattern_fill(from->memory, LINK_INLINE, 4);
	CU_ASSERT_EQUAL_FATAL(end_recv(&link.ends[0], 6, IN, 0), 0);
	CU_ASSERT_EQUAL_FATAL(end_send(&link.ends[1], &wr, 0, LINK_INLINE, OUT), 0);
	pattern_clear(from->memory, LINK_INLINE);
	wc = bench_complete(to->cq);
	CU_ASSERT_EQUAL(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	CU_ASSERT_EQUAL(wc.byte_len, LINK_INLINE);
	CU_ASSERT_EQUAL(ntohl(wc.imm_data), 5);
	bench_complete(from->cq);
	CU_ASSERT(pattern_matches(to->memory + OUT, LINK_INLINE, 4));
	link_close(&link);
}

static void pieces(void)
{
	in_all_modes(gather_and_scatter);
}

static void inline_writes(void)
{
	in_all_modes(inline_data);
}

/* ---- no receive, wrong key ---- */

/* RNR NAKs until the receive is there; rnr_retry 7 waits for ever. */
static void late_receive(struct pair *pair)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
	struct link link;

	link_open(&link, &pair->nodes[0], &pair->nodes[1], REACH_RTS);
	pattern_fill(pair->nodes[1].memory, 100, 3);
	CU_ASSERT_EQUAL_FATAL(end_send(&link.ends[1], &wr, 0, 100, 0), 0);
	CU_ASSERT(bench_until(bench_counter(pair->nodes[1].context, "rcvd_rnr_err") > 0));
	CU_ASSERT_EQUAL_FATAL(end_recv(&link.ends[0], 0, IN, 100), 0);
	bench_complete(pair->nodes[0].cq);
	bench_complete(pair->nodes[1].cq);
	CU_ASSERT(pattern_matches(pair->nodes[0].memory + IN, 100, 3));
	link_close(&link);
}

static void receiver_not_ready(void)
{
	in_all_modes(late_receive);
}

static void write_with_wrong_key(struct pair *pair)
{
	struct ibv_send_wr wr = {.wr_id = 1, .opcode = IBV_WR_RDMA_WRITE}, *bad;
	struct ibv_sge sge = {(uintptr_t)pair->nodes[1].memory, 8, pair->nodes[1].mr->lkey};
	struct link link;

	link_open(&link, &pair->nodes[0], &pair->nodes[1], REACH_RTS);
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.wr.rdma.remote_addr = (uintptr_t)pair->nodes[0].memory;
	wr.wr.rdma.rkey = pair->nodes[0].mr->rkey ^ 0x100;
	CU_ASSERT_EQUAL_FATAL(ibv_post_send(link.ends[1].qp, &wr, &bad), 0);
	CU_ASSERT_EQUAL(bench_any_completion(pair->nodes[1].cq).status, IBV_WC_REM_ACCESS_ERR);
	CU_ASSERT_EQUAL(end_state(&link.ends[1]), IBV_QPS_ERR);
	CU_ASSERT(pattern_is_clear(pair->nodes[0].memory, NODE_MEMORY));
	link_close(&link);
}

static void wrong_key(void)
{
	in_all_modes(write_with_wrong_key);
}

static const struct unit_case cases[] = {
	UNIT_CASE(sends),
	UNIT_CASE(writes_and_reads),
	UNIT_CASE(atomics),
	UNIT_CASE(path_mtus),
	UNIT_CASE(pieces),
	UNIT_CASE(inline_writes),
	UNIT_CASE(receiver_not_ready),
	UNIT_CASE(wrong_key),
};

int main(int argc, char **argv)
{
	bench_start();
	return unit_run("integ-traffic", cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
