/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rate and bandwidth: the active side keeps each QP's send queue full, in chains; each completion,
 * which stands for a chain, is followed by the next chain. The passive side only polls, which is
 * what drives its engine, and posts receives where the test takes them.
 */
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "bench.h"

/* ---- passive ---- */

static void feed(struct side *side)
{
	struct receives receives;
	struct ibv_wc wc[BURST];
	uint32_t used = 0;

	receives_make(&receives, side, 0);
	for (uint32_t i = 0; i < 4 * side->test->depth; i++)
		receives_post(&receives, 1);
	begin(side);
	while (!stopped(side)) {
		used += (uint32_t)poll_completions(side, BURST, wc);
		for (; used >= side->test->batch; used -= side->test->batch)
			receives_post(&receives, side->test->batch);
	}
	end(side);
	if (used > 0)
		receives_post(&receives, used);
}

static void serve(struct side *side)
{
	struct ibv_wc wc[BURST];

	begin(side);
	while (!stopped(side))
		poll_completions(side, BURST, wc);
	end(side);
}

/* ---- active ---- */

static uint32_t fill_queues(struct side *side, struct chain *chains)
{
	const struct test *test = side->test;
	uint32_t posted = 0;

	for (uint32_t i = 0; i < test->qps; i++) {
		chain_make(&chains[i], side, i, test->batch);
		for (uint32_t n = 0; n + test->batch <= test->depth; n += test->batch, posted++)
			chain_post(&chains[i]);
	}
	return posted;
}

/* Returns how many messages have gone. */
static uint64_t pump(struct side *side, struct chain *chains, struct windows *windows)
{
	uint64_t end = rte_rdtsc() + (uint64_t)(side->seconds * (double)rte_get_tsc_hz());
	uint32_t outstanding = fill_queues(side, chains);
	uint64_t messages = 0, now = 0;
	struct ibv_wc wc[BURST];

	while (outstanding > 0) {
		int n = poll_completions(side, BURST, wc);

		if (n == 0)
			continue;
		messages += (uint64_t)n * side->test->batch;
		if (now >= end) {
			outstanding -= (uint32_t)n;
			continue;
		}
		for (int i = 0; i < n; i++)
			chain_post(&chains[wc[i].wr_id]);
		now = rte_rdtsc();
		windows_add(windows, now, messages);
	}
	return messages;
}

/* READs are bounded by what they ask for; the rest by the transport's window. */
static uint32_t window_of(const struct test *test)
{
	if (test->length <= test->mtu)
		return test->depth * test->qps;
	return test->opcode == IBV_WR_RDMA_READ ? test->depth * (test->length / test->mtu) : WINDOW;
}

static void measure(struct side *side)
{
	const struct test *test = side->test;
	struct chain *chains = calloc(test->qps, sizeof(*chains));
	struct windows *windows = windows_new((double)rte_get_tsc_hz());
	struct result *result = &side->shared->result;

	if (!chains)
		die("no memory");
	begin(side);
	if (pump(side, chains, windows) == 0)
		die("nothing went over");
	stop(side);
	end(side);
	windows_report(windows, side,
		strcmp(test->unit, "Mmsg/s") == 0 ? 1e-6 : (double)test->length * 8e-9);
	result->window = window_of(test);
	result->batch = test->batch;
	result->signal_every = test->batch;
	free(chains);
}

void run_stream(struct side *side)
{
	node_open(side);
	if (side->role == ACTIVE)
		measure(side);
	else if (side->test->opcode == IBV_WR_SEND)
		feed(side);
	else
		serve(side);
	verify(side);
	node_close(side);
}
