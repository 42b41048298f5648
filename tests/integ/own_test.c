/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traffic of a host with itself: it turns around inside the engine, above the port, as the same
 * packets through the same checks. Nobody is at the other end of the wire, so that whatever goes
 * out can be looked at there.
 */
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include "bench.h"
#include "link.h"
#include "pattern.h"

#define MESSAGE 100000u
#define IN (NODE_MEMORY / 2)
#define ETHERTYPE_ARP 0x0806

static uint64_t port_sent(enum mode mode)
{
	struct rte_eth_stats stats;
	uint16_t id;

	CU_ASSERT_EQUAL_FATAL(rte_eth_dev_get_port_by_name(bench_port(EAST, mode), &id), 0);
	CU_ASSERT_EQUAL_FATAL(rte_eth_stats_get(id, &stats), 0);
	return stats.opackets;
}

/* What has been sent announces the address, and that is all. */
static void only_announcements(uint64_t sent)
{
	uint8_t frame[64];
	uint64_t frames = 0;

	while (bench_take_frame(WEST, frame, sizeof(frame)) > 0) {
		CU_ASSERT_EQUAL(frame[12] << 8 | frame[13], ETHERTYPE_ARP);
		frames++;
	}
	CU_ASSERT_EQUAL(frames, sent);
}

static void send_over(struct end *from)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
	struct end *to = from->peer;

	CU_ASSERT_EQUAL_FATAL(end_recv(to, 5, IN, MESSAGE), 0);
	CU_ASSERT_EQUAL_FATAL(end_send(from, &wr, 0, MESSAGE, 0), 0);
	for (int i = 0; i < 2; i++)
		bench_complete(from->node->cq);
}

static void move_over(struct end *from, enum ibv_wr_opcode opcode, uint64_t local, uint64_t remote)
{
	struct ibv_send_wr wr = {.opcode = opcode, .send_flags = IBV_SEND_SIGNALED};

	CU_ASSERT_EQUAL_FATAL(end_send(from, &wr, local, MESSAGE, remote), 0);
	bench_complete(from->node->cq);
}

static void add_over(struct end *from)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .send_flags = IBV_SEND_SIGNALED};
	uint64_t word = 40;

	memcpy(from->node->memory + 8, &word, sizeof(word));
	wr.wr.atomic.compare_add = 2;
	CU_ASSERT_EQUAL_FATAL(end_send(from, &wr, 0, 8, 8), 0);
	bench_complete(from->node->cq);
	memcpy(&word, from->node->memory, sizeof(word));
	CU_ASSERT_EQUAL(word, 40);
	memcpy(&word, from->node->memory + 8, sizeof(word));
	CU_ASSERT_EQUAL(word, 42);
}

static void traffic(struct node *node, struct end *from)
{
	pattern_fill(node->memory, MESSAGE, 1);
	send_over(from);
	CU_ASSERT(pattern_matches(node->memory + IN, MESSAGE, 1));
	CU_ASSERT(pattern_is_clear(node->memory + IN + MESSAGE, 64));
	pattern_fill(node->memory, MESSAGE, 2);
	move_over(from, IBV_WR_RDMA_WRITE, 0, IN);
	CU_ASSERT(pattern_matches(node->memory + IN, MESSAGE, 2));
	pattern_fill(node->memory, MESSAGE, 3);
	move_over(from, IBV_WR_RDMA_READ, IN, 0);
	CU_ASSERT(pattern_matches(node->memory + IN, MESSAGE, 3));
	add_over(from);
}

