/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests by hand: what they do to memory and receive queue, and what is answered (IBTA 9.7.4.1,
 * 9.7.5). What breaks the rules is in breach_test.c. Rig 1 expects PSN 0x200, path MTU 256.
 */
#include "expect.h"

/* ---- SEND ---- */

static const struct {
	uint8_t opcodes[4];
	uint32_t packets;
	uint32_t last; /* bytes of the last packet */
	unsigned int flags;
} send_rows[] = {
	{{0x04}, 1, 0, 0},
	{{0x04}, 1, 1, 0},
	{{0x04}, 1, 255, 0},
	{{0x04}, 1, 256, 0},
	{{0x05}, 1, 0, IBV_WC_WITH_IMM},
	{{0x05}, 1, 256, IBV_WC_WITH_IMM},
	{{0x00, 0x02}, 2, 1, 0},
	{{0x00, 0x02}, 2, 256, 0},
	{{0x00, 0x03}, 2, 77, IBV_WC_WITH_IMM},
	{{0x00, 0x01, 0x01, 0x02}, 4, 255, 0},
	{{0x00, 0x01, 0x01, 0x03}, 4, 1, IBV_WC_WITH_IMM},
};

static void sends(void)
{
	for (unsigned int i = 0; i < COUNT(send_rows); i++) {
		uint32_t length = (send_rows[i].packets - 1) * 256 + send_rows[i].last;
		const struct rc_completion *completion;
		uint8_t payload[1024];
		struct rig rig;

		for (unsigned int k = 0; k < sizeof(payload); k++)
			payload[k] = (uint8_t)(k * 5 + 3 + (k >> 8));
		open_rts(&rig, 1, NULL);
		receives(&rig, 2);
		memset(rig.memory, 0xee, 4096);
		for (uint32_t n = 0; n < send_rows[i].packets; n++) {
			struct rig_packet packet =
				request(&rig, send_rows[i].opcodes[n], 0x200 + n);
			bool ends = n + 1 == send_rows[i].packets;

			packet.payload = payload + 256 * n;
			packet.payload_length = ends ? send_rows[i].last : 256;
			packet.ack_request = ends;
			ROW(rig_count(&rig, RIG_RECV_DONE) == 0, i);
			hear(&rig, packet);
		}
		ROW(rig_count(&rig, RIG_RECV_DONE) == 1, i);
		ROW(is_received(&rig, 0, 1, IBV_WC_SUCCESS, length), i);
		completion = &rig_record(&rig, RIG_RECV_DONE, 0)->completion;
		ROW(completion->opcode == IBV_WC_RECV, i);
		ROW(completion->flags == send_rows[i].flags, i);
		ROW(completion->src_qp == 0x102 && completion->released == 1, i);
		ROW(!completion->solicited, i);
		if (send_rows[i].flags) /* in network order, as it came */
			ROW(memcmp(&completion->imm_or_rkey, "\xd1\xd2\xd3\xd4", 4) == 0, i);
		ROW(memcmp(rig.memory, payload, length) == 0 && rig.memory[length] == 0xee, i);
		ROW(rig.sent_count == 1, i);
		ROW(is_answer(&rig, 0, 0x1f, 0x200 + send_rows[i].packets - 1, 1), i);
		rig_close(&rig);
	}
}

/* Into a list of 1 to 32 odd pieces. */
static void scatter_lists(void)
{
	for (uint16_t count = 1; count <= 32; count++) {
		uint32_t length = 0;
		struct rc_recv *recv;
		struct rig rig;

		open_rts(&rig, 1, NULL);
		rig_post_recv(&rig, 1, 0, 0);
		recv = &rig.recvs[0];
		recv->sge_count = count;
		for (uint16_t i = 0; i < count; i++) {
			recv->sge[i].length = i % 5 == 3 ? 0 : 1 + (i * 29u) % 37;
			recv->sge[i].address = (uintptr_t)rig.memory + 8000 - i * 101u;
			recv->sge[i].lkey = rig.key;
			length += recv->sge[i].length;
		}
		recv->length = length;
		for (uint32_t psn = 0x200, at = 0; at < length; psn++, at += 256) {
			uint32_t rest = length - at < 256 ? length - at : 256;
			bool starts = at == 0, ends = at + rest == length;
			struct rig_packet packet = request(&rig,
				starts && ends	 ? 0x04
					: starts ? 0x00
					: ends	 ? 0x02
						 : 0x01,
				psn);

			packet.payload_length = rest; /* bytes 0, 1, 2 ... in each */
			hear(&rig, packet);
		}
		ROW(is_received(&rig, 0, 1, IBV_WC_SUCCESS, length), count);
		for (uint32_t i = 0, at = 0; i < count; at += recv->sge[i++].length)
			for (uint32_t k = 0; k < recv->sge[i].length; k++)
				ROW(rig.memory[8000 - i * 101 + k] == (uint8_t)(at + k), count);
		rig_close(&rig);
	}
}

