/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests are copied out of the region once and validated; completions go into the CQ's ring in
 * place. What a completion causes besides (overrun, an event for an armed CQ) waits for the end of
 * the round: the transport is in the middle of something when it calls.
 */
#include "queues.h"

#include "events.h"
#include "log.h"
#include "mail.h"
#include "state.h"
#include "wqe.h"

static struct engine_qp *to_qp(const struct rc_qp *rc)
{
	return rc_qp_user(rc);
}

/* ---- requests ---- */

static bool take_send(struct rc_core *core, struct rc_qp *rc, struct rc_send *send, void *tail)
{
	struct engine_qp *qp = to_qp(rc);
	const struct wqe_limits limits = {qp->sq.max_sge, qp->sq.max_inline};
	struct uroce_abi_send_wqe wqe;
	uint32_t position;

	if (!wq_take_send(&qp->sq, &wqe, tail, qp->tail_size, &position))
		return false;
	send->released = position + 1;
	if (!wqe_send(&wqe, tail, &limits, send))
		to_worker(core)->counters.invalid_sends++;
	if (qp->sq_sig_all)
		send->flags |= IBV_SEND_SIGNALED;
	return true;
}

static uint32_t sge_bytes(const struct wq_engine *wq)
{
	return wq->max_sge * (uint32_t)sizeof(struct mem_sge);
}

/* An SRQ's slots are free as soon as they are claimed: completions free none. */
static bool take_slot(struct engine_qp *qp, struct uroce_abi_recv_wqe *wqe, struct rc_recv *recv)
{
	uint32_t position;

	recv->released = 0;
	if (qp->srq)
		return wq_claim(&qp->srq->wq, wqe, recv->sge, sge_bytes(&qp->srq->wq));
	if (!wq_take(&qp->rq, wqe, recv->sge, sge_bytes(&qp->rq), &position))
		return false;
	recv->released = position + 1;
	return true;
}

static bool take_recv(struct rc_core *core, struct rc_qp *rc, struct rc_recv *recv, bool *invalid)
{
	struct engine_qp *qp = to_qp(rc);
	const struct wq_engine *wq = qp->srq ? &qp->srq->wq : &qp->rq;
	struct uroce_abi_recv_wqe wqe;

	if (!take_slot(qp, &wqe, recv))
		return false;
	*invalid = !wqe_recv(&wqe, wq->max_sge, recv);
	if (*invalid)
		to_worker(core)->counters.invalid_recvs++;
	if (qp->srq)
		queues_check_limit(to_worker(core), qp->srq);
	return true;
}

/* By the producer index, which is the client's word and moves before the records are valid: what
 * depends on it is a count and the client's own event. */
static uint32_t posted_in(const struct wq_engine *wq)
{
	uint32_t produced = __atomic_load_n(&wq->ring->producer.index, __ATOMIC_RELAXED);
	uint32_t posted = produced - __atomic_load_n(&wq->taken, __ATOMIC_SEQ_CST);

	return posted <= wq->depth ? posted : wq->depth;
}

static uint32_t posted(struct rc_core *core, struct rc_qp *rc)
{
	return posted_in(&to_qp(rc)->sq);
}

/*
 * Of the cores that see it undershot, the one that disarms it raises the event. Setting the limit
 * and claiming a receive is store buffering: each is followed by a look at the other, and all four
 * accesses are sequentially consistent, so that one of the two sees the limit undershot.
 */
