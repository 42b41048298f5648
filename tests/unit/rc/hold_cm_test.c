/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The gate, docs/early-posts.md: QPs of the CM, by the calls that it will use (EP-10, EP-11). How
 * the CM recognises them, and when it calls, is tested with the CM.
 */
#include <errno.h>

#include "hold_rig.h"

static int modify_state(struct rig *rig, enum ibv_qp_state state, int more)
{
	struct ibv_qp_attr attr;

	rig_attr(rig, &attr);
	attr.qp_state = state;
	attr.en_sqd_async_notify = 1;
	return rig_modify(rig, &attr, IBV_QP_STATE | more);
}

/* As librdmacm does it: to RTR, recognised by the CM, to RTS, and only then the REP. */
static void to_early_rts(struct rig *rig)
{
	hold_to_cm_rtr(rig);
	CU_ASSERT_EQUAL(hold_modify_rts(rig), 0);
}

/* ---- EP-10: the CM's early RTS ---- */

static void ep_10_the_owners_modify_does_not_open(void)
{
	struct ibv_qp_attr attr;
	struct rig rig;

	rig_open(&rig, 1, NULL);
	to_early_rts(&rig);
	CU_ASSERT(hold_closed(&rig));
	CU_ASSERT_EQUAL(rc_qp_state(rig.qp), IBV_QPS_RTR);
	CU_ASSERT_EQUAL(rc_qp_shown_state(rig.qp), IBV_QPS_RTS);
	rc_query(rig.qp, &attr);
	CU_ASSERT_EQUAL(attr.qp_state, IBV_QPS_RTS);
	CU_ASSERT_EQUAL(attr.cur_qp_state, IBV_QPS_RTS);
	hold_post(&rig, 3);
	rig_run(&rig);
	CU_ASSERT_EQUAL(rig.sends_taken, 0);
	CU_ASSERT_EQUAL(hold_held_now(&rig), 3);
	CU_ASSERT_EQUAL(hold_promotions(&rig.core.hold_counters), 0);
	CU_ASSERT(rc_hold_rtu(&rig.core, rig.qp));
	rig_run(&rig);
	hold_assert_psns(&rig, 0x100, 3);
	CU_ASSERT_EQUAL(rc_qp_shown_state(rig.qp), IBV_QPS_RTS);
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_OPENED), 1);
	rig_close(&rig);
}

static void ep_10_every_cause_but_modify_opens(void)
{
	for (unsigned int i = 0; i < hold_way_count; i++) {
		struct rig rig;

		if (hold_ways[i].cause == RC_HOLD_MODIFY)
			continue;
		rig_open(&rig, 1, NULL);
		to_early_rts(&rig);
		hold_post(&rig, 2);
		hold_ways[i].open(&rig);
		rig_run(&rig);
		ASSERT_ROW(hold_cause(&rig) == (int)hold_ways[i].cause, hold_ways[i].name);
		hold_assert_psns(&rig, 0x100, 2);
		/* the owner has made its move already: no late one as after a promotion */
		CU_ASSERT_EQUAL(hold_modify_rts(&rig), -EINVAL);
		rig_close(&rig);
	}
}

/* What the owner sets with RTS replaces what the CM armed. */
static void ep_10_the_owners_attributes_replace_what_is_armed(void)
{
	struct ibv_qp_attr attr;
	struct rig rig;

	rig_open(&rig, 1, NULL);
	hold_to_cm_rtr(&rig);
	rig_attr(&rig, &attr);
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = 0x9999;
	attr.retry_cnt = 1;
	CU_ASSERT_EQUAL(rig_modify(&rig, &attr, RIG_RTS_MASK), 0);
	hold_post(&rig, 1);
	CU_ASSERT(rc_hold_rtu(&rig.core, rig.qp));
	rig_run(&rig);
	hold_assert_psns(&rig, 0x9999, 1);
	rc_query(rig.qp, &attr);
	CU_ASSERT_EQUAL(attr.retry_cnt, 1);
	rig_close(&rig);
}

