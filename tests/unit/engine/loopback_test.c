/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections between two addresses of one engine, and of a QP with itself: the same operations,
 * nothing on the wire, and no interference with it. */
#include <string.h>

#include "rig.h"

#define SIZE 100000u
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

static uint8_t from[SIZE], to[SIZE];

static void every_operation(void)
{
	static const uint8_t opcodes[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ};
	struct loop_counters counters;
	static struct rig rig;
	struct front *front;
	struct front_cq cq_a, cq_b;
	struct front_qp a, b;
	uint32_t key_from, key_to;

	rig_open(&rig);
	front = &rig.fronts[0];
	cq_a = front_create_cq(front, 64, 0);
	cq_b = front_create_cq(front, 64, 0);
	a = front_create_qp(front, &cq_a);
	b = front_create_qp(front, &cq_b);
	key_from = front_reg_mr(front, from, SIZE, ACCESS);
	key_to = front_reg_mr(front, to, SIZE, ACCESS);
	front_connect(front, &a, RIG_ADDRESS, front, &b, RIG_ADDRESS);
	/* The port takes nothing and is down: that is not our business. */
	loop_set_tx_limit(rig.wire, 0, 0);
	loop_set_up(rig.wire, 0, false);
	for (unsigned int i = 0; i < sizeof(opcodes); i++) {
		struct uroce_abi_send_wqe wqe = {.opcode = opcodes[i], .flags = IBV_SEND_SIGNALED};
		bool read = opcodes[i] == IBV_WR_RDMA_READ;
		struct uroce_abi_cqe cqe;

		for (uint32_t j = 0; j < SIZE; j++)
			from[j] = (uint8_t)(j * 7 + i);
		memset(to, 0, SIZE);
		wqe.wr.remote.address = (uintptr_t)(read ? from : to);
		wqe.wr.remote.rkey = read ? key_from : key_to;
		CU_ASSERT(front_recv(front, &b, 5, to, SIZE, key_to));
		CU_ASSERT(front_send(
			front, &a, &wqe, read ? to : from, SIZE, read ? key_to : key_from));
		rig_run(&rig, rig.now + 100 * MS);
		CU_ASSERT(front_poll(&a, &cqe));
		CU_ASSERT_EQUAL(cqe.status, IBV_WC_SUCCESS);
		CU_ASSERT_EQUAL(memcmp(from, to, SIZE), 0);
	}
	loop_count(rig.wire, LOOP_ANY, LOOP_ANY, &counters);
	CU_ASSERT_EQUAL(counters.sent, 0);
	CU_ASSERT(rig_worker(&rig, 0)->counters.looped_packets > 3 * SIZE / 1024);
	CU_ASSERT_EQUAL(rig_worker(&rig, 0)->core.counters.retransmitted_pkts, 0);
	rig_close(&rig);
}

/* Its own destination: two roles, one queue pair. */
static void a_qp_with_itself(void)
{
	struct uroce_abi_send_wqe wqe = {
		.opcode = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE};
	static struct rig rig;
	struct front *front;
	struct front_cq cq;
	struct front_qp qp;
	struct uroce_abi_cqe cqe;
	unsigned int completions = 0;

	rig_open(&rig);
	front = &rig.fronts[0];
	cq = front_create_cq(front, 64, 0);
	qp = front_create_qp(front, &cq);
	CU_ASSERT_EQUAL(front_to_init(front, &qp), 0);
	CU_ASSERT_EQUAL(front_to_rtr(front, &qp, RIG_ADDRESS, qp.qp_num), 0);
	CU_ASSERT_EQUAL(front_to_rts(front, &qp), 0);
	for (unsigned int i = 0; i < 30; i++) {
		CU_ASSERT(front_recv(front, &qp, i, NULL, 0, 0));
		CU_ASSERT(front_send(front, &qp, &wqe, NULL, 0, 0));
	}
	rig_run(&rig, rig.now + 100 * MS);
	while (front_poll(&qp, &cqe)) {
		CU_ASSERT_EQUAL(cqe.status, IBV_WC_SUCCESS);
		completions++;
	}
	CU_ASSERT_EQUAL(completions, 60);
	rig_close(&rig);
}

