/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests that come again (IBTA 9.7.4.4, 9.7.5.1.3): a SEND or WRITE is acknowledged and has no
 * effect, a READ is read again, an atomic is answered with what it found the first time. Rig 1
 * expects PSN 0x200, path MTU 256.
 */
#include "expect.h"

/* A request of `length` bytes at PLACE + offset. */
static struct rig_packet part(
	const struct rig *rig, uint8_t opcode, uint32_t psn, uint32_t offset, uint32_t length)
{
	return (struct rig_packet){
		.opcode = opcode,
		.psn = psn,
		.ack_request = true,
		.address = place(rig) + offset,
		.rkey = rig->key,
		.length = length,
		.payload_length = opcode_is(opcode_info(opcode), HAS_PAYLOAD) ? length : 0,
	};
}

static void add(struct rig *rig, uint32_t psn, uint64_t operand)
{
	struct rig_packet packet = part(rig, 0x14, psn, 0, 8);

	packet.swap_add = operand;
	hear(rig, packet);
}

static uint64_t word(const struct rig *rig)
{
	uint64_t value;

	memcpy(&value, rig->memory + PLACE, 8);
	return value;
}

static uint64_t original(const struct rig *rig, uint32_t n)
{
	struct wire_packet packet = rig_sent(rig, n);

	return be64_get(&wire_atomic_ack(&packet)->original);
}

/* ---- SEND and WRITE ---- */

/* No byte and no receive again; an ACK of the newest PSN (rc-lost-ack.pcap), asked for or not. */
static void sends_and_writes(void)
{
	static const uint8_t opcodes[] = {0x04, 0x05, 0x0a, 0x0b};

	for (unsigned int i = 0; i < COUNT(opcodes); i++) {
		struct rig_packet packet;
		struct rig rig;

		open_rts(&rig, 1, NULL);
		for (unsigned int k = 0; k < 4; k++)
			rig_post_recv(&rig, k, 0, 4096);
		packet = part(&rig, opcodes[i], 0x200, 0, 16);
		hear(&rig, packet);
		hear(&rig, part(&rig, opcodes[i], 0x201, 0, 16));
		memset(rig.memory, 0xee, 8192);
		packet.ack_request = false;
		for (unsigned int k = 0; k < 3; k++)
			hear(&rig, packet);
		ROW(rig.sent_count == 5, i);
		for (uint32_t n = 2; n < 5; n++)
			ROW(is_answer(&rig, n, 0x1f, 0x201, 2), i);
		ROW(rig.memory[0] == 0xee && rig.memory[PLACE] == 0xee, i);
		ROW(rig_count(&rig, RIG_RECV_DONE) == (opcodes[i] == 0x0a ? 0 : 2), i);
		ROW(rig.recvs_taken == (opcodes[i] == 0x0a ? 0 : 2), i);
		ROW(rig.core.counters.duplicate_request == 3, i);
		rig_close(&rig);
	}
}

/* The whole message again while it is still under way: the rest is executed, nothing twice. */
static void within_a_message(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	rig_post_recv(&rig, 1, 0, 4096);
	hear(&rig, part(&rig, 0x00, 0x200, 0, 256));
	hear(&rig, part(&rig, 0x01, 0x201, 0, 256));
	hear(&rig, part(&rig, 0x00, 0x200, 0, 256));
	hear(&rig, part(&rig, 0x01, 0x201, 0, 256));
	hear(&rig, part(&rig, 0x02, 0x202, 0, 1));
	RECEIVED_COUNT(&rig, 1);
	RECEIVED(&rig, 0, 1, IBV_WC_SUCCESS, 513);
	ANSWER(&rig, rig.sent_count - 1, 0x1f, 0x202, 1);
	rig_close(&rig);
}

/* A burst of duplicates gets one ACK. */
static void acks_are_coalesced(void)
{
	struct rig_packet packet;
	struct rig rig;

	open_rts(&rig, 1, NULL);
	for (uint32_t psn = 0x200; psn < 0x205; psn++)
		hear(&rig, part(&rig, 0x0a, psn, 0, 16));
	SENT_COUNT(&rig, 5);
	for (uint32_t psn = 0x200; psn < 0x204; psn++) {
		packet = part(&rig, 0x0a, psn, 0, 16);
		rig_receive(&rig, &packet);
	}
	rig_run(&rig);
	SENT_COUNT(&rig, 6);
	ANSWER(&rig, 5, 0x1f, 0x204, 5);
	rig_close(&rig);
}

