/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests by hand: what they do to memory and receive queue, what is answered, and which error
 * each breach of the rules is (IBTA 9.7.4.1, 9.7.5, 9.9.3). Rig 1 expects PSN 0x200, path MTU 256.
 */
#include "expect.h"

#define AT 4096u /* where the peer writes and reads, in the rig's memory */

static uint64_t address(const struct rig *rig)
{
	return (uintptr_t)rig->memory + AT;
}

/* n receives of 4 KiB each at the start of the memory; wr_id from 1 on. */
static void receives(struct rig *rig, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		rig_post_recv(rig, 1 + i, 0, 4096);
}

/* A request as it should be: AckReq, at AT, length as the opcode may have it. */
static struct rig_packet request(const struct rig *rig, uint8_t opcode, uint32_t psn)
{
	const struct opcode_info *info = opcode_info(opcode);
	bool full = opcode_is(info, IS_FIRST) || opcode_is(info, IS_MIDDLE);

	return (struct rig_packet){
		.opcode = opcode,
		.psn = psn,
		.ack_request = true,
		.address = address(rig),
		.rkey = rig->key,
		.length = full ? 512 : 16,
		.payload_length = !opcode_is(info, HAS_PAYLOAD) ? 0
			: full					? 256
								: 16,
		.immediate = 0xd1d2d3d4,
	};
}