/* Many QPs, more packets than the queue holds: bounded, and none is lost. */
static void the_queue_is_bounded(void)
{
	enum { PAIRS = 40 };
	struct uroce_abi_send_wqe wqe = {.opcode = IBV_WR_RDMA_WRITE, .flags = IBV_SEND_SIGNALED};
	static struct front_qp a[PAIRS], b[PAIRS];
	static struct rig rig;
	struct front *front;
	struct front_cq cq;
	struct uroce_abi_cqe cqe;
	uint32_t key_from, key_to, completions = 0, most = 0;

	rig_open(&rig);
	front = &rig.fronts[0];
	cq = front_create_cq(front, 1024, 0);
	key_from = front_reg_mr(front, from, SIZE, ACCESS);
	key_to = front_reg_mr(front, to, SIZE, ACCESS);
	wqe.wr.remote.address = (uintptr_t)to;
	wqe.wr.remote.rkey = key_to;
	for (unsigned int i = 0; i < PAIRS; i++) {
		a[i] = front_create_qp(front, &cq);
		b[i] = front_create_qp(front, &cq);
		front_connect(front, &a[i], RIG_ADDRESS, front, &b[i], RIG_ADDRESS);
	}
	for (unsigned int i = 0; i < PAIRS; i++)
		CU_ASSERT(front_send(front, &a[i], &wqe, from, SIZE, key_from));
	while (completions < PAIRS && engine_busy(rig.engines[0])) {
		uint32_t moved = engine_round(rig.engines[0]);

		most = moved > most ? moved : most;
		while (cq_poll(&cq.cq, &cqe)) {
			CU_ASSERT_EQUAL(cqe.status, IBV_WC_SUCCESS);
			completions++;
		}
	}
	CU_ASSERT_EQUAL(completions, PAIRS);
	CU_ASSERT(most > 64 && most <= LOOP_QUEUE);
	CU_ASSERT_EQUAL(rig_worker(&rig, 0)->core.counters.retransmitted_pkts, 0);
	rig_close(&rig);
}

/* A port that is kept busy by many leaves buffers and turns for what is looped. */
static void a_busy_port_leaves_room(void)
{
	enum { BUSY = 10 };
	struct uroce_abi_send_wqe wqe = {.opcode = IBV_WR_RDMA_WRITE, .flags = IBV_SEND_SIGNALED};
	struct front_qp busy[BUSY], peers[BUSY], a, b;
	static struct rig rig;
	struct front *front, *peer;
	struct front_cq cq, cq_busy, cq_peer;
	struct uroce_abi_cqe cqe;
	uint32_t key_from, key_to, rounds = 0;

	rig_open(&rig);
	front = &rig.fronts[0];
	peer = &rig.fronts[1];
	cq = front_create_cq(front, 16, 0);
	cq_busy = front_create_cq(front, 256, 0);
	cq_peer = front_create_cq(peer, 256, 0);
	key_from = front_reg_mr(front, from, SIZE, ACCESS);
	key_to = front_reg_mr(peer, to, SIZE, ACCESS);
	wqe.wr.remote.address = (uintptr_t)to;
	wqe.wr.remote.rkey = key_to;
	a = front_create_qp(front, &cq);
	b = front_create_qp(front, &cq);
	front_connect(front, &a, RIG_ADDRESS, front, &b, RIG_ADDRESS);
	for (unsigned int i = 0; i < BUSY; i++) {
		busy[i] = front_create_qp(front, &cq_busy);
		peers[i] = front_create_qp(peer, &cq_peer);
		front_connect(front, &busy[i], RIG_ADDRESS, peer, &peers[i], RIG_ADDRESS + 1);
	}
	for (unsigned int i = 0; i < BUSY; i++)
		for (unsigned int j = 0; j < 20; j++)
			CU_ASSERT(front_send(front, &busy[i], &wqe, from, SIZE, key_from));
	wqe.opcode = IBV_WR_SEND;
	wqe.flags |= IBV_SEND_INLINE;
	CU_ASSERT(front_recv(front, &b, 1, NULL, 0, 0));
	CU_ASSERT(front_send(front, &a, &wqe, NULL, 0, 0));
	while (!front_poll(&a, &cqe) && rounds++ < 100)
		rig_round(&rig);
	CU_ASSERT(rounds <= 4);
	CU_ASSERT(rig_worker(&rig, 0)->to_port.length > 0); /* it still was */
	rig_close(&rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(every_operation),
	UNIT_CASE(a_qp_with_itself),
	UNIT_CASE(the_queue_is_bounded),
	UNIT_CASE(a_busy_port_leaves_room),
};

UNIT_MAIN("engine-loopback", cases)