/* Four messages of 100 kB at MTU 1024, both ways: requests, responses and ACKs. */
static void check_counters(struct node *node, enum mode mode, uint64_t port_frames)
{
	uint64_t handed_over = bench_counter(node->context, "handed_over");

	CU_ASSERT(bench_counter(node->context, "looped_packets") >= 2 * 3 * MESSAGE / 1024);
	CU_ASSERT_EQUAL(bench_counter(node->context, "tx_packets"), 0);
	CU_ASSERT_EQUAL(bench_counter(node->context, "rx_packets"), 0);
	CU_ASSERT_EQUAL(bench_counter(node->context, "rcvd_pkts"),
		bench_counter(node->context, "looped_packets"));
	CU_ASSERT_EQUAL(bench_counter(node->context, "no_buffer"), 0);
	/* two QPs at two cores */
	CU_ASSERT_EQUAL(
		handed_over, mode == MIXED ? bench_counter(node->context, "looped_packets") : 0);
	CU_ASSERT_EQUAL(bench_counter(node->context, "handover_full"), 0);
	only_announcements(port_sent(mode) - port_frames);
}

static void turn_around(enum mode mode)
{
	uint64_t before = port_sent(mode);
	struct node node;
	struct link link;

	node_open(&node, EAST, mode);
	link_open(&link, &node, &node, REACH_RTS);
	traffic(&node, &link.ends[0]);
	pattern_clear(node.memory, NODE_MEMORY);
	traffic(&node, &link.ends[1]);
	check_counters(&node, mode, before);
	link_close(&link);
	node_close(&node);
}

static void inline_engine(void)
{
	turn_around(INLINE);
}

static void dedicated_engine(void)
{
	turn_around(DEDICATED);
}

static void engine_of_two_cores(void)
{
	turn_around(MIXED);
}

/* A QP may even be connected to itself. */
static void with_itself(void)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
	struct node node;
	struct link link;
	struct end *end = &link.ends[0];

	node_open(&node, EAST, INLINE);
	memset(&link, 0, sizeof(link));
	end->node = &node;
	link_open_to_itself(&link);
	pattern_fill(node.memory, MESSAGE, 1);
	CU_ASSERT_EQUAL_FATAL(end_recv(end, 5, IN, MESSAGE), 0);
	CU_ASSERT_EQUAL_FATAL(end_send(end, &wr, 0, MESSAGE, 0), 0);
	for (int i = 0; i < 2; i++)
		bench_complete(node.cq);
	CU_ASSERT(pattern_matches(node.memory + IN, MESSAGE, 1));
	CU_ASSERT_EQUAL(ibv_destroy_qp(end->qp), 0);
	node_close(&node);
}

/* Early posts need no wire either. */
static void held(void)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
	struct node node;
	struct link link;

	node_open(&node, EAST, INLINE);
	link_open(&link, &node, &node, REACH_RTR_ARMED);
	pattern_fill(node.memory, 64, 4);
	for (int e = 0; e < 2; e++)
		CU_ASSERT_EQUAL_FATAL(end_recv(&link.ends[e], e, IN + 64 * (uint64_t)e, 64), 0);
	wr.wr_id = 10;
	CU_ASSERT_EQUAL_FATAL(end_send(&link.ends[0], &wr, 0, 64, 0), 0);
	bench_no_completion(node.cq);
	CU_ASSERT_EQUAL(end_state(&link.ends[0]), IBV_QPS_RTR);
	wr.wr_id = 11;
	CU_ASSERT_EQUAL_FATAL(end_send(&link.ends[1], &wr, 0, 64, 0), 0);
	for (int i = 0; i < 4; i++)
		bench_complete(node.cq);
	CU_ASSERT_EQUAL(end_state(&link.ends[0]), IBV_QPS_RTS);
	CU_ASSERT(pattern_matches(node.memory + IN, 64, 4));
	CU_ASSERT(pattern_matches(node.memory + IN + 64, 64, 4));
	link_close(&link);
	node_close(&node);
}

static const struct unit_case cases[] = {
	UNIT_CASE(inline_engine),
	UNIT_CASE(dedicated_engine),
	UNIT_CASE(engine_of_two_cores),
	UNIT_CASE(with_itself),
	UNIT_CASE(held),
};

int main(int argc, char **argv)
{
	bench_start();
	return unit_run("integ-own", cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
