/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands of an engine of several cores: which core runs which, and what a client leaves behind at
 * all of them when it goes.
 */
#include "command.h"

#include "mem.h"
#include "many.h"

enum place { CORE_0, CORE_1, ALL };

/* As state.h and command.h have it: what is a QP's or a thread's, its core runs; what all cores see
 * changes while no other core is in a round; the rest is core 0's. */
static const struct {
	uint32_t op;
	enum place place;
} rows[] = {
	{UROCE_ABI_NOP, CORE_0}, {UROCE_ABI_QUERY_DEVICE, CORE_0}, {UROCE_ABI_QUERY_PORT, ALL},
	{UROCE_ABI_QUERY_GID, CORE_0}, {UROCE_ABI_ALLOC_PD, CORE_0}, {UROCE_ABI_DEALLOC_PD, CORE_0},
	{UROCE_ABI_REG_MR, CORE_0}, {UROCE_ABI_REREG_MR, CORE_0}, {UROCE_ABI_DEREG_MR, CORE_0},
	{UROCE_ABI_ALLOC_MW, CORE_0}, {UROCE_ABI_DEALLOC_MW, CORE_0},
	{UROCE_ABI_CREATE_CHANNEL, CORE_0}, {UROCE_ABI_DESTROY_CHANNEL, ALL},
	{UROCE_ABI_CREATE_CQ, CORE_0}, {UROCE_ABI_RESIZE_CQ, ALL}, {UROCE_ABI_DESTROY_CQ, ALL},
	{UROCE_ABI_CREATE_SRQ, CORE_0}, {UROCE_ABI_MODIFY_SRQ, CORE_0},
	{UROCE_ABI_QUERY_SRQ, CORE_0}, {UROCE_ABI_DESTROY_SRQ, ALL},
	{UROCE_ABI_CREATE_QP, CORE_1}, /* which has fewer */
	{UROCE_ABI_MODIFY_QP, CORE_1}, {UROCE_ABI_QUERY_QP, CORE_1}, {UROCE_ABI_DESTROY_QP, CORE_1},
	{UROCE_ABI_CREATE_AH, CORE_0}, {UROCE_ABI_DESTROY_AH, CORE_0},
	{UROCE_ABI_ATTACH_THREAD, CORE_1}, {UROCE_ABI_DETACH_THREAD, CORE_1},
	{UROCE_ABI_QP_POLICY, CORE_1}, {UROCE_ABI_QP_ARM, CORE_1}, {UROCE_ABI_QP_NOTIFY, CORE_1},
	{UROCE_ABI_QP_COUNTERS, CORE_1}, {UROCE_ABI_COUNTERS, ALL}, {UROCE_ABI_ALLOC, CORE_0},
	{UROCE_ABI_FREE, CORE_0}, {UROCE_ABI_OPS, CORE_0}, /* there is none of that number */
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static struct worker *core(struct many *m, uint32_t number)
{
	return m->rig.engines[0]->workers[number];
}

static bool is_answered(struct many *m, uint32_t slot)
{
	return m->a->slots[slot].head.state == UROCE_ABI_DONE;
}

static void post(struct many *m, uint32_t slot, uint32_t op)
{
	struct uroce_abi_command command = {.head = {.op = op, .object = m->qp_a[1].handle}};

	if (op == UROCE_ABI_ATTACH_THREAD || op == UROCE_ABI_DETACH_THREAD)
		command.u.thread.core = 1;
	front_post(m->a, slot, &command);
}

/* Most of them are refused, as their arguments are nonsense; where matters. */
static void each_where_it_belongs(void)
{
	struct uroce_abi_command command;
	static struct many m;

	CU_ASSERT_EQUAL(ROWS, UROCE_ABI_OPS + 1);
	for (unsigned int i = 0; i < ROWS; i++) {
		struct engine *engine;
		uint32_t rounds, held;

		CU_ASSERT_EQUAL(rows[i].op, i);
		many_open(&m, 2, 3, 4); /* two at core 0 */
		engine = m.rig.engines[0];
		/* Core 1 alone sees nothing: what is posted is core 0's to hear of. */
		post(&m, 0, rows[i].op);
		engine_core_round(engine, 1);
		CU_ASSERT_FALSE(is_answered(&m, 0));
		rounds = core(&m, 1)->rounds;
		engine_core_round(engine, 0);
		held = core(&m, 1)->rounds - rounds;
		CU_ASSERT_EQUAL(held, rows[i].place == ALL);
		CU_ASSERT_EQUAL(is_answered(&m, 0), rows[i].place != CORE_1);
		engine_core_round(engine, 1);
		CU_ASSERT_TRUE(is_answered(&m, 0));
		CU_ASSERT_TRUE(front_done(&m.a[0], 0, &command));
		CU_ASSERT_EQUAL(core(&m, 0)->token + core(&m, 1)->token, 0);
		CU_ASSERT_EQUAL(engine->stopping, 0);
		many_close(&m);
	}
}

/* All slots at once, of all kinds. */
static void all_slots_at_once(void)
{
	struct uroce_abi_command command;
	static struct many m;

	many_open(&m, 3, 6, 4);
	for (uint32_t round = 0; round < 10; round++) {
		for (uint32_t slot = 0; slot < UROCE_ABI_COMMANDS; slot++) {
			static const uint32_t ops[] = {UROCE_ABI_NOP, UROCE_ABI_QUERY_QP,
				UROCE_ABI_QUERY_PORT, UROCE_ABI_QUERY_QP, UROCE_ABI_QP_COUNTERS};

			command = (struct uroce_abi_command){
				.head = {.op = ops[slot % 5],
					.object = m.qp_a[(slot + round) % 6].handle}};
			front_post(m.a, slot, &command);
		}
		rig_round(&m.rig);
		for (uint32_t slot = 0; slot < UROCE_ABI_COMMANDS; slot++) {
			CU_ASSERT_TRUE(is_answered(&m, slot));
			CU_ASSERT(front_done(m.a, slot, &command));
			CU_ASSERT_EQUAL(command.head.status, 0);
		}
	}
	many_close(&m);
}

/* ---- what is left when a client goes ---- */

static void post_send(struct many *m, uint32_t n)
{
	const struct uroce_abi_send_wqe wqe = {.opcode = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED};

	CU_ASSERT(front_send(m->a, &m->qp_a[n], &wqe, m->memory_a, 3000, m->key_a));
}

/*
 * At every core: requests under way to the wire and to ourselves, timers, packets in the rings
 * between cores, armed CQs with completions, a CQ that overran and isn't told of yet, commands that
 * wait, in the inbox and for a neighbour.
 */
static void leave_everything(struct many *m)
{
	struct engine *engine = m->rig.engines[0];
	struct uroce_abi_command command;
	struct front_cq small = front_create_cq(m->a, 1, m->channel.handle);
	struct wq_front wq;
	struct front_qp lost;
	uint32_t srq = front_create_srq(m->a, 8, &wq);

	front_create_qp_srq(m->a, &m->cq_a, srq);
	do
		lost = front_create_qp(m->a, &small);
	while (core_of(&m->a->cores, lost.handle) != 0);
	for (uint32_t n = 0; n < 3; n++)
		front_connect(m->a, &m->qp_a[n], RIG_ADDRESS, m->b, &m->qp_b[n], RIG_ADDRESS + 1);
	/* To ourselves, between cores. */
	front_connect(m->a, &m->qp_a[3], RIG_ADDRESS, m->a, &m->qp_a[4], RIG_ADDRESS);
	front_connect(m->a, &m->qp_a[5], RIG_ADDRESS, m->a, &m->qp_a[7], RIG_ADDRESS);
	cq_arm(&m->cq_a.cq, false);
	for (unsigned int i = 0; i < 8; i++)
		for (uint32_t n = 0; n < 6; n++)
			post_send(m, n);
	for (unsigned int i = 0; i < 3; i++)
		rig_round(&m->rig);
	CU_ASSERT_EQUAL(front_to_init(m->a, &lost), 0);
	for (uint32_t i = 0; i < 3; i++)
		CU_ASSERT(front_recv(m->a, &lost, i, NULL, 0, 0));
	loop_set_neighbour(m->rig.wire, 0, LOOP_NEIGHBOUR_DELAYED, 1000 * MS);
	CU_ASSERT_EQUAL(front_to_init(m->a, &m->qp_a[6]), 0);
	command = front_rtr_request(&m->qp_a[6], RIG_ADDRESS + 1, 5);
	front_post(m->a, 9, &command);
	rig_round(&m->rig);
	CU_ASSERT_FALSE(is_answered(m, 9));
	command = (struct uroce_abi_command){
		.head = {.op = UROCE_ABI_MODIFY_QP, .object = lost.handle}};
	command.u.qp.mask = IBV_QP_STATE;
	command.u.qp.attr.qp_state = IBV_QPS_ERR;
	front_post(m->a, 10, &command);
	for (unsigned int i = 0; i < 6; i++)
		post_send(m, i);
	post(m, 11, UROCE_ABI_QUERY_QP);
	engine_core_round(engine, 0);
	engine_core_round(engine, 0);
	CU_ASSERT_FALSE(is_answered(m, 11));
}

static bool lists_empty(const struct worker *worker)
{
	return list_empty(&worker->touched) && list_empty(&worker->failed) &&
		list_empty(&worker->kept) && list_empty(&worker->pending) &&
		list_empty(&worker->inbox) && list_empty(&worker->inbox_failed) &&
		worker->to_port.length + worker->to_self.length + worker->flushing.length == 0;
}

static void detach_with_leftovers(void)
{
	static struct many m;

	for (uint32_t cores = 2; cores <= 3; cores++) {
		many_open(&m, cores, MANY_QPS, 16);
		leave_everything(&m);
		CU_ASSERT_FALSE(list_empty(&core(&m, 1)->inbox));
		CU_ASSERT_FALSE(list_empty(&core(&m, 1)->inbox_failed));
		front_detach(m.a);
		for (uint32_t i = 0; i < cores; i++) {
			CU_ASSERT_TRUE(lists_empty(core(&m, i)));
			CU_ASSERT_EQUAL(core(&m, i)->core.timers.count, 0);
			CU_ASSERT_EQUAL(core(&m, i)->qps.count, 0);
		}
		CU_ASSERT_EQUAL(m.rig.engines[0]->qp_count, 0);
		CU_ASSERT_EQUAL(mem_count(m.rig.engines[0]->mem), 0);
		many_run(&m); /* what was under way meets nobody */
		front_attach(&m.rig, 0, m.a);
		CU_ASSERT_EQUAL(front_simple(m.a, UROCE_ABI_NOP, 0), 0);
		many_close(&m);
	}
}

/* The same, taken down by commands: memory of the region and buffers are all back. */
static void destroy_with_leftovers(void)
{
	static struct many m;
	uint64_t used;

	many_open(&m, 3, 0, 16);
	used = region_used(m.a->client->region);
	m.qps = 6;
	for (unsigned int again = 0; again < 20; again++) {
		for (uint32_t n = 0; n < 6; n++) {
			m.qp_a[n] = front_create_qp(m.a, &m.cq_a);
			m.qp_b[n] = front_create_qp(m.b, &m.cq_b);
		}
		many_connect(&m);
		for (unsigned int i = 0; i < 5; i++)
			for (uint32_t n = 0; n < 6; n++)
				post_send(&m, n);
		for (unsigned int i = 0; i <= again % 4; i++)
			rig_round(&m.rig);
		engine_core_round(m.rig.engines[0], again % 3);
		for (uint32_t n = 0; n < 6; n++) {
			CU_ASSERT_EQUAL(
				front_simple(m.a, UROCE_ABI_DESTROY_QP, m.qp_a[n].handle), 0);
			CU_ASSERT_EQUAL(
				front_simple(m.b, UROCE_ABI_DESTROY_QP, m.qp_b[n].handle), 0);
		}
		many_run(&m);
		CU_ASSERT_EQUAL(region_used(m.a->client->region), used);
	}
	for (uint32_t i = 0; i < 3; i++)
		CU_ASSERT_TRUE(lists_empty(core(&m, i)));
	CU_ASSERT_EQUAL(front_simple(m.a, UROCE_ABI_DESTROY_CQ, m.cq_a.handle), 0);
	CU_ASSERT_EQUAL(front_simple(m.a, UROCE_ABI_DESTROY_CHANNEL, m.channel.handle), 0);
	many_close(&m);
}

static const struct unit_case cases[] = {
	UNIT_CASE(each_where_it_belongs),
	UNIT_CASE(all_slots_at_once),
	UNIT_CASE(detach_with_leftovers),
	UNIT_CASE(destroy_with_leftovers),
};

UNIT_MAIN("engine-command_where", cases)
