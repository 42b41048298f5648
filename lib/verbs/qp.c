/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue pairs: made, modified, queried, destroyed (man ibv_create_qp, ibv_modify_qp). */
#include <stdlib.h>

#include "front.h"

/* ---- states, as posts see them ---- */

static enum refusal send_refusal(const struct qp *qp, enum ibv_qp_state state)
{
	if (state == IBV_QPS_RESET || state == IBV_QPS_INIT)
		return REFUSE_STATE;
	return state == IBV_QPS_RTR && qp->strict ? REFUSE_STRICT : REFUSE_NOT;
}

static void set_refusals(struct qp *qp, enum ibv_qp_state state)
{
	__atomic_store_n(&qp->send_refusal, send_refusal(qp, state), __ATOMIC_RELAXED);
	__atomic_store_n(&qp->recv_refusal, state == IBV_QPS_RESET ? REFUSE_STATE : REFUSE_NOT,
		__ATOMIC_RELAXED);
}

void qp_set_strict(struct qp *qp, bool strict)
{
	qp->strict = strict;
	set_refusals(qp, qp->base.state);
}

static void forget_completions(struct qp *qp)
{
	cq_forget(to_cq(qp->base.send_cq), qp->base.handle);
	if (qp->base.recv_cq != qp->base.send_cq)
		cq_forget(to_cq(qp->base.recv_cq), qp->base.handle);
}

/* RESET: the engine has emptied the queues. Completions go first: each names slots to free. */
static void reset_queues(struct qp *qp)
{
	forget_completions(qp);
	wq_front_reset(&qp->sq);
	if (qp->has_rq)
		wq_front_reset(&qp->rq);
}

void qp_moved(struct qp *qp, enum ibv_qp_state state)
{
	if (state == IBV_QPS_RESET)
		reset_queues(qp);
	qp->base.state = state;
	set_refusals(qp, state);
}

/* ---- create ---- */

static bool of_context(const struct ibv_context *context, const struct ibv_qp_init_attr *init)
{
	return init->send_cq && init->send_cq->context == context && init->recv_cq &&
		init->recv_cq->context == context && (!init->srq || init->srq->context == context);
}

static int destroy_handle(struct context *context, uint32_t handle)
{
	struct uroce_abi_command end = {.head.op = UROCE_ABI_DESTROY_QP};

	end.head.object = handle;
	return command(context, &end);
}

static void request(struct uroce_abi_command *make, const struct ibv_pd *pd,
	const struct ibv_qp_init_attr *init)
{
	make->u.create_qp.cap = init->cap;
	make->u.create_qp.type = init->qp_type;
	make->u.create_qp.pd = pd->handle;
	make->u.create_qp.send_cq = init->send_cq->handle;
	make->u.create_qp.recv_cq = init->recv_cq->handle;
	make->u.create_qp.srq = init->srq ? init->srq->handle : 0;
	make->u.create_qp.sq_sig_all = init->sq_sig_all != 0;
}

/* The most SGEs that a slot behind its record holds, if the engine granted even more. */
static uint32_t fitting(uint32_t sges, const struct wq_front *wq)
{
	uint32_t room = (wq->stride - sizeof(struct uroce_abi_send_wqe)) / sizeof(struct ibv_sge);

	return sges < room ? sges : room;
}

static int open_queues(
	struct qp *qp, const struct region_view *view, const struct uroce_abi_command *made)
{
	uint32_t room;
	int error = wq_front_init(&qp->sq, view, made->u.create_qp.sq, false);

	qp->has_rq = made->u.create_qp.rq != 0;
	if (!error && qp->has_rq)
		error = wq_front_init(&qp->rq, view, made->u.create_qp.rq, false);
	if (error)
		return error;
	room = qp->sq.stride - (uint32_t)sizeof(struct uroce_abi_send_wqe);
	qp->max_inline = made->u.create_qp.cap.max_inline_data;
	if (qp->max_inline > room)
		qp->max_inline = room;
	qp->max_send_sge = fitting(made->u.create_qp.cap.max_send_sge, &qp->sq);
	if (qp->has_rq)
		qp->max_recv_sge = fitting(made->u.create_qp.cap.max_recv_sge, &qp->rq);
	return made->u.create_qp.core < UROCE_ABI_MAX_CORES ? 0 : -EPROTO;
}

static int create_handle(struct context *context, struct qp *qp, struct uroce_abi_command *make)
{
	int error = command(context, make);

	if (error)
		return error;
	qp->base.handle = make->head.object;
	qp->base.qp_num = make->u.create_qp.qp_num;
	qp->core = make->u.create_qp.core;
	error = open_queues(qp, &context->attach->view, make);
	if (!error)
		error = table_set(&context->qps, qp->base.handle, qp);
	if (error)
		(void)destroy_handle(context, qp->base.handle);
	return error;
}

static struct qp *allocate(
	struct context *context, struct ibv_pd *pd, const struct ibv_qp_init_attr *init)
{
	struct qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	qp->base.context = pd->context;
	qp->base.qp_context = init->qp_context;
	qp->base.pd = pd;
	qp->base.send_cq = init->send_cq;
	qp->base.recv_cq = init->recv_cq;
	qp->base.srq = init->srq;
	qp->base.qp_type = init->qp_type;
	qp->base.state = IBV_QPS_RESET;
	qp->attach = context->attach;
	qp->always = init->sq_sig_all ? IBV_SEND_SIGNALED : 0;
	pthread_mutex_init(&qp->lock, NULL);
	pthread_mutex_init(&qp->base.mutex, NULL);
	pthread_cond_init(&qp->base.cond, NULL);
	set_refusals(qp, IBV_QPS_RESET);
	return qp;
}

