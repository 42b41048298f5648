/* SPDX-License-Identifier: BSD-3-Clause */
/* QPs and CQs that come, change and go while requests are under way. */
#include "load.h"

#define REQUESTS 12u

/* SENDs both ways, WRITEs and READs; how many completions each side gets if none is flushed. */
static void post_mixture(struct lane *lane, uint32_t count[2])
{
	count[0] = 0;
	count[1] = 0;
	for (uint32_t i = 0; i < REQUESTS; i++) {
		unsigned int side = load_random(lane->actor, 2);
		uint32_t kind = load_random(lane->actor, 3);
		uint32_t length = load_random(lane->actor, 8192);
		struct spot here = lane_spot(lane, side, length);
		struct spot there = lane_spot(lane, !side, length);

		if (kind == 0) {
			lane_recv(lane, !side, there);
			count[!side]++;
		}
		lane_post(lane, side,
			kind == 0	    ? IBV_WR_SEND
				: kind == 1 ? IBV_WR_RDMA_WRITE
					    : IBV_WR_RDMA_READ,
			here, there);
		count[side]++;
	}
}

/* If one side has failed, the other's receives wait for ever unless they are flushed, too. */
static void flush(struct lane *lane)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	for (unsigned int side = 0; side < 2; side++)
		stress_require(
			ibv_modify_qp(lane->qp[side], &attr, IBV_QP_STATE) == 0, "error state");
}

static void collect_both(struct lane *lane, const uint32_t count[2])
{
	double until = stress_seconds() + 60;
	uint32_t taken[2] = {0, 0};
	bool flushed = false;

	while (taken[0] < count[0] || taken[1] < count[1]) {
		uint32_t before = taken[0] + taken[1];

		for (unsigned int side = 0; side < 2; side++)
			taken[side] += lane_poll(lane, side);
		if (taken[0] + taken[1] > before)
			continue;
		if (lane->failed && !flushed) {
			flush(lane);
			flushed = true;
		}
		stress_require(stress_seconds() < until, "completion that was lost");
		sched_yield();
	}
	lane_collect(lane, 0, 0);
	lane_collect(lane, 1, 0);
	stress_require(taken[0] == count[0] && taken[1] == count[1], "as many as were posted");
}

/* Created, used, and destroyed with or without requests under way. */
void *load_queues(void *argument)
{
	struct actor *actor = argument;

	for (uint64_t round = 0; load_goes_on(actor, round); round++) {
		uint32_t count[2];
		struct lane lane;

		lane_open(&lane, actor, NULL, NULL);
		post_mixture(&lane, count);
		if (load_random(actor, 2))
			collect_both(&lane, count);
		else
			load_linger(actor, 50);
		lane_close(&lane);
	}
	return NULL;
}

/* To ERR, where all that is under way is flushed; or to RESET, where it vanishes. */
void *load_states(void *argument)
{
	struct actor *actor = argument;
	struct lane lane;

	lane_open(&lane, actor, NULL, NULL);
	for (uint64_t round = 0; load_goes_on(actor, round); round++) {
		uint32_t count[2];

		post_mixture(&lane, count);
		load_linger(actor, 50);
		if (load_random(actor, 2)) {
			flush(&lane);
			collect_both(&lane, count);
		}
		lane_reconnect(&lane);
		if (load_random(actor, 4) == 0) { /* and it works */
			post_mixture(&lane, count);
			collect_both(&lane, count);
			if (lane.failed)
				lane_reconnect(&lane);
		}
	}
	lane_close(&lane);
	return NULL;
}

static void resize(struct lane *lane, unsigned int side)
{
	int cqe = (int)(2 * LANE_DEPTH + load_random(lane->actor, 500));

	stress_require(ibv_resize_cq(lane->cq[side], cqe) == 0, "resized CQ");
}

/* Resized amid completions, and heard of by events. */
void *load_resize(void *argument)
{
	struct actor *actor = argument;
	struct lane lane;

	lane_open(&lane, actor, NULL, NULL);
	for (uint64_t round = 0; load_goes_on(actor, round); round++) {
		unsigned int side = load_random(actor, 2);
		uint32_t count[2];
		bool waits;

		stress_require(ibv_req_notify_cq(lane.cq[side], 0) == 0, "armed CQ");
		post_mixture(&lane, count);
		for (uint32_t i = load_random(actor, 3); i > 0; i--)
			resize(&lane, load_random(actor, 2));
		/* An armed CQ without a completion gets one by the next round's requests. */
		waits = count[side] > 0;
		if (waits)
			lane_await_event(&lane, side);
		collect_both(&lane, count);
		if (lane.failed)
			lane_reconnect(&lane);
	}
	lane_close(&lane);
	return NULL;
}
