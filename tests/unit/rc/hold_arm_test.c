/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The gate, docs/early-posts.md: the two policies, arming, and what opens (EP-2, EP-4).
 */
#include <errno.h>
#include <string.h>

#include "hold_rig.h"

/* ---- EP-2: strict ---- */

static void ep_02_strict_is_opened_by_modify_alone(void)
{
	struct rig_options options = {.strict = true};
	struct rc_hold_info info;
	struct rc_arm arm;
	struct rig rig;

	rig_open(&rig, 1, &options);
	arm = hold_arm(&rig);
	rig_to_rtr(&rig);
	rc_hold_query(&rig.core, rig.qp, &info);
	CU_ASSERT(info.strict);
	CU_ASSERT(!info.armed);
	CU_ASSERT_EQUAL(rc_hold_arm(&rig.core, rig.qp, &arm), -EINVAL);
	CU_ASSERT_EQUAL(rc_hold_notify(&rig.core, rig.qp), -EINVAL);
	CU_ASSERT(!rc_hold_rtu(&rig.core, rig.qp));
	CU_ASSERT(!rc_hold_grace(&rig.core, rig.qp));
	for (int i = 0; i < 3; i++)
		hold_first_send(&rig);
	CU_ASSERT(hold_closed(&rig));
	CU_ASSERT_EQUAL(rc_qp_shown_state(rig.qp), IBV_QPS_RTR);
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_EVENT), 1);
	CU_ASSERT_EQUAL(rig_record(&rig, RIG_EVENT, 0)->value, IBV_EVENT_COMM_EST);
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_RECV_DONE), 3);
	CU_ASSERT_EQUAL(hold_promotions(&rig.core.hold_counters), 0);
	CU_ASSERT_EQUAL(hold_modify_rts(&rig), 0);
	CU_ASSERT(!hold_closed(&rig));
	ASSERT_COUNTED(&rig, promoted_modify, 1);
	rig_close(&rig);
}

/* After a modify a strict QP is like any other: the late modify of EP-6 is for promoted ones. */
static void ep_02_strict_in_rts_sends(void)
{
	struct rig_options options = {.strict = true};
	struct rig rig;

	rig_open(&rig, 1, &options);
	rig_to_rts(&rig);
	hold_post(&rig, 3);
	rig_run(&rig);
	hold_assert_psns(&rig, 0x100, 3);
	CU_ASSERT_EQUAL(hold_modify_rts(&rig), -EINVAL);
	rig_close(&rig);
}

static void ep_02_strict_takes_no_arming_attributes(void)
{
	struct rig_options options = {.strict = true};
	struct ibv_qp_attr attr;
	struct rig rig;

	rig_open(&rig, 1, &options);
	rig_to_init(&rig);
	rig_attr(&rig, &attr);
	attr.qp_state = IBV_QPS_RTR;
	CU_ASSERT_EQUAL(rig_modify(&rig, &attr, RIG_ARM_MASK), -EINVAL);
	CU_ASSERT_EQUAL(rc_qp_state(rig.qp), IBV_QPS_INIT);
	CU_ASSERT_EQUAL(rig_modify(&rig, &attr, RIG_RTR_MASK), 0);
	rig_close(&rig);
}

/* The policy is chosen before RTR, and stays over RESET. */
static void ep_02_the_policy_is_chosen_before_rtr(void)
{
	static const struct {
		const char *name;
		void (*enter)(struct rig *rig);
		int expected;
	} rows[] = {
		{"INIT", rig_to_init, 0},
		{"RTR", rig_to_rtr, -EINVAL},
		{"armed RTR", rig_to_armed_rtr, -EINVAL},
		{"RTS", rig_to_rts, -EINVAL},
	};
	struct rc_hold_info info;
	struct rig rig;

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		rig_open(&rig, 1, NULL);
		rows[i].enter(&rig);
		ASSERT_ROW(rc_hold_set_policy(&rig.core, rig.qp, true) == rows[i].expected,
			rows[i].name);
		rc_hold_query(&rig.core, rig.qp, &info);
		ASSERT_ROW(info.strict == (rows[i].expected == 0), rows[i].name);
		rc_error(&rig.core, rig.qp);
		ASSERT_ROW(rc_hold_set_policy(&rig.core, rig.qp, true) == -EINVAL, rows[i].name);
		rig_close(&rig);
	}
	rig_open(&rig, 1, NULL);
	CU_ASSERT_EQUAL(rc_hold_set_policy(&rig.core, rig.qp, true), 0);
	rig_to_rtr(&rig);
	hold_first_send(&rig);
	CU_ASSERT(hold_closed(&rig));
	hold_reset(&rig);
	rc_hold_query(&rig.core, rig.qp, &info);
	CU_ASSERT(info.strict);
	CU_ASSERT_EQUAL(rc_hold_set_policy(&rig.core, rig.qp, false), 0);
	rig_to_armed_rtr(&rig);
	rig_close(&rig);
}

