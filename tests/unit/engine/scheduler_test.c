/* SPDX-License-Identifier: BSD-3-Clause */
/* The line of QPs that send: everybody gets turns, with as much as the budget says. */
#include <string.h>

#include "rig.h"

#define SIZE 200000u
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

static uint8_t from[SIZE], to[SIZE];

struct many {
	struct rig rig;
	struct front_cq cq_a, cq_b;
	struct front_qp a[20], b[20];
	uint32_t count;
	uint32_t key_from, key_to;
};

static void many_open(struct many *m, uint32_t count, uint32_t budget)
{
	struct engine_config config = {.tx_burst = budget};

	memset(m, 0, sizeof(*m));
	rig_open_with(&m->rig, NULL, &config);
	m->count = count;
	m->cq_a = front_create_cq(&m->rig.fronts[0], 1024, 0);
	m->cq_b = front_create_cq(&m->rig.fronts[1], 1024, 0);
	m->key_from = front_reg_mr(&m->rig.fronts[0], from, SIZE, ACCESS);
	m->key_to = front_reg_mr(&m->rig.fronts[1], to, SIZE, ACCESS);
	for (uint32_t i = 0; i < count; i++) {
		m->a[i] = front_create_qp(&m->rig.fronts[0], &m->cq_a);
		m->b[i] = front_create_qp(&m->rig.fronts[1], &m->cq_b);
		front_connect(&m->rig.fronts[0], &m->a[i], RIG_ADDRESS, &m->rig.fronts[1], &m->b[i],
			RIG_ADDRESS + 1);
	}
}

static void write_on(struct many *m, uint32_t i, uint32_t length)
{
	struct uroce_abi_send_wqe wqe = {
		.opcode = IBV_WR_RDMA_WRITE, .flags = IBV_SEND_SIGNALED, .wr_id = i};

	wqe.wr.remote.address = (uintptr_t)to;
	wqe.wr.remote.rkey = m->key_to;
	CU_ASSERT(front_send(&m->rig.fronts[0], &m->a[i], &wqe, from, length, m->key_from));
}

static void the_budget_is_kept(void)
{
	static struct many m;

	many_open(&m, 3, 4);
	for (uint32_t i = 0; i < 3; i++)
		write_on(&m, i, SIZE);
	engine_round(m.rig.engines[0]);
	CU_ASSERT_EQUAL(rig_worker(&m.rig, 0)->counters.tx_packets, 3 * 4);
	engine_round(m.rig.engines[0]);
	CU_ASSERT_EQUAL(rig_worker(&m.rig, 0)->counters.tx_packets, 2 * 3 * 4);
	rig_close(&m.rig);
}

/* Nineteen QPs with much to send; one with a single packet doesn't wait for them. */
static void nobody_starves(void)
{
	static struct many m;
	struct uroce_abi_cqe cqe;
	uint32_t order[20], finished = 0;

	many_open(&m, 20, 0);
	for (uint32_t i = 0; i < 19; i++)
		write_on(&m, i, SIZE);
	rig_round(&m.rig);
	write_on(&m, 19, 100);
	while (finished < 20) {
		if (rig_round(&m.rig) == 0)
			rig_run(&m.rig, m.rig.now + 1);
		while (cq_poll(&m.cq_a.cq, &cqe)) {
			CU_ASSERT_EQUAL_FATAL(cqe.status, IBV_WC_SUCCESS);
			order[finished++] = (uint32_t)cqe.wr_id;
		}
	}
	CU_ASSERT_EQUAL(order[0], 19);
	/* The others, started alike, end alike: nobody is a second ahead. */
	CU_ASSERT_EQUAL(rig_worker(&m.rig, 0)->core.counters.retransmitted_pkts, 0);
	rig_close(&m.rig);
}

/* A QP with nothing to send isn't in the line, however many there are. */
static void idle_qps_cost_nothing(void)
{
	static struct many m;

	many_open(&m, 20, 0);
	rig_run(&m.rig, m.rig.now + MS);
	CU_ASSERT_EQUAL(rig_worker(&m.rig, 0)->to_port.length, 0);
	write_on(&m, 5, 10);
	rig_run(&m.rig, m.rig.now + MS);
	CU_ASSERT_EQUAL(rig_worker(&m.rig, 0)->to_port.length, 0);
	CU_ASSERT_FALSE(engine_busy(m.rig.engines[0]));
	rig_close(&m.rig);
}

/* The port takes nothing: QPs that only flush still get their turns, and destroyed ones leave. */
static void flushing_needs_no_port(void)
{
	static struct many m;
	struct uroce_abi_cqe cqe;
	uint32_t flushed = 0;

	many_open(&m, 20, 0);
	loop_set_tx_limit(m.rig.wire, 0, 0);
	for (uint32_t i = 0; i < 20; i++)
		write_on(&m, i, SIZE);
	for (uint32_t i = 0; i < 50; i++)
		rig_round(&m.rig);
	CU_ASSERT_EQUAL(rig_worker(&m.rig, 0)->counters.tx_packets, 0);
	CU_ASSERT(rig_worker(&m.rig, 0)->to_port.count > 0);
	CU_ASSERT_EQUAL(front_to_state(&m.rig.fronts[0], &m.a[7], IBV_QPS_ERR), 0);
	rig_round(&m.rig);
	while (cq_poll(&m.cq_a.cq, &cqe)) {
		CU_ASSERT_EQUAL(cqe.wr_id, 7);
		CU_ASSERT_EQUAL(cqe.status, IBV_WC_WR_FLUSH_ERR);
		flushed++;
	}
	CU_ASSERT_EQUAL(flushed, 1);
	CU_ASSERT_EQUAL(front_simple(&m.rig.fronts[0], UROCE_ABI_DESTROY_QP, m.a[8].handle), 0);
	CU_ASSERT_EQUAL(rig_worker(&m.rig, 0)->to_port.length, 18);
	rig_close(&m.rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(the_budget_is_kept),
	UNIT_CASE(nobody_starves),
	UNIT_CASE(idle_qps_cost_nothing),
	UNIT_CASE(flushing_needs_no_port),
};

UNIT_MAIN("engine-scheduler", cases)