/* In RTS already, named in ACCEPT: its gate closes if it has sent nothing. */
static void ep_10_an_untouched_rts_is_recognised(void)
{
	struct rc_hold_info info;
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_rts(&rig);
	CU_ASSERT(!hold_closed(&rig));
	CU_ASSERT_EQUAL(rc_hold_cm_own(&rig.core, rig.qp, NULL), 0);
	rc_hold_query(&rig.core, rig.qp, &info);
	CU_ASSERT(info.closed);
	CU_ASSERT_EQUAL(info.cause, -1);
	CU_ASSERT_EQUAL(rc_qp_shown_state(rig.qp), IBV_QPS_RTS);
	hold_post(&rig, 2);
	rig_run(&rig);
	CU_ASSERT_EQUAL(rig.sent_count, 0);
	hold_first_send(&rig);
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_EVENT), 0);
	CU_ASSERT_EQUAL(rig_record(&rig, RIG_OPENED, 0)->value, RC_HOLD_PACKET);
	rig_run(&rig);
	hold_assert_psns(&rig, 0x100, 2);
	rig_close(&rig);
}

/* Posted and announced, but not taken: that is held from the moment on that the gate closes. */
static void ep_10_what_an_untouched_rts_has_posted_is_held(void)
{
	struct rc_hold_info info;
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_rts(&rig);
	hold_post(&rig, 2);
	CU_ASSERT_EQUAL(rc_hold_cm_own(&rig.core, rig.qp, NULL), 0);
	rig_run(&rig);
	CU_ASSERT_EQUAL(rig.sends_taken, 0);
	rc_hold_query(&rig.core, rig.qp, &info);
	CU_ASSERT_EQUAL(info.held_now, 2);
	CU_ASSERT_EQUAL(info.held_since, rig.core.now);
	ASSERT_COUNTED(&rig, held, 2);
	CU_ASSERT_EQUAL(timers_next(&rig.core.timers), rig.core.now + SECOND);
	rig.core.now += 30 * MS;
	CU_ASSERT(rc_hold_rtu(&rig.core, rig.qp));
	rig_run(&rig);
	hold_assert_psns(&rig, 0x100, 2);
	CU_ASSERT_EQUAL(rig.core.hold_histogram[8], 1); /* 20 to 100 ms */
	hold_assert_sum(&rig);
	rig_close(&rig);
}

static void ep_10_rts_that_has_sent_is_its_owners(void)
{
	static const enum ibv_wr_opcode sent[] = {IBV_WR_SEND, IBV_WR_RDMA_READ, IBV_WR_BIND_MW};

	for (unsigned int i = 0; i < COUNT(sent); i++) {
		struct rig rig;

		rig_open(&rig, 1, NULL);
		rig_to_rts(&rig);
		hold_post_one(&rig, &rig, sent[i], 0);
		rig_announce(&rig);
		rig_run(&rig);
		if (sent[i] == IBV_WR_BIND_MW) /* failed, and with it the QP */
			CU_ASSERT_EQUAL(rc_qp_state(rig.qp), IBV_QPS_ERR);
		CU_ASSERT_EQUAL(rc_hold_cm_own(&rig.core, rig.qp, NULL), -EINVAL);
		CU_ASSERT(!hold_closed(&rig));
		rig_close(&rig);
	}
}

static void to_reset(struct rig *rig)
{
}

static void to_error(struct rig *rig)
{
	rig_to_armed_rtr(rig);
	rc_error(&rig->core, rig->qp);
}

static void to_sqd(struct rig *rig)
{
	rig_to_rts(rig);
	CU_ASSERT_EQUAL(modify_state(rig, IBV_QPS_SQD, 0), 0);
}

