/* SPDX-License-Identifier: BSD-3-Clause */
/* The requester's window: what is acknowledged leaves at the head, the cursor goes back. */
#include "parts.h"
#include "requester.h"
#include "status.h"

uint32_t requester_cursor_psn(const struct rc_qp *qp)
{
	const struct requester *requester = &qp->requester;
	const struct rc_send *send;

	if (requester->cursor == requester->tail)
		return requester->next_psn;
	send = window_slot(qp, requester->cursor);
	if (!send->started)
		return requester->next_psn;
	return psn_add(send->first_psn,
		is_read_or_atomic(send->opcode) ? send->received : requester->cursor_packet);
}

void requester_go_back(struct rc_qp *qp)
{
	struct requester *requester = &qp->requester;
	const struct rc_send *send;

	requester->cursor = requester->head;
	requester->cursor_packet = 0;
	requester->in_flight = 0;
	if (requester->head == requester->tail)
		return;
	send = window_slot(qp, requester->head);
	if (send->started && !is_read_or_atomic(send->opcode) && !is_local(send->opcode))
		requester->cursor_packet = psn_ahead(requester->una, send->first_psn);
}

void requester_complete(struct rc_core *core, struct rc_qp *qp, const struct rc_send *send,
	enum ibv_wc_status status)
{
	enum ibv_wc_opcode opcode = status_wc_opcode(send->opcode);
	struct rc_completion completion;

	core->counters.rdma_sends += status == IBV_WC_SUCCESS && opcode == IBV_WC_SEND;
	if (status == IBV_WC_SUCCESS && !(send->flags & IBV_SEND_SIGNALED))
		return;
	completion = (struct rc_completion){
		.wr_id = send->wr_id,
		.status = status,
		.opcode = opcode,
		.released = send->released,
		.byte_len = send->length,
	};
	core->ops->complete_send(core, qp, &completion);
}

static bool complete(const struct rc_qp *qp, uint32_t position)
{
	const struct rc_send *send = window_slot(qp, position);

	if (!send->started || send->status != IBV_WC_SUCCESS)
		return false;
	if (is_local(send->opcode))
		return send->done;
	if (is_read_or_atomic(send->opcode))
		return send->received == send->packets;
	return psn_ahead(qp->requester.una, send->first_psn) >= send->packets;
}

static void tell_drained(struct rc_core *core, struct rc_qp *qp)
{
	const struct requester *requester = &qp->requester;

	if (!qp->drain_notify || qp->shown != IBV_QPS_SQD) /* behind a closed gate, too */
		return;
	if (requester->head != requester->tail && window_slot(qp, requester->head)->started)
		return;
	qp->drain_notify = false;
	core->ops->event(core, qp, IBV_EVENT_SQ_DRAINED);
}

void requester_retire(struct rc_core *core, struct rc_qp *qp)
{
	struct requester *requester = &qp->requester;

	while (requester->head != requester->tail && complete(qp, requester->head)) {
		if (requester->cursor == requester->head) {
			requester->cursor++;
			requester->cursor_packet = 0;
		}
		requester_complete(core, qp, window_slot(qp, requester->head), IBV_WC_SUCCESS);
		requester->head++;
	}
	tell_drained(core, qp);
}

void requester_progress(struct rc_core *core, struct rc_qp *qp)
{
	struct requester *requester = &qp->requester;

	requester->retry_left = requester->retry_cnt;
	requester->rnr_left = requester->rnr_retry;
	requester->recovering = false;
	requester->rnr_until = 0; /* what was refused has been acknowledged: a copy of it was not */
	requester->deadline = TIMER_NEVER;
	requester_start_timer(core, qp);
	if (qp->gate.ack_tells)
		hold_first_ack(core, qp);
	core->ops->activate(core, qp);
}

/* How far the oldest requests can be acknowledged: an incomplete READ or atomic is a wall. */
static uint32_t reachable(const struct rc_qp *qp, uint32_t psn)
{
	const struct requester *requester = &qp->requester;

	for (uint32_t i = requester->head; i != requester->tail; i++) {
		const struct rc_send *send = window_slot(qp, i);

		if (!send->started)
			break;
		if (psn_ahead(send->first_psn, requester->una) >= psn_ahead(psn, requester->una) &&
			i != requester->head)
			break;
		if (is_read_or_atomic(send->opcode) && send->received < send->packets)
			return psn_ahead(psn, requester->una) >
					psn_ahead(psn_add(send->first_psn, send->received),
						requester->una)
				? psn_add(send->first_psn, send->received)
				: psn;
	}
	return psn;
}

bool requester_acknowledge(struct rc_core *core, struct rc_qp *qp, uint32_t psn)
{
	struct requester *requester = &qp->requester;
	uint32_t reached;
	uint32_t moved;

	if (psn_ahead(psn, requester->una) > RC_PSN_SPAN)
		return true; /* acknowledged before */
	reached = reachable(qp, psn);
	moved = psn_ahead(reached, requester->una);
	if (moved) {
		bool passed = psn_ahead(requester_cursor_psn(qp), requester->una) < moved;

		requester->una = reached;
		requester->in_flight -= moved < requester->in_flight ? moved : requester->in_flight;
		requester_retire(core, qp);
		if (passed)
			requester_go_back(qp);
		requester_progress(core, qp);
	}
	return reached == psn;
}

void requester_fail(struct rc_core *core, struct rc_qp *qp, enum ibv_wc_status status)
{
	struct requester *requester = &qp->requester;

	core->counters.send_err++;
	if (requester->head != requester->tail) {
		requester_complete(core, qp, window_slot(qp, requester->head), status);
		requester->head++;
	}
	TRACE_SEND_FAILED(qp->qp_num, status);
	qp_enter_error(core, qp, "send_failed");
}

void requester_start_timer(struct rc_core *core, struct rc_qp *qp)
{
	struct requester *requester = &qp->requester;

	if (!requester_outstanding(qp)) {
		requester->deadline = TIMER_NEVER;
		return;
	}
	if (requester->timeout == TIMER_NEVER || requester->deadline != TIMER_NEVER)
		return;
	requester->deadline = core->now + requester->timeout;
	timers_retry_set(core, qp);
}