/* On a QP given to the CM, the packet and the RTU tell the CM there just as under hold. */
static void ep_02_strict_of_the_cm_is_opened_as_under_hold(void)
{
	struct rig_options options = {.strict = true};

	for (unsigned int i = 0; i < hold_way_count; i++) {
		const struct hold_way *way = &hold_ways[i];
		struct rig rig;

		if (way->cause == RC_HOLD_MODIFY || way->cause == RC_HOLD_TIMEOUT)
			continue;
		rig_open(&rig, 1, &options);
		hold_to_cm_rtr(&rig);
		way->open(&rig);
		ASSERT_ROW(!hold_closed(&rig), way->name);
		ASSERT_ROW(rig_count(&rig, RIG_OPENED) == 1, way->name);
		ASSERT_ROW(rig_count(&rig, RIG_EVENT) == 0, way->name);
		rig_close(&rig);
	}
}

/* ---- EP-4: arming ---- */

static const int rts_attrs[] = {
	IBV_QP_SQ_PSN, IBV_QP_TIMEOUT, IBV_QP_RETRY_CNT, IBV_QP_RNR_RETRY, IBV_QP_MAX_QP_RD_ATOMIC};

static int subset(unsigned int bits)
{
	int mask = 0;

	for (unsigned int i = 0; i < COUNT(rts_attrs); i++)
		if (bits & 1u << i)
			mask |= rts_attrs[i];
	return mask;
}

/* With INIT to RTR: all five or none. Refused, the QP is as it was. */
static void ep_04_modify_arms_with_all_five_or_none(void)
{
	for (unsigned int bits = 0; bits < 32; bits++) {
		int expected = bits == 0 || bits == 31 ? 0 : -EINVAL;
		struct ibv_qp_attr attr, before, after;
		struct rc_hold_info info;
		struct rig rig;

		rig_open(&rig, 1, NULL);
		rig_to_init(&rig);
		rc_query(rig.qp, &before);
		rig_attr(&rig, &attr);
		attr.qp_state = IBV_QPS_RTR;
		CU_ASSERT_EQUAL(rig_modify(&rig, &attr, RIG_RTR_MASK | subset(bits)), expected);
		rc_hold_query(&rig.core, rig.qp, &info);
		CU_ASSERT_EQUAL(info.armed, bits == 31);
		CU_ASSERT_EQUAL(info.closed, expected == 0);
		rc_query(rig.qp, &after);
		if (expected)
			CU_ASSERT_EQUAL(memcmp(&before, &after, sizeof(after)), 0);
		hold_first_send(&rig);
		CU_ASSERT_EQUAL(rc_qp_state(rig.qp) == IBV_QPS_RTS, bits == 31);
		rig_close(&rig);
	}
}

/* INIT to RTR is the only place: elsewhere the table of attributes is the standard's. */
static void ep_04_the_exception_is_for_init_to_rtr_only(void)
{
	struct ibv_qp_attr attr;
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_attr(&rig, &attr);
	attr.qp_state = IBV_QPS_INIT;
	CU_ASSERT_EQUAL(rig_modify(&rig, &attr, RIG_INIT_MASK | RIG_RTS_MASK), -EINVAL);
	rig_to_init(&rig);
	CU_ASSERT_EQUAL(rig_modify(&rig, &attr, RIG_INIT_MASK | RIG_RTS_MASK), -EINVAL);
	attr.qp_state = IBV_QPS_RTR;
	CU_ASSERT_EQUAL(rig_modify(&rig, &attr, RIG_RTR_MASK), 0);
	CU_ASSERT_EQUAL(rig_modify(&rig, &attr, RIG_RTS_MASK), -EINVAL); /* RTR to RTR */
	rig_close(&rig);
}

static const struct {
	const char *name;
	uint8_t timeout, retry_cnt, rnr_retry, max_rd_atomic;
	int expected;
} values[] = {
	{"ordinary", 14, 7, 7, 16, 0},
	{"lowest", 0, 0, 0, 0, 0},
	{"highest", 31, 7, 7, 16, 0},
	{"timeout 32", 32, 7, 7, 16, -EINVAL},
	{"retry_cnt 8", 14, 8, 7, 16, -EINVAL},
	{"rnr_retry 8", 14, 7, 8, 16, -EINVAL},
	{"max_rd_atomic 17 of 16", 14, 7, 7, 17, -EINVAL},
	{"all 255", 255, 255, 255, 255, -EINVAL},
};

