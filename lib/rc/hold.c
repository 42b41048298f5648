/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The gate: a QP in RTR takes posts and keeps them until the connection is known to be up
 * (docs/early-posts.md, EP-1 to EP-17). The transport's state is RTR exactly while the gate is
 * closed, so that an open gate costs the data path nothing: the requester looks at the state
 * anyway.
 *
 * Held requests stay in the region's send queue, untouched; opening puts the QP on the active list,
 * and the requester takes them like any others. Only the QP's core opens and closes, so that there
 * is nothing between a check and an enqueue.
 *
 * What ends the wait if nothing opens is in hold_wait.c.
 */
#include <errno.h>

#include "parts.h"

const uint64_t rc_hold_bucket_us[RC_HOLD_BUCKETS - 1] = {
	1, 10, 50, 100, 500, 1000, 5000, 20000, 100000, 250000, 1000000};

void hold_enter(struct rc_qp *qp)
{
	struct gate *gate = &qp->gate;

	gate->comm_est = false;
	gate->auto_promoted = false;
	gate->logged = false;
	gate->timed_out = false;
	gate->ack_tells = false;
	gate->cause = -1;
	gate->held = 0;
	gate->held_since = 0;
}

/* ---- arming ---- */

int hold_check_arm(const struct rc_qp *qp, const struct rc_arm *arm)
{
	if (arm->timeout > 31 || arm->retry_cnt > 7 || arm->rnr_retry > 7 ||
		arm->max_rd_atomic > qp->max_rd_atomic)
		return -EINVAL;
	return 0;
}

/* ---- opening ---- */

static void count_cause(struct rc_core *core, struct rc_qp *qp, enum rc_hold_cause cause)
{
	switch (cause) {
	case RC_HOLD_MODIFY:
		HOLD_COUNT(core, qp, promoted_modify, 1);
		break;
	case RC_HOLD_PACKET:
		HOLD_COUNT(core, qp, promoted_packet, 1);
		break;
	case RC_HOLD_RTU:
		HOLD_COUNT(core, qp, promoted_rtu, 1);
		break;
	case RC_HOLD_NOTIFY:
		HOLD_COUNT(core, qp, promoted_notify, 1);
		break;
	case RC_HOLD_GRACE:
		HOLD_COUNT(core, qp, promoted_grace, 1);
		break;
	case RC_HOLD_ACK:
		HOLD_COUNT(core, qp, promoted_ack, 1);
		break;
	case RC_HOLD_TIMEOUT:
		HOLD_COUNT(core, qp, promoted_timeout, 1);
		break;
	}
}

static void record_time_held(struct rc_core *core, const struct gate *gate)
{
	uint64_t us = (core->now - gate->held_since) / 1000;
	unsigned int bucket = 0;

	while (bucket < RC_HOLD_BUCKETS - 1 && us >= rc_hold_bucket_us[bucket])
		bucket++;
	core->hold_histogram[bucket]++;
}

bool hold_open(struct rc_core *core, struct rc_qp *qp, enum rc_hold_cause cause)
{
	struct gate *gate = &qp->gate;

	if (!hold_closed(qp))
		return false;
	count_cause(core, qp, cause);
	hold_posted(core, qp); /* what was posted and not announced yet was held, too */
	if (gate->held) {
		HOLD_COUNT(core, qp, released, gate->held);
		record_time_held(core, gate);
	}
	timer_cancel(&core->timers, &gate->timer);
	gate->cause = cause;
	gate->auto_promoted = cause != RC_HOLD_MODIFY && qp->shown == IBV_QPS_RTR;
	gate->ack_tells = gate->cm && (cause == RC_HOLD_GRACE || cause == RC_HOLD_TIMEOUT);
	if (qp->shown == IBV_QPS_RTR)
		qp->shown = IBV_QPS_RTS;
	TRACE_GATE_OPEN(qp->qp_num, cause, gate->held, gate->held_since);
	qp_set_state(qp, qp->shown, "gate");
	core->ops->state_changed(core, qp, qp->shown);
	if (gate->cm)
		core->ops->opened(core, qp, cause);
	core->ops->activate(core, qp);
	return true;
}

/*
 * EP-11: time opened the gate, which proves nothing about the peer. The first proof tells the CM,
 * once, whatever it is (EP-9).
 */
static void tell_proof(struct rc_core *core, struct rc_qp *qp, enum rc_hold_cause cause)
{
	qp->gate.ack_tells = false;
	core->ops->opened(core, qp, cause);
}

void hold_first_packet(struct rc_core *core, struct rc_qp *qp)
{
	struct gate *gate = &qp->gate;

	/* EP-15: one branch once the gate is open */
	if (!hold_closed(qp) & !gate->ack_tells)
		return;
	if (!hold_closed(qp)) {
		tell_proof(core, qp, RC_HOLD_PACKET);
		return;
	}
	if (gate->cm) {
		hold_open(core, qp, RC_HOLD_PACKET);
		return;
	}
	if (!gate->comm_est) {
		gate->comm_est = true;
		HOLD_COUNT(core, qp, comm_est, 1);
		if (!gate->armed)
			HOLD_COUNT(core, qp, unarmed_first_packet, 1);
		core->ops->event(core, qp, IBV_EVENT_COMM_EST);
	}
	if (gate->armed && !gate->strict)
		hold_open(core, qp, RC_HOLD_PACKET);
}

