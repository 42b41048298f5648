/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work requests as packets: opcodes, headers, PSNs, lengths, and what makes a request wait (IBTA
 * 9.4, 9.7.2, 10.8.3.3; man ibv_post_send). Rig 1 sends from PSN 0x100 on, path MTU 256.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "expect.h"

/* ---- packets of a message ---- */

struct sequence_row {
	enum ibv_wr_opcode opcode;
	uint32_t length;
	uint32_t packets;
	uint8_t opcodes[3]; /* BTH, IBTA table 38 */
};

static const struct sequence_row sequence_rows[] = {
	{IBV_WR_SEND, 256, 1, {0x04}},
	{IBV_WR_SEND, 257, 2, {0x00, 0x02}},
	{IBV_WR_SEND, 513, 3, {0x00, 0x01, 0x02}},
	{IBV_WR_SEND_WITH_IMM, 256, 1, {0x05}},
	{IBV_WR_SEND_WITH_IMM, 257, 2, {0x00, 0x03}},
	{IBV_WR_SEND_WITH_IMM, 513, 3, {0x00, 0x01, 0x03}},
	{IBV_WR_SEND_WITH_INV, 256, 1, {0x17}},
	{IBV_WR_SEND_WITH_INV, 257, 2, {0x00, 0x16}},
	{IBV_WR_SEND_WITH_INV, 513, 3, {0x00, 0x01, 0x16}},
	{IBV_WR_RDMA_WRITE, 256, 1, {0x0a}},
	{IBV_WR_RDMA_WRITE, 257, 2, {0x06, 0x08}},
	{IBV_WR_RDMA_WRITE, 513, 3, {0x06, 0x07, 0x08}},
	{IBV_WR_RDMA_WRITE_WITH_IMM, 256, 1, {0x0b}},
	{IBV_WR_RDMA_WRITE_WITH_IMM, 257, 2, {0x06, 0x09}},
	{IBV_WR_RDMA_WRITE_WITH_IMM, 513, 3, {0x06, 0x07, 0x09}},
	{IBV_WR_RDMA_READ, 256, 1, {0x0c}},
	{IBV_WR_RDMA_READ, 513, 1, {0x0c}},
	{IBV_WR_ATOMIC_CMP_AND_SWP, 8, 1, {0x13}},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 1, {0x14}},
};

/* Opcode, PSN, AckReq on the last packet only (as all 594 packets of the captures have it). */
static void opcode_sequences(void)
{
	for (unsigned int i = 0; i < COUNT(sequence_rows); i++) {
		const struct sequence_row *row = &sequence_rows[i];
		struct rig rig;

		open_rts(&rig, 1, NULL);
		put(&rig, row->opcode, 1, row->length);
		go(&rig);
		ROW(is_number(rig.sent_count, row->packets), i);
		for (uint32_t n = 0; n < row->packets && n < rig.sent_count; n++) {
			struct wire_packet packet = rig_sent(&rig, n);

			ROW(is_sent(&rig, n, row->opcodes[n], 0x100 + n), i);
			ROW(packet.ack_request == (n + 1 == row->packets), i);
			ROW(!packet.solicited, i);
			ROW(packet.destination_qp == 0x102, i);
			ROW(packet.pkey == 0xffff, i);
		}
		rig_close(&rig);
	}
}

/* 9.2.3: SE in the last packet of what ends with a receive completion: not of a plain WRITE. */
static void solicited_event(void)
{
	static const struct {
		enum ibv_wr_opcode opcode;
		bool solicits;
	} rows[] = {
		{IBV_WR_SEND, true},
		{IBV_WR_SEND_WITH_IMM, true},
		{IBV_WR_SEND_WITH_INV, true},
		{IBV_WR_RDMA_WRITE_WITH_IMM, true},
		{IBV_WR_RDMA_WRITE, false},
		{IBV_WR_RDMA_READ, false},
		{IBV_WR_ATOMIC_FETCH_AND_ADD, false},
	};

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		struct rig rig;

		open_rts(&rig, 1, NULL);
		put(&rig, rows[i].opcode, 1, 600)->send.flags |= IBV_SEND_SOLICITED;
		go(&rig);
		for (uint32_t n = 0; n < rig.sent_count; n++)
			ROW(rig_sent(&rig, n).solicited ==
					(rows[i].solicits && n + 1 == rig.sent_count),
				i);
		rig_close(&rig);
	}
}

