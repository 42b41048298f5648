/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory windows (man ibv_alloc_mw, ibv_bind_mw). verbs.h checks what a bind of type 1 requires. */
#include <stdlib.h>

#include "front.h"

struct ibv_mw *verbs_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct uroce_abi_command alloc = {.head.op = UROCE_ABI_ALLOC_MW};
	struct ibv_mw *mw;
	int error;

	if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2)
		return null_errno(-EINVAL);
	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return null_errno(-ENOMEM);
	alloc.u.mr.pd = pd->handle;
	alloc.u.mr.type = type;
	error = command(to_context(pd->context), &alloc);
	if (error) {
		free(mw);
		return null_errno(error);
	}
	mw->context = pd->context;
	mw->pd = pd;
	mw->rkey = alloc.u.mr.key;
	mw->handle = alloc.u.mr.key;
	mw->type = type;
	return mw;
}

/* By the key that it has now; binds change its low byte. */
int verbs_dealloc_mw(struct ibv_mw *mw)
{
	struct uroce_abi_command dealloc = {.head.op = UROCE_ABI_DEALLOC_MW};
	int error;

	dealloc.u.mr.key = mw->rkey;
	error = command(to_context(mw->context), &dealloc);
	if (!error)
		free(mw);
	return -error;
}

/*
 * Type 1. The man page wants the new key in mw->rkey when this returns, before the bind has run, so
 * the front chooses it: the next low byte, as for type 2.
 */
int verbs_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct ibv_send_wr wr = {
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind->send_flags,
		.bind_mw = {.mw = mw, .rkey = ibv_inc_rkey(mw->rkey), .bind_info = bind->bind_info},
	};
	int error;

	if (qp->context != mw->context || qp->pd != mw->pd)
		return EINVAL;
	error = post_bind(to_qp(qp), &wr);
	if (!error)
		mw->rkey = wr.bind_mw.rkey;
	return error;
}
