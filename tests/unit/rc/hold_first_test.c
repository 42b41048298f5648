/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The gate, docs/early-posts.md: what counts as the first packet, the event, and the order in which
 * the application sees things (EP-5, EP-8, EP-9, EP-16).
 */
#include <string.h>

#include "hold_rig.h"

/* ---- EP-5: what counts ---- */

static const uint8_t may_start[] = {
	OPCODE_RC_SEND_FIRST,
	OPCODE_RC_SEND_ONLY,
	OPCODE_RC_SEND_ONLY_IMM,
	OPCODE_RC_WRITE_FIRST,
	OPCODE_RC_WRITE_ONLY,
	OPCODE_RC_WRITE_ONLY_IMM,
	OPCODE_RC_READ_REQUEST,
	OPCODE_RC_CAS,
	OPCODE_RC_FAA,
};

static void open_by(uint8_t opcode, bool zero_length)
{
	const char *name = opcode_info(opcode)->name;
	struct rig_packet packet;
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	hold_post(&rig, 2);
	rig_post_recv(&rig, 1, 8192, 4096);
	packet = hold_request(&rig, opcode);
	if (zero_length) {
		packet.payload_length = 0;
		packet.length = 0;
		packet.rkey = 0x12345678; /* not looked at */
	}
	rig_receive(&rig, &packet);
	ASSERT_ROW(!hold_closed(&rig), name);
	ASSERT_ROW(hold_cause(&rig) == RC_HOLD_PACKET, name);
	ASSERT_ROW(rig_count(&rig, RIG_EVENT) == 1, name);
	rig_run(&rig);
	hold_assert_psns(&rig, 0x100, 2);
	rig_close(&rig);
}

static void ep_05_every_request_that_may_start_a_message_counts(void)
{
	for (unsigned int i = 0; i < COUNT(may_start); i++)
		open_by(may_start[i], false);
}

/* Without bytes there is no R_Key to be right (C9-88): the probe of EP-14 is such a WRITE. */
static void ep_05_zero_length_counts(void)
{
	static const uint8_t opcodes[] = {OPCODE_RC_SEND_ONLY, OPCODE_RC_SEND_ONLY_IMM,
		OPCODE_RC_WRITE_ONLY, OPCODE_RC_WRITE_ONLY_IMM, OPCODE_RC_READ_REQUEST};

	for (unsigned int i = 0; i < COUNT(opcodes); i++)
		open_by(opcodes[i], true);
}

static uint32_t bound_window(struct rig *rig)
{
	struct mem_bind bind = {.lkey = rig->key,
		.address = (uintptr_t)rig->memory,
		.length = 4096,
		.access = IBV_ACCESS_REMOTE_WRITE,
		.pd = 7,
		.qp_num = rc_qp_num(rig->qp)};
	uint32_t rkey;

	CU_ASSERT_EQUAL_FATAL(mem_window_alloc(rig->mem, 7, 2, &bind.window), 0);
	bind.new_rkey = bind.window;
	CU_ASSERT_EQUAL(mem_window_bind(rig->mem, &bind, 2, &rkey), MEM_OK);
	return rkey;
}

static void ep_05_a_send_that_invalidates_counts_if_it_may(void)
{
	for (int right = 0; right < 2; right++) {
		struct rig_packet packet;
		struct rig rig;

		rig_open(&rig, 1, NULL);
		rig_to_armed_rtr(&rig);
		rig_post_recv(&rig, 1, 8192, 4096);
		packet = hold_request(&rig, OPCODE_RC_SEND_ONLY_INV);
		packet.invalidate = right ? bound_window(&rig) : rig.key;
		rig_receive(&rig, &packet);
		CU_ASSERT_EQUAL(hold_closed(&rig), !right);
		CU_ASSERT_EQUAL(rig_count(&rig, RIG_EVENT), (uint32_t)right);
		rig_close(&rig);
	}
}

/* RNR NAK counts at once, since the peer is up; its retransmission changes nothing. */
static void ep_05_rnr_nak_counts_at_once(void)
{
	static const uint8_t opcodes[] = {OPCODE_RC_SEND_ONLY, OPCODE_RC_SEND_FIRST,
		OPCODE_RC_SEND_ONLY_IMM, OPCODE_RC_WRITE_ONLY_IMM};

	for (unsigned int i = 0; i < COUNT(opcodes); i++) {
		struct rig_packet packet;
		struct rig rig;

		rig_open(&rig, 1, NULL);
		rig_to_armed_rtr(&rig);
		hold_post(&rig, 2);
		packet = hold_request(&rig, opcodes[i]);
		rig_receive(&rig, &packet);
		CU_ASSERT_EQUAL(hold_cause(&rig), RC_HOLD_PACKET);
		rig_run(&rig);
		CU_ASSERT_EQUAL(rig_syndrome(&rig, 0), AETH_RNR_NAK | 12);
		hold_assert_psns(&rig, 0x100, 2);
		rig_post_recv(&rig, 1, 8192, 4096);
		rig_receive(&rig, &packet);
		rig_run(&rig);
		CU_ASSERT_EQUAL(rig_syndrome(&rig, rig.sent_count - 1), 0x1f);
		CU_ASSERT_EQUAL(rig_count(&rig, RIG_EVENT), 1);
		CU_ASSERT_EQUAL(rig_count(&rig, RIG_STATE), 2); /* RTR, RTS */
		ASSERT_COUNTED(&rig, promoted_packet, 1);
		rig_close(&rig);
	}
}

