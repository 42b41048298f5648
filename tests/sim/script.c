/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What happens to a connection besides traffic: its gate opens in one of the ways there are, or
 * what is held is flushed or vanishes; a QP goes to ERR, is reset or destroyed, and the two connect
 * anew; a send queue drains and goes on.
 */
#include <errno.h>
#include <string.h>

#include <uroce/uroce.h>

#include "connect.h"
#include "events.h"
#include "script.h"
#include "watch.h"

/* Enough for a QP in ERR to flush all. */
#define FLUSH_NS 1000000u

enum phase { PHASE_BEFORE, PHASE_VANISH, PHASE_CONNECT, PHASE_DRAIN, PHASE_RESUME, PHASE_OVER };

/* A connection that may break may have done so without a completion that tells. */
static bool has_broken(struct traffic *traffic, struct half *half)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (!half->pair->broken && traffic->world->loss <= WORLD_BAD_LOSS)
		return false;
	if (ibv_query_qp(half->qp, &attr, IBV_QP_STATE, &init) != 0 || attr.qp_state != IBV_QPS_ERR)
		return false;
	traffic_dead(traffic, half);
	return true;
}

static void expect(
	struct traffic *traffic, struct half *half, int error, int expected, const char *what)
{
	if (error != expected && !(error == EINVAL && has_broken(traffic, half)))
		oracle_complain(traffic->world->oracle, "half %u: %s gives %d, not %d",
			half->number, what, error, expected);
}

static void next(struct traffic *traffic, struct pair *pair, enum phase phase, uint64_t in)
{
	pair->phase = phase;
	pair->next_at = traffic->world->now + in;
}

/* ---- the ways out ---- */

static void to_error(struct traffic *traffic, struct half *half)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	if (half->state == HALF_GONE || half->state == HALF_DEAD)
		return;
	world_trace(traffic->world, "half %u: to ERR", half->number);
	expect(traffic, half, ibv_modify_qp(half->qp, &attr, IBV_QP_STATE), 0, "to ERR");
	traffic_dead(traffic, half);
}

static void try_post(struct traffic *traffic, struct half *half)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};
	struct ibv_send_wr *bad;

	expect(traffic, half, ibv_post_send(half->qp, &wr, &bad), EINVAL, "a post in RESET");
}

/* The receives of its own queue are the program's again. */
static void take_back(struct half *half)
{
	if (half->end->srq)
		return;
	memcpy(half->buffers, half->all, sizeof(half->all));
	half->buffers_free = half->recv_depth;
}

static void vanish(struct traffic *traffic, struct half *half, bool destroy)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};

	if (half->state == HALF_GONE)
		return;
	world_trace(traffic->world, "half %u: %s", half->number, destroy ? "destroyed" : "reset");
	events_read(traffic, half->end);
	half->state = HALF_GONE;
	if (destroy) {
		expect(traffic, half, ibv_destroy_qp(half->qp), 0, "destroy");
		half->qp = NULL;
	} else {
		expect(traffic, half, ibv_modify_qp(half->qp, &attr, IBV_QP_STATE), 0, "to RESET");
		try_post(traffic, half);
	}
	oracle_vanished(half->flow);
	oracle_recv_vanished(half->peer->flow);
	take_back(half);
}

static void may_break(struct pair *pair)
{
	oracle_may_break(pair->half[0].flow, true);
	oracle_may_break(pair->half[1].flow, true);
	pair->broken = true;
}

/* ---- the gate ---- */

static void check_held(struct traffic *traffic, struct half *half)
{
	struct uroce_hold hold;

	if (half->pair->opening == OPENING_TIMEOUT || half->pair->opening == OPENING_EXPIRE)
		return;
	if (uroce_qp_query_hold(half->qp, &hold) != 0 || !hold.closed || !hold.armed ||
		hold.held_now != oracle_outstanding(half->flow))
		oracle_complain(traffic->world->oracle,
			"half %u: holds %llu requests, not %u, or is not closed", half->number,
			(unsigned long long)hold.held_now, oracle_outstanding(half->flow));
}

