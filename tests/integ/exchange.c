/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchanges, and threads that make them. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exchange.h"
#include "pattern.h"

#define ROOM 32768u /* for one message */
#define SOME 3u

static struct ibv_cq *send_cq(const struct end *end)
{
	return end->send_cq ? end->send_cq : end->node->cq;
}

static struct ibv_cq *recv_cq(const struct end *end)
{
	return end->recv_cq ? end->recv_cq : end->node->cq;
}

static unsigned int wrong(const struct end *from, const char *what, int value)
{
	fprintf(stderr, "QP 0x%x: %s (%d)\n", from->qp->qp_num, what, value);
	return 1;
}

/* Both CQs are polled, so that both engines are driven; success or not. */
static unsigned int complete(const struct end *from, struct ibv_cq *cq, struct ibv_cq *other)
{
	double end = bench_now() + BENCH_PATIENCE;
	struct ibv_wc wc;
	int polled;

	while ((polled = ibv_poll_cq(cq, 1, &wc)) == 0) {
		if (bench_now() > end)
			return wrong(from, "no completion", 0);
		if (other != cq)
			(void)ibv_poll_cq(other, 0, &wc);
		sched_yield();
	}
	if (polled < 0)
		return wrong(from, "ibv_poll_cq", polled);
	return wc.status == IBV_WC_SUCCESS ? 0 : wrong(from, "completion", (int)wc.status);
}

static unsigned int post(
	struct end *from, enum ibv_wr_opcode opcode, uint64_t local, uint64_t remote)
{
	struct ibv_send_wr wr = {.opcode = opcode, .send_flags = IBV_SEND_SIGNALED};
	int error = end_send(from, &wr, local, EXCHANGE_SIZE, remote);

	return error ? wrong(from, "ibv_post_send", error) : 0;
}

static unsigned int compare(
	const struct end *from, const struct node *node, uint64_t at, uint32_t seed)
{
	if (pattern_matches(node->memory + at, EXCHANGE_SIZE, seed))
		return 0;
	return wrong(from, "data", (int)seed);
}

static unsigned int send(struct end *from, uint64_t out, uint64_t in, uint32_t seed)
{
	struct end *to = from->peer;
	int error = end_recv(to, 1, in, EXCHANGE_SIZE);

	if (error)
		return wrong(from, "ibv_post_recv", error);
	pattern_fill(from->node->memory + out, EXCHANGE_SIZE, seed);
	if (post(from, IBV_WR_SEND, out, 0) || complete(from, recv_cq(to), send_cq(from)) ||
		complete(from, send_cq(from), recv_cq(to)))
		return 1;
	return compare(from, to->node, in, seed);
}

static unsigned int move(
	struct end *from, enum ibv_wr_opcode opcode, uint64_t local, uint64_t remote, uint32_t seed)
{
	const struct node *reads = from->node, *writes = from->peer->node;
	bool is_read = opcode == IBV_WR_RDMA_READ;

	pattern_fill((is_read ? writes : reads)->memory + (is_read ? remote : local), EXCHANGE_SIZE,
		seed);
	if (post(from, opcode, local, remote) || complete(from, send_cq(from), send_cq(from->peer)))
		return 1;
	return compare(from, is_read ? reads : writes, is_read ? local : remote, seed);
}

unsigned int exchange(struct end *from, uint64_t out, uint64_t in, uint32_t seed)
{
	unsigned int found = send(from, out, in, seed);

	if (!found)
		found = move(from, IBV_WR_RDMA_WRITE, out, in, seed + 1);
	if (!found)
		found = move(from, IBV_WR_RDMA_READ, in, out, seed + 2);
	return found;
}

/* ---- streams ---- */

static void *flow(void *argument)
{
	struct stream *stream = argument;
	uint32_t n = 0;

	while (!__atomic_load_n(&stream->stop, __ATOMIC_RELAXED) && !stream->wrong) {
		unsigned int found = exchange(
			&stream->link.ends[n % 2], stream->place, stream->place + ROOM, 10 * n);

		__atomic_fetch_add(&stream->wrong, found, __ATOMIC_RELAXED);
		__atomic_store_n(&stream->count, ++n, __ATOMIC_RELAXED);
	}
	return NULL;
}

void stream_open(struct stream *stream, uint32_t n, struct node *passive, struct node *active)
{
	memset(stream, 0, sizeof(*stream));
	stream->place = (2 * (uint64_t)n + 2) * ROOM;
	CU_ASSERT_FATAL(stream->place + 2 * ROOM <= NODE_MEMORY);
	for (int e = 0; e < 2; e++) {
		struct end *end = &stream->link.ends[e];

		end->node = e ? active : passive;
		stream->cq[e] = ibv_create_cq(end->node->context, 64, NULL, NULL, 0);
		CU_ASSERT_PTR_NOT_NULL_FATAL(stream->cq[e]);
		end->send_cq = end->recv_cq = stream->cq[e];
	}
	link_open_as_set(&stream->link, REACH_RTS);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&stream->thread, NULL, flow, stream), 0);
}

void stream_flows(struct stream *stream)
{
	uint32_t count = __atomic_load_n(&stream->count, __ATOMIC_RELAXED);
	double end = bench_now() + BENCH_PATIENCE;

	while (__atomic_load_n(&stream->count, __ATOMIC_RELAXED) - count < SOME &&
		!__atomic_load_n(&stream->wrong, __ATOMIC_RELAXED) && bench_now() < end)
		usleep(100);
	CU_ASSERT(__atomic_load_n(&stream->count, __ATOMIC_RELAXED) - count >= SOME);
	CU_ASSERT_EQUAL(__atomic_load_n(&stream->wrong, __ATOMIC_RELAXED), 0);
}

void stream_close(struct stream *stream)
{
	__atomic_store_n(&stream->stop, 1, __ATOMIC_RELAXED);
	CU_ASSERT_EQUAL(pthread_join(stream->thread, NULL), 0);
	CU_ASSERT_EQUAL(stream->wrong, 0);
	link_close(&stream->link);
	for (int e = 0; e < 2; e++)
		CU_ASSERT_EQUAL(ibv_destroy_cq(stream->cq[e]), 0);
}
