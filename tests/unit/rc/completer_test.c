/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Responses by hand: which are taken, which are ignored, which mean that an answer was lost, and
 * which end the connection (IBTA 9.7.5, 9.7.6, 9.9.2). Where Soft-RoCE does something else, the
 * case says so.
 */
#include "expect.h"

/* ---- every syndrome ---- */

/* What a SEND meets that is answered with an ACK packet of this syndrome (tables 42 to 45). */
enum fate { COMPLETES, WAITS_FOR_RNR, RESENT, FAILS };

static enum fate fate_of(unsigned int syndrome, enum ibv_wc_status *status)
{
	*status = IBV_WC_BAD_RESP_ERR; /* reserved: bit 7, kind 10, and the codes from 5 on */
	if (syndrome <= 0x1f)
		return COMPLETES;
	if (syndrome >= 0x20 && syndrome <= 0x3f)
		return WAITS_FOR_RNR;
	if (syndrome == 0x60)
		return RESENT;
	if (syndrome == 0x61)
		*status = IBV_WC_REM_INV_REQ_ERR;
	if (syndrome == 0x62)
		*status = IBV_WC_REM_ACCESS_ERR;
	if (syndrome == 0x63)
		*status = IBV_WC_REM_OP_ERR;
	return FAILS;
}

static void every_syndrome(void)
{
	for (unsigned int syndrome = 0; syndrome <= 0xff; syndrome++) {
		enum ibv_wc_status status;
		enum fate fate = fate_of(syndrome, &status);
		struct rig rig;

		open_rts(&rig, 1, NULL);
		put(&rig, IBV_WR_SEND, 1, 1);
		put(&rig, IBV_WR_SEND, 2, 1);
		go(&rig);
		nak(&rig, 0x100, (uint8_t)syndrome);
		ROW(rig.sent_count == (fate == RESENT ? 4 : 2), syndrome);
		if (fate == COMPLETES)
			ROW(is_done(&rig, 0, 1, IBV_WC_SUCCESS), syndrome);
		else if (fate == FAILS)
			ROW(is_done(&rig, 0, 1, status) &&
					is_done(&rig, 1, 2, IBV_WC_WR_FLUSH_ERR) &&
					rc_qp_state(rig.qp) == IBV_QPS_ERR,
				syndrome);
		else
			ROW(rig_count(&rig, RIG_SEND_DONE) == 0, syndrome);
		if (fate != FAILS)
			ROW(rc_qp_state(rig.qp) == IBV_QPS_RTS, syndrome);
		rig_close(&rig);
	}
}

/* The counters are those of `rdma statistic`. */
static void naks_are_counted(void)
{
	static const struct {
		uint8_t syndrome;
		size_t counter;
	} rows[] = {
		{0x60, offsetof(struct rc_counters, rcvd_seq_err)},
		{0x61, offsetof(struct rc_counters, rcvd_nak_inv_req)},
		{0x62, offsetof(struct rc_counters, rcvd_nak_access)},
		{0x63, offsetof(struct rc_counters, rcvd_nak_op)},
		{0x64, offsetof(struct rc_counters, bad_response)},
		{0x2c, offsetof(struct rc_counters, rcvd_rnr_err)},
	};

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		struct rig rig;

		open_rts(&rig, 1, NULL);
		put(&rig, IBV_WR_SEND, 1, 1);
		go(&rig);
		nak(&rig, 0x100, rows[i].syndrome);
		for (unsigned int k = 0; k < COUNT(rows); k++)
			ROW(*(uint64_t *)((char *)&rig.core.counters + rows[k].counter) == (k == i),
				i);
		rig_close(&rig);
	}
}

/* ---- ignored ---- */

