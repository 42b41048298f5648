/* SPDX-License-Identifier: BSD-3-Clause */
/* CREATE_QP, QUERY_QP, DESTROY_QP. */
#include "command.h"

#include <errno.h>
#include <stdlib.h>

#include "events.h"

#define PKEY_DEFAULT 0xffffu /* the one entry of the table, full member */

/* What the request's handles stand for. */
struct parts {
	struct engine_pd *pd;
	struct engine_cq *send_cq;
	struct engine_cq *recv_cq;
	struct engine_srq *srq;
};

static int find_parts(const struct command *command, struct parts *parts)
{
	const struct client *client = command->client;

	parts->pd = client_object(client, OBJECT_PD, command->abi.u.create_qp.pd);
	parts->send_cq = client_object(client, OBJECT_CQ, command->abi.u.create_qp.send_cq);
	parts->recv_cq = client_object(client, OBJECT_CQ, command->abi.u.create_qp.recv_cq);
	parts->srq = client_object(client, OBJECT_SRQ, command->abi.u.create_qp.srq);
	if (!parts->pd || !parts->send_cq || !parts->recv_cq)
		return -EINVAL;
	if (command->abi.u.create_qp.srq && !parts->srq)
		return -EINVAL;
	/* The transport checks keys of receives against the QP's PD. */
	return 0;
}

/* man ibv_create_qp: with an SRQ, max_recv_wr and max_recv_sge are ignored. */
static int check_cap(struct ibv_qp_cap *cap, bool has_srq)
{
	if (has_srq) {
		cap->max_recv_wr = 0;
		cap->max_recv_sge = 0;
	}
	if (cap->max_send_wr > LIMIT_QP_WR || cap->max_recv_wr > LIMIT_QP_WR ||
		cap->max_send_sge > LIMIT_SGE || cap->max_recv_sge > LIMIT_SGE ||
		cap->max_inline_data > LIMIT_INLINE)
		return -EINVAL;
	return 0;
}

/* ---- creation, step by step; each undoes its own on failure ---- */

static int make_queues(struct region *region, struct engine_qp *qp)
{
	const struct ibv_qp_cap *cap = &qp->cap;
	int error = wq_create(
		region, cap->max_send_wr, cap->max_send_sge, cap->max_inline_data, &qp->sq);

	if (error || qp->srq)
		return error;
	error = wq_create(region, cap->max_recv_wr, cap->max_recv_sge, 0, &qp->rq);
	if (error)
		wq_destroy(region, &qp->sq);
	return error;
}

static void free_queues(struct region *region, struct engine_qp *qp)
{
	wq_destroy(region, &qp->sq);
	if (!qp->srq)
		wq_destroy(region, &qp->rq);
}

static uint32_t tail_size(const struct ibv_qp_cap *cap)
{
	uint32_t sges = cap->max_send_sge * (uint32_t)sizeof(struct mem_sge);

	return sges > cap->max_inline_data ? sges : cap->max_inline_data;
}

static int make_transport(struct worker *worker, struct engine_qp *qp, bool strict)
{
	const struct rc_qp_attr attr = {
		.qp_num = qp->qp_num,
		.pd = qp->pd->number,
		.recv_pd = qp->srq ? qp->srq->pd->number : qp->pd->number,
		.sq_depth = qp->cap.max_send_wr,
		.max_send_sge = qp->cap.max_send_sge,
		.max_recv_sge = qp->srq ? qp->srq->wq.max_sge : qp->rq.max_sge,
		.max_inline = qp->cap.max_inline_data,
		.max_rd_atomic = LIMIT_RD_ATOMIC,
		.strict = strict,
		.has_srq = qp->srq != NULL,
		.pkey = PKEY_DEFAULT,
	};

	return rc_qp_create(&worker->core, &attr, qp, &qp->rc);
}

/* Both numbers lead to this core: core.h. */
static int make_numbers(struct worker *worker, struct client *client, struct engine_qp *qp)
{
	struct engine *engine = worker->engine;
	uint32_t index;
	int error;

	if (engine->qp_count == engine->max_qp)
		return -ENOMEM;
	error = qp_table_add(&worker->qps, &engine->random, qp, &qp->qp_num, &qp->name);
	if (error)
		return error;
	error = handle_put(&client->core[worker->number].qps, qp, &index);
	if (error) {
		qp_table_remove(&worker->qps, qp->qp_num, qp->name);
		return error;
	}
	qp->handle = index << engine->cores.shift | worker->number;
	engine->qp_count++;
	return 0;
}

static void free_numbers(struct worker *worker, struct client *client, struct engine_qp *qp)
{
	struct engine *engine = worker->engine;

	handle_remove(&client->core[worker->number].qps, qp->handle >> engine->cores.shift);
	qp_table_remove(&worker->qps, qp->qp_num, qp->name);
	engine->qp_count--;
}

