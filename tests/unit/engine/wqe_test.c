/* SPDX-License-Identifier: BSD-3-Clause */
/* Work requests: each opcode, each flag, each length, with what may run and what may not. */
#include <string.h>

#include "unit.h"
#include "wqe.h"

#define S IBV_SEND_SIGNALED
#define I IBV_SEND_INLINE
#define F IBV_SEND_FENCE
#define GIB (1u << 30)

static const struct wqe_limits limits = {.max_sge = 4, .max_inline = 64};

static const struct {
	uint8_t opcode;
	uint8_t flags;
	uint16_t sge_count;
	uint32_t inline_length;
	uint32_t lengths[4];
	enum ibv_wc_status status;
	uint32_t length; /* if it is one */
} sends[] = {
	{IBV_WR_SEND, S, 0, 0, {0}, IBV_WC_SUCCESS, 0},
	{IBV_WR_SEND, S, 4, 0, {1, 2, 3, 4}, IBV_WC_SUCCESS, 10},
	{IBV_WR_SEND, S, 5, 0, {1, 2, 3, 4}, IBV_WC_LOC_QP_OP_ERR, 0},
	{IBV_WR_SEND, S, 0xffff, 0, {1}, IBV_WC_LOC_QP_OP_ERR, 0},
	{IBV_WR_SEND, S, 2, 0, {GIB, GIB}, IBV_WC_SUCCESS, 2 * GIB},
	{IBV_WR_SEND, S, 3, 0, {GIB, GIB, 1}, IBV_WC_LOC_LEN_ERR, 0},
	{IBV_WR_SEND, S, 4, 0, {UINT32_MAX, UINT32_MAX, UINT32_MAX, 4}, IBV_WC_LOC_LEN_ERR, 0},
	{IBV_WR_SEND, S | I, 0, 64, {0}, IBV_WC_SUCCESS, 64},
	{IBV_WR_SEND, S | I, 0, 65, {0}, IBV_WC_LOC_QP_OP_ERR, 0},
	{IBV_WR_SEND, S | I, 1, 8, {8}, IBV_WC_LOC_QP_OP_ERR, 0},
	{IBV_WR_SEND, S, 1, UINT32_MAX, {8}, IBV_WC_SUCCESS, 8}, /* no INLINE: not looked at */
	{IBV_WR_SEND, IBV_SEND_SOLICITED | F, 1, 0, {8}, IBV_WC_SUCCESS, 8},
	{IBV_WR_SEND, IBV_SEND_IP_CSUM, 1, 0, {8}, IBV_WC_SUCCESS, 8},
	{IBV_WR_SEND, 0x20, 1, 0, {8}, IBV_WC_LOC_QP_OP_ERR, 0},
	{IBV_WR_SEND, 0x80, 1, 0, {8}, IBV_WC_LOC_QP_OP_ERR, 0},
	{IBV_WR_SEND_WITH_IMM, I, 0, 1, {0}, IBV_WC_SUCCESS, 1},
	{IBV_WR_SEND_WITH_INV, I, 0, 1, {0}, IBV_WC_SUCCESS, 1},
	{IBV_WR_RDMA_WRITE, I, 0, 1, {0}, IBV_WC_SUCCESS, 1},
	{IBV_WR_RDMA_WRITE_WITH_IMM, I, 0, 1, {0}, IBV_WC_SUCCESS, 1},
	{IBV_WR_RDMA_READ, S, 4, 0, {1, 0, 0, 1}, IBV_WC_SUCCESS, 2},
	{IBV_WR_RDMA_READ, I, 0, 1, {0}, IBV_WC_LOC_QP_OP_ERR, 0},
	{IBV_WR_ATOMIC_CMP_AND_SWP, S, 1, 0, {8}, IBV_WC_SUCCESS, 8},
	{IBV_WR_ATOMIC_CMP_AND_SWP, S, 2, 0, {4, 4}, IBV_WC_SUCCESS, 8},
	{IBV_WR_ATOMIC_CMP_AND_SWP, S, 1, 0, {7}, IBV_WC_LOC_QP_OP_ERR, 0},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, S, 1, 0, {16}, IBV_WC_LOC_QP_OP_ERR, 0},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, S, 0, 0, {0}, IBV_WC_LOC_QP_OP_ERR, 0},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, I, 0, 8, {0}, IBV_WC_LOC_QP_OP_ERR, 0},
	{IBV_WR_LOCAL_INV, S, 0, 0, {0}, IBV_WC_SUCCESS, 0},
	{IBV_WR_LOCAL_INV, S, 9, 0, {8}, IBV_WC_SUCCESS, 0}, /* carries no data */
	{IBV_WR_BIND_MW, S, 0, 0, {0}, IBV_WC_SUCCESS, 0},
	{IBV_WR_TSO, S, 0, 0, {0}, IBV_WC_LOC_QP_OP_ERR, 0},
	{IBV_WR_DRIVER1, S, 0, 0, {0}, IBV_WC_LOC_QP_OP_ERR, 0},
	{0xff, S, 1, 0, {8}, IBV_WC_LOC_QP_OP_ERR, 0},
};