/* Every kind of response. */
static const struct rig_packet kinds[] = {
	{.opcode = 0x11, .syndrome = 0x1f},
	{.opcode = 0x11, .syndrome = 0x60},
	{.opcode = 0x11, .syndrome = 0x62},
	{.opcode = 0x11, .syndrome = 0x2c},
	{.opcode = 0x11, .syndrome = 0xff},
	{.opcode = 0x0d, .syndrome = 0x1f, .payload_length = 256},
	{.opcode = 0x0e, .payload_length = 256},
	{.opcode = 0x0f, .syndrome = 0x1f, .payload_length = 8},
	{.opcode = 0x10, .syndrome = 0x1f, .payload_length = 8},
	{.opcode = 0x12, .syndrome = 0x1f, .original = 1},
};

/*
 * A ghost answers what was never sent, an echo what is long done: both change nothing (9.7.5.1.4;
 * Soft-RoCE lets an ACK beyond everything sent complete the SEND).
 */
static void ghosts_and_echoes(void)
{
	static const struct {
		uint32_t psn;
		bool ghost;
	} psns[] = {{0x103, true}, {0x104, true}, {0x800000, true}, {0x100, false}, {0x0ff, false},
		{0x900000, false}};

	for (unsigned int i = 0; i < COUNT(psns); i++)
		for (unsigned int k = 0; k < COUNT(kinds); k++) {
			struct rig_packet packet = kinds[k];
			struct rig rig;

			open_rts(&rig, 1, NULL);
			put(&rig, IBV_WR_SEND, 1, 1);
			put(&rig, IBV_WR_SEND, 2, 300);
			go(&rig);
			ack(&rig, 0x100);
			packet.psn = psns[i].psn;
			rig_receive(&rig, &packet);
			rig_run(&rig);
			ROW(rig.sent_count == 3 && rig_count(&rig, RIG_SEND_DONE) == 1, k);
			ROW(rc_qp_state(rig.qp) == IBV_QPS_RTS, k);
			ROW(rig.core.counters.ghost_ack == psns[i].ghost, k);
			ROW(rig.core.counters.duplicate_response == !psns[i].ghost, k);
			ack(&rig, 0x102);
			ROW(rig_count(&rig, RIG_SEND_DONE) == 2, k);
			rig_close(&rig);
		}
}

/* Nothing was ever sent: everything is a ghost. */
static void ghosts_before_the_first_request(void)
{
	for (unsigned int k = 0; k < COUNT(kinds); k++)
		for (uint32_t psn = 0xff; psn <= 0x101; psn++) {
			struct rig_packet packet = kinds[k];
			uint32_t records;
			struct rig rig;

			open_rts(&rig, 1, NULL);
			records = rig.record_count;
			packet.psn = psn;
			rig_receive(&rig, &packet);
			rig_run(&rig);
			ROW(rig.record_count == records, k);
			put(&rig, IBV_WR_SEND, 1, 1);
			go(&rig);
			SENT(&rig, 0, 0x04, 0x100);
			rig_close(&rig);
		}
}

/* A QP in RTR has sent nothing; it drops and counts. */
static void responses_in_rtr(void)
{
	for (unsigned int k = 0; k < COUNT(kinds); k++) {
		struct rig_packet packet = kinds[k];
		struct rig rig;

		rig_open(&rig, 1, NULL);
		rig_to_armed_rtr(&rig);
		packet.psn = 0x100;
		rig_receive(&rig, &packet);
		rig_run(&rig);
		ROW(rig.core.counters.drop_response == 1, k);
		ROW(rc_qp_state(rig.qp) == IBV_QPS_RTR && rig.sent_count == 0, k);
		rig_close(&rig);
	}
}

/* ---- an answer of the wrong kind ---- */

struct wrong_row {
	enum ibv_wr_opcode request;
	uint32_t length;
	struct rig_packet response;
};

