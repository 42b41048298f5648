/* SPDX-License-Identifier: BSD-3-Clause */
/* Polling: fields, counts, slots that come back, QPs that are gone, an overrun CQ. */
#include "world.h"

static struct world world;

static void begin(void)
{
	world_open(&world, false);
	CU_ASSERT_EQUAL(world_move(world.qp, IBV_QPS_RTS), 0);
}

static void fields(void)
{
	const struct uroce_abi_cqe cqe = {
		.wr_id = 0x0102030405060708,
		.status = IBV_WC_REM_ACCESS_ERR,
		.opcode = IBV_WC_RECV_RDMA_WITH_IMM,
		.flags = IBV_WC_WITH_IMM,
		.vendor_err = 0x99,
		.byte_len = 12345,
		.imm_or_rkey = 0xaabbccdd,
		.src_qp = 0x54321,
		.pkey_index = 3,
		.sl = 5,
	};
	struct ibv_wc wc;

	begin();
	CU_ASSERT_EQUAL(world_recv(world.qp, 1), 0);
	CU_ASSERT(fake_take_recv(world.engine, world.qp->handle, &(struct fake_recv){0}));
	fake_complete_recv(world.engine, world.qp->handle, &cqe);
	memset(&wc, 0xee, sizeof(wc));
	CU_ASSERT_EQUAL(ibv_poll_cq(world.cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.wr_id, 0x0102030405060708);
	CU_ASSERT_EQUAL(wc.status, IBV_WC_REM_ACCESS_ERR);
	CU_ASSERT_EQUAL(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	CU_ASSERT_EQUAL(wc.vendor_err, 0x99);
	CU_ASSERT_EQUAL(wc.byte_len, 12345);
	CU_ASSERT_EQUAL(wc.imm_data, 0xaabbccdd);
	CU_ASSERT_EQUAL(wc.qp_num, world.qp->qp_num);
	CU_ASSERT_EQUAL(wc.src_qp, 0x54321);
	CU_ASSERT_EQUAL(wc.wc_flags, IBV_WC_WITH_IMM);
	CU_ASSERT_EQUAL(wc.pkey_index, 3);
	CU_ASSERT_EQUAL(wc.sl, 5);
	CU_ASSERT_EQUAL(wc.slid, 0);
	CU_ASSERT_EQUAL(wc.dlid_path_bits, 0);
	world_close(&world);
}

/* As many as there are, at most as many as asked for; the engine is driven at least once. */
static void counts(void)
{
	struct ibv_wc wc[4];
	unsigned int rounds;

	begin();
	rounds = fake_rounds(world.engine);
	CU_ASSERT_EQUAL(ibv_poll_cq(world.cq, 4, wc), 0);
	CU_ASSERT_EQUAL(fake_rounds(world.engine), rounds + 1);
	for (unsigned int i = 0; i < 5; i++) {
		CU_ASSERT_EQUAL(world_send(world.qp, i), 0);
		world_complete(&world, 0);
	}
	CU_ASSERT_EQUAL(ibv_poll_cq(world.cq, 0, wc), 0);
	CU_ASSERT_EQUAL(ibv_poll_cq(world.cq, 4, wc), 4);
	CU_ASSERT_EQUAL(ibv_poll_cq(world.cq, 4, wc), 1);
	CU_ASSERT_EQUAL(ibv_poll_cq(world.cq, 4, wc), 0);
	world_close(&world);
}

/* One completion covers the unsignaled requests before it. */
static void releases_several(void)
{
	struct fake_send send;
	struct ibv_wc wc;

	begin();
	for (unsigned int i = 0; i < WORLD_DEPTH; i++)
		CU_ASSERT_EQUAL(world_send(world.qp, i), 0);
	CU_ASSERT_EQUAL(world_send(world.qp, 99), ENOMEM);
	for (unsigned int i = 0; i < 4; i++)
		CU_ASSERT(fake_take_send(world.engine, world.qp->handle, &send));
	fake_complete_send(world.engine, world.qp->handle, &(struct uroce_abi_cqe){0});
	CU_ASSERT_EQUAL(ibv_poll_cq(world.cq, 1, &wc), 1);
	for (unsigned int i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(world_send(world.qp, i), 0);
	CU_ASSERT_EQUAL(world_send(world.qp, 99), ENOMEM);
	world_close(&world);
}

static void overrun(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_wc wc[4];

	begin();
	cq = ibv_create_cq(world.context, 2, NULL, NULL, 0);
	init = world_qp_init(&world);
	init.send_cq = cq;
	qp = ibv_create_qp(world.pd, &init);
	for (unsigned int i = 0; i < 3; i++)
		fake_complete_send(world.engine, qp->handle, &(struct uroce_abi_cqe){.wr_id = i});
	CU_ASSERT_EQUAL(ibv_poll_cq(cq, 4, wc), 2); /* what it held */
	CU_ASSERT_EQUAL(wc[0].wr_id, 0);
	CU_ASSERT_EQUAL(wc[1].wr_id, 1);
	ASSERT_MINUS_ERRNO(ibv_poll_cq(cq, 4, wc), EIO);
	CU_ASSERT_EQUAL(ibv_destroy_qp(qp), 0);
	CU_ASSERT_EQUAL(ibv_destroy_cq(cq), 0);
	world_close(&world);
}

static const struct unit_case cases[] = {
	UNIT_CASE(fields),
	UNIT_CASE(counts),
	UNIT_CASE(releases_several),
	UNIT_CASE(overrun),
};

UNIT_MAIN("verbs-poll", cases)
