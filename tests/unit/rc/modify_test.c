/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * modify_qp: the values of attributes, each with its range (man ibv_modify_qp), what they change,
 * and that a refused call leaves the QP as it was, byte by byte. Which transition takes which
 * attribute is qp_state_test.c's. Then SQD: what was started finishes, the rest waits (IBTA
 * 10.3.1.5).
 */
#include <errno.h>
#include <stdlib.h>

#include "expect.h"

/* ---- values ---- */

enum step { TO_INIT, TO_RTR, TO_RTS, STAY_SQD };

static const struct {
	enum ibv_qp_state state;
	int mask;
} steps[] = {
	[TO_INIT] = {IBV_QPS_INIT, RIG_INIT_MASK},
	[TO_RTR] = {IBV_QPS_RTR, RIG_RTR_MASK},
	[TO_RTS] = {IBV_QPS_RTS, RIG_RTS_MASK},
	[STAY_SQD] = {IBV_QPS_SQD, IBV_QP_STATE},
};

/* The rig in the state from which the step leads on. */
static void open_before(struct rig *rig, enum step step)
{
	rig_open(rig, 1, NULL);
	if (step == TO_RTR)
		rig_to_init(rig);
	if (step == TO_RTS)
		rig_to_rtr(rig);
	if (step == STAY_SQD) {
		rig_to_rts(rig);
		to_sqd(rig, false);
	}
}

#define SET(name)                                                                                  \
	static void set_##name(struct ibv_qp_attr *attr, uint32_t value)                           \
	{                                                                                          \
		attr->name = value;                                                                \
	}
SET(port_num)
SET(pkey_index)
SET(qp_access_flags)
SET(path_mtu)
SET(dest_qp_num)
SET(max_dest_rd_atomic)
SET(max_rd_atomic)
SET(min_rnr_timer)
SET(timeout)
SET(retry_cnt)
SET(rnr_retry)
SET(path_mig_state)
SET(alt_timeout)

static const struct value_row {
	enum step step;
	int bit; /* in addition to the step's mask */
	void (*set)(struct ibv_qp_attr *attr, uint32_t value);
	uint32_t good[3]; /* edges */
	uint32_t bad[3];
} value_rows[] = {
	{TO_INIT, 0, set_port_num, {1, 1, 1}, {0, 2, 255}},
	{TO_INIT, 0, set_pkey_index, {0, 0, 0}, {1, 2, 65535}},
	{TO_INIT, 0, set_qp_access_flags, {0, 1, 15}, {16, 32, 0x80000000}},
	{TO_RTR, 0, set_path_mtu, {1, 3, 5}, {0, 6, 0xffffffff}},
	{TO_RTR, 0, set_dest_qp_num, {0, 0x102, 0xffffff}, {0x1000000, 0x80000000, 0xffffffff}},
	{TO_RTR, 0, set_max_dest_rd_atomic, {0, 1, 16}, {17, 128, 255}},
	{TO_RTR, 0, set_min_rnr_timer, {0, 12, 31}, {32, 64, 255}},
	{TO_RTR, IBV_QP_ACCESS_FLAGS, set_qp_access_flags, {0, 2, 15}, {16, 64, 0x100}},
	{TO_RTR, IBV_QP_PKEY_INDEX, set_pkey_index, {0, 0, 0}, {1, 2, 65535}},
	{TO_RTS, 0, set_timeout, {0, 14, 31}, {32, 64, 255}},
	{TO_RTS, 0, set_retry_cnt, {0, 3, 7}, {8, 16, 255}},
	{TO_RTS, 0, set_rnr_retry, {0, 6, 7}, {8, 16, 255}},
	{TO_RTS, 0, set_max_rd_atomic, {0, 1, 16}, {17, 128, 255}},
	{TO_RTS, IBV_QP_MIN_RNR_TIMER, set_min_rnr_timer, {0, 12, 31}, {32, 64, 255}},
	/* no automatic path migration on RoCE */
	{TO_RTS, IBV_QP_PATH_MIG_STATE, set_path_mig_state, {0, 0, 0}, {1, 2, 3}},
	{STAY_SQD, IBV_QP_TIMEOUT, set_timeout, {0, 14, 31}, {32, 64, 255}},
	{STAY_SQD, IBV_QP_RETRY_CNT, set_retry_cnt, {0, 3, 7}, {8, 16, 255}},
	{STAY_SQD, IBV_QP_RNR_RETRY, set_rnr_retry, {0, 6, 7}, {8, 16, 255}},
	{STAY_SQD, IBV_QP_MAX_QP_RD_ATOMIC, set_max_rd_atomic, {0, 1, 16}, {17, 128, 255}},
	{STAY_SQD, IBV_QP_MAX_DEST_RD_ATOMIC, set_max_dest_rd_atomic, {0, 1, 16}, {17, 128, 255}},
	{STAY_SQD, IBV_QP_MIN_RNR_TIMER, set_min_rnr_timer, {0, 12, 31}, {32, 64, 255}},
	{STAY_SQD, IBV_QP_PORT, set_port_num, {1, 1, 1}, {0, 2, 255}},
	{STAY_SQD, IBV_QP_PKEY_INDEX, set_pkey_index, {0, 0, 0}, {1, 2, 65535}},
	{STAY_SQD, IBV_QP_ACCESS_FLAGS, set_qp_access_flags, {0, 8, 15}, {16, 32, 0x80000000}},
};