static const struct wrong_row wrong_rows[] = {
	{IBV_WR_SEND, 8, {.opcode = 0x12, .syndrome = 0x1f}},
	{IBV_WR_RDMA_WRITE, 8, {.opcode = 0x12, .syndrome = 0x1f}},
	{IBV_WR_RDMA_READ, 8, {.opcode = 0x12, .syndrome = 0x1f}},
	{IBV_WR_SEND, 8, {.opcode = 0x10, .syndrome = 0x1f, .payload_length = 8}},
	{IBV_WR_RDMA_WRITE, 300, {.opcode = 0x0d, .syndrome = 0x1f, .payload_length = 256}},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, 8, {.opcode = 0x10, .syndrome = 0x1f, .payload_length = 8}},
	{IBV_WR_ATOMIC_CMP_AND_SWP, 8, {.opcode = 0x0e, .payload_length = 256}},
	/* the answer says NAK: that is what an ACK packet is for */
	{IBV_WR_RDMA_READ, 8, {.opcode = 0x10, .syndrome = 0x62, .payload_length = 8}},
	{IBV_WR_RDMA_READ, 300, {.opcode = 0x0d, .syndrome = 0x60, .payload_length = 256}},
	{IBV_WR_RDMA_READ, 8, {.opcode = 0x10, .syndrome = 0x9f, .payload_length = 8}},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, 8, {.opcode = 0x12, .syndrome = 0x61}},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, 8, {.opcode = 0x12, .syndrome = 0x2c}},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, 8, {.opcode = 0x12, .syndrome = 0x80}},
	/* READ: order of opcodes */
	{IBV_WR_RDMA_READ, 8, {.opcode = 0x0d, .syndrome = 0x1f, .payload_length = 8}},
	{IBV_WR_RDMA_READ, 8, {.opcode = 0x0e, .payload_length = 8}},
	{IBV_WR_RDMA_READ, 8, {.opcode = 0x0f, .syndrome = 0x1f, .payload_length = 8}},
	{IBV_WR_RDMA_READ, 600, {.opcode = 0x0e, .payload_length = 256}},
	{IBV_WR_RDMA_READ, 600, {.opcode = 0x0f, .syndrome = 0x1f, .payload_length = 256}},
	{IBV_WR_RDMA_READ, 600, {.opcode = 0x10, .syndrome = 0x1f, .payload_length = 256}},
	/* READ: lengths */
	{IBV_WR_RDMA_READ, 600, {.opcode = 0x0d, .syndrome = 0x1f, .payload_length = 255}},
	{IBV_WR_RDMA_READ, 600, {.opcode = 0x0d, .syndrome = 0x1f, .payload_length = 257}},
	{IBV_WR_RDMA_READ, 600, {.opcode = 0x0d, .syndrome = 0x1f, .payload_length = 512}},
	{IBV_WR_RDMA_READ, 600, {.opcode = 0x0d, .syndrome = 0x1f}},
	{IBV_WR_RDMA_READ, 8, {.opcode = 0x10, .syndrome = 0x1f, .payload_length = 7}},
	{IBV_WR_RDMA_READ, 8, {.opcode = 0x10, .syndrome = 0x1f, .payload_length = 9}},
	{IBV_WR_RDMA_READ, 8, {.opcode = 0x10, .syndrome = 0x1f}},
	{IBV_WR_RDMA_READ, 0, {.opcode = 0x10, .syndrome = 0x1f, .payload_length = 1}},
};

/* 9.9.2.4.2: BAD_RESP_ERR, and the QP's work ends. */
static void wrong_responses(void)
{
	for (unsigned int i = 0; i < COUNT(wrong_rows); i++) {
		struct rig_packet packet = wrong_rows[i].response;
		struct rig rig;

		open_rts(&rig, 1, NULL);
		put(&rig, wrong_rows[i].request, 1, wrong_rows[i].length)->send.flags = 0;
		put(&rig, IBV_WR_SEND, 2, 1);
		go(&rig);
		packet.psn = 0x100;
		rig_receive(&rig, &packet);
		rig_run(&rig);
		ROW(is_done(&rig, 0, 1, IBV_WC_BAD_RESP_ERR), i);
		ROW(is_done(&rig, 1, 2, IBV_WC_WR_FLUSH_ERR), i);
		ROW(rc_qp_state(rig.qp) == IBV_QPS_ERR, i);
		ROW(rig.core.counters.bad_response == 1, i);
		rig_close(&rig);
	}
}

