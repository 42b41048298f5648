/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events: opening and closing what carries them, asynchronous events, and the rule about destroyed
 * objects (man ibv_get_async_event, EP-9): events that nobody got are removed, those that were got
 * are waited for until they are acknowledged.
 */
#include "front.h"

int events_open(struct context *context, struct events *events, int fd, bool async)
{
	struct uroce_abi_command make = {.head.op = UROCE_ABI_CREATE_CHANNEL};
	int error;

	make.head.object = async;
	make.u.channel.eventfd = fd;
	error = command(context, &make);
	if (error)
		return error;
	events->handle = make.head.object;
	error = eventring_front_init(
		&events->ring, &context->attach->view, make.u.channel.ring, fd);
	if (error) {
		events_close(context, events);
		return error;
	}
	pthread_mutex_init(&events->lock, NULL);
	return 0;
}

void events_close(struct context *context, struct events *events)
{
	struct uroce_abi_command end = {.head.op = UROCE_ABI_DESTROY_CHANNEL};

	end.head.object = events->handle;
	(void)command(context, &end);
}

void wait_acknowledged(
	pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed, uint32_t got)
{
	pthread_mutex_lock(mutex);
	while (*completed != got)
		pthread_cond_wait(cond, mutex);
	pthread_mutex_unlock(mutex);
}

static enum object_kind kind_of(uint32_t type)
{
	switch (type) {
	case IBV_EVENT_CQ_ERR:
		return OBJECT_CQ;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return OBJECT_SRQ;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return OBJECT_QP;
	default: /* of the port or the device */
		return OBJECT_NONE;
	}
}

struct ended {
	enum object_kind kind;
	uint32_t handle;
};

static bool of_ended(const struct uroce_abi_event *event, const void *context)
{
	const struct ended *ended = context;

	return event->object == ended->handle && kind_of(event->type) == ended->kind;
}

void async_forget(struct context *context, enum object_kind kind, uint32_t handle)
{
	struct ended ended = {.kind = kind, .handle = handle};

	pthread_mutex_lock(&context->async.lock);
	eventring_purge(&context->async.ring, of_ended, &ended);
	pthread_mutex_unlock(&context->async.lock);
}

/* Under async.lock: the object that the event names, counted as got. False: it is gone. */
static bool deliver(
	struct context *context, const struct uroce_abi_event *event, struct ibv_async_event *out)
{
	struct qp *qp;
	struct cq *cq;
	struct srq *srq;

	out->event_type = event->type;
	switch (kind_of(event->type)) {
	case OBJECT_QP:
		qp = table_get(&context->qps, event->object);
		if (!qp)
			return false;
		qp->async_got++;
		out->element.qp = &qp->base;
		return true;
	case OBJECT_CQ:
		cq = table_get(&context->cqs, event->object);
		if (!cq)
			return false;
		cq->async_got++;
		out->element.cq = &cq->base;
		return true;
	case OBJECT_SRQ:
		srq = table_get(&context->srqs, event->object);
		if (!srq)
			return false;
		srq->async_got++;
		out->element.srq = &srq->base;
		return true;
	default:
		out->element.port_num = (int)event->object;
		return true;
	}
}

static bool take_async(struct context *context, struct ibv_async_event *out)
{
	struct uroce_abi_event event;
	bool taken;

	pthread_mutex_lock(&context->async.lock);
	taken = eventring_pop(&context->async.ring, &event) && deliver(context, &event, out);
	pthread_mutex_unlock(&context->async.lock);
	return taken;
}

EXPORT int ibv_get_async_event(struct ibv_context *ibv, struct ibv_async_event *event)
{
	struct context *context;
	int error;

	if (!is_ours(ibv))
		return REAL_CALL(ibv_get_async_event, minus_errno(-ENOSYS), ibv, event);
	context = to_context(ibv);
	do {
		error = attach_wait_event(context->attach, &context->async.ring);
		if (error)
			return minus_errno(error);
	} while (!take_async(context, event));
	return 0;
}

static void acknowledge(
	pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *completed, uint32_t count)
{
	pthread_mutex_lock(mutex);
	*completed += count;
	pthread_cond_broadcast(cond);
	pthread_mutex_unlock(mutex);
}

/* The counters are the public structs', where the installed library has them as well. */
EXPORT void ibv_ack_async_event(struct ibv_async_event *event)
{
	struct ibv_qp *qp = event->element.qp;
	struct ibv_cq *cq = event->element.cq;
	struct ibv_srq *srq = event->element.srq;

	switch (kind_of(event->event_type)) {
	case OBJECT_QP:
		acknowledge(&qp->mutex, &qp->cond, &qp->events_completed, 1);
		break;
	case OBJECT_CQ:
		acknowledge(&cq->mutex, &cq->cond, &cq->async_events_completed, 1);
		break;
	case OBJECT_SRQ:
		acknowledge(&srq->mutex, &srq->cond, &srq->events_completed, 1);
		break;
	default: /* of a port or device there is nothing to count; of a WQ, it isn't ours */
		if (event->event_type == IBV_EVENT_WQ_FATAL)
			REAL_CALL_VOID(ibv_ack_async_event, event);
	}
}

EXPORT void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	acknowledge(&cq->mutex, &cq->cond, &cq->comp_events_completed, nevents);
}
