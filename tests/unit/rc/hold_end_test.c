/* SPDX-License-Identifier: BSD-3-Clause */
/* The gate, docs/early-posts.md: failure, and what is seen from outside (EP-13, EP-17). */
#include <errno.h>

#include "hold_rig.h"

/* ---- EP-13: failure ---- */

/* What ends a QP that holds with an error. */
static void by_modify_to_error(struct rig *rig)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	CU_ASSERT_EQUAL(rig_modify(rig, &attr, IBV_QP_STATE), 0);
}

static void by_engine(struct rig *rig)
{
	rc_error(&rig->core, rig->qp);
}

static void by_fatal_request(struct rig *rig)
{
	struct rig_packet packet = hold_request(rig, OPCODE_RC_WRITE_ONLY);

	packet.rkey ^= 1;
	rig_receive(rig, &packet);
}

static void by_timeout(struct rig *rig)
{
	rc_hold_set_timeout(&rig->core, rig->qp, 1, RC_HOLD_ERROR);
	rig->core.now += MS;
	rc_core_run_timers(&rig->core);
}

static const struct {
	const char *name;
	void (*end)(struct rig *rig);
} ends[] = {
	{"modify", by_modify_to_error},
	{"engine", by_engine},
	{"fatal request", by_fatal_request},
	{"time-out", by_timeout},
};

/* One WR_FLUSH_ERR each, in order, unsignaled and local ones and those posted afterwards too. */
static void ep_13_an_error_flushes_in_order(void)
{
	static const enum ibv_wr_opcode opcodes[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_READ, IBV_WR_LOCAL_INV, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_BIND_MW};

	for (unsigned int i = 0; i < COUNT(ends); i++) {
		struct rig rig;

		rig_open(&rig, 1, NULL);
		rig_to_armed_rtr(&rig);
		for (uint32_t n = 0; n < 64; n++) {
			struct rig_send *slot =
				hold_post_one(&rig, &rig, opcodes[n % COUNT(opcodes)], 0);

			if (n % 3)
				slot->send.flags = 0;
		}
		rig_announce(&rig);
		ends[i].end(&rig);
		rig_run(&rig);
		hold_post(&rig, 2);
		rig_run(&rig);
		ASSERT_ROW(rc_qp_shown_state(rig.qp) == IBV_QPS_ERR, ends[i].name);
		ASSERT_ROW(rig_count(&rig, RIG_SEND_DONE) == 66, ends[i].name);
		for (uint32_t n = 0; n < rig_count(&rig, RIG_SEND_DONE); n++) {
			const struct rc_completion *done =
				&rig_record(&rig, RIG_SEND_DONE, n)->completion;

			CU_ASSERT_EQUAL(done->status, IBV_WC_WR_FLUSH_ERR);
			CU_ASSERT_EQUAL(done->wr_id, n + 1);
		}
		CU_ASSERT_EQUAL(hold_requests_sent(&rig), 0);
		ASSERT_COUNTED(&rig, held, 64);
		ASSERT_COUNTED(&rig, flushed_held, 64);
		CU_ASSERT_EQUAL(hold_held_now(&rig), 0);
		hold_assert_sum(&rig);
		rig_close(&rig);
	}
}

/* The NAK for a fatal request leaves; the requests stay. */
static void ep_13_the_nak_leaves_before_the_flush(void)
{
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	hold_post(&rig, 1);
	by_fatal_request(&rig);
	rig_run(&rig);
	CU_ASSERT_EQUAL(rig.sent_count, 1);
	CU_ASSERT_EQUAL(rig_syndrome(&rig, 0), NAK_REMOTE_ACCESS_ERROR);
	CU_ASSERT(rig_order(&rig, RIG_SENT_PACKET, 0) < rig_order(&rig, RIG_SEND_DONE, 0));
	rig_close(&rig);
}

