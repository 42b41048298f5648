/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The gate, docs/early-posts.md: it opens once per visit to RTR, and what modify and query make of
 * that (EP-6).
 */
#include <errno.h>
#include <string.h>

#include "hold_rig.h"

/* 4.096 us x 2^8 */
#define ACK_TIMEOUT_8 1048576ull

static void enter_rtr(struct rig *rig, const struct hold_way *way)
{
	if (way->cm)
		hold_to_cm_rtr(rig);
	else
		rig_to_armed_rtr(rig);
}

/* Armed, `held` requests, opened by the way. */
static void open_by(struct rig *rig, const struct hold_way *way, uint32_t held)
{
	rig_open(rig, 1, NULL);
	enter_rtr(rig, way);
	if (held)
		hold_post(rig, held);
	way->open(rig);
	rig_run(rig);
}

/* ---- once ---- */

/* A second cause changes nothing, whichever it is; a late RTU or notify is counted. */
static void ep_06_a_second_cause_changes_nothing(void)
{
	for (unsigned int i = 0; i < hold_way_count; i++) {
		uint32_t records, activations;
		struct rig rig;

		open_by(&rig, &hold_ways[i], 1);
		hold_ack(&rig, 0x100);
		rig_run(&rig);
		records = rig.record_count;
		activations = rig.active;
		CU_ASSERT_EQUAL(rc_hold_notify(&rig.core, rig.qp), -EISCONN);
		CU_ASSERT(!rc_hold_rtu(&rig.core, rig.qp));
		CU_ASSERT(!rc_hold_grace(&rig.core, rig.qp));
		rig_time(&rig, rig.core.now + 10 * SECOND);
		ASSERT_ROW(rig.record_count == records, hold_ways[i].name);
		CU_ASSERT_EQUAL(rig.active, activations);
		hold_first_send(&rig);
		ASSERT_ROW(rig_count(&rig, RIG_STATE) == 2, hold_ways[i].name); /* RTR, RTS */
		ASSERT_ROW(hold_cause(&rig) == (int)hold_ways[i].cause, hold_ways[i].name);
		ASSERT_ROW(hold_promotions(&rig.core.hold_counters) == 1, hold_ways[i].name);
		ASSERT_COUNTED(&rig, late_rtu, 1);
		ASSERT_COUNTED(&rig, late_notify, 1);
		rig_close(&rig);
	}
}

static void ep_06_every_visit_to_rtr_has_its_own_opening(void)
{
	struct rig rig;
	uint32_t expected = 0;

	rig_open(&rig, 1, NULL);
	for (unsigned int i = 0; i < 2 * hold_way_count; i++) {
		const struct hold_way *way = &hold_ways[i % hold_way_count];

		enter_rtr(&rig, way);
		ASSERT_ROW(hold_closed(&rig), way->name);
		CU_ASSERT_EQUAL(hold_cause(&rig), -1);
		hold_post(&rig, 2);
		rig_run(&rig);
		CU_ASSERT_EQUAL(hold_requests_sent(&rig), expected);
		way->open(&rig);
		rig_run(&rig);
		expected += 2;
		CU_ASSERT_EQUAL(hold_requests_sent(&rig), expected);
		CU_ASSERT_EQUAL(hold_promotions(&rig.core.hold_counters), i + 1);
		hold_assert_sum(&rig);
		hold_reset(&rig);
		CU_ASSERT_EQUAL(hold_cause(&rig), -1);
		CU_ASSERT_EQUAL(rc_hold_set_timeout(&rig.core, rig.qp, 0, RC_HOLD_OPEN), 0);
	}
	rig_close(&rig);
}

/* What armed one visit does not arm the next. */
static void ep_06_arming_ends_with_the_visit(void)
{
	struct rc_hold_info info;
	struct rig rig;

	rig_open(&rig, 1, NULL);
	hold_to_cm_rtr(&rig);
	hold_reset(&rig);
	rc_hold_query(&rig.core, rig.qp, &info);
	CU_ASSERT(!info.armed);
	rig_to_rtr(&rig);
	rc_hold_query(&rig.core, rig.qp, &info);
	CU_ASSERT(!info.armed);
	hold_first_send(&rig);
	CU_ASSERT(hold_closed(&rig));
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_OPENED), 0); /* nor is it the CM's any more */
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_EVENT), 1);
	rig_close(&rig);
}

/* ---- modify before the promotion ---- */

