/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The requester's window: what an acknowledgement covers, what completes, and where going back
 * starts again (IBTA 9.7.5.1.2 coalesced acknowledgements, 9.7.2.1 and 9.7.5.2.8 resending).
 */
#include "expect.h"

/* One ACK for several requests: all of them complete, in order. */
static void coalesced_ack(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	for (unsigned int i = 1; i <= 5; i++)
		put(&rig, i % 2 ? IBV_WR_SEND : IBV_WR_RDMA_WRITE, i, 300);
	go(&rig);
	ack(&rig, 0x107);
	DONE_COUNT(&rig, 4);
	for (unsigned int i = 1; i <= 4; i++)
		DONE(&rig, i - 1, i, IBV_WC_SUCCESS);
	ack(&rig, 0x109);
	DONE_COUNT(&rig, 5);
	DONE(&rig, 4, 5, IBV_WC_SUCCESS);
	rig_close(&rig);
}

/* An ACK in the middle of a message completes nothing; a duplicate one changes nothing. */
static void ack_within_a_message(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_SEND, 1, 5 * 256);
	go(&rig);
	for (unsigned int i = 0; i < 3; i++) {
		ack(&rig, 0x103);
		DONE_COUNT(&rig, 0);
	}
	ack(&rig, 0x104);
	ack(&rig, 0x104);
	DONE_COUNT(&rig, 1);
	SENT_COUNT(&rig, 5);
	rig_close(&rig);
}

static void ack_across_the_wrap(void)
{
	struct ibv_qp_attr attr = attr_of(1);
	struct rig rig;

	attr.sq_psn = 0xfffffc;
	open_rts(&rig, 1, &attr);
	for (unsigned int i = 0; i < 4; i++)
		put(&rig, IBV_WR_SEND, i, 512);
	go(&rig);
	ack(&rig, 0xfffffd);
	DONE_COUNT(&rig, 1);
	ack(&rig, 0xfffffb); /* from before: ignored */
	DONE_COUNT(&rig, 1);
	ack(&rig, 0x000000); /* 0xfffffe to 0xffffff, and half of the third */
	DONE_COUNT(&rig, 2);
	ack(&rig, 0x000003);
	DONE_COUNT(&rig, 4);
	rig_close(&rig);
}

/* ---- go back N ---- */

struct resent {
	uint8_t opcode;
	uint32_t psn;
};

struct back_row {
	uint32_t psn;	   /* of the NAK: everything before it is acknowledged */
	uint32_t complete; /* requests */
	uint32_t count;
	struct resent resent[8];
};

/* SEND 0x100-0x102, WRITE 0x103, SEND with immediate 0x104-0x105, WRITE 0x106-0x107 */
static const struct back_row back_rows[] = {
	{0x100, 0, 8,
		{{0x00, 0x100}, {0x01, 0x101}, {0x02, 0x102}, {0x0a, 0x103}, {0x00, 0x104},
			{0x03, 0x105}, {0x06, 0x106}, {0x08, 0x107}}},
	{0x101, 0, 7,
		{{0x01, 0x101}, {0x02, 0x102}, {0x0a, 0x103}, {0x00, 0x104}, {0x03, 0x105},
			{0x06, 0x106}, {0x08, 0x107}}},
	{0x102, 0, 6,
		{{0x02, 0x102}, {0x0a, 0x103}, {0x00, 0x104}, {0x03, 0x105}, {0x06, 0x106},
			{0x08, 0x107}}},
	{0x103, 1, 5, {{0x0a, 0x103}, {0x00, 0x104}, {0x03, 0x105}, {0x06, 0x106}, {0x08, 0x107}}},
	{0x105, 2, 3, {{0x03, 0x105}, {0x06, 0x106}, {0x08, 0x107}}},
	{0x107, 3, 1, {{0x08, 0x107}}},
};