static void ep_10_other_states_are_left_alone(void)
{
	static const struct {
		const char *name;
		void (*enter)(struct rig *rig);
		enum ibv_qp_state state;
	} rows[] = {
		{"RESET", to_reset, IBV_QPS_RESET},
		{"INIT", rig_to_init, IBV_QPS_INIT},
		{"SQD", to_sqd, IBV_QPS_SQD},
		{"ERR", to_error, IBV_QPS_ERR},
	};

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		struct rc_arm arm;
		struct rig rig;

		rig_open(&rig, 1, NULL);
		rows[i].enter(&rig);
		arm = hold_arm(&rig);
		ASSERT_ROW(rc_hold_cm_own(&rig.core, rig.qp, &arm) == -EINVAL, rows[i].name);
		ASSERT_ROW(rc_hold_cm_own(&rig.core, rig.qp, NULL) == -EINVAL, rows[i].name);
		ASSERT_ROW(rc_qp_state(rig.qp) == rows[i].state, rows[i].name);
		ASSERT_ROW(rc_qp_shown_state(rig.qp) == rows[i].state, rows[i].name);
		rig_close(&rig);
	}
}

/* The CM arms always; without attributes the QP must be armed already. */
static void ep_10_taking_over_needs_a_qp_that_is_armed(void)
{
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_rtr(&rig);
	CU_ASSERT_EQUAL(rc_hold_cm_own(&rig.core, rig.qp, NULL), -EINVAL);
	hold_first_send(&rig);
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_EVENT), 1); /* still its owner's */
	rig_close(&rig);

	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	CU_ASSERT_EQUAL(rc_hold_cm_own(&rig.core, rig.qp, NULL), 0);
	hold_first_send(&rig);
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_OPENED), 1);
	rig_close(&rig);
}

/* Recognised at RTR and once more at ACCEPT: fine while closed; an opened gate stays open. */
static void ep_10_an_opened_gate_is_not_closed_again(void)
{
	for (unsigned int i = 0; i < hold_way_count; i++) {
		for (int early = 0; early < 2; early++) {
			struct rig rig;

			if (hold_ways[i].cause == RC_HOLD_MODIFY)
				continue;
			rig_open(&rig, 1, NULL);
			if (early)
				to_early_rts(&rig);
			else
				hold_to_cm_rtr(&rig);
			CU_ASSERT_EQUAL(rc_hold_cm_own(&rig.core, rig.qp, NULL), 0);
			hold_post(&rig, 1);
			hold_ways[i].open(&rig);
			ASSERT_ROW(rc_hold_cm_own(&rig.core, rig.qp, NULL) == -EINVAL,
				hold_ways[i].name);
			ASSERT_ROW(!hold_closed(&rig), hold_ways[i].name);
			rig_run(&rig);
			hold_assert_psns(&rig, 0x100, 1);
			rig_close(&rig);
		}
	}
}

/* A QP whose peer has proved to be up is not taken over, even if its owner moved it since. */
static void ep_10_a_promoted_qp_is_its_owners(void)
{
	for (unsigned int i = 0; i < hold_way_count; i++) {
		const struct hold_way *way = &hold_ways[i];
		struct rig rig;

		if (way->cm || way->cause == RC_HOLD_MODIFY || way->cause == RC_HOLD_TIMEOUT)
			continue;
		rig_open(&rig, 1, NULL);
		rig_to_armed_rtr(&rig);
		way->open(&rig);
		ASSERT_ROW(rc_hold_cm_own(&rig.core, rig.qp, NULL) == -EINVAL, way->name);
		CU_ASSERT_EQUAL(hold_modify_rts(&rig), 0);
		ASSERT_ROW(rc_hold_cm_own(&rig.core, rig.qp, NULL) == -EINVAL, way->name);
		ASSERT_ROW(!hold_closed(&rig), way->name);
		rig_close(&rig);
	}
}