static int make(struct worker *worker, struct client *client, struct engine_qp *qp, bool strict)
{
	int error = make_queues(client->region, qp);

	if (error)
		return error;
	error = make_numbers(worker, client, qp);
	if (error) {
		free_queues(client->region, qp);
		return error;
	}
	error = make_transport(worker, qp, strict);
	if (error) {
		free_numbers(worker, client, qp);
		free_queues(client->region, qp);
	}
	return error;
}

/* Who is used by the QP cannot go before it. */
static void connect_parts(struct engine_qp *qp)
{
	list_append(&qp->send_cq->senders, &qp->send_node);
	list_append(&qp->recv_cq->receivers, &qp->recv_node);
	qp->send_cq->cq->uses++;
	qp->recv_cq->cq->uses++;
	qp->pd->uses++;
	if (qp->srq)
		qp->srq->uses++;
}

static void disconnect_parts(struct engine_qp *qp)
{
	list_remove(&qp->send_node);
	list_remove(&qp->recv_node);
	qp->send_cq->cq->uses--;
	qp->recv_cq->cq->uses--;
	qp->pd->uses--;
	if (qp->srq)
		qp->srq->uses--;
}

static struct engine_qp *prepare(struct worker *worker, const struct command *command,
	const struct parts *parts, const struct ibv_qp_cap *cap)
{
	struct engine_qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	qp->worker = worker;
	qp->client = command->client;
	qp->outlet = &worker->to_port;
	qp->pd = parts->pd;
	qp->send_cq = &parts->send_cq->share[worker->number];
	qp->recv_cq = &parts->recv_cq->share[worker->number];
	qp->srq = parts->srq;
	qp->cap = *cap;
	qp->tail_size = tail_size(cap);
	qp->sq_sig_all = command->abi.u.create_qp.sq_sig_all != 0;
	list_init(&qp->active);
	list_init(&qp->send_node);
	list_init(&qp->recv_node);
	return qp;
}

static void answer(struct command *command, const struct engine_qp *qp)
{
	command->abi.head.object = qp->handle;
	command->abi.u.create_qp.cap = qp->cap;
	command->abi.u.create_qp.qp_num = qp->qp_num;
	command->abi.u.create_qp.core = qp->worker->number;
	command->abi.u.create_qp.sq = qp->sq.ref;
	command->abi.u.create_qp.rq = qp->rq.ref;
}

int command_create_qp(struct worker *worker, struct command *command)
{
	struct ibv_qp_cap cap = command->abi.u.create_qp.cap;
	struct engine_qp *qp;
	struct parts parts;
	int error = find_parts(command, &parts);

	if (!error)
		error = check_cap(&cap, parts.srq != NULL);
	if (error)
		return error;
	if (command->abi.u.create_qp.type != IBV_QPT_RC)
		return -EOPNOTSUPP;
	qp = prepare(worker, command, &parts, &cap);
	if (!qp)
		return -ENOMEM;
	error = make(worker, command->client, qp, command->abi.u.create_qp.strict != 0);
	if (error) {
		free(qp);
		return error;
	}
	events_init(&qp->events, qp->handle);
	connect_parts(qp);
	answer(command, qp);
	return 0;
}

int command_query_qp(struct worker *worker, struct command *command)
{
	const struct engine_qp *qp = client_qp(command->client, worker, command->abi.head.object);
	struct rc_hold_info hold;

	if (!qp)
		return -EINVAL;
	rc_query(qp->rc, &command->abi.u.qp.attr);
	rc_hold_query(&qp->worker->core, qp->rc, &hold);
	command->abi.u.qp.attr.cap = qp->cap;
	command->abi.u.qp.cap = qp->cap;
	command->abi.u.qp.state_seen = command->abi.u.qp.attr.qp_state;
	command->abi.u.qp.sq_sig_all = qp->sq_sig_all;
	command->abi.u.qp.strict = hold.strict;
	return 0;
}

int command_destroy_qp(struct worker *worker, struct command *command)
{
	struct engine_qp *qp = client_qp(command->client, worker, command->abi.head.object);

	if (!qp)
		return -EINVAL;
	qp_vanish(worker, qp);
	return 0;
}

/* Requests vanish without completion (EP-13). Announcements of it that are still under way lead
 * nowhere, commands that wait for it find its name dead. */
void qp_vanish(struct worker *worker, struct engine_qp *qp)
{
	struct client *client = qp->client;

	rc_qp_destroy(&qp->worker->core, qp->rc);
	scheduler_remove(qp);
	events_forget(&qp->events);
	disconnect_parts(qp);
	free_numbers(worker, client, qp);
	free_queues(client->region, qp);
	free(qp);
}
