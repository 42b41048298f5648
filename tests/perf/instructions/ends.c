/* SPDX-License-Identifier: BSD-3-Clause */
/* Wire, engines, devices, and QPs in RTS. */
#include <stdio.h>
#include <stdlib.h>

#include <uroce/uroce.h>

#include "ends.h"

#define FIRST_ADDRESS 0x0a000001u
#define QPS_MAX 32768u
#define FIRST_PSN 0x1000u
#define NOBODY 0x00beefu

#define FLAGS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

void must(bool so, const char *what)
{
	if (so)
		return;
	printf("failed: %s\n", what);
	exit(1);
}

static uint64_t read_clock(void *context)
{
	return ((const struct ends *)context)->now;
}

static void open_engine(struct ends *ends, unsigned int number)
{
	struct loop_end_config attachment = {.gid_count = 1};
	struct end *end = &ends->end[number];
	char name[] = "uroceN";
	struct engine_config config = {
		.name = name,
		.clock = read_clock,
		.clock_context = ends,
		.seed = number + 1,
		.max_qp = QPS_MAX,
		.region_size = 1ull << 30,
	};
	struct port *inner;

	name[5] = (char)('0' + number);
	attachment.gids[0] = loop_gid4(FIRST_ADDRESS + number, 24);
	must(loop_add_end(ends->wire, &attachment, &inner) == 0, "end of the wire");
	metered_port_init(&end->port, inner, &ends->meter);
	config.port = &end->port.port;
	must(engine_create(&config, &end->engine) == 0, "engine");
	end->context = ibv_open_device(uroce_find_device(name));
	must(end->context, "device");
}

static struct ibv_qp *create_qp(const struct end *end, uint32_t depth)
{
	struct ibv_qp_init_attr init = {
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.cap = {.max_send_wr = depth,
			.max_recv_wr = depth,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = ibv_create_qp(end->pd, &init);

	must(qp, "QP");
	return qp;
}

static void open_objects(struct end *end)
{
	end->pd = ibv_alloc_pd(end->context);
	must(end->pd, "PD");
	end->cq = ibv_create_cq(end->context, 4 * DEPTH, NULL, NULL, 0);
	must(end->cq, "CQ");
	end->qp = create_qp(end, DEPTH);
	end->mr = ibv_reg_mr(end->pd, end->memory, sizeof(end->memory), FLAGS);
	must(end->mr, "MR");
	must(ibv_query_gid(end->context, 1, 0, &end->gid) == 0, "GID");
}

static void connect_qp(struct ibv_qp *qp, union ibv_gid gid, uint32_t number)
{
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = FLAGS};
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = number,
		.rq_psn = FIRST_PSN,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = gid, .hop_limit = 64}},
	};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = FIRST_PSN,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};

	must(ibv_modify_qp(qp, &init,
		     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
		"INIT");
	must(ibv_modify_qp(qp, &rtr,
		     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
		"RTR");
	must(ibv_modify_qp(qp, &rts,
		     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0,
		"RTS");
}

void ends_open(struct ends *ends)
{
	struct loop_config config = {.clock = read_clock, .clock_context = ends};

	ends->now = 1000000;
	must(loop_create(&config, &ends->wire) == 0, "wire");
	for (unsigned int i = 0; i < ENDS; i++) {
		open_engine(ends, i);
		open_objects(&ends->end[i]);
	}
	for (unsigned int i = 0; i < ENDS; i++)
		connect_qp(ends->end[i].qp, ends->end[!i].gid, ends->end[!i].qp->qp_num);
}

void ends_add_idle(struct ends *ends)
{
	connect_qp(create_qp(&ends->end[REQUESTER], 1), ends->end[RESPONDER].gid, NOBODY);
}