/* Nor is one that was not armed, whose first packet raised the event. */
static void ep_10_a_qp_whose_owner_heard_the_event_is_its_owners(void)
{
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_rtr(&rig);
	hold_first_send(&rig);
	CU_ASSERT_EQUAL(hold_modify_rts(&rig), 0);
	CU_ASSERT_EQUAL(rc_hold_cm_own(&rig.core, rig.qp, NULL), -EINVAL);
	CU_ASSERT(!hold_closed(&rig));
	rig_close(&rig);
}

/* From RTS to SQD and back leaves the gate as it is; so does opening leave SQD. */
static void ep_10_sqd_and_back_leave_the_gate_as_it_is(void)
{
	struct ibv_qp_attr attr;
	struct rig rig;

	rig_open(&rig, 1, NULL);
	to_early_rts(&rig);
	hold_post(&rig, 1);
	CU_ASSERT_EQUAL(modify_state(&rig, IBV_QPS_SQD, 0), 0);
	CU_ASSERT(hold_closed(&rig));
	rc_query(rig.qp, &attr);
	CU_ASSERT_EQUAL(attr.qp_state, IBV_QPS_SQD);
	CU_ASSERT_EQUAL(attr.sq_draining, 0);
	hold_post(&rig, 1);
	CU_ASSERT_EQUAL(modify_state(&rig, IBV_QPS_RTS, 0), 0);
	CU_ASSERT(hold_closed(&rig));
	CU_ASSERT_EQUAL(rc_qp_shown_state(rig.qp), IBV_QPS_RTS);
	CU_ASSERT_EQUAL(hold_held_now(&rig), 2);

	CU_ASSERT_EQUAL(modify_state(&rig, IBV_QPS_SQD, 0), 0);
	CU_ASSERT(rc_hold_rtu(&rig.core, rig.qp));
	CU_ASSERT_EQUAL(rc_qp_shown_state(rig.qp), IBV_QPS_SQD);
	rig_run(&rig);
	CU_ASSERT_EQUAL(rig.sends_taken, 0);
	CU_ASSERT_EQUAL(modify_state(&rig, IBV_QPS_RTS, 0), 0);
	rig_run(&rig);
	hold_assert_psns(&rig, 0x100, 2);
	rig_close(&rig);
}

/* A send queue that holds is drained: who asked to be told is told at once, and once. */
static void ep_10_sqd_tells_that_it_has_drained(void)
{
	struct rig rig;

	rig_open(&rig, 1, NULL);
	to_early_rts(&rig);
	hold_post(&rig, 1);
	CU_ASSERT_EQUAL(modify_state(&rig, IBV_QPS_SQD, IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	CU_ASSERT_EQUAL_FATAL(rig_count(&rig, RIG_EVENT), 1);
	CU_ASSERT_EQUAL(rig_record(&rig, RIG_EVENT, 0)->value, IBV_EVENT_SQ_DRAINED);
	CU_ASSERT(rc_hold_rtu(&rig.core, rig.qp));
	CU_ASSERT_EQUAL(modify_state(&rig, IBV_QPS_RTS, 0), 0);
	rig_run(&rig);
	hold_ack(&rig, 0x100);
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_EVENT), 1);
	rig_close(&rig);
}

/* Its owner sees RTS: what is of RTR alone is refused, what is of RTS goes by the table. */
static void ep_10_the_owner_is_served_as_in_rts(void)
{
	struct rc_arm arm;
	struct rig rig;

	rig_open(&rig, 1, NULL);
	to_early_rts(&rig);
	arm = hold_arm(&rig);
	arm.sq_psn = 0x555;
	CU_ASSERT_EQUAL(rc_hold_arm(&rig.core, rig.qp, &arm), -EINVAL);
	CU_ASSERT_EQUAL(hold_modify_rts(&rig), -EINVAL);
	CU_ASSERT_EQUAL(modify_state(&rig, IBV_QPS_RTS, IBV_QP_MIN_RNR_TIMER), 0);
	CU_ASSERT_EQUAL(modify_state(&rig, IBV_QPS_SQD, 0), 0);
	CU_ASSERT_EQUAL(modify_state(&rig, IBV_QPS_SQD, IBV_QP_TIMEOUT), 0);
	CU_ASSERT_EQUAL(modify_state(&rig, IBV_QPS_RTS, 0), 0);
	hold_post(&rig, 1);
	CU_ASSERT(hold_closed(&rig));
	CU_ASSERT(rc_hold_rtu(&rig.core, rig.qp));
	rig_run(&rig);
	hold_assert_psns(&rig, 0x100, 1);
	rig_close(&rig);
}

