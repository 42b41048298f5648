/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timers of a QP:
 *
 *   retry_timer   the ack time-out (4.096 us x 2^timeout; 0: none) since the oldest outstanding
 *                 packet was sent or the last progress was made: go back, retry_cnt times, then
 *                 RETRY_EXC_ERR; or the silence that an RNR NAK asked for: never shorter than that.
 *   gate.timer    hold.c: the line after a second, the hold time-out.
 *
 * The ack time-out is kept as a deadline that every acknowledgement moves by a store; the timer in
 * the heap is set when it isn't pending, and on expiry set again if the deadline has moved.
 */
#include "parts.h"
#include "requester.h"

static void resend(struct rc_core *core, struct rc_qp *qp)
{
	struct requester *requester = &qp->requester;

	if (!requester_outstanding(qp))
		return;
	core->counters.ack_timeout++;
	if (requester->retry_left == 0) {
		core->counters.retry_exceeded_err++;
		requester_fail(core, qp, IBV_WC_RETRY_EXC_ERR);
		return;
	}
	requester->retry_left--;
	requester->recovering = false;
	TRACE_GO_BACK(qp->qp_num, requester->una, requester->sent, "timeout");
	requester_go_back(qp);
	core->ops->activate(core, qp);
}

void timers_retry_set(struct rc_core *core, struct rc_qp *qp)
{
	const struct requester *requester = &qp->requester;
	uint64_t when = requester->rnr_until ? requester->rnr_until : requester->deadline;

	if (when == TIMER_NEVER)
		return;
	if (!timer_pending(&qp->retry_timer) || qp->retry_timer.when > when)
		timer_set(&core->timers, &qp->retry_timer, when);
}

void timers_retry_expire(struct timer *timer, uint64_t now, void *context)
{
	struct rc_qp *qp = (struct rc_qp *)((char *)timer - offsetof(struct rc_qp, retry_timer));
	struct rc_core *core = context;
	struct requester *requester = &qp->requester;

	if (requester->rnr_until && now >= requester->rnr_until) {
		requester->rnr_until = 0;
		core->ops->activate(core, qp);
	} else if (!requester->rnr_until && now >= requester->deadline) {
		requester->deadline = TIMER_NEVER;
		resend(core, qp);
	}
	timers_retry_set(core, qp);
}