static void value_edges(void)
{
	for (unsigned int i = 0; i < COUNT(value_rows); i++)
		for (unsigned int k = 0; k < 3; k++) {
			const struct value_row *row = &value_rows[i];
			struct ibv_qp_attr attr = attr_of(1);
			int mask = steps[row->step].mask | row->bit;
			struct rc_qp before;
			uint32_t records;
			struct rig rig;

			open_before(&rig, row->step);
			attr.qp_state = steps[row->step].state;
			before = *rig.qp;
			records = rig.record_count;
			row->set(&attr, row->bad[k]);
			ROW(rig_modify(&rig, &attr, mask) == -EINVAL, i);
			ROW(memcmp(&before, rig.qp, sizeof(before)) == 0, i);
			ROW(rig.record_count == records && !rig.active, i);
			row->set(&attr, row->good[k]);
			ROW(rig_modify(&rig, &attr, mask) == 0, i);
			ROW(rc_qp_state(rig.qp) == steps[row->step].state, i);
			rig_close(&rig);
		}
}

/* An alternate path does not exist, whatever its values are. */
static void no_alternate_path(void)
{
	static const enum step where[] = {TO_RTR, TO_RTS, STAY_SQD};

	for (unsigned int i = 0; i < COUNT(where); i++) {
		struct ibv_qp_attr attr = attr_of(1);
		struct rig rig;

		open_before(&rig, where[i]);
		attr.qp_state = steps[where[i]].state;
		set_alt_timeout(&attr, 14);
		ROW(rig_modify(&rig, &attr, steps[where[i]].mask | IBV_QP_ALT_PATH) == -EINVAL, i);
		rig_close(&rig);
	}
}

/* What was set is what query shows, and the state of both kinds. */
static void query_shows_what_was_set(void)
{
	struct ibv_qp_attr attr = attr_of(1);
	struct ibv_qp_attr shown;
	struct rig rig;

	attr.qp_access_flags = IBV_ACCESS_REMOTE_READ;
	attr.path_mtu = IBV_MTU_2048;
	attr.rq_psn = 0x1234567; /* 24 bits of it count */
	attr.sq_psn = 0xf7654321;
	attr.max_dest_rd_atomic = 3;
	attr.max_rd_atomic = 5;
	attr.min_rnr_timer = 7;
	attr.timeout = 11;
	attr.retry_cnt = 2;
	attr.rnr_retry = 4;
	rig_open(&rig, 1, NULL);
	rc_query(rig.qp, &shown);
	CU_ASSERT_EQUAL(shown.qp_state, IBV_QPS_RESET);
	to_rts(&rig, &attr);
	rc_query(rig.qp, &shown);
	CU_ASSERT_EQUAL(shown.qp_state, IBV_QPS_RTS);
	CU_ASSERT_EQUAL(shown.cur_qp_state, IBV_QPS_RTS);
	CU_ASSERT_EQUAL(shown.qp_access_flags, IBV_ACCESS_REMOTE_READ);
	CU_ASSERT_EQUAL(shown.path_mtu, IBV_MTU_2048);
	CU_ASSERT_EQUAL(shown.rq_psn, 0x234567);
	CU_ASSERT_EQUAL(shown.sq_psn, 0x654321);
	CU_ASSERT_EQUAL(shown.dest_qp_num, 0x102);
	CU_ASSERT_EQUAL(shown.max_dest_rd_atomic, 3);
	CU_ASSERT_EQUAL(shown.max_rd_atomic, 5);
	CU_ASSERT_EQUAL(shown.min_rnr_timer, 7);
	CU_ASSERT_EQUAL(shown.timeout, 11);
	CU_ASSERT_EQUAL(shown.retry_cnt, 2);
	CU_ASSERT_EQUAL(shown.rnr_retry, 4);
	CU_ASSERT_EQUAL(shown.port_num, 1);
	CU_ASSERT_EQUAL(shown.path_mig_state, IBV_MIG_MIGRATED);
	put(&rig, IBV_WR_SEND, 1, 3000);
	go(&rig);
	SENT(&rig, 0, 0x00, 0x654321);
	rc_query(rig.qp, &shown);
	CU_ASSERT_EQUAL(shown.sq_psn, 0x654323); /* the next one */
	rig_close(&rig);
}

