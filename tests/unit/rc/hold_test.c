/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The gate, docs/early-posts.md: what is held and how it is released (EP-1, EP-3, EP-7, EP-15).
 * A case is named after its rule. What the front decides (RESET, INIT, strict, full) is tested with
 * the front.
 */
#include <string.h>

#include "hold_rig.h"

/* 4.096 us x 2^14, the time-out that the rig's attributes ask for */
#define ACK_TIMEOUT 67108864ull

/* ---- EP-1: hold ---- */

static uint32_t window_of(struct rig *rig, bool bound)
{
	struct mem_bind bind = {.lkey = rig->key,
		.address = (uintptr_t)rig->memory,
		.length = 4096,
		.access = IBV_ACCESS_REMOTE_WRITE,
		.pd = 7,
		.qp_num = rc_qp_num(rig->qp)};
	uint32_t rkey;

	CU_ASSERT_EQUAL_FATAL(mem_window_alloc(rig->mem, 7, 2, &rkey), 0);
	bind.window = rkey;
	bind.new_rkey = rkey;
	if (bound)
		CU_ASSERT_EQUAL(mem_window_bind(rig->mem, &bind, 2, &rkey), MEM_OK);
	return rkey;
}

static void post_bind(struct rig *rig, uint32_t window)
{
	struct rig_send *slot = hold_post_one(rig, rig, IBV_WR_BIND_MW, 0);

	slot->send.bind.window = window;
	slot->send.bind.new_rkey = window;
	slot->send.bind.lkey = rig->key;
	slot->send.bind.address = (uintptr_t)rig->memory;
	slot->send.bind.length = 4096;
	slot->send.bind.access = IBV_ACCESS_REMOTE_WRITE;
}

static const struct {
	enum ibv_wr_opcode opcode;
	enum ibv_wc_opcode completion;
} operations[] = {
	{IBV_WR_SEND, IBV_WC_SEND},
	{IBV_WR_RDMA_READ, IBV_WC_RDMA_READ},
	{IBV_WR_BIND_MW, IBV_WC_BIND_MW},
	{IBV_WR_SEND_WITH_IMM, IBV_WC_SEND},
	{IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_COMP_SWAP},
	{IBV_WR_SEND_WITH_INV, IBV_WC_SEND},
	{IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD},
	{IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE},
	{IBV_WR_LOCAL_INV, IBV_WC_LOCAL_INV},
};

static void post_operation(struct rig *rig, struct rig *peer, enum ibv_wr_opcode opcode)
{
	if (opcode == IBV_WR_BIND_MW)
		post_bind(rig, window_of(rig, false));
	else if (opcode == IBV_WR_LOCAL_INV)
		hold_post_one(rig, peer, opcode, 0)->send.imm_or_rkey = window_of(rig, true);
	else if (opcode == IBV_WR_SEND_WITH_INV)
		hold_post_one(rig, peer, opcode, 0)->send.imm_or_rkey = window_of(peer, true);
	else
		hold_post_one(rig, peer, opcode, 64);
}

/* One of each: held all, and all done in the order of posting when the peer's first SEND comes. */
static void ep_01_every_operation_is_held(void)
{
	struct rig rig, peer;

	rig_open(&rig, 1, NULL);
	rig_open(&peer, 2, NULL);
	rig_to_armed_rtr(&rig);
	rig_to_rts(&peer);
	for (uint32_t i = 0; i < COUNT(operations); i++) {
		post_operation(&rig, &peer, operations[i].opcode);
		rig_announce(&rig);
		rig_post_recv(&peer, i, 8192, 64);
		CU_ASSERT_EQUAL(hold_held_now(&rig), i + 1);
	}
	rig_exchange(&rig, &peer);
	CU_ASSERT_EQUAL(rig.sends_taken, 0);
	CU_ASSERT_EQUAL(rig.sent_count, 0);
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_SEND_DONE), 0);
	ASSERT_COUNTED(&rig, held, COUNT(operations));

	rig_post_recv(&rig, 1, 8192, 64);
	hold_post(&peer, 1);
	rig_exchange(&peer, &rig);
	CU_ASSERT_EQUAL_FATAL(rig_count(&rig, RIG_SEND_DONE), COUNT(operations));
	for (uint32_t i = 0; i < COUNT(operations); i++) {
		const struct rc_completion *done = &rig_record(&rig, RIG_SEND_DONE, i)->completion;

		CU_ASSERT_EQUAL(done->wr_id, i + 1);
		CU_ASSERT_EQUAL(done->status, IBV_WC_SUCCESS);
		CU_ASSERT_EQUAL(done->opcode, operations[i].completion);
	}
	ASSERT_COUNTED(&rig, released, COUNT(operations));
	CU_ASSERT_EQUAL(hold_held_now(&rig), 0);
	rig_close(&rig);
	rig_close(&peer);
}

