/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection, made as ibv_rc_pingpong makes it: what a QP needs to know goes over TCP. */
#include <stdlib.h>
#include <string.h>

#include <uroce/uroce.h>

#include "demo.h"

static void create(struct link *link)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap =
			{
				.max_send_wr = DEMO_DEPTH,
				.max_recv_wr = DEMO_DEPTH,
				.max_send_sge = 1,
				.max_recv_sge = 1,
				.max_inline_data = 64,
			},
	};

	link->cq = ibv_create_cq(link->side->context, 2 * (int)DEMO_DEPTH, NULL, NULL, 0);
	if (!link->cq)
		die("no completion queue");
	init.send_cq = link->cq;
	init.recv_cq = link->cq;
	link->qp = ibv_create_qp(link->side->pd, &init);
	if (!link->qp)
		die("no queue pair");
}

static void to_init(struct link *link)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};

	if (ibv_modify_qp(link->qp, &attr,
		    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0)
		die("modify to INIT failed");
}

/* Ack time-out 4.096 us x 2^14 = 67 ms, 7 retries. */
static void fill_rts(const struct link *link, struct ibv_qp_attr *attr)
{
	attr->sq_psn = link->own.psn;
	attr->timeout = 14;
	attr->retry_cnt = 7;
	attr->rnr_retry = 7;
	attr->max_rd_atomic = 16;
}

#define RTS_MASK                                                                                   \
	(IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |                    \
		IBV_QP_MAX_QP_RD_ATOMIC)

static void to_rtr(struct link *link, bool armed)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = link->peer.qp_num,
		.rq_psn = link->peer.psn,
		.max_dest_rd_atomic = 16,
		.min_rnr_timer = 12,
		.ah_attr =
			{
				.is_global = 1,
				.port_num = 1,
				.grh = {.dgid = link->peer.gid, .hop_limit = 64},
			},
	};
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	int error;

	/* The RTS attributes in the move to RTR arm the QP: it holds what is posted. */
	if (armed) {
		fill_rts(link, &attr);
		mask |= RTS_MASK;
	}
	error = ibv_modify_qp(link->qp, &attr, mask);
	if (error)
		die("modify to RTR failed: %s", strerror(error));
}

int link_to_rts(struct link *link)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS};

	fill_rts(link, &attr);
	return ibv_modify_qp(link->qp, &attr, IBV_QP_STATE | RTS_MASK);
}

void link_open(struct link *link, struct side *side, enum reach reach)
{
	memset(link, 0, sizeof(*link));
	link->side = side;
	create(link);
	if (reach == REACH_RTR_STRICT && uroce_qp_set_policy(link->qp, UROCE_POLICY_STRICT) != 0)
		die("the policy could not be set");
	to_init(link);
	link->own.qp_num = link->qp->qp_num;
	link->own.psn = (uint32_t)rand() & 0xffffff;
	link->own.rkey = side->mr->rkey;
	link->own.address = (uintptr_t)side->memory;
	if (ibv_query_gid(side->context, 1, 0, &link->own.gid) != 0)
		die("no GID");
	socket_swap(side->socket, &link->own, &link->peer, sizeof(link->own));
	to_rtr(link, reach == REACH_RTR_ARMED);
	if (reach == REACH_RTS && link_to_rts(link) != 0)
		die("modify to RTS failed");
	meet(side);
}

void link_close(struct link *link)
{
	meet(link->side);
	if (ibv_destroy_qp(link->qp) != 0 || ibv_destroy_cq(link->cq) != 0)
		die("a queue could not be destroyed");
}

enum ibv_qp_state link_state(struct link *link)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	if (ibv_query_qp(link->qp, &attr, IBV_QP_STATE, &init) != 0)
		die("query failed");
	return attr.qp_state;
}

int post_recv(struct link *link, uint64_t id, uint64_t offset, uint32_t length)
{
	struct ibv_sge sge = {(uintptr_t)link->side->memory + offset, length, link->side->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;

	return ibv_post_recv(link->qp, &wr, &bad);
}

int post_send(struct link *link, enum ibv_wr_opcode opcode, uint64_t id, uint64_t offset,
	uint32_t length, uint64_t remote_offset, bool signaled)
{
	struct ibv_sge sge = {(uintptr_t)link->side->memory + offset, length, link->side->mr->lkey};
	struct ibv_send_wr wr = {
		.wr_id = id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = signaled ? IBV_SEND_SIGNALED : 0,
		.wr.rdma = {.remote_addr = link->peer.address + remote_offset,
			.rkey = link->peer.rkey},
	};
	struct ibv_send_wr *bad;

	return ibv_post_send(link->qp, &wr, &bad);
}

bool next_completion(struct link *link, struct ibv_wc *wc, double seconds)
{
	double end = seconds_now() + seconds;

	do {
		for (int i = 0; i < 1000; i++) {
			int n = ibv_poll_cq(link->cq, 1, wc);

			if (n < 0)
				die("ibv_poll_cq failed");
			if (n == 1)
				return true;
		}
	} while (seconds_now() < end);
	return false;
}

void must_complete(struct link *link, struct ibv_wc *wc)
{
	if (!next_completion(link, wc, 30))
		die("no completion within 30 s");
	if (wc->status != IBV_WC_SUCCESS)
		die("completion with %s", ibv_wc_status_str(wc->status));
}
