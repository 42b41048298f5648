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

/* Up to where the completions polled so far free a queue of this QP. */
struct freed {
	uint32_t qp; /* the engine's handle; 0: of none */
	uint32_t position;
};

/*
 * Gives the slots back that completions cover. The QP exists as long as its completions are in the
 * CQ: destroy takes the CQ's lock, which the caller holds, to purge them.
 */
static void give_back(const struct context *context, const struct freed *freed, bool recv)
{
	struct qp *qp = freed->qp ? table_get(&context->qps, freed->qp) : NULL;

	if (!qp)
		return;
	if (!recv)
		wq_release(&qp->sq, freed->position);
	else if (qp->has_rq)
		wq_release(&qp->rq, freed->position);
}

/* Positions of a queue only grow, so that a row of its completions frees by the last one's. */
static void note(const struct context *context, struct freed *freed,
	const struct uroce_abi_cqe *cqe, bool recv)
{
	if (freed->qp != cqe->qp)
		give_back(context, freed, recv);
	*freed = (struct freed){cqe->qp, cqe->released};
}

/* The caller holds the CQ's lock. */
static int poll_some(struct cq *cq, int count, struct ibv_wc *wc)
{
	struct context *context = to_context(cq->base.context);
	struct freed sends = {0}, recvs = {0};
	struct cq_front_ring *sub;
	int polled = 0;

	while (polled < count && (sub = cq_look(&cq->front))) {
		const struct uroce_abi_cqe *cqe = cq_at(sub);
		bool recv = cqe->opcode & IBV_WC_RECV;

		note(context, recv ? &recvs : &sends, cqe, recv);
		fill(&wc[polled++], cqe);
		cq_step(sub, 1);
	}
	give_back(context, &sends, false);
	give_back(context, &recvs, true);
	return polled;
}

/* Man ibv_poll_cq: an overrun CQ cannot be used; what it still held has been returned. */
static int nothing(const struct cq *cq, int count)
{
	return count > 0 && cq_overrun(&cq->front) ? minus_errno(-EIO) : 0;
}

int verbs_poll_cq(struct ibv_cq *ibv, int count, struct ibv_wc *wc)
{
	struct cq *cq = to_cq(ibv);
	int polled;

	if (attach_dead(cq->attach))
		return minus_errno(-EIO);
	attach_drive(cq->attach);
	if (cq_idle(&cq->front)) /* as most polls find it */
		return nothing(cq, count);
	pthread_mutex_lock(&cq->lock);
	polled = poll_some(cq, count, wc);
	pthread_mutex_unlock(&cq->lock);
	return polled ? polled : nothing(cq, count);
}
