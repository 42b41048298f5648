/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ERR: every request that is outstanding, or posted later, completes with WR_FLUSH_ERR, in order,
 * unsignaled ones too (IBTA 10.3.1, EP-13): the window first, then the send queue, then the
 * receives.
 */
#include "parts.h"
#include "requester.h"

static bool flush_send(struct rc_core *core, struct rc_qp *qp)
{
	struct requester *requester = &qp->requester;
	struct rc_send *send = window_slot(qp, requester->head);

	if (requester->head == requester->tail) {
		if (!core->ops->take_send(core, qp, window_clear(send), window_tail(send)))
			return false;
	} else {
		requester->head++;
	}
	requester_complete(core, qp, send, IBV_WC_WR_FLUSH_ERR);
	return true;
}

static bool flush_recv(struct rc_core *core, struct rc_qp *qp)
{
	struct responder *responder = &qp->responder;
	struct rc_completion completion = {.status = IBV_WC_WR_FLUSH_ERR, .opcode = IBV_WC_RECV};
	bool invalid;

	/* The receives of an SRQ belong to the SRQ; only the one in use ends here. */
	if (!responder->has_recv &&
		(qp->has_srq || !core->ops->take_recv(core, qp, &responder->recv, &invalid)))
		return false;
	responder->has_recv = false;
	completion.wr_id = responder->recv.wr_id;
	completion.released = responder->recv.released;
	core->ops->complete_recv(core, qp, &completion);
	return true;
}

bool flush_run(struct rc_core *core, struct rc_qp *qp, unsigned int *budget)
{
	for (; *budget; (*budget)--) {
		if (flush_send(core, qp) || flush_recv(core, qp))
			continue;
		if (qp->last_wqe_due) {
			qp->last_wqe_due = false;
			core->ops->event(core, qp, IBV_EVENT_QP_LAST_WQE_REACHED);
		}
		return false;
	}
	return true;
}