/* The second and the last packet of an answer of 600 bytes. */
static void wrong_read_responses_later(void)
{
	static const struct {
		uint32_t good; /* packets of the answer that came before */
		struct rig_packet response;
	} rows[] = {
		{1, {.opcode = 0x0d, .syndrome = 0x1f, .payload_length = 256}}, /* FIRST twice */
		{1, {.opcode = 0x10, .syndrome = 0x1f, .payload_length = 256}},
		{1, {.opcode = 0x0f, .syndrome = 0x1f, .payload_length = 256}},
		{1, {.opcode = 0x0f, .syndrome = 0x1f, .payload_length = 88}},
		{1, {.opcode = 0x0e, .payload_length = 255}},
		{1, {.opcode = 0x0e, .payload_length = 88}},
		{2, {.opcode = 0x0e, .payload_length = 88}},
		{2, {.opcode = 0x0e, .payload_length = 256}},
		{2, {.opcode = 0x0d, .syndrome = 0x1f, .payload_length = 88}},
		{2, {.opcode = 0x10, .syndrome = 0x1f, .payload_length = 88}},
		{2, {.opcode = 0x0f, .syndrome = 0x1f, .payload_length = 87}},
		{2, {.opcode = 0x0f, .syndrome = 0x1f, .payload_length = 89}},
		{2, {.opcode = 0x0f, .syndrome = 0x1f}},
		{2, {.opcode = 0x0f, .syndrome = 0x61, .payload_length = 88}},
	};

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		struct rig_packet packet = rows[i].response;
		struct rig rig;

		open_rts(&rig, 1, NULL);
		put(&rig, IBV_WR_RDMA_READ, 1, 600);
		go(&rig);
		read_response(&rig, 0x0d, 0x100, 256);
		if (rows[i].good == 2)
			read_response(&rig, 0x0e, 0x101, 256);
		packet.psn = 0x100 + rows[i].good;
		rig_receive(&rig, &packet);
		rig_run(&rig);
		ROW(is_done(&rig, 0, 1, IBV_WC_BAD_RESP_ERR), i);
		rig_close(&rig);
	}
}

/* ---- an answer was lost ---- */

/* What reaches the requester while the READ at 0x101 (3 packets) has not been answered. */
static const struct rig_packet implied_rows[] = {
	{.opcode = 0x11, .psn = 0x105, .syndrome = 0x1f},			/* SEND */
	{.opcode = 0x11, .psn = 0x105, .syndrome = 0x60},			/* NAK */
	{.opcode = 0x11, .psn = 0x105, .syndrome = 0x2c},			/* RNR NAK */
	{.opcode = 0x11, .psn = 0x106, .syndrome = 0x62},			/* a fatal one */
	{.opcode = 0x12, .psn = 0x104, .syndrome = 0x1f},			/* atomic */
	{.opcode = 0x10, .psn = 0x106, .syndrome = 0x1f, .payload_length = 8},	/* READ */
	{.opcode = 0x0e, .psn = 0x102, .payload_length = 256},			/* a gap */
	{.opcode = 0x0f, .psn = 0x103, .syndrome = 0x1f, .payload_length = 88}, /* a gap */
	{.opcode = 0x11, .psn = 0x103, .syndrome = 0x1f}, /* names the READ's own PSN, see below */
};

/*
 * 9.7.5.1.4, implied NAK: what says that a later request has been executed while an earlier READ
 * or atomic has not been answered means that the answer was lost. Sent again from there, once:
 * what follows are echoes of the same loss.
 */
