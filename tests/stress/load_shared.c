/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * QPs of both cores with one CQ and one SRQ: each receive serves one message, those of a QP come in
 * order, an arming of the CQ gives an event, and one of the SRQ's limit gives one.
 */
#include "load.h"

#include <arpa/inet.h>
#include <poll.h>
#include <string.h>

#define QPS 4u
#define RECEIVES 64u
#define SENDS 48u
#define LIMIT (RECEIVES - SENDS + 1) /* undershot by the last message */
#define PATIENCE 60.0		     /* seconds */

struct shared {
	struct actor *actor;
	struct load_end *end; /* both ends */
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq[2];
	struct ibv_srq *srq;
	struct ibv_qp *qp[2][QPS];
	uint32_t sent[QPS], received[QPS]; /* messages */
	uint64_t posted;		   /* receives; the next one's wr_id */
	uint32_t armed;			   /* limits */
};

static struct ibv_qp *create(struct shared *shared, unsigned int side)
{
	struct ibv_qp_init_attr init = {
		.send_cq = shared->cq[side],
		.recv_cq = shared->cq[side],
		.srq = side ? shared->srq : NULL,
		.cap = {.max_send_wr = SENDS,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = ibv_create_qp(shared->end[side].pd, &init);

	stress_require(qp, "queue pair");
	return qp;
}

/* Nothing disturbs the link: a second until a packet is sent again is for busy machines. */
static void connect_to(struct ibv_qp *qp, const struct load_end *peer, const struct ibv_qp *to)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = LOAD_ACCESS};
	int error = ibv_modify_qp(
		qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);

	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = to->qp_num,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.ah_attr = {.is_global = 1,
			.port_num = 1,
			.grh = {.dgid = peer->gid, .hop_limit = 64}}};
	error |= ibv_modify_qp(qp, &attr,
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
		.timeout = 18,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 4};
	error |= ibv_modify_qp(qp, &attr,
		IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
	stress_require(error == 0, "connection");
}

static void open_shared(struct shared *shared, struct actor *actor)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = RECEIVES, .max_sge = 1}};

	*shared = (struct shared){.actor = actor, .end = actor->load->end};
	shared->channel = ibv_create_comp_channel(shared->end[1].context);
	stress_require(shared->channel, "channel");
	for (unsigned int i = 0; i < 2; i++) {
		shared->cq[i] = ibv_create_cq(
			shared->end[i].context, 2 * RECEIVES, NULL, i ? shared->channel : NULL, 0);
		stress_require(shared->cq[i], "completion queue");
	}
	shared->srq = ibv_create_srq(shared->end[1].pd, &init);
	stress_require(shared->srq, "shared receive queue");
	for (unsigned int n = 0; n < QPS; n++) {
		shared->qp[0][n] = create(shared, 0);
		shared->qp[1][n] = create(shared, 1);
		for (unsigned int i = 0; i < 2; i++)
			connect_to(shared->qp[i][n], &shared->end[!i], shared->qp[!i][n]);
	}
}

static void close_shared(struct shared *shared)
{
	for (unsigned int n = 0; n < 2 * QPS; n++)
		stress_require(ibv_destroy_qp(shared->qp[n % 2][n / 2]) == 0, "destroyed QP");
	stress_require(ibv_destroy_srq(shared->srq) == 0, "destroyed SRQ");
	for (unsigned int i = 0; i < 2; i++)
		stress_require(ibv_destroy_cq(shared->cq[i]) == 0, "destroyed CQ");
	stress_require(ibv_destroy_comp_channel(shared->channel) == 0, "destroyed channel");
}

static void post_receives(struct shared *shared, uint32_t count)
{
	struct ibv_recv_wr *bad;

	for (uint32_t i = 0; i < count; i++) {
		struct ibv_recv_wr wr = {.wr_id = shared->posted++};

		stress_require(ibv_post_srq_recv(shared->srq, &wr, &bad) == 0, "receive");
	}
}

