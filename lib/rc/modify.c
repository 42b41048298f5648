/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * modify_qp: the table says whether the transition exists and with which attributes (qp_state.c);
 * then each value is checked; then all is applied. Nothing changes unless everything is right.
 */
#include <errno.h>

#include "parts.h"
#include "qp_state.h"
#include "requester.h"
#include "status.h"

#define ACCESS_ALLOWED                                                                             \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
		IBV_ACCESS_REMOTE_ATOMIC)

static uint32_t mtu_bytes(enum ibv_mtu mtu)
{
	return 128u << mtu; /* IBV_MTU_256 is 1 */
}

/* ---- checks ---- */

static int check_values(const struct rc_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	const struct {
		int bit;
		bool bad;
	} rules[] = {
		{IBV_QP_PORT, attr->port_num != 1},
		{IBV_QP_PKEY_INDEX, attr->pkey_index != 0},
		{IBV_QP_ACCESS_FLAGS, (attr->qp_access_flags & ~(unsigned int)ACCESS_ALLOWED) != 0},
		{IBV_QP_PATH_MTU, attr->path_mtu < IBV_MTU_256 || attr->path_mtu > IBV_MTU_4096},
		{IBV_QP_DEST_QPN, attr->dest_qp_num > 0xffffff},
		{IBV_QP_MAX_DEST_RD_ATOMIC, attr->max_dest_rd_atomic > qp->max_rd_atomic},
		{IBV_QP_MAX_QP_RD_ATOMIC, attr->max_rd_atomic > qp->max_rd_atomic},
		{IBV_QP_MIN_RNR_TIMER, attr->min_rnr_timer > 31},
		{IBV_QP_TIMEOUT, attr->timeout > 31},
		{IBV_QP_RETRY_CNT, attr->retry_cnt > 7},
		{IBV_QP_RNR_RETRY, attr->rnr_retry > 7},
		/* no automatic path migration on RoCE */
		{IBV_QP_ALT_PATH, true},
		{IBV_QP_PATH_MIG_STATE, attr->path_mig_state != IBV_MIG_MIGRATED},
	};

	for (unsigned int i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if ((mask & rules[i].bit) && rules[i].bad)
			return -EINVAL;
	return 0;
}

/*
 * EP-6: after an automatic promotion the first modify to RTS may still be the one of RTR to RTS. It
 * cannot move the SQ PSN, nor go below what is in flight.
 */
static bool is_late_rts(const struct rc_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	if (!qp->gate.auto_promoted || qp->shown != IBV_QPS_RTS || !(mask & IBV_QP_STATE) ||
		attr->qp_state != IBV_QPS_RTS)
		return false;
	if ((mask & IBV_QP_CUR_STATE) && attr->cur_qp_state != IBV_QPS_RTR &&
		attr->cur_qp_state != IBV_QPS_RTS)
		return false;
	return qp_state_check(IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPT_RC, mask, false) == 0;
}

static int check_late_rts(const struct rc_qp *qp, const struct ibv_qp_attr *attr)
{
	if ((attr->sq_psn & PSN_MASK) != qp->attr.sq_psn ||
		attr->max_rd_atomic < qp->requester.reads)
		return -EINVAL;
	return 0;
}

static int check(const struct rc_qp *qp, const struct ibv_qp_attr *attr, int mask,
	const struct wire_path_attr *path, enum ibv_qp_state to)
{
	struct wire_path probe;
	int error;

	if (is_late_rts(qp, attr, mask)) {
		error = check_late_rts(qp, attr);
	} else {
		if ((mask & IBV_QP_CUR_STATE) && attr->cur_qp_state != qp->shown)
			return -EINVAL;
		error = qp_state_check(qp->shown, to, IBV_QPT_RC, mask, !qp->gate.strict);
	}
	if (error)
		return error;
	if (mask & IBV_QP_AV) {
		if (!path)
			return -EINVAL;
		error = wire_path_init(&probe, path);
		if (error)
			return error;
	}
	return check_values(qp, attr, mask);
}

/* ---- application ---- */

static void apply_path(struct rc_qp *qp, const struct ibv_qp_attr *attr, int mask,
	const struct wire_path_attr *path)
{
	if (mask & IBV_QP_PATH_MTU) {
		qp->attr.path_mtu = attr->path_mtu;
		qp->pmtu = mtu_bytes(attr->path_mtu);
	}
	if (mask & IBV_QP_DEST_QPN)
		qp->attr.dest_qp_num = attr->dest_qp_num;
	if (mask & IBV_QP_AV) {
		qp->attr.ah_attr = attr->ah_attr;
		qp->path_set = wire_path_init(&qp->path, path) == 0;
		wire_forget(&qp->known);
	}
}

static void apply_responder(struct rc_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	if (mask & IBV_QP_ACCESS_FLAGS) {
		qp->attr.qp_access_flags = attr->qp_access_flags;
		qp->responder.access = (uint32_t)attr->qp_access_flags;
	}
	if (mask & IBV_QP_MIN_RNR_TIMER) {
		qp->attr.min_rnr_timer = attr->min_rnr_timer;
		qp->responder.min_rnr_timer = attr->min_rnr_timer;
	}
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC) {
		qp->attr.max_dest_rd_atomic = attr->max_dest_rd_atomic;
		replay_set_depth(&qp->responder.replay, attr->max_dest_rd_atomic);
	}
	if (mask & IBV_QP_RQ_PSN)
		responder_reset(qp, attr->rq_psn & PSN_MASK);
}

