/* SPDX-License-Identifier: BSD-3-Clause */
/* Traffic by verbs' calls; the oracle is told what was posted and what completed. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choose.h"
#include "connect.h"
#include "events.h"
#include "script.h"
#include "traffic.h"
#include "watch.h"

/* Steps between looks for asynchronous events. */
#define EVENT_STEPS 16u

void traffic_dead(struct traffic *traffic, struct half *half)
{
	if (half->state == HALF_DEAD || half->state == HALF_GONE)
		return;
	half->state = HALF_DEAD;
	half->last_wqe_due += half->end->srq != NULL;
	oracle_recv_flushed(half->peer->flow);
}

/* ---- receives ---- */

static void post_receive(struct traffic *traffic, struct half *half)
{
	uint8_t *buffer = half->buffers[half->buffers_free - 1];
	struct ibv_sge sge = {(uintptr_t)buffer, TRAFFIC_ROOM, half->end->mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;
	int error;

	/* the same number is never given twice, not even to two QPs of one SRQ */
	wr.wr_id = ((uint64_t)half->number << 32) + TRAFFIC_RECV_IDS + half->recvs_posted;
	half->buffers_free--;
	half->posted[half->recvs_posted++] = buffer;
	/* told first: in ERR, or in a world with loopback, it may complete at once */
	oracle_recv_posted(half->peer->flow, wr.wr_id, buffer, TRAFFIC_ROOM);
	error = half->end->srq ? ibv_post_srq_recv(half->end->srq, &wr, &bad)
			       : ibv_post_recv(half->qp, &wr, &bad);
	if (error)
		oracle_complain(traffic->world->oracle, "half %u: a receive was refused with %d",
			half->number, error);
}

/* One too many: the queue is as deep as was asked for, and no deeper (man ibv_post_recv). */
static void overfill_recv(struct traffic *traffic, struct half *half)
{
	struct ibv_recv_wr wr = {.wr_id = 0};
	struct ibv_recv_wr *bad;

	if (!half->end->srq && ibv_post_recv(half->qp, &wr, &bad) != ENOMEM)
		oracle_complain(traffic->world->oracle,
			"half %u: a receive beyond the depth was not refused", half->number);
}

/* Now and then one is missing, so that there are RNR NAKs. */
static bool refill(struct traffic *traffic, struct half *half)
{
	struct world *world = traffic->world;

	if (half->state == HALF_GONE || half->recvs_posted == TRAFFIC_POSTS ||
		world_chance(world, 70))
		return false;
	if (half->state == HALF_DEAD && !half->late_recvs)
		return false;
	if (half->buffers_free == 0) {
		if (world_chance(world, 1))
			overfill_recv(traffic, half);
		return false;
	}
	post_receive(traffic, half);
	half->late_recvs -= half->state == HALF_DEAD;
	return true;
}

/* ---- requests ---- */

/* One too many: ENOMEM (man ibv_post_send), and nothing is sent. */
static void overfill(struct traffic *traffic, struct half *half)
{
	struct choice choice;
	struct ibv_send_wr *bad;

	choose_last(half, &choice);
	half->next_id--;
	if (ibv_post_send(half->qp, &choice.wr, &bad) != ENOMEM)
		oracle_complain(traffic->world->oracle,
			"half %u: a request beyond the depth was not refused", half->number);
}

static bool may_post(struct traffic *traffic, struct half *half)
{
	if (half->state == HALF_GONE || half->left == 0)
		return false;
	if (half->state == HALF_DEAD && half->late == 0)
		return false;
	if (oracle_outstanding(half->flow) < half->depth)
		return true;
	if (world_chance(traffic->world, 1))
		overfill(traffic, half);
	return false;
}

static void choose(struct traffic *traffic, struct half *half, struct choice *choice)
{
	struct pair *pair = half->pair;

	if (half->left == 1 && pair->breaks && half == &pair->half[0] && half->state == HALF_LIVE) {
		choose_wrong(traffic, half, choice);
		pair->broken = true;
		oracle_may_break(half->flow, !traffic->world->clean);
		oracle_may_break(half->peer->flow, !traffic->world->clean);
		return;
	}
	if (choose_request(traffic, half, choice))
		return;
	/* what is posted must be signaled in the end */
	half->left = 1;
	choose_last(half, choice);
}

static bool post(struct traffic *traffic, struct half *half)
{
	struct ibv_send_wr *bad;
	struct choice choice;
	int error;

	if (!may_post(traffic, half))
		return false;
	choose(traffic, half, &choice);
	half->left--;
	half->late -= half->state == HALF_DEAD;
	world_trace(traffic->world, "half %u posts %" PRIu64 ": opcode %d, %u bytes%s%s%s",
		half->number, choice.request.wr_id, choice.request.opcode, choice.request.length,
		choice.request.signaled ? ", signaled" : "", choice.request.fence ? ", fence" : "",
		choice.request.must_fail ? ", must fail" : "");
	/* told first: in a world with loopback the post may complete at once */
	oracle_posted(half->flow, &choice.request);
	if (half->pair->held_until == UINT64_MAX && half->pair->opening == OPENING_TIMEOUT &&
		oracle_closed(half->flow))
		half->pair->held_until = traffic->world->now + 1000000;
	error = ibv_post_send(half->qp, &choice.wr, &bad);
	if (error)
		oracle_complain(traffic->world->oracle, "half %u: a request was refused with %d",
			half->number, error);
	return true;
}

/* ---- the whole ---- */

static bool step_half(struct traffic *traffic, struct half *half)
{
	bool waits = half->pair->waits && half == &half->pair->half[0];
	bool any = refill(traffic, half);

	if (!waits && world_chance(traffic->world, 60))
		any |= post(traffic, half);
	return any;
}

bool traffic_step(struct traffic *traffic)
{
	struct world *world = traffic->world;
	bool look = traffic->steps++ % EVENT_STEPS == 0;
	bool any = false;

	for (uint32_t i = 0; i < world->ends; i++) {
		any |= traffic_look(traffic, &world->end[i]);
		if (look)
			events_read(traffic, &world->end[i]);
		if (look && world->end[i].srq)
			events_srq(traffic, &world->end[i]);
	}
	for (uint32_t i = 0; i < traffic->pairs; i++) {
		any |= script_step(traffic, &traffic->pair[i]);
		for (uint32_t j = 0; j < 2; j++)
			any |= step_half(traffic, &traffic->pair[i].half[j]);
	}
	return any;
}

static bool half_settled(const struct half *half)
{
	if (half->state == HALF_GONE)
		return true;
	return oracle_settled(half->flow) && (half->left == 0 || half->state == HALF_DEAD);
}

bool traffic_settled(const struct traffic *traffic)
{
	for (uint32_t i = 0; i < traffic->pairs; i++) {
		const struct pair *pair = &traffic->pair[i];

		if (script_pending(pair) || !half_settled(&pair->half[0]) ||
			!half_settled(&pair->half[1]))
			return false;
	}
	return true;
}

/* Room for all that can be posted, or complete before it is polled, and no more. */
static void provide(struct traffic *traffic, struct end *end)
{
	uint32_t requests = 0;
	uint32_t receives = 0;

	for (uint32_t i = 0; i < traffic->pairs; i++)
		for (uint32_t j = 0; j < 2; j++) {
			const struct half *half = &traffic->pair[i].half[j];

			if (half->end != end)
				continue;
			requests += half->depth;
			receives += half->recv_depth;
		}
	world_provide(traffic->world, end, requests ? requests + receives : 1, receives);
}

void traffic_open(struct traffic *traffic, struct world *world)
{
	memset(traffic, 0, sizeof(*traffic));
	traffic->world = world;
	traffic->pairs = world_between(world, 1, TRAFFIC_PAIRS);
	watch_open(traffic);
	for (uint32_t i = 0; i < traffic->pairs; i++)
		connect_plan(traffic, i);
	for (uint32_t i = 0; i < world->ends; i++)
		provide(traffic, &world->end[i]);
	for (uint32_t i = 0; i < traffic->pairs; i++)
		connect_pair(traffic, &traffic->pair[i]);
}

void traffic_finish(struct traffic *traffic)
{
	struct world *world = traffic->world;

	for (uint32_t i = 0; i < world->ends; i++) {
		traffic_poll(traffic, &world->end[i]);
		events_read(traffic, &world->end[i]);
	}
	for (uint32_t i = 0; i < traffic->pairs; i++)
		for (uint32_t j = 0; j < 2; j++)
			events_judge(traffic, &traffic->pair[i].half[j]);
}

void traffic_close(struct traffic *traffic)
{
	for (uint32_t i = 0; i < traffic->pairs; i++)
		for (uint32_t j = 0; j < 2; j++) {
			struct half *half = &traffic->pair[i].half[j];

			if ((half->qp && ibv_destroy_qp(half->qp) != 0) ||
				(half->window.mw && ibv_dealloc_mw(half->window.mw) != 0))
				oracle_complain(traffic->world->oracle,
					"half %u: its QP or window does not go", half->number);
		}
}
