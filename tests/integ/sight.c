/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sight [EAL WORD...] [-- ARGUMENT...]: two engines of one process, east and west, to be looked at
 * from outside while they do as they are told on standard input, a line each, and say `ok`:
 *
 *   write LENGTH COUNT    east writes into west's memory
 *   read LENGTH COUNT     east reads from there
 *   send LENGTH COUNT     east sends, and west has receives
 *   early COUNT           a new connection: west posts so many in RTR, east's first packet opens
 *   unready               east sends before west has a receive
 *   denied                east writes to a key that isn't west's: both ends go to ERR
 *   gone                  east writes to a QP that is no more, for half a second
 *   quit
 *
 * The arguments behind -- are the east engine's. Whoever tells nothing has engines that are driven
 * all the same. Any failure ends the program with status 1.
 */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_eth_ring.h>

#include <uroce/engine.h>
#include <uroce/uroce.h>

#define WIRE 1024u
#define DEPTH 256u
#define MEMORY (1u << 20)

enum { EAST, WEST };

struct side {
	struct uroce_engine *engine;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	uint8_t *memory;
};

static void need(int condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "sight: %s failed\n", what);
	exit(1);
}

/* ---- set-up ---- */

static void start_eal(int argc, char **argv)
{
	static char words[][24] = {"sight", "--no-huge", "-m", "256", "--no-pci", "--no-shconf",
		"--iova-mode=va", "--log-level=*:error", "-l", "0"};
	char *eal[64];
	int count = 0;
	struct rte_ring *rings[2];

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		eal[count++] = words[i];
	for (int i = 1; i < argc && count < 63; i++)
		eal[count++] = argv[i];
	eal[count] = NULL;
	need(rte_eal_init(count, eal) >= 0, "EAL");
	for (int i = 0; i < 2; i++)
		rings[i] = rte_ring_create(i == EAST ? "westward" : "eastward", WIRE, SOCKET_ID_ANY,
			RING_F_SP_ENQ | RING_F_SC_DEQ);
	need(rings[0] && rings[1], "rings");
	need(rte_eth_from_rings("east", &rings[0], 1, &rings[1], 1, 0) >= 0, "port");
	need(rte_eth_from_rings("west", &rings[1], 1, &rings[0], 1, 0) >= 0, "port");
}

static void open_side(struct side *side, const char *line)
{
	side->engine = uroce_engine_create_line(line);
	need(side->engine != NULL, "engine");
	side->context = ibv_open_device(uroce_engine_device(side->engine));
	need(side->context != NULL, "device");
	side->pd = ibv_alloc_pd(side->context);
	side->cq = ibv_create_cq(side->context, 2 * DEPTH, NULL, NULL, 0);
	side->memory = aligned_alloc(4096, MEMORY);
	need(side->pd && side->cq && side->memory, "memory");
	memset(side->memory, 'u', MEMORY);
	side->mr = ibv_reg_mr(side->pd, side->memory, MEMORY,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	need(side->mr != NULL, "region");
}

static void close_side(struct side *side)
{
	need(ibv_destroy_qp(side->qp) == 0 && ibv_dereg_mr(side->mr) == 0 &&
			ibv_destroy_cq(side->cq) == 0 && ibv_dealloc_pd(side->pd) == 0 &&
			ibv_close_device(side->context) == 0 &&
			uroce_engine_destroy(side->engine) == 0,
		"closing");
	free(side->memory);
}

/* ---- connections ---- */

static void drive(struct side *sides)
{
	uroce_engine_poll(sides[EAST].engine);
	uroce_engine_poll(sides[WEST].engine);
}

#define RTS_MASK                                                                                   \
	(IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |                    \
		IBV_QP_MAX_QP_RD_ATOMIC)

static void create_qp(struct side *side)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = side->cq,
		.recv_cq = side->cq,
		.cap = {.max_send_wr = DEPTH,
			.max_recv_wr = DEPTH,
			.max_send_sge = 1,
			.max_recv_sge = 1},
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};

	if (side->qp)
		need(ibv_destroy_qp(side->qp) == 0, "destroying");
	side->qp = ibv_create_qp(side->pd, &init);
	need(side->qp &&
			ibv_modify_qp(side->qp, &attr,
				IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					IBV_QP_ACCESS_FLAGS) == 0,
		"queue pair");
}