/* rc-lost-send.pcap: from the NAK's PSN on everything is sent again, later requests too. */
static void go_back_n(void)
{
	for (unsigned int i = 0; i < COUNT(back_rows); i++) {
		const struct back_row *row = &back_rows[i];
		struct wire_packet last;
		struct rig rig;

		open_rts(&rig, 1, NULL);
		fill(&rig);
		put(&rig, IBV_WR_SEND, 1, 700);
		put(&rig, IBV_WR_RDMA_WRITE, 2, 256);
		put(&rig, IBV_WR_SEND_WITH_IMM, 3, 400);
		put(&rig, IBV_WR_RDMA_WRITE, 4, 300);
		go(&rig);
		SENT_COUNT(&rig, 8);
		nak(&rig, row->psn, 0x60);
		ROW(is_number(rig.sent_count, 8 + row->count), i);
		for (uint32_t n = 0; n < row->count; n++)
			ROW(is_sent(&rig, 8 + n, row->resent[n].opcode, row->resent[n].psn), i);
		ROW(is_number(rig_count(&rig, RIG_SEND_DONE), row->complete), i);
		ROW(is_number(rig.core.counters.retransmitted_pkts, row->count), i);
		ROW(is_number(rig.core.counters.rcvd_seq_err, 1), i);
		/* the same bytes as the first time */
		last = rig_sent(&rig, rig.sent_count - 1);
		ROW(last.payload_length == 44 && memcmp(last.payload, rig.memory + 256, 44) == 0,
			i);
		ROW(rig.sent[7].length == rig.sent[7 + row->count].length &&
				memcmp(rig.sent[7].data, rig.sent[7 + row->count].data,
					rig.sent[7].length) == 0,
			i);
		ack(&rig, 0x107);
		ROW(is_number(rig_count(&rig, RIG_SEND_DONE), 4), i);
		rig_close(&rig);
	}
}

/* What was posted after the loss goes out behind what is sent again, with new PSNs. */
static void new_requests_behind_the_resend(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_SEND, 1, 512);
	go(&rig);
	put(&rig, IBV_WR_SEND, 2, 1);
	nak(&rig, 0x101, 0x60);
	SENT_COUNT(&rig, 4);
	SENT(&rig, 2, 0x02, 0x101);
	SENT(&rig, 3, 0x04, 0x102);
	COUNTED(&rig, retransmitted_pkts, 1);
	rig_close(&rig);
}

/* A READ is asked for again from what is missing: PSN, address and length move together. */
static void go_back_into_a_read(void)
{
	struct wire_packet packet;
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_RDMA_READ, 1, 1000);
	put(&rig, IBV_WR_SEND, 2, 1);
	go(&rig);
	read_response(&rig, 0x0d, 0x100, 256);
	read_response(&rig, 0x0e, 0x101, 256);
	ack(&rig, 0x104); /* of the SEND: the rest of the answer was lost */
	SENT_COUNT(&rig, 4);
	SENT(&rig, 2, 0x0c, 0x102);
	SENT(&rig, 3, 0x04, 0x104);
	packet = rig_sent(&rig, 2);
	SAME(be64_get(&wire_reth(&packet)->address), REMOTE + 512);
	SAME(be32_get(&wire_reth(&packet)->rkey), REMOTE_KEY);
	SAME(be32_get(&wire_reth(&packet)->length), 488);
	rig_close(&rig);
}

/* An atomic is sent again as it was, with its PSN. */
static void go_back_to_an_atomic(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 8)->send.compare_add = 5;
	put(&rig, IBV_WR_SEND, 2, 1);
	go(&rig);
	ack(&rig, 0x101);
	SENT_COUNT(&rig, 4);
	SENT(&rig, 2, 0x14, 0x100);
	SENT(&rig, 3, 0x04, 0x101);
	CU_ASSERT(memcmp(rig.sent[0].data, rig.sent[2].data, rig.sent[0].length) == 0);
	rig_close(&rig);
}

/* ---- acknowledgements that arrive while something is sent again ---- */

/* Gone back to the first packet; the late ACK spares the rest of the resend. */
static void late_ack_overtakes_the_cursor(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_SEND, 1, 512);
	put(&rig, IBV_WR_SEND, 2, 4 * 256);
	put(&rig, IBV_WR_SEND, 3, 1);
	go(&rig);
	SENT_COUNT(&rig, 7);
	rig_receive(&rig, &(struct rig_packet){.opcode = 0x11, .psn = 0x100, .syndrome = 0x60});
	rig_step(&rig, 64, 1); /* one packet of the resend */
	SENT(&rig, 7, 0x00, 0x100);
	ack(&rig, 0x103);
	DONE_COUNT(&rig, 1);
	SENT_COUNT(&rig, 11);
	SENT(&rig, 8, 0x01, 0x104); /* in the middle of the second message */
	SENT(&rig, 9, 0x02, 0x105);
	SENT(&rig, 10, 0x04, 0x106);
	ack(&rig, 0x106);
	DONE_COUNT(&rig, 3);
	SENT_COUNT(&rig, 11);
	rig_close(&rig);
}