static void ep_10_reset_gives_the_qp_back_to_its_owner(void)
{
	struct rig rig;

	rig_open(&rig, 1, NULL);
	to_early_rts(&rig);
	hold_reset(&rig);
	CU_ASSERT_EQUAL(rc_qp_shown_state(rig.qp), IBV_QPS_RESET);
	rig_to_armed_rtr(&rig);
	CU_ASSERT(!rc_hold_grace(&rig.core, rig.qp));
	CU_ASSERT_EQUAL(hold_modify_rts(&rig), 0);
	CU_ASSERT(!hold_closed(&rig));
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_OPENED), 0);
	rig_close(&rig);
}

/* Nor has it the late modify of EP-6 from a promotion in an earlier visit. */
static void ep_10_an_earlier_promotion_allows_no_late_modify(void)
{
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	hold_first_send(&rig);
	hold_reset(&rig);
	to_early_rts(&rig);
	CU_ASSERT_EQUAL(hold_modify_rts(&rig), -EINVAL);
	CU_ASSERT(hold_closed(&rig));
	rig_close(&rig);
}

/* ---- EP-11: grace ---- */

static void ep_11_grace_opens_qps_of_the_cm_alone(void)
{
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	hold_post(&rig, 1);
	CU_ASSERT(!rc_hold_grace(&rig.core, rig.qp));
	CU_ASSERT(hold_closed(&rig));
	CU_ASSERT_EQUAL(rc_hold_cm_own(&rig.core, rig.qp, NULL), 0);
	CU_ASSERT(rc_hold_grace(&rig.core, rig.qp));
	CU_ASSERT(!rc_hold_grace(&rig.core, rig.qp));
	ASSERT_COUNTED(&rig, promoted_grace, 1);
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_OPENED), 1);
	rig_close(&rig);
}

static void after_grace(struct rig *rig, uint32_t held)
{
	rig_open(rig, 1, NULL);
	to_early_rts(rig);
	hold_post(rig, held);
	CU_ASSERT(rc_hold_grace(&rig->core, rig->qp));
	rig_run(rig);
	hold_assert_psns(rig, 0x100, held);
	CU_ASSERT_EQUAL(rig_count(rig, RIG_OPENED), 1);
}

static bool told(const struct rig *rig, enum rc_hold_cause cause)
{
	return rig_count(rig, RIG_OPENED) == 2 &&
		rig_record(rig, RIG_OPENED, 1)->value == (int)cause;
}

/* The first ACK proves that the REP arrived. It tells the CM, once. */
static void ep_11_the_first_ack_after_grace_tells_the_cm(void)
{
	struct rig rig;

	after_grace(&rig, 3);
	hold_ack(&rig, 0x100);
	CU_ASSERT(told(&rig, RC_HOLD_ACK));
	ASSERT_COUNTED(&rig, promoted_ack, 1);
	ASSERT_COUNTED(&rig, promoted_grace, 1);
	CU_ASSERT_EQUAL(hold_cause(&rig), RC_HOLD_GRACE);
	hold_ack(&rig, 0x101);
	hold_ack(&rig, 0x102);
	hold_first_send(&rig);
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_OPENED), 2);
	ASSERT_COUNTED(&rig, promoted_ack, 1);
	rig_close(&rig);
}