/* By now the hold time-out has ended what was held. */
static void check_expired(struct traffic *traffic, struct half *half)
{
	if (half->pair->opening != OPENING_EXPIRE)
		return;
	traffic_poll(traffic, half->end);
	if (half->state != HALF_DEAD && oracle_outstanding(half->flow))
		oracle_complain(traffic->world->oracle,
			"half %u: the hold time-out has not flushed it", half->number);
}

static void open_gate(struct traffic *traffic, struct pair *pair)
{
	struct half *half = &pair->half[1];

	check_held(traffic, half);
	check_expired(traffic, half);
	pair->waits = false;
	switch (pair->opening) {
	case OPENING_MODIFY:
		oracle_gate(half->flow, false);
		expect(traffic, half, connect_to_rts(half), 0, "to RTS");
		break;
	case OPENING_NOTIFY:
		oracle_gate(half->flow, false);
		expect(traffic, half, uroce_qp_notify(half->qp), 0, "notify");
		expect(traffic, half, uroce_qp_notify(half->qp), EISCONN, "a late notify");
		break;
	case OPENING_EXPIRE:
	case OPENING_ERROR:
		may_break(pair);
		to_error(traffic, half);
		next(traffic, pair, PHASE_VANISH, FLUSH_NS);
		break;
	case OPENING_RESET:
	case OPENING_DESTROY:
		may_break(pair);
		vanish(traffic, half, pair->opening == OPENING_DESTROY);
		next(traffic, pair, PHASE_VANISH, FLUSH_NS);
		break;
	default:
		pair->promoted = pair->opening == OPENING_PACKET;
		/* what loops back within the end is not seen on the wire */
		if (pair->half[0].end == half->end)
			oracle_gate(half->flow, false);
	}
}

/* Asks the QP itself: what opens a gate within an end is not seen on the wire. */
static bool is_closed(const struct half *half)
{
	struct uroce_hold hold;

	return oracle_closed(half->flow) || uroce_qp_query_hold(half->qp, &hold) != 0 ||
		hold.closed;
}

/* EP-6: the first modify to RTS after a promotion is that of RTR to RTS, the second is not. */
static bool late_modify(struct traffic *traffic, struct pair *pair)
{
	struct half *half = &pair->half[1];

	if (!pair->promoted || half->state != HALF_LIVE || !world_chance(traffic->world, 5) ||
		is_closed(half))
		return false;
	pair->promoted = false;
	expect(traffic, half, connect_to_rts(half), 0, "the first late modify");
	expect(traffic, half, connect_to_rts(half), EINVAL, "the second late modify");
	return true;
}

/* ---- fates ---- */

static void drain(struct traffic *traffic, struct pair *pair)
{
	struct half *half = &pair->half[pair->victim];
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};

	half->state = HALF_DRAINING;
	half->drained_due = half->drained + 1;
	world_trace(traffic->world, "half %u: to SQD", half->number);
	expect(traffic, half,
		ibv_modify_qp(half->qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0,
		"to SQD");
	next(traffic, pair, PHASE_DRAIN, 0);
}

/* Waits for the event; it must come if the QP lives. */
static bool drained(struct traffic *traffic, struct pair *pair)
{
	struct half *half = &pair->half[pair->victim];

	if (half->state == HALF_DEAD) {
		next(traffic, pair, PHASE_OVER, 0);
		return true;
	}
	events_read(traffic, half->end);
	if (half->drained < half->drained_due)
		return false;
	next(traffic, pair, PHASE_RESUME, 200000);
	return true;
}

static void resume(struct traffic *traffic, struct pair *pair)
{
	struct half *half = &pair->half[pair->victim];
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS};

	if (half->state == HALF_DRAINING) {
		half->state = HALF_LIVE;
		pair->promoted = false; /* this is the first modify to RTS */
		world_trace(traffic->world, "half %u: back to RTS", half->number);
		expect(traffic, half, ibv_modify_qp(half->qp, &attr, IBV_QP_STATE), 0,
			"from SQD to RTS");
	}
	next(traffic, pair, PHASE_OVER, 0);
}

