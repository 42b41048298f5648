/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A QP from creation to destruction: limits, and that RESET leaves nothing of the old life, neither
 * to the next one nor behind (man ibv_modify_qp; IBTA 10.2.4.4).
 */
#include <errno.h>

#include "expect.h"

static void creation_limits(void)
{
	static const struct {
		struct rc_qp_attr attr;
		int error;
	} rows[] = {
		{{.qp_num = 2}, 0}, /* 0 and 1 are the management QPs */
		{{.qp_num = 0xfffffe, .max_send_sge = 32, .max_rd_atomic = 128, .sq_depth = 4096},
			0},
		{{.qp_num = 0}, -EINVAL},
		{{.qp_num = 1}, -EINVAL},
		{{.qp_num = 0xffffff}, -EINVAL}, /* multicast */
		{{.qp_num = 0x1000000}, -EINVAL},
		{{.qp_num = 5, .max_send_sge = 33}, -EINVAL},
		{{.qp_num = 5, .max_recv_sge = 33}, -EINVAL},
		{{.qp_num = 5, .max_rd_atomic = 129}, -EINVAL},
		{{.qp_num = 5, .sq_depth = (1u << 20) + 1}, -EINVAL},
	};
	struct rig rig;

	rig_open(&rig, 1, NULL);
	for (unsigned int i = 0; i < COUNT(rows); i++) {
		struct rc_qp *qp = NULL;

		ROW(rc_qp_create(&rig.core, &rows[i].attr, &rig, &qp) == rows[i].error, i);
		ROW((qp != NULL) == (rows[i].error == 0), i);
		if (qp)
			rc_qp_destroy(&rig.core, qp);
	}
	rig_close(&rig);
}

static void what_it_was_created_with(void)
{
	struct rig rig;

	rig_open(&rig, 1, NULL);
	CU_ASSERT_PTR_EQUAL(rc_qp_user(rig.qp), &rig);
	CU_ASSERT_EQUAL(rc_qp_num(rig.qp), 0x101);
	CU_ASSERT_EQUAL(rc_qp_pd(rig.qp), 7);
	CU_ASSERT_EQUAL(rc_qp_state(rig.qp), IBV_QPS_RESET);
	CU_ASSERT_EQUAL(rc_qp_shown_state(rig.qp), IBV_QPS_RESET);
	rig_to_rts(&rig);
	CU_ASSERT_EQUAL(rc_qp_path(rig.qp)->destination_qp, 0x102);
	rig_close(&rig);
}

/* A send queue of no depth takes nothing, and flushes what is posted all the same. */
static void receive_only(void)
{
	struct rc_qp_attr attr = {.qp_num = 0x201,
		.pd = 7,
		.recv_pd = 7,
		.max_inline = 512, /* what the rig copies */
		.pkey = 0xffff};
	struct rc_qp *own;
	struct rig rig;

	rig_open(&rig, 1, NULL);
	own = rig.qp;
	CU_ASSERT_EQUAL_FATAL(rc_qp_create(&rig.core, &attr, &rig, &rig.qp), 0);
	rig_to_init(&rig);
	CU_ASSERT_EQUAL(to_state(&rig, IBV_QPS_ERR), 0);
	put(&rig, IBV_WR_SEND, 1, 0);
	go(&rig);
	DONE(&rig, 0, 1, IBV_WC_WR_FLUSH_ERR);
	rc_qp_destroy(&rig.core, rig.qp);
	rig.qp = own;
	rig_close(&rig);
}