/* The path comes with IBV_QP_AV, and its addresses are of one family. */
static void path_is_checked(void)
{
	struct wire_path_attr path = {.source = {0xfd}, .hop_limit = 64, .pkey = 0xffff};
	struct ibv_qp_attr attr = attr_of(1);
	struct rc_qp before;
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_init(&rig);
	attr.qp_state = IBV_QPS_RTR;
	before = *rig.qp;
	CU_ASSERT_EQUAL(rc_modify(&rig.core, rig.qp, &attr, RIG_RTR_MASK, NULL), -EINVAL);
	path.destination[10] = path.destination[11] = 0xff;
	CU_ASSERT_EQUAL(rc_modify(&rig.core, rig.qp, &attr, RIG_RTR_MASK, &path), -EINVAL);
	CU_ASSERT(memcmp(&before, rig.qp, sizeof(before)) == 0);
	STATE(&rig, IBV_QPS_INIT);
	rig_close(&rig);
}

/* IBV_QP_CUR_STATE must be true where it may be given at all. */
static void current_state_is_checked(void)
{
	for (unsigned int state = IBV_QPS_RESET; state <= IBV_QPS_ERR; state++) {
		struct ibv_qp_attr attr = attr_of(1);
		struct rig rig;
		int error;

		rig_open(&rig, 1, NULL);
		rig_to_rtr(&rig);
		attr.qp_state = IBV_QPS_RTS;
		attr.cur_qp_state = state;
		error = rig_modify(&rig, &attr, RIG_RTS_MASK | IBV_QP_CUR_STATE);
		ROW(error == (state == IBV_QPS_RTR ? 0 : -EINVAL), state);
		ROW(rc_qp_state(rig.qp) == (error ? IBV_QPS_RTR : IBV_QPS_RTS), state);
		rig_close(&rig);
	}
}

/* RTS to RTS: access flags and the RNR timer count from then on. */
static void changes_in_rts(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS, .min_rnr_timer = 3};
	struct rig rig;

	open_rts(&rig, 1, NULL);
	CU_ASSERT_EQUAL(
		rig_modify(&rig, &attr, IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER | IBV_QP_ACCESS_FLAGS),
		0);
	HEAR(&rig, .opcode = 0x04, .psn = 0x200);
	ANSWER(&rig, 0, 0x23, 0x200, 0);
	HEAR(&rig, .opcode = 0x0a, .psn = 0x200);
	ANSWER(&rig, 1, 0x62, 0x200, 0);
	rig_close(&rig);
}