static void post_sends(struct shared *shared)
{
	struct ibv_send_wr *bad;

	for (uint32_t i = 0; i < SENDS; i++) {
		uint32_t n = load_random(shared->actor, QPS);
		struct ibv_send_wr wr = {.opcode = IBV_WR_SEND_WITH_IMM,
			.send_flags = IBV_SEND_SIGNALED,
			.imm_data = htonl(shared->sent[n]++)};

		stress_require(ibv_post_send(shared->qp[0][n], &wr, &bad) == 0, "post");
	}
}

static struct ibv_wc next(struct shared *shared, unsigned int side)
{
	double until = stress_seconds() + PATIENCE;
	struct ibv_wc wc;

	while (ibv_poll_cq(shared->cq[side], 1, &wc) != 1) {
		stress_require(stress_seconds() < until, "completion that was lost");
		sched_yield();
	}
	stress_require(wc.status == IBV_WC_SUCCESS, "success");
	__atomic_fetch_add(&shared->actor->load->good, 1, __ATOMIC_RELAXED);
	return wc;
}

/* Of this round's receives, each once; of each QP's messages, the next one. */
static void collect(struct shared *shared, bool *seen)
{
	for (uint32_t i = 0; i < SENDS; i++) {
		struct ibv_wc wc = next(shared, 1);
		uint64_t receive = wc.wr_id % RECEIVES;
		uint32_t n = 0;

		while (n < QPS && shared->qp[1][n]->qp_num != wc.qp_num)
			n++;
		stress_require(n < QPS, "completion of one of the QPs");
		stress_require(ntohl(wc.imm_data) == shared->received[n]++, "message in its order");
		stress_require(wc.wr_id < shared->posted && !seen[receive], "receive of its own");
		seen[receive] = true;
	}
	for (uint32_t i = 0; i < SENDS; i++)
		next(shared, 0);
}

static void await_event(struct shared *shared)
{
	struct pollfd at = {.fd = shared->channel->fd, .events = POLLIN};
	struct ibv_cq *cq;
	void *context;

	stress_require(poll(&at, 1, (int)PATIENCE * 1000) == 1, "event that was lost");
	stress_require(ibv_get_cq_event(shared->channel, &cq, &context) == 0, "event");
	ibv_ack_cq_events(cq, 1);
	stress_require(poll(&at, 1, 0) == 0, "one event an arming");
}

static void arm_limit(struct shared *shared)
{
	struct ibv_srq_attr attr = {.srq_limit = LIMIT};

	stress_require(ibv_modify_srq(shared->srq, &attr, IBV_SRQ_LIMIT) == 0, "limit");
	shared->armed++;
}

static uint32_t limits(const struct shared *shared)
{
	return __atomic_load_n(&shared->end[1].limits, __ATOMIC_RELAXED);
}

static void await_limit(struct shared *shared)
{
	double until = stress_seconds() + PATIENCE;

	while (limits(shared) < shared->armed) {
		stress_require(stress_seconds() < until, "limit that was told");
		sched_yield();
	}
	stress_require(limits(shared) == shared->armed, "one event a limit");
}

/* One of them a load: it counts the events of its end. */
void *load_shared(void *argument)
{
	struct actor *actor = argument;
	struct shared shared;
	bool seen[RECEIVES];

	open_shared(&shared, actor);
	post_receives(&shared, RECEIVES);
	for (uint64_t round = 0; load_goes_on(actor, round); round++) {
		memset(seen, 0, sizeof(seen));
		arm_limit(&shared);
		stress_require(ibv_req_notify_cq(shared.cq[1], 0) == 0, "armed CQ");
		post_sends(&shared);
		await_event(&shared);
		collect(&shared, seen);
		await_limit(&shared);
		post_receives(&shared, SENDS);
	}
	close_shared(&shared);
	return NULL;
}