static void ep_06_modify_before_the_promotion_replaces_everything_armed(void)
{
	struct ibv_qp_attr attr, shown;
	uint64_t sent;
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	hold_post(&rig, 2);
	hold_post_one(&rig, &rig, IBV_WR_RDMA_READ, 0);
	hold_post_one(&rig, &rig, IBV_WR_RDMA_READ, 0);
	rig_announce(&rig);
	rig_attr(&rig, &attr);
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = 0xfffffe;
	attr.timeout = 8;
	attr.retry_cnt = 2;
	attr.rnr_retry = 3;
	attr.max_rd_atomic = 1;
	CU_ASSERT_EQUAL(rig_modify(&rig, &attr, RIG_RTS_MASK), 0);
	rc_query(rig.qp, &shown);
	CU_ASSERT_EQUAL(shown.timeout, 8);
	CU_ASSERT_EQUAL(shown.retry_cnt, 2);
	CU_ASSERT_EQUAL(shown.rnr_retry, 3);
	CU_ASSERT_EQUAL(shown.max_rd_atomic, 1);
	sent = rig.core.now;
	rig_run(&rig);
	hold_assert_psns(&rig, 0xfffffe, 3); /* one READ at a time */
	for (uint32_t retry = 1; retry <= 2; retry++) {
		rig_time(&rig, sent + retry * 4 * ACK_TIMEOUT_8);
		CU_ASSERT_EQUAL(hold_requests_sent(&rig), 3 + 3 * retry);
	}
	rig_time(&rig, sent + 3 * 4 * ACK_TIMEOUT_8);
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_SEND_DONE), 4); /* RETRY_EXC_ERR, three flushed */
	rig_close(&rig);
}

/* A modify that is refused before the promotion leaves what is armed. */
static void ep_06_a_refused_modify_leaves_what_is_armed(void)
{
	struct ibv_qp_attr attr, before, after;
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	hold_post(&rig, 1);
	rc_query(rig.qp, &before);
	rig_attr(&rig, &attr);
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = 0x777777;
	attr.retry_cnt = 8;
	CU_ASSERT_EQUAL(rig_modify(&rig, &attr, RIG_RTS_MASK), -EINVAL);
	attr.retry_cnt = 1;
	CU_ASSERT_EQUAL(rig_modify(&rig, &attr, RIG_RTS_MASK & ~IBV_QP_TIMEOUT), -EINVAL);
	rc_query(rig.qp, &after);
	CU_ASSERT_EQUAL(memcmp(&before, &after, sizeof(after)), 0);
	hold_first_send(&rig);
	rig_run(&rig);
	hold_assert_psns(&rig, 0x100, 1);
	rig_close(&rig);
}

/* ---- the first modify after an automatic promotion ---- */

static const struct {
	const char *name;
	int mask; /* beside the required ones */
	enum ibv_qp_state current;
	int expected;
} late_masks[] = {
	{"plain", 0, 0, 0},
	{"from RTR", IBV_QP_CUR_STATE, IBV_QPS_RTR, 0},
	{"from RTS", IBV_QP_CUR_STATE, IBV_QPS_RTS, 0},
	{"from RESET", IBV_QP_CUR_STATE, IBV_QPS_RESET, -EINVAL},
	{"from INIT", IBV_QP_CUR_STATE, IBV_QPS_INIT, -EINVAL},
	{"from SQD", IBV_QP_CUR_STATE, IBV_QPS_SQD, -EINVAL},
	{"from ERR", IBV_QP_CUR_STATE, IBV_QPS_ERR, -EINVAL},
	{"access flags", IBV_QP_ACCESS_FLAGS, 0, 0},
	{"RNR timer", IBV_QP_MIN_RNR_TIMER, 0, 0},
	{"path migration", IBV_QP_PATH_MIG_STATE, 0, 0},
	{"all", IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER, IBV_QPS_RTS, 0},
	{"with a PATH_MTU", IBV_QP_PATH_MTU, 0, -EINVAL},
	{"with an RQ PSN", IBV_QP_RQ_PSN, 0, -EINVAL},
	{"with responder resources", IBV_QP_MAX_DEST_RD_ATOMIC, 0, -EINVAL},
	{"with an address", IBV_QP_AV, 0, -EINVAL},
};

static bool automatic(const struct hold_way *way)
{
	return way->cause != RC_HOLD_MODIFY;
}

