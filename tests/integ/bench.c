/* SPDX-License-Identifier: BSD-3-Clause */
/* EAL, ports and nodes; waiting. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>

#include <uroce/uroce.h>

#include "bench.h"
#include "pattern.h"

#define WIRE 1024u /* frames each way */
#define SETTLE_ROUNDS 10u
#define NODES 4u

static struct rte_ring *to[2]; /* what this side receives */
static struct node *nodes[NODES];

/* "0@(0,1),1@(0,1)": lcores, each on whatever CPU is free. */
static void lcore_map(char *map, size_t size)
{
	char cpus[512] = "";
	size_t used = 0;
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		exit(77);
	for (int cpu = 0; cpu < CPU_SETSIZE && strlen(cpus) + 8 < sizeof(cpus); cpu++)
		if (CPU_ISSET(cpu, &set))
			sprintf(cpus + strlen(cpus), "%s%d", *cpus ? "," : "", cpu);
	for (unsigned int i = 0; i < BENCH_LCORES; i++)
		used += (size_t)snprintf(
			map + used, size - used, "%s%u@(%s)", i ? "," : "", i, cpus);
}

static void start_eal(void)
{
	char map[BENCH_LCORES * 600];
	char words[][32] = {"test", "--no-huge", "-m", "256", "--no-pci", "--no-shconf",
		"--no-telemetry", "--iova-mode=va", "--log-level=*:error", "--lcores"};
	char *argv[16];
	int argc = 0;

	lcore_map(map, sizeof(map));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		argv[argc++] = words[i];
	argv[argc++] = map;
	argv[argc] = NULL;
	if (rte_eal_init(argc, argv) >= 0)
		return;
	printf("skipped: EAL does not start: %s\n", rte_strerror(rte_errno));
	exit(77);
}

/* A ring that two of an engine's cores may send to, or nothing ever comes from. */
static struct rte_ring *make_ring(const char *name)
{
	struct rte_ring *ring = rte_ring_create(name, WIRE, SOCKET_ID_ANY, RING_F_SC_DEQ);

	if (ring)
		return ring;
	printf("skipped: no ring: %s\n", rte_strerror(rte_errno));
	exit(77);
}

/* The end whose rings these are, in the shape of a port with so many queues. */
static void make_port(
	const char *name, struct rte_ring *in[], struct rte_ring *out[], unsigned int queues)
{
	if (rte_eth_from_rings(name, in, queues, out, queues, 0) >= 0)
		return;
	printf("skipped: no port of net_ring: %s\n", rte_strerror(rte_errno));
	exit(77);
}

static void make_ports(enum side side, const char *name, const char *wide)
{
	struct rte_ring *silent = make_ring(side == EAST ? "silent_east" : "silent_west");
	struct rte_ring *in[2] = {to[side], silent}, *out[2] = {to[!side], to[!side]};

	make_port(name, in, out, 1);
	make_port(wide, in, out, 2);
}

void bench_start(void)
{
	/* a hang would be the only sign of a lost wake-up: say which case it is */
	setvbuf(stdout, NULL, _IOLBF, 0);
	start_eal();
	to[EAST] = make_ring("westward");
	to[WEST] = make_ring("eastward");
	make_ports(EAST, "east", "wide_east");
	make_ports(WEST, "west", "wide_west");
}

const char *bench_port(enum side side, enum mode mode)
{
	static const char *const names[2][2] = {
		{"net_ring_east", "net_ring_wide_east"}, {"net_ring_west", "net_ring_wide_west"}};

	return names[side][mode == MIXED];
}

const char *bench_arguments(enum side side, enum mode mode)
{
	static const char *const arguments[2][3] = {
		{"--port net_ring_east --address 10.0.0.1/24 --mac 02:00:00:00:00:01 --mode inline",
			"--port net_ring_east --address 10.0.0.1/24 --mac 02:00:00:00:00:01 "
			"--mode dedicated --lcore 1",
			"--port net_ring_wide_east --address 10.0.0.1/24 --mac 02:00:00:00:00:01 "
			"--mode mixed --lcore 1 --cores 2"},
		{"--port net_ring_west --address 10.0.0.2/24 --mac 02:00:00:00:00:02 --mode inline",
			"--port net_ring_west --address 10.0.0.2/24 --mac 02:00:00:00:00:02 "
			"--mode dedicated --lcore 1",
			"--port net_ring_wide_west --address 10.0.0.2/24 --mac 02:00:00:00:00:02 "
			"--mode mixed --lcore 1 --cores 2"},
	};

	return arguments[side][mode];
}

uint32_t bench_take_frame(enum side side, uint8_t *frame, uint32_t room)
{
	struct rte_mbuf *mbuf;
	uint32_t length;

	if (rte_ring_dequeue(to[side], (void **)&mbuf) != 0)
		return 0;
	length = mbuf->pkt_len < room ? mbuf->pkt_len : room;
	memcpy(frame, rte_pktmbuf_mtod(mbuf, uint8_t *), length);
	rte_pktmbuf_free(mbuf);
	return length;
}

/* ---- nodes ---- */

