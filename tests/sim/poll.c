/* SPDX-License-Identifier: BSD-3-Clause */
/* Completions: polled by a program that sleeps, or is lazy, or neither; for the oracle. */
#include <inttypes.h>

#include "traffic.h"
#include "watch.h"

/* How long a program sleeps for want of solicited events. */
#define LOOK_NS 500000u

/* A receive has completed; with an SRQ perhaps one that another half had posted. */
static void give_back(struct traffic *traffic, uint64_t wr_id)
{
	uint32_t number = (uint32_t)(wr_id >> 32);
	struct half *poster = &traffic->pair[number / 2].half[number % 2];

	if (poster->buffers_free < poster->recv_depth)
		poster->buffers[poster->buffers_free++] =
			poster->posted[(uint32_t)wr_id - TRAFFIC_RECV_IDS];
}

static struct half *half_of(struct traffic *traffic, const struct end *end, uint32_t qp_num)
{
	for (uint32_t i = 0; i < traffic->pairs; i++)
		for (uint32_t j = 0; j < 2; j++) {
			struct half *half = &traffic->pair[i].half[j];

			if (half->end == end && half->qp && half->qp->qp_num == qp_num)
				return half;
		}
	return NULL;
}

/* Which side an unsuccessful completion belongs to shows in its wr_id. */
static bool is_receive(const struct ibv_wc *wc)
{
	return (wc->wr_id & 0xffffffff) >= TRAFFIC_RECV_IDS;
}

/* A bind or invalidation of the half's window has run. */
static void window_changed(struct half *half, bool bound)
{
	struct window *window = &half->window;

	if (bound) {
		window->mw->rkey = ibv_inc_rkey(window->mw->rkey);
		window->state = WINDOW_BOUND;
	} else {
		window->old_rkey = window->mw->rkey;
		window->state = WINDOW_FREE;
	}
}

static void send_completed(struct half *half, const struct ibv_wc *wc)
{
	oracle_send_completed(half->flow, wc);
	if (wc->status != IBV_WC_SUCCESS || wc->wr_id != half->window.request)
		return;
	if (wc->opcode == IBV_WC_BIND_MW || wc->opcode == IBV_WC_LOCAL_INV)
		window_changed(half, wc->opcode == IBV_WC_BIND_MW);
}

static void recv_completed(struct traffic *traffic, struct half *half, const struct ibv_wc *wc)
{
	half->end->urgent += oracle_recv_completed(half->peer->flow, wc);
	give_back(traffic, wc->wr_id);
	if (wc->status == IBV_WC_SUCCESS && (wc->wc_flags & IBV_WC_WITH_INV))
		window_changed(half, false);
}

static void completed(struct traffic *traffic, struct end *end, const struct ibv_wc *wc)
{
	struct half *half = half_of(traffic, end, wc->qp_num);

	if (!half || half->state == HALF_GONE) {
		oracle_complain(traffic->world->oracle,
			"end %u: a completion of QP 0x%06x, which is reset or gone", end->tap.end,
			wc->qp_num);
		return;
	}
	world_trace(traffic->world, "half %u completes %s %" PRIu64 ": %s", half->number,
		is_receive(wc) ? "receive" : "request", wc->wr_id & 0xffffffff,
		ibv_wc_status_str(wc->status));
	watch_time(traffic, half);
	watch_time(traffic, half->peer);
	if (wc->status != IBV_WC_SUCCESS)
		traffic_dead(traffic, half);
	end->urgent += wc->status != IBV_WC_SUCCESS;
	if (is_receive(wc))
		recv_completed(traffic, half, wc);
	else
		send_completed(half, wc);
}

static bool empty(struct traffic *traffic, struct end *end)
{
	struct ibv_wc wc;
	bool any = false;
	int polled;

	while ((polled = ibv_poll_cq(end->cq, 1, &wc)) == 1) {
		completed(traffic, end, &wc);
		any = true;
	}
	if (polled < 0)
		oracle_complain(traffic->world->oracle, "end %u: ibv_poll_cq() gives %d",
			end->tap.end, polled);
	return any;
}

static bool got_event(struct end *end)
{
	struct ibv_cq *cq;
	void *context;

	if (!world_readable(end->channel->fd) || ibv_get_cq_event(end->channel, &cq, &context) != 0)
		return false;
	ibv_ack_cq_events(cq, 1);
	return true;
}

/* Nobody has told, but what should have been told is there (man ibv_req_notify_cq). */
static bool look(struct traffic *traffic, struct end *end)
{
	bool any;

	end->urgent = 0;
	any = empty(traffic, end);
	if (end->urgent && !got_event(end))
		oracle_complain(traffic->world->oracle,
			"end %u: a solicited or failed completion woke nobody", end->tap.end);
	end->asleep = end->urgent == 0;
	end->wakes_at = traffic->world->now + LOOK_NS;
	return any;
}

/* As man ibv_get_cq_event shows: got, armed again, polled once more. */
static bool wake(struct traffic *traffic, struct end *end)
{
	bool any;

	if (end->asleep && !got_event(end)) {
		if (!end->sleeps_on || traffic->world->now < end->wakes_at)
			return false;
		return look(traffic, end);
	}
	any = empty(traffic, end);
	end->sleeps_on = world_chance(traffic->world, 30);
	if (ibv_req_notify_cq(end->cq, end->sleeps_on) != 0)
		oracle_complain(traffic->world->oracle, "end %u: arming fails", end->tap.end);
	end->asleep = true;
	end->wakes_at = traffic->world->now + LOOK_NS;
	return empty(traffic, end) || any;
}

bool traffic_poll(struct traffic *traffic, struct end *end)
{
	return empty(traffic, end);
}

bool traffic_look(struct traffic *traffic, struct end *end)
{
	if (end->lazy && !world_chance(traffic->world, 10))
		return false;
	return end->channel ? wake(traffic, end) : empty(traffic, end);
}
