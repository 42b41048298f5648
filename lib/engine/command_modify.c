/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MODIFY_QP. The transport checks transitions, attributes and values, and changes everything or
 * nothing (rc_modify). Here is what it cannot know: the port's MTU, and the way from an address
 * vector to a path, for which the command may have to wait for a neighbour. Meanwhile the QP is as
 * it was, and when the answer comes all is checked again.
 */
#include "command.h"

#include <errno.h>

#include "qp_state.h"
#include "queues.h"

static int check_mtu(const struct port *port, const struct ibv_qp_attr *attr, int mask)
{
	struct port_info info;

	if (!(mask & IBV_QP_PATH_MTU))
		return 0;
	port->ops->info(port, &info);
	return attr->path_mtu > address_mtu(info.mtu) ? -EINVAL : 0;
}

/* A wrong transition is told at once, not after a neighbour has been sought for it. */
static int check_transition(struct engine_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	enum ibv_qp_state from = rc_qp_shown_state(qp->rc);
	enum ibv_qp_state to = mask & IBV_QP_STATE ? attr->qp_state : from;
	struct rc_hold_info hold;

	rc_hold_query(&qp->worker->core, qp->rc, &hold);
	return qp_state_check(from, to, IBV_QPT_RC, mask, !hold.strict);
}

static uint32_t destination_qp(const struct engine_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	struct ibv_qp_attr current;

	if (mask & IBV_QP_DEST_QPN)
		return attr->dest_qp_num;
	rc_query(qp->rc, &current);
	return current.dest_qp_num;
}

static void complete_path(
	const struct engine_qp *qp, const struct command *command, struct wire_path_attr *path)
{
	path->pkey = 0xffff;
	path->destination_qp = destination_qp(qp, &command->abi.u.qp.attr, command->abi.u.qp.mask);
	path->udp_source_port =
		wire_udp_source_port(path->flow_label, qp->qp_num, path->destination_qp);
}

/* The QP's packets go the new way. */
static void use_path(struct engine_qp *qp, const struct address *address)
{
	struct worker *worker = qp->worker;

	qp->routed = !address->own;
	qp->hop = address->hop;
	scheduler_move(qp, address->own ? &worker->to_self : &worker->to_port);
}

static void forget_path(struct engine_qp *qp)
{
	qp->routed = false;
	scheduler_remove(qp);
	scheduler_move(qp, &qp->worker->to_port);
}

static int apply(struct engine_qp *qp, struct command *command)
{
	const struct ibv_qp_attr *attr = &command->abi.u.qp.attr;
	int mask = command->abi.u.qp.mask;
	bool has_path = mask & IBV_QP_AV;
	int error;

	if (has_path)
		complete_path(qp, command, &command->address.path);
	error = rc_modify(
		&qp->worker->core, qp->rc, attr, mask, has_path ? &command->address.path : NULL);
	if (error)
		return error;
	if (has_path)
		use_path(qp, &command->address);
	if ((mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET) {
		queues_reset(qp);
		forget_path(qp);
	}
	command->abi.u.qp.state_seen = rc_qp_shown_state(qp->rc);
	return 0;
}

/* Waits for the neighbour; then the rest. */
static int resolve(struct worker *worker, struct engine_qp *qp, struct command *command)
{
	int error = address_resolve(worker, &command->address);

	if (error == -EINPROGRESS)
		return COMMAND_PENDING;
	return error ? error : apply(qp, command);
}

static int begin(struct worker *worker, struct engine_qp *qp, struct command *command)
{
	const struct ibv_qp_attr *attr = &command->abi.u.qp.attr;
	int mask = command->abi.u.qp.mask;
	int error = check_mtu(worker->engine->port, attr, mask);

	if (error || !(mask & IBV_QP_AV))
		return error ? error : apply(qp, command);
	error = check_transition(qp, attr, mask);
	if (!error)
		error = address_find(worker->engine->port, &attr->ah_attr, &command->address);
	if (error)
		return error;
	command->qp = qp->name;
	return resolve(worker, qp, command);
}

int command_modify_qp(struct worker *worker, struct command *command)
{
	struct engine_qp *qp;

	if (list_linked(&command->pending)) {
		qp = qp_table_at(&worker->qps, command->qp);
		return qp ? resolve(worker, qp, command) : -EINVAL;
	}
	qp = client_qp(command->client, worker, command->abi.head.object);
	return qp ? begin(worker, qp, command) : -EINVAL;
}