/* The answer to a READ, and to an atomic, is an acknowledgement as well. */
static void ep_11_answers_are_acknowledgements(void)
{
	static const struct {
		enum ibv_wr_opcode request;
		uint8_t answer;
		uint32_t length;
	} rows[] = {
		{IBV_WR_RDMA_READ, OPCODE_RC_READ_RESPONSE_ONLY, 16},
		{IBV_WR_ATOMIC_FETCH_AND_ADD, OPCODE_RC_ATOMIC_ACK, 0},
	};

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		struct rig_packet packet = {.opcode = rows[i].answer,
			.psn = 0x100,
			.payload_length = rows[i].length,
			.syndrome = 0x1f};
		struct rig rig;

		rig_open(&rig, 1, NULL);
		hold_to_cm_rtr(&rig);
		hold_post_one(&rig, &rig, rows[i].request, 0);
		rig_announce(&rig);
		CU_ASSERT(rc_hold_grace(&rig.core, rig.qp));
		rig_run(&rig);
		rig_receive(&rig, &packet);
		CU_ASSERT(told(&rig, RC_HOLD_ACK));
		rig_close(&rig);
	}
}

/* What acknowledges nothing of this QP proves nothing. */
static void ep_11_a_response_to_nothing_tells_nobody(void)
{
	static const uint32_t psns[] = {0xff, 0x103, 0x200};
	struct rig_packet packet = {.opcode = OPCODE_RC_ACK, .psn = 0x102, .syndrome = 0x1f};
	struct rig rig;

	after_grace(&rig, 3);
	for (unsigned int i = 0; i < COUNT(psns); i++)
		hold_ack(&rig, psns[i]);
	packet.bad_source = true;
	rig_receive(&rig, &packet);
	packet.bad_source = false;
	packet.bad_icrc = true;
	rig_receive(&rig, &packet);
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_OPENED), 1);
	ASSERT_COUNTED(&rig, promoted_ack, 0);
	rig_close(&rig);
}

/* A peer that is not ready drops what grace released; the ack timer repairs it. */
static void ep_11_the_ack_timer_repairs_what_came_too_early(void)
{
	struct rig rig;

	after_grace(&rig, 2);
	for (uint32_t i = 1; i <= 3; i++)
		rig_time(&rig, rig.core.now + 300 * MS);
	CU_ASSERT_EQUAL(hold_requests_sent(&rig), 8);
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_OPENED), 1);
	hold_ack(&rig, 0x101);
	CU_ASSERT(told(&rig, RC_HOLD_ACK));
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_SEND_DONE), 2);
	rig_close(&rig);
}

/* EP-9: whatever proves first that the peer is up tells the CM, and the ACK then no more. */
static void ep_11_another_proof_after_grace_tells_as_well(void)
{
	struct rig rig;

	after_grace(&rig, 1);
	hold_first_send(&rig);
	CU_ASSERT(told(&rig, RC_HOLD_PACKET));
	CU_ASSERT(rig_order(&rig, RIG_OPENED, 1) < rig_order(&rig, RIG_RECV_DONE, 0));
	hold_ack(&rig, 0x100);
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_OPENED), 2);
	ASSERT_COUNTED(&rig, promoted_packet, 0); /* it opened nothing */
	rig_close(&rig);

	after_grace(&rig, 1);
	CU_ASSERT_EQUAL(rc_hold_notify(&rig.core, rig.qp), 0);
	CU_ASSERT(told(&rig, RC_HOLD_NOTIFY));
	CU_ASSERT_EQUAL(rc_hold_notify(&rig.core, rig.qp), -EISCONN);
	hold_ack(&rig, 0x100);
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_OPENED), 2);
	rig_close(&rig);

	/* the CM has the RTU itself */
	after_grace(&rig, 1);
	CU_ASSERT(!rc_hold_rtu(&rig.core, rig.qp));
	ASSERT_COUNTED(&rig, late_rtu, 1);
	hold_ack(&rig, 0x100);
	hold_first_send(&rig);
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_OPENED), 1);
	rig_close(&rig);
}

