/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion channels (man ibv_create_comp_channel, ibv_get_cq_event). */
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "front.h"

EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *ibv)
{
	struct channel *channel;
	int error = 0;

	if (!is_ours(ibv))
		return REAL_CALL(ibv_create_comp_channel, null_errno(-ENOSYS), ibv);
	channel = calloc(1, sizeof(*channel));
	if (!channel)
		return null_errno(-ENOMEM);
	channel->base.context = ibv;
	channel->base.fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	if (channel->base.fd < 0)
		error = -errno;
	if (!error)
		error = events_open(to_context(ibv), &channel->events, channel->base.fd, false);
	if (!error)
		return &channel->base;
	if (channel->base.fd >= 0)
		close(channel->base.fd);
	free(channel);
	return null_errno(error);
}

EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *ibv)
{
	struct channel *channel;
	int users;

	if (!is_ours(ibv->context))
		return REAL_CALL(ibv_destroy_comp_channel, ENOSYS, ibv);
	channel = to_channel(ibv);
	if (attach_dead(to_context(ibv->context)->attach))
		return EIO;
	pthread_mutex_lock(&channel->events.lock);
	users = ibv->refcnt;
	pthread_mutex_unlock(&channel->events.lock);
	if (users)
		return EBUSY;
	events_close(to_context(ibv->context), &channel->events);
	pthread_mutex_destroy(&channel->events.lock);
	close(ibv->fd);
	free(channel);
	return 0;
}

/* The next event's CQ, counted as got; NULL: its CQ is gone, or a purge was faster. */
static struct cq *take_event(struct context *context, struct channel *channel)
{
	struct uroce_abi_event event;
	struct cq *cq = NULL;

	pthread_mutex_lock(&channel->events.lock);
	if (eventring_pop(&channel->events.ring, &event))
		cq = table_get(&context->cqs, event.object);
	if (cq)
		cq->completions_got++;
	pthread_mutex_unlock(&channel->events.lock);
	return cq;
}

EXPORT int ibv_get_cq_event(struct ibv_comp_channel *ibv, struct ibv_cq **cq, void **cq_context)
{
	struct channel *channel;
	struct context *context;
	struct cq *got;
	int error;

	if (!is_ours(ibv->context))
		return REAL_CALL(ibv_get_cq_event, minus_errno(-ENOSYS), ibv, cq, cq_context);
	channel = to_channel(ibv);
	context = to_context(ibv->context);
	do {
		error = attach_wait_event(context->attach, &channel->events.ring);
		if (error)
			return minus_errno(error);
		got = take_event(context, channel);
	} while (!got);
	*cq = &got->base;
	*cq_context = got->base.cq_context;
	return 0;
}