static void replace(struct node *old, struct node *new)
{
	uint32_t i = 0;

	while (i < NODES && nodes[i] != old)
		i++;
	CU_ASSERT_FATAL(i < NODES);
	__atomic_store_n(&nodes[i], new, __ATOMIC_RELEASE);
}

void node_open_again(struct node *node, struct uroce_engine *engine)
{
	node->engine = engine;
	node->idle = NULL;
	node->context = ibv_open_device(uroce_engine_device(engine));
	CU_ASSERT_PTR_NOT_NULL_FATAL(node->context);
	node->pd = ibv_alloc_pd(node->context);
	CU_ASSERT_PTR_NOT_NULL_FATAL(node->pd);
	node->memory = aligned_alloc(4096, NODE_MEMORY);
	CU_ASSERT_PTR_NOT_NULL_FATAL(node->memory);
	pattern_clear(node->memory, NODE_MEMORY);
	node->mr = ibv_reg_mr(node->pd, node->memory, NODE_MEMORY,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			IBV_ACCESS_REMOTE_ATOMIC);
	CU_ASSERT_PTR_NOT_NULL_FATAL(node->mr);
	node->cq = ibv_create_cq(node->context, 512, node, NULL, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(node->cq);
	replace(NULL, node);
}

static struct ibv_qp *create_idle(struct node *node)
{
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC,
		.send_cq = node->cq,
		.recv_cq = node->cq,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1}};
	struct ibv_qp *qp = ibv_create_qp(node->pd, &init);

	CU_ASSERT_PTR_NOT_NULL_FATAL(qp);
	return qp;
}

void node_open_line(struct node *node, const char *arguments)
{
	struct uroce_engine *engine = uroce_engine_create_line(arguments);

	CU_ASSERT_PTR_NOT_NULL_FATAL(engine);
	node_open_again(node, engine);
}

void node_open(struct node *node, enum side side, enum mode mode)
{
	node_open_line(node, bench_arguments(side, mode));
	if (mode == MIXED)
		node->idle = create_idle(node);
}

void node_close_again(struct node *node)
{
	replace(node, NULL);
	if (node->idle)
		CU_ASSERT_EQUAL(ibv_destroy_qp(node->idle), 0);
	CU_ASSERT_EQUAL(ibv_destroy_cq(node->cq), 0);
	CU_ASSERT_EQUAL(ibv_dereg_mr(node->mr), 0);
	CU_ASSERT_EQUAL(ibv_dealloc_pd(node->pd), 0);
	CU_ASSERT_EQUAL(ibv_close_device(node->context), 0);
	free(node->memory);
}

void node_close(struct node *node)
{
	node_close_again(node);
	CU_ASSERT_EQUAL(uroce_engine_destroy(node->engine), 0);
}

/* ---- waiting ---- */

double bench_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* uroce_engine_poll() leaves a dedicated engine alone. */
static unsigned int drive_all(void)
{
	unsigned int moved = 0;

	for (uint32_t i = 0; i < NODES; i++) {
		struct node *node = __atomic_load_n(&nodes[i], __ATOMIC_ACQUIRE);

		if (node)
			moved += uroce_engine_poll(node->engine);
	}
	return moved;
}

void bench_drive(void)
{
	if (drive_all() == 0)
		sched_yield();
}

/* A command is answered in a round of its engine, a dedicated one's too. */
void bench_settle(void)
{
	uint64_t value;

	for (uint32_t round = 0; round < SETTLE_ROUNDS; round++) {
		while (drive_all() > 0)
			continue;
		for (uint32_t i = 0; i < NODES; i++)
			if (nodes[i])
				CU_ASSERT_EQUAL(
					uroce_query_counters(nodes[i]->context, &value, 1), 0);
	}
}

struct ibv_wc bench_any_completion(struct ibv_cq *cq)
{
	struct ibv_wc wc = {0};
	int polled = 0;

	CU_ASSERT_FATAL(bench_until((polled = ibv_poll_cq(cq, 1, &wc)) != 0));
	CU_ASSERT_EQUAL_FATAL(polled, 1);
	return wc;
}

struct ibv_wc bench_complete(struct ibv_cq *cq)
{
	struct ibv_wc wc = bench_any_completion(cq);

	if (wc.status != IBV_WC_SUCCESS)
		fprintf(stderr, "completion %lu: %s\n", (unsigned long)wc.wr_id,
			ibv_wc_status_str(wc.status));
	CU_ASSERT_EQUAL_FATAL(wc.status, IBV_WC_SUCCESS);
	return wc;
}

void bench_no_completion(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	bench_settle();
	CU_ASSERT_EQUAL(ibv_poll_cq(cq, 1, &wc), 0);
}

uint64_t bench_counter(struct ibv_context *context, const char *name)
{
	uint64_t values[256];
	unsigned int count = uroce_counter_count();

	CU_ASSERT_FATAL(count <= 256);
	CU_ASSERT_EQUAL_FATAL(uroce_query_counters(context, values, count), 0);
	for (unsigned int i = 0; i < count; i++)
		if (strcmp(uroce_counter_name(i), name) == 0)
			return values[i];
	CU_FAIL_FATAL("no such counter");
	return 0;
}