/* New values count for what is sent from now on. */
static void apply_requester(struct rc_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	struct requester *requester = &qp->requester;

	if (mask & IBV_QP_TIMEOUT) {
		qp->attr.timeout = attr->timeout;
		requester->timeout = status_ack_timeout_ns(attr->timeout);
	}
	if (mask & IBV_QP_RETRY_CNT) {
		qp->attr.retry_cnt = attr->retry_cnt;
		requester->retry_cnt = attr->retry_cnt;
		requester->retry_left = attr->retry_cnt;
	}
	if (mask & IBV_QP_RNR_RETRY) {
		qp->attr.rnr_retry = attr->rnr_retry;
		requester->rnr_retry = attr->rnr_retry;
		requester->rnr_left = attr->rnr_retry;
	}
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC) {
		qp->attr.max_rd_atomic = attr->max_rd_atomic;
		requester->max_rd_atomic = attr->max_rd_atomic;
	}
}

static void set_sq_psn(struct rc_qp *qp, uint32_t psn)
{
	struct requester *requester = &qp->requester;

	qp->attr.sq_psn = psn & PSN_MASK;
	requester->next_psn = qp->attr.sq_psn;
	requester->una = qp->attr.sq_psn;
	requester->sent = qp->attr.sq_psn;
}

void hold_set_arm(struct rc_qp *qp, const struct rc_arm *arm)
{
	struct ibv_qp_attr attr = {
		.timeout = arm->timeout,
		.retry_cnt = arm->retry_cnt,
		.rnr_retry = arm->rnr_retry,
		.max_rd_atomic = arm->max_rd_atomic,
	};

	apply_requester(qp, &attr, QP_STATE_RTS_ATTRS);
	set_sq_psn(qp, arm->sq_psn);
	qp->gate.armed = true;
}

/* The SQ PSN counts where the QP has sent nothing yet: to RTR (armed), from RTR to RTS. */
static void apply_values(struct rc_qp *qp, const struct ibv_qp_attr *attr, int mask,
	const struct wire_path_attr *path)
{
	if (mask & IBV_QP_PKEY_INDEX)
		qp->attr.pkey_index = attr->pkey_index;
	if (mask & IBV_QP_PORT)
		qp->attr.port_num = attr->port_num;
	if (mask & IBV_QP_PATH_MIG_STATE)
		qp->attr.path_mig_state = attr->path_mig_state;
	apply_path(qp, attr, mask, path);
	apply_responder(qp, attr, mask);
	apply_requester(qp, attr, mask);
	if ((mask & IBV_QP_SQ_PSN) && qp->requester.tail == 0 && !requester_outstanding(qp))
		set_sq_psn(qp, attr->sq_psn);
}

static void to_rtr(struct rc_core *core, struct rc_qp *qp, int mask)
{
	hold_enter(qp);
	qp->gate.armed = (mask & QP_STATE_RTS_ATTRS) == QP_STATE_RTS_ATTRS;
	qp_set_state(qp, IBV_QPS_RTR, "modify");
	qp->shown = IBV_QPS_RTR;
	core->ops->state_changed(core, qp, IBV_QPS_RTR);
}

static void to_rts(struct rc_core *core, struct rc_qp *qp, enum ibv_qp_state from)
{
	if (qp->state == IBV_QPS_RTR) { /* the gate is closed */
		qp->gate.armed = true;
		if (!qp->gate.cm) {
			hold_open(core, qp, RC_HOLD_MODIFY);
			return;
		}
		qp->shown = IBV_QPS_RTS; /* EP-10: only the CM's side opens it */
		return;
	}
	qp->gate.auto_promoted = false;
	qp->shown = IBV_QPS_RTS;
	qp_set_state(qp, IBV_QPS_RTS, "modify");
	if (from != IBV_QPS_RTS)
		core->ops->activate(core, qp);
}

static void to_sqd(struct rc_core *core, struct rc_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	bool entered = qp->shown != IBV_QPS_SQD;

	qp->shown = IBV_QPS_SQD;
	if (qp->state != IBV_QPS_RTR) /* else CM-gated: the gate stays as it is (EP-10) */
		qp_set_state(qp, IBV_QPS_SQD, "modify");
	if (!entered)
		return;
	qp->drain_notify = (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) && attr->en_sqd_async_notify;
	requester_retire(core, qp);
}

static void enter(struct rc_core *core, struct rc_qp *qp, const struct ibv_qp_attr *attr, int mask,
	enum ibv_qp_state to)
{
	enum ibv_qp_state from = qp->shown;

	switch (to) {
	case IBV_QPS_INIT:
		qp_set_state(qp, IBV_QPS_INIT, "modify");
		qp->shown = IBV_QPS_INIT;
		break;
	case IBV_QPS_RTR:
		if (from != IBV_QPS_RTR)
			to_rtr(core, qp, mask);
		break;
	case IBV_QPS_RTS:
		to_rts(core, qp, from);
		break;
	case IBV_QPS_SQD:
		to_sqd(core, qp, attr, mask);
		break;
	default:
		break;
	}
}

int rc_modify(struct rc_core *core, struct rc_qp *qp, const struct ibv_qp_attr *attr, int mask,
	const struct wire_path_attr *path)
{
	enum ibv_qp_state to = mask & IBV_QP_STATE ? attr->qp_state : qp->shown;
	int error = check(qp, attr, mask, path, to);

	if (error)
		return error;
	if ((mask & IBV_QP_STATE) && to == IBV_QPS_RESET) {
		qp_reset(core, qp);
		return 0;
	}
	if ((mask & IBV_QP_STATE) && to == IBV_QPS_ERR) {
		qp_enter_error(core, qp, "modify");
		return 0;
	}
	apply_values(qp, attr, mask, path);
	if (mask & IBV_QP_STATE)
		enter(core, qp, attr, mask, to);
	return 0;
}