static void ep_06_the_late_modify_has_the_mask_of_rtr_to_rts(void)
{
	for (unsigned int w = 0; w < hold_way_count; w++) {
		for (unsigned int i = 0; i < COUNT(late_masks); i++) {
			struct ibv_qp_attr attr;
			struct rig rig;

			if (!automatic(&hold_ways[w]))
				continue;
			open_by(&rig, &hold_ways[w], 1);
			rig_attr(&rig, &attr);
			attr.qp_state = IBV_QPS_RTS;
			attr.cur_qp_state = late_masks[i].current;
			ASSERT_ROW(rig_modify(&rig, &attr, RIG_RTS_MASK | late_masks[i].mask) ==
					late_masks[i].expected,
				late_masks[i].name);
			CU_ASSERT_EQUAL(rc_qp_state(rig.qp), IBV_QPS_RTS);
			/* a refused one was not the first: the right one is still taken */
			ASSERT_ROW(hold_modify_rts(&rig) == (late_masks[i].expected ? 0 : -EINVAL),
				late_masks[i].name);
			rig_close(&rig);
		}
	}
}

/* Each of the five that is missing makes it another modify, which RTS to RTS does not have. */
static void ep_06_the_late_modify_needs_all_five(void)
{
	static const int rts_attrs[] = {IBV_QP_SQ_PSN, IBV_QP_TIMEOUT, IBV_QP_RETRY_CNT,
		IBV_QP_RNR_RETRY, IBV_QP_MAX_QP_RD_ATOMIC};

	for (unsigned int i = 0; i < COUNT(rts_attrs); i++) {
		struct ibv_qp_attr attr;
		struct rig rig;

		open_by(&rig, &hold_ways[1], 0);
		rig_attr(&rig, &attr);
		attr.qp_state = IBV_QPS_RTS;
		CU_ASSERT_EQUAL(rig_modify(&rig, &attr, RIG_RTS_MASK & ~rts_attrs[i]), -EINVAL);
		CU_ASSERT_EQUAL(hold_modify_rts(&rig), 0);
		rig_close(&rig);
	}
}

static void ep_06_the_sq_psn_must_equal_the_armed_one(void)
{
	static const uint32_t wrong[] = {0x101, 0xff, 0, 0xffffff, 0x100 + 3};

	/* whether or not something has been sent since */
	for (uint32_t held = 0; held < 4; held += 3) {
		struct ibv_qp_attr attr, before, after;
		struct rig rig;

		open_by(&rig, &hold_ways[1], held);
		rc_query(rig.qp, &before);
		rig_attr(&rig, &attr);
		attr.qp_state = IBV_QPS_RTS;
		attr.timeout = 1;
		for (unsigned int i = 0; i < COUNT(wrong); i++) {
			attr.sq_psn = wrong[i];
			CU_ASSERT_EQUAL(rig_modify(&rig, &attr, RIG_RTS_MASK), -EINVAL);
			rc_query(rig.qp, &after);
			CU_ASSERT_EQUAL(memcmp(&before, &after, sizeof(after)), 0);
		}
		attr.sq_psn = 0x100;
		CU_ASSERT_EQUAL(rig_modify(&rig, &attr, RIG_RTS_MASK), 0);
		/* and it starts nothing anew */
		hold_post(&rig, 2);
		rig_run(&rig);
		hold_assert_psns(&rig, 0x100, held + 2);
		rig_close(&rig);
	}
}

/* READs and atomics under way are what max_rd_atomic bounds: 3 of them in flight. */
static void ep_06_max_rd_atomic_is_not_below_what_is_in_flight(void)
{
	static const struct {
		uint8_t value;
		int expected;
	} rows[] = {{0, -EINVAL}, {1, -EINVAL}, {2, -EINVAL}, {17, -EINVAL}, {3, 0}};
	struct ibv_qp_attr attr;
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	hold_post_one(&rig, &rig, IBV_WR_RDMA_READ, 0);
	hold_post_one(&rig, &rig, IBV_WR_ATOMIC_FETCH_AND_ADD, 0);
	hold_post_one(&rig, &rig, IBV_WR_RDMA_READ, 0);
	rig_announce(&rig);
	CU_ASSERT_EQUAL(rc_hold_notify(&rig.core, rig.qp), 0);
	rig_run(&rig);
	hold_assert_psns(&rig, 0x100, 3);
	rig_attr(&rig, &attr);
	attr.qp_state = IBV_QPS_RTS;
	for (unsigned int i = 0; i < COUNT(rows); i++) {
		attr.max_rd_atomic = rows[i].value;
		CU_ASSERT_EQUAL(rig_modify(&rig, &attr, RIG_RTS_MASK), rows[i].expected);
	}
	/* the new depth counts for what is sent from then on: a fourth READ waits */
	hold_post_one(&rig, &rig, IBV_WR_RDMA_READ, 0);
	rig_announce(&rig);
	rig_run(&rig);
	hold_assert_psns(&rig, 0x100, 3);
	rig_close(&rig);
}

