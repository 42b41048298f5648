/* SPDX-License-Identifier: BSD-3-Clause */
/* A client that dies with everything live: nothing of it stays, and its neighbour never notices. */
#include <string.h>

#include "mem.h"
#include "rig.h"

#define ACCESS                                                                                     \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
		IBV_ACCESS_MW_BIND)

static uint8_t memory[4096];

static uint32_t alloc_window(struct front *front, uint32_t type)
{
	struct uroce_abi_command command = {.head.op = UROCE_ABI_ALLOC_MW};

	command.u.mr.pd = front->pd;
	command.u.mr.type = type;
	CU_ASSERT_EQUAL_FATAL(front_command(front, &command), 0);
	return command.u.mr.key;
}

static void bind(
	struct front *front, struct front_qp *qp, uint32_t window, uint32_t lkey, bool type1)
{
	struct uroce_abi_send_wqe wqe = {.opcode = IBV_WR_BIND_MW, .flags = IBV_SEND_SIGNALED};

	wqe.wr.bind.window = window;
	wqe.wr.bind.new_rkey = window ^ 1;
	wqe.wr.bind.lkey = lkey;
	wqe.wr.bind.address = (uintptr_t)memory;
	wqe.wr.bind.length = 64;
	wqe.wr.bind.access = IBV_ACCESS_REMOTE_READ | (type1 ? UROCE_ABI_BIND_TYPE1 : 0);
	CU_ASSERT(front_send(front, qp, &wqe, NULL, 0, 0));
}

/* One of everything, in use: requests under way, windows bound, a timer running, a QP that holds,
 * an event undelivered, a command pending. */
static void make_everything(struct rig *rig, struct front *front, struct front_channel channels[2])
{
	struct uroce_abi_send_wqe wqe = {
		.opcode = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE};
	struct uroce_abi_command command = {.head.op = UROCE_ABI_ALLOC};
	struct front_cq cq;
	struct front_qp qp, holding, waiting;
	struct wq_front srq;
	struct uroce_abi_cqe cqe;
	uint32_t key = front_reg_mr(front, memory, sizeof(memory), ACCESS);
	uint32_t srq_handle;

	channels[0] = front_create_channel(front, false);
	channels[1] = front_create_channel(front, true);
	cq = front_create_cq(front, 64, channels[0].handle);
	srq_handle = front_create_srq(front, 64, &srq);
	qp = front_create_qp_srq(front, &cq, srq_handle);
	holding = front_create_qp(front, &cq);
	waiting = front_create_qp(front, &cq);
	CU_ASSERT_EQUAL(front_to_init(front, &qp), 0);
	CU_ASSERT_EQUAL(front_to_rtr(front, &qp, RIG_ADDRESS + 1, 0x9999), 0);
	CU_ASSERT_EQUAL(front_to_rts(front, &qp), 0);
	bind(front, &qp, alloc_window(front, IBV_MW_TYPE_1), key, true);
	bind(front, &qp, alloc_window(front, IBV_MW_TYPE_2), key, false);
	rig_run(rig, rig->now + MS);
	for (unsigned int i = 0; i < 2; i++) {
		CU_ASSERT(front_poll(&qp, &cqe));
		CU_ASSERT_EQUAL(cqe.status, IBV_WC_SUCCESS);
	}
	for (unsigned int i = 0; i < 10; i++)
		CU_ASSERT(front_send(front, &qp, &wqe, NULL, 0, 0));
	CU_ASSERT_EQUAL(front_to_init(front, &holding), 0);
	CU_ASSERT_EQUAL(front_to_rtr(front, &holding, RIG_ADDRESS + 1, 0x9999), 0);
	CU_ASSERT(front_send(front, &holding, &wqe, NULL, 0, 0));
	cq_arm(&cq.cq, false);
	command.u.memory.size = 5000;
	CU_ASSERT_EQUAL(front_command(front, &command), 0);
	CU_ASSERT_EQUAL(front_to_init(front, &waiting), 0);
	loop_set_neighbour(rig->wire, 0, LOOP_NEIGHBOUR_DELAYED, 1000 * MS);
	command = front_rtr_request(&waiting, RIG_ADDRESS + 1, 5);
	front_post(front, 9, &command);
	rig_round(rig);
	CU_ASSERT_EQUAL(front->slots[9].head.state, UROCE_ABI_POSTED);
}