/* What stands between the BTH and the payload, byte by byte (9.2.6, 9.2.7, 9.3.3, 9.3.4). */
static void extension_headers(void)
{
	/* address REMOTE, R_Key REMOTE_KEY, length 600 = 0x258 */
	static const uint8_t reth[] = {0x00, 0x00, 0x01, 0x12, 0x23, 0x34, 0x40, 0x00, /**/
		0xaa, 0xbb, 0xcc, 0x01, /**/ 0x00, 0x00, 0x02, 0x58};
	static const uint8_t word[] = {0xd1, 0xd2, 0xd3, 0xd4};
	static const uint8_t cas[] = {0x00, 0x00, 0x01, 0x12, 0x23, 0x34, 0x40, 0x00, /**/
		0xaa, 0xbb, 0xcc, 0x01, /**/ 0, 1, 2, 3, 4, 5, 6, 7, /**/ 8, 9, 10, 11, 12, 13, 14,
		15};
	static const uint8_t faa[] = {0x00, 0x00, 0x01, 0x12, 0x23, 0x34, 0x40, 0x00, /**/
		0xaa, 0xbb, 0xcc, 0x01, /**/ 8, 9, 10, 11, 12, 13, 14, 15, /**/ 0, 0, 0, 0, 0, 0, 0,
		0};
	static const struct {
		enum ibv_wr_opcode opcode;
		const uint8_t *first;
		unsigned int first_length;
		const uint8_t *last;
		unsigned int last_length;
	} rows[] = {
		{IBV_WR_SEND, NULL, 0, NULL, 0},
		{IBV_WR_SEND_WITH_IMM, NULL, 0, word, 4},
		{IBV_WR_SEND_WITH_INV, NULL, 0, word, 4},
		{IBV_WR_RDMA_WRITE, reth, 16, NULL, 0},
		{IBV_WR_RDMA_WRITE_WITH_IMM, reth, 16, word, 4},
		{IBV_WR_RDMA_READ, reth, 16, reth, 16},
		{IBV_WR_ATOMIC_CMP_AND_SWP, cas, 28, cas, 28},
		{IBV_WR_ATOMIC_FETCH_AND_ADD, faa, 28, faa, 28},
	};

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		struct wire_packet first, last;
		struct rig_send *slot;
		struct rig rig;

		open_rts(&rig, 1, NULL);
		slot = put(&rig, rows[i].opcode, 1, 600);
		slot->send.compare_add = 0x08090a0b0c0d0e0full;
		slot->send.swap = 0x0001020304050607ull;
		/* an immediate is handed over in network order, an R_Key as a number */
		memcpy(&slot->send.imm_or_rkey, word, 4);
		if (rows[i].opcode == IBV_WR_SEND_WITH_INV)
			slot->send.imm_or_rkey = 0xd1d2d3d4;
		go(&rig);
		first = rig_sent(&rig, 0);
		last = rig_sent(&rig, rig.sent_count - 1);
		ROW(first.info->header_length == 12 + rows[i].first_length, i);
		ROW(last.info->header_length == 12 + rows[i].last_length, i);
		if (rows[i].first)
			ROW(memcmp(first.bth + 1, rows[i].first, rows[i].first_length) == 0, i);
		if (rows[i].last)
			ROW(memcmp(last.bth + 1, rows[i].last, rows[i].last_length) == 0, i);
		rig_close(&rig);
	}
}

/* The BTH's fields that are constant, and the pad count (9.2.4): 0, 3, 2, 1, 0 ... */
static void base_header_and_pad(void)
{
	static const uint8_t pads[] = {0, 3, 2, 1, 0, 3, 2, 1, 0};

	for (uint32_t length = 0; length < COUNT(pads); length++) {
		struct wire_packet packet;
		struct rig rig;

		open_rts(&rig, 1, NULL);
		put(&rig, IBV_WR_SEND, 1, length);
		go(&rig);
		packet = rig_sent(&rig, 0);
		ROW(packet.pad == pads[length], length);
		ROW(packet.payload_length == length, length);
		ROW(packet.bth->flags == pads[length] << 4, length); /* no SE, MigReq, TVer 0 */
		ROW(packet.bth->congestion == 0, length);
		ROW(packet.bth->ack_request == 0x80, length);
		rig_close(&rig);
	}
}

/* 9.7.2.1: every packet but the last carries the path MTU. Sizes around it, for all of them. */
static void sizes(void)
{
	static const struct {
		enum ibv_mtu mtu;
		uint32_t bytes;
	} mtus[] = {{IBV_MTU_256, 256}, {IBV_MTU_512, 512}, {IBV_MTU_1024, 1024},
		{IBV_MTU_2048, 2048}, {IBV_MTU_4096, 4096}};
	static const struct {
		uint32_t times; /* the MTU */
		int more;
		uint32_t packets;
	} rows[] = {{0, 0, 1}, {0, 1, 1}, {1, -1, 1}, {1, 0, 1}, {1, 1, 2}, {2, -1, 2}, {2, 0, 2},
		{2, 1, 3}, {7, -1, 7}, {7, 0, 7}, {7, 1, 8}};

	for (unsigned int m = 0; m < COUNT(mtus); m++)
		for (unsigned int i = 0; i < COUNT(rows); i++) {
			struct ibv_qp_attr attr = attr_of(1);
			uint32_t length = rows[i].times * mtus[m].bytes + (uint32_t)rows[i].more;
			uint32_t at = 0;
			struct rig rig;

			attr.path_mtu = mtus[m].mtu;
			open_rts(&rig, 1, &attr);
			fill(&rig);
			put(&rig, IBV_WR_SEND, 1, length);
			go(&rig);
			ROW(is_number(rig.sent_count, rows[i].packets), i);
			for (uint32_t n = 0; n < rig.sent_count; n++) {
				struct wire_packet packet = rig_sent(&rig, n);

				if (n + 1 < rig.sent_count)
					ROW(packet.payload_length == mtus[m].bytes, i);
				ROW(memcmp(packet.payload, rig.memory + at,
					    packet.payload_length) == 0,
					i);
				at += packet.payload_length;
			}
			ROW(at == length, i);
			ack(&rig, 0x100 + rows[i].packets - 1);
			DONE(&rig, 0, 1, IBV_WC_SUCCESS);
			CU_ASSERT_EQUAL(
				rig_record(&rig, RIG_SEND_DONE, 0)->completion.byte_len, length);
			rig_close(&rig);
		}
}

