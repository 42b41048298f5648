/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections with random attributes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connect.h"

static void must(int error, const char *what)
{
	if (error) {
		fprintf(stderr, "sim: %s: error %d\n", what, error);
		abort();
	}
}

static void create(struct world *world, struct half *half)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = half->end->cq,
		.recv_cq = half->end->cq,
		.srq = half->end->srq,
		.cap =
			{
				.max_send_wr = half->depth,
				.max_recv_wr = half->recv_depth,
				.max_send_sge = 3,
				.max_recv_sge = 1,
				.max_inline_data = 64,
			},
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};

	half->qp = ibv_create_qp(half->end->pd, &init);
	must(!half->qp, "ibv_create_qp");
	must(ibv_modify_qp(half->qp, &attr,
		     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		"to INIT");
	/* half of the PSNs start shortly before the wrap */
	half->psn = world_chance(world, 50) ? 0xffffff - world_between(world, 0, 40)
					    : world_between(world, 0, 0xffffff);
}

#define RTR_MASK                                                                                   \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |            \
		IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS_ATTRS                                                                                  \
	(IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |                    \
		IBV_QP_MAX_QP_RD_ATOMIC)

struct agreed {
	enum ibv_mtu mtu;
	int gid;
	uint8_t depth; /* of READs and atomics, each way */
};

static void fill_rtr(const struct half *half, const struct agreed *agreed, struct ibv_qp_attr *attr)
{
	attr->qp_state = IBV_QPS_RTR;
	attr->path_mtu = agreed->mtu;
	attr->dest_qp_num = half->peer->qp->qp_num;
	attr->rq_psn = half->peer->psn;
	attr->max_dest_rd_atomic = agreed->depth;
	attr->min_rnr_timer = 5;
	attr->ah_attr.is_global = 1;
	attr->ah_attr.port_num = 1;
	attr->ah_attr.grh.sgid_index = (uint8_t)agreed->gid;
	attr->ah_attr.grh.hop_limit = 64;
	must(ibv_query_gid(half->peer->end->context, 1, agreed->gid, &attr->ah_attr.grh.dgid),
		"ibv_query_gid");
}

/* Ack time-out 4.096 us x 2^14 = 67 ms of virtual time; the other attributes as liberal as they go.
 */
static void fill_rts(const struct half *half, const struct agreed *agreed, struct ibv_qp_attr *attr)
{
	attr->sq_psn = half->psn;
	attr->timeout = 14;
	attr->retry_cnt = 7;
	attr->rnr_retry = 7;
	attr->max_rd_atomic = agreed->depth;
}

static void raise_half(struct half *half, const struct agreed *agreed)
{
	struct ibv_qp_attr attr = {0};
	int mask = RTR_MASK;

	fill_rtr(half, agreed, &attr);
	if (half->armed) {
		fill_rts(half, agreed, &attr);
		mask |= RTS_ATTRS;
	}
	must(ibv_modify_qp(half->qp, &attr, mask), "to RTR");
	if (half->armed) {
		oracle_gate(half->flow, true);
		return;
	}
	memset(&attr, 0, sizeof(attr));
	fill_rts(half, agreed, &attr);
	attr.qp_state = IBV_QPS_RTS;
	must(ibv_modify_qp(half->qp, &attr, IBV_QP_STATE | RTS_ATTRS), "to RTS");
}

static void take_buffers(struct world *world, struct half *half)
{
	while (half->buffers_free < half->recv_depth) {
		uint8_t *buffer = world_take(world, half->end, TRAFFIC_ROOM);

		must(!buffer, "memory for receives");
		half->buffers[half->buffers_free++] = buffer;
	}
}

/* Flows that end in the same SRQ share its receives. */
static const struct oracle_flow *shared_pool(
	struct traffic *traffic, uint32_t pair, const struct end *end)
{
	if (!end->srq)
		return NULL;
	for (uint32_t i = 0; i <= pair; i++)
		for (uint32_t j = 0; j < 2; j++)
			if (traffic->half[i][j].flow && traffic->half[i][j].peer->end == end)
				return traffic->half[i][j].flow;
	return NULL;
}

void connect_halves(struct traffic *traffic, uint32_t pair)
{
	struct world *world = traffic->world;
	struct half *half = traffic->half[pair];
	struct agreed agreed = {
		.mtu = (enum ibv_mtu)world_between(world, IBV_MTU_256, IBV_MTU_4096),
		.gid = world_chance(world, 30),
		.depth = (uint8_t)world_between(world, 1, 16),
	};
	/* a bad wire may break a connection rightly */
	bool bad_wire = world->loss > 20000;
	uint64_t zero = 0;

	for (uint32_t j = 0; j < 2; j++) {
		half[j].end = &world->end[world_between(world, 0, world->ends - 1)];
		half[j].peer = &half[1 - j];
		half[j].number = 2 * pair + j;
		half[j].depth = world_between(world, 2, 64);
		half[j].recv_depth = world_between(world, 1, 16);
		half[j].left = world_between(world, 5, 60);
		half[j].max_message = world_chance(world, 20) ? 20000 : 3000;
		half[j].next_id = 1;
	}
	half[1].armed = world_chance(world, 50);
	half[0].breaks = world_chance(world, 15);
	for (uint32_t j = 0; j < 2; j++) {
		half[j].flow = oracle_flow(
			world->oracle, half[j].number, shared_pool(traffic, pair, half[1 - j].end));
		if (bad_wire)
			oracle_may_break(half[j].flow, true);
		create(world, &half[j]);
		take_buffers(world, &half[j]);
		half[j].word = world_take(world, half[1 - j].end, sizeof(zero));
		memcpy(half[j].word, &zero, sizeof(zero));
		oracle_wrote(world->oracle, half[j].word, sizeof(zero));
	}
	world_trace(world, "pair %u: MTU %u, %s, READ depth %u, PSNs 0x%06x and 0x%06x%s%s", pair,
		128u << agreed.mtu, agreed.gid ? "IPv6" : "IPv4", agreed.depth, half[0].psn,
		half[1].psn, half[1].armed ? ", the passive half holds" : "",
		half[0].breaks ? ", ends with a wrong R_Key" : "");
	raise_half(&half[1], &agreed);
	raise_half(&half[0], &agreed);
}