/* To RTR, armed. */
static void to_rtr(struct side *side, const struct side *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp->qp_num,
		.rq_psn = peer->qp->qp_num & 0xffff,
		.max_dest_rd_atomic = 8,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 64}},
		.sq_psn = side->qp->qp_num & 0xffff,
		.timeout = 16,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 8,
	};

	need(ibv_query_gid(peer->context, 1, 0, &attr.ah_attr.grh.dgid) == 0, "GID");
	need(ibv_modify_qp(side->qp, &attr,
		     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER | RTS_MASK) == 0,
		"RTR");
}

static void to_rts(struct side *side)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS,
		.sq_psn = side->qp->qp_num & 0xffff,
		.timeout = 16,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 8};

	need(ibv_modify_qp(side->qp, &attr, IBV_QP_STATE | RTS_MASK) == 0, "RTS");
}

/* A modify waits for the peer's answer to its ARP, and the peer is here as well. */
struct driver {
	struct side *sides;
	int stop; /* atomic */
};

static void *keep_driving(void *context)
{
	struct driver *driver = context;

	while (!__atomic_load_n(&driver->stop, __ATOMIC_RELAXED)) {
		drive(driver->sides);
		sched_yield();
	}
	return NULL;
}

static void connect_up_to_rtr(struct side *sides)
{
	struct driver driver = {.sides = sides};
	pthread_t thread;

	need(pthread_create(&thread, NULL, keep_driving, &driver) == 0, "thread");
	create_qp(&sides[EAST]);
	create_qp(&sides[WEST]);
	to_rtr(&sides[WEST], &sides[EAST]);
	to_rtr(&sides[EAST], &sides[WEST]);
	to_rts(&sides[EAST]);
	__atomic_store_n(&driver.stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

static void connect_both(struct side *sides)
{
	connect_up_to_rtr(sides);
	to_rts(&sides[WEST]);
}

/* ---- work ---- */

static void post_send(struct side *side, const struct side *peer, enum ibv_wr_opcode opcode,
	uint32_t length, uint32_t rkey)
{
	struct ibv_sge sge = {(uintptr_t)side->memory, length, side->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {(uintptr_t)peer->memory, rkey}};
	struct ibv_send_wr *bad;

	need(ibv_post_send(side->qp, &wr, &bad) == 0, "post");
}

static void post_recv(struct side *side, uint32_t length)
{
	struct ibv_sge sge = {(uintptr_t)side->memory, length, side->mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;

	need(ibv_post_recv(side->qp, &wr, &bad) == 0, "post");
}

static void complete(struct side *sides, struct side *side, enum ibv_wc_status status)
{
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(side->cq, 1, &wc)) == 0)
		drive(sides);
	need(n == 1 && wc.status == status, "completion");
}

/* One at a time: what is on the wire is always the same. */
static void rdma(struct side *sides, enum ibv_wr_opcode opcode, uint32_t length, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		post_send(&sides[EAST], &sides[WEST], opcode, length, sides[WEST].mr->rkey);
		complete(sides, &sides[EAST], IBV_WC_SUCCESS);
	}
}

static void sends(struct side *sides, uint32_t length, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		post_recv(&sides[WEST], length);
		post_send(&sides[EAST], &sides[WEST], IBV_WR_SEND, length, 0);
		complete(sides, &sides[WEST], IBV_WC_SUCCESS);
		complete(sides, &sides[EAST], IBV_WC_SUCCESS);
	}
}

