/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The proof that what was measured moves data: each QP carries one more message, with a pattern
 * that nobody had before, and where it arrives every byte is compared.
 */
#include <string.h>

#include "bench.h"

/* The n-th word of a pattern (splitmix64). */
static uint64_t word(uint64_t n)
{
	uint64_t x = (n + 1) * 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static uint64_t bytes_of(const struct test *test)
{
	return (uint64_t)test->length * test->qps;
}

static void fill(struct side *side)
{
	for (uint64_t at = 0; at < bytes_of(side->test); at += sizeof(uint64_t)) {
		uint64_t w = word(at);

		memcpy(side->out + at, &w, sizeof(w));
	}
}

static void compare(struct side *side)
{
	for (uint64_t at = 0; at < bytes_of(side->test); at += sizeof(uint64_t)) {
		uint64_t w = word(at);

		if (memcmp(side->in + at, &w, sizeof(w)) != 0)
			die("the data is wrong at byte %lu", (unsigned long)at);
	}
}

/* What was signaled before may still be on its way, and comes first. */
static void send_one(struct side *side, uint32_t qp)
{
	struct chain chain;
	struct ibv_wc wc;

	chain_make(&chain, side, qp, 1);
	chain.wr[0].wr_id = QPS_MAX + qp;
	chain_post(&chain);
	do
		while (poll_completions(side, 1, &wc) == 0)
			continue;
	while (wc.wr_id != QPS_MAX + qp);
}

/* Of both sides: in latency both send requests. */
static void report_retransmissions(struct side *side)
{
	__atomic_fetch_add(&side->shared->result.retransmitted,
		node_counter(side, "retransmitted_pkts"), __ATOMIC_RELAXED);
}

void verify(struct side *side)
{
	bool read = side->test->opcode == IBV_WR_RDMA_READ;
	bool receives = side->role == (read ? ACTIVE : PASSIVE);

	meet(side);
	report_retransmissions(side);
	if (receives)
		memset(side->in, 0, BUFFER_SIZE);
	else
		fill(side);
	meet(side);
	if (side->role == ACTIVE)
		for (uint32_t i = 0; i < side->test->qps; i++)
			send_one(side, i);
	meet(side);
	if (receives)
		compare(side);
	meet(side);
	side->shared->result.uroce = true;
}