static void ep_04_modify_checks_the_values_that_arm(void)
{
	for (unsigned int i = 0; i < COUNT(values); i++) {
		struct ibv_qp_attr attr;
		struct rig rig;

		rig_open(&rig, 1, NULL);
		rig_to_init(&rig);
		rig_attr(&rig, &attr);
		attr.qp_state = IBV_QPS_RTR;
		attr.timeout = values[i].timeout;
		attr.retry_cnt = values[i].retry_cnt;
		attr.rnr_retry = values[i].rnr_retry;
		attr.max_rd_atomic = values[i].max_rd_atomic;
		ASSERT_ROW(rig_modify(&rig, &attr, RIG_ARM_MASK) == values[i].expected,
			values[i].name);
		ASSERT_ROW((rc_qp_state(rig.qp) == IBV_QPS_RTR) == (values[i].expected == 0),
			values[i].name);
		rig_close(&rig);
	}
}

static struct rc_arm arm_of_row(unsigned int i)
{
	return (struct rc_arm){.sq_psn = 0x123456,
		.timeout = values[i].timeout,
		.retry_cnt = values[i].retry_cnt,
		.rnr_retry = values[i].rnr_retry,
		.max_rd_atomic = values[i].max_rd_atomic};
}

static bool shows(const struct rig *rig, const struct rc_arm *arm)
{
	struct ibv_qp_attr attr;

	rc_query(rig->qp, &attr);
	return attr.sq_psn == arm->sq_psn && attr.timeout == arm->timeout &&
		attr.retry_cnt == arm->retry_cnt && attr.rnr_retry == arm->rnr_retry &&
		attr.max_rd_atomic == arm->max_rd_atomic;
}

/* The extension's call and the CM's check the same. */
static void ep_04_the_calls_check_the_values_that_arm(void)
{
	for (unsigned int i = 0; i < COUNT(values); i++) {
		for (int cm = 0; cm < 2; cm++) {
			struct rc_arm arm = arm_of_row(i);
			struct rc_hold_info info;
			struct rig rig;
			int result;

			rig_open(&rig, 1, NULL);
			rig_to_rtr(&rig);
			result = cm ? rc_hold_cm_own(&rig.core, rig.qp, &arm)
				    : rc_hold_arm(&rig.core, rig.qp, &arm);
			ASSERT_ROW(result == values[i].expected, values[i].name);
			rc_hold_query(&rig.core, rig.qp, &info);
			ASSERT_ROW(info.armed == (values[i].expected == 0), values[i].name);
			ASSERT_ROW(shows(&rig, &arm) == (values[i].expected == 0), values[i].name);
			rig_close(&rig);
		}
	}
}

static int to_sqd(struct rig *rig)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD};

	return rig_modify(rig, &attr, IBV_QP_STATE);
}

static void ep_04_the_call_arms_in_rtr_only(void)
{
	struct rc_arm arm;
	struct rig rig;

	rig_open(&rig, 1, NULL);
	arm = hold_arm(&rig);
	CU_ASSERT_EQUAL(rc_hold_arm(&rig.core, rig.qp, &arm), -EINVAL); /* RESET */
	rig_to_init(&rig);
	CU_ASSERT_EQUAL(rc_hold_arm(&rig.core, rig.qp, &arm), -EINVAL);
	hold_reset(&rig);
	rig_to_rtr(&rig);
	CU_ASSERT_EQUAL(rc_hold_arm(&rig.core, rig.qp, &arm), 0);
	CU_ASSERT_EQUAL(rc_hold_notify(&rig.core, rig.qp), 0);
	CU_ASSERT_EQUAL(rc_hold_arm(&rig.core, rig.qp, &arm), -EINVAL); /* RTS */
	CU_ASSERT_EQUAL(to_sqd(&rig), 0);
	CU_ASSERT_EQUAL(rc_hold_arm(&rig.core, rig.qp, &arm), -EINVAL);
	rc_error(&rig.core, rig.qp);
	CU_ASSERT_EQUAL(rc_hold_arm(&rig.core, rig.qp, &arm), -EINVAL);
	rig_close(&rig);
}

