/* SPDX-License-Identifier: BSD-3-Clause */
/* A QP from creation to destruction, and what the engine may ask of it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parts.h"
#include "requester.h"

/* A power of two, and one at least: in ERR the slot at the head is where a request is taken to. */
static uint32_t slots_for(uint32_t depth)
{
	uint32_t slots = 1;

	while (slots < depth)
		slots *= 2;
	return slots;
}

static int requester_init(struct requester *requester, const struct rc_qp_attr *attr)
{
	uint32_t tail = attr->max_send_sge * (uint32_t)sizeof(struct mem_sge);

	if (tail < attr->max_inline)
		tail = attr->max_inline;
	requester->depth = attr->sq_depth;
	requester->mask = slots_for(attr->sq_depth) - 1;
	requester->slot_size = ((uint32_t)sizeof(struct rc_send) + tail + 7) & ~7u;
	requester->slots = calloc((size_t)requester->mask + 1, requester->slot_size);
	return requester->slots ? 0 : -ENOMEM;
}

static bool attr_ok(const struct rc_qp_attr *attr)
{
	return attr->qp_num > 1 && attr->qp_num < 0xffffff && attr->max_send_sge <= 32 &&
		attr->max_recv_sge <= 32 && attr->max_rd_atomic <= RC_RD_ATOMIC_MAX &&
		attr->sq_depth <= 1u << 20;
}

int rc_qp_create(
	struct rc_core *core, const struct rc_qp_attr *attr, void *user, struct rc_qp **result)
{
	struct rc_qp *qp;

	if (!attr_ok(attr))
		return -EINVAL;
	qp = calloc(1, sizeof(*qp) + attr->max_recv_sge * sizeof(struct mem_sge));
	if (!qp)
		return -ENOMEM;
	qp->responder.recv.sge = (struct mem_sge *)(qp + 1);
	if (requester_init(&qp->requester, attr) != 0 ||
		replay_init(&qp->responder.replay, attr->max_rd_atomic) != 0 ||
		timers_reserve(&core->timers, 2) != 0) {
		replay_fini(&qp->responder.replay);
		free(qp->requester.slots);
		free(qp);
		return -ENOMEM;
	}
	qp->user = user;
	qp->qp_num = attr->qp_num;
	qp->pd = attr->pd;
	qp->recv_pd = attr->recv_pd;
	qp->pkey = attr->pkey;
	qp->has_srq = attr->has_srq;
	qp->max_rd_atomic = attr->max_rd_atomic;
	qp->gate.strict = attr->strict;
	timer_init(&qp->retry_timer, timers_retry_expire);
	timer_init(&qp->gate.timer, hold_timer_expire);
	qp->state = IBV_QPS_RESET;
	qp_reset(core, qp);
	*result = qp;
	TRACE_QP_CREATE(qp->qp_num, qp->pd);
	return 0;
}

void rc_qp_destroy(struct rc_core *core, struct rc_qp *qp)
{
	TRACE_QP_DESTROY(qp->qp_num, qp->state);
	qp_reset(core, qp);
	timers_release(&core->timers, 2);
	replay_fini(&qp->responder.replay);
	free(qp->requester.slots);
	free(qp);
}

static void stop_timers(struct rc_core *core, struct rc_qp *qp)
{
	timer_cancel(&core->timers, &qp->retry_timer);
	timer_cancel(&core->timers, &qp->gate.timer);
	qp->requester.deadline = TIMER_NEVER;
	qp->requester.rnr_until = 0;
}

static void requester_reset(struct requester *requester)
{
	struct requester kept = *requester;

	memset(requester, 0, sizeof(*requester));
	requester->mask = kept.mask;
	requester->depth = kept.depth;
	requester->slot_size = kept.slot_size;
	requester->slots = kept.slots;
	requester->deadline = TIMER_NEVER;
	requester->timeout = TIMER_NEVER;
}

void qp_reset(struct rc_core *core, struct rc_qp *qp)
{
	hold_abandon(core, qp, true);
	stop_timers(core, qp);
	requester_reset(&qp->requester);
	responder_reset(qp, 0);
	qp->responder.msn = 0;
	qp->responder.access = 0;
	replay_reset(&qp->responder.replay, 0);
	hold_enter(qp);
	qp->gate.armed = false;
	qp->gate.cm = false;
	qp->path_set = false;
	qp->drain_notify = false;
	qp->last_wqe_due = false;
	memset(&qp->attr, 0, sizeof(qp->attr));
	mem_windows_release(core->mem, qp->qp_num);
	qp_set_state(qp, IBV_QPS_RESET, "reset");
	qp->shown = IBV_QPS_RESET;
}

void qp_enter_error(struct rc_core *core, struct rc_qp *qp, const char *cause)
{
	struct responder *responder = &qp->responder;

	if (qp->state == IBV_QPS_ERR)
		return;
	hold_abandon(core, qp, false);
	stop_timers(core, qp);
	replay_reset(&responder->replay, responder->replay.depth);
	responder->nak = 0;
	responder->ack_pending = false;
	qp->last_wqe_due = qp->has_srq;
	qp_set_state(qp, IBV_QPS_ERR, cause);
	qp->shown = IBV_QPS_ERR;
	core->ops->state_changed(core, qp, IBV_QPS_ERR);
	core->ops->activate(core, qp);
}

void rc_error(struct rc_core *core, struct rc_qp *qp)
{
	if (qp->state != IBV_QPS_RESET)
		qp_enter_error(core, qp, "engine");
}

void *rc_qp_user(const struct rc_qp *qp)
{
	return qp->user;
}

uint32_t rc_qp_num(const struct rc_qp *qp)
{
	return qp->qp_num;
}

uint32_t rc_qp_pd(const struct rc_qp *qp)
{
	return qp->pd;
}

enum ibv_qp_state rc_qp_state(const struct rc_qp *qp)
{
	return qp->state;
}

enum ibv_qp_state rc_qp_shown_state(const struct rc_qp *qp)
{
	return qp->shown;
}

struct wire_path *rc_qp_path(struct rc_qp *qp)
{
	return &qp->path;
}

static bool draining(const struct rc_qp *qp)
{
	const struct requester *requester = &qp->requester;

	return qp->state == IBV_QPS_SQD && requester->head != requester->tail &&
		window_slot(qp, requester->head)->started;
}

/* The PSNs are the current ones, as an RNIC's context has them. */
void rc_query(const struct rc_qp *qp, struct ibv_qp_attr *attr)
{
	*attr = qp->attr;
	attr->qp_state = qp->shown;
	attr->cur_qp_state = qp->shown;
	attr->path_mig_state = IBV_MIG_MIGRATED;
	attr->rq_psn = qp->responder.epsn;
	attr->sq_psn = qp->requester.next_psn;
	attr->sq_draining = draining(qp);
}