/* PSNs count modulo 2^24 (9.7.1), for every operation, and a READ takes those of its answer. */
static void psn_wraps(void)
{
	static const struct {
		enum ibv_wr_opcode opcode;
		uint32_t length;
		uint32_t span; /* PSNs */
		uint32_t packets;
	} rows[] = {
		{IBV_WR_SEND, 1024, 4, 4},
		{IBV_WR_SEND_WITH_IMM, 1024, 4, 4},
		{IBV_WR_SEND_WITH_INV, 1024, 4, 4},
		{IBV_WR_RDMA_WRITE, 1024, 4, 4},
		{IBV_WR_RDMA_WRITE_WITH_IMM, 1024, 4, 4},
		{IBV_WR_RDMA_READ, 1024, 4, 1},
		{IBV_WR_ATOMIC_CMP_AND_SWP, 8, 1, 1},
		{IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 1, 1},
	};

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		struct ibv_qp_attr attr = attr_of(1);
		uint32_t psn = 0xfffffe;
		uint32_t n = 0;
		struct rig rig;

		attr.sq_psn = psn;
		open_rts(&rig, 1, &attr);
		for (unsigned int k = 0; k < 4; k++)
			put(&rig, rows[i].opcode, k, rows[i].length);
		go(&rig);
		for (unsigned int k = 0; k < 4; k++) {
			for (unsigned int p = 0; p < rows[i].packets; p++, n++)
				ROW(n < rig.sent_count &&
						rig_sent(&rig, n).psn == ((psn + p) & 0xffffff),
					i);
			psn = (psn + rows[i].span) & 0xffffff;
		}
		ROW(is_number(rig.sent_count, n), i);
		rig_close(&rig);
	}
}

/* 9.7.7: at most 2^31 bytes; at MTU 256 that is half of all PSNs. */
static void longest_read(void)
{
	struct ibv_qp_attr attr = attr_of(1);
	struct wire_packet packet;
	struct rig rig;

	attr.sq_psn = 0xc00000;
	open_rts(&rig, 1, &attr);
	put(&rig, IBV_WR_RDMA_READ, 1, 1u << 31);
	put(&rig, IBV_WR_SEND, 2, 1);
	go(&rig);
	/* The SEND would lie more than 2^23 ahead of the oldest: an answer could not be placed. */
	SENT_COUNT(&rig, 1);
	SENT(&rig, 0, 0x0c, 0xc00000);
	packet = rig_sent(&rig, 0);
	SAME(be32_get(&wire_reth(&packet)->length), 0x80000000);
	/* the last PSN of the answer is outstanding, the one behind it was never sent */
	nak(&rig, 0x400000, 0x62);
	STATE(&rig, IBV_QPS_RTS);
	read_response(&rig, 0x0d, 0xc00000, 256);
	SENT_COUNT(&rig, 2);
	SENT(&rig, 1, 0x04, 0x400000);
	rig_close(&rig);
}

/* The same as a SEND: its last packets, and what follows, after all the others were acknowledged.
 */