static void hear(struct rig *rig, struct rig_packet packet)
{
	rig_receive(rig, &packet);
	rig_run(rig);
}

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
			ROW(rig.memory[AT + 1 + k] == (uint8_t)(k % 256), i);
		ROW(rig.memory[0] == 0xee && rig.memory[AT] == 0xee &&
				rig.memory[AT + 1 + length] == 0xee,
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
				ROW(memcmp(sent.payload, rig.memory + AT + at,
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
		memcpy(rig.memory + AT, &atomic_rows[i].before, 8);
		packet = request(&rig, atomic_rows[i].opcode, 0x200);
		packet.swap_add = atomic_rows[i].operand;
		packet.compare = atomic_rows[i].compare;
		hear(&rig, packet);
		memcpy(&word, rig.memory + AT, 8);
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
		ROW(rig.memory[0] == 0xee && rig.memory[AT] == 0xee, i);
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
	CU_ASSERT(rig.memory[AT + 255] == 255 && rig.memory[AT + 256] == 0xee);
	receives(&rig, 1);
	hear(&rig, request(&rig, 0x09, 0x201));
	RECEIVED(&rig, 0, 1, IBV_WC_SUCCESS, 272);
	CU_ASSERT(rig.memory[AT + 256] == 0 && rig.memory[AT + 271] == 15);
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

/* ---- errors ---- */

/*
 * The breach is answered once, with the expected PSN; the QP goes to ERR, everything is flushed;
 * what is told is the receive in use or, without one, an event (class C faults).
 */
static bool breached(struct rig *rig, uint8_t syndrome, uint32_t psn, enum ibv_event_type event)
{
	uint32_t last = rig->sent_count - 1;

	return rc_qp_state(rig->qp) == IBV_QPS_ERR && is_sent(rig, last, 0x11, psn) &&
		is_number(rig_syndrome(rig, last), syndrome) &&
		is_number(rig_count(rig, RIG_EVENT), 1) && is_event(rig, 0, event) &&
		is_number(rig->core.counters.sent_nak_inv_req, syndrome == 0x61) &&
		is_number(rig->core.counters.sent_nak_access, syndrome == 0x62) &&
		is_number(rig->core.counters.sent_nak_op, syndrome == 0x63);
}

/* Lengths by position (9.7.2.1, 9.7.4.1.6), and the DMA length of the RETH. */
static const struct {
	uint8_t before; /* a packet that opens the message, or 0xff */
	uint8_t opcode;
	uint32_t payload;
	uint32_t length; /* RETH, of the packet that has one */
} length_rows[] = {
	/* FIRST and MIDDLE: exactly the MTU */
	{0xff, 0x00, 0, 0},
	{0xff, 0x00, 255, 0},
	{0xff, 0x00, 257, 0},
	{0x00, 0x01, 0, 0},
	{0x00, 0x01, 255, 0},
	{0x00, 0x01, 260, 0},
	{0xff, 0x06, 0, 512},
	{0xff, 0x06, 255, 512},
	{0xff, 0x06, 257, 512},
	{0x06, 0x07, 0, 1024},
	{0x06, 0x07, 252, 1024},
	{0x06, 0x07, 512, 1024},
	/* LAST: 1 to MTU */
	{0x00, 0x02, 0, 0},
	{0x00, 0x02, 257, 0},
	{0x00, 0x03, 0, 0},
	{0x00, 0x03, 300, 0},
	{0x06, 0x08, 0, 512},
	{0x06, 0x08, 257, 513},
	{0x06, 0x09, 0, 512},
	/* ONLY: up to the MTU */
	{0xff, 0x04, 257, 0},
	{0xff, 0x05, 257, 0},
	{0xff, 0x17, 300, 0},
	{0xff, 0x0a, 257, 257},
	{0xff, 0x0b, 260, 260},
	/* a WRITE's payload is its DMA length: less, more, and too early or too late an end */
	{0xff, 0x0a, 16, 15},
	{0xff, 0x0a, 16, 17},
	{0xff, 0x0a, 12, 0}, /* this one stops the kernel that runs Soft-RoCE */
	{0xff, 0x0a, 0, 16},
	{0xff, 0x0b, 16, 17},
	{0xff, 0x06, 256, 256},
	{0xff, 0x06, 256, 100},
	{0xff, 0x06, 256, 0},
	{0x06, 0x07, 256, 512},
	{0x06, 0x07, 256, 400},
	{0x06, 0x08, 16, 273},
	{0x06, 0x08, 16, 271},
	{0x06, 0x08, 256, 511},
	{0x06, 0x09, 16, 1024},
	/* longer than any message (9.7.7) */
	{0xff, 0x06, 256, 0x80000001},
	{0xff, 0x06, 256, 0xffffffff},
	{0xff, 0x0c, 0, 0x80000001},
	{0xff, 0x0c, 0, 0xffffffff},
};

static void wrong_lengths(void)
{
	for (unsigned int i = 0; i < COUNT(length_rows); i++) {
		bool opened = length_rows[i].before != 0xff;
		struct rig_packet packet;
		struct rig rig;

		open_rts(&rig, 1, NULL);
		receives(&rig, 2);
		memset(rig.memory, 0xee, 8192);
		if (opened) {
			packet = request(&rig, length_rows[i].before, 0x200);
			packet.length = length_rows[i].length;
			hear(&rig, packet);
			memset(rig.memory, 0xee, 8192);
		}
		packet = request(&rig, length_rows[i].opcode, 0x200 + opened);
		packet.payload_length = length_rows[i].payload;
		packet.length = length_rows[i].length;
		hear(&rig, packet);
		if (length_rows[i].before == 0x00) { /* a SEND under way has its receive */
			ROW(is_received(&rig, 0, 1, IBV_WC_REM_INV_REQ_ERR, 0), i);
			ROW(rig_syndrome(&rig, rig.sent_count - 1) == 0x61, i);
			ROW(rc_qp_state(rig.qp) == IBV_QPS_ERR, i);
		} else {
			ROW(breached(&rig, 0x61, 0x200 + opened, IBV_EVENT_QP_REQ_ERR), i);
			ROW(is_received(&rig, 0, 1, IBV_WC_WR_FLUSH_ERR, 0), i);
		}
		ROW(is_received(&rig, 1, 2, IBV_WC_WR_FLUSH_ERR, 0), i);
		for (uint32_t k = 0; k < 8192; k += 64)
			ROW(rig.memory[k] == 0xee, i);
		rig_close(&rig);
	}
}

/* 9.7.4.1.2: which opcode may follow which. */
static void wrong_sequences(void)
{
	/* not with a message under way: MIDDLE, LAST */
	static const uint8_t outside[] = {0x01, 0x02, 0x03, 0x07, 0x08, 0x09, 0x16};
	/* not within a SEND; not within a WRITE */
	static const uint8_t in_send[] = {
		0x00, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x13, 0x14, 0x17};
	static const uint8_t in_write[] = {
		0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x0a, 0x0b, 0x0c, 0x13, 0x14, 0x16, 0x17};
	static const struct {
		uint8_t before;
		const uint8_t *opcodes;
		unsigned int count;
	} rows[] = {{0xff, outside, COUNT(outside)}, {0x00, in_send, COUNT(in_send)},
		{0x06, in_write, COUNT(in_write)}};

	for (unsigned int i = 0; i < COUNT(rows); i++)
		for (unsigned int k = 0; k < rows[i].count; k++) {
			bool opened = rows[i].before != 0xff;
			struct rig rig;

			open_rts(&rig, 1, NULL);
			receives(&rig, 1);
			if (opened)
				hear(&rig, request(&rig, rows[i].before, 0x200));
			hear(&rig, request(&rig, rows[i].opcodes[k], 0x200 + opened));
			ROW(rig_syndrome(&rig, opened) == 0x61 && rig.sent_count == 1u + opened, k);
			ROW(rc_qp_state(rig.qp) == IBV_QPS_ERR, k);
			ROW(is_received(&rig, 0, 1,
				    rows[i].before == 0 ? IBV_WC_REM_INV_REQ_ERR
							: IBV_WC_WR_FLUSH_ERR,
				    0),
				k);
			ROW(is_number(rig_count(&rig, RIG_EVENT), rows[i].before != 0), k);
			rig_close(&rig);
		}
}

/* ---- access ---- */

enum key { KEY_GOOD, KEY_NONE, KEY_OTHER_PD, KEY_LOCAL, KEY_READ, KEY_WRITE, KEY_ATOMIC, KEY_HIGH };

/* Keys of a second region, 4096 bytes from AT; HIGH: the last 4096 bytes that there are. */
static uint32_t key_of(struct rig *rig, enum key which)
{
	static const uint32_t access[] = {
		[KEY_OTHER_PD] = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
		[KEY_LOCAL] = IBV_ACCESS_LOCAL_WRITE,
		[KEY_READ] = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ,
		[KEY_WRITE] = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		[KEY_ATOMIC] = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
		[KEY_HIGH] = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};
	uint32_t key = 0;

	if (which == KEY_GOOD)
		return rig->key;
	if (which == KEY_NONE)
		return rig->key ^ 0x01;
	CU_ASSERT_EQUAL(mem_register(rig->mem, which == KEY_OTHER_PD ? 8 : 7, rig->memory + AT,
				4096, which == KEY_HIGH ? 0xfffffffffffff000ull : address(rig),
				access[which], &key),
		0);
	return key;
}

static const struct {
	enum key key;
	uint64_t offset; /* from AT; HIGH: from 0 */
	uint32_t length;
	const char *granted; /* of "wra": what is allowed: write, read, atomic */
} access_rows[] = {
	{KEY_GOOD, 0, 16, "wra"},
	{KEY_NONE, 0, 16, ""},
	{KEY_OTHER_PD, 0, 16, ""},
	{KEY_LOCAL, 0, 16, ""},
	{KEY_READ, 0, 16, "r"},
	{KEY_WRITE, 0, 16, "w"},
	{KEY_ATOMIC, 0, 16, "a"},
	/* ranges: around both ends */
	{KEY_GOOD, RIG_MEMORY - AT - 16, 16, "wra"},
	{KEY_GOOD, RIG_MEMORY - AT - 8, 16, "a"},
	{KEY_GOOD, RIG_MEMORY - AT, 16, ""},
	{KEY_GOOD, (uint64_t)0 - AT, 16, "wra"},
	{KEY_GOOD, (uint64_t)0 - AT - 8, 16, ""},
	{KEY_READ, 0, 4096, "r"},
	{KEY_READ, 0, 4097, ""},
	{KEY_READ, 0, 0x80000000, ""},
	/* addresses near 2^64 (users' complaint 3): no sum may wrap */
	{KEY_HIGH, UINT64_MAX, 16, "a"}, /* an atomic: its last 8 bytes */
	{KEY_HIGH, 0xfffffffffffff000ull, 16, "wra"},
	{KEY_HIGH, 0xfffffffffffffff0ull, 16, "wra"},
	{KEY_HIGH, 0xfffffffffffffff8ull, 16, "a"},
	{KEY_HIGH, 0xfffffffffffff000ull, 4097, ""},
	{KEY_HIGH, 0xffffffffffffff00ull, 0x80000000, ""},
	{KEY_HIGH, 0, 16, ""},
	{KEY_HIGH, 0xffffffffffffefffull, 16, ""},
};

/* One of the five kinds, at its first packet. */
static struct rig_packet access_packet(
	struct rig *rig, uint8_t opcode, unsigned int row, uint32_t key)
{
	struct rig_packet packet = request(rig, opcode, 0x200);
	uint32_t length = access_rows[row].length;

	packet.rkey = key;
	packet.address =
		access_rows[row].offset + (access_rows[row].key == KEY_HIGH ? 0 : address(rig));
	packet.length = length;
	if (opcode == 0x0a || opcode == 0x0b)
		packet.payload_length = length;
	if (length > 256 && opcode == 0x0a)
		packet.opcode = 0x06;
	if (length > 256 && opcode == 0x0b)
		packet.opcode = 0x06;
	if (packet.opcode == 0x06)
		packet.payload_length = 256;
	if (opcode == 0x13 || opcode == 0x14)
		packet.address &= ~(uint64_t)7;
	return packet;
}

/* The right answer, or NAK 0x62 and nothing done (9.7.4.1.5). */
static void access_rights(void)
{
	static const struct {
		uint8_t opcode;
		char kind;
	} kinds[] = {{0x0a, 'w'}, {0x0b, 'w'}, {0x0c, 'r'}, {0x13, 'a'}, {0x14, 'a'}};

	for (unsigned int i = 0; i < COUNT(access_rows); i++)
		for (unsigned int k = 0; k < COUNT(kinds); k++) {
			bool good = strchr(access_rows[i].granted, kinds[k].kind) != NULL;
			bool atomic = kinds[k].kind == 'a';
			struct rig_packet packet;
			struct rig rig;

			/* an atomic has 8 bytes whatever the row's length is */
			if (atomic && access_rows[i].length != 16)
				continue;
			open_rts(&rig, 1, NULL);
			receives(&rig, 1);
			packet = access_packet(
				&rig, kinds[k].opcode, i, key_of(&rig, access_rows[i].key));
			hear(&rig, packet);
			if (good) {
				ROW(rc_qp_state(rig.qp) == IBV_QPS_RTS, i);
				ROW(rig.sent_count > 0 && rig_syndrome(&rig, 0) == 0x1f, i);
			} else {
				ROW(breached(&rig, 0x62, 0x200, IBV_EVENT_QP_ACCESS_ERR), i);
				ROW(rig.sent_count == 1, i);
				ROW(is_received(&rig, 0, 1, IBV_WC_WR_FLUSH_ERR, 0), i);
			}
			rig_close(&rig);
		}
}

/* man ibv_modify_qp, qp_access_flags: what the QP doesn't allow is an access error, zero bytes
 * too. */
static void qp_access_flags(void)
{
	static const struct {
		uint8_t opcode;
		unsigned int needs; /* 0: works without any */
	} rows[] = {
		{0x04, 0},
		{0x0a, IBV_ACCESS_REMOTE_WRITE},
		{0x0b, IBV_ACCESS_REMOTE_WRITE},
		{0x06, IBV_ACCESS_REMOTE_WRITE},
		{0x0c, IBV_ACCESS_REMOTE_READ},
		{0x13, IBV_ACCESS_REMOTE_ATOMIC},
		{0x14, IBV_ACCESS_REMOTE_ATOMIC},
	};
	static const unsigned int flags[] = {
		0, IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_ATOMIC};

	for (unsigned int f = 0; f < COUNT(flags); f++)
		for (unsigned int i = 0; i < COUNT(rows); i++)
			for (unsigned int empty = 0; empty < 2; empty++) {
				struct ibv_qp_attr attr = attr_of(1);
				struct rig_packet packet;
				struct rig rig;

				attr.qp_access_flags = flags[f];
				open_rts(&rig, 1, &attr);
				receives(&rig, 1);
				packet = request(&rig, rows[i].opcode, 0x200);
				if (empty && rows[i].opcode != 0x06)
					packet.length = packet.payload_length = 0;
				hear(&rig, packet);
				if ((rows[i].needs & flags[f]) == rows[i].needs)
					ROW(rc_qp_state(rig.qp) == IBV_QPS_RTS, i);
				else
					ROW(breached(&rig, 0x62, 0x200, IBV_EVENT_QP_ACCESS_ERR),
						i);
				rig_close(&rig);
			}
}

/* 9.4.5: an atomic's address is a multiple of 8: NAK invalid request, the word stays. */
static void unaligned_atomics(void)
{
	for (uint32_t offset = 1; offset < 8; offset++)
		for (uint8_t opcode = 0x13; opcode <= 0x14; opcode++) {
			struct rig_packet packet;
			struct rig rig;

			open_rts(&rig, 1, NULL);
			memset(rig.memory + AT, 0xee, 16);
			packet = request(&rig, opcode, 0x200);
			packet.address += offset;
			packet.swap_add = 1;
			hear(&rig, packet);
			ROW(breached(&rig, 0x61, 0x200, IBV_EVENT_QP_REQ_ERR), offset);
			for (unsigned int i = 0; i < 16; i++)
				ROW(rig.memory[AT + i] == 0xee, offset);
			rig_close(&rig);
		}
}

/* The key goes in the middle of a WRITE: what follows is refused. */
static void key_gone_within_a_write(void)
{
	struct rig_packet packet;
	struct rig rig;
	uint32_t key;

	open_rts(&rig, 1, NULL);
	key = key_of(&rig, KEY_WRITE);
	packet = request(&rig, 0x06, 0x200);
	packet.length = 272;
	packet.rkey = key;
	hear(&rig, packet);
	CU_ASSERT_EQUAL(mem_deregister(rig.mem, key), 0);
	hear(&rig, request(&rig, 0x08, 0x201));
	CU_ASSERT(breached(&rig, 0x62, 0x201, IBV_EVENT_QP_ACCESS_ERR));
	rig_close(&rig);
}

/* ---- windows, invalidation ---- */

/* A type 2 window over 4096 bytes from AT, bound by QP `qp_num`. */
static uint32_t window_of(struct rig *rig, uint32_t qp_num, uint32_t access)
{
	struct mem_bind bind = {
		.lkey = rig->key,
		.address = address(rig),
		.length = 4096,
		.access = access,
		.pd = 7,
		.qp_num = qp_num,
	};
	uint32_t rkey;

	CU_ASSERT_EQUAL(mem_window_alloc(rig->mem, 7, 2, &bind.window), 0);
	bind.new_rkey = bind.window;
	CU_ASSERT_EQUAL(mem_window_bind(rig->mem, &bind, 2, &rkey), MEM_OK);
	return rkey;
}

/* 10.6.7.2: a type 2 window serves the QP that bound it, within its range, with its rights. */
static void windows(void)
{
	static const struct {
		uint32_t qp_num;
		uint32_t access;
		uint32_t offset;
		uint8_t opcode;
		bool good;
	} rows[] = {
		{0x101, IBV_ACCESS_REMOTE_WRITE, 0, 0x0a, true},
		{0x101, IBV_ACCESS_REMOTE_WRITE, 4080, 0x0a, true},
		{0x101, IBV_ACCESS_REMOTE_WRITE, 4081, 0x0a, false},
		{0x101, IBV_ACCESS_REMOTE_WRITE, 0, 0x0c, false},
		{0x101, IBV_ACCESS_REMOTE_READ, 0, 0x0c, true},
		{0x101, IBV_ACCESS_REMOTE_READ, 0, 0x0a, false},
		{0x101, IBV_ACCESS_REMOTE_ATOMIC, 0, 0x14, true},
		{0x103, IBV_ACCESS_REMOTE_WRITE, 0, 0x0a, false},
	};

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		struct rig_packet packet;
		struct rig rig;

		open_rts(&rig, 1, NULL);
		packet = request(&rig, rows[i].opcode, 0x200);
		packet.rkey = window_of(&rig, rows[i].qp_num, rows[i].access);
		packet.address += rows[i].offset;
		hear(&rig, packet);
		if (rows[i].good)
			ROW(rc_qp_state(rig.qp) == IBV_QPS_RTS && rig.sent_count == 1, i);
		else
			ROW(breached(&rig, 0x62, 0x200, IBV_EVENT_QP_ACCESS_ERR), i);
		rig_close(&rig);
	}
}

/* SEND with invalidate: the completion says which key; the window grants nothing any more. */
static void send_with_invalidate(void)
{
	for (unsigned int packets = 1; packets <= 2; packets++) {
		const struct rc_completion *completion;
		struct rig_packet packet;
		uint32_t psn = 0x200;
		uint32_t rkey;
		struct rig rig;

		open_rts(&rig, 1, NULL);
		receives(&rig, 1);
		rkey = window_of(&rig, 0x101, IBV_ACCESS_REMOTE_WRITE);
		if (packets == 2)
			hear(&rig, request(&rig, 0x00, psn++));
		packet = request(&rig, packets == 2 ? 0x16 : 0x17, psn++);
		packet.invalidate = rkey;
		hear(&rig, packet);
		ROW(is_received(&rig, 0, 1, IBV_WC_SUCCESS, packets == 2 ? 272 : 16), packets);
		completion = &rig_record(&rig, RIG_RECV_DONE, 0)->completion;
		ROW(completion->flags == IBV_WC_WITH_INV, packets);
		ROW(completion->imm_or_rkey == rkey, packets);
		packet = request(&rig, 0x0a, psn);
		packet.rkey = rkey;
		hear(&rig, packet);
		ROW(breached(&rig, 0x62, psn, IBV_EVENT_QP_ACCESS_ERR), packets);
		rig_close(&rig);
	}
}

/* o10-37.2.26: only a type 2 window of this QP can be invalidated from afar. */
static void send_with_wrong_invalidate(void)
{
	for (unsigned int i = 0; i < 4; i++) {
		struct rig_packet packet;
		struct rig rig;

		open_rts(&rig, 1, NULL);
		receives(&rig, 1);
		packet = request(&rig, 0x17, 0x200);
		packet.invalidate = rig.key;
		if (i == 1)
			packet.invalidate = rig.key ^ 0x80;
		if (i == 2)
			packet.invalidate = window_of(&rig, 0x103, IBV_ACCESS_REMOTE_WRITE);
		if (i == 3)
			CU_ASSERT_EQUAL(mem_window_alloc(rig.mem, 7, 1, &packet.invalidate), 0);
		hear(&rig, packet);
		ROW(rig.sent_count == 1 && is_answer(&rig, 0, 0x62, 0x200, 0), i);
		ROW(is_received(&rig, 0, 1, IBV_WC_LOC_ACCESS_ERR, 0), i);
		ROW(rig_count(&rig, RIG_EVENT) == 0, i);
		ROW(rc_qp_state(rig.qp) == IBV_QPS_ERR, i);
		rig_close(&rig);
	}
}

/* ---- the receive's own faults ---- */

/* deviations: LOC_LEN_ERR here and NAK 0x61, not 0x63 and LOC_QP_OP_ERR; nothing beyond it. */
static void receive_too_small(void)
{
	static const struct {
		uint32_t room;
		uint8_t opcodes[2];
		uint32_t last;
	} rows[] = {{0, {0x04, 0xff}, 1}, {15, {0x04, 0xff}, 16}, {255, {0x00, 0xff}, 256},
		{256, {0x00, 0x02}, 1}, {300, {0x00, 0x01}, 256}, {300, {0x00, 0x03}, 45}};

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		struct rig_packet packet;
		uint32_t psn = 0x200;
		struct rig rig;

		open_rts(&rig, 1, NULL);
		rig_post_recv(&rig, 1, 0, rows[i].room);
		rig_post_recv(&rig, 2, 2048, 2048);
		memset(rig.memory, 0xee, 4096);
		if (rows[i].opcodes[1] != 0xff)
			hear(&rig, request(&rig, rows[i].opcodes[0], psn++));
		packet = request(&rig, rows[i].opcodes[psn - 0x200], psn);
		packet.payload_length = rows[i].last;
		hear(&rig, packet);
		ROW(is_answer(&rig, rig.sent_count - 1, 0x61, psn, 0), i);
		ROW(is_received(&rig, 0, 1, IBV_WC_LOC_LEN_ERR, 0), i);
		ROW(is_received(&rig, 1, 2, IBV_WC_WR_FLUSH_ERR, 0), i);
		ROW(rig.memory[rows[i].room] == 0xee && rig.memory[2048] == 0xee, i);
		ROW(rig_count(&rig, RIG_EVENT) == 0, i);
		rig_close(&rig);
	}
}

/* An SRQ has a protection domain of its own (man ibv_create_srq): its receives are checked by that.
 */
static void receives_of_another_pd(void)
{
	const struct rig_options options = {.has_srq = true, .recv_pd = 8};
	struct rig rig;
	uint32_t key;

	rig_open(&rig, 1, &options);
	rig_to_rts(&rig);
	CU_ASSERT_EQUAL(mem_register(rig.mem, 8, rig.memory, 4096, (uintptr_t)rig.memory,
				IBV_ACCESS_LOCAL_WRITE, &key),
		0);
	receives(&rig, 2);
	rig.recvs[0].sge[0].lkey = key;
	hear(&rig, request(&rig, 0x04, 0x200));
	CU_ASSERT(is_received(&rig, 0, 1, IBV_WC_SUCCESS, 16));
	hear(&rig, request(&rig, 0x04, 0x201)); /* the second has a key of the QP's */
	CU_ASSERT(is_received(&rig, 1, 2, IBV_WC_LOC_PROT_ERR, 0));
	rig_close(&rig);
}

/* deviations: LOC_PROT_ERR and NAK 0x63 for each failed copy. */
static void receive_protection(void)
{
	for (unsigned int i = 0; i < 3; i++) {
		struct rc_recv *recv;
		uint32_t constant;
		struct rig rig;

		open_rts(&rig, 1, NULL);
		CU_ASSERT_EQUAL(mem_register(rig.mem, 7, rig.memory, 4096, (uintptr_t)rig.memory, 0,
					&constant),
			0);
		receives(&rig, 2);
		recv = &rig.recvs[0];
		if (i == 0)
			recv->sge[0].lkey ^= 0x01;
		if (i == 1)
			recv->sge[0].lkey = constant;
		if (i == 2)
			recv->sge[0].address = (uintptr_t)rig.memory + RIG_MEMORY - 8;
		hear(&rig, request(&rig, 0x04, 0x200));
		ROW(rig.sent_count == 1 && is_answer(&rig, 0, 0x63, 0x200, 0), i);
		ROW(is_received(&rig, 0, 1, IBV_WC_LOC_PROT_ERR, 0), i);
		ROW(is_received(&rig, 1, 2, IBV_WC_WR_FLUSH_ERR, 0), i);
		ROW(rig_count(&rig, RIG_EVENT) == 0, i);
		ROW(rig.core.counters.sent_nak_op == 1, i);
		rig_close(&rig);
	}
}

/* What the queue delivers as invalid ends as such, and the sender is told. */
static void invalid_receive(void)
{
	static const uint8_t opcodes[] = {0x04, 0x0b};

	for (unsigned int i = 0; i < COUNT(opcodes); i++) {
		struct rig rig;

		open_rts(&rig, 1, NULL);
		receives(&rig, 2);
		rig.recvs[0].sge_count = 0;
		rig.recvs[0].length = 0;
		rig.invalid_recv = true;
		memset(rig.memory, 0xee, 8192);
		hear(&rig, request(&rig, opcodes[i], 0x200));
		ROW(rig.sent_count == 1 && is_answer(&rig, 0, 0x63, 0x200, 0), i);
		ROW(is_received(&rig, 0, 1, IBV_WC_LOC_QP_OP_ERR, 0), i);
		ROW(is_received(&rig, 1, 2, IBV_WC_WR_FLUSH_ERR, 0), i);
		ROW(rig.memory[0] == 0xee && rig.memory[AT] == 0xee, i);
		rig_close(&rig);
	}
}

/* ---- responder resources ---- */

/* More READs and atomics at once than max_dest_rd_atomic: NAK invalid request (9.7.4.1, 9.9.3). */
static void resources_exceeded(void)
{
	static const uint8_t opcodes[] = {0x0c, 0x13, 0x14};

	for (unsigned int i = 0; i < COUNT(opcodes); i++)
		for (uint8_t depth = 0; depth <= 3; depth++) {
			struct ibv_qp_attr attr = attr_of(1);
			struct rig_packet packet;
			struct rig rig;

			attr.max_dest_rd_atomic = depth;
			open_rts(&rig, 1, &attr);
			memset(rig.memory + AT, 0, 8);
			for (uint32_t k = 0; k <= depth; k++) {
				packet = request(&rig, opcodes[i], 0x200 + k);
				packet.swap_add = 1;
				rig_receive(&rig, &packet);
			}
			rig_run(&rig);
			/* behind the answers to those that were within the limit */
			ROW(is_number(rig.sent_count, depth + 1u), i);
			ROW(breached(&rig, 0x61, 0x200 + depth, IBV_EVENT_QP_REQ_ERR), i);
			if (opcodes[i] == 0x14)
				ROW(rig.memory[AT] == depth, depth);
			rig_close(&rig);
		}
}

/* Answered ones make room: any number one after another. */
static void resources_are_used_again(void)
{
	struct ibv_qp_attr attr = attr_of(1);
	struct rig rig;

	attr.max_dest_rd_atomic = 1;
	open_rts(&rig, 1, &attr);
	for (uint32_t i = 0; i < 20; i++)
		hear(&rig, request(&rig, i % 2 ? 0x0c : 0x14, 0x200 + i));
	SENT_COUNT(&rig, 20);
	STATE(&rig, IBV_QPS_RTS);
	rig_close(&rig);
}

/* ---- after a fatal error ---- */

/* Between the breach and its NAK nothing more is executed; behind it the QP is in ERR. */
static void nothing_behind_a_breach(void)
{
	struct rig_packet packet;
	struct rig rig;

	open_rts(&rig, 1, NULL);
	receives(&rig, 2);
	memset(rig.memory, 0xee, 8192);
	packet = request(&rig, 0x0a, 0x200);
	packet.rkey = 0;
	rig_receive(&rig, &packet);
	packet = request(&rig, 0x0a, 0x200); /* the same again, good now */
	rig_receive(&rig, &packet);
	packet = request(&rig, 0x04, 0x201);
	rig_receive(&rig, &packet);
	packet = request(&rig, 0x04, 0x1ff); /* a duplicate */
	rig_receive(&rig, &packet);
	COUNTED(&rig, drop_silent, 3);
	rig_run(&rig);
	SENT_COUNT(&rig, 1);
	ANSWER(&rig, 0, 0x62, 0x200, 0);
	CU_ASSERT(rig.memory[0] == 0xee && rig.memory[AT] == 0xee);
	hear(&rig, request(&rig, 0x0a, 0x200));
	SENT_COUNT(&rig, 1);
	COUNTED(&rig, drop_state, 1);
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
	UNIT_CASE(wrong_lengths),
	UNIT_CASE(wrong_sequences),
	UNIT_CASE(access_rights),
	UNIT_CASE(qp_access_flags),
	UNIT_CASE(unaligned_atomics),
	UNIT_CASE(key_gone_within_a_write),
	UNIT_CASE(windows),
	UNIT_CASE(send_with_invalidate),
	UNIT_CASE(send_with_wrong_invalidate),
	UNIT_CASE(receive_too_small),
	UNIT_CASE(receives_of_another_pd),
	UNIT_CASE(receive_protection),
	UNIT_CASE(invalid_receive),
	UNIT_CASE(resources_exceeded),
	UNIT_CASE(resources_are_used_again),
	UNIT_CASE(nothing_behind_a_breach),
};

UNIT_MAIN("responder", cases)
