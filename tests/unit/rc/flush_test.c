/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ERR: everything that is outstanding, or posted later, ends with WR_FLUSH_ERR, once, in order,
 * unsignaled ones too (IBTA 10.3.1, 11.6.2; man ibv_modify_qp). Soft-RoCE never flushes receives
 * that are posted in ERR, and has no LAST_WQE_REACHED.
 */
#include "expect.h"

static void numbered_receives(struct rig *rig, uint64_t first, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		rig_post_recv(rig, first + i, 0, 4096);
}

/* The flush completions of both queues are numbered through from `first` on. */
static void flushed(
	const struct rig *rig, enum rig_what what, uint32_t from, uint64_t first, uint32_t count)
{
	CU_ASSERT(is_number(rig_count(rig, what), from + count));
	for (uint32_t i = 0; i < count; i++) {
		if (what == RIG_SEND_DONE)
			ROW(is_done(rig, from + i, first + i, IBV_WC_WR_FLUSH_ERR), i);
		else
			ROW(is_received(rig, from + i, first + i, IBV_WC_WR_FLUSH_ERR, 0), i);
	}
}

/* Sent, half sent, waiting for its turn, local, not taken yet: in the order of the posts. */
static void order(void)
{
	uint32_t rkey;
	struct rig_options options = {.sq_depth = 8};
	struct ibv_qp_attr attr = attr_of(1);
	struct rig_send *slot;
	struct rig rig;

	rig_open(&rig, 1, &options);
	to_rts(&rig, &attr);
	numbered_receives(&rig, 100, 3);
	CU_ASSERT_EQUAL(mem_window_alloc(rig.mem, 7, 2, &rkey), 0);
	put(&rig, IBV_WR_SEND, 1, 600);
	slot = put(&rig, IBV_WR_BIND_MW, 2, 0);
	slot->send.bind.window = slot->send.bind.new_rkey = rkey;
	slot->send.bind.lkey = rig.key;
	slot->send.bind.address = (uintptr_t)rig.memory;
	slot->send.bind.length = 64;
	put(&rig, IBV_WR_RDMA_READ, 3, 600);
	put(&rig, IBV_WR_SEND, 4, 1)->send.flags = IBV_SEND_FENCE; /* and unsignaled */
	for (unsigned int i = 5; i <= 20; i++)
		put(&rig, IBV_WR_SEND, i, 1)->send.flags = i % 2 ? IBV_SEND_SIGNALED : 0;
	go(&rig);
	SENT_COUNT(&rig, 4);
	ack(&rig, 0x101);
	DONE_COUNT(&rig, 0);
	CU_ASSERT_EQUAL(to_state(&rig, IBV_QPS_ERR), 0);
	flushed(&rig, RIG_SEND_DONE, 0, 1, 20);
	flushed(&rig, RIG_RECV_DONE, 0, 100, 3);
	SENT_COUNT(&rig, 4);
	EVENT_COUNT(&rig, 0);
	rig_close(&rig);
}

/* The one that failed comes first, with what it failed with; those before it succeeded. */
static void behind_the_failed_one(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	numbered_receives(&rig, 100, 2);
	for (unsigned int i = 1; i <= 6; i++)
		put(&rig, IBV_WR_SEND, i, 1);
	go(&rig);
	nak(&rig, 0x102, 0x61);
	DONE(&rig, 0, 1, IBV_WC_SUCCESS);
	DONE(&rig, 1, 2, IBV_WC_SUCCESS);
	DONE(&rig, 2, 3, IBV_WC_REM_INV_REQ_ERR);
	COUNTED(&rig, send_err, 1); /* the flushed ones are no errors of their own */
	flushed(&rig, RIG_SEND_DONE, 3, 4, 3);
	flushed(&rig, RIG_RECV_DONE, 0, 100, 2);
	rig_close(&rig);
}

/* A receive whose message is under way is the first of its queue. */
static void receive_in_use(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	numbered_receives(&rig, 100, 3);
	HEAR(&rig, .opcode = 0x00, .psn = 0x200, .payload_length = 256);
	SAME(rig.recvs_taken, 1);
	CU_ASSERT_EQUAL(to_state(&rig, IBV_QPS_ERR), 0);
	flushed(&rig, RIG_RECV_DONE, 0, 100, 3);
	rig_close(&rig);
}

/* Posted in ERR: flushed then, both queues, each time. */
static void posted_later(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	CU_ASSERT_EQUAL(to_state(&rig, IBV_QPS_ERR), 0);
	for (unsigned int i = 0; i < 5; i++) {
		put(&rig, IBV_WR_RDMA_WRITE, 2 * i, 1)->send.flags = 0;
		put(&rig, IBV_WR_LOCAL_INV, 2 * i + 1, 0);
		numbered_receives(&rig, 100 + i, 1);
		go(&rig);
		flushed(&rig, RIG_SEND_DONE, 2 * i, 2 * i, 2);
		flushed(&rig, RIG_RECV_DONE, i, 100 + i, 1);
	}
	SENT_COUNT(&rig, 0);
	rig_close(&rig);
}

/* From INIT and RTR as well; what a QP in RTR holds is flushed (EP-13 has its own tests). */
static void from_early_states(void)
{
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_init(&rig);
	numbered_receives(&rig, 100, 2);
	CU_ASSERT_EQUAL(to_state(&rig, IBV_QPS_ERR), 0);
	flushed(&rig, RIG_RECV_DONE, 0, 100, 2);
	rig_close(&rig);

	rig_open(&rig, 1, NULL);
	rig_to_rtr(&rig);
	numbered_receives(&rig, 100, 2);
	put(&rig, IBV_WR_SEND, 1, 1);
	put(&rig, IBV_WR_SEND, 2, 1)->send.flags = 0;
	go(&rig);
	CU_ASSERT_EQUAL(to_state(&rig, IBV_QPS_ERR), 0);
	flushed(&rig, RIG_SEND_DONE, 0, 1, 2);
	flushed(&rig, RIG_RECV_DONE, 0, 100, 2);
	rig_close(&rig);
}