void hold_first_ack(struct rc_core *core, struct rc_qp *qp)
{
	HOLD_COUNT(core, qp, promoted_ack, 1);
	tell_proof(core, qp, RC_HOLD_ACK);
}

/* ---- holding ---- */

void hold_posted(struct rc_core *core, struct rc_qp *qp)
{
	struct gate *gate = &qp->gate;
	uint32_t posted = core->ops->posted(core, qp);

	if (posted <= gate->held)
		return;
	HOLD_COUNT(core, qp, held, posted - gate->held);
	if (gate->held == 0) {
		gate->held_since = core->now;
		gate->held = posted;
		hold_set_timer(core, qp);
	}
	gate->held = posted;
}

void hold_abandon(struct rc_core *core, struct rc_qp *qp, bool vanish)
{
	struct gate *gate = &qp->gate;

	if (!hold_closed(qp))
		return;
	hold_posted(core, qp);
	if (vanish)
		HOLD_COUNT(core, qp, vanished_held, gate->held);
	else
		HOLD_COUNT(core, qp, flushed_held, gate->held);
	timer_cancel(&core->timers, &gate->timer);
	gate->held = 0;
	gate->held_since = 0;
}

/* ---- calls from outside: rc.h ---- */

int rc_hold_set_policy(struct rc_core *core, struct rc_qp *qp, bool strict)
{
	(void)core;
	if (qp->state != IBV_QPS_RESET && qp->state != IBV_QPS_INIT)
		return -EINVAL;
	qp->gate.strict = strict;
	return 0;
}

int rc_hold_arm(struct rc_core *core, struct rc_qp *qp, const struct rc_arm *arm)
{
	/* Shown as RTS (EP-10), its owner has set the attributes by modify. */
	if (!hold_closed(qp) || qp->shown != IBV_QPS_RTR || qp->gate.strict)
		return -EINVAL;
	if (hold_check_arm(qp, arm) != 0)
		return -EINVAL;
	hold_set_arm(qp, arm);
	if (qp->gate.timed_out) /* EP-12: could not open then */
		hold_open(core, qp, RC_HOLD_TIMEOUT);
	return 0;
}

/* The news that the connection is up opens a QP that is armed; strict ones if the CM owns them. */
static bool news_opens(const struct rc_qp *qp)
{
	return hold_closed(qp) && qp->gate.armed && (qp->gate.cm || !qp->gate.strict);
}

int rc_hold_notify(struct rc_core *core, struct rc_qp *qp)
{
	if (qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD) {
		if (qp->gate.ack_tells) {
			tell_proof(core, qp, RC_HOLD_NOTIFY);
			return 0;
		}
		HOLD_COUNT(core, qp, late_notify, 1);
		return -EISCONN;
	}
	if (!news_opens(qp))
		return -EINVAL;
	hold_open(core, qp, RC_HOLD_NOTIFY);
	return 0;
}

bool rc_hold_rtu(struct rc_core *core, struct rc_qp *qp)
{
	if (news_opens(qp))
		return hold_open(core, qp, RC_HOLD_RTU);
	qp->gate.ack_tells = false;  /* the CM knows */
	if (qp->state > IBV_QPS_RTR) /* else it was early, or nothing can open the gate */
		HOLD_COUNT(core, qp, late_rtu, 1);
	return false;
}

/*
 * RTS by its owner's modify, nothing has been taken, and nothing has proved yet that the peer is
 * up: the gate can still be closed (EP-10, recognised at ACCEPT). A modify never opens the gate of
 * one that the CM owns already: once open, that stays so (EP-6).
 */
static bool untouched(const struct rc_qp *qp)
{
	const struct gate *gate = &qp->gate;

	return qp->state == IBV_QPS_RTS && qp->requester.tail == 0 &&
		gate->cause == RC_HOLD_MODIFY && !gate->comm_est;
}

int rc_hold_cm_own(struct rc_core *core, struct rc_qp *qp, const struct rc_arm *arm)
{
	if (!hold_closed(qp) && !untouched(qp))
		return -EINVAL;
	if (arm && hold_check_arm(qp, arm) != 0)
		return -EINVAL;
	if (!arm && !qp->gate.armed)
		return -EINVAL;
	if (arm)
		hold_set_arm(qp, arm);
	if (!hold_closed(qp)) {
		hold_enter(qp);
		qp_set_state(qp, IBV_QPS_RTR, "cm");
		hold_posted(core, qp); /* posted in RTS, and announced then */
	}
	qp->gate.cm = true;
	return 0;
}

bool rc_hold_grace(struct rc_core *core, struct rc_qp *qp)
{
	return qp->gate.cm && hold_open(core, qp, RC_HOLD_GRACE);
}

void rc_hold_query(struct rc_core *core, struct rc_qp *qp, struct rc_hold_info *info)
{
	const struct gate *gate = &qp->gate;

	info->closed = hold_closed(qp);
	info->armed = gate->armed;
	info->strict = gate->strict;
	info->held_now = hold_closed(qp) ? core->ops->posted(core, qp) : 0;
	info->held_since = hold_closed(qp) ? gate->held_since : 0;
	info->cause = gate->cause;
}

const struct rc_hold_counters *rc_qp_hold_counters(const struct rc_qp *qp)
{
	return &qp->gate.counters;
}