/* From before the first PSN of the connection: harmless. */
static void before_the_beginning(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	hear(&rig, part(&rig, 0x0a, 0x1ff, 0, 16));
	ANSWER(&rig, 0, 0x1f, 0x1ff, 0);
	hear(&rig, part(&rig, 0x0c, 0x1fe, 0, 16));
	hear(&rig, part(&rig, 0x14, 0x1fd, 0, 8));
	SENT_COUNT(&rig, 1);
	CU_ASSERT(rig.memory[PLACE] == 0);
	rig_close(&rig);
}

/*
 * A READ or atomic is never acknowledged by a plain ACK (9.7.5.1.2): the duplicate of an earlier
 * SEND must not say that of it, since its answer may be lost.
 */
static void ack_does_not_name_a_read(void)
{
	static const struct {
		uint8_t opcode;
		uint32_t length, span;
	} rows[] = {{0x0c, 600, 3}, {0x0c, 8, 1}, {0x13, 8, 1}, {0x14, 8, 1}};

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		uint32_t sent;
		struct rig rig;

		open_rts(&rig, 1, NULL);
		hear(&rig, part(&rig, 0x0a, 0x200, 64, 16));
		hear(&rig, part(&rig, rows[i].opcode, 0x201, 0, rows[i].length));
		sent = rig.sent_count;
		ROW(sent == 1 + rows[i].span, i);
		hear(&rig, part(&rig, 0x0a, 0x200, 64, 16));
		ROW(rig.sent_count == sent + 1 && is_sent(&rig, sent, 0x11, 0x200), i);
		/* a later WRITE is the newest again */
		hear(&rig, part(&rig, 0x0a, 0x201 + rows[i].span, 64, 16));
		hear(&rig, part(&rig, 0x0a, 0x200, 64, 16));
		ROW(is_answer(&rig, sent + 2, 0x1f, 0x201 + rows[i].span, 3), i);
		rig_close(&rig);
	}
}

/* ---- READ ---- */

struct reread_row {
	uint32_t start; /* packet of the first answer */
	uint32_t length;
	uint32_t packets;
	uint8_t opcodes[5];
};

/* Of a READ of 1100 bytes: five packets, the last of 76 bytes. */
static const struct reread_row reread_rows[] = {
	{0, 1100, 5, {0x0d, 0x0e, 0x0e, 0x0e, 0x0f}}, /* the whole of it */
	{1, 844, 4, {0x0d, 0x0e, 0x0e, 0x0f}},	      /* a tail: FIRST or ONLY begins */
	{3, 332, 2, {0x0d, 0x0f}},
	{4, 76, 1, {0x10}},
	/* what was received is left out at the end, too: the same payload under the same PSNs */
	{0, 256, 1, {0x10}},
	{1, 512, 2, {0x0d, 0x0f}},
	{0, 1024, 4, {0x0d, 0x0e, 0x0e, 0x0f}},
};

/* 9.7.2.1: a retried READ asks for a part of the first one; it is read anew from memory. */
static void rereads(void)
{
	for (unsigned int i = 0; i < COUNT(reread_rows); i++) {
		const struct reread_row *row = &reread_rows[i];
		uint32_t at = row->start * 256;
		struct rig rig;

		open_rts(&rig, 1, NULL);
		hear(&rig, part(&rig, 0x0c, 0x200, 0, 1100));
		SENT_COUNT(&rig, 5);
		fill(&rig);
		hear(&rig, part(&rig, 0x0c, 0x200 + row->start, at, row->length));
		ROW(is_number(rig.sent_count, 5 + row->packets), i);
		for (uint32_t n = 0; n < row->packets && 5 + n < rig.sent_count; n++) {
			struct wire_packet packet = rig_sent(&rig, 5 + n);

			ROW(is_sent(&rig, 5 + n, row->opcodes[n], 0x200 + row->start + n), i);
			ROW(memcmp(packet.payload, rig.memory + PLACE + at,
				    packet.payload_length) == 0,
				i);
			at += packet.payload_length;
		}
		ROW(is_number(at, row->start * 256 + row->length), i);
		/* the next request has the PSN behind the whole answer */
		hear(&rig, part(&rig, 0x0a, 0x205, 0, 16));
		ROW(is_answer(&rig, 5 + row->packets, 0x1f, 0x205, 2), i);
		rig_close(&rig);
	}
}