static void begin(struct traffic *traffic, struct pair *pair)
{
	struct half *half = &pair->half[pair->victim];

	if (half->state != HALF_LIVE || is_closed(half)) {
		next(traffic, pair, PHASE_OVER, 0);
		return;
	}
	if (pair->fate == FATE_DRAIN) {
		drain(traffic, pair);
		return;
	}
	may_break(pair);
	/* What a message under way has taken from an SRQ comes back in ERR only. */
	if (pair->fate == FATE_ERROR || half->end->srq)
		to_error(traffic, half);
	else
		vanish(traffic, half, pair->fate == FATE_DESTROY);
	next(traffic, pair, PHASE_VANISH, FLUSH_NS);
}

/* The other half goes, too, sooner or later; some never hear of each other again. One that holds
 * would do so for ever. */
static void end_both(struct traffic *traffic, struct pair *pair)
{
	struct half *passive = &pair->half[1];
	bool holds = passive->state == HALF_LIVE && is_closed(passive);

	if (world_chance(traffic->world, 30) && !holds) {
		next(traffic, pair, PHASE_OVER, 0);
		return;
	}
	to_error(traffic, &pair->half[0]);
	to_error(traffic, &pair->half[1]);
	next(traffic, pair, PHASE_CONNECT, FLUSH_NS + world_between(traffic->world, 0, 1000000));
}

static void leave(struct traffic *traffic, struct half *half)
{
	traffic_poll(traffic, half->end);
	if (half->state == HALF_DEAD && !oracle_settled(half->flow))
		oracle_complain(traffic->world->oracle, "half %u: in ERR, and %u are not flushed",
			half->number, oracle_outstanding(half->flow));
	events_read(traffic, half->end);
	events_judge(traffic, half);
	vanish(traffic, half, world_chance(traffic->world, 50));
	half->left = world_between(traffic->world, 1, 20);
	half->comm_est = 0;
	half->last_wqe = 0;
	half->last_wqe_due = 0;
	half->access_error = 0;
}

static void again(struct traffic *traffic, struct pair *pair)
{
	leave(traffic, &pair->half[0]);
	leave(traffic, &pair->half[1]);
	pair->breaks = world_chance(traffic->world, 30);
	connect_pair(traffic, pair);
	next(traffic, pair, PHASE_OVER, 0);
}

static void check_proved(struct traffic *traffic, struct pair *pair)
{
	if (!pair->proved)
		return;
	pair->proved = false;
	if (pair->half[1].state == HALF_LIVE && is_closed(&pair->half[1]))
		oracle_complain(traffic->world->oracle,
			"half %u: an RNR NAK has left, and the gate is closed",
			pair->half[1].number);
}

static bool fate_step(struct traffic *traffic, struct pair *pair)
{
	switch ((enum phase)pair->phase) {
	case PHASE_BEFORE:
		if (pair->fate == FATE_NONE || pair->half[0].left > pair->fate_left || pair->waits)
			return false;
		begin(traffic, pair);
		return true;
	case PHASE_VANISH:
		end_both(traffic, pair);
		return true;
	case PHASE_CONNECT:
		again(traffic, pair);
		return true;
	case PHASE_DRAIN:
		return drained(traffic, pair);
	case PHASE_RESUME:
		resume(traffic, pair);
		return true;
	default:
		return false;
	}
}

/* An active half that has failed before anything left: the other one would hold for ever. */
static bool give_up(struct traffic *traffic, struct pair *pair)
{
	struct half *passive = &pair->half[1];

	if (pair->waits || pair->half[0].state != HALF_DEAD || passive->state != HALF_LIVE ||
		!is_closed(passive))
		return false;
	may_break(pair);
	to_error(traffic, passive);
	return true;
}

bool script_step(struct traffic *traffic, struct pair *pair)
{
	uint64_t now = traffic->world->now;
	bool any = false;

	watch_time(traffic, &pair->half[1]);
	check_proved(traffic, pair);
	if (pair->waits && now >= pair->open_at) {
		open_gate(traffic, pair);
		any = true;
	}
	any |= late_modify(traffic, pair);
	any |= give_up(traffic, pair);
	if (now < pair->next_at)
		return any;
	return fate_step(traffic, pair) || any;
}

bool script_pending(const struct pair *pair)
{
	return pair->waits || (pair->phase != PHASE_OVER && pair->phase != PHASE_BEFORE);
}
