/* SPDX-License-Identifier: BSD-3-Clause */
/* uroce/uroce.h: policy, arming, notify, hold time-out, and what the gate says of itself. */
#include <uroce/uroce.h>

#include "front.h"

/* 0, EOPNOTSUPP, EIO. */
static int check_qp(const struct ibv_qp *qp)
{
	if (!is_ours(qp->context))
		return EOPNOTSUPP;
	return attach_dead(to_context(qp->context)->attach) ? EIO : 0;
}

static int ask(struct qp *qp, uint32_t op, struct uroce_abi_command *command)
{
	command->head.op = op;
	command->head.object = qp->base.handle;
	return attach_command(qp->attach, command);
}

/* Policy and time-out travel together; what a call doesn't change goes as it is. */
static int set_policy(struct qp *qp, bool strict, uint32_t timeout_ms, uint32_t action)
{
	struct uroce_abi_command policy = {0};
	int error;

	policy.u.policy.strict = strict;
	policy.u.policy.arm.hold_timeout_ms = timeout_ms;
	policy.u.policy.arm.hold_action = action;
	error = ask(qp, UROCE_ABI_QP_POLICY, &policy);
	if (error)
		return error;
	qp->hold_timeout_ms = timeout_ms;
	qp->hold_action = action;
	qp_set_strict(qp, strict);
	return 0;
}

EXPORT int uroce_qp_set_policy(struct ibv_qp *ibv, enum uroce_policy policy)
{
	struct qp *qp = to_qp(ibv);
	int error = check_qp(ibv);

	if (error)
		return error;
	if (policy != UROCE_POLICY_HOLD && policy != UROCE_POLICY_STRICT)
		return EINVAL;
	pthread_mutex_lock(&qp->lock);
	if (ibv->state != IBV_QPS_RESET && ibv->state != IBV_QPS_INIT)
		error = -EINVAL;
	else
		error = set_policy(
			qp, policy == UROCE_POLICY_STRICT, qp->hold_timeout_ms, qp->hold_action);
	pthread_mutex_unlock(&qp->lock);
	return -error;
}

EXPORT int uroce_qp_set_hold_timeout(
	struct ibv_qp *ibv, uint32_t milliseconds, enum uroce_hold_action action)
{
	struct qp *qp = to_qp(ibv);
	int error = check_qp(ibv);

	if (error)
		return error;
	if (action != UROCE_HOLD_OPEN && action != UROCE_HOLD_ERROR)
		return EINVAL;
	pthread_mutex_lock(&qp->lock);
	error = set_policy(qp, qp->strict, milliseconds, action);
	pthread_mutex_unlock(&qp->lock);
	return -error;
}

EXPORT int uroce_qp_arm(struct ibv_qp *ibv, const struct uroce_arm_attr *attr)
{
	struct qp *qp = to_qp(ibv);
	struct uroce_abi_command arm = {0};
	int error = check_qp(ibv);

	if (error || !attr)
		return error ? error : EINVAL;
	arm.u.policy.arm.sq_psn = attr->sq_psn;
	arm.u.policy.arm.timeout = attr->timeout;
	arm.u.policy.arm.retry_cnt = attr->retry_cnt;
	arm.u.policy.arm.rnr_retry = attr->rnr_retry;
	arm.u.policy.arm.max_rd_atomic = attr->max_rd_atomic;
	pthread_mutex_lock(&qp->lock);
	error = ask(qp, UROCE_ABI_QP_ARM, &arm);
	pthread_mutex_unlock(&qp->lock);
	return -error;
}

EXPORT int uroce_qp_notify(struct ibv_qp *ibv)
{
	struct uroce_abi_command notify = {0};
	int error = check_qp(ibv);

	return error ? error : -ask(to_qp(ibv), UROCE_ABI_QP_NOTIFY, &notify);
}

/* ---- the answer of QP_COUNTERS: the gate's counters, then its state (abi.h) ---- */

#define GATE_COUNTERS 17u

enum { HELD_NOW = GATE_COUNTERS, CLOSED, ARMED, STRICT, HELD_SINCE, CAUSE };

_Static_assert(offsetof(struct uroce_qp_counters, refused_full) == GATE_COUNTERS * sizeof(uint64_t),
	"the public struct begins with the engine's counters, in its order");

EXPORT int uroce_qp_query_hold(struct ibv_qp *ibv, struct uroce_hold *hold)
{
	struct uroce_abi_command query = {0};
	const uint64_t *value = query.u.counters.value;
	int error = check_qp(ibv);

	if (!error)
		error = -ask(to_qp(ibv), UROCE_ABI_QP_COUNTERS, &query);
	if (error)
		return error;
	hold->closed = value[CLOSED] != 0;
	hold->armed = value[ARMED] != 0;
	hold->strict = value[STRICT] != 0;
	hold->cause = (int)(int64_t)value[CAUSE];
	hold->held_now = value[HELD_NOW];
	hold->held_since = value[HELD_SINCE];
	return 0;
}

/* What was refused never reached the engine; the front has counted it. */
EXPORT int uroce_qp_query_counters(struct ibv_qp *ibv, struct uroce_qp_counters *counters)
{
	struct qp *qp = to_qp(ibv);
	struct uroce_abi_command query = {0};
	int error = check_qp(ibv);

	if (!error)
		error = -ask(qp, UROCE_ABI_QP_COUNTERS, &query);
	if (error)
		return error;
	*counters = (struct uroce_qp_counters){0};
	__builtin_memcpy(counters, query.u.counters.value, GATE_COUNTERS * sizeof(uint64_t));
	counters->refused_full = __atomic_load_n(&qp->refused_full, __ATOMIC_RELAXED);
	counters->refused_strict = __atomic_load_n(&qp->refused_strict, __ATOMIC_RELAXED);
	return 0;
}
