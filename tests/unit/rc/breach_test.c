/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests that break a rule: the answer, the status, the event and the state of each
 * (IBTA 9.7.4.1, 9.9.3), and who may do what to which memory. Rig 1 expects PSN 0x200, path MTU
 * 256.
 */
#include "expect.h"

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

/* Keys of a second region, 4096 bytes from PLACE; HIGH: the last 4096 bytes that there are. */
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
	CU_ASSERT_EQUAL(mem_register(rig->mem, which == KEY_OTHER_PD ? 8 : 7, rig->memory + PLACE,
				4096, which == KEY_HIGH ? 0xfffffffffffff000ull : place(rig),
				access[which], &key),
		0);
	return key;
}

static const struct {
	enum key key;
	uint64_t offset; /* from PLACE; HIGH: from 0 */
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
	{KEY_GOOD, RIG_MEMORY - PLACE - 16, 16, "wra"},
	{KEY_GOOD, RIG_MEMORY - PLACE - 8, 16, "a"},
	{KEY_GOOD, RIG_MEMORY - PLACE, 16, ""},
	{KEY_GOOD, (uint64_t)0 - PLACE, 16, "wra"},
	{KEY_GOOD, (uint64_t)0 - PLACE - 8, 16, ""},
	{KEY_READ, 0, 4096, "r"},
	{KEY_READ, 0, 4097, ""},
	{KEY_READ, 0, 0x80000000, ""},
	/* addresses near 2^64: no sum may wrap */
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
		access_rows[row].offset + (access_rows[row].key == KEY_HIGH ? 0 : place(rig));
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
			memset(rig.memory + PLACE, 0xee, 16);
			packet = request(&rig, opcode, 0x200);
			packet.address += offset;
			packet.swap_add = 1;
			hear(&rig, packet);
			ROW(breached(&rig, 0x61, 0x200, IBV_EVENT_QP_REQ_ERR), offset);
			for (unsigned int i = 0; i < 16; i++)
				ROW(rig.memory[PLACE + i] == 0xee, offset);
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

/* A type 2 window over 4096 bytes from PLACE, bound by QP `qp_num`. */
static uint32_t window_of(struct rig *rig, uint32_t qp_num, uint32_t access)
{
	struct mem_bind bind = {
		.lkey = rig->key,
		.address = place(rig),
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

/* LOC_LEN_ERR here and NAK 0x61 (Soft-RoCE: LOC_QP_OP_ERR and 0x63); nothing beyond its end. */
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

/* LOC_PROT_ERR (Soft-RoCE: LOC_QP_OP_ERR) and NAK 0x63 for each failed copy. */
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
		ROW(rig.memory[0] == 0xee && rig.memory[PLACE] == 0xee, i);
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
			memset(rig.memory + PLACE, 0, 8);
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
				ROW(rig.memory[PLACE] == depth, depth);
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
	CU_ASSERT(rig.memory[0] == 0xee && rig.memory[PLACE] == 0xee);
	hear(&rig, request(&rig, 0x0a, 0x200));
	SENT_COUNT(&rig, 1);
	COUNTED(&rig, drop_state, 1);
	rig_close(&rig);
}

static const struct unit_case cases[] = {
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

UNIT_MAIN("breach", cases)