static void ep_01_as_many_as_the_send_queue_takes(void)
{
	static const uint32_t depths[] = {1, 2, 3, 64, 1024};

	for (unsigned int i = 0; i < COUNT(depths); i++) {
		struct rig_options options = {.sq_depth = depths[i]};
		struct rig rig;

		rig_open(&rig, 1, &options);
		rig_to_armed_rtr(&rig);
		for (uint32_t n = 0; n < depths[i]; n++)
			hold_post(&rig, 1);
		rig_run(&rig);
		CU_ASSERT_EQUAL(rig.sent_count, 0);
		CU_ASSERT_EQUAL(hold_held_now(&rig), depths[i]);
		CU_ASSERT_EQUAL(rc_hold_notify(&rig.core, rig.qp), 0);
		/* the window of unacknowledged packets ends at 256 */
		for (uint32_t acked = 0; acked < depths[i]; acked += 256) {
			rig_run(&rig);
			hold_ack(&rig,
				0x100 + acked + 255 < 0x100 + depths[i] ? 0x100 + acked + 255
									: 0x100 + depths[i] - 1);
		}
		hold_assert_psns(&rig, 0x100, depths[i]);
		CU_ASSERT_EQUAL(rig_count(&rig, RIG_SEND_DONE), depths[i]);
		ASSERT_COUNTED(&rig, held, depths[i]);
		ASSERT_COUNTED(&rig, released, depths[i]);
		rig_close(&rig);
	}
}

/* Between publishing a request and announcing it a thread may be preempted: it is held, too. */
static void ep_01_what_was_not_announced_is_held_too(void)
{
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	hold_post(&rig, 2);
	hold_post_one(&rig, &rig, IBV_WR_SEND, 0);
	CU_ASSERT_EQUAL(hold_held_now(&rig), 3);
	CU_ASSERT_EQUAL(rc_hold_notify(&rig.core, rig.qp), 0);
	rig_run(&rig);
	hold_assert_psns(&rig, 0x100, 3);
	ASSERT_COUNTED(&rig, held, 3);
	ASSERT_COUNTED(&rig, released, 3);
	rig_close(&rig);
}

static void ep_01_inline_data_goes_out_as_copied_at_the_post(void)
{
	struct rig rig;
	struct rig_send *slot;
	struct wire_packet packet;

	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	slot = rig_post(&rig, IBV_WR_SEND, 1, 0, 9, 0, 0);
	slot->send.flags |= IBV_SEND_INLINE;
	slot->send.sge_count = 0;
	memcpy(slot->tail, "in time.", 9);
	rig_announce(&rig);
	hold_first_send(&rig);
	rig_run(&rig);
	CU_ASSERT_EQUAL_FATAL(hold_requests_sent(&rig), 1);
	packet = rig_sent(&rig, rig.sent_count - 1);
	CU_ASSERT_EQUAL_FATAL(packet.payload_length, 9);
	CU_ASSERT_EQUAL(memcmp(packet.payload, "in time.", 9), 0);
	rig_close(&rig);
}

/* In ERR a post is taken and flushed, whether or not the QP ever opened; RESET takes none. */
static void ep_01_posts_in_error_are_flushed(void)
{
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	rc_error(&rig.core, rig.qp);
	rig_run(&rig);
	hold_post(&rig, 3);
	rig_run(&rig);
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_SEND_DONE), 3);
	ASSERT_COUNTED(&rig, held, 0);
	ASSERT_COUNTED(&rig, flushed_held, 0);
	rig_close(&rig);
}