/* SE reaches the completion, where it decides on the event (man ibv_req_notify_cq). */
static void solicited(void)
{
	struct rig_packet packet;
	struct rig rig;

	open_rts(&rig, 1, NULL);
	receives(&rig, 3);
	packet = request(&rig, 0x04, 0x200);
	packet.solicited = true;
	hear(&rig, packet);
	packet = request(&rig, 0x0b, 0x201);
	packet.solicited = true;
	hear(&rig, packet);
	hear(&rig, request(&rig, 0x04, 0x202));
	CU_ASSERT(rig_record(&rig, RIG_RECV_DONE, 0)->completion.solicited);
	CU_ASSERT(rig_record(&rig, RIG_RECV_DONE, 1)->completion.solicited);
	CU_ASSERT(!rig_record(&rig, RIG_RECV_DONE, 2)->completion.solicited);
	rig_close(&rig);
}

/* ---- WRITE ---- */

static const struct {
	uint8_t opcodes[4];
	uint32_t packets;
	uint32_t last;
	bool immediate;
} write_rows[] = {
	{{0x0a}, 1, 0, false},
	{{0x0a}, 1, 1, false},
	{{0x0a}, 1, 256, false},
	{{0x0b}, 1, 0, true},
	{{0x0b}, 1, 255, true},
	{{0x06, 0x08}, 2, 1, false},
	{{0x06, 0x08}, 2, 256, false},
	{{0x06, 0x09}, 2, 3, true},
	{{0x06, 0x07, 0x07, 0x08}, 4, 255, false},
	{{0x06, 0x07, 0x07, 0x09}, 4, 1, true},
};

/* Only an immediate takes a receive, whose buffer stays as it was. */
static void writes(void)
{
	for (unsigned int i = 0; i < COUNT(write_rows); i++) {
		uint32_t length = (write_rows[i].packets - 1) * 256 + write_rows[i].last;
		struct rig rig;

		open_rts(&rig, 1, NULL);
		receives(&rig, 1);
		memset(rig.memory, 0xee, 8192);
		for (uint32_t n = 0; n < write_rows[i].packets; n++) {
			struct rig_packet packet =
				request(&rig, write_rows[i].opcodes[n], 0x200 + n);
			bool ends = n + 1 == write_rows[i].packets;

			packet.payload_length = ends ? write_rows[i].last : 256;
			packet.length = length;
			packet.ack_request = ends;
			packet.address += 1;
			hear(&rig, packet);
		}
		ROW(rig_count(&rig, RIG_RECV_DONE) == write_rows[i].immediate, i);
		ROW(rig.recvs_taken == write_rows[i].immediate, i);
		if (write_rows[i].immediate) {
			const struct rc_completion *completion =
				&rig_record(&rig, RIG_RECV_DONE, 0)->completion;

			ROW(is_received(&rig, 0, 1, IBV_WC_SUCCESS, length), i);
			ROW(completion->opcode == IBV_WC_RECV_RDMA_WITH_IMM, i);
			ROW(completion->flags == IBV_WC_WITH_IMM, i);
			ROW(memcmp(&completion->imm_or_rkey, "\xd1\xd2\xd3\xd4", 4) == 0, i);
		}
		for (uint32_t k = 0; k < length; k++)
			ROW(rig.memory[PLACE + 1 + k] == (uint8_t)(k % 256), i);
		ROW(rig.memory[0] == 0xee && rig.memory[PLACE] == 0xee &&
				rig.memory[PLACE + 1 + length] == 0xee,
			i);
		ROW(is_answer(&rig, 0, 0x1f, 0x200 + write_rows[i].packets - 1, 1), i);
		rig_close(&rig);
	}
}

