/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues: made, resized, armed, destroyed (man ibv_create_cq, ibv_resize_cq). */
#include <stdlib.h>

#include "front.h"

static int check_create(
	const struct context *context, int cqe, const struct ibv_comp_channel *channel, int vector)
{
	const struct ibv_context *ibv = &context->verbs.context;

	if (cqe < 1 || cqe > context->limits.max_cqe)
		return -EINVAL;
	if (vector < 0 || vector >= ibv->num_comp_vectors)
		return -EINVAL;
	return channel && channel->context != ibv ? -EINVAL : 0;
}

static void count_user(struct ibv_comp_channel *ibv, int change)
{
	struct channel *channel;

	if (!ibv)
		return;
	channel = to_channel(ibv);
	pthread_mutex_lock(&channel->events.lock);
	ibv->refcnt += change;
	pthread_mutex_unlock(&channel->events.lock);
}

static int destroy_handle(struct context *context, uint32_t handle)
{
	struct uroce_abi_command end = {.head.op = UROCE_ABI_DESTROY_CQ};

	end.head.object = handle;
	return command(context, &end);
}

static int create_handle(struct context *context, struct cq *cq, struct uroce_abi_command *make)
{
	int error = command(context, make);

	if (error)
		return error;
	cq->base.handle = make->head.object;
	cq->base.cqe = (int)make->u.cq.cqe;
	error = cq_front_init(
		&cq->front, &context->attach->view, make->u.cq.rings, make->u.cq.ring);
	if (!error)
		error = table_set(&context->cqs, cq->base.handle, cq);
	if (error)
		(void)destroy_handle(context, cq->base.handle);
	return error;
}

EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *ibv, int cqe, void *cq_context,
	struct ibv_comp_channel *channel, int comp_vector)
{
	struct uroce_abi_command make = {.head.op = UROCE_ABI_CREATE_CQ};
	struct context *context;
	struct cq *cq;
	int error;

	if (!is_ours(ibv))
		return REAL_CALL(ibv_create_cq, null_errno(-ENOSYS), ibv, cqe, cq_context, channel,
			comp_vector);
	context = to_context(ibv);
	error = check_create(context, cqe, channel, comp_vector);
	if (error)
		return null_errno(error);
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return null_errno(-ENOMEM);
	cq->base.context = ibv;
	cq->base.channel = channel;
	cq->base.cq_context = cq_context;
	cq->attach = context->attach;
	make.u.cq.cqe = (uint32_t)cqe;
	make.u.cq.channel = channel ? to_channel(channel)->events.handle : 0;
	make.u.cq.vector = (uint32_t)comp_vector;
	pthread_mutex_init(&cq->lock, NULL);
	pthread_mutex_init(&cq->base.mutex, NULL);
	pthread_cond_init(&cq->base.cond, NULL);
	pthread_mutex_lock(&context->handles);
	error = create_handle(context, cq, &make);
	pthread_mutex_unlock(&context->handles);
	if (error) {
		free(cq);
		return null_errno(error);
	}
	count_user(channel, 1);
	return &cq->base;
}

EXPORT int ibv_resize_cq(struct ibv_cq *ibv, int cqe)
{
	struct uroce_abi_command resize = {.head.op = UROCE_ABI_RESIZE_CQ};
	struct cq *cq;
	int error;

	if (!is_ours(ibv->context))
		return REAL_CALL(ibv_resize_cq, ENOSYS, ibv, cqe);
	cq = to_cq(ibv);
	if (attach_dead(cq->attach))
		return EIO;
	if (cqe < 1 || cqe > to_context(ibv->context)->limits.max_cqe)
		return EINVAL;
	resize.head.object = ibv->handle;
	resize.u.cq.cqe = (uint32_t)cqe;
	/* Nobody polls meanwhile, so what the engine counts as pending stays so. */
	pthread_mutex_lock(&cq->lock);
	error = attach_command(cq->attach, &resize);
	if (!error)
		error = cq_front_resize(&cq->front, resize.u.cq.ring);
	if (!error)
		ibv->cqe = (int)resize.u.cq.cqe;
	pthread_mutex_unlock(&cq->lock);
	return -error;
}

int verbs_req_notify_cq(struct ibv_cq *ibv, int solicited_only)
{
	struct cq *cq = to_cq(ibv);

	if (attach_dead(cq->attach))
		return EIO;
	cq_arm(&cq->front, solicited_only);
	return 0;
}

void cq_forget(struct cq *cq, uint32_t qp)
{
	pthread_mutex_lock(&cq->lock);
	cq_purge(&cq->front, qp, NULL, NULL);
	pthread_mutex_unlock(&cq->lock);
}

static bool of_cq(const struct uroce_abi_event *event, const void *context)
{
	const struct cq *cq = context;

	return event->type == UROCE_ABI_EVENT_COMP && event->object == cq->base.handle;
}

/* Nobody gets an event of this CQ any more when this returns. */
static void forget(struct context *context, struct cq *cq)
{
	struct channel *channel = cq->base.channel ? to_channel(cq->base.channel) : NULL;

	(void)table_set(&context->cqs, cq->base.handle, NULL);
	async_forget(context, OBJECT_CQ, cq->base.handle);
	if (!channel)
		return;
	pthread_mutex_lock(&channel->events.lock);
	eventring_purge(&channel->events.ring, of_cq, cq);
	pthread_mutex_unlock(&channel->events.lock);
}

EXPORT int ibv_destroy_cq(struct ibv_cq *ibv)
{
	struct context *context;
	struct cq *cq;
	int error;

	if (!is_ours(ibv->context))
		return REAL_CALL(ibv_destroy_cq, ENOSYS, ibv);
	context = to_context(ibv->context);
	cq = to_cq(ibv);
	if (attach_dead(cq->attach))
		return EIO;
	pthread_mutex_lock(&context->handles);
	error = destroy_handle(context, ibv->handle);
	if (!error)
		forget(context, cq);
	pthread_mutex_unlock(&context->handles);
	if (error)
		return -error;
	wait_acknowledged(
		&ibv->mutex, &ibv->cond, &ibv->comp_events_completed, cq->completions_got);
	wait_acknowledged(&ibv->mutex, &ibv->cond, &ibv->async_events_completed, cq->async_got);
	count_user(ibv->channel, -1);
	pthread_mutex_destroy(&cq->lock);
	free(cq);
	return 0;
}