/* A QP with everything under way that there is, as requester and as responder. */
static void make_busy(struct rig *rig)
{
	struct rig_packet packet;
	struct rig_send *slot;
	uint32_t rkey;

	CU_ASSERT_EQUAL(mem_window_alloc(rig->mem, 7, 2, &rkey), 0);
	slot = put(rig, IBV_WR_BIND_MW, 1, 0);
	slot->send.bind = (struct mem_bind){.window = rkey,
		.new_rkey = rkey,
		.lkey = rig->key,
		.address = (uintptr_t)rig->memory,
		.length = 64,
		.access = IBV_ACCESS_REMOTE_READ};
	put(rig, IBV_WR_SEND, 2, 600);
	put(rig, IBV_WR_RDMA_READ, 3, 600);
	put(rig, IBV_WR_SEND, 4, 1)->send.flags |= IBV_SEND_FENCE;
	go(rig);
	nak(rig, 0x101, 0x21); /* RNR: silent */
	rig_post_recv(rig, 100, 0, 4096);
	packet = (struct rig_packet){.opcode = 0x14,
		.psn = 0x200,
		.rkey = rig->key,
		.address = (uintptr_t)rig->memory,
		.swap_add = 1};
	rig_receive(rig, &packet); /* an atomic: kept, to be answered */
	packet = (struct rig_packet){.opcode = 0x00, .psn = 0x201, .payload_length = 256};
	rig_receive(rig, &packet); /* a SEND under way, with its receive */
	packet.psn = 0x205;
	rig_receive(rig, &packet); /* a gap: NAK to be sent */
}

/* The next life starts as the first one did: PSNs, MSN, message, timers, kept results. */
static void reset_and_reuse(void)
{
	struct ibv_qp_attr attr = attr_of(1);
	struct ibv_qp_attr shown;
	uint32_t done;
	uint32_t sent;
	uint64_t word;
	struct rig rig;

	open_rts(&rig, 1, NULL);
	make_busy(&rig);
	done = rig.record_count;
	CU_ASSERT_EQUAL(to_state(&rig, IBV_QPS_RESET), 0);
	SAME(rig.record_count, done); /* nothing is completed, sent or told */
	CU_ASSERT(timers_next(&rig.core.timers) == TIMER_NEVER);
	rc_query(rig.qp, &shown);
	CU_ASSERT_EQUAL(shown.qp_state, IBV_QPS_RESET);
	CU_ASSERT_EQUAL(shown.sq_psn, 0);
	CU_ASSERT_EQUAL(shown.timeout, 0);
	CU_ASSERT_EQUAL(shown.qp_access_flags, 0);
	rig.recvs_taken = rig.recvs_posted; /* the queues are emptied by their keeper */
	sent = rig.sent_count;

	attr.sq_psn = 0x500;
	attr.rq_psn = 0x600;
	to_rts(&rig, &attr);
	put(&rig, IBV_WR_SEND, 50, 1);
	go(&rig);
	SENT_COUNT(&rig, sent + 1);
	SENT(&rig, sent, 0x04, 0x500);
	rig_post_recv(&rig, 150, 0, 4096);
	memcpy(&word, rig.memory, 8);
	/* the old life's atomic is not known, the old message not under way */
	HEAR(&rig, .opcode = 0x14, .psn = 0x200, .rkey = rig.key, .address = (uintptr_t)rig.memory,
		.swap_add = 1);
	SENT_COUNT(&rig, sent + 1);
	COUNTED(&rig, lost_resource, 1);
	CU_ASSERT(memcmp(&word, rig.memory, 8) == 0);
	HEAR(&rig, .opcode = 0x04, .psn = 0x600, .payload_length = 16, .ack_request = true);
	RECEIVED(&rig, 0, 150, IBV_WC_SUCCESS, 16);
	ANSWER(&rig, sent + 1, 0x1f, 0x600, 1);
	/* an answer to the old life is a ghost or an echo */
	nak(&rig, 0x103, 0x62);
	ack(&rig, 0x500);
	DONE_COUNT(&rig, 2); /* the bind was done before */
	DONE(&rig, 1, 50, IBV_WC_SUCCESS);
	rig_close(&rig);
}

/* An ACK that was due, and had no buffer, is not sent in the next life. */
static void reset_forgets_answers(void)
{
	struct rig_packet packet = {.opcode = 0x0a, .psn = 0x200, .ack_request = true};
	struct rig rig;

	open_rts(&rig, 1, NULL);
	rig_receive(&rig, &packet);
	CU_ASSERT_EQUAL(to_state(&rig, IBV_QPS_RESET), 0);
	rig_to_rts(&rig);
	rig_run(&rig);
	CU_ASSERT(!rc_transmit(&rig.core, rig.qp, 64));
	SAME(rig.core.out_count, 0);
	SENT_COUNT(&rig, 0);
	rig_close(&rig);
}