/* 9.7.4.1.3 C9-88: zero bytes need no key, wherever they point. */
static void zero_length_needs_no_key(void)
{
	static const struct {
		uint8_t opcode;
		uint8_t answer;
	} rows[] = {{0x0a, 0x11}, {0x0b, 0x11}, {0x0c, 0x10}};

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		struct rig_packet packet;
		struct rig rig;

		open_rts(&rig, 1, NULL);
		receives(&rig, 1);
		packet = request(&rig, rows[i].opcode, 0x200);
		packet.address = UINT64_MAX;
		packet.rkey = 0;
		packet.length = 0;
		packet.payload_length = 0;
		hear(&rig, packet);
		ROW(is_sent(&rig, 0, rows[i].answer, 0x200), i);
		ROW(rig_syndrome(&rig, 0) == 0x1f, i);
		rig_close(&rig);
	}
}

/* ---- READ ---- */

/* Answers of all sizes, at all path MTUs: opcodes, PSNs, AETH, MSN, bytes. */
static void reads(void)
{
	static const struct {
		enum ibv_mtu mtu;
		uint32_t bytes;
	} mtus[] = {{IBV_MTU_256, 256}, {IBV_MTU_512, 512}, {IBV_MTU_1024, 1024},
		{IBV_MTU_2048, 2048}, {IBV_MTU_4096, 4096}};
	static const struct {
		uint32_t times;
		int more;
		uint32_t packets;
	} rows[] = {{0, 0, 1}, {0, 1, 1}, {1, -1, 1}, {1, 0, 1}, {1, 1, 2}, {2, 0, 2}, {2, 1, 3},
		{5, 0, 5}, {5, 1, 6}};

	for (unsigned int m = 0; m < COUNT(mtus); m++)
		for (unsigned int i = 0; i < COUNT(rows); i++) {
			uint32_t length = rows[i].times * mtus[m].bytes + (uint32_t)rows[i].more;
			struct ibv_qp_attr attr = attr_of(1);
			struct rig_packet packet;
			uint32_t at = 0;
			struct rig rig;

			attr.path_mtu = mtus[m].mtu;
			open_rts(&rig, 1, &attr);
			fill(&rig);
			packet = request(&rig, 0x0c, 0x200);
			packet.length = length;
			hear(&rig, packet);
			ROW(is_number(rig.sent_count, rows[i].packets), i);
			for (uint32_t n = 0; n < rig.sent_count; n++) {
				struct wire_packet sent = rig_sent(&rig, n);
				bool first = n == 0, last = n + 1 == rows[i].packets;

				ROW(is_sent(&rig, n,
					    first && last   ? 0x10
						    : first ? 0x0d
						    : last  ? 0x0f
							    : 0x0e,
					    0x200 + n),
					i);
				if (first || last)
					ROW(wire_aeth(&sent)->syndrome == 0x1f &&
							be24_get(&wire_aeth(&sent)->msn) == 1,
						i);
				ROW(memcmp(sent.payload, rig.memory + PLACE + at,
					    sent.payload_length) == 0,
					i);
				at += sent.payload_length;
			}
			ROW(is_number(at, length), i);
			/* the next request has the PSN behind the answer */
			receives(&rig, 1);
			hear(&rig, request(&rig, 0x04, 0x200 + rows[i].packets));
			ROW(is_received(&rig, 0, 1, IBV_WC_SUCCESS, 16), i);
			rig_close(&rig);
		}
}