static void longest_send(void)
{
	struct ibv_qp_attr attr = attr_of(1);
	struct mem_sge *sge;
	struct rig_send *slot;
	struct rig rig;
	uint32_t key;
	void *memory;

	memory =
		mmap(NULL, 1u << 31, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CU_ASSERT_FATAL(memory != MAP_FAILED);
	attr.sq_psn = 0xc00000;
	open_rts(&rig, 1, &attr);
	CU_ASSERT_EQUAL(mem_register(rig.mem, 7, memory, 1u << 31, (uintptr_t)memory, 0, &key), 0);
	slot = put(&rig, IBV_WR_RDMA_WRITE, 1, 1u << 31);
	sge = (struct mem_sge *)slot->tail;
	sge->address = (uintptr_t)memory;
	sge->lkey = key;
	put(&rig, IBV_WR_SEND, 2, 1);
	go(&rig);
	SENT_COUNT(&rig, 256); /* the window */
	SENT(&rig, 0, 0x06, 0xc00000);
	SENT(&rig, 255, 0x07, 0xc000ff);
	/* as if all but two packets had been sent and acknowledged */
	rig.qp->requester.una = 0x3ffffe;
	rig.qp->requester.sent = 0x3ffffe;
	rig.qp->requester.cursor_packet = 0x7ffffe;
	rig.qp->requester.in_flight = 0;
	go(&rig);
	SENT_COUNT(&rig, 259);
	SENT(&rig, 256, 0x07, 0x3ffffe);
	SENT(&rig, 257, 0x08, 0x3fffff);
	SAME(rig_sent(&rig, 257).payload_length, 256);
	SENT(&rig, 258, 0x04, 0x400000);
	DONE_COUNT(&rig, 0);
	ack(&rig, 0x3fffff);
	DONE_COUNT(&rig, 1);
	DONE(&rig, 0, 1, IBV_WC_SUCCESS);
	rig_close(&rig);
	munmap(memory, 1u << 31);
}

/* ---- where the bytes come from ---- */

/* 1 to 32 elements of odd lengths, some of them empty, laid out backwards in memory. */
static void gather_lists(void)
{
	for (uint16_t count = 1; count <= 32; count++) {
		uint32_t length = 0;
		uint32_t at = 0;
		uint8_t expected[32 * 64];
		struct rig_send *slot;
		struct mem_sge *sge;
		struct rig rig;

		open_rts(&rig, 1, NULL);
		fill(&rig);
		slot = put(&rig, IBV_WR_SEND, 1, 0);
		sge = (struct mem_sge *)slot->tail;
		for (uint16_t i = 0; i < count; i++) {
			sge[i].length = i % 5 == 3 ? 0 : (i * 29u + 11) % 61;
			sge[i].address = (uintptr_t)rig.memory + 9000 - i * 101u;
			sge[i].lkey = sge[i].length ? rig.key : 0; /* not looked at if empty */
			memcpy(expected + length, rig.memory + 9000 - i * 101u, sge[i].length);
			length += sge[i].length;
		}
		slot->send.sge_count = count;
		slot->send.length = length;
		go(&rig);
		for (uint32_t n = 0; n < rig.sent_count; n++) {
			struct wire_packet packet = rig_sent(&rig, n);

			ROW(memcmp(packet.payload, expected + at, packet.payload_length) == 0,
				count);
			at += packet.payload_length;
		}
		ROW(is_number(at, length), count);
		rig_close(&rig);
	}
}

/* Inline bytes travel with the request; no key is looked at. */
static void inline_data(void)
{
	static const uint32_t lengths[] = {0, 1, 255, 256, 257, 511, 512};

	for (unsigned int i = 0; i < COUNT(lengths); i++) {
		struct rig_send *slot;
		uint32_t at = 0;
		struct rig rig;

		open_rts(&rig, 1, NULL);
		slot = put(&rig, IBV_WR_RDMA_WRITE, 1, lengths[i]);
		slot->send.flags |= IBV_SEND_INLINE;
		slot->send.sge_count = 0;
		for (uint32_t k = 0; k < lengths[i]; k++)
			slot->tail[k] = (uint8_t)(k * 11 + (k >> 8));
		go(&rig);
		for (uint32_t n = 0; n < rig.sent_count; n++) {
			struct wire_packet packet = rig_sent(&rig, n);

			for (uint32_t k = 0; k < packet.payload_length; k++, at++)
				ROW(packet.payload[k] == (uint8_t)(at * 11 + (at >> 8)), i);
		}
		ROW(is_number(at, lengths[i]), i);
		rig_close(&rig);
	}
}

/* ---- AckReq and the window ---- */

/* An answer is due at the end of every message and at least every 32 packets within one. */
static void ack_requests(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_SEND, 1, 100 * 256);
	go(&rig);
	SENT_COUNT(&rig, 100);
	for (uint32_t n = 0; n < rig.sent_count; n++)
		ROW(rig_sent(&rig, n).ack_request == (n == 31 || n == 63 || n == 95 || n == 99), n);
	rig_close(&rig);
}

/* Not more than 256 request packets are unacknowledged, and the last of them asks for an ACK. */
static void window(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_RDMA_WRITE, 1, 1000 * 256);
	go(&rig);
	SENT_COUNT(&rig, 256);
	CU_ASSERT(rig_sent(&rig, 255).ack_request);
	ack(&rig, 0x100 + 31);
	SENT_COUNT(&rig, 288);
	CU_ASSERT(rig_sent(&rig, 287).ack_request);
	ack(&rig, 0x100 + 287);
	SENT_COUNT(&rig, 544);
	ack(&rig, 0x100 + 543);
	SENT_COUNT(&rig, 800);
	ack(&rig, 0x100 + 799);
	SENT_COUNT(&rig, 1000);
	DONE_COUNT(&rig, 0);
	ack(&rig, 0x100 + 999);
	DONE(&rig, 0, 1, IBV_WC_SUCCESS);
	rig_close(&rig);
}