/* 10.6.7.2: its type 2 windows grant nothing any more. */
static void reset_unbinds_windows(void)
{
	struct rig_send *slot;
	uint32_t rkey;
	uint8_t *host;
	struct rig rig;

	open_rts(&rig, 1, NULL);
	CU_ASSERT_EQUAL(mem_window_alloc(rig.mem, 7, 2, &rkey), 0);
	slot = put(&rig, IBV_WR_BIND_MW, 1, 0);
	slot->send.bind = (struct mem_bind){.window = rkey,
		.new_rkey = rkey,
		.lkey = rig.key,
		.address = (uintptr_t)rig.memory,
		.length = 64,
		.access = IBV_ACCESS_REMOTE_READ};
	go(&rig);
	CU_ASSERT_EQUAL(mem_remote(rig.mem, 7, 0x101, rkey, (uintptr_t)rig.memory, 8,
				IBV_ACCESS_REMOTE_READ, &host),
		MEM_OK);
	CU_ASSERT_EQUAL(to_state(&rig, IBV_QPS_RESET), 0);
	CU_ASSERT_EQUAL(mem_remote(rig.mem, 7, 0x101, rkey, (uintptr_t)rig.memory, 8,
				IBV_ACCESS_REMOTE_READ, &host),
		MEM_BAD_KEY);
	rig_close(&rig);
}

/* Destroyed in the middle of everything: no completion, no timer left. */
static void destroyed_while_busy(void)
{
	struct rc_qp_attr attr = {.qp_num = 0x101,
		.pd = 7,
		.recv_pd = 7,
		.sq_depth = 64,
		.max_send_sge = 32,
		.max_inline = 512,
		.max_rd_atomic = 16,
		.pkey = 0xffff};
	uint32_t records;
	struct rig rig;

	open_rts(&rig, 1, NULL);
	make_busy(&rig);
	records = rig.record_count;
	rc_qp_destroy(&rig.core, rig.qp);
	SAME(rig.record_count, records);
	CU_ASSERT(timers_next(&rig.core.timers) == TIMER_NEVER);
	CU_ASSERT_EQUAL(rc_qp_create(&rig.core, &attr, &rig, &rig.qp), 0);
	rig_close(&rig);
}

/* A hundred lives, each with other PSNs. */
static void many_lives(void)
{
	struct rig rig;

	rig_open(&rig, 1, NULL);
	for (uint32_t i = 0; i < 100; i++) {
		struct ibv_qp_attr attr = attr_of(1);
		uint32_t sent = rig.sent_count;

		attr.sq_psn = 0xffff80 + 7 * i;
		attr.rq_psn = 0xffffc0 + 5 * i;
		to_rts(&rig, &attr);
		put(&rig, IBV_WR_SEND, i, 1);
		go(&rig);
		ROW(is_sent(&rig, sent, 0x04, attr.sq_psn & 0xffffff), i);
		HEAR(&rig, .opcode = 0x0a, .psn = attr.rq_psn & 0xffffff, .ack_request = true);
		ROW(is_answer(&rig, sent + 1, 0x1f, attr.rq_psn & 0xffffff, 1), i);
		CU_ASSERT_EQUAL(to_state(&rig, IBV_QPS_RESET), 0);
	}
	DONE_COUNT(&rig, 0);
	rig_close(&rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(creation_limits),
	UNIT_CASE(what_it_was_created_with),
	UNIT_CASE(receive_only),
	UNIT_CASE(reset_and_reuse),
	UNIT_CASE(reset_forgets_answers),
	UNIT_CASE(reset_unbinds_windows),
	UNIT_CASE(destroyed_while_busy),
	UNIT_CASE(many_lives),
};

UNIT_MAIN("qp", cases)