static void send_requests(void)
{
	for (unsigned int i = 0; i < sizeof(sends) / sizeof(sends[0]); i++) {
		struct uroce_abi_send_wqe wqe = {
			.opcode = sends[i].opcode,
			.flags = sends[i].flags,
			.sge_count = sends[i].sge_count,
			.inline_length = sends[i].inline_length,
			.wr_id = 77,
		};
		struct mem_sge sges[4] = {{0}};
		struct rc_send send = {0};
		bool good = sends[i].status == IBV_WC_SUCCESS;

		for (unsigned int j = 0; j < 4; j++)
			sges[j].length = sends[i].lengths[j];
		CU_ASSERT_EQUAL(wqe_send(&wqe, sges, &limits, &send), good);
		CU_ASSERT_EQUAL(send.status, sends[i].status);
		CU_ASSERT_EQUAL(send.wr_id, 77);
		CU_ASSERT_EQUAL(send.length, sends[i].length);
		CU_ASSERT(send.sge_count <= limits.max_sge);
		CU_ASSERT(good || send.sge_count == 0);
		CU_ASSERT(send.opcode <= IBV_WR_SEND_WITH_INV);
		CU_ASSERT_EQUAL(send.flags & ~(unsigned int)(S | I | F | IBV_SEND_SOLICITED), 0);
	}
}

static void every_opcode(void)
{
	unsigned int good = 0;

	for (unsigned int opcode = 0; opcode < 256; opcode++) {
		struct uroce_abi_send_wqe wqe = {.opcode = (uint8_t)opcode, .sge_count = 1};
		struct mem_sge sges[4] = {{.length = 8}};
		struct rc_send send = {0};

		if (wqe_send(&wqe, sges, &limits, &send)) {
			CU_ASSERT_EQUAL(send.opcode, opcode);
			good++;
		}
	}
	CU_ASSERT_EQUAL(good, 10); /* what lib/rc does: three SENDs, two WRITEs, READ, two atomics,
				    * invalidate, bind */
}

static void fields(void)
{
	struct uroce_abi_send_wqe wqe = {.opcode = IBV_WR_ATOMIC_CMP_AND_SWP, .sge_count = 1};
	struct mem_sge sge = {.length = 8};
	struct rc_send send = {0};

	wqe.imm_or_rkey = 5;
	wqe.wr.remote.address = 0x123456789abcdef0ull;
	wqe.wr.remote.rkey = 6;
	wqe.wr.remote.compare_add = 7;
	wqe.wr.remote.swap = 8;
	CU_ASSERT(wqe_send(&wqe, &sge, &limits, &send));
	CU_ASSERT_EQUAL(send.imm_or_rkey, 5);
	CU_ASSERT_EQUAL(send.remote_address, 0x123456789abcdef0ull);
	CU_ASSERT_EQUAL(send.remote_rkey, 6);
	CU_ASSERT_EQUAL(send.compare_add, 7);
	CU_ASSERT_EQUAL(send.swap, 8);
}

static void binds(void)
{
	for (unsigned int type1 = 0; type1 < 2; type1++) {
		struct uroce_abi_send_wqe wqe = {.opcode = IBV_WR_BIND_MW};
		struct rc_send send = {0};

		wqe.wr.bind.address = 1;
		wqe.wr.bind.length = 2;
		wqe.wr.bind.window = 3;
		wqe.wr.bind.new_rkey = 4;
		wqe.wr.bind.lkey = 5;
		wqe.wr.bind.access = 6 | (type1 ? UROCE_ABI_BIND_TYPE1 : 0);
		CU_ASSERT(wqe_send(&wqe, NULL, &limits, &send));
		CU_ASSERT_EQUAL(send.bind_type1, type1);
		CU_ASSERT_EQUAL(send.bind.address, 1);
		CU_ASSERT_EQUAL(send.bind.length, 2);
		CU_ASSERT_EQUAL(send.bind.window, 3);
		CU_ASSERT_EQUAL(send.bind.new_rkey, 4);
		CU_ASSERT_EQUAL(send.bind.lkey, 5);
		CU_ASSERT_EQUAL(send.bind.access, 6);
	}
}

static const struct {
	uint32_t sge_count;
	uint32_t lengths[4];
	bool good;
	uint32_t length;
} recvs[] = {
	{0, {0}, true, 0},
	{1, {100}, true, 100},
	{4, {1, 2, 3, 4}, true, 10},
	{5, {1, 2, 3, 4}, false, 0},
	{UINT32_MAX, {1, 2, 3, 4}, false, 0},
	{2, {GIB, GIB - 1}, true, 2 * GIB - 1},
	{2, {GIB, GIB + 1}, true, 2 * GIB}, /* more than any message */
	{4, {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}, true, 2 * GIB},
};

static void recv_requests(void)
{
	for (unsigned int i = 0; i < sizeof(recvs) / sizeof(recvs[0]); i++) {
		struct uroce_abi_recv_wqe wqe = {.wr_id = 9, .sge_count = recvs[i].sge_count};
		struct mem_sge sges[4] = {{0}};
		struct rc_recv recv = {.sge_count = 30, .length = 12345, .sge = sges};

		for (unsigned int j = 0; j < 4; j++)
			recv.sge[j].length = recvs[i].lengths[j];
		CU_ASSERT_EQUAL(wqe_recv(&wqe, 4, &recv), recvs[i].good);
		CU_ASSERT_EQUAL(recv.wr_id, 9);
		CU_ASSERT_EQUAL(recv.length, recvs[i].length);
		CU_ASSERT_EQUAL(recv.sge_count, recvs[i].good ? recvs[i].sge_count : 0);
	}
}

static const struct unit_case cases[] = {
	UNIT_CASE(send_requests),
	UNIT_CASE(every_opcode),
	UNIT_CASE(fields),
	UNIT_CASE(binds),
	UNIT_CASE(recv_requests),
};

UNIT_MAIN("engine-wqe", cases)