/* READs and atomics leave the window with their answers. */
static void answers_free_the_window(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	for (uint32_t i = 0; i < 600; i++) {
		put(&rig, i % 2 ? IBV_WR_RDMA_READ : IBV_WR_ATOMIC_FETCH_AND_ADD, i, 8);
		go(&rig);
		if (i % 2)
			read_response(&rig, 0x10, 0x100 + i, 8);
		else
			atomic_ack(&rig, 0x100 + i, 0);
	}
	SENT_COUNT(&rig, 600);
	DONE_COUNT(&rig, 600);
	put(&rig, IBV_WR_SEND, 1000, 300 * 256);
	go(&rig);
	SENT_COUNT(&rig, 600 + 256);
	rig_close(&rig);
}

/* More requests than slots in the window of the QP: they stay in the queue and go later. */
static void more_requests_than_slots(void)
{
	struct rig_options options = {.sq_depth = 3};
	struct ibv_qp_attr attr = attr_of(1);
	struct rig rig;

	rig_open(&rig, 1, &options);
	to_rts(&rig, &attr);
	for (unsigned int i = 0; i < 8; i++)
		put(&rig, IBV_WR_SEND, i, 1);
	go(&rig);
	SENT_COUNT(&rig, 3);
	ack(&rig, 0x100);
	SENT_COUNT(&rig, 4);
	ack(&rig, 0x103);
	SENT_COUNT(&rig, 7);
	ack(&rig, 0x106);
	ack(&rig, 0x107);
	SENT_COUNT(&rig, 8);
	DONE_COUNT(&rig, 8);
	for (unsigned int i = 0; i < 8; i++)
		DONE(&rig, i, i, IBV_WC_SUCCESS);
	rig_close(&rig);
}

/* ---- initiator depth ---- */

static void initiator_depth_1(void)
{
	struct ibv_qp_attr attr = attr_of(1);
	struct rig rig;

	attr.max_rd_atomic = 1;
	open_rts(&rig, 1, &attr);
	put(&rig, IBV_WR_RDMA_READ, 1, 512);
	put(&rig, IBV_WR_SEND, 2, 1);
	put(&rig, IBV_WR_ATOMIC_FETCH_AND_ADD, 3, 8);
	put(&rig, IBV_WR_SEND, 4, 1);
	go(&rig);
	/* requests start in order: the second SEND waits behind the atomic */
	SENT_COUNT(&rig, 2);
	read_response(&rig, 0x0d, 0x100, 256);
	SENT_COUNT(&rig, 2);
	read_response(&rig, 0x0f, 0x101, 256);
	SENT_COUNT(&rig, 4);
	SENT(&rig, 0, 0x0c, 0x100);
	SENT(&rig, 1, 0x04, 0x102);
	SENT(&rig, 2, 0x14, 0x103);
	SENT(&rig, 3, 0x04, 0x104);
	rig_close(&rig);
}

static void initiator_depth_n(void)
{
	for (uint8_t depth = 2; depth <= 16; depth++) {
		struct ibv_qp_attr attr = attr_of(1);
		struct rig rig;

		attr.max_rd_atomic = depth;
		open_rts(&rig, 1, &attr);
		for (unsigned int i = 0; i < 20; i++)
			put(&rig, i % 2 ? IBV_WR_RDMA_READ : IBV_WR_ATOMIC_CMP_AND_SWP, i, 8);
		go(&rig);
		ROW(is_number(rig.sent_count, depth), depth);
		atomic_ack(&rig, 0x100, 0);
		ROW(is_number(rig.sent_count, depth + 1u), depth);
		rig_close(&rig);
	}
}

/* man ibv_modify_qp: max_rd_atomic is the number of outstanding ones; none could ever go. */
static void initiator_depth_0(void)
{
	struct ibv_qp_attr attr = attr_of(1);
	struct rig rig;

	attr.max_rd_atomic = 0;
	open_rts(&rig, 1, &attr);
	put(&rig, IBV_WR_SEND, 1, 1);
	put(&rig, IBV_WR_RDMA_READ, 2, 8);
	go(&rig);
	SENT_COUNT(&rig, 1);
	DONE_COUNT(&rig, 0);
	ack(&rig, 0x100);
	SENT_COUNT(&rig, 1);
	DONE(&rig, 0, 1, IBV_WC_SUCCESS);
	DONE(&rig, 1, 2, IBV_WC_LOC_QP_OP_ERR);
	STATE(&rig, IBV_QPS_ERR);
	rig_close(&rig);
}

/* ---- fence, local operations ---- */