/* 2^31 bytes at MTU 256: half of all PSNs. The request behind it is expected at their end. */
static void longest_read(void)
{
	struct rig_packet packet;
	struct rig rig;
	uint32_t key;

	open_rts(&rig, 1, NULL);
	/* nothing of it is read before it is sent, so that it need not be there */
	CU_ASSERT_EQUAL(
		mem_register(rig.mem, 7, rig.memory, 1u << 31, 0, IBV_ACCESS_REMOTE_READ, &key), 0);
	packet = request(&rig, 0x0c, 0x200);
	packet.address = 0;
	packet.rkey = key;
	packet.length = 1u << 31;
	rig_receive(&rig, &packet);
	for (unsigned int i = 0; i < 3; i++)
		rig_step(&rig, 64, 1);
	SENT(&rig, 0, 0x0d, 0x200);
	SENT(&rig, 2, 0x0e, 0x202);
	SAME(rig.qp->responder.epsn, 0x800200);
	/* its first PSN lies 2^23 behind the expected one: a duplicate, not a gap */
	rig_receive(&rig, &packet);
	COUNTED(&rig, duplicate_request, 1);
	rig_step(&rig, 64, 1);
	SENT(&rig, 3, 0x0d, 0x200);
	packet.length++;
	packet.psn = 0x800200;
	rig_receive(&rig, &packet);
	CU_ASSERT(rig.qp->responder.nak == 0x61);
	rig_close(&rig);
}

/* ---- atomics ---- */

static const struct {
	uint8_t opcode;
	uint64_t before, compare, operand, after;
} atomic_rows[] = {
	{0x13, 5, 5, 9, 9},
	{0x13, 5, 4, 9, 5},
	{0x13, UINT64_MAX, UINT64_MAX, 0, 0},
	{0x13, 0x0102030405060708ull, 0x0102030405060708ull, 0x1112131415161718ull,
		0x1112131415161718ull},
	{0x14, 5, 0, 9, 14},
	{0x14, 5, 99, 0, 5},
	{0x14, UINT64_MAX, 0, 2, 1},
	{0x14, 1, 0, UINT64_MAX, 0},
};

static void atomics(void)
{
	for (unsigned int i = 0; i < COUNT(atomic_rows); i++) {
		struct wire_packet sent;
		struct rig_packet packet;
		uint64_t word;
		struct rig rig;

		open_rts(&rig, 1, NULL);
		memcpy(rig.memory + PLACE, &atomic_rows[i].before, 8);
		packet = request(&rig, atomic_rows[i].opcode, 0x200);
		packet.swap_add = atomic_rows[i].operand;
		packet.compare = atomic_rows[i].compare;
		hear(&rig, packet);
		memcpy(&word, rig.memory + PLACE, 8);
		ROW(is_number(word, atomic_rows[i].after), i);
		ROW(rig.sent_count == 1 && is_sent(&rig, 0, 0x12, 0x200), i);
		sent = rig_sent(&rig, 0);
		ROW(is_number(be64_get(&wire_atomic_ack(&sent)->original), atomic_rows[i].before),
			i);
		ROW(wire_aeth(&sent)->syndrome == 0x1f && be24_get(&wire_aeth(&sent)->msn) == 1, i);
		rig_close(&rig);
	}
}

/* ---- numbers ---- */

/* PSN and MSN both wrap within a row of requests of every kind (9.7.1, 9.7.7.1). */
static void wraps(void)
{
	static const struct {
		uint8_t opcode;
		uint32_t length;
		uint8_t answer;
		uint32_t span;
	} rows[] = {
		{0x04, 16, 0x11, 1},
		{0x05, 16, 0x11, 1},
		{0x0a, 16, 0x11, 1},
		{0x0b, 16, 0x11, 1},
		{0x0c, 16, 0x10, 1},
		{0x0c, 300, 0x0d, 2},
		{0x13, 8, 0x12, 1},
		{0x14, 8, 0x12, 1},
	};

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		struct ibv_qp_attr attr = attr_of(1);
		uint32_t psn = 0xfffffd;
		struct rig rig;

		attr.rq_psn = psn;
		open_rts(&rig, 1, &attr);
		rig.qp->responder.msn = 0xfffffd; /* as after so many messages */
		receives(&rig, 8);
		for (uint32_t k = 0; k < 6; k++) {
			struct rig_packet packet = request(&rig, rows[i].opcode, psn);
			struct wire_packet sent;
			uint32_t before = rig.sent_count;

			packet.length = rows[i].length;
			hear(&rig, packet);
			ROW(is_number(rig.sent_count, before + rows[i].span), i);
			ROW(is_sent(&rig, before, rows[i].answer, psn), i);
			sent = rig_sent(&rig, before);
			ROW(is_number(be24_get(&wire_aeth(&sent)->msn), (0xfffffe + k) & 0xffffff),
				i);
			psn = (psn + rows[i].span) & 0xffffff;
		}
		rig_close(&rig);
	}
}