/* The last one counts, and a refused one leaves the one before. */
static void ep_04_armed_again_replaces(void)
{
	struct rc_arm arm, bad;
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	hold_post(&rig, 1);
	arm = hold_arm(&rig);
	arm.sq_psn = 0xabcdef;
	arm.timeout = 3;
	CU_ASSERT_EQUAL(rc_hold_arm(&rig.core, rig.qp, &arm), 0);
	bad = arm;
	bad.sq_psn = 0;
	bad.retry_cnt = 8;
	CU_ASSERT_EQUAL(rc_hold_arm(&rig.core, rig.qp, &bad), -EINVAL);
	CU_ASSERT(shows(&rig, &arm));
	hold_first_send(&rig);
	rig_run(&rig);
	hold_assert_psns(&rig, 0xabcdef, 1);
	rig_close(&rig);
}

/* PSNs have 24 bits; as with modify, the rest is not looked at. */
static void ep_04_the_psn_has_24_bits(void)
{
	struct rc_arm arm;
	struct rig rig;

	rig_open(&rig, 1, NULL);
	arm = hold_arm(&rig);
	arm.sq_psn = 0x55000007;
	rig_to_rtr(&rig);
	CU_ASSERT_EQUAL(rc_hold_arm(&rig.core, rig.qp, &arm), 0);
	hold_post(&rig, 1);
	hold_first_send(&rig);
	rig_run(&rig);
	hold_assert_psns(&rig, 7, 1);
	rig_close(&rig);
}

/* ---- EP-4: causes ---- */

static void ep_04_each_cause_opens_and_is_counted(void)
{
	for (unsigned int i = 0; i < hold_way_count; i++) {
		const struct hold_way *way = &hold_ways[i];
		const struct rc_hold_counters *counted;
		struct rig rig;

		rig_open(&rig, 1, NULL);
		if (way->cm)
			hold_to_cm_rtr(&rig);
		else
			rig_to_armed_rtr(&rig);
		hold_post(&rig, 3);
		CU_ASSERT_EQUAL(hold_cause(&rig), -1);
		way->open(&rig);
		rig_run(&rig);
		counted = rc_qp_hold_counters(rig.qp);
		ASSERT_ROW(!hold_closed(&rig), way->name);
		ASSERT_ROW(hold_cause(&rig) == (int)way->cause, way->name);
		ASSERT_ROW(rc_qp_state(rig.qp) == IBV_QPS_RTS, way->name);
		ASSERT_ROW(rc_qp_shown_state(rig.qp) == IBV_QPS_RTS, way->name);
		hold_assert_psns(&rig, 0x100, 3);
		ASSERT_COUNTED(&rig, promoted_modify, way->cause == RC_HOLD_MODIFY);
		ASSERT_COUNTED(&rig, promoted_packet, way->cause == RC_HOLD_PACKET);
		ASSERT_COUNTED(&rig, promoted_rtu, way->cause == RC_HOLD_RTU);
		ASSERT_COUNTED(&rig, promoted_notify, way->cause == RC_HOLD_NOTIFY);
		ASSERT_COUNTED(&rig, promoted_grace, way->cause == RC_HOLD_GRACE);
		ASSERT_COUNTED(&rig, promoted_timeout, way->cause == RC_HOLD_TIMEOUT);
		ASSERT_ROW(hold_promotions(counted) == 1, way->name);
		hold_assert_sum(&rig);
		rig_close(&rig);
	}
}

/* A program may send the RTU's news without a CM of ours behind it: armed is what counts. */
static void ep_04_the_rtu_opens_a_qp_that_its_owner_drives(void)
{
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	hold_post(&rig, 2);
	CU_ASSERT(rc_hold_rtu(&rig.core, rig.qp));
	rig_run(&rig);
	hold_assert_psns(&rig, 0x100, 2);
	CU_ASSERT_EQUAL(hold_cause(&rig), RC_HOLD_RTU);
	ASSERT_COUNTED(&rig, promoted_rtu, 1);
	ASSERT_COUNTED(&rig, late_rtu, 0);
	rig_close(&rig);
}

/* Not armed: the first packet raises the event, and neither it nor RTU or notify open. */
static void ep_04_not_armed_nothing_opens_but_modify(void)
{
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_rtr(&rig);
	hold_post(&rig, 2);
	CU_ASSERT_EQUAL(rc_hold_notify(&rig.core, rig.qp), -EINVAL);
	CU_ASSERT(!rc_hold_rtu(&rig.core, rig.qp));
	CU_ASSERT(!rc_hold_grace(&rig.core, rig.qp));
	ASSERT_COUNTED(&rig, late_rtu, 0);
	ASSERT_COUNTED(&rig, late_notify, 0);
	hold_first_send(&rig);
	hold_first_send(&rig);
	rig_run(&rig);
	CU_ASSERT(hold_closed(&rig));
	CU_ASSERT_EQUAL(hold_requests_sent(&rig), 0);
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_EVENT), 1);
	ASSERT_COUNTED(&rig, comm_est, 1);
	ASSERT_COUNTED(&rig, unarmed_first_packet, 1);
	CU_ASSERT_EQUAL(hold_modify_rts(&rig), 0);
	rig_run(&rig);
	hold_assert_psns(&rig, 0x100, 2);
	CU_ASSERT_EQUAL(hold_cause(&rig), RC_HOLD_MODIFY);
	rig_close(&rig);
}