/* ---- EP-8: answer from the handler ---- */

/* The completion that came with the promoting packet lies behind the opening. */
static void ep_08_the_completion_comes_behind_the_opening(void)
{
	static const uint8_t opcodes[] = {
		OPCODE_RC_SEND_ONLY, OPCODE_RC_SEND_ONLY_IMM, OPCODE_RC_WRITE_ONLY_IMM};

	for (unsigned int i = 0; i < COUNT(opcodes); i++) {
		for (int cm = 0; cm < 2; cm++) {
			struct rig_packet packet;
			struct rig rig;

			rig_open(&rig, 1, NULL);
			if (cm)
				hold_to_cm_rtr(&rig);
			else
				rig_to_armed_rtr(&rig);
			rig_post_recv(&rig, 1, 8192, 4096);
			packet = hold_request(&rig, opcodes[i]);
			rig_receive(&rig, &packet);
			CU_ASSERT_EQUAL_FATAL(rig_count(&rig, RIG_RECV_DONE), 1);
			CU_ASSERT_EQUAL(rig_record(&rig, RIG_STATE, 1)->value, IBV_QPS_RTS);
			CU_ASSERT(
				rig_order(&rig, RIG_STATE, 1) < rig_order(&rig, RIG_RECV_DONE, 0));
			if (cm)
				CU_ASSERT(rig_order(&rig, RIG_OPENED, 0) <
					rig_order(&rig, RIG_RECV_DONE, 0));
			rig_close(&rig);
		}
	}
}

/* What the handler posts goes out in the same turn, behind what was held. */
static void ep_08_what_the_handler_posts_goes_out_at_once(void)
{
	for (uint32_t held = 0; held < 3; held++) {
		struct rig rig;

		rig_open(&rig, 1, NULL);
		rig_to_armed_rtr(&rig);
		if (held)
			hold_post(&rig, held);
		hold_first_send(&rig);
		CU_ASSERT_EQUAL(rig_count(&rig, RIG_RECV_DONE), 1);
		hold_post(&rig, 1);
		rig_run(&rig);
		hold_assert_psns(&rig, 0x100, held + 1);
		ASSERT_COUNTED(&rig, held, held);
		rig_close(&rig);
	}
}

/* ---- EP-9: events ---- */

static void ep_09_comm_est_once_per_visit_and_before_the_completion(void)
{
	struct rig rig;

	rig_open(&rig, 1, NULL);
	for (uint32_t visit = 0; visit < 3; visit++) {
		uint32_t done = rig_count(&rig, RIG_RECV_DONE);

		if (visit == 1)
			rig_to_rtr(&rig); /* not armed: the same event */
		else
			rig_to_armed_rtr(&rig);
		for (int i = 0; i < 4; i++)
			hold_first_send(&rig);
		CU_ASSERT_EQUAL(rig_count(&rig, RIG_EVENT), visit + 1);
		CU_ASSERT_EQUAL(rig_record(&rig, RIG_EVENT, visit)->value, IBV_EVENT_COMM_EST);
		CU_ASSERT(rig_order(&rig, RIG_EVENT, visit) < rig_order(&rig, RIG_RECV_DONE, done));
		ASSERT_COUNTED(&rig, comm_est, visit + 1);
		hold_reset(&rig);
	}
	rig_close(&rig);
}

/* Whatever opened before the first packet, no event: the owner knows. None for the CM's QPs. */
static void ep_09_no_event_if_something_else_came_first(void)
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
		hold_post(&rig, 1);
		way->open(&rig);
		hold_first_send(&rig);
		hold_first_send(&rig);
		ASSERT_ROW(rig_count(&rig, RIG_EVENT) == 0, way->name);
		ASSERT_COUNTED(&rig, comm_est, 0);
		rig_close(&rig);
	}
}

static void ep_09_the_cm_is_told_instead_and_once(void)
{
	for (unsigned int i = 0; i < hold_way_count; i++) {
		const struct hold_way *way = &hold_ways[i];
		struct rig rig;

		if (way->cause == RC_HOLD_MODIFY)
			continue;
		rig_open(&rig, 1, NULL);
		hold_to_cm_rtr(&rig);
		hold_post(&rig, 1);
		way->open(&rig);
		ASSERT_ROW(rig_count(&rig, RIG_OPENED) == 1, way->name);
		ASSERT_ROW(rig_record(&rig, RIG_OPENED, 0)->value == (int)way->cause, way->name);
		ASSERT_ROW(rig_count(&rig, RIG_EVENT) == 0, way->name);
		rig_close(&rig);
	}
}