/* ---- EP-3: silence ---- */

static void nothing_left(struct rig *rig)
{
	rig_run(rig);
	CU_ASSERT_EQUAL(rig->sends_taken, 0);
	CU_ASSERT_EQUAL(hold_requests_sent(rig), 0);
	CU_ASSERT_EQUAL(rig_count(rig, RIG_SEND_DONE), 0);
}

/* Not armed, so that requests arrive and the gate stays closed: every kind is answered in full. */
static void ep_03_the_responder_works_in_full(void)
{
	static const struct {
		uint8_t opcode;
		uint8_t answer;
		int completion; /* of a receive, or -1 */
	} rows[] = {
		{OPCODE_RC_SEND_ONLY, OPCODE_RC_ACK, IBV_WC_RECV},
		{OPCODE_RC_SEND_ONLY_IMM, OPCODE_RC_ACK, IBV_WC_RECV},
		{OPCODE_RC_WRITE_ONLY, OPCODE_RC_ACK, -1},
		{OPCODE_RC_WRITE_ONLY_IMM, OPCODE_RC_ACK, IBV_WC_RECV_RDMA_WITH_IMM},
		{OPCODE_RC_READ_REQUEST, OPCODE_RC_READ_RESPONSE_ONLY, -1},
		{OPCODE_RC_CAS, OPCODE_RC_ATOMIC_ACK, -1},
		{OPCODE_RC_FAA, OPCODE_RC_ATOMIC_ACK, -1},
		{OPCODE_RC_SEND_FIRST, OPCODE_RC_ACK, -1},
		{OPCODE_RC_SEND_MIDDLE, OPCODE_RC_ACK, -1},
		{OPCODE_RC_SEND_LAST, OPCODE_RC_ACK, IBV_WC_RECV},
	};
	struct rig rig;
	uint32_t received = 0;

	rig_open(&rig, 1, NULL);
	rig_to_rtr(&rig);
	hold_post(&rig, 3);
	for (uint32_t i = 0; i < COUNT(rows); i++) {
		struct rig_packet packet = hold_request(&rig, rows[i].opcode);

		rig_post_recv(&rig, i, 8192, 4096);
		rig_receive(&rig, &packet);
		nothing_left(&rig);
		CU_ASSERT_EQUAL_FATAL(rig.sent_count, i + 1);
		CU_ASSERT_EQUAL(rig_sent(&rig, i).opcode, rows[i].answer);
		CU_ASSERT_EQUAL(rig_sent(&rig, i).psn, packet.psn);
		CU_ASSERT_EQUAL(rig_syndrome(&rig, i), 0x1f);
		if (rows[i].completion >= 0)
			CU_ASSERT_EQUAL(
				rig_record(&rig, RIG_RECV_DONE, received++)->completion.opcode,
				(enum ibv_wc_opcode)rows[i].completion);
	}
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_RECV_DONE), received);
	CU_ASSERT(hold_closed(&rig));
	CU_ASSERT_EQUAL(hold_held_now(&rig), 3);
	rig_close(&rig);
}

/* Behind a gap: NAK; without a receive: RNR NAK; what comes twice: the kept answer. */
static void ep_03_naks_and_duplicates_are_answered(void)
{
	struct rig rig;
	struct rig_packet packet;
	uint64_t word = 5;

	rig_open(&rig, 1, NULL);
	rig_to_rtr(&rig);
	hold_post(&rig, 1);
	memcpy(rig.memory + 4096, &word, 8);

	packet = hold_request(&rig, OPCODE_RC_SEND_ONLY);
	packet.psn += 4;
	rig_receive(&rig, &packet);
	nothing_left(&rig);
	CU_ASSERT_EQUAL(rig_syndrome(&rig, 0), NAK_PSN_SEQUENCE_ERROR);

	packet.psn -= 4;
	rig_receive(&rig, &packet);
	nothing_left(&rig);
	CU_ASSERT_EQUAL(rig_syndrome(&rig, 1), AETH_RNR_NAK | 12);

	packet = hold_request(&rig, OPCODE_RC_FAA);
	packet.swap_add = 2;
	for (uint32_t i = 0; i < 3; i++) {
		rig_receive(&rig, &packet);
		nothing_left(&rig);
		CU_ASSERT_EQUAL_FATAL(rig.sent_count, 3 + i);
		CU_ASSERT_EQUAL(rig_sent(&rig, 2 + i).opcode, OPCODE_RC_ATOMIC_ACK);
	}
	memcpy(&word, rig.memory + 4096, 8);
	CU_ASSERT_EQUAL(word, 7); /* it ran once */
	CU_ASSERT(hold_closed(&rig));
	rig_close(&rig);
}