/* To ERR from everywhere but RESET; to RESET from everywhere; both more than once. */
static void ways_out(void)
{
	for (unsigned int i = 0; i < 5; i++) {
		struct rig rig;

		rig_open(&rig, 1, NULL);
		CU_ASSERT_EQUAL(to_state(&rig, IBV_QPS_ERR), -EINVAL);
		CU_ASSERT_EQUAL(to_state(&rig, IBV_QPS_RESET), 0);
		if (i == 0)
			rig_to_init(&rig);
		if (i == 1)
			rig_to_rtr(&rig);
		if (i >= 2)
			rig_to_rts(&rig);
		if (i == 3)
			to_sqd(&rig, false);
		if (i < 4) {
			CU_ASSERT_EQUAL(to_state(&rig, IBV_QPS_ERR), 0);
			CU_ASSERT_EQUAL(to_state(&rig, IBV_QPS_ERR), 0);
			ROW(rc_qp_state(rig.qp) == IBV_QPS_ERR, i);
			ROW(rc_qp_shown_state(rig.qp) == IBV_QPS_ERR, i);
		}
		CU_ASSERT_EQUAL(to_state(&rig, IBV_QPS_RESET), 0);
		ROW(rc_qp_state(rig.qp) == IBV_QPS_RESET, i);
		rig_to_rts(&rig);
		put(&rig, IBV_WR_SEND, 1, 1);
		go(&rig);
		ROW(is_sent(&rig, 0, 0x04, 0x100), i);
		rig_close(&rig);
	}
}

/* ---- SQD ---- */

/* A message of which one packet has left goes on to its end; the next one waits for RTS. */
static void drain_finishes_what_was_started(void)
{
	struct ibv_qp_attr shown;
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_SEND, 1, 256 * 300);
	put(&rig, IBV_WR_SEND, 2, 1);
	go(&rig);
	SENT_COUNT(&rig, 256); /* the window */
	to_sqd(&rig, true);
	put(&rig, IBV_WR_SEND, 3, 1);
	go(&rig);
	rc_query(rig.qp, &shown);
	CU_ASSERT_EQUAL(shown.qp_state, IBV_QPS_SQD);
	CU_ASSERT_EQUAL(shown.sq_draining, 1);
	ack(&rig, 0x100 + 255);
	SENT_COUNT(&rig, 300);
	EVENT_COUNT(&rig, 0);
	ack(&rig, 0x100 + 299);
	DONE_COUNT(&rig, 1);
	EVENT_COUNT(&rig, 1);
	EVENT(&rig, 0, IBV_EVENT_SQ_DRAINED);
	rc_query(rig.qp, &shown);
	CU_ASSERT_EQUAL(shown.sq_draining, 0);
	/* the return to RTS is enough (Soft-RoCE waits for a post) */
	CU_ASSERT_EQUAL(back_to_rts(&rig), 0);
	SENT_COUNT(&rig, 302);
	SENT(&rig, 300, 0x04, 0x22c);
	SENT(&rig, 301, 0x04, 0x22d);
	ack(&rig, 0x22d);
	DONE_COUNT(&rig, 3);
	EVENT_COUNT(&rig, 1);
	rig_close(&rig);
}

/* READs and atomics finish by their answers; those behind the depth have not been started. */
static void drain_waits_for_answers(void)
{
	struct ibv_qp_attr attr = attr_of(1);
	struct rig rig;

	attr.max_rd_atomic = 2;
	open_rts(&rig, 1, &attr);
	put(&rig, IBV_WR_RDMA_READ, 1, 512);
	put(&rig, IBV_WR_ATOMIC_FETCH_AND_ADD, 2, 8);
	put(&rig, IBV_WR_RDMA_READ, 3, 8);
	go(&rig);
	SENT_COUNT(&rig, 2);
	to_sqd(&rig, true);
	read_response(&rig, 0x0d, 0x100, 256);
	read_response(&rig, 0x0f, 0x101, 256);
	SENT_COUNT(&rig, 2);
	EVENT_COUNT(&rig, 0);
	atomic_ack(&rig, 0x102, 0);
	SENT_COUNT(&rig, 2);
	EVENT_COUNT(&rig, 1);
	CU_ASSERT_EQUAL(back_to_rts(&rig), 0);
	SENT_COUNT(&rig, 3);
	SENT(&rig, 2, 0x0c, 0x103);
	rig_close(&rig);
}

/* Idle, or with requests that have not been started: drained at once. */
static void drained_at_once(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	to_sqd(&rig, true);
	EVENT_COUNT(&rig, 1);
	EVENT(&rig, 0, IBV_EVENT_SQ_DRAINED);
	CU_ASSERT_EQUAL(back_to_rts(&rig), 0);
	put(&rig, IBV_WR_SEND, 1, 1);
	go(&rig);
	ack(&rig, 0x100);
	EVENT_COUNT(&rig, 1);
	to_sqd(&rig, true);
	EVENT_COUNT(&rig, 2);
	rig_close(&rig);
}