/* ---- acknowledgements ---- */

/* 9.7.5.1.1: an ACK if it is asked for; MSN counts messages, not packets. */
static void acks(void)
{
	struct rig_packet packet;
	struct rig rig;

	open_rts(&rig, 1, NULL);
	receives(&rig, 8);
	packet = request(&rig, 0x04, 0x200);
	packet.ack_request = false;
	hear(&rig, packet);
	SENT_COUNT(&rig, 0);
	packet = request(&rig, 0x00, 0x201);
	hear(&rig, packet); /* asked for within a message */
	SENT_COUNT(&rig, 1);
	ANSWER(&rig, 0, 0x1f, 0x201, 1);
	packet = request(&rig, 0x02, 0x202);
	hear(&rig, packet);
	ANSWER(&rig, 1, 0x1f, 0x202, 2);
	rig_close(&rig);
}

/* One ACK for what was received in one go. */
static void acks_are_coalesced(void)
{
	struct rig_packet packet;
	struct rig rig;

	open_rts(&rig, 1, NULL);
	receives(&rig, 8);
	for (uint32_t i = 0; i < 5; i++) {
		packet = request(&rig, i % 2 ? 0x0a : 0x04, 0x200 + i);
		rig_receive(&rig, &packet);
	}
	packet = request(&rig, 0x04, 0x205);
	packet.ack_request = false; /* those before it have asked */
	rig_receive(&rig, &packet);
	rig_run(&rig);
	SENT_COUNT(&rig, 1);
	ANSWER(&rig, 0, 0x1f, 0x205, 6);
	rig_close(&rig);
}

/* ---- gaps ---- */

/* One NAK with the expected PSN, then silence until it comes (9.7.5.2.8; rc-lost-send.pcap). */
static void one_nak_per_gap(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	receives(&rig, 8);
	hear(&rig, request(&rig, 0x04, 0x200));
	for (uint32_t i = 2; i < 6; i++)
		hear(&rig, request(&rig, i % 2 ? 0x0a : 0x04, 0x200 + i));
	SENT_COUNT(&rig, 2);
	ANSWER(&rig, 0, 0x1f, 0x200, 1);
	ANSWER(&rig, 1, 0x60, 0x201, 1);
	COUNTED(&rig, out_of_seq_request, 4);
	COUNTED(&rig, sent_nak_seq, 1);
	RECEIVED_COUNT(&rig, 1);
	/* again from the gap on: all is executed once */
	for (uint32_t i = 1; i < 6; i++)
		hear(&rig, request(&rig, i % 2 ? 0x0a : 0x04, 0x200 + i));
	SENT_COUNT(&rig, 7);
	ANSWER(&rig, 6, 0x1f, 0x205, 6);
	/* the next gap gets a NAK of its own */
	hear(&rig, request(&rig, 0x04, 0x207));
	SENT_COUNT(&rig, 8);
	ANSWER(&rig, 7, 0x60, 0x206, 6);
	rig_close(&rig);
}

/* The furthest PSN that counts as ahead, and the first that counts as behind. */
static void ahead_and_behind(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	hear(&rig, request(&rig, 0x0a, 0x800200));
	SENT_COUNT(&rig, 1);
	ANSWER(&rig, 0, 0x1f, 0x1ff, 0); /* behind: a duplicate is acknowledged again */
	hear(&rig, request(&rig, 0x0a, 0x8001ff));
	SENT_COUNT(&rig, 2);
	ANSWER(&rig, 1, 0x60, 0x200, 0);
	rig_close(&rig);
}

/* ---- for want of a receive ---- */

