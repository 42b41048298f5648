/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues (man ibv_create_srq, ibv_modify_srq, ibv_query_srq). */
#include <stdlib.h>

#include "front.h"

static int check_attr(const struct context *context, const struct ibv_srq_attr *attr)
{
	if (attr->max_wr == 0 || attr->max_wr > (uint32_t)context->limits.max_srq_wr)
		return -EINVAL;
	return attr->max_sge > (uint32_t)context->limits.max_srq_sge ? -EINVAL : 0;
}

static int destroy_handle(struct context *context, uint32_t handle)
{
	struct uroce_abi_command end = {.head.op = UROCE_ABI_DESTROY_SRQ};

	end.head.object = handle;
	return command(context, &end);
}

static int create_handle(struct context *context, struct srq *srq, struct uroce_abi_command *make)
{
	int error = command(context, make);

	if (error)
		return error;
	srq->base.handle = make->head.object;
	srq->max_sge = make->u.srq.max_sge;
	error = wq_front_init(&srq->wq, &context->attach->view, make->u.srq.ring, true);
	if (!error)
		error = table_set(&context->srqs, srq->base.handle, srq);
	if (error)
		(void)destroy_handle(context, srq->base.handle);
	return error;
}

EXPORT struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	struct uroce_abi_command make = {.head.op = UROCE_ABI_CREATE_SRQ};
	struct context *context;
	struct srq *srq;
	int error;

	if (!is_ours(pd->context))
		return REAL_CALL(ibv_create_srq, null_errno(-ENOSYS), pd, init);
	context = to_context(pd->context);
	error = check_attr(context, &init->attr);
	if (error)
		return null_errno(error);
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return null_errno(-ENOMEM);
	srq->base.context = pd->context;
	srq->base.srq_context = init->srq_context;
	srq->base.pd = pd;
	srq->attach = context->attach;
	pthread_mutex_init(&srq->base.mutex, NULL);
	pthread_cond_init(&srq->base.cond, NULL);
	make.u.srq.pd = pd->handle;
	make.u.srq.max_wr = init->attr.max_wr;
	make.u.srq.max_sge = init->attr.max_sge;
	pthread_mutex_lock(&context->handles);
	error = create_handle(context, srq, &make);
	pthread_mutex_unlock(&context->handles);
	if (error) {
		free(srq);
		return null_errno(error);
	}
	init->attr.max_wr = make.u.srq.max_wr;
	init->attr.max_sge = make.u.srq.max_sge;
	return &srq->base;
}

/* The limit is below the depth; resizing isn't among the device's capabilities. */
EXPORT int ibv_modify_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr, int mask)
{
	struct uroce_abi_command modify = {.head.op = UROCE_ABI_MODIFY_SRQ};
	struct srq *srq;
	int error;

	if (!is_ours(ibv->context))
		return REAL_CALL(ibv_modify_srq, ENOSYS, ibv, attr, mask);
	srq = to_srq(ibv);
	if (attach_dead(srq->attach))
		return EIO;
	if (mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		return EINVAL;
	if (mask & IBV_SRQ_MAX_WR)
		return EOPNOTSUPP;
	if ((mask & IBV_SRQ_LIMIT) && attr->srq_limit > srq->wq.depth)
		return EINVAL;
	modify.head.object = ibv->handle;
	modify.u.srq.limit = attr->srq_limit;
	modify.u.srq.mask = (uint32_t)mask;
	error = attach_command(srq->attach, &modify);
	return -error;
}

EXPORT int ibv_query_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr)
{
	struct uroce_abi_command query = {.head.op = UROCE_ABI_QUERY_SRQ};
	struct srq *srq;
	int error;

	if (!is_ours(ibv->context))
		return REAL_CALL(ibv_query_srq, ENOSYS, ibv, attr);
	srq = to_srq(ibv);
	query.head.object = ibv->handle;
	error = attach_command(srq->attach, &query);
	if (error)
		return -error;
	attr->max_wr = query.u.srq.max_wr;
	attr->max_sge = query.u.srq.max_sge;
	attr->srq_limit = query.u.srq.limit;
	return 0;
}

EXPORT int ibv_destroy_srq(struct ibv_srq *ibv)
{
	struct context *context;
	struct srq *srq;
	int error;

	if (!is_ours(ibv->context))
		return REAL_CALL(ibv_destroy_srq, ENOSYS, ibv);
	context = to_context(ibv->context);
	srq = to_srq(ibv);
	if (attach_dead(srq->attach))
		return EIO;
	pthread_mutex_lock(&context->handles);
	error = destroy_handle(context, ibv->handle);
	if (!error) {
		(void)table_set(&context->srqs, ibv->handle, NULL);
		async_forget(context, OBJECT_SRQ, ibv->handle);
	}
	pthread_mutex_unlock(&context->handles);
	if (error)
		return -error;
	wait_acknowledged(&ibv->mutex, &ibv->cond, &ibv->events_completed, srq->async_got);
	free(srq);
	return 0;
}