void queues_check_limit(struct worker *worker, struct engine_srq *srq)
{
	uint32_t limit = __atomic_load_n(&srq->limit, __ATOMIC_SEQ_CST);

	if (limit == 0 || posted_in(&srq->wq) >= limit)
		return;
	if (__atomic_compare_exchange_n(
		    &srq->limit, &limit, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		events_raise(worker, client_events(srq->client), &srq->events[worker->number],
			IBV_EVENT_SRQ_LIMIT_REACHED);
}

/* ---- completions ---- */

static void fill(struct uroce_abi_cqe *cqe, const struct engine_qp *qp,
	const struct rc_completion *completion, uint64_t now)
{
	*cqe = (struct uroce_abi_cqe){
		.wr_id = completion->wr_id,
		.timestamp = now,
		.qp_num = qp->qp_num,
		.qp = qp->handle,
		.status = (uint8_t)completion->status,
		.opcode = (uint8_t)completion->opcode,
		.flags = (uint8_t)completion->flags,
		.solicited = completion->solicited,
		.vendor_err = completion->vendor_err,
		.byte_len = completion->byte_len,
		.imm_or_rkey = completion->imm_or_rkey,
		.src_qp = completion->src_qp,
		.released = completion->released,
	};
}

static void complete(struct worker *worker, struct cq_share *share, const struct engine_qp *qp,
	const struct rc_completion *completion)
{
	struct uroce_abi_cqe *cqe = cq_slot(&share->ring);

	if (!cqe) {
		worker->counters.cq_overruns++;
		if (!list_linked(&share->failed))
			list_append(&worker->failed, &share->failed);
		return;
	}
	fill(cqe, qp, completion, worker->core.now);
	cq_push(&share->ring, completion->solicited || completion->status != IBV_WC_SUCCESS);
	if (!list_linked(&share->touched))
		list_append(&worker->touched, &share->touched);
}

static void complete_send(
	struct rc_core *core, struct rc_qp *rc, const struct rc_completion *completion)
{
	const struct engine_qp *qp = to_qp(rc);

	complete(to_worker(core), qp->send_cq, qp, completion);
}

static void complete_recv(
	struct rc_core *core, struct rc_qp *rc, const struct rc_completion *completion)
{
	const struct engine_qp *qp = to_qp(rc);

	complete(to_worker(core), qp->recv_cq, qp, completion);
}

/* ---- the rest of the transport's wishes ---- */

static void event(struct rc_core *core, struct rc_qp *rc, enum ibv_event_type type)
{
	struct engine_qp *qp = to_qp(rc);

	events_raise(to_worker(core), client_events(qp->client), &qp->events, type);
}

static void activate(struct rc_core *core, struct rc_qp *rc)
{
	scheduler_add(to_qp(rc));
}

/* In ERR posts are flushed, receives too, so they must be heard of. The transport activates the QP
 * afterwards: that is the look at the queue that has to follow the notice. */
static void state_changed(struct rc_core *core, struct rc_qp *rc, enum ibv_qp_state state)
{
	struct engine_qp *qp = to_qp(rc);

	if (state != IBV_QPS_ERR)
		return;
	scheduler_move(qp, &qp->worker->flushing);
	if (!qp->srq)
		wq_set_notice(&qp->rq, UROCE_ABI_ANNOUNCE_RECV);
}

/* Told to the CM by who has one. */
static void opened(struct rc_core *core, struct rc_qp *rc, int cause)
{
}

const struct rc_ops queues_ops = {
	.take_send = take_send,
	.take_recv = take_recv,
	.posted = posted,
	.complete_send = complete_send,
	.complete_recv = complete_recv,
	.event = event,
	.activate = activate,
	.state_changed = state_changed,
	.opened = opened,
};

void queues_reset(struct engine_qp *qp)
{
	wq_reset(&qp->sq);
	if (qp->srq)
		return;
	wq_reset(&qp->rq);
	wq_set_notice(&qp->rq, 0);
}

/* ---- the end of a round ---- */

static void report_overrun(struct worker *worker, struct cq_share *share)
{
	struct engine_cq *cq = share->cq;

	if (__atomic_exchange_n(&cq->reported, 1, __ATOMIC_RELAXED))
		return;
	if (log_limited(&worker->log, worker->core.now))
		log_warning("%s: client %u: CQ %u of %u entries overran: it and its QPs are in "
			    "error",
			worker->engine->name, cq->client->number, cq->handle, share->ring.depth);
	events_raise(worker, client_events(cq->client), &share->events, IBV_EVENT_CQ_ERR);
	mail_failed_cq(worker, cq);
}

/* Man ibv_create_cq, IBTA 11.6.3.1: the CQ is in error, and so are the QPs that use it, those of
 * other cores by a mail to them. */
static void fail_qps(struct worker *worker, struct cq_share *share)
{
	list_for_each_safe (sender, &share->senders)
		rc_error(&worker->core, container_of(sender, struct engine_qp, send_node)->rc);
	list_for_each_safe (receiver, &share->receivers)
		rc_error(&worker->core, container_of(receiver, struct engine_qp, recv_node)->rc);
}

void queues_settle(struct worker *worker)
{
	while (!list_empty(&worker->failed)) {
		struct cq_share *share =
			container_of(list_first(&worker->failed), struct cq_share, failed);

		list_remove(&share->failed);
		report_overrun(worker, share);
		fail_qps(worker, share);
	}
	while (!list_empty(&worker->touched)) {
		struct cq_share *share =
			container_of(list_first(&worker->touched), struct cq_share, touched);

		list_remove(&share->touched);
		if (cq_arm_check(&share->ring, share->cq->share[0].ring.ring) && share->cq->channel)
			events_raise(worker, share->cq->channel, &share->completions,
				UROCE_ABI_EVENT_COMP);
	}
}