/* RNR NAK with the QP's timer, then silence for what follows, until it is sent again. */
static void receiver_not_ready(void)
{
	static const uint8_t opcodes[] = {0x04, 0x05, 0x00, 0x0b};

	for (unsigned int i = 0; i < COUNT(opcodes); i++) {
		struct ibv_qp_attr attr = attr_of(1);
		struct rig rig;

		attr.min_rnr_timer = (uint8_t)(i * 9);
		open_rts(&rig, 1, &attr);
		memset(rig.memory, 0xee, 8192);
		hear(&rig, request(&rig, opcodes[i], 0x200));
		hear(&rig, request(&rig, 0x0a, 0x201));
		hear(&rig, request(&rig, 0x04, 0x202));
		ROW(rig.sent_count == 1 && is_answer(&rig, 0, (uint8_t)(0x20 + i * 9), 0x200, 0),
			i);
		ROW(rig.core.counters.send_rnr_err == 1, i);
		ROW(rig.memory[0] == 0xee && rig.memory[PLACE] == 0xee, i);
		/* again, and still none: it is said again */
		hear(&rig, request(&rig, opcodes[i], 0x200));
		ROW(rig.sent_count == 2 && is_answer(&rig, 1, (uint8_t)(0x20 + i * 9), 0x200, 0),
			i);
		receives(&rig, 2);
		hear(&rig, request(&rig, opcodes[i], 0x200));
		ROW(rig.sent_count == 3 && rig_syndrome(&rig, 2) == 0x1f, i);
		ROW(rig.recvs_taken == 1 && rc_qp_state(rig.qp) == IBV_QPS_RTS, i);
		rig_close(&rig);
	}
}

/* A WRITE with immediate that is long: its data is there already, its last packet waits. */
static void receiver_not_ready_at_the_end(void)
{
	struct rig_packet packet;
	struct rig rig;

	open_rts(&rig, 1, NULL);
	memset(rig.memory, 0xee, 8192);
	packet = request(&rig, 0x06, 0x200);
	packet.length = 272;
	hear(&rig, packet);
	hear(&rig, request(&rig, 0x09, 0x201));
	ANSWER(&rig, 1, 0x2c, 0x201, 0);
	CU_ASSERT(rig.memory[PLACE + 255] == 255 && rig.memory[PLACE + 256] == 0xee);
	receives(&rig, 1);
	hear(&rig, request(&rig, 0x09, 0x201));
	RECEIVED(&rig, 0, 1, IBV_WC_SUCCESS, 272);
	CU_ASSERT(rig.memory[PLACE + 256] == 0 && rig.memory[PLACE + 271] == 15);
	ANSWER(&rig, 2, 0x1f, 0x201, 1);
	rig_close(&rig);
}

/* A receive is taken at the first packet of a message: none is needed for its others. */
static void one_receive_for_a_message(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	receives(&rig, 1);
	hear(&rig, request(&rig, 0x00, 0x200));
	SAME(rig.recvs_taken, 1);
	hear(&rig, request(&rig, 0x01, 0x201));
	hear(&rig, request(&rig, 0x02, 0x202));
	RECEIVED(&rig, 0, 1, IBV_WC_SUCCESS, 528);
	hear(&rig, request(&rig, 0x04, 0x203));
	ANSWER(&rig, 3, 0x2c, 0x203, 1);
	rig_close(&rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(sends),
	UNIT_CASE(scatter_lists),
	UNIT_CASE(solicited),
	UNIT_CASE(writes),
	UNIT_CASE(zero_length_needs_no_key),
	UNIT_CASE(reads),
	UNIT_CASE(longest_read),
	UNIT_CASE(atomics),
	UNIT_CASE(wraps),
	UNIT_CASE(acks),
	UNIT_CASE(acks_are_coalesced),
	UNIT_CASE(one_nak_per_gap),
	UNIT_CASE(ahead_and_behind),
	UNIT_CASE(receiver_not_ready),
	UNIT_CASE(receiver_not_ready_at_the_end),
	UNIT_CASE(one_receive_for_a_message),
};

UNIT_MAIN("responder", cases)