static enum mem_status write_through(struct rig *rig, uint32_t window)
{
	uint8_t *host;

	return mem_remote(rig->mem, 7, rc_qp_num(rig->qp), window, (uintptr_t)rig->memory, 16,
		IBV_ACCESS_REMOTE_WRITE, &host);
}

static void ep_03_no_local_operation_runs(void)
{
	struct rig rig;
	uint32_t bound, free_one;

	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	bound = window_of(&rig, true);
	free_one = window_of(&rig, false);
	hold_post_one(&rig, &rig, IBV_WR_LOCAL_INV, 0)->send.imm_or_rkey = bound;
	post_bind(&rig, free_one);
	rig_announce(&rig);
	nothing_left(&rig);
	CU_ASSERT_EQUAL(write_through(&rig, bound), MEM_OK);
	CU_ASSERT_NOT_EQUAL(write_through(&rig, free_one), MEM_OK);

	CU_ASSERT_EQUAL(rc_hold_notify(&rig.core, rig.qp), 0);
	rig_run(&rig);
	CU_ASSERT_NOT_EQUAL(write_through(&rig, bound), MEM_OK);
	CU_ASSERT_EQUAL(write_through(&rig, free_one), MEM_OK);
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_SEND_DONE), 2);
	rig_close(&rig);
}

/* The one timer of a QP that holds is the log line's, a second after the first held request. */
static void ep_03_no_timer_of_a_held_request_runs(void)
{
	struct rig rig;
	uint64_t start;

	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	start = rig.core.now;
	CU_ASSERT_EQUAL(timers_next(&rig.core.timers), TIMER_NEVER);
	hold_post(&rig, 4);
	nothing_left(&rig);
	CU_ASSERT_EQUAL(timers_next(&rig.core.timers), start + SECOND);
	rig_time(&rig, start + SECOND);
	CU_ASSERT_EQUAL(timers_next(&rig.core.timers), TIMER_NEVER);
	rig_time(&rig, start + 1000 * SECOND);
	nothing_left(&rig);
	CU_ASSERT_EQUAL(rig.core.counters.ack_timeout, 0);
	CU_ASSERT_EQUAL(rig.core.counters.retry_exceeded_err, 0);
	CU_ASSERT(hold_closed(&rig));
	rig_close(&rig);
}

/* ---- EP-7: order ---- */

/* Held ones, then those posted after the opening, some of them before the engine's next turn. */
static void ep_07_held_requests_go_first(void)
{
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	hold_post(&rig, 10);
	hold_first_send(&rig);
	hold_post(&rig, 5);
	rc_transmit(&rig.core, rig.qp, 3); /* the ACK and two requests */
	hold_post(&rig, 5);
	rig_run(&rig);
	hold_assert_psns(&rig, 0x100, 20);
	hold_ack(&rig, 0x100 + 19);
	CU_ASSERT_EQUAL_FATAL(rig_count(&rig, RIG_SEND_DONE), 20);
	for (uint32_t i = 0; i < 20; i++)
		CU_ASSERT_EQUAL(rig_record(&rig, RIG_SEND_DONE, i)->completion.wr_id, i + 1);
	ASSERT_COUNTED(&rig, held, 10);
	rig_close(&rig);
}