/* What doesn't agree with the first request is dropped without an answer, and counted. */
static void wrong_rereads(void)
{
	static const struct {
		uint32_t psn;
		int offset;
		uint32_t length;
		uint32_t key_change;
	} rows[] = {
		{0x200, 0, 1100, 0x01},	     /* R_Key */
		{0x200, 1, 1099, 0},	     /* address */
		{0x200, -1, 1101, 0},	     /* address */
		{0x200, 256, 844, 0},	     /* address of the next PSN */
		{0x201, 0, 844, 0},	     /* address of the PSN before */
		{0x201, 256, 845, 0},	     /* beyond the end */
		{0x201, 256, 1100, 0},	     /* beyond the end */
		{0x200, 0, 0xffffffff, 0},   /* beyond the end */
		{0x201, 256, 0xffffff00, 0}, /* offset and length would wrap 32 bits */
		{0x200, 0, 0, 0},	     /* nothing of something */
		{0x200, 0, 255, 0},	     /* ends within a packet */
		{0x200, 0, 300, 0},	     /* ends within a packet */
		{0x204, 1024, 75, 0},	     /* the last one is shorter than it was */
		{0x1ff, -256, 256, 0},	     /* before it */
	};

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		struct rig_packet packet;
		struct rig rig;

		open_rts(&rig, 1, NULL);
		hear(&rig, part(&rig, 0x0c, 0x200, 0, 1100));
		packet = part(&rig, 0x0c, rows[i].psn, (uint32_t)0, rows[i].length);
		packet.address += (uint64_t)(int64_t)rows[i].offset;
		packet.rkey ^= rows[i].key_change;
		hear(&rig, packet);
		ROW(rig.sent_count == 5, i);
		ROW(rig.core.counters.lost_resource == 1, i);
		ROW(rc_qp_state(rig.qp) == IBV_QPS_RTS && rig_count(&rig, RIG_EVENT) == 0, i);
		rig_close(&rig);
	}
}

/* At the end of the address space nothing wraps on this path either. */
static void rereads_near_the_end(void)
{
	struct rig_packet packet;
	struct rig rig;
	uint32_t key;

	open_rts(&rig, 1, NULL);
	CU_ASSERT_EQUAL(mem_register(rig.mem, 7, rig.memory, 4096, 0xfffffffffffff000ull,
				IBV_ACCESS_REMOTE_READ, &key),
		0);
	packet = part(&rig, 0x0c, 0x200, 0, 600);
	packet.address = 0xfffffffffffffda8ull; /* the last 600 bytes */
	packet.rkey = key;
	hear(&rig, packet);
	SENT_COUNT(&rig, 3);
	packet.psn = 0x202;
	packet.address = 0xffffffffffffffa8ull;
	packet.length = 88;
	hear(&rig, packet);
	SENT_COUNT(&rig, 4);
	SENT(&rig, 3, 0x10, 0x202);
	packet.length = 89;
	hear(&rig, packet);
	packet.length = 0xffffffff;
	hear(&rig, packet);
	packet.address = 0xa8;
	hear(&rig, packet);
	packet.address = UINT64_MAX;
	packet.length = 88;
	hear(&rig, packet);
	SENT_COUNT(&rig, 4);
	COUNTED(&rig, lost_resource, 4);
	STATE(&rig, IBV_QPS_RTS);
	rig_close(&rig);
}

/*
 * The key is checked again. If it is gone after the whole answer was out, the repetition is
 * dropped: it may be a copy from the network, after which the peer has let the key be taken back.
 */
static void key_gone(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	hear(&rig, part(&rig, 0x0c, 0x200, 0, 600));
	CU_ASSERT_EQUAL(mem_deregister(rig.mem, rig.key), 0);
	hear(&rig, part(&rig, 0x0c, 0x201, 256, 344));
	SENT_COUNT(&rig, 3);
	COUNTED(&rig, lost_resource, 1);
	STATE(&rig, IBV_QPS_RTS);
	EVENT_COUNT(&rig, 0);
	rig_close(&rig);
}

