/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ibv_poll_cq(). Inline, polling is what drives the engine: one round per call, before the look
 * into the CQ, so that what arrived is seen at once.
 */
#include "front.h"

static void fill(struct ibv_wc *wc, const struct uroce_abi_cqe *cqe)
{
	wc->wr_id = cqe->wr_id;
	wc->status = cqe->status;
	wc->opcode = cqe->opcode;
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	wc->imm_data = cqe->imm_or_rkey;
	wc->qp_num = cqe->qp_num;
	wc->src_qp = cqe->src_qp;
	wc->wc_flags = cqe->flags;
	wc->pkey_index = cqe->pkey_index;
	wc->slid = 0;
	wc->sl = cqe->sl;
	wc->dlid_path_bits = 0;
}

/*
 * Gives the slots back that the completion covers. The QP exists as long as its completions are in
 * the CQ: destroy takes the CQ's lock, which the caller holds, to purge them.
 */
static void release(const struct context *context, const struct uroce_abi_cqe *cqe)
{
	struct qp *qp = table_get(&context->qps, cqe->qp);

	if (!qp)
		return;
	if (!(cqe->opcode & IBV_WC_RECV))
		wq_release(&qp->sq, cqe->released);
	else if (qp->has_rq)
		wq_release(&qp->rq, cqe->released);
}

int verbs_poll_cq(struct ibv_cq *ibv, int count, struct ibv_wc *wc)
{
	struct cq *cq = to_cq(ibv);
	struct context *context = to_context(ibv->context);
	struct uroce_abi_cqe cqe;
	int polled = 0;

	if (attach_dead(cq->attach))
		return minus_errno(-EIO);
	attach_drive(cq->attach);
	pthread_mutex_lock(&cq->lock);
	while (polled < count && cq_poll(&cq->front, &cqe)) {
		release(context, &cqe);
		fill(&wc[polled++], &cqe);
	}
	/* Man ibv_poll_cq: an overrun CQ cannot be used; what it still held has been returned. */
	if (polled == 0 && count > 0 && cq_overrun(&cq->front))
		polled = minus_errno(-EIO);
	pthread_mutex_unlock(&cq->lock);
	return polled;
}