static void ep_07_the_first_carries_the_sq_psn(void)
{
	static const uint32_t psns[] = {0, 1, 0x7fffff, 0x800000, 0xfffffe, 0xffffff};

	for (unsigned int i = 0; i < COUNT(psns); i++) {
		for (unsigned int way = 0; way < hold_way_count; way++) {
			struct rc_arm arm;
			struct ibv_qp_attr attr;
			struct rig rig;

			rig_open(&rig, 1, NULL);
			arm = hold_arm(&rig);
			arm.sq_psn = psns[i];
			rig_to_rtr(&rig);
			if (hold_ways[way].cm)
				rc_hold_cm_own(&rig.core, rig.qp, &arm);
			else
				rc_hold_arm(&rig.core, rig.qp, &arm);
			hold_post(&rig, 4);
			if (hold_ways[way].cause == RC_HOLD_MODIFY) {
				rig_attr(&rig, &attr);
				attr.qp_state = IBV_QPS_RTS;
				attr.sq_psn = psns[i];
				CU_ASSERT_EQUAL(rig_modify(&rig, &attr, RIG_RTS_MASK), 0);
			} else {
				hold_ways[way].open(&rig);
			}
			rig_run(&rig);
			hold_assert_psns(&rig, psns[i], 4);
			hold_ack(&rig, (psns[i] + 3) & 0xffffff);
			CU_ASSERT_EQUAL(rig_count(&rig, RIG_SEND_DONE), 4);
			rig_close(&rig);
		}
	}
}

/* A region registered after the post serves; one that went between post and release does not. */
static void ep_07_keys_count_at_release(void)
{
	struct rig rig;
	uint32_t early, late;

	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	CU_ASSERT_EQUAL(mem_register(rig.mem, 7, rig.memory, 4096, 0, 0, &early), 0);
	hold_post(&rig, 1); /* by the rig's own region, which stays */
	((struct mem_sge *)hold_post_one(&rig, &rig, IBV_WR_SEND, 0)->tail)->lkey = 0;
	CU_ASSERT_EQUAL(
		mem_register(rig.mem, 7, rig.memory, RIG_MEMORY, (uintptr_t)rig.memory, 0, &late),
		0);
	((struct mem_sge *)rig.sends[1].tail)->lkey = late;
	((struct mem_sge *)hold_post_one(&rig, &rig, IBV_WR_SEND, 0)->tail)->lkey = early;
	((struct mem_sge *)rig.sends[2].tail)->address = 0;
	hold_post(&rig, 1);
	CU_ASSERT_EQUAL(mem_deregister(rig.mem, early), 0);
	CU_ASSERT_EQUAL(rc_hold_notify(&rig.core, rig.qp), 0);
	rig_run(&rig);
	hold_assert_psns(&rig, 0x100, 2);
	hold_ack(&rig, 0x101);
	rig_run(&rig);
	CU_ASSERT_EQUAL_FATAL(rig_count(&rig, RIG_SEND_DONE), 4);
	CU_ASSERT_EQUAL(rig_record(&rig, RIG_SEND_DONE, 0)->completion.status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(rig_record(&rig, RIG_SEND_DONE, 1)->completion.status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(rig_record(&rig, RIG_SEND_DONE, 2)->completion.status, IBV_WC_LOC_PROT_ERR);
	CU_ASSERT_EQUAL(rig_record(&rig, RIG_SEND_DONE, 3)->completion.status, IBV_WC_WR_FLUSH_ERR);
	rig_close(&rig);
}

static void answer_read(struct rig *rig, uint32_t psn)
{
	struct rig_packet packet = {.opcode = OPCODE_RC_READ_RESPONSE_ONLY,
		.psn = psn,
		.payload_length = 16,
		.syndrome = 0x1f};

	rig_receive(rig, &packet);
	rig_run(rig);
}

static void ep_07_fences_count_at_release(void)
{
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	hold_post_one(&rig, &rig, IBV_WR_RDMA_READ, 0);
	hold_post_one(&rig, &rig, IBV_WR_SEND, 0);
	hold_post_one(&rig, &rig, IBV_WR_SEND, 0)->send.flags |= IBV_SEND_FENCE;
	rig_announce(&rig);
	CU_ASSERT_EQUAL(rc_hold_notify(&rig.core, rig.qp), 0);
	rig_run(&rig);
	hold_assert_psns(&rig, 0x100, 2);
	answer_read(&rig, 0x100);
	hold_assert_psns(&rig, 0x100, 3);
	rig_close(&rig);
}

static void ep_07_the_initiator_depth_counts_at_release(void)
{
	struct rig rig;
	struct rc_arm arm;

	rig_open(&rig, 1, NULL);
	rig_to_rtr(&rig);
	arm = hold_arm(&rig);
	arm.max_rd_atomic = 2;
	CU_ASSERT_EQUAL(rc_hold_arm(&rig.core, rig.qp, &arm), 0);
	for (int i = 0; i < 5; i++)
		hold_post_one(&rig, &rig, IBV_WR_RDMA_READ, 0);
	rig_announce(&rig);
	CU_ASSERT_EQUAL(rc_hold_notify(&rig.core, rig.qp), 0);
	rig_run(&rig);
	for (uint32_t i = 0; i < 3; i++) {
		hold_assert_psns(&rig, 0x100, 2 + i);
		answer_read(&rig, 0x100 + i);
	}
	hold_assert_psns(&rig, 0x100, 5);
	rig_close(&rig);
}

/* Ten seconds in the gate cost neither time nor retries. */
static void ep_07_timers_start_at_the_first_transmission(void)
{
	struct rig rig;
	uint64_t sent;

	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	hold_post(&rig, 1);
	rig_time(&rig, rig.core.now + 10 * SECOND);
	sent = rig.core.now;
	CU_ASSERT_EQUAL(rc_hold_notify(&rig.core, rig.qp), 0);
	rig_run(&rig);
	CU_ASSERT_EQUAL(hold_requests_sent(&rig), 1);
	rig_time(&rig, sent + ACK_TIMEOUT - 1);
	CU_ASSERT_EQUAL(hold_requests_sent(&rig), 1);
	for (uint32_t retry = 1; retry <= 7; retry++) {
		rig_time(&rig, sent + retry * 4 * ACK_TIMEOUT);
		CU_ASSERT_EQUAL(hold_requests_sent(&rig), retry + 1);
	}
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_SEND_DONE), 0);
	rig_time(&rig, sent + 8 * 4 * ACK_TIMEOUT);
	CU_ASSERT_EQUAL_FATAL(rig_count(&rig, RIG_SEND_DONE), 1);
	CU_ASSERT_EQUAL(
		rig_record(&rig, RIG_SEND_DONE, 0)->completion.status, IBV_WC_RETRY_EXC_ERR);
	rig_close(&rig);
}