/* Everything is acknowledged before the first packet could be sent again. */
static void late_ack_spares_the_resend(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_SEND, 1, 512);
	put(&rig, IBV_WR_SEND, 2, 1);
	go(&rig);
	rig_receive(&rig, &(struct rig_packet){.opcode = 0x11, .psn = 0x100, .syndrome = 0x60});
	ack(&rig, 0x102);
	SENT_COUNT(&rig, 3);
	DONE_COUNT(&rig, 2);
	put(&rig, IBV_WR_SEND, 3, 1);
	go(&rig);
	SENT(&rig, 3, 0x04, 0x103);
	rig_close(&rig);
}

/* The answer to a READ comes after all, before it is asked for again. */
static void late_read_response_spares_the_resend(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_RDMA_READ, 1, 600);
	put(&rig, IBV_WR_RDMA_READ, 2, 8);
	go(&rig);
	rig_receive(&rig,
		&(struct rig_packet){.opcode = 0x10,
			.psn = 0x103,
			.syndrome = 0x1f,
			.payload_length = 8}); /* of the second READ */
	rig_receive(&rig,
		&(struct rig_packet){
			.opcode = 0x0d, .psn = 0x100, .syndrome = 0x1f, .payload_length = 256});
	rig_receive(
		&rig, &(struct rig_packet){.opcode = 0x0e, .psn = 0x101, .payload_length = 256});
	rig_receive(&rig,
		&(struct rig_packet){
			.opcode = 0x0f, .psn = 0x102, .syndrome = 0x1f, .payload_length = 88});
	DONE_COUNT(&rig, 1);
	rig_run(&rig);
	SENT_COUNT(&rig, 3);
	SENT(&rig, 2, 0x0c, 0x103);
	read_response(&rig, 0x10, 0x103, 8);
	DONE_COUNT(&rig, 2);
	rig_close(&rig);
}

/* ---- what completes with what ---- */

/* A READ response acknowledges the SENDs before it (9.7.5.1.2). */
static void read_response_acknowledges(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_SEND, 1, 512);
	put(&rig, IBV_WR_RDMA_WRITE, 2, 1);
	put(&rig, IBV_WR_RDMA_READ, 3, 512);
	go(&rig);
	read_response(&rig, 0x0d, 0x103, 256);
	DONE_COUNT(&rig, 2);
	read_response(&rig, 0x0f, 0x104, 256);
	DONE_COUNT(&rig, 3);
	for (unsigned int i = 0; i < 3; i++)
		DONE(&rig, i, i + 1, IBV_WC_SUCCESS);
	rig_close(&rig);
}

static void atomic_ack_acknowledges(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_SEND, 1, 512);
	put(&rig, IBV_WR_ATOMIC_CMP_AND_SWP, 2, 8);
	go(&rig);
	atomic_ack(&rig, 0x102, 77);
	DONE_COUNT(&rig, 2);
	rig_close(&rig);
}

/* A NAK acknowledges what lies before its PSN, whatever it then says. */
static void nak_acknowledges_what_is_before(void)
{
	static const uint8_t syndromes[] = {0x60, 0x61, 0x62, 0x63, 0x2c};

	for (unsigned int i = 0; i < COUNT(syndromes); i++) {
		struct rig rig;

		open_rts(&rig, 1, NULL);
		put(&rig, IBV_WR_SEND, 1, 512);
		put(&rig, IBV_WR_SEND, 2, 512);
		put(&rig, IBV_WR_SEND, 3, 1);
		go(&rig);
		nak(&rig, 0x102, syndromes[i]);
		ROW(is_done(&rig, 0, 1, IBV_WC_SUCCESS), i);
		if (syndromes[i] == 0x60 || syndromes[i] == 0x2c)
			ROW(is_number(rig_count(&rig, RIG_SEND_DONE), 1), i);
		else
			ROW(is_done(&rig, 2, 3, IBV_WC_WR_FLUSH_ERR), i);
		rig_close(&rig);
	}
}

static const struct unit_case cases[] = {
	UNIT_CASE(coalesced_ack),
	UNIT_CASE(ack_within_a_message),
	UNIT_CASE(ack_across_the_wrap),
	UNIT_CASE(go_back_n),
	UNIT_CASE(new_requests_behind_the_resend),
	UNIT_CASE(go_back_into_a_read),
	UNIT_CASE(go_back_to_an_atomic),
	UNIT_CASE(late_ack_overtakes_the_cursor),
	UNIT_CASE(late_ack_spares_the_resend),
	UNIT_CASE(late_read_response_spares_the_resend),
	UNIT_CASE(read_response_acknowledges),
	UNIT_CASE(atomic_ack_acknowledges),
	UNIT_CASE(nak_acknowledges_what_is_before),
};

UNIT_MAIN("window", cases)