/* Armed after the first packet came: the next one opens, one amid a message too; no new event. */
static void ep_04_armed_after_the_first_packet_the_next_opens(void)
{
	static const uint8_t next[] = {OPCODE_RC_SEND_MIDDLE, OPCODE_RC_SEND_LAST};

	for (unsigned int i = 0; i < COUNT(next); i++) {
		struct rig_packet packet;
		struct rc_arm arm;
		struct rig rig;

		rig_open(&rig, 1, NULL);
		rig_to_rtr(&rig);
		hold_post(&rig, 1);
		rig_post_recv(&rig, 1, 8192, 4096);
		packet = hold_request(&rig, OPCODE_RC_SEND_FIRST);
		rig_receive(&rig, &packet);
		arm = hold_arm(&rig);
		CU_ASSERT_EQUAL(rc_hold_arm(&rig.core, rig.qp, &arm), 0);
		CU_ASSERT(hold_closed(&rig));
		packet = hold_request(&rig, next[i]);
		rig_receive(&rig, &packet);
		rig_run(&rig);
		CU_ASSERT_EQUAL(hold_cause(&rig), RC_HOLD_PACKET);
		hold_assert_psns(&rig, 0x100, 1);
		CU_ASSERT_EQUAL(rig_count(&rig, RIG_EVENT), 1);
		rig_close(&rig);
	}
}

/* In the states that have no gate, the news of a connection opens nothing. */
static void ep_04_there_is_a_gate_in_rtr_only(void)
{
	struct rig rig;

	rig_open(&rig, 1, NULL);
	CU_ASSERT_EQUAL(rc_hold_notify(&rig.core, rig.qp), -EINVAL);
	CU_ASSERT(!rc_hold_rtu(&rig.core, rig.qp));
	rig_to_init(&rig);
	CU_ASSERT_EQUAL(rc_hold_notify(&rig.core, rig.qp), -EINVAL);
	CU_ASSERT(!rc_hold_rtu(&rig.core, rig.qp));
	ASSERT_COUNTED(&rig, late_rtu, 0); /* it was early */
	CU_ASSERT_EQUAL(rc_qp_state(rig.qp), IBV_QPS_INIT);
	rc_error(&rig.core, rig.qp);
	CU_ASSERT_EQUAL(rc_hold_notify(&rig.core, rig.qp), -EINVAL);
	CU_ASSERT(!rc_hold_rtu(&rig.core, rig.qp));
	CU_ASSERT(!rc_hold_grace(&rig.core, rig.qp));
	CU_ASSERT_EQUAL(rc_qp_state(rig.qp), IBV_QPS_ERR);
	CU_ASSERT_EQUAL(hold_promotions(&rig.core.hold_counters), 0);
	rig_close(&rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(ep_02_strict_is_opened_by_modify_alone),
	UNIT_CASE(ep_02_strict_in_rts_sends),
	UNIT_CASE(ep_02_strict_takes_no_arming_attributes),
	UNIT_CASE(ep_02_the_policy_is_chosen_before_rtr),
	UNIT_CASE(ep_02_strict_of_the_cm_is_opened_as_under_hold),
	UNIT_CASE(ep_04_modify_arms_with_all_five_or_none),
	UNIT_CASE(ep_04_the_exception_is_for_init_to_rtr_only),
	UNIT_CASE(ep_04_modify_checks_the_values_that_arm),
	UNIT_CASE(ep_04_the_calls_check_the_values_that_arm),
	UNIT_CASE(ep_04_the_call_arms_in_rtr_only),
	UNIT_CASE(ep_04_armed_again_replaces),
	UNIT_CASE(ep_04_the_psn_has_24_bits),
	UNIT_CASE(ep_04_each_cause_opens_and_is_counted),
	UNIT_CASE(ep_04_the_rtu_opens_a_qp_that_its_owner_drives),
	UNIT_CASE(ep_04_not_armed_nothing_opens_but_modify),
	UNIT_CASE(ep_04_armed_after_the_first_packet_the_next_opens),
	UNIT_CASE(ep_04_there_is_a_gate_in_rtr_only),
};

UNIT_MAIN("hold-arm", cases)