static void dies_with_everything_live(void)
{
	struct front_channel channels[2];
	struct front_cq cq, cq_b;
	struct front_qp qp, qp_b;
	struct uroce_abi_send_wqe wqe = {
		.opcode = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE};
	static struct rig rig;
	struct front dying;
	struct worker *worker;
	struct uroce_abi_cqe cqe;

	rig_open(&rig);
	worker = rig_worker(&rig, 0);
	/* The neighbour: a connection on the same engine. */
	cq = front_create_cq(&rig.fronts[0], 16, 0);
	cq_b = front_create_cq(&rig.fronts[1], 16, 0);
	qp = front_create_qp(&rig.fronts[0], &cq);
	qp_b = front_create_qp(&rig.fronts[1], &cq_b);
	front_connect(&rig.fronts[0], &qp, RIG_ADDRESS, &rig.fronts[1], &qp_b, RIG_ADDRESS + 1);
	front_attach(&rig, 0, &dying);
	make_everything(&rig, &dying, channels);
	CU_ASSERT_EQUAL(rig.engines[0]->qp_count, 4);
	CU_ASSERT(mem_count(rig.engines[0]->mem) == 3);
	CU_ASSERT(worker->core.timers.count > 0);
	front_detach(&dying);
	CU_ASSERT_EQUAL(rig.engines[0]->qp_count, 1);
	CU_ASSERT_EQUAL(mem_count(rig.engines[0]->mem), 0);
	CU_ASSERT_EQUAL(rig.engines[0]->pds.live, 1);
	CU_ASSERT_EQUAL(worker->core.timers.count, 0);
	CU_ASSERT_EQUAL(worker->core.timers.reserved, 2); /* the neighbour's QP's */
	CU_ASSERT(list_empty(&worker->pending));
	CU_ASSERT(list_empty(&worker->touched));
	CU_ASSERT(list_empty(&worker->kept));
	CU_ASSERT_EQUAL(worker->to_port.length, 0);
	for (uint32_t i = 0; i <= rig.engines[0]->max_mr; i++)
		CU_ASSERT_PTR_NULL(rig.engines[0]->keys[i]);
	CU_ASSERT(front_recv(&rig.fronts[1], &qp_b, 1, NULL, 0, 0));
	CU_ASSERT(front_send(&rig.fronts[0], &qp, &wqe, NULL, 0, 0));
	rig_run(&rig, rig.now + MS);
	CU_ASSERT(front_poll(&qp, &cqe) && cqe.status == IBV_WC_SUCCESS);
	rig_close(&rig);
	front_close_channel(&channels[0]);
	front_close_channel(&channels[1]);
}

/* Created and destroyed by commands, everything comes back to where it was. */
static void nothing_grows(void)
{
	static struct rig rig;
	struct front *front;
	uint64_t used = 0;

	rig_open(&rig);
	front = &rig.fronts[0];
	for (unsigned int i = 0; i < 200; i++) {
		struct front_channel channel = front_create_channel(front, false);
		struct front_cq cq = front_create_cq(front, 64, channel.handle);
		struct wq_front srq;
		uint32_t srq_handle = front_create_srq(front, 64, &srq);
		struct front_qp qp = front_create_qp_srq(front, &cq, srq_handle);
		struct front_qp other = front_create_qp(front, &cq);

		CU_ASSERT_EQUAL(front_to_init(front, &other), 0);
		CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DESTROY_QP, qp.handle), 0);
		CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DESTROY_QP, other.handle), 0);
		CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DESTROY_SRQ, srq_handle), 0);
		CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DESTROY_CQ, cq.handle), 0);
		CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DESTROY_CHANNEL, channel.handle), 0);
		front_close_channel(&channel);
		if (i == 0)
			used = region_used(front->client->region);
		CU_ASSERT_EQUAL(region_used(front->client->region), used);
	}
	rig_close(&rig);
}

static void many_clients(void)
{
	struct front fronts[20];
	static struct rig rig;

	rig_open(&rig);
	for (unsigned int i = 0; i < 20; i++) {
		front_attach(&rig, 0, &fronts[i]);
		CU_ASSERT_EQUAL(fronts[i].header->client, 2 + i);
		CU_ASSERT_EQUAL(fronts[i].header->cores, 1);
	}
	CU_ASSERT_EQUAL(rig.engines[0]->client_count, 21);
	for (unsigned int i = 0; i < 20; i += 2)
		front_detach(&fronts[i]);
	for (unsigned int i = 1; i < 20; i += 2) {
		CU_ASSERT_EQUAL(front_simple(&fronts[i], UROCE_ABI_NOP, 0), 0);
		front_detach(&fronts[i]);
	}
	rig_close(&rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(dies_with_everything_live),
	UNIT_CASE(nothing_grows),
	UNIT_CASE(many_clients),
};

UNIT_MAIN("engine-client", cases)