/* Not asked for: none, also not for an earlier visit that asked. */
static void no_event_unasked(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_SEND, 1, 1);
	go(&rig);
	to_sqd(&rig, true);
	CU_ASSERT_EQUAL(back_to_rts(&rig), 0);
	ack(&rig, 0x100);
	EVENT_COUNT(&rig, 0); /* RTS again before it had drained */
	put(&rig, IBV_WR_SEND, 2, 1);
	go(&rig);
	to_sqd(&rig, false);
	ack(&rig, 0x101);
	DONE_COUNT(&rig, 2);
	EVENT_COUNT(&rig, 0);
	rig_close(&rig);
}

/* A loss during the drain is repaired; so is want of a receive. */
static void drain_with_losses(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_SEND, 1, 512);
	put(&rig, IBV_WR_SEND, 2, 1);
	go(&rig);
	to_sqd(&rig, true);
	nak(&rig, 0x101, 0x60);
	SENT_COUNT(&rig, 5);
	nak(&rig, 0x102, 0x21);
	rig_time(&rig, rig.core.now + 10 * US);
	SENT_COUNT(&rig, 6);
	rig_time(&rig, rig.core.now + 300 * MS);
	SENT_COUNT(&rig, 7);
	EVENT_COUNT(&rig, 0);
	ack(&rig, 0x102);
	EVENT_COUNT(&rig, 1);
	DONE_COUNT(&rig, 2);
	rig_close(&rig);
}

/* What has been taken but not started waits, whatever it is: also one that will fail. */
static void unstarted_requests_wait(void)
{
	for (unsigned int i = 0; i < 4; i++) {
		struct rig_send *slot;
		struct rig rig;

		open_rts(&rig, 1, NULL);
		put(&rig, IBV_WR_RDMA_READ, 1, 8);
		slot = put(&rig,
			i == 1		 ? IBV_WR_LOCAL_INV
				: i == 2 ? IBV_WR_BIND_MW
					 : IBV_WR_SEND,
			2, 1);
		slot->send.flags |= IBV_SEND_FENCE;
		if (i == 3)
			slot->send.status = IBV_WC_LOC_QP_OP_ERR;
		go(&rig);
		SENT_COUNT(&rig, 1);
		to_sqd(&rig, true);
		read_response(&rig, 0x10, 0x100, 8);
		ROW(is_number(rig_count(&rig, RIG_SEND_DONE), 1), i);
		ROW(is_number(rig_count(&rig, RIG_EVENT), 1), i);
		ROW(rc_qp_state(rig.qp) == IBV_QPS_SQD, i);
		CU_ASSERT_EQUAL(back_to_rts(&rig), 0);
		if (i == 0)
			ROW(is_sent(&rig, 1, 0x04, 0x101), i);
		else if (i == 3)
			ROW(is_done(&rig, 1, 2, IBV_WC_LOC_QP_OP_ERR), i);
		else
			ROW(is_done(&rig, 1, 2, IBV_WC_MW_BIND_ERR), i); /* no such window */
		rig_close(&rig);
	}
}

/* The responder doesn't notice. */
static void responder_in_sqd(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	rig_post_recv(&rig, 1, 0, 4096);
	to_sqd(&rig, false);
	HEAR(&rig, .opcode = 0x04, .psn = 0x200, .payload_length = 16, .ack_request = true);
	RECEIVED(&rig, 0, 1, IBV_WC_SUCCESS, 16);
	HEAR(&rig, .opcode = 0x0c, .psn = 0x201, .address = (uintptr_t)rig.memory, .rkey = rig.key,
		.length = 16);
	ANSWER(&rig, 0, 0x1f, 0x200, 1);
	SENT(&rig, 1, 0x10, 0x201);
	rig_close(&rig);
}