static void implied_naks(void)
{
	for (unsigned int i = 0; i < COUNT(implied_rows); i++) {
		struct rig rig;

		open_rts(&rig, 1, NULL);
		put(&rig, IBV_WR_SEND, 1, 1);		      /* 0x100 */
		put(&rig, IBV_WR_RDMA_READ, 2, 600);	      /* 0x101 - 0x103 */
		put(&rig, IBV_WR_ATOMIC_FETCH_AND_ADD, 3, 8); /* 0x104 */
		put(&rig, IBV_WR_SEND, 4, 1);		      /* 0x105 */
		put(&rig, IBV_WR_RDMA_READ, 5, 8);	      /* 0x106 */
		go(&rig);
		SENT_COUNT(&rig, 5);
		for (unsigned int echo = 0; echo < 3; echo++) {
			rig_receive(&rig, &implied_rows[i]);
			rig_run(&rig);
		}
		ROW(is_number(rig_count(&rig, RIG_SEND_DONE), 1), i); /* the SEND before it */
		ROW(is_number(rig.sent_count, 9), i);
		ROW(is_sent(&rig, 5, 0x0c, 0x101), i);
		ROW(is_sent(&rig, 6, 0x14, 0x104), i);
		ROW(is_sent(&rig, 7, 0x04, 0x105), i);
		ROW(is_sent(&rig, 8, 0x0c, 0x106), i);
		ROW(is_number(rig.core.counters.implied_nak_seq_err, 3), i);
		ROW(is_number(rig.core.counters.completer_retry_err, 1), i);
		ROW(rc_qp_state(rig.qp) == IBV_QPS_RTS, i);
		/* all is repaired by the answers */
		read_response(&rig, 0x0d, 0x101, 256);
		read_response(&rig, 0x0e, 0x102, 256);
		read_response(&rig, 0x0f, 0x103, 88);
		atomic_ack(&rig, 0x104, 1);
		ack(&rig, 0x105);
		read_response(&rig, 0x10, 0x106, 8);
		ROW(is_number(rig_count(&rig, RIG_SEND_DONE), 5), i);
		rig_close(&rig);
	}
}

/* An atomic that isn't answered is as much of a wall as a READ. */
static void implied_nak_of_an_atomic(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_ATOMIC_CMP_AND_SWP, 1, 8);
	put(&rig, IBV_WR_SEND, 2, 1);
	go(&rig);
	ack(&rig, 0x101);
	SENT_COUNT(&rig, 4);
	DONE_COUNT(&rig, 0);
	COUNTED(&rig, implied_nak_seq_err, 1);
	rig_close(&rig);
}

/*
 * A plain ACK that names the PSN of an atomic never completes it (Soft-RoCE does). It may be the
 * answer to a duplicate of an earlier SEND, which a peer acknowledges with its newest PSN, so that
 * it is taken as an implied NAK; a peer that never sends the atomic's answer ends in an error.
 */
static void plain_ack_to_an_atomic(void)
{
	struct ibv_qp_attr attr = attr_of(1);
	struct rig rig;

	attr.retry_cnt = 2;
	open_rts(&rig, 1, &attr);
	put(&rig, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 8);
	go(&rig);
	for (unsigned int i = 0; i < 3; i++) {
		ack(&rig, 0x100);
		ack(&rig, 0x100);
		rig_time(&rig, rig.core.now + 100 * MS); /* 4.096 us * 2^14 = 67.1 ms */
	}
	SENT_COUNT(&rig, 3);
	DONE_COUNT(&rig, 1);
	DONE(&rig, 0, 1, IBV_WC_RETRY_EXC_ERR);
	rig_close(&rig);
}

/* After progress the next loss is one of its own. */
static void two_losses(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	for (unsigned int i = 0; i < 4; i++)
		put(&rig, IBV_WR_SEND, i, 1);
	go(&rig);
	nak(&rig, 0x100, 0x60);
	SENT_COUNT(&rig, 8);
	nak(&rig, 0x100, 0x60); /* an echo */
	SENT_COUNT(&rig, 8);
	nak(&rig, 0x102, 0x60); /* 0x100 and 0x101 have arrived, 0x102 is lost again */
	SENT_COUNT(&rig, 10);
	SENT(&rig, 8, 0x04, 0x102);
	rig_close(&rig);
}

/* ---- answers to a READ that was asked for again ---- */

/*
 * The rest starts with FIRST or ONLY, as a request of its own; Soft-RoCE goes on with MIDDLE or
 * LAST (rc-lost-read-response.pcap), and so does what is left of the first answer.
 */