/* 10.8.3.3: a fence waits for earlier READs and atomics, nothing else. */
static void fence_waits_for_reads(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_SEND, 1, 1);
	put(&rig, IBV_WR_RDMA_WRITE, 2, 1)->send.flags |= IBV_SEND_FENCE;
	put(&rig, IBV_WR_RDMA_READ, 3, 512)->send.flags |= IBV_SEND_FENCE;
	put(&rig, IBV_WR_SEND, 4, 1);
	put(&rig, IBV_WR_SEND, 5, 1)->send.flags |= IBV_SEND_FENCE;
	put(&rig, IBV_WR_SEND, 6, 1);
	go(&rig);
	/* neither SEND nor WRITE is waited for; what has no fence overtakes nobody */
	SENT_COUNT(&rig, 4);
	SENT(&rig, 3, 0x04, 0x104);
	read_response(&rig, 0x0d, 0x102, 256);
	SENT_COUNT(&rig, 4);
	read_response(&rig, 0x0f, 0x103, 256);
	SENT_COUNT(&rig, 6);
	SENT(&rig, 4, 0x04, 0x105);
	SENT(&rig, 5, 0x04, 0x106);
	rig_close(&rig);
}

static void fence_waits_for_atomics(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 8);
	put(&rig, IBV_WR_ATOMIC_CMP_AND_SWP, 2, 8);
	put(&rig, IBV_WR_RDMA_WRITE, 3, 1)->send.flags |= IBV_SEND_FENCE;
	go(&rig);
	SENT_COUNT(&rig, 2);
	atomic_ack(&rig, 0x100, 0);
	SENT_COUNT(&rig, 2);
	atomic_ack(&rig, 0x101, 0);
	SENT_COUNT(&rig, 3);
	SENT(&rig, 2, 0x0a, 0x102);
	rig_close(&rig);
}

/* A type 2 window over the start of the rig's memory, bound by the QP's own request. */
static uint32_t bind(struct rig *rig, uint64_t wr_id, uint32_t *rkey)
{
	struct rig_send *slot;

	CU_ASSERT_EQUAL(mem_window_alloc(rig->mem, 7, 2, rkey), 0);
	slot = put(rig, IBV_WR_BIND_MW, wr_id, 0);
	slot->send.bind.window = *rkey;
	slot->send.bind.new_rkey = *rkey ^ 0xff;
	slot->send.bind.lkey = rig->key;
	slot->send.bind.address = (uintptr_t)rig->memory;
	slot->send.bind.length = 4096;
	slot->send.bind.access = IBV_ACCESS_REMOTE_WRITE;
	*rkey ^= 0xff;
	return *rkey;
}

/* The window grants a WRITE from the peer. */
static bool window_works(struct rig *rig, uint32_t rkey)
{
	uint8_t *host;

	return mem_remote(rig->mem, 7, 0x101, rkey, (uintptr_t)rig->memory, 8,
		       IBV_ACCESS_REMOTE_WRITE, &host) == MEM_OK;
}

/* A bind runs at its place in the queue, waits for no ACK, and completes in order. */
static void bind_runs_at_once(void)
{
	struct rig rig;
	uint32_t rkey;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_SEND, 1, 1);
	bind(&rig, 2, &rkey);
	put(&rig, IBV_WR_SEND, 3, 1);
	go(&rig);
	CU_ASSERT(window_works(&rig, rkey));
	SENT_COUNT(&rig, 2);
	SENT(&rig, 1, 0x04, 0x101); /* a bind takes no PSN */
	DONE_COUNT(&rig, 0);
	ack(&rig, 0x100);
	DONE_COUNT(&rig, 2);
	DONE(&rig, 0, 1, IBV_WC_SUCCESS);
	DONE(&rig, 1, 2, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(rig_record(&rig, RIG_SEND_DONE, 1)->completion.opcode, IBV_WC_BIND_MW);
	rig_close(&rig);
}

/* It isn't run again when the requester goes back over it. */
static void bind_runs_once(void)
{
	struct rig rig;
	uint32_t rkey;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_SEND, 1, 1);
	bind(&rig, 2, &rkey);
	put(&rig, IBV_WR_SEND, 3, 1);
	go(&rig);
	nak(&rig, 0x100, 0x60);
	SENT_COUNT(&rig, 4);
	SENT(&rig, 3, 0x04, 0x101);
	STATE(&rig, IBV_QPS_RTS); /* a second bind of a bound window would have failed */
	ack(&rig, 0x101);
	DONE_COUNT(&rig, 3);
	DONE(&rig, 1, 2, IBV_WC_SUCCESS);
	rig_close(&rig);
}

static void bind_respects_the_fence(void)
{
	struct rig rig;
	uint32_t rkey;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_RDMA_READ, 1, 8);
	bind(&rig, 2, &rkey);
	rig.sends[1].send.flags |= IBV_SEND_FENCE;
	go(&rig);
	CU_ASSERT(!window_works(&rig, rkey));
	read_response(&rig, 0x10, 0x100, 8);
	CU_ASSERT(window_works(&rig, rkey));
	DONE_COUNT(&rig, 2);
	rig_close(&rig);
}