/* An empty READ may come again, too. */
static void reread_of_nothing(void)
{
	struct rig_packet packet;
	struct rig rig;

	open_rts(&rig, 1, NULL);
	packet = part(&rig, 0x0c, 0x200, 0, 0);
	for (unsigned int i = 0; i < 3; i++)
		hear(&rig, packet);
	SENT_COUNT(&rig, 3);
	SENT(&rig, 2, 0x10, 0x200);
	packet.length = 1;
	hear(&rig, packet);
	SENT_COUNT(&rig, 3);
	rig_close(&rig);
}

/* Asked for again while the first answer is still going out: it starts again from there. */
static void reread_during_the_answer(void)
{
	struct rig_packet packet;
	struct rig rig;

	open_rts(&rig, 1, NULL);
	packet = part(&rig, 0x0c, 0x200, 0, 1100);
	rig_receive(&rig, &packet);
	for (unsigned int i = 0; i < 3; i++)
		rig_step(&rig, 64, 1);
	SENT(&rig, 2, 0x0e, 0x202);
	hear(&rig, part(&rig, 0x0c, 0x201, 256, 844));
	SENT_COUNT(&rig, 7);
	SENT(&rig, 3, 0x0d, 0x201);
	SENT(&rig, 6, 0x0f, 0x204);
	rig_close(&rig);
}

/* ---- atomics ---- */

/* Executed once, however often it comes; each time the first result. */
static void atomics_once(void)
{
	struct rig_packet swap;
	struct rig rig;

	open_rts(&rig, 1, NULL);
	add(&rig, 0x200, 5);
	swap = part(&rig, 0x13, 0x201, 0, 8);
	swap.compare = 5;
	swap.swap_add = 100;
	hear(&rig, swap);
	for (unsigned int i = 0; i < 10; i++) {
		add(&rig, 0x200, 5);
		hear(&rig, swap);
	}
	SAME(word(&rig), 100);
	SENT_COUNT(&rig, 22);
	for (uint32_t n = 0; n < 22; n++) {
		ROW(is_sent(&rig, n, 0x12, 0x200 + n % 2), n);
		ROW(is_number(original(&rig, n), n % 2 ? 5 : 0), n);
	}
	rig_close(&rig);
}

/* Whatever happens to the word, or to its region, in between. */
static void atomic_result_is_kept(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	add(&rig, 0x200, 5);
	memset(rig.memory + PLACE, 0x77, 8);
	CU_ASSERT_EQUAL(mem_deregister(rig.mem, rig.key), 0);
	add(&rig, 0x200, 5);
	SENT(&rig, 1, 0x12, 0x200);
	SAME(original(&rig, 1), 0);
	CU_ASSERT(rig.memory[PLACE] == 0x77);
	rig_close(&rig);
}

/* A burst of equal atomics: one execution, one answer at least, no second addition. */
static void burst_of_atomics(void)
{
	struct rig_packet packet;
	struct rig rig;

	open_rts(&rig, 1, NULL);
	packet = part(&rig, 0x14, 0x200, 0, 8);
	packet.swap_add = 3;
	for (unsigned int i = 0; i < 8; i++)
		rig_receive(&rig, &packet);
	rig_run(&rig);
	SAME(word(&rig), 3);
	SENT_COUNT(&rig, 1);
	SAME(original(&rig, 0), 0);
	rig_close(&rig);
}

/* The kind must agree: a READ under an atomic's PSN is nobody's, and the other way round. */
static void other_kind_under_the_psn(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	add(&rig, 0x200, 5);
	hear(&rig, part(&rig, 0x0c, 0x201, 0, 8));
	hear(&rig, part(&rig, 0x0c, 0x200, 0, 8));
	add(&rig, 0x201, 5);
	HEAR(&rig, .opcode = 0x0c, .psn = 0x200); /* of nothing, by no key */
	SENT_COUNT(&rig, 2);
	COUNTED(&rig, lost_resource, 3);
	SAME(word(&rig), 5);
	rig_close(&rig);
}

/* ---- kept resources ---- */

