/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Latency: 8 bytes there and back, half of the time between. WRITE: both sides look at the memory
 * that the peer writes, and poll an empty CQ in between, which drives the engine. SEND: both wait
 * for the completion of a receive.
 */
#include <string.h>

#include <rte_cycles.h>

#include "bench.h"

#define SIGNAL_EVERY 32u
#define RECEIVES 64u

struct play {
	struct side *side;
	struct chain chain;
	struct receives receives;
	uint64_t number; /* of the round trip, from 1: it is what goes over */
};

static void prepare(struct play *play, struct side *side)
{
	memset(play, 0, sizeof(*play));
	play->side = side;
	memset(side->in, 0, sizeof(uint64_t));
	chain_make(&play->chain, side, 0, 1);
	receives_make(&play->receives, side, 0);
	if (side->test->opcode == IBV_WR_SEND)
		for (uint32_t i = 0; i < RECEIVES; i++)
			receives_post(&play->receives, 1);
}

static void send_number(struct play *play)
{
	struct ibv_send_wr *wr = play->chain.wr;

	memcpy(play->side->out, &play->number, sizeof(play->number));
	wr->send_flags = IBV_SEND_INLINE | (play->number % SIGNAL_EVERY ? 0 : IBV_SEND_SIGNALED);
	chain_post(&play->chain);
}

/* Acquire, as a program that polls on memory would: what follows reads what came. */
static uint64_t arrived(const struct side *side)
{
	return __atomic_load_n((const uint64_t *)(const void *)side->in, __ATOMIC_ACQUIRE);
}

static bool wait_write(struct play *play)
{
	struct ibv_wc wc[2];

	do {
		poll_completions(play->side, 2, wc);
		if (arrived(play->side) == play->number)
			return true;
	} while (!stopped(play->side));
	return false;
}

static bool wait_receive(struct play *play)
{
	struct ibv_wc wc[2];

	do {
		int n = poll_completions(play->side, 2, wc);

		for (int i = 0; i < n; i++)
			if (wc[i].opcode == IBV_WC_RECV)
				return true;
	} while (!stopped(play->side));
	return false;
}

/* SEND: the receive is posted anew behind the answer, where nobody waits for it. */
static void answer(struct play *play)
{
	send_number(play);
	if (play->side->test->opcode == IBV_WR_SEND)
		receives_post(&play->receives, 1);
}

static bool wait_number(struct play *play)
{
	return play->side->test->opcode == IBV_WR_SEND ? wait_receive(play) : wait_write(play);
}

static void ping(struct play *play)
{
	struct side *side = play->side;
	struct samples *samples = samples_new();
	uint64_t end = rte_rdtsc() + (uint64_t)(side->seconds * (double)rte_get_tsc_hz());
	uint64_t start = rte_rdtsc();

	while (start < end && !samples_full(samples)) {
		uint64_t now;

		play->number++;
		answer(play);
		wait_number(play);
		now = rte_rdtsc();
		samples_add(samples, now - start);
		start = now;
	}
	stop(side);
	samples_report(samples, side, (double)rte_get_tsc_hz());
	side->shared->result.window = 1;
	side->shared->result.batch = 1;
	side->shared->result.signal_every = SIGNAL_EVERY;
}

static void pong(struct play *play)
{
	play->number = 1;
	while (wait_number(play)) {
		answer(play);
		play->number++;
	}
}

void run_latency(struct side *side)
{
	struct play play;

	node_open(side);
	prepare(&play, side);
	begin(side);
	if (side->role == ACTIVE)
		ping(&play);
	else
		pong(&play);
	end(side);
	verify(side);
	node_close(side);
}