/* With nothing in flight any depth will do, 0 too. */
static void ep_06_max_rd_atomic_may_be_0_while_nothing_is_in_flight(void)
{
	struct ibv_qp_attr attr;
	struct rig rig;

	open_by(&rig, &hold_ways[1], 2);
	rig_attr(&rig, &attr);
	attr.qp_state = IBV_QPS_RTS;
	attr.max_rd_atomic = 0;
	CU_ASSERT_EQUAL(rig_modify(&rig, &attr, RIG_RTS_MASK), 0);
	rig_close(&rig);
}

/* Time-out, retry counts and the optional ones take effect for what is sent from then on. */
static void ep_06_the_late_modify_takes_effect_from_then_on(void)
{
	struct ibv_qp_attr attr;
	struct rig_packet packet;
	uint64_t sent;
	struct rig rig;

	open_by(&rig, &hold_ways[3], 0);
	rig_attr(&rig, &attr);
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 8;
	attr.retry_cnt = 1;
	attr.rnr_retry = 1;
	attr.min_rnr_timer = 5;
	attr.qp_access_flags = 0;
	CU_ASSERT_EQUAL(
		rig_modify(&rig, &attr, RIG_RTS_MASK | IBV_QP_MIN_RNR_TIMER | IBV_QP_ACCESS_FLAGS),
		0);
	packet = hold_request(&rig, OPCODE_RC_SEND_ONLY);
	rig_receive(&rig, &packet);
	rig_run(&rig);
	CU_ASSERT_EQUAL(rig_syndrome(&rig, 0), AETH_RNR_NAK | 5);

	hold_post(&rig, 1);
	sent = rig.core.now;
	rig_run(&rig);
	rig_time(&rig, sent + ACK_TIMEOUT_8 - 1);
	CU_ASSERT_EQUAL(hold_requests_sent(&rig), 1);
	rig_time(&rig, sent + 4 * ACK_TIMEOUT_8);
	CU_ASSERT_EQUAL(hold_requests_sent(&rig), 2);
	rig_time(&rig, sent + 8 * ACK_TIMEOUT_8);
	CU_ASSERT_EQUAL_FATAL(rig_count(&rig, RIG_SEND_DONE), 1);
	CU_ASSERT_EQUAL(
		rig_record(&rig, RIG_SEND_DONE, 0)->completion.status, IBV_WC_RETRY_EXC_ERR);
	rig_close(&rig);

	/* the access flags: what was allowed a moment ago */
	open_by(&rig, &hold_ways[3], 0);
	CU_ASSERT_EQUAL(rig_modify(&rig, &attr, RIG_RTS_MASK | IBV_QP_ACCESS_FLAGS), 0);
	packet = hold_request(&rig, OPCODE_RC_WRITE_ONLY);
	rig_receive(&rig, &packet);
	rig_run(&rig);
	CU_ASSERT_EQUAL(rig_syndrome(&rig, 0), NAK_REMOTE_ACCESS_ERROR);
	rig_close(&rig);
}

/* A second one is RTS to RTS by the ordinary table, as is the first after a modify opened. */
static void ep_06_the_second_modify_is_rts_to_rts(void)
{
	for (unsigned int w = 0; w < hold_way_count; w++) {
		struct ibv_qp_attr attr;
		struct rig rig;

		open_by(&rig, &hold_ways[w], 1);
		if (automatic(&hold_ways[w]))
			CU_ASSERT_EQUAL(hold_modify_rts(&rig), 0);
		ASSERT_ROW(hold_modify_rts(&rig) == -EINVAL, hold_ways[w].name);
		rig_attr(&rig, &attr);
		attr.qp_state = IBV_QPS_RTS;
		attr.cur_qp_state = IBV_QPS_RTR;
		CU_ASSERT_EQUAL(rig_modify(&rig, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE), -EINVAL);
		attr.cur_qp_state = IBV_QPS_RTS;
		CU_ASSERT_EQUAL(rig_modify(&rig, &attr,
					IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS |
						IBV_QP_MIN_RNR_TIMER),
			0);
		rig_close(&rig);
	}
}