/* An opening between the fatal request and its NAK: the error wins, nothing is sent. */
static void ep_13_an_opening_while_the_nak_is_due_sends_nothing(void)
{
	for (unsigned int i = 0; i < hold_way_count; i++) {
		const struct hold_way *way = &hold_ways[i];
		struct rig rig;

		if (way->cause == RC_HOLD_PACKET)
			continue;
		rig_open(&rig, 1, NULL);
		if (way->cm)
			hold_to_cm_rtr(&rig);
		else
			rig_to_armed_rtr(&rig);
		hold_post(&rig, 2);
		by_fatal_request(&rig);
		way->open(&rig);
		rig_run(&rig);
		ASSERT_ROW(rc_qp_state(rig.qp) == IBV_QPS_ERR, way->name);
		ASSERT_ROW(hold_requests_sent(&rig) == 0, way->name);
		ASSERT_ROW(rig_count(&rig, RIG_SEND_DONE) == 2, way->name);
		hold_assert_sum(&rig);
		rig_close(&rig);
	}
}

/* After ERR no cause opens, and nothing leaves. */
static void ep_13_after_an_error_nothing_leaves(void)
{
	for (unsigned int i = 0; i < COUNT(ends); i++) {
		uint32_t sent;
		struct rig rig;

		rig_open(&rig, 1, NULL);
		hold_to_cm_rtr(&rig);
		hold_post(&rig, 3);
		ends[i].end(&rig);
		rig_run(&rig);
		sent = rig.sent_count;
		hold_first_send(&rig);
		CU_ASSERT(!rc_hold_rtu(&rig.core, rig.qp));
		CU_ASSERT(!rc_hold_grace(&rig.core, rig.qp));
		CU_ASSERT_EQUAL(rc_hold_notify(&rig.core, rig.qp), -EINVAL);
		CU_ASSERT_EQUAL(hold_modify_rts(&rig), -EINVAL);
		rig_time(&rig, rig.core.now + 10 * SECOND);
		ASSERT_ROW(rig.sent_count == sent, ends[i].name);
		ASSERT_ROW(rig_count(&rig, RIG_OPENED) == 0, ends[i].name);
		CU_ASSERT_EQUAL(rig_count(&rig, RIG_SEND_DONE), 3);
		ASSERT_COUNTED(&rig, flushed_held, 3);
		CU_ASSERT_EQUAL(hold_promotions(&rig.core.hold_counters), 0);
		rig_close(&rig);
	}
}

static void ep_13_reset_makes_them_vanish(void)
{
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	hold_post(&rig, 5);
	hold_reset(&rig);
	rig_run(&rig);
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_SEND_DONE), 0);
	CU_ASSERT_EQUAL(rig.sent_count, 0);
	ASSERT_COUNTED(&rig, vanished_held, 5);
	CU_ASSERT_EQUAL(timers_next(&rig.core.timers), TIMER_NEVER);
	hold_assert_sum(&rig);

	/* reused: they do not come back */
	rig_to_armed_rtr(&rig);
	hold_post(&rig, 1);
	hold_first_send(&rig);
	rig_run(&rig);
	hold_assert_psns(&rig, 0x100, 1);
	rig_close(&rig);
}

static void ep_13_destroy_makes_them_vanish(void)
{
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	hold_post(&rig, 5);
	hold_destroy(&rig);
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_SEND_DONE), 0);
	CU_ASSERT_EQUAL(rig.sent_count, 0);
	CU_ASSERT_EQUAL(rig.core.hold_counters.held, 5);
	CU_ASSERT_EQUAL(rig.core.hold_counters.vanished_held, 5);
	CU_ASSERT_EQUAL(rig.core.timers.count, 0);
	rig_close(&rig);
}

/* What was posted and not announced yet was held, too. */
static void ep_13_what_was_not_announced_is_counted(void)
{
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	hold_post(&rig, 1);
	hold_post_one(&rig, &rig, IBV_WR_SEND, 0);
	hold_reset(&rig);
	ASSERT_COUNTED(&rig, held, 2);
	ASSERT_COUNTED(&rig, vanished_held, 2);
	rig_to_armed_rtr(&rig);
	hold_post_one(&rig, &rig, IBV_WR_SEND, 0);
	rc_error(&rig.core, rig.qp);
	rig_run(&rig);
	ASSERT_COUNTED(&rig, held, 3);
	ASSERT_COUNTED(&rig, flushed_held, 1);
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_SEND_DONE), 1);
	hold_assert_sum(&rig);
	rig_close(&rig);
}