static void reread_responses(void)
{
	static const struct {
		uint32_t received; /* before the loss */
		uint8_t opcode;
		uint32_t length;
		bool good;
	} rows[] = {
		{0, 0x0d, 256, true},
		{0, 0x0e, 256, false}, /* there is nothing to go on from */
		{0, 0x0f, 256, false},
		{1, 0x0d, 256, true},
		{1, 0x0e, 256, true},
		{2, 0x10, 88, true},
		{2, 0x0f, 88, true},
		{1, 0x10, 256, false},
		{1, 0x0f, 256, false},
		{1, 0x0d, 255, false},
		{1, 0x0e, 88, false},
		{2, 0x0d, 88, false},
		{2, 0x0e, 88, false},
		{2, 0x10, 87, false},
	};

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		struct rig rig;

		open_rts(&rig, 1, NULL);
		put(&rig, IBV_WR_RDMA_READ, 1, 600);
		go(&rig);
		if (rows[i].received > 0)
			read_response(&rig, 0x0d, 0x100, 256);
		if (rows[i].received > 1)
			read_response(&rig, 0x0e, 0x101, 256);
		rig_time(&rig, rig.core.now + 100 * MS);
		ROW(is_sent(&rig, 1, 0x0c, 0x100 + rows[i].received), i);
		read_response(&rig, rows[i].opcode, 0x100 + rows[i].received, rows[i].length);
		ROW((rc_qp_state(rig.qp) == IBV_QPS_RTS) == rows[i].good, i);
		if (!rows[i].good)
			ROW(is_done(&rig, 0, 1, IBV_WC_BAD_RESP_ERR), i);
		rig_close(&rig);
	}
}

/* One beginning for each request: behind it the answer goes on with MIDDLE and LAST. */
static void reread_begins_once(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_RDMA_READ, 1, 5 * 256);
	go(&rig);
	read_response(&rig, 0x0d, 0x100, 256);
	rig_time(&rig, rig.core.now + 100 * MS);
	read_response(&rig, 0x0d, 0x101, 256);
	STATE(&rig, IBV_QPS_RTS);
	read_response(&rig, 0x0d, 0x102, 256);
	DONE(&rig, 0, 1, IBV_WC_BAD_RESP_ERR);
	rig_close(&rig);
}

/* The first answer and the second one mixed: every PSN counts once. */
static void mixed_answers(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_RDMA_READ, 1, 5 * 256);
	go(&rig);
	read_response(&rig, 0x0d, 0x100, 256);
	rig_time(&rig, rig.core.now + 100 * MS);
	SENT(&rig, 1, 0x0c, 0x101);
	read_response(&rig, 0x0e, 0x101, 256); /* late, of the first answer */
	read_response(&rig, 0x0d, 0x101, 256); /* of the second: an echo */
	read_response(&rig, 0x0e, 0x102, 256);
	read_response(&rig, 0x0e, 0x102, 256);
	read_response(&rig, 0x0e, 0x103, 256);
	read_response(&rig, 0x0f, 0x104, 256);
	DONE_COUNT(&rig, 1);
	DONE(&rig, 0, 1, IBV_WC_SUCCESS);
	COUNTED(&rig, duplicate_response, 2);
	rig_close(&rig);
}

/* ---- where the answer goes ---- */