/* In SQD the requester's limits change: they count for what is sent afterwards. */
static void requester_limits_change_in_sqd(void)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_SQD, .timeout = 1, .retry_cnt = 0, .max_rd_atomic = 1};
	struct rig rig;

	open_rts(&rig, 1, NULL);
	to_sqd(&rig, false);
	CU_ASSERT_EQUAL(
		rig_modify(&rig, &attr,
			IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_MAX_QP_RD_ATOMIC),
		0);
	CU_ASSERT_EQUAL(back_to_rts(&rig), 0);
	put(&rig, IBV_WR_RDMA_READ, 1, 8);
	put(&rig, IBV_WR_RDMA_READ, 2, 8);
	go(&rig);
	SENT_COUNT(&rig, 1);
	rig_time(&rig, rig.core.now + 32768); /* 4 x 8.192 us */
	DONE(&rig, 0, 1, IBV_WC_RETRY_EXC_ERR);
	rig_close(&rig);
}

/* A READ that had no initiator depth, and whose turn to fail had not come, has one now. */
static void initiator_depth_raised_in_sqd(void)
{
	struct ibv_qp_attr attr = attr_of(1);
	struct rig rig;

	attr.max_rd_atomic = 0;
	open_rts(&rig, 1, &attr);
	put(&rig, IBV_WR_SEND, 1, 1);
	put(&rig, IBV_WR_RDMA_READ, 2, 8);
	go(&rig);
	to_sqd(&rig, false);
	ack(&rig, 0x100);
	attr.qp_state = IBV_QPS_SQD;
	attr.max_rd_atomic = 1;
	CU_ASSERT_EQUAL(rig_modify(&rig, &attr, IBV_QP_STATE | IBV_QP_MAX_QP_RD_ATOMIC), 0);
	CU_ASSERT_EQUAL(back_to_rts(&rig), 0);
	SENT(&rig, 1, 0x0c, 0x101);
	rig_close(&rig);
}

/* The path as well: the next packet goes there, and only what comes from there is taken. */
static void path_changes_in_sqd(void)
{
	struct ibv_qp_attr attr = attr_of(1);
	struct rig rig;

	open_rts(&rig, 1, NULL);
	to_sqd(&rig, false);
	attr.qp_state = IBV_QPS_SQD;
	rig.ipv6 = true;
	CU_ASSERT_EQUAL(rig_modify(&rig, &attr, IBV_QP_STATE | IBV_QP_AV), 0);
	CU_ASSERT_EQUAL(back_to_rts(&rig), 0);
	put(&rig, IBV_WR_SEND, 1, 1);
	go(&rig);
	CU_ASSERT_EQUAL(rig_sent(&rig, 0).ip_version, 6);
	rig.ipv6 = false;
	ack(&rig, 0x100);
	DONE_COUNT(&rig, 0);
	COUNTED(&rig, drop_source, 1);
	rig.ipv6 = true;
	ack(&rig, 0x100);
	DONE_COUNT(&rig, 1);
	rig_close(&rig);
}

static struct rig_packet add_one(const struct rig *rig, uint32_t psn)
{
	return (struct rig_packet){.opcode = 0x14,
		.psn = psn,
		.address = (uintptr_t)rig->memory,
		.rkey = rig->key,
		.swap_add = 1};
}

/*
 * max_dest_rd_atomic changes while the peer reads (Soft-RoCE once freed them under it). What is
 * being answered is answered to its end, and atomics that were executed are not executed again.
 */
static void responder_resources_change_in_sqd(void)
{
	static const uint8_t depths[] = {1, 3, 5, 16};

	for (unsigned int i = 0; i < COUNT(depths); i++) {
		struct ibv_qp_attr attr = {
			.qp_state = IBV_QPS_SQD, .max_dest_rd_atomic = depths[i]};
		struct rig_packet packet;
		struct rig rig;

		open_rts(&rig, 1, NULL);
		to_sqd(&rig, false);
		for (uint32_t psn = 0x200; psn < 0x203; psn++) {
			packet = add_one(&rig, psn);
			rig_receive(&rig, &packet);
		}
		packet = (struct rig_packet){.opcode = 0x0c,
			.psn = 0x203,
			.address = (uintptr_t)rig.memory,
			.rkey = rig.key,
			.length = 600};
		rig_receive(&rig, &packet);
		rig_step(&rig, 64, 4); /* some of the answers */
		CU_ASSERT_EQUAL(
			rig_modify(&rig, &attr, IBV_QP_STATE | IBV_QP_MAX_DEST_RD_ATOMIC), 0);
		rig_run(&rig);
		ROW(is_number(rig.sent_count, 6), i);
		ROW(is_sent(&rig, 5, 0x0f, 0x205), i);
		/* the last atomic again: from what is kept */
		packet = add_one(&rig, 0x202);
		rig_receive(&rig, &packet);
		rig_run(&rig);
		ROW(rig.memory[0] == 3, i);
		ROW(is_number(rig.sent_count, 7) && is_sent(&rig, 6, 0x12, 0x202), i);
		/* from now on not more than the new depth is kept */
		for (uint32_t psn = 0x206; psn < 0x20c; psn++) {
			packet = add_one(&rig, psn);
			rig_receive(&rig, &packet);
			rig_run(&rig);
		}
		for (uint32_t psn = 0x206; psn < 0x20c; psn++) {
			uint32_t before = rig.sent_count;

			packet = add_one(&rig, psn);
			rig_receive(&rig, &packet);
			rig_run(&rig);
			ROW(rig.sent_count == before + (psn + depths[i] >= 0x20c), i);
		}
		ROW(rig.memory[0] == 9, i);
		rig_close(&rig);
	}
}

