/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections: every request's completion is waited for, and no other comes. */
#include "load.h"

#include <poll.h>
#include <stdlib.h>

#define PATIENCE 60.0 /* seconds */

static struct ibv_qp *create_qp(struct lane *lane, unsigned int side)
{
	struct ibv_qp_init_attr init = {
		.send_cq = lane->cq[side],
		.recv_cq = lane->cq[side],
		.cap = {.max_send_wr = LANE_DEPTH,
			.max_recv_wr = LANE_DEPTH,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = ibv_create_qp(lane->pd[side], &init);

	stress_require(qp, "queue pair");
	return qp;
}

static void open_side(struct lane *lane, unsigned int side, struct ibv_context *context)
{
	struct load_end *end = &lane->actor->load->end[side];

	lane->context[side] = context ? context : end->context;
	lane->pd[side] = context ? ibv_alloc_pd(context) : end->pd;
	stress_require(lane->pd[side], "protection domain");
	lane->channel[side] = ibv_create_comp_channel(lane->context[side]);
	stress_require(lane->channel[side], "completion channel");
	lane->cq[side] =
		ibv_create_cq(lane->context[side], 4 * LANE_DEPTH, NULL, lane->channel[side], 0);
	stress_require(lane->cq[side], "completion queue");
	lane->qp[side] = create_qp(lane, side);
	lane->buffer[side] = calloc(1, LANE_BUFFER);
	lane->mr[side] = ibv_reg_mr(lane->pd[side], lane->buffer[side], LANE_BUFFER, LOAD_ACCESS);
	stress_require(lane->mr[side], "memory region");
}

void lane_open(struct lane *lane, struct actor *actor, struct ibv_context *a, struct ibv_context *b)
{
	*lane = (struct lane){.actor = actor};
	open_side(lane, 0, a);
	open_side(lane, 1, b);
	lane_connect(lane);
}

static void close_side(struct lane *lane, unsigned int side)
{
	const struct load_end *end = &lane->actor->load->end[side];

	stress_require(ibv_destroy_qp(lane->qp[side]) == 0, "destroyed queue pair");
	stress_require(ibv_destroy_cq(lane->cq[side]) == 0, "destroyed completion queue");
	stress_require(ibv_destroy_comp_channel(lane->channel[side]) == 0, "destroyed channel");
	stress_require(ibv_dereg_mr(lane->mr[side]) == 0, "deregistered memory");
	free(lane->buffer[side]);
	if (lane->pd[side] != end->pd)
		stress_require(ibv_dealloc_pd(lane->pd[side]) == 0, "free protection domain");
}

void lane_close(struct lane *lane)
{
	close_side(lane, 0);
	close_side(lane, 1);
}

/* ---- states ---- */

static int to_init(struct lane *lane, unsigned int side)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = LOAD_ACCESS};

	return ibv_modify_qp(lane->qp[side], &attr,
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static int to_rtr(struct lane *lane, unsigned int side)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = lane->qp[!side]->qp_num,
		.rq_psn = lane->generation & 0xffffff,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.ah_attr = {.is_global = 1,
			.port_num = 1,
			.grh = {.dgid = lane->actor->load->end[!side].gid, .hop_limit = 64}},
	};

	return ibv_modify_qp(lane->qp[side], &attr,
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

/* Lost packets are sent again after a millisecond. */
static int to_rts(struct lane *lane, unsigned int side)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = lane->generation & 0xffffff,
		.timeout = 8,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 4,
	};

	return ibv_modify_qp(lane->qp[side], &attr,
		IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

void lane_connect(struct lane *lane)
{
	static int (*const steps[])(struct lane *, unsigned int) = {to_init, to_rtr, to_rts};

	lane->generation += 1000;
	lane->failed = false;
	for (unsigned int i = 0; i < 3; i++)
		for (unsigned int side = 0; side < 2; side++)
			stress_require(steps[i](lane, side) == 0, "connection");
}

void lane_reconnect(struct lane *lane)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};

	for (unsigned int side = 0; side < 2; side++)
		stress_require(ibv_modify_qp(lane->qp[side], &attr, IBV_QP_STATE) == 0, "reset");
	lane_connect(lane);
}

/* ---- requests ---- */

void lane_post(struct lane *lane, unsigned int side, enum ibv_wr_opcode opcode, struct spot here,
	struct spot there)
{
	struct ibv_sge sge = {.addr = (uintptr_t)here.at, .length = here.length, .lkey = here.key};
	struct ibv_send_wr wr = {
		.wr_id = lane->generation,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = (uintptr_t)there.at, .rkey = there.key},
	};
	struct ibv_send_wr *bad;

	stress_require(ibv_post_send(lane->qp[side], &wr, &bad) == 0, "post");
}

void lane_recv(struct lane *lane, unsigned int side, struct spot here)
{
	struct ibv_sge sge = {.addr = (uintptr_t)here.at, .length = here.length, .lkey = here.key};
	struct ibv_recv_wr wr = {.wr_id = lane->generation, .sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;

	stress_require(ibv_post_recv(lane->qp[side], &wr, &bad) == 0, "receive");
}

static bool take(struct lane *lane, unsigned int side)
{
	struct load *load = lane->actor->load;
	struct ibv_wc wc;
	int count = ibv_poll_cq(lane->cq[side], 1, &wc);

	stress_require(count >= 0, "CQ without overrun");
	if (count == 0)
		return false;
	stress_require(wc.wr_id == lane->generation, "completion of a request of now");
	stress_require(wc.qp_num == lane->qp[side]->qp_num, "completion of this queue pair");
	lane->failed |= wc.status != IBV_WC_SUCCESS;
	__atomic_fetch_add(
		wc.status == IBV_WC_SUCCESS ? &load->good : &load->bad, 1, __ATOMIC_RELAXED);
	return true;
}

bool lane_poll(struct lane *lane, unsigned int side)
{
	return take(lane, side);
}

void lane_collect(struct lane *lane, unsigned int side, uint32_t count)
{
	double until = stress_seconds() + PATIENCE;

	for (uint32_t taken = 0; taken < count;)
		if (take(lane, side)) {
			taken++;
		} else {
			stress_require(stress_seconds() < until, "completion that was lost");
			sched_yield();
		}
	stress_require(!take(lane, side), "end of the completions");
}

void lane_await_event(struct lane *lane, unsigned int side)
{
	struct pollfd at = {.fd = lane->channel[side]->fd, .events = POLLIN};
	struct ibv_cq *cq;
	void *context;

	stress_require(poll(&at, 1, (int)PATIENCE * 1000) == 1, "event that was lost");
	stress_require(ibv_get_cq_event(lane->channel[side], &cq, &context) == 0, "event");
	stress_require(cq == lane->cq[side], "event of this CQ");
	ibv_ack_cq_events(cq, 1);
}

struct spot lane_spot(struct lane *lane, unsigned int side, uint32_t length)
{
	uint32_t at = load_random(lane->actor, LANE_BUFFER - length);

	return (struct spot){lane->buffer[side] + at, lane->mr[side]->lkey, length};
}
