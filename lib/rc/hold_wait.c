/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * No waiting for ever (EP-12). One timer per QP that holds, from its first held request on: the
 * line in the log after a second, and the hold time-out, if there is one. A QP that holds nothing
 * has no timer.
 */
#include <errno.h>

#include "log.h"
#include "parts.h"

#define MS 1000000ull
#define LOG_AFTER (1000 * MS)

/* A time-out that is set late may be over already: then the timer runs at once. */
void hold_set_timer(struct rc_core *core, struct rc_qp *qp)
{
	struct gate *gate = &qp->gate;
	uint64_t log_at = gate->logged ? TIMER_NEVER : gate->held_since + LOG_AFTER;
	uint64_t end = gate->timeout_ms && !gate->timed_out
		? gate->held_since + gate->timeout_ms * MS
		: TIMER_NEVER;
	uint64_t when = log_at < end ? log_at : end;

	if (when == TIMER_NEVER)
		timer_cancel(&core->timers, &gate->timer);
	else
		timer_set(&core->timers, &gate->timer, when);
}

static void time_out(struct rc_core *core, struct rc_qp *qp)
{
	struct gate *gate = &qp->gate;

	gate->timed_out = true;
	HOLD_COUNT(core, qp, hold_timeout, 1);
	if (gate->action == RC_HOLD_ERROR)
		qp_enter_error(core, qp, "hold_timeout");
	else if (gate->armed)
		hold_open(core, qp, RC_HOLD_TIMEOUT);
	else if (log_limited(&core->hold_log, core->now))
		log_warning("QP 0x%06x: hold time-out of %u ms, but the QP is not armed and cannot "
			    "open; arm it, or move it to RTS",
			qp->qp_num, gate->timeout_ms);
}

static const char *why_closed(const struct gate *gate)
{
	if (gate->comm_est && gate->armed && !gate->strict)
		return "the peer's first packet came before the QP was armed: a notify or a move "
		       "to RTS opens it";
	return "no packet, RTU or modify to RTS has opened the gate";
}

static void held_long(struct rc_core *core, struct rc_qp *qp, uint64_t held_for)
{
	struct gate *gate = &qp->gate;

	gate->logged = true;
	HOLD_COUNT(core, qp, hold_long, 1);
	if (log_limited(&core->hold_log, core->now))
		log_warning("QP 0x%06x has held for %llu ms (requests: %u, armed: %s): %s",
			qp->qp_num, (unsigned long long)(held_for / MS),
			core->ops->posted(core, qp), gate->armed ? "yes" : "no", why_closed(gate));
}

void hold_timer_expire(struct timer *timer, uint64_t now, void *context)
{
	struct rc_qp *qp = (struct rc_qp *)((char *)timer - offsetof(struct rc_qp, gate.timer));
	struct rc_core *core = context;
	struct gate *gate = &qp->gate;
	uint64_t held_for = now - gate->held_since;

	if (!hold_closed(qp) || gate->held == 0)
		return;
	if (!gate->logged && held_for >= LOG_AFTER)
		held_long(core, qp, held_for);
	if (gate->timeout_ms && !gate->timed_out && held_for >= gate->timeout_ms * MS)
		time_out(core, qp);
	if (hold_closed(qp))
		hold_set_timer(core, qp);
}

int rc_hold_set_timeout(
	struct rc_core *core, struct rc_qp *qp, uint32_t ms, enum rc_hold_action action)
{
	if (action != RC_HOLD_OPEN && action != RC_HOLD_ERROR)
		return -EINVAL;
	qp->gate.timeout_ms = ms;
	qp->gate.action = action;
	qp->gate.timed_out = false;
	if (hold_closed(qp) && qp->gate.held)
		hold_set_timer(core, qp);
	return 0;
}
