/* SPDX-License-Identifier: BSD-3-Clause */
/* The gate's commands (EP-2, EP-4, EP-12, EP-17). */
#include "command.h"

#include <errno.h>
#include <string.h>

static struct engine_qp *find(const struct worker *worker, const struct command *command)
{
	return client_qp(command->client, worker, command->abi.head.object);
}

/*
 * Policy and hold time-out. The policy is fixed from RTR on, so asking for the one that is in force
 * is no change; the time-out may be set at any time.
 */
int command_qp_policy(struct worker *worker, struct command *command)
{
	const struct uroce_abi_arm_attr *arm = &command->abi.u.policy.arm;
	struct engine_qp *qp = find(worker, command);
	bool strict = command->abi.u.policy.strict != 0;
	struct rc_hold_info hold;
	int error = 0;

	if (!qp || (arm->hold_action != RC_HOLD_OPEN && arm->hold_action != RC_HOLD_ERROR))
		return -EINVAL;
	rc_hold_query(&qp->worker->core, qp->rc, &hold);
	if (strict != hold.strict)
		error = rc_hold_set_policy(&qp->worker->core, qp->rc, strict);
	if (error)
		return error;
	return rc_hold_set_timeout(&qp->worker->core, qp->rc, arm->hold_timeout_ms,
		(enum rc_hold_action)arm->hold_action);
}

int command_qp_arm(struct worker *worker, struct command *command)
{
	const struct uroce_abi_arm_attr *attr = &command->abi.u.policy.arm;
	const struct rc_arm arm = {
		.sq_psn = attr->sq_psn,
		.timeout = attr->timeout,
		.retry_cnt = attr->retry_cnt,
		.rnr_retry = attr->rnr_retry,
		.max_rd_atomic = attr->max_rd_atomic,
	};
	struct engine_qp *qp = find(worker, command);

	return qp ? rc_hold_arm(&qp->worker->core, qp->rc, &arm) : -EINVAL;
}

int command_qp_notify(struct worker *worker, struct command *command)
{
	struct engine_qp *qp = find(worker, command);

	return qp ? rc_hold_notify(&qp->worker->core, qp->rc) : -EINVAL;
}

/* The gate's counters in their order, then how it stands. */
int command_qp_counters(struct worker *worker, struct command *command)
{
	uint64_t *value = command->abi.u.counters.value;
	struct engine_qp *qp = find(worker, command);
	struct rc_hold_info hold;

	if (!qp)
		return -EINVAL;
	rc_hold_query(&qp->worker->core, qp->rc, &hold);
	memset(value, 0, sizeof(command->abi.u.counters.value));
	memcpy(value, rc_qp_hold_counters(qp->rc), sizeof(struct rc_hold_counters));
	value += sizeof(struct rc_hold_counters) / sizeof(*value);
	value[0] = hold.held_now;
	value[1] = hold.closed;
	value[2] = hold.armed;
	value[3] = hold.strict;
	value[4] = hold.held_since;
	value[5] = (uint64_t)(int64_t)hold.cause;
	return 0;
}