/* No buffer is needed, and no call does more than its budget; the order stays. */
static void in_portions(void)
{
	for (unsigned int budget = 1; budget <= 7; budget++) {
		struct rig rig;

		open_rts(&rig, 1, NULL);
		numbered_receives(&rig, 100, 9);
		for (unsigned int i = 0; i < 90; i++)
			put(&rig, IBV_WR_SEND, i, 0);
		rig_announce(&rig);
		rc_error(&rig.core, rig.qp);
		while (rig.active) {
			uint32_t before = rig.record_count;

			rig_step(&rig, 0, budget);
			ROW(rig.record_count <= before + budget, budget);
		}
		flushed(&rig, RIG_SEND_DONE, 0, 0, 90);
		flushed(&rig, RIG_RECV_DONE, 0, 100, 9);
		rig_close(&rig);
	}
}

/* man ibv_get_async_event: the SRQ's receives are its own; when the QP uses none any more it says
 * so, once. */
static void shared_receives(void)
{
	struct rig_options options = {.has_srq = true};
	struct ibv_qp_attr attr = attr_of(1);
	struct rig rig;

	rig_open(&rig, 1, &options);
	to_rts(&rig, &attr);
	numbered_receives(&rig, 100, 3);
	put(&rig, IBV_WR_SEND, 1, 1);
	go(&rig);
	HEAR(&rig, .opcode = 0x00, .psn = 0x200, .payload_length = 256);
	CU_ASSERT_EQUAL(to_state(&rig, IBV_QPS_ERR), 0);
	flushed(&rig, RIG_SEND_DONE, 0, 1, 1);
	flushed(&rig, RIG_RECV_DONE, 0, 100, 1);
	SAME(rig.recvs_taken, 1);
	EVENT_COUNT(&rig, 1);
	EVENT(&rig, 0, IBV_EVENT_QP_LAST_WQE_REACHED);
	CU_ASSERT(rig_order(&rig, RIG_EVENT, 0) > rig_order(&rig, RIG_RECV_DONE, 0));
	/* what comes later, and ERR again, doesn't say it again */
	put(&rig, IBV_WR_SEND, 2, 1);
	go(&rig);
	CU_ASSERT_EQUAL(to_state(&rig, IBV_QPS_ERR), 0);
	flushed(&rig, RIG_SEND_DONE, 1, 2, 1);
	EVENT_COUNT(&rig, 1);
	/* the next life does */
	CU_ASSERT_EQUAL(to_state(&rig, IBV_QPS_RESET), 0);
	to_rts(&rig, &attr);
	CU_ASSERT_EQUAL(to_state(&rig, IBV_QPS_ERR), 0);
	EVENT_COUNT(&rig, 2);
	EVENT(&rig, 1, IBV_EVENT_QP_LAST_WQE_REACHED);
	rig_close(&rig);
}

/* A receive of an SRQ that the breach itself ended is not flushed again. */
static void shared_receive_ended_by_the_breach(void)
{
	struct rig_options options = {.has_srq = true};
	struct ibv_qp_attr attr = attr_of(1);
	struct rig rig;

	rig_open(&rig, 1, &options);
	to_rts(&rig, &attr);
	rig_post_recv(&rig, 100, 0, 8);
	HEAR(&rig, .opcode = 0x04, .psn = 0x200, .payload_length = 16);
	RECEIVED_COUNT(&rig, 1);
	RECEIVED(&rig, 0, 100, IBV_WC_LOC_LEN_ERR, 0);
	EVENT_COUNT(&rig, 1);
	EVENT(&rig, 0, IBV_EVENT_QP_LAST_WQE_REACHED);
	rig_close(&rig);
}

/* RESET in the middle: what has not been flushed vanishes (man ibv_modify_qp). */
static void reset_ends_the_flush(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	for (unsigned int i = 1; i <= 20; i++)
		put(&rig, IBV_WR_SEND, i, 1);
	go(&rig);
	rc_error(&rig.core, rig.qp);
	rig_step(&rig, 64, 4);
	flushed(&rig, RIG_SEND_DONE, 0, 1, 4);
	CU_ASSERT_EQUAL(to_state(&rig, IBV_QPS_RESET), 0);
	DONE_COUNT(&rig, 4);
	rig_close(&rig);
}

/* rc_error: what the engine calls; nothing in RESET, once otherwise. */
static void by_the_engine(void)
{
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rc_error(&rig.core, rig.qp);
	STATE(&rig, IBV_QPS_RESET);
	rig_to_rts(&rig);
	rc_error(&rig.core, rig.qp);
	rc_error(&rig.core, rig.qp);
	STATE(&rig, IBV_QPS_ERR);
	SAME(rig_count(&rig, RIG_STATE), 3); /* RTR, RTS, ERR */
	CU_ASSERT_EQUAL(rig_record(&rig, RIG_STATE, 2)->value, IBV_QPS_ERR);
	rig_close(&rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(order),
	UNIT_CASE(behind_the_failed_one),
	UNIT_CASE(receive_in_use),
	UNIT_CASE(posted_later),
	UNIT_CASE(from_early_states),
	UNIT_CASE(in_portions),
	UNIT_CASE(shared_receives),
	UNIT_CASE(shared_receive_ended_by_the_breach),
	UNIT_CASE(reset_ends_the_flush),
	UNIT_CASE(by_the_engine),
};

UNIT_MAIN("flush", cases)