/* None at all: the next READ is one too many. */
static void responder_resources_to_zero(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD, .max_dest_rd_atomic = 0};
	struct rig_packet packet;
	struct rig rig;

	open_rts(&rig, 1, NULL);
	to_sqd(&rig, false);
	packet = add_one(&rig, 0x200);
	rig_receive(&rig, &packet);
	CU_ASSERT_EQUAL(rig_modify(&rig, &attr, IBV_QP_STATE | IBV_QP_MAX_DEST_RD_ATOMIC), 0);
	rig_run(&rig);
	SENT(&rig, 0, 0x12, 0x200);
	packet.psn = 0x201;
	rig_receive(&rig, &packet);
	rig_run(&rig);
	ANSWER(&rig, 1, 0x61, 0x201, 1);
	CU_ASSERT(rig.memory[0] == 1);
	rig_close(&rig);
}

/* SQD again while in SQD changes attributes; the event that is due stays due. */
static void sqd_to_sqd(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD, .retry_cnt = 3};
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_SEND, 1, 1);
	go(&rig);
	to_sqd(&rig, true);
	CU_ASSERT_EQUAL(rig_modify(&rig, &attr, IBV_QP_STATE | IBV_QP_RETRY_CNT), 0);
	EVENT_COUNT(&rig, 0);
	ack(&rig, 0x100);
	EVENT_COUNT(&rig, 1);
	CU_ASSERT_EQUAL(rig_modify(&rig, &attr, IBV_QP_STATE | IBV_QP_RETRY_CNT), 0);
	EVENT_COUNT(&rig, 1);
	rig_close(&rig);
}

/* ERR from SQD flushes. */
static void sqd_to_err(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_SEND, 1, 1);
	go(&rig);
	to_sqd(&rig, true);
	put(&rig, IBV_WR_SEND, 2, 1);
	go(&rig);
	CU_ASSERT_EQUAL(to_state(&rig, IBV_QPS_ERR), 0);
	DONE(&rig, 0, 1, IBV_WC_WR_FLUSH_ERR);
	DONE(&rig, 1, 2, IBV_WC_WR_FLUSH_ERR);
	EVENT_COUNT(&rig, 0);
	rig_close(&rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(value_edges),
	UNIT_CASE(no_alternate_path),
	UNIT_CASE(query_shows_what_was_set),
	UNIT_CASE(path_is_checked),
	UNIT_CASE(current_state_is_checked),
	UNIT_CASE(changes_in_rts),
	UNIT_CASE(ways_out),
	UNIT_CASE(drain_finishes_what_was_started),
	UNIT_CASE(drain_waits_for_answers),
	UNIT_CASE(drained_at_once),
	UNIT_CASE(no_event_unasked),
	UNIT_CASE(drain_with_losses),
	UNIT_CASE(unstarted_requests_wait),
	UNIT_CASE(responder_in_sqd),
	UNIT_CASE(requester_limits_change_in_sqd),
	UNIT_CASE(initiator_depth_raised_in_sqd),
	UNIT_CASE(path_changes_in_sqd),
	UNIT_CASE(responder_resources_change_in_sqd),
	UNIT_CASE(responder_resources_to_zero),
	UNIT_CASE(sqd_to_sqd),
	UNIT_CASE(sqd_to_err),
};

UNIT_MAIN("modify", cases)