/* Beyond max_dest_rd_atomic newer ones nothing is kept: dropped silently, counted. */
static void evicted(void)
{
	for (uint8_t depth = 1; depth <= 5; depth++) {
		struct ibv_qp_attr attr = attr_of(1);
		struct rig rig;

		attr.max_dest_rd_atomic = depth;
		open_rts(&rig, 1, &attr);
		for (uint32_t i = 0; i < 8; i++)
			add(&rig, 0x200 + i, 1);
		for (uint32_t i = 0; i < 8; i++) {
			uint32_t before = rig.sent_count;
			bool kept = i >= 8u - depth;

			add(&rig, 0x200 + i, 1);
			ROW(is_number(rig.sent_count, before + kept), depth);
			if (kept)
				ROW(original(&rig, before) == i, depth);
		}
		ROW(is_number(rig.core.counters.lost_resource, 8 - depth), depth);
		ROW(word(&rig) == 8, depth);
		ROW(rc_qp_state(rig.qp) == IBV_QPS_RTS, depth);
		rig_close(&rig);
	}
}

/*
 * The peer asked again, then the first answer reached it after all, and it went on: its new request
 * arrives while the second answer to the old one has not left. It has kept to the depth; the old
 * request is over.
 */
static void new_request_behind_a_repeated_one(void)
{
	struct ibv_qp_attr attr = attr_of(1);
	struct rig_packet packet;
	struct rig rig;

	attr.max_dest_rd_atomic = 1;
	open_rts(&rig, 1, &attr);
	packet = part(&rig, 0x0c, 0x200, 0, 600);
	hear(&rig, packet);
	SENT_COUNT(&rig, 3);
	rig_receive(&rig, &packet);
	packet = part(&rig, 0x0c, 0x203, 0, 8);
	rig_receive(&rig, &packet);
	rig_run(&rig);
	STATE(&rig, IBV_QPS_RTS);
	SENT_COUNT(&rig, 4);
	SENT(&rig, 3, 0x10, 0x203);
	rig_close(&rig);
}

/* PSNs of kept requests across the wrap. */
static void across_the_wrap(void)
{
	struct ibv_qp_attr attr = attr_of(1);
	struct rig rig;

	attr.rq_psn = 0xfffffe;
	open_rts(&rig, 1, &attr);
	hear(&rig, part(&rig, 0x0c, 0xfffffe, 0, 1100));
	add(&rig, 0x000003, 1);
	hear(&rig, part(&rig, 0x0a, 0x000004, 64, 16));
	hear(&rig, part(&rig, 0x0c, 0xffffff, 256, 844));
	SENT_COUNT(&rig, 11);
	SENT(&rig, 7, 0x0d, 0xffffff);
	SENT(&rig, 8, 0x0e, 0x000000);
	SENT(&rig, 10, 0x0f, 0x000002);
	add(&rig, 0x000003, 1);
	SENT(&rig, 11, 0x12, 0x000003);
	hear(&rig, part(&rig, 0x0a, 0x000004, 64, 16));
	SENT(&rig, 12, 0x11, 0x000004);
	rig_close(&rig);
}

/* Duplicates are answered while the responder is silent for a gap, and do not end the silence. */
static void during_a_gap(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	add(&rig, 0x200, 1);
	hear(&rig, part(&rig, 0x0a, 0x203, 64, 16));
	ANSWER(&rig, 1, 0x60, 0x201, 1);
	add(&rig, 0x200, 1);
	SENT(&rig, 2, 0x12, 0x200);
	hear(&rig, part(&rig, 0x0a, 0x204, 64, 16));
	SENT_COUNT(&rig, 3);
	rig_close(&rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(sends_and_writes),
	UNIT_CASE(within_a_message),
	UNIT_CASE(acks_are_coalesced),
	UNIT_CASE(before_the_beginning),
	UNIT_CASE(ack_does_not_name_a_read),
	UNIT_CASE(rereads),
	UNIT_CASE(wrong_rereads),
	UNIT_CASE(rereads_near_the_end),
	UNIT_CASE(key_gone),
	UNIT_CASE(reread_of_nothing),
	UNIT_CASE(reread_during_the_answer),
	UNIT_CASE(atomics_once),
	UNIT_CASE(atomic_result_is_kept),
	UNIT_CASE(burst_of_atomics),
	UNIT_CASE(other_kind_under_the_psn),
	UNIT_CASE(evicted),
	UNIT_CASE(new_request_behind_a_repeated_one),
	UNIT_CASE(across_the_wrap),
	UNIT_CASE(during_a_gap),
};

UNIT_MAIN("duplicate", cases)