/* Into the list, byte by byte; what lies around it is not touched. */
static void read_into_a_list(void)
{
	uint8_t payload[600];
	struct rig_send *slot;
	struct mem_sge *sge;
	struct rig rig;

	open_rts(&rig, 1, NULL);
	for (unsigned int i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 13 + 5);
	slot = put(&rig, IBV_WR_RDMA_READ, 1, 600);
	sge = (struct mem_sge *)slot->tail;
	sge[0] = (struct mem_sge){(uintptr_t)rig.memory + 5000, 1, rig.key};
	sge[1] = (struct mem_sge){(uintptr_t)rig.memory + 3001, 300, rig.key};
	sge[2] = (struct mem_sge){(uintptr_t)rig.memory + 1003, 299, rig.key};
	slot->send.sge_count = 3;
	memset(rig.memory, 0xee, 8192);
	go(&rig);
	HEAR(&rig, .opcode = 0x0d, .psn = 0x100, .syndrome = 0x1f, .payload_length = 256,
		.payload = payload);
	HEAR(&rig, .opcode = 0x0e, .psn = 0x101, .payload_length = 256, .payload = payload + 256);
	HEAR(&rig, .opcode = 0x0f, .psn = 0x102, .syndrome = 0x1f, .payload_length = 88,
		.payload = payload + 512);
	DONE(&rig, 0, 1, IBV_WC_SUCCESS);
	SAME(rig_record(&rig, RIG_SEND_DONE, 0)->completion.byte_len, 600);
	CU_ASSERT(rig.memory[5000] == payload[0]);
	CU_ASSERT(memcmp(rig.memory + 3001, payload + 1, 300) == 0);
	CU_ASSERT(memcmp(rig.memory + 1003, payload + 301, 299) == 0);
	CU_ASSERT(rig.memory[1002] == 0xee && rig.memory[1302] == 0xee &&
		rig.memory[3000] == 0xee && rig.memory[3301] == 0xee && rig.memory[4999] == 0xee &&
		rig.memory[5001] == 0xee);
	rig_close(&rig);
}

/* The original value, in the host's order, wherever the list wants its 8 bytes. */
static void atomic_result(void)
{
	const uint64_t value = 0x0123456789abcdefull;
	struct rig_send *slot;
	struct mem_sge *sge;
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 8);
	slot = put(&rig, IBV_WR_ATOMIC_CMP_AND_SWP, 2, 8);
	sge = (struct mem_sge *)slot->tail;
	sge[0] = (struct mem_sge){(uintptr_t)rig.memory + 65, 3, rig.key};
	sge[1] = (struct mem_sge){(uintptr_t)rig.memory + 32, 5, rig.key};
	slot->send.sge_count = 2;
	go(&rig);
	atomic_ack(&rig, 0x100, value);
	atomic_ack(&rig, 0x101, value);
	DONE_COUNT(&rig, 2);
	CU_ASSERT(memcmp(rig.memory, &value, 8) == 0);
	CU_ASSERT(memcmp(rig.memory + 65, &value, 3) == 0);
	CU_ASSERT(memcmp(rig.memory + 32, (const uint8_t *)&value + 3, 5) == 0);
	CU_ASSERT_EQUAL(rig_record(&rig, RIG_SEND_DONE, 0)->completion.opcode, IBV_WC_FETCH_ADD);
	CU_ASSERT_EQUAL(rig_record(&rig, RIG_SEND_DONE, 1)->completion.opcode, IBV_WC_COMP_SWAP);
	SAME(rig_record(&rig, RIG_SEND_DONE, 1)->completion.byte_len, 8);
	rig_close(&rig);
}

/* Zero bytes are one packet, without a list. */
static void read_of_nothing(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_RDMA_READ, 1, 0);
	put(&rig, IBV_WR_SEND, 2, 1);
	go(&rig);
	SENT(&rig, 1, 0x04, 0x101);
	read_response(&rig, 0x10, 0x100, 0);
	DONE_COUNT(&rig, 1);
	DONE(&rig, 0, 1, IBV_WC_SUCCESS);
	rig_close(&rig);
}

/* The region went while the answer was on its way: LOC_PROT_ERR at the requester alone. */
static void no_place_for_the_answer(void)
{
	for (unsigned int atomic = 0; atomic < 2; atomic++) {
		struct rig rig;

		open_rts(&rig, 1, NULL);
		put(&rig, atomic ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_RDMA_READ, 1, 8);
		put(&rig, IBV_WR_SEND, 2, 0);
		go(&rig);
		CU_ASSERT_EQUAL(mem_deregister(rig.mem, rig.key), 0);
		if (atomic)
			atomic_ack(&rig, 0x100, 1);
		else
			read_response(&rig, 0x10, 0x100, 8);
		ROW(is_done(&rig, 0, 1, IBV_WC_LOC_PROT_ERR), atomic);
		ROW(is_done(&rig, 1, 2, IBV_WC_WR_FLUSH_ERR), atomic);
		rig_close(&rig);
	}
}

