/* SPDX-License-Identifier: BSD-3-Clause */
/* All counters, by command and for those who look on: the same names and values; and the ones that
 * no other test has a reason to look at. */
#include <string.h>

#include "rig.h"

#define MEMORY 8192u
#define COUNTED 128u

struct pair {
	struct rig rig;
	struct front_cq cqs[RIG_ENDS];
	struct front_qp qps[RIG_ENDS];
	uint32_t keys[RIG_ENDS];
	uint8_t memory[RIG_ENDS][MEMORY];
};

static void pair_open(struct pair *p)
{
	rig_open(&p->rig);
	for (unsigned int e = 0; e < RIG_ENDS; e++) {
		struct front *front = &p->rig.fronts[e];

		p->cqs[e] = front_create_cq(front, 16, 0);
		p->qps[e] = front_create_qp(front, &p->cqs[e]);
		p->keys[e] = front_reg_mr(front, p->memory[e], MEMORY,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	}
	front_connect(&p->rig.fronts[0], &p->qps[0], RIG_ADDRESS, &p->rig.fronts[1], &p->qps[1],
		RIG_ADDRESS + 1);
}

static void post(struct pair *p, uint8_t opcode, uint32_t length, uint8_t flags)
{
	struct uroce_abi_send_wqe wqe = {.opcode = opcode,
		.flags = flags,
		.wr.remote = {.address = (uintptr_t)p->memory[1], .rkey = p->keys[1]}};

	CU_ASSERT(
		front_send(&p->rig.fronts[0], &p->qps[0], &wqe, p->memory[0], length, p->keys[0]));
}

/* What has been told. */
struct told {
	unsigned int count;
	const char *names[COUNTED];
	uint64_t values[COUNTED];
};

static void take(void *context, const char *name, uint64_t value)
{
	struct told *told = context;

	CU_ASSERT_FATAL(told->count < COUNTED);
	told->names[told->count] = name;
	told->values[told->count++] = value;
}

static uint64_t counter(struct pair *p, unsigned int end, const char *name)
{
	struct told told = {0};

	engine_counters(p->rig.engines[end], take, &told);
	for (unsigned int i = 0; i < told.count; i++)
		if (strcmp(told.names[i], name) == 0)
			return told.values[i];
	CU_FAIL("no such counter");
	return 0;
}

/* A SEND of 100 bytes, one without signal of 10, a WRITE of 5000, a READ of 700. */
static void messages_and_bytes(void)
{
	static struct pair p;
	static const struct {
		const char *name;
		uint64_t expected[RIG_ENDS];
	} rows[] = {
		{"rdma_sends", {2, 0}},
		{"rdma_recvs", {0, 2}},
		{"sent_bytes", {5110, 700}},
		{"rcvd_bytes", {700, 5110}},
		{"retransmitted_pkts", {0, 0}},
	};

	pair_open(&p);
	for (unsigned int i = 0; i < 2; i++)
		CU_ASSERT(front_recv(&p.rig.fronts[1], &p.qps[1], i, p.memory[1], 100, p.keys[1]));
	post(&p, IBV_WR_SEND, 100, IBV_SEND_SIGNALED);
	post(&p, IBV_WR_SEND, 10, 0);
	post(&p, IBV_WR_RDMA_WRITE, 5000, IBV_SEND_SIGNALED);
	post(&p, IBV_WR_RDMA_READ, 700, IBV_SEND_SIGNALED);
	rig_run(&p.rig, p.rig.now + MS);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned int e = 0; e < RIG_ENDS; e++)
			CU_ASSERT_EQUAL(counter(&p, e, rows[i].name), rows[i].expected[e]);
	for (unsigned int e = 0; e < RIG_ENDS; e++) {
		CU_ASSERT_NOT_EQUAL(counter(&p, e, "sent_pkts"), 0);
		CU_ASSERT_EQUAL(counter(&p, e, "port_tx_packets"), counter(&p, e, "tx_packets"));
		CU_ASSERT_EQUAL(
			counter(&p, e, "port_rx_packets"), counter(&p, 1 - e, "tx_packets"));
	}
	rig_close(&p.rig);
}

/* A request that has failed was no SEND. */
static void failed_sends(void)
{
	static struct pair p;

	pair_open(&p);
	post(&p, IBV_WR_SEND, 100, IBV_SEND_SIGNALED);
	CU_ASSERT(front_recv(&p.rig.fronts[1], &p.qps[1], 1, p.memory[1], 99, p.keys[1]));
	rig_run(&p.rig, p.rig.now + MS);
	CU_ASSERT_EQUAL(counter(&p, 0, "rdma_sends"), 0);
	CU_ASSERT_EQUAL(counter(&p, 1, "rdma_recvs"), 0);
	CU_ASSERT_EQUAL(counter(&p, 0, "send_err"), 1);
	rig_close(&p.rig);
}

static void links(void)
{
	static struct pair p;

	pair_open(&p);
	for (unsigned int i = 0; i < 2; i++) {
		loop_set_up(p.rig.wire, 0, false);
		rig_round(&p.rig);
		rig_round(&p.rig);
		CU_ASSERT_EQUAL(counter(&p, 0, "link_downed"), i + 1);
		loop_set_up(p.rig.wire, 0, true);
		rig_round(&p.rig);
		CU_ASSERT_EQUAL(counter(&p, 0, "link_downed"), i + 1);
	}
	CU_ASSERT_EQUAL(counter(&p, 1, "link_downed"), 0);
	rig_close(&p.rig);
}

/* The command's row and what is told are the same but for the histogram, which has no names. */
static void by_command(void)
{
	struct uroce_abi_command command = {.head.op = UROCE_ABI_COUNTERS};
	struct engine_hold_histogram histogram;
	const uint64_t *value = command.u.counters.value;
	struct told told = {0};
	static struct pair p;

	pair_open(&p);
	p.rig.engines[0]->workers[0]->core.hold_histogram[3] = 33;
	CU_ASSERT_EQUAL(front_command(&p.rig.fronts[0], &command), 0);
	engine_counters(p.rig.engines[0], take, &told);
	for (unsigned int i = 0; i < told.count; i++) {
		if (strcmp(told.names[i], "parse_ok") == 0)
			value += ENGINE_HOLD_BUCKETS;
		CU_ASSERT_EQUAL(told.values[i], value[i]);
	}
	CU_ASSERT(value != command.u.counters.value);
	engine_hold_histogram(p.rig.engines[0], &histogram);
	for (unsigned int i = 0; i < ENGINE_HOLD_BUCKETS; i++)
		CU_ASSERT_EQUAL(histogram.count[i], i == 3 ? 33 : 0);
	CU_ASSERT_EQUAL(histogram.bound_us[0], 1);
	CU_ASSERT_EQUAL(histogram.bound_us[10], 1000000);
	CU_ASSERT_EQUAL(histogram.bound_us[11], UINT64_MAX);
	rig_close(&p.rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(messages_and_bytes),
	UNIT_CASE(failed_sends),
	UNIT_CASE(links),
	UNIT_CASE(by_command),
};

UNIT_MAIN("engine-command_counters", cases)