/* A hold time-out that opens proves no more than grace does. */
static void ep_11_a_hold_timeout_is_no_proof_either(void)
{
	struct rig rig;

	rig_open(&rig, 1, NULL);
	hold_to_cm_rtr(&rig);
	CU_ASSERT_EQUAL(rc_hold_set_timeout(&rig.core, rig.qp, 10, RC_HOLD_OPEN), 0);
	hold_post(&rig, 1);
	rig_time(&rig, rig.core.now + 10 * MS);
	CU_ASSERT_EQUAL(rig_record(&rig, RIG_OPENED, 0)->value, RC_HOLD_TIMEOUT);
	hold_ack(&rig, 0x100);
	CU_ASSERT(told(&rig, RC_HOLD_ACK));
	rig_close(&rig);
}

/* Nothing is told of a QP that failed meanwhile, nor in its next life. */
static void ep_11_an_error_ends_the_wait_for_a_proof(void)
{
	struct rig rig;

	after_grace(&rig, 1);
	rc_error(&rig.core, rig.qp);
	hold_ack(&rig, 0x100);
	hold_first_send(&rig);
	CU_ASSERT_EQUAL(rc_hold_notify(&rig.core, rig.qp), -EINVAL);
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_OPENED), 1);
	rig_run(&rig);
	hold_reset(&rig);
	rig_to_rts(&rig);
	hold_post(&rig, 1);
	rig_run(&rig);
	hold_ack(&rig, 0x100);
	hold_first_send(&rig);
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_OPENED), 1);
	rig_close(&rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(ep_10_the_owners_modify_does_not_open),
	UNIT_CASE(ep_10_every_cause_but_modify_opens),
	UNIT_CASE(ep_10_the_owners_attributes_replace_what_is_armed),
	UNIT_CASE(ep_10_an_untouched_rts_is_recognised),
	UNIT_CASE(ep_10_what_an_untouched_rts_has_posted_is_held),
	UNIT_CASE(ep_10_rts_that_has_sent_is_its_owners),
	UNIT_CASE(ep_10_other_states_are_left_alone),
	UNIT_CASE(ep_10_taking_over_needs_a_qp_that_is_armed),
	UNIT_CASE(ep_10_an_opened_gate_is_not_closed_again),
	UNIT_CASE(ep_10_a_promoted_qp_is_its_owners),
	UNIT_CASE(ep_10_a_qp_whose_owner_heard_the_event_is_its_owners),
	UNIT_CASE(ep_10_sqd_and_back_leave_the_gate_as_it_is),
	UNIT_CASE(ep_10_sqd_tells_that_it_has_drained),
	UNIT_CASE(ep_10_the_owner_is_served_as_in_rts),
	UNIT_CASE(ep_10_reset_gives_the_qp_back_to_its_owner),
	UNIT_CASE(ep_10_an_earlier_promotion_allows_no_late_modify),
	UNIT_CASE(ep_11_grace_opens_qps_of_the_cm_alone),
	UNIT_CASE(ep_11_the_first_ack_after_grace_tells_the_cm),
	UNIT_CASE(ep_11_answers_are_acknowledgements),
	UNIT_CASE(ep_11_a_response_to_nothing_tells_nobody),
	UNIT_CASE(ep_11_the_ack_timer_repairs_what_came_too_early),
	UNIT_CASE(ep_11_another_proof_after_grace_tells_as_well),
	UNIT_CASE(ep_11_a_hold_timeout_is_no_proof_either),
	UNIT_CASE(ep_11_an_error_ends_the_wait_for_a_proof),
};

UNIT_MAIN("hold-cm", cases)