/* The CM is not told of QPs that it does not own. */
static void ep_09_the_cm_is_told_of_its_own_alone(void)
{
	for (unsigned int i = 0; i < hold_way_count; i++) {
		struct rig rig;

		if (hold_ways[i].cm)
			continue;
		rig_open(&rig, 1, NULL);
		rig_to_armed_rtr(&rig);
		hold_post(&rig, 1);
		hold_ways[i].open(&rig);
		rig_run(&rig);
		hold_ack(&rig, 0x100);
		ASSERT_ROW(rig_count(&rig, RIG_OPENED) == 0, hold_ways[i].name);
		rig_close(&rig);
	}
}

/* ---- EP-16: safety ---- */

/* Dropped without an answer and counted, in RTR and in RTS; nothing else is seen of it. */
static void ep_16_a_wrong_source_is_dropped_silently_and_counted(void)
{
	static const uint8_t opcodes[] = {OPCODE_RC_SEND_ONLY, OPCODE_RC_WRITE_ONLY,
		OPCODE_RC_READ_REQUEST, OPCODE_RC_FAA, OPCODE_RC_ACK, OPCODE_RC_SEND_MIDDLE};
	static void (*const states[])(struct rig *) = {
		rig_to_rtr, rig_to_armed_rtr, hold_to_cm_rtr, rig_to_rts};

	for (unsigned int i = 0; i < COUNT(states); i++) {
		uint64_t expected = 0;
		uint32_t records;
		struct rig rig;

		rig_open(&rig, 1, NULL);
		states[i](&rig);
		rig_post_recv(&rig, 1, 8192, 4096);
		records = rig.record_count;
		for (unsigned int o = 0; o < COUNT(opcodes); o++) {
			for (uint32_t psn = 0x1ff; psn <= 0x201; psn++) {
				struct rig_packet packet = hold_request(&rig, opcodes[o]);

				packet.psn = psn;
				packet.bad_source = psn != 0x1ff;
				packet.bad_destination = psn == 0x1ff;
				rig_receive(&rig, &packet);
				rig_run(&rig);
				CU_ASSERT_EQUAL(rig.core.counters.drop_source, ++expected);
			}
		}
		CU_ASSERT_EQUAL(rig.record_count, records);
		CU_ASSERT_EQUAL(rig.core.counters.rcvd_pkts, 0);
		CU_ASSERT_EQUAL(rig.recvs_taken, 0);
		rig_close(&rig);
	}
}

/* The promoting packet came from other MAC and UDP ports: requests go where RTR said. */
static void ep_16_nothing_is_learned_from_a_packet(void)
{
	struct rig rig, peer;
	struct rig_frame frame;
	const uint8_t *sent;

	rig_open(&rig, 1, NULL);
	rig_open(&peer, 2, NULL);
	rig_to_armed_rtr(&rig);
	rig_to_rts(&peer);
	hold_post(&rig, 1);
	rig_post_recv(&rig, 1, 8192, 64);
	hold_post(&peer, 1);
	rig_run(&peer);
	frame = peer.sent[0];
	memset(frame.data + 6, 0x5a, 6); /* source MAC: the ICRC does not cover it */
	CU_ASSERT_EQUAL(rig_receive_frame(&rig, frame.data, frame.length), WIRE_OK);
	rig_run(&rig);
	CU_ASSERT_EQUAL_FATAL(hold_requests_sent(&rig), 1);
	sent = rig.sent[rig.sent_count - 1].data;
	CU_ASSERT_EQUAL(memcmp(sent, "\0\0\0\0\0\2", 6), 0);
	CU_ASSERT_EQUAL(memcmp(sent + 14 + 16, "\x0a\0\0\2", 4), 0);
	CU_ASSERT_EQUAL(sent[14 + 20] << 8 | sent[14 + 21], 0xc123);
	rig_close(&rig);
	rig_close(&peer);
}

static const struct unit_case cases[] = {
	UNIT_CASE(ep_05_every_request_that_may_start_a_message_counts),
	UNIT_CASE(ep_05_zero_length_counts),
	UNIT_CASE(ep_05_a_send_that_invalidates_counts_if_it_may),
	UNIT_CASE(ep_05_rnr_nak_counts_at_once),
	UNIT_CASE(ep_08_the_completion_comes_behind_the_opening),
	UNIT_CASE(ep_08_what_the_handler_posts_goes_out_at_once),
	UNIT_CASE(ep_09_comm_est_once_per_visit_and_before_the_completion),
	UNIT_CASE(ep_09_no_event_if_something_else_came_first),
	UNIT_CASE(ep_09_the_cm_is_told_instead_and_once),
	UNIT_CASE(ep_09_the_cm_is_told_of_its_own_alone),
	UNIT_CASE(ep_16_a_wrong_source_is_dropped_silently_and_counted),
	UNIT_CASE(ep_16_nothing_is_learned_from_a_packet),
};

UNIT_MAIN("hold-first", cases)