/* A region that the QP may not write to is no place for an answer either. */
static void read_into_a_constant(void)
{
	struct mem_sge *sge;
	struct rig rig;
	uint32_t key;

	open_rts(&rig, 1, NULL);
	CU_ASSERT_EQUAL(mem_register(rig.mem, 7, rig.memory, 64, 0x1000, 0, &key), 0);
	sge = (struct mem_sge *)put(&rig, IBV_WR_RDMA_READ, 1, 8)->tail;
	*sge = (struct mem_sge){0x1000, 8, key};
	memset(rig.memory, 0xee, 64);
	go(&rig);
	read_response(&rig, 0x10, 0x100, 8);
	DONE(&rig, 0, 1, IBV_WC_LOC_PROT_ERR);
	CU_ASSERT(rig.memory[0] == 0xee);
	rig_close(&rig);
}

/* ---- retries ---- */

/* man ibv_modify_qp: retry_cnt is a count, 7 as well; a NAK and a time-out both use it up. */
static void retry_count(void)
{
	for (uint8_t retries = 0; retries <= 7; retries++) {
		struct ibv_qp_attr attr = attr_of(1);
		struct rig rig;

		attr.retry_cnt = retries;
		open_rts(&rig, 1, &attr);
		put(&rig, IBV_WR_SEND, 1, 1);
		go(&rig);
		for (unsigned int i = 0; i < 10; i++) {
			nak(&rig, 0x100, 0x60);
			/* the timer stands behind a resend that was lost, too */
			if (i % 2)
				rig_time(&rig, rig.core.now + 100 * MS);
		}
		ROW(is_number(rig.sent_count, 1u + retries), retries);
		ROW(is_done(&rig, 0, 1, IBV_WC_RETRY_EXC_ERR), retries);
		ROW(is_number(rig.core.counters.retry_exceeded_err, 1), retries);
		rig_close(&rig);
	}
}

/* Progress gives all retries back. */
static void progress_restores_the_retries(void)
{
	struct ibv_qp_attr attr = attr_of(1);
	struct rig rig;

	attr.retry_cnt = 1;
	open_rts(&rig, 1, &attr);
	put(&rig, IBV_WR_SEND, 1, 20 * 256);
	go(&rig);
	for (uint32_t psn = 0x101; psn < 0x114; psn++)
		nak(&rig, psn, 0x60);
	DONE_COUNT(&rig, 0);
	ack(&rig, 0x113);
	DONE(&rig, 0, 1, IBV_WC_SUCCESS);
	rig_close(&rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(every_syndrome),
	UNIT_CASE(naks_are_counted),
	UNIT_CASE(ghosts_and_echoes),
	UNIT_CASE(ghosts_before_the_first_request),
	UNIT_CASE(responses_in_rtr),
	UNIT_CASE(wrong_responses),
	UNIT_CASE(wrong_read_responses_later),
	UNIT_CASE(implied_naks),
	UNIT_CASE(implied_nak_of_an_atomic),
	UNIT_CASE(plain_ack_to_an_atomic),
	UNIT_CASE(two_losses),
	UNIT_CASE(reread_responses),
	UNIT_CASE(reread_begins_once),
	UNIT_CASE(mixed_answers),
	UNIT_CASE(read_into_a_list),
	UNIT_CASE(atomic_result),
	UNIT_CASE(read_of_nothing),
	UNIT_CASE(no_place_for_the_answer),
	UNIT_CASE(read_into_a_constant),
	UNIT_CASE(retry_count),
	UNIT_CASE(progress_restores_the_retries),
};

UNIT_MAIN("completer", cases)
