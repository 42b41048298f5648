/* SPDX-License-Identifier: BSD-3-Clause */
/* uroce.h: the policy, arming, notify, time-outs, and what is told of the gate. */
#include "world.h"

static struct world world;

static const struct uroce_abi_command *policy(void)
{
	return fake_last(world.engine, UROCE_ABI_QP_POLICY);
}

/* Before RTR only; what isn't meant goes along unchanged. */
static void policies(void)
{
	world_open(&world, false);
	CU_ASSERT_EQUAL(uroce_qp_set_policy(world.qp, (enum uroce_policy)2), EINVAL);
	CU_ASSERT_EQUAL(uroce_qp_set_hold_timeout(world.qp, 250, UROCE_HOLD_ERROR), 0);
	CU_ASSERT_EQUAL(policy()->head.object, world.qp->handle);
	CU_ASSERT_EQUAL(policy()->u.policy.strict, 0);
	CU_ASSERT_EQUAL(policy()->u.policy.arm.hold_timeout_ms, 250);
	CU_ASSERT_EQUAL(policy()->u.policy.arm.hold_action, UROCE_HOLD_ERROR);
	CU_ASSERT_EQUAL(uroce_qp_set_policy(world.qp, UROCE_POLICY_STRICT), 0);
	CU_ASSERT_EQUAL(policy()->u.policy.strict, 1);
	CU_ASSERT_EQUAL(policy()->u.policy.arm.hold_timeout_ms, 250);
	CU_ASSERT_EQUAL(world_move(world.qp, IBV_QPS_RTR), 0);
	CU_ASSERT_EQUAL(uroce_qp_set_policy(world.qp, UROCE_POLICY_HOLD), EINVAL);
	CU_ASSERT_EQUAL(world_send(world.qp, 1), EINVAL); /* strict still */
	CU_ASSERT_EQUAL(uroce_qp_set_hold_timeout(world.qp, 0, UROCE_HOLD_OPEN), 0);
	CU_ASSERT_EQUAL(policy()->u.policy.strict, 1);
	CU_ASSERT_EQUAL(policy()->u.policy.arm.hold_timeout_ms, 0);
	CU_ASSERT_EQUAL(uroce_qp_set_hold_timeout(world.qp, 1, (enum uroce_hold_action)2), EINVAL);
	world_close(&world);
}

/* A policy that the engine refused isn't the front's, either. */
static void policy_refused(void)
{
	world_open(&world, false);
	fake_fail(world.engine, UROCE_ABI_QP_POLICY, -EINVAL);
	CU_ASSERT_EQUAL(uroce_qp_set_policy(world.qp, UROCE_POLICY_STRICT), EINVAL);
	CU_ASSERT_EQUAL(world_move(world.qp, IBV_QPS_RTR), 0);
	CU_ASSERT_EQUAL(world_send(world.qp, 1), 0);
	world_close(&world);
}

static void armed(void)
{
	struct uroce_arm_attr attr = {.sq_psn = 0x123456,
		.timeout = 14,
		.retry_cnt = 6,
		.rnr_retry = 7,
		.max_rd_atomic = 2};
	const struct uroce_abi_command *seen;

	world_open(&world, false);
	CU_ASSERT_EQUAL(uroce_qp_arm(world.qp, &attr), 0);
	seen = fake_last(world.engine, UROCE_ABI_QP_ARM);
	CU_ASSERT_EQUAL(seen->head.object, world.qp->handle);
	CU_ASSERT_EQUAL(seen->u.policy.arm.sq_psn, 0x123456);
	CU_ASSERT_EQUAL(seen->u.policy.arm.timeout, 14);
	CU_ASSERT_EQUAL(seen->u.policy.arm.retry_cnt, 6);
	CU_ASSERT_EQUAL(seen->u.policy.arm.rnr_retry, 7);
	CU_ASSERT_EQUAL(seen->u.policy.arm.max_rd_atomic, 2);
	fake_fail(world.engine, UROCE_ABI_QP_ARM, -EINVAL);
	CU_ASSERT_EQUAL(uroce_qp_arm(world.qp, &attr), EINVAL);
	CU_ASSERT_EQUAL(uroce_qp_notify(world.qp), 0);
	fake_fail(world.engine, UROCE_ABI_QP_NOTIFY, -EISCONN);
	CU_ASSERT_EQUAL(uroce_qp_notify(world.qp), EISCONN);
	world_close(&world);
}

/* The fake answers 1000, 1001, ...: the gate's 17 counters, then its state. */
static void told(void)
{
	struct uroce_hold hold;
	struct uroce_qp_counters counters;

	world_open(&world, false);
	CU_ASSERT_EQUAL(uroce_qp_query_hold(world.qp, &hold), 0);
	CU_ASSERT_EQUAL(hold.held_now, 1017);
	CU_ASSERT_EQUAL(hold.closed, 1);
	CU_ASSERT_EQUAL(hold.armed, 1);
	CU_ASSERT_EQUAL(hold.strict, 1);
	CU_ASSERT_EQUAL(hold.held_since, 1021);
	CU_ASSERT_EQUAL(hold.cause, 1022);
	CU_ASSERT_EQUAL(uroce_qp_query_counters(world.qp, &counters), 0);
	CU_ASSERT_EQUAL(counters.held, 1000);
	CU_ASSERT_EQUAL(counters.promoted_modify, 1004);
	CU_ASSERT_EQUAL(counters.comm_est, 1016);
	CU_ASSERT_EQUAL(counters.refused_full, 0);
	CU_ASSERT_EQUAL(counters.refused_strict, 0);
	CU_ASSERT_EQUAL(counters.reserved[0], 0);
	fake_fail(world.engine, UROCE_ABI_QP_COUNTERS, -EINVAL);
	CU_ASSERT_EQUAL(uroce_qp_query_hold(world.qp, &hold), EINVAL);
	CU_ASSERT_EQUAL(uroce_qp_query_counters(world.qp, &counters), EINVAL);
	world_close(&world);
}

static const struct unit_case cases[] = {
	UNIT_CASE(policies),
	UNIT_CASE(policy_refused),
	UNIT_CASE(armed),
	UNIT_CASE(told),
};

UNIT_MAIN("verbs-hold", cases)