/* A modify by the table of RTS to RTS is one to RTS, and the first if it comes first. */
static void ep_06_rts_to_rts_may_be_the_first(void)
{
	struct ibv_qp_attr attr;
	struct rig rig;

	open_by(&rig, &hold_ways[1], 0);
	rig_attr(&rig, &attr);
	attr.qp_state = IBV_QPS_RTS;
	CU_ASSERT_EQUAL(rig_modify(&rig, &attr, IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER), 0);
	CU_ASSERT_EQUAL(hold_modify_rts(&rig), -EINVAL);
	rig_close(&rig);
}

/* To SQD and back is not the late modify, but it ends the time for it. */
static void ep_06_sqd_and_back_goes_by_the_table(void)
{
	struct ibv_qp_attr attr;
	struct rig rig;

	open_by(&rig, &hold_ways[1], 0);
	rig_attr(&rig, &attr);
	attr.qp_state = IBV_QPS_SQD;
	CU_ASSERT_EQUAL(rig_modify(&rig, &attr, IBV_QP_STATE), 0);
	CU_ASSERT_EQUAL(rc_hold_notify(&rig.core, rig.qp), -EISCONN);
	CU_ASSERT_EQUAL(hold_modify_rts(&rig), -EINVAL);
	CU_ASSERT_EQUAL(rc_qp_state(rig.qp), IBV_QPS_SQD);
	attr.qp_state = IBV_QPS_RTS;
	CU_ASSERT_EQUAL(rig_modify(&rig, &attr, IBV_QP_STATE), 0);
	CU_ASSERT_EQUAL(hold_modify_rts(&rig), -EINVAL);
	rig_close(&rig);
}

/* ---- query ---- */

static void ep_06_query_shows_rtr_while_held_and_rts_after(void)
{
	for (unsigned int w = 0; w < hold_way_count; w++) {
		struct ibv_qp_attr attr;
		struct rig rig;

		rig_open(&rig, 1, NULL);
		enter_rtr(&rig, &hold_ways[w]);
		hold_post(&rig, 1);
		rc_query(rig.qp, &attr);
		CU_ASSERT_EQUAL(rc_qp_shown_state(rig.qp), IBV_QPS_RTR);
		CU_ASSERT_EQUAL(attr.qp_state, IBV_QPS_RTR);
		CU_ASSERT_EQUAL(attr.cur_qp_state, IBV_QPS_RTR);
		CU_ASSERT_EQUAL(attr.sq_psn, 0x100);
		hold_ways[w].open(&rig);
		rc_query(rig.qp, &attr);
		ASSERT_ROW(attr.qp_state == IBV_QPS_RTS, hold_ways[w].name);
		CU_ASSERT_EQUAL(attr.cur_qp_state, IBV_QPS_RTS);
		CU_ASSERT_EQUAL(attr.timeout, 14);
		CU_ASSERT_EQUAL(attr.retry_cnt, 7);
		CU_ASSERT_EQUAL(attr.rnr_retry, 7);
		CU_ASSERT_EQUAL(attr.max_rd_atomic, 16);
		/* the owner hears of it once */
		CU_ASSERT_EQUAL(rig_count(&rig, RIG_STATE), 2);
		CU_ASSERT_EQUAL(rig_record(&rig, RIG_STATE, 1)->value, IBV_QPS_RTS);
		rig_close(&rig);
	}
}

static const struct unit_case cases[] = {
	UNIT_CASE(ep_06_a_second_cause_changes_nothing),
	UNIT_CASE(ep_06_every_visit_to_rtr_has_its_own_opening),
	UNIT_CASE(ep_06_arming_ends_with_the_visit),
	UNIT_CASE(ep_06_modify_before_the_promotion_replaces_everything_armed),
	UNIT_CASE(ep_06_a_refused_modify_leaves_what_is_armed),
	UNIT_CASE(ep_06_the_late_modify_has_the_mask_of_rtr_to_rts),
	UNIT_CASE(ep_06_the_late_modify_needs_all_five),
	UNIT_CASE(ep_06_the_sq_psn_must_equal_the_armed_one),
	UNIT_CASE(ep_06_max_rd_atomic_is_not_below_what_is_in_flight),
	UNIT_CASE(ep_06_max_rd_atomic_may_be_0_while_nothing_is_in_flight),
	UNIT_CASE(ep_06_the_late_modify_takes_effect_from_then_on),
	UNIT_CASE(ep_06_the_second_modify_is_rts_to_rts),
	UNIT_CASE(ep_06_rts_to_rts_may_be_the_first),
	UNIT_CASE(ep_06_sqd_and_back_goes_by_the_table),
	UNIT_CASE(ep_06_query_shows_rtr_while_held_and_rts_after),
};

UNIT_MAIN("hold-modify", cases)