/* A wrong bind: MW_BIND_ERR, once everything before it is complete (man ibv_poll_cq). */
static void bind_error(void)
{
	struct rig rig;
	uint32_t rkey;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_SEND, 1, 1);
	bind(&rig, 2, &rkey);
	rig.sends[1].send.bind.length = RIG_MEMORY + 1;
	put(&rig, IBV_WR_SEND, 3, 1);
	go(&rig);
	SENT_COUNT(&rig, 1);
	DONE_COUNT(&rig, 0);
	STATE(&rig, IBV_QPS_RTS);
	ack(&rig, 0x100);
	DONE(&rig, 0, 1, IBV_WC_SUCCESS);
	DONE(&rig, 1, 2, IBV_WC_MW_BIND_ERR);
	DONE(&rig, 2, 3, IBV_WC_WR_FLUSH_ERR);
	STATE(&rig, IBV_QPS_ERR);
	rig_close(&rig);
}

/* A local invalidate waits for everything before it. */
static void local_invalidate_waits(void)
{
	struct rig rig;
	uint32_t rkey;

	open_rts(&rig, 1, NULL);
	bind(&rig, 1, &rkey);
	put(&rig, IBV_WR_SEND, 2, 1);
	put(&rig, IBV_WR_LOCAL_INV, 3, 0)->send.imm_or_rkey = rkey;
	put(&rig, IBV_WR_SEND, 4, 1);
	go(&rig);
	SENT_COUNT(&rig, 1);
	DONE_COUNT(&rig, 1);
	CU_ASSERT(window_works(&rig, rkey));
	ack(&rig, 0x100);
	CU_ASSERT(!window_works(&rig, rkey));
	SENT_COUNT(&rig, 2);
	SENT(&rig, 1, 0x04, 0x101);
	DONE_COUNT(&rig, 3);
	DONE(&rig, 2, 3, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(rig_record(&rig, RIG_SEND_DONE, 2)->completion.opcode, IBV_WC_LOCAL_INV);
	rig_close(&rig);
}

static void local_invalidate_error(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_LOCAL_INV, 1, 0)->send.imm_or_rkey = rig.key; /* a region's key */
	go(&rig);
	DONE(&rig, 0, 1, IBV_WC_MW_BIND_ERR);
	STATE(&rig, IBV_QPS_ERR);
	rig_close(&rig);
}

/* ---- requests that fail before they are sent ---- */

struct fault_row {
	uint32_t offset;
	uint32_t length;
	bool other_key;
	uint32_t sent; /* packets of it that leave */
};

static const struct fault_row fault_rows[] = {
	{0, 600, true, 0},
	{RIG_MEMORY, 1, false, 0},
	{RIG_MEMORY - 511, 512, false, 1}, /* only what is touched is looked at */
	{RIG_MEMORY - 600, 601, false, 2},
};

/* An unknown L_Key is LOC_PROT_ERR (Soft-RoCE: LOC_QP_OP_ERR), as a wrong range is. In order. */
static void local_protection(void)
{
	for (unsigned int i = 0; i < COUNT(fault_rows); i++) {
		const struct fault_row *row = &fault_rows[i];
		struct mem_sge *sge;
		struct rig rig;

		open_rts(&rig, 1, NULL);
		put(&rig, IBV_WR_SEND, 1, 1)->send.flags = 0;
		sge = (struct mem_sge *)put(&rig, IBV_WR_SEND, 2, row->length)->tail;
		sge->address = (uintptr_t)rig.memory + row->offset;
		if (row->other_key)
			sge->lkey = rig.key ^ 0x5500;
		put(&rig, IBV_WR_SEND, 3, 1)->send.flags = 0;
		go(&rig);
		ROW(is_number(rig.sent_count, 1 + row->sent), i);
		ROW(rc_qp_state(rig.qp) == IBV_QPS_RTS, i);
		ack(&rig, 0x100);
		ROW(is_done(&rig, 0, 2, IBV_WC_LOC_PROT_ERR), i);
		ROW(is_done(&rig, 1, 3, IBV_WC_WR_FLUSH_ERR), i);
		ROW(rc_qp_state(rig.qp) == IBV_QPS_ERR, i);
		ROW(is_number(rig.sent_count, 1 + row->sent), i);
		rig_close(&rig);
	}
}

/* The region goes between a first transmission and the second: found at the second. */
static void key_gone_before_resend(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_SEND, 1, 1);
	go(&rig);
	CU_ASSERT_EQUAL(mem_deregister(rig.mem, rig.key), 0);
	nak(&rig, 0x100, 0x60);
	SENT_COUNT(&rig, 1);
	DONE(&rig, 0, 1, IBV_WC_LOC_PROT_ERR);
	rig_close(&rig);
}