static struct ibv_qp *create(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct uroce_abi_command make = {.head.op = UROCE_ABI_CREATE_QP};
	struct context *context = to_context(pd->context);
	struct qp *qp;
	int error;

	if (!of_context(pd->context, init))
		return null_errno(-EINVAL);
	qp = allocate(context, pd, init);
	if (!qp)
		return null_errno(-ENOMEM);
	request(&make, pd, init);
	pthread_mutex_lock(&context->handles);
	error = create_handle(context, qp, &make);
	pthread_mutex_unlock(&context->handles);
	if (error) {
		free(qp);
		return null_errno(error);
	}
	init->cap = make.u.create_qp.cap;
	return &qp->base;
}

EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	if (!is_ours(pd->context))
		return REAL_CALL(ibv_create_qp, null_errno(-ENOSYS), pd, init);
	return create(pd, init);
}

/* What the plain call can do; create_flags may be named if none is set. */
struct ibv_qp *verbs_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *init)
{
	uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;

	if (init->comp_mask & ~known)
		return null_errno(-EOPNOTSUPP);
	if ((init->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) && init->create_flags)
		return null_errno(-EOPNOTSUPP);
	if (!(init->comp_mask & IBV_QP_INIT_ATTR_PD) || !init->pd || init->pd->context != context)
		return null_errno(-EINVAL);
	return create(init->pd, (struct ibv_qp_init_attr *)init);
}

EXPORT struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	if (!is_ours(qp->context))
		return REAL_CALL(ibv_qp_to_qp_ex, null_errno(-ENOSYS), qp);
	return null_errno(-EOPNOTSUPP); /* none was created with IBV_QP_INIT_ATTR_SEND_OPS_FLAGS */
}

/* ---- modify, query ---- */

static int modify(struct qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	struct uroce_abi_command change = {.head.op = UROCE_ABI_MODIFY_QP};
	bool moves = mask & IBV_QP_STATE;
	int error;

	change.head.object = qp->base.handle;
	change.u.qp.attr = *attr;
	change.u.qp.mask = mask;
	/* From before the queues are emptied until they are: no posts. */
	if (moves && attr->qp_state == IBV_QPS_RESET)
		set_refusals(qp, IBV_QPS_RESET);
	error = attach_command(qp->attach, &change);
	if (error)
		set_refusals(qp, qp->base.state);
	else if (moves)
		qp_moved(qp, attr->qp_state);
	return error;
}

EXPORT int ibv_modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask)
{
	struct qp *qp;
	int error;

	if (!is_ours(ibv->context))
		return REAL_CALL(ibv_modify_qp, ENOSYS, ibv, attr, mask);
	qp = to_qp(ibv);
	if (attach_dead(qp->attach))
		return EIO;
	pthread_mutex_lock(&qp->lock);
	error = modify(qp, attr, mask);
	pthread_mutex_unlock(&qp->lock);
	return -error;
}

static void fill_init(
	const struct qp *qp, const struct ibv_qp_cap *cap, struct ibv_qp_init_attr *init)
{
	init->qp_context = qp->base.qp_context;
	init->send_cq = qp->base.send_cq;
	init->recv_cq = qp->base.recv_cq;
	init->srq = qp->base.srq;
	init->cap = *cap;
	init->qp_type = qp->base.qp_type;
	init->sq_sig_all = qp->always != 0;
}

EXPORT int ibv_query_qp(
	struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
	struct uroce_abi_command query = {.head.op = UROCE_ABI_QUERY_QP};
	struct qp *qp;
	int error;

	if (!is_ours(ibv->context))
		return REAL_CALL(ibv_query_qp, ENOSYS, ibv, attr, mask, init);
	qp = to_qp(ibv);
	if (attach_dead(qp->attach))
		return EIO;
	query.head.object = ibv->handle;
	query.u.qp.mask = mask;
	pthread_mutex_lock(&qp->lock);
	error = attach_command(qp->attach, &query);
	if (!error) {
		*attr = query.u.qp.attr;
		fill_init(qp, &query.u.qp.cap, init);
		if (mask & IBV_QP_STATE) /* as the installed library does */
			ibv->state = attr->qp_state;
	}
	pthread_mutex_unlock(&qp->lock);
	return -error;
}

/* ---- destroy ---- */

EXPORT int ibv_destroy_qp(struct ibv_qp *ibv)
{
	struct context *context;
	struct qp *qp;
	int error;

	if (!is_ours(ibv->context))
		return REAL_CALL(ibv_destroy_qp, ENOSYS, ibv);
	context = to_context(ibv->context);
	qp = to_qp(ibv);
	if (attach_dead(qp->attach))
		return EIO;
	pthread_mutex_lock(&context->handles);
	error = destroy_handle(context, ibv->handle);
	if (!error) {
		(void)table_set(&context->qps, ibv->handle, NULL);
		forget_completions(qp);
		async_forget(context, OBJECT_QP, ibv->handle);
	}
	pthread_mutex_unlock(&context->handles);
	if (error)
		return -error;
	wait_acknowledged(&ibv->mutex, &ibv->cond, &ibv->events_completed, qp->async_got);
	pthread_mutex_destroy(&qp->lock);
	free(qp);
	return 0;
}
