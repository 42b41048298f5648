/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue pairs from RESET to where the case wants them. */
#include <pthread.h>
#include <string.h>

#include <uroce/uroce.h>

#include "link.h"

static void create(struct end *end)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = end->send_cq ? end->send_cq : end->node->cq,
		.recv_cq = end->recv_cq ? end->recv_cq : end->node->cq,
		.srq = end->srq,
		.cap =
			{
				.max_send_wr = LINK_DEPTH,
				.max_recv_wr = LINK_DEPTH,
				.max_send_sge = LINK_SGES,
				.max_recv_sge = LINK_SGES,
				.max_inline_data = LINK_INLINE,
			},
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};

	end->qp = ibv_create_qp(end->node->pd, &init);
	CU_ASSERT_PTR_NOT_NULL_FATAL(end->qp);
	CU_ASSERT_EQUAL_FATAL(
		ibv_modify_qp(end->qp, &attr,
			IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		0);
	/* Near the wrap, on one side each time. */
	end->psn = end->qp->qp_num & 1 ? 0xfffff0 : end->qp->qp_num;
}

#define RTS_MASK                                                                                   \
	(IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |                    \
		IBV_QP_MAX_QP_RD_ATOMIC)

/* Ack time-out 4.096 us x 2^18 = 1.07 s, 7 retries: a busy machine must not break a connection. */
static void fill_rts(const struct end *end, struct ibv_qp_attr *attr)
{
	attr->sq_psn = end->psn;
	attr->timeout = 18;
	attr->retry_cnt = 7;
	attr->rnr_retry = 7;
	attr->max_rd_atomic = 8;
}

static void to_rtr(struct end *end, enum ibv_mtu mtu, bool armed)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu,
		.dest_qp_num = end->peer->qp->qp_num,
		.rq_psn = end->peer->psn,
		.max_dest_rd_atomic = 8,
		.min_rnr_timer = 5,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 64}},
	};
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;

	CU_ASSERT_EQUAL_FATAL(
		ibv_query_gid(end->peer->node->context, 1, 0, &attr.ah_attr.grh.dgid), 0);
	if (armed) {
		fill_rts(end, &attr);
		mask |= RTS_MASK;
	}
	CU_ASSERT_EQUAL_FATAL(ibv_modify_qp(end->qp, &attr, mask), 0);
}

int end_to_rts(struct end *end)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS};

	fill_rts(end, &attr);
	return ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | RTS_MASK);
}

int end_modify(struct end *end, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};

	return ibv_modify_qp(end->qp, &attr, IBV_QP_STATE);
}

enum ibv_qp_state end_state(struct end *end)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CU_ASSERT_EQUAL_FATAL(ibv_query_qp(end->qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

/* ---- both ends ---- */

/*
 * A move to RTR waits for the peer's MAC, and the peer may be an inline engine that this thread
 * would have to drive: somebody else does so meanwhile, as in a program of several threads.
 */
static void *drive(void *stop)
{
	while (!__atomic_load_n((bool *)stop, __ATOMIC_RELAXED))
		bench_drive();
	return NULL;
}

static void connect_ends(struct link *link, enum reach reach)
{
	struct end *passive = &link->ends[0], *active = &link->ends[1];
	bool stop = false;
	pthread_t driver;

	CU_ASSERT_EQUAL_FATAL(pthread_create(&driver, NULL, drive, &stop), 0);
	to_rtr(passive, link->mtu, reach == REACH_RTR_ARMED);
	if (reach == REACH_RTS)
		CU_ASSERT_EQUAL(end_to_rts(passive), 0);
	to_rtr(active, link->mtu, false);
	CU_ASSERT_EQUAL(end_to_rts(active), 0);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(driver, NULL);
}

void link_open_as_set(struct link *link, enum reach reach)
{
	if (!link->mtu)
		link->mtu = IBV_MTU_1024;
	for (int i = 0; i < 2; i++) {
		link->ends[i].peer = &link->ends[1 - i];
		create(&link->ends[i]);
	}
	if (reach == REACH_RTR_STRICT)
		CU_ASSERT_EQUAL_FATAL(
			uroce_qp_set_policy(link->ends[0].qp, UROCE_POLICY_STRICT), 0);
	connect_ends(link, reach);
}

void link_open(struct link *link, struct node *passive, struct node *active, enum reach reach)
{
	memset(link, 0, sizeof(*link));
	link->ends[0].node = passive;
	link->ends[1].node = active;
	link_open_as_set(link, reach);
}

void link_open_to_itself(struct link *link)
{
	struct end *end = &link->ends[0];

	end->peer = end;
	create(end);
	to_rtr(end, IBV_MTU_1024, false);
	CU_ASSERT_EQUAL(end_to_rts(end), 0);
}

void link_close(struct link *link)
{
	CU_ASSERT_EQUAL(ibv_destroy_qp(link->ends[1].qp), 0);
	CU_ASSERT_EQUAL(ibv_destroy_qp(link->ends[0].qp), 0);
}

/* ---- requests of one piece ---- */

int end_send(struct end *end, struct ibv_send_wr *wr, uint64_t offset, uint32_t length,
	uint64_t remote_offset)
{
	struct ibv_sge sge = {(uintptr_t)end->node->memory + offset, length, end->node->mr->lkey};
	uint64_t remote = (uintptr_t)end->peer->node->memory + remote_offset;
	uint32_t rkey = end->peer->node->mr->rkey;
	struct ibv_send_wr *bad;

	wr->sg_list = &sge;
	wr->num_sge = 1;
	wr->next = NULL;
	if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic.remote_addr = remote;
		wr->wr.atomic.rkey = rkey;
	} else if (wr->opcode != IBV_WR_SEND && wr->opcode != IBV_WR_SEND_WITH_IMM) {
		wr->wr.rdma.remote_addr = remote;
		wr->wr.rdma.rkey = rkey;
	}
	return ibv_post_send(end->qp, wr, &bad);
}

int end_recv(struct end *end, uint64_t id, uint64_t offset, uint32_t length)
{
	struct ibv_sge sge = {(uintptr_t)end->node->memory + offset, length, end->node->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;

	return ibv_post_recv(end->qp, &wr, &bad);
}