/* To RESET from ERR, half flushed: what was counted as flushed is not counted again. */
static void ep_13_reset_amid_the_flush(void)
{
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	hold_post(&rig, 5);
	rc_error(&rig.core, rig.qp);
	CU_ASSERT(rc_transmit(&rig.core, rig.qp, 2));
	hold_reset(&rig);
	rig_run(&rig);
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_SEND_DONE), 2);
	ASSERT_COUNTED(&rig, flushed_held, 5);
	ASSERT_COUNTED(&rig, vanished_held, 0);
	hold_assert_sum(&rig);
	rig_close(&rig);
}

/* ---- EP-17: seen from outside ---- */

static void ep_17_query_tells_what_is_held_and_since_when(void)
{
	struct rc_hold_info info;
	struct rig rig;
	uint64_t start;

	rig_open(&rig, 1, NULL);
	rc_hold_query(&rig.core, rig.qp, &info);
	CU_ASSERT(!info.closed);
	CU_ASSERT(!info.armed);
	CU_ASSERT(!info.strict);
	CU_ASSERT_EQUAL(info.cause, -1);
	rig_to_armed_rtr(&rig);
	rc_hold_query(&rig.core, rig.qp, &info);
	CU_ASSERT(info.closed);
	CU_ASSERT(info.armed);
	CU_ASSERT_EQUAL(info.held_now, 0);
	CU_ASSERT_EQUAL(info.held_since, 0);
	rig_announce(&rig); /* of what has been counted before */
	rc_hold_query(&rig.core, rig.qp, &info);
	CU_ASSERT_EQUAL(info.held_since, 0);
	CU_ASSERT_EQUAL(timers_next(&rig.core.timers), TIMER_NEVER);
	start = rig.core.now += 77;
	hold_post(&rig, 2);
	rig.core.now += MS;
	hold_post(&rig, 3);
	rc_hold_query(&rig.core, rig.qp, &info);
	CU_ASSERT_EQUAL(info.held_now, 5);
	CU_ASSERT_EQUAL(info.held_since, start);
	CU_ASSERT_EQUAL(rc_hold_notify(&rig.core, rig.qp), 0);
	rc_hold_query(&rig.core, rig.qp, &info);
	CU_ASSERT(!info.closed);
	CU_ASSERT_EQUAL(info.held_now, 0);
	CU_ASSERT_EQUAL(info.held_since, 0);
	CU_ASSERT_EQUAL(info.cause, RC_HOLD_NOTIFY);
	rig_close(&rig);
}

/* Lower bounds of the buckets in microseconds. */
static void ep_17_the_histogram_of_the_time_held(void)
{
	static const uint64_t from[RC_HOLD_BUCKETS] = {
		0, 1, 10, 50, 100, 500, 1000, 5000, 20000, 100000, 250000, 1000000};

	for (unsigned int bucket = 0; bucket < RC_HOLD_BUCKETS; bucket++) {
		uint64_t times[] = {from[bucket] * US,
			bucket + 1 < RC_HOLD_BUCKETS ? from[bucket + 1] * US - 1 : 3600 * SECOND};

		for (unsigned int i = 0; i < COUNT(times); i++) {
			struct rig rig;

			rig_open(&rig, 1, NULL);
			rig_to_armed_rtr(&rig);
			hold_post(&rig, 1);
			rig.core.now += times[i] / 2;
			hold_post(&rig, 1); /* the first held request is what counts */
			rig.core.now += times[i] - times[i] / 2;
			CU_ASSERT_EQUAL(rc_hold_notify(&rig.core, rig.qp), 0);
			for (unsigned int b = 0; b < RC_HOLD_BUCKETS; b++)
				CU_ASSERT_EQUAL(rig.core.hold_histogram[b], b == bucket);
			rig_close(&rig);
		}
	}
}