static void early(struct side *sides, uint32_t count)
{
	connect_up_to_rtr(sides);
	for (uint32_t i = 0; i < count; i++) {
		post_recv(&sides[EAST], 64);
		post_send(&sides[WEST], &sides[EAST], IBV_WR_SEND, 64, 0);
	}
	rdma(sides, IBV_WR_RDMA_WRITE, 8, 1);
	for (uint32_t i = 0; i < count; i++) {
		complete(sides, &sides[WEST], IBV_WC_SUCCESS);
		complete(sides, &sides[EAST], IBV_WC_SUCCESS);
	}
}

static void unready(struct side *sides)
{
	post_send(&sides[EAST], &sides[WEST], IBV_WR_SEND, 8, 0);
	for (int i = 0; i < 1000; i++)
		drive(sides);
	post_recv(&sides[WEST], 8);
	complete(sides, &sides[WEST], IBV_WC_SUCCESS);
	complete(sides, &sides[EAST], IBV_WC_SUCCESS);
}

static void denied(struct side *sides)
{
	post_send(&sides[EAST], &sides[WEST], IBV_WR_RDMA_WRITE, 8, 0x12345600);
	complete(sides, &sides[EAST], IBV_WC_REM_ACCESS_ERR);
	connect_both(sides);
}

static void gone(struct side *sides)
{
	struct timespec now;
	double end;

	need(ibv_destroy_qp(sides[WEST].qp) == 0, "destroying");
	sides[WEST].qp = NULL;
	post_send(&sides[EAST], &sides[WEST], IBV_WR_RDMA_WRITE, 8, sides[WEST].mr->rkey);
	clock_gettime(CLOCK_MONOTONIC, &now);
	end = (double)now.tv_sec + (double)now.tv_nsec * 1e-9 + 0.5;
	while ((double)now.tv_sec + (double)now.tv_nsec * 1e-9 < end) {
		drive(sides);
		clock_gettime(CLOCK_MONOTONIC, &now);
	}
	connect_both(sides);
}

/* ---- orders ---- */

/* False: that was the last. */
static int obey(struct side *sides, const char *line)
{
	unsigned int length = 0, count = 0;

	if (sscanf(line, "write %u %u", &length, &count) == 2)
		rdma(sides, IBV_WR_RDMA_WRITE, length, count);
	else if (sscanf(line, "read %u %u", &length, &count) == 2)
		rdma(sides, IBV_WR_RDMA_READ, length, count);
	else if (sscanf(line, "send %u %u", &length, &count) == 2)
		sends(sides, length, count);
	else if (sscanf(line, "early %u", &count) == 1)
		early(sides, count);
	else if (strcmp(line, "unready\n") == 0)
		unready(sides);
	else if (strcmp(line, "denied\n") == 0)
		denied(sides);
	else if (strcmp(line, "gone\n") == 0)
		gone(sides);
	else
		return 0;
	return 1;
}

static void serve(struct side *sides)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	char line[128];

	setvbuf(stdin, NULL, _IONBF, 0);
	do {
		printf("ok\n");
		fflush(stdout);
		while (poll(&input, 1, 0) == 0)
			drive(sides);
	} while (fgets(line, sizeof(line), stdin) && obey(sides, line));
}

int main(int argc, char **argv)
{
	char line[2048] = "--port net_ring_east --address 10.0.0.1/24 --mac 02:00:00:00:00:01 "
			  "--name east";
	struct side sides[2] = {0};
	int eal = 1;

	while (eal < argc && strcmp(argv[eal], "--") != 0)
		eal++;
	for (int i = eal + 1; i < argc; i++)
		snprintf(line + strlen(line), sizeof(line) - strlen(line), " %s", argv[i]);
	start_eal(eal, argv);
	open_side(&sides[EAST], line);
	open_side(&sides[WEST],
		"--port net_ring_west --address 10.0.0.2/24 "
		"--mac 02:00:00:00:00:02 --name west");
	connect_both(sides);
	serve(sides);
	close_side(&sides[EAST]);
	close_side(&sides[WEST]);
	return 0;
}