/* ---- EP-15: cost ---- */

/* A QP that holds is not on the active list, however often it is announced. */
static void ep_15_a_qp_that_holds_is_parked(void)
{
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	rig.active = false;
	for (int i = 0; i < 10; i++)
		hold_post(&rig, 1);
	CU_ASSERT(!rig.active);
	CU_ASSERT(!rc_transmit(&rig.core, rig.qp, 100));
	CU_ASSERT_EQUAL(rig.sends_taken, 0);
	CU_ASSERT_EQUAL(rc_hold_notify(&rig.core, rig.qp), 0);
	CU_ASSERT(rig.active);
	rig_close(&rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(ep_01_every_operation_is_held),
	UNIT_CASE(ep_01_as_many_as_the_send_queue_takes),
	UNIT_CASE(ep_01_what_was_not_announced_is_held_too),
	UNIT_CASE(ep_01_inline_data_goes_out_as_copied_at_the_post),
	UNIT_CASE(ep_01_posts_in_error_are_flushed),
	UNIT_CASE(ep_03_the_responder_works_in_full),
	UNIT_CASE(ep_03_naks_and_duplicates_are_answered),
	UNIT_CASE(ep_03_no_local_operation_runs),
	UNIT_CASE(ep_03_no_timer_of_a_held_request_runs),
	UNIT_CASE(ep_07_held_requests_go_first),
	UNIT_CASE(ep_07_the_first_carries_the_sq_psn),
	UNIT_CASE(ep_07_keys_count_at_release),
	UNIT_CASE(ep_07_fences_count_at_release),
	UNIT_CASE(ep_07_the_initiator_depth_counts_at_release),
	UNIT_CASE(ep_07_timers_start_at_the_first_transmission),
	UNIT_CASE(ep_15_a_qp_that_holds_is_parked),
};

UNIT_MAIN("hold", cases)