/* What the queue delivers as invalid ends there, in order, and takes no PSN. */
static void invalid_request(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_SEND, 1, 1);
	put(&rig, (enum ibv_wr_opcode)0x77, 2, 1)->send.status = IBV_WC_LOC_QP_OP_ERR;
	go(&rig);
	SENT_COUNT(&rig, 1);
	DONE_COUNT(&rig, 0);
	ack(&rig, 0x100);
	DONE(&rig, 0, 1, IBV_WC_SUCCESS);
	DONE(&rig, 1, 2, IBV_WC_LOC_QP_OP_ERR);
	STATE(&rig, IBV_QPS_ERR);
	rig_close(&rig);
}

/* ---- signaling ---- */

/* 10.7.3.1: unsignaled ones complete with an entry only if they fail. */
static void unsignaled(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	for (unsigned int i = 0; i < 6; i++)
		put(&rig, IBV_WR_SEND, i, 1)->send.flags = i == 2 ? IBV_SEND_SIGNALED : 0;
	go(&rig);
	ack(&rig, 0x103);
	DONE_COUNT(&rig, 1);
	DONE(&rig, 0, 2, IBV_WC_SUCCESS);
	SAME(rig_record(&rig, RIG_SEND_DONE, 0)->completion.released, 3);
	nak(&rig, 0x104, 0x62);
	DONE_COUNT(&rig, 3);
	DONE(&rig, 1, 4, IBV_WC_REM_ACCESS_ERR);
	DONE(&rig, 2, 5, IBV_WC_WR_FLUSH_ERR);
	rig_close(&rig);
}

/* ---- scarce buffers ---- */

/* Turns with so many buffers and this budget until nothing comes any more. */
static void run_scarce(struct rig *rig, uint32_t buffers, unsigned int budget)
{
	for (unsigned int turn = 0; turn < 100 && rig->active; turn++)
		rig_step(rig, buffers, budget);
}

/* Whatever the budget and the number of buffers: the same packets in the same order. */
static void scarce_buffers(void)
{
	static const struct {
		uint32_t buffers;
		unsigned int budget;
	} rows[] = {{1, 1}, {1, 64}, {2, 3}, {3, 2}, {64, 1}, {64, 7}};
	static const uint8_t opcodes[] = {0x00, 0x01, 0x02, 0x0c, 0x06, 0x09, 0x13, 0x04};
	static const uint32_t psns[] = {0x100, 0x101, 0x102, 0x103, 0x107, 0x108, 0x109, 0x10a};

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		struct rig rig;

		open_rts(&rig, 1, NULL);
		put(&rig, IBV_WR_SEND, 1, 700);
		put(&rig, IBV_WR_RDMA_READ, 2, 1000);
		put(&rig, IBV_WR_RDMA_WRITE_WITH_IMM, 3, 300);
		put(&rig, IBV_WR_ATOMIC_CMP_AND_SWP, 4, 8);
		put(&rig, IBV_WR_SEND, 5, 0);
		rig_announce(&rig);
		run_scarce(&rig, 0, 64);
		ROW(is_number(rig.sent_count, 0), i);
		run_scarce(&rig, rows[i].buffers, rows[i].budget);
		ROW(is_number(rig.sent_count, 8), i);
		for (unsigned int n = 0; n < 8; n++)
			ROW(is_sent(&rig, n, opcodes[n], psns[n]), i);
		rig_close(&rig);
	}
}

static const struct unit_case cases[] = {
	UNIT_CASE(opcode_sequences),
	UNIT_CASE(solicited_event),
	UNIT_CASE(extension_headers),
	UNIT_CASE(base_header_and_pad),
	UNIT_CASE(sizes),
	UNIT_CASE(psn_wraps),
	UNIT_CASE(longest_read),
	UNIT_CASE(longest_send),
	UNIT_CASE(gather_lists),
	UNIT_CASE(inline_data),
	UNIT_CASE(ack_requests),
	UNIT_CASE(window),
	UNIT_CASE(answers_free_the_window),
	UNIT_CASE(more_requests_than_slots),
	UNIT_CASE(initiator_depth_1),
	UNIT_CASE(initiator_depth_n),
	UNIT_CASE(initiator_depth_0),
	UNIT_CASE(fence_waits_for_reads),
	UNIT_CASE(fence_waits_for_atomics),
	UNIT_CASE(bind_runs_at_once),
	UNIT_CASE(bind_runs_once),
	UNIT_CASE(bind_respects_the_fence),
	UNIT_CASE(bind_error),
	UNIT_CASE(local_invalidate_waits),
	UNIT_CASE(local_invalidate_error),
	UNIT_CASE(local_protection),
	UNIT_CASE(key_gone_before_resend),
	UNIT_CASE(invalid_request),
	UNIT_CASE(unsignaled),
	UNIT_CASE(scarce_buffers),
};

UNIT_MAIN("requester", cases)