/* One sample an opening that released something; none for what was flushed or vanished. */
static void ep_17_the_histogram_counts_releases(void)
{
	uint64_t samples = 0;
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	CU_ASSERT_EQUAL(rc_hold_notify(&rig.core, rig.qp), 0); /* nothing held */
	hold_reset(&rig);
	rig_to_armed_rtr(&rig);
	hold_post(&rig, 3);
	hold_reset(&rig);
	rig_to_armed_rtr(&rig);
	hold_post(&rig, 3);
	rc_error(&rig.core, rig.qp);
	for (unsigned int b = 0; b < RC_HOLD_BUCKETS; b++)
		samples += rig.core.hold_histogram[b];
	CU_ASSERT_EQUAL(samples, 0);
	rig_close(&rig);
}

/* The core's counters are the sum of its QPs', and outlive them. */
static void ep_17_the_core_adds_up_its_qps(void)
{
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	hold_post(&rig, 2);
	hold_first_send(&rig);
	CU_ASSERT(!rc_hold_rtu(&rig.core, rig.qp));
	hold_destroy(&rig);
	rig_to_armed_rtr(&rig);
	hold_post(&rig, 3);
	CU_ASSERT(rc_hold_rtu(&rig.core, rig.qp));
	CU_ASSERT_EQUAL(rig.core.hold_counters.held, 5);
	CU_ASSERT_EQUAL(rig.core.hold_counters.released, 5);
	CU_ASSERT_EQUAL(rig.core.hold_counters.promoted_packet, 1);
	CU_ASSERT_EQUAL(rig.core.hold_counters.promoted_rtu, 1);
	CU_ASSERT_EQUAL(rig.core.hold_counters.late_rtu, 1);
	CU_ASSERT_EQUAL(rig.core.hold_counters.comm_est, 1);
	CU_ASSERT_EQUAL(rc_qp_hold_counters(rig.qp)->held, 3);
	CU_ASSERT_EQUAL(rc_qp_hold_counters(rig.qp)->promoted_packet, 0);
	rig_close(&rig);
}

static void ep_17_every_counter_has_its_name(void)
{
	static const char *const names[] = {"held", "released", "flushed_held", "vanished_held",
		"promoted_modify", "promoted_packet", "promoted_rtu", "promoted_notify",
		"promoted_grace", "promoted_ack", "promoted_timeout", "late_rtu", "late_notify",
		"unarmed_first_packet", "hold_timeout", "hold_long", "comm_est"};

	CU_ASSERT_EQUAL_FATAL(COUNT(names), sizeof(struct rc_hold_counters) / 8);
	for (unsigned int i = 0; i < COUNT(names); i++)
		CU_ASSERT_STRING_EQUAL(rc_hold_counter_names[i], names[i]);
}

static const struct unit_case cases[] = {
	UNIT_CASE(ep_13_an_error_flushes_in_order),
	UNIT_CASE(ep_13_the_nak_leaves_before_the_flush),
	UNIT_CASE(ep_13_an_opening_while_the_nak_is_due_sends_nothing),
	UNIT_CASE(ep_13_after_an_error_nothing_leaves),
	UNIT_CASE(ep_13_reset_makes_them_vanish),
	UNIT_CASE(ep_13_destroy_makes_them_vanish),
	UNIT_CASE(ep_13_what_was_not_announced_is_counted),
	UNIT_CASE(ep_13_reset_amid_the_flush),
	UNIT_CASE(ep_17_query_tells_what_is_held_and_since_when),
	UNIT_CASE(ep_17_the_histogram_of_the_time_held),
	UNIT_CASE(ep_17_the_histogram_counts_releases),
	UNIT_CASE(ep_17_the_core_adds_up_its_qps),
	UNIT_CASE(ep_17_every_counter_has_its_name),
};

UNIT_MAIN("hold-end", cases)
