/* SPDX-License-Identifier: BSD-3-Clause */
/* A side's engine, its memory, and its QPs, connected to the other side's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uroce/uroce.h>

#include "bench.h"

#define PSN 0x123456u
#define INLINE_MAX 64u
#define RD_ATOMIC 16u
#define COUNTERS_MAX 512u

/* ---- the engine ---- */

static void open_engine(struct side *side)
{
	char line[256], mac[64] = "";

	if (side->port == PORT_RING)
		snprintf(mac, sizeof(mac), " --mac 02:00:00:00:00:0%d", 1 + (int)side->role);
	snprintf(line, sizeof(line),
		"--port %s --address 10.98.0.%d/24 --mtu %u --mode inline "
		"--progress off%s",
		side->device, 1 + (int)side->role, port_mtu(side), mac);
	side->engine = uroce_engine_create_line(line);
	if (!side->engine)
		die("the engine does not start");
}

static void open_device(struct side *side)
{
	side->context = ibv_open_device(uroce_engine_device(side->engine));
	if (!side->context)
		die("the device cannot be opened");
	side->pd = ibv_alloc_pd(side->context);
	side->cq = ibv_create_cq(side->context, 4096, NULL, NULL, 0);
	side->out = aligned_alloc(4096, 2ull * BUFFER_SIZE);
	if (!side->pd || !side->cq || !side->out)
		die("no protection domain, completion queue or memory");
	side->in = side->out + BUFFER_SIZE;
	memset(side->out, 7, 2ull * BUFFER_SIZE);
	side->mr = ibv_reg_mr(side->pd, side->out, 2ull * BUFFER_SIZE,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	if (!side->mr)
		die("the memory cannot be registered");
}

/* ---- QPs ---- */

static struct ibv_qp *create_qp(struct side *side)
{
	struct ibv_qp_init_attr init = {
		.send_cq = side->cq,
		.recv_cq = side->cq,
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = side->test->depth,
			.max_recv_wr = 4 * side->test->depth,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = INLINE_MAX},
	};
	struct ibv_qp *qp = ibv_create_qp(side->pd, &init);

	if (!qp)
		die("a queue pair cannot be created");
	return qp;
}

static void modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int error = ibv_modify_qp(qp, attr, mask | IBV_QP_STATE);

	if (error)
		die("a modify to state %d failed: %s", (int)attr->qp_state, strerror(error));
}

static void to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};

	modify(qp, &attr, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static enum ibv_mtu mtu_code(uint32_t mtu)
{
	if (mtu == 4096)
		return IBV_MTU_4096;
	return mtu == 2048 ? IBV_MTU_2048 : IBV_MTU_1024;
}

static void to_rtr(struct side *side, uint32_t i)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu_code(side->test->mtu),
		.dest_qp_num = peer_of(side)->qp_num[i],
		.rq_psn = PSN,
		.max_dest_rd_atomic = RD_ATOMIC,
		.min_rnr_timer = 1,
		.ah_attr = {.is_global = 1,
			.port_num = 1,
			.grh = {.dgid = peer_of(side)->gid, .hop_limit = 64}},
	};

	modify(side->qps[i], &attr,
		IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

/* Ack time-out 4.096 us x 2^14 = 67 ms: a side that other load keeps from its CPU is
 * waited for. */
static void to_rts(struct side *side, uint32_t i)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = PSN,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = RD_ATOMIC,
	};

	modify(side->qps[i], &attr,
		IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC);
}

static void connect_qps(struct side *side)
{
	struct endpoint *own = &side->shared->of[side->role].endpoint;

	for (uint32_t i = 0; i < side->test->qps; i++) {
		side->qps[i] = create_qp(side);
		to_init(side->qps[i]);
		own->qp_num[i] = side->qps[i]->qp_num;
	}
	own->address = (uintptr_t)side->out;
	own->rkey = side->mr->rkey;
	if (ibv_query_gid(side->context, 1, 0, &own->gid) != 0)
		die("there is no GID");
	meet(side);
	for (uint32_t i = 0; i < side->test->qps; i++) {
		to_rtr(side, i);
		to_rts(side, i);
	}
	meet(side);
}

/* ---- all of it ---- */

void node_open(struct side *side)
{
	port_open(side);
	/* engines are created one at a time */
	if (side->role == ACTIVE)
		meet(side);
	open_engine(side);
	if (side->role == PASSIVE)
		meet(side);
	meet(side);
	open_device(side);
	connect_qps(side);
}

static void close_device(struct side *side)
{
	for (uint32_t i = 0; i < side->test->qps; i++)
		if (ibv_destroy_qp(side->qps[i]) != 0)
			die("a queue pair cannot be destroyed");
	if (ibv_destroy_cq(side->cq) != 0 || ibv_dereg_mr(side->mr) != 0 ||
		ibv_dealloc_pd(side->pd) != 0 || ibv_close_device(side->context) != 0)
		die("something cannot be destroyed");
	free(side->out);
}

/* net_memif may crash if one side's port goes while the other polls (its interrupt thread unmaps
 * what the poll reads): nobody polls while the passive side closes, then it is the active one's
 * turn. */
void node_close(struct side *side)
{
	struct uroce_engine *engine = side->engine;

	meet(side);
	close_device(side);
	meet(side);
	side->engine = NULL;
	meet(side);
	if (side->role == ACTIVE)
		meet(side);
	if (uroce_engine_destroy(engine) != 0)
		die("the engine cannot be destroyed");
	if (side->role == PASSIVE)
		meet(side);
	meet(side); /* a veth pair goes with the first process that ends */
	port_remove(side);
}

void check_completion(const struct ibv_wc *wc)
{
	if (wc->status != IBV_WC_SUCCESS)
		die("a request ended with: %s", ibv_wc_status_str(wc->status));
}

int poll_completions(struct side *side, int count, struct ibv_wc *wc)
{
	int n = ibv_poll_cq(side->cq, count, wc);

	if (n < 0)
		die("ibv_poll_cq failed");
	for (int i = 0; i < n; i++)
		check_completion(&wc[i]);
	return n;
}

uint64_t node_counter(struct side *side, const char *name)
{
	uint64_t values[COUNTERS_MAX];
	unsigned int count = uroce_counter_count();

	if (count > COUNTERS_MAX || uroce_query_counters(side->context, values, count) != 0)
		die("the counters cannot be read");
	for (unsigned int i = 0; i < count; i++)
		if (strcmp(uroce_counter_name(i), name) == 0)
			return values[i];
	die("there is no counter %s", name);
}
