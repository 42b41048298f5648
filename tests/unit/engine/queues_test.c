/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport's queues in the region: requests that lie, CQs that overrun, arming, the SRQ's
 * limit, receives that are posted into ERR. */
#include <string.h>

#include "rig.h"

struct pair {
	struct rig rig;
	struct front *a, *b;
	struct front_channel events_a, events_b, channel_b;
	struct front_cq cq_a, cq_b;
	struct front_qp qp_a, qp_b;
	struct wq_front srq;
	uint32_t srq_handle;
};

/* depth: of both CQs. shared: b receives from an SRQ of 16. */
static void pair_open(struct pair *p, uint32_t depth, bool shared)
{
	rig_open(&p->rig);
	p->a = &p->rig.fronts[0];
	p->b = &p->rig.fronts[1];
	p->events_a = front_create_channel(p->a, true);
	p->events_b = front_create_channel(p->b, true);
	p->channel_b = front_create_channel(p->b, false);
	p->cq_a = front_create_cq(p->a, depth, 0);
	p->cq_b = front_create_cq(p->b, depth, p->channel_b.handle);
	p->qp_a = front_create_qp(p->a, &p->cq_a);
	if (shared)
		p->srq_handle = front_create_srq(p->b, 16, &p->srq);
	p->qp_b = shared ? front_create_qp_srq(p->b, &p->cq_b, p->srq_handle)
			 : front_create_qp(p->b, &p->cq_b);
	front_connect(p->a, &p->qp_a, RIG_ADDRESS, p->b, &p->qp_b, RIG_ADDRESS + 1);
}

static void pair_close(struct pair *p)
{
	rig_close(&p->rig);
	front_close_channel(&p->events_a);
	front_close_channel(&p->events_b);
	front_close_channel(&p->channel_b);
}

static void run(struct pair *p)
{
	rig_run(&p->rig, p->rig.now + MS);
}

static void send_empty(struct pair *p, uint64_t wr_id, uint8_t flags)
{
	struct uroce_abi_send_wqe wqe = {.opcode = IBV_WR_SEND,
		.flags = (uint8_t)(IBV_SEND_SIGNALED | IBV_SEND_INLINE | flags),
		.wr_id = wr_id};

	CU_ASSERT(front_send(p->a, &p->qp_a, &wqe, NULL, 0, 0));
}

/* ---- requests ---- */

/* What was posted before completes, the liar fails, what was posted behind it is flushed. */
static void lying_sends(void)
{
	static const struct uroce_abi_send_wqe lies[] = {
		{.opcode = 200, .flags = IBV_SEND_SIGNALED},
		{.opcode = IBV_WR_SEND, .sge_count = 5},
		{.opcode = IBV_WR_SEND, .sge_count = 0xffff},
		{.opcode = IBV_WR_SEND, .flags = 0x40},
		{.opcode = IBV_WR_SEND, .flags = IBV_SEND_INLINE, .inline_length = 65},
		{.opcode = IBV_WR_RDMA_READ, .flags = IBV_SEND_INLINE, .inline_length = 1},
		{.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD},
	};

	for (unsigned int i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct uroce_abi_send_wqe lie = lies[i];
		static struct pair p;
		struct uroce_abi_cqe cqe;

		pair_open(&p, 16, false);
		lie.wr_id = 2;
		CU_ASSERT(front_recv(p.b, &p.qp_b, 0, NULL, 0, 0));
		send_empty(&p, 1, 0);
		CU_ASSERT(front_send(p.a, &p.qp_a, &lie, NULL, 0, 0));
		send_empty(&p, 3, 0);
		run(&p);
		for (uint64_t wr_id = 1; wr_id <= 3; wr_id++) {
			static const enum ibv_wc_status statuses[] = {
				IBV_WC_SUCCESS, IBV_WC_LOC_QP_OP_ERR, IBV_WC_WR_FLUSH_ERR};

			CU_ASSERT_FATAL(front_poll(&p.qp_a, &cqe));
			CU_ASSERT_EQUAL(cqe.wr_id, wr_id);
			CU_ASSERT_EQUAL(cqe.status, statuses[wr_id - 1]);
		}
		CU_ASSERT_EQUAL(front_state(p.a, &p.qp_a), IBV_QPS_ERR);
		CU_ASSERT_EQUAL(rig_worker(&p.rig, 0)->counters.invalid_sends, 1);
		pair_close(&p);
	}
}

static void lying_recvs(void)
{
	static struct pair p;
	struct uroce_abi_recv_wqe *wqe;
	struct uroce_abi_cqe cqe;
	uint32_t position;

	pair_open(&p, 16, false);
	CU_ASSERT_EQUAL(wq_reserve(&p.qp_b.rq, 1, &position), 1);
	wqe = wq_slot(&p.qp_b.rq, position);
	wqe->wr_id = 7;
	wqe->sge_count = 1000000;
	wq_publish(&p.qp_b.rq, position);
	send_empty(&p, 1, 0);
	run(&p);
	CU_ASSERT_EQUAL(rig_worker(&p.rig, 1)->counters.invalid_recvs, 1);
	CU_ASSERT(front_poll(&p.qp_b, &cqe));
	CU_ASSERT_EQUAL(cqe.wr_id, 7);
	CU_ASSERT_NOT_EQUAL(cqe.status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(front_state(p.b, &p.qp_b), IBV_QPS_ERR);
	pair_close(&p);
}

/* A producer index far ahead of what is valid: nothing is taken, nothing breaks. */
static void lying_indices(void)
{
	static const uint32_t indices[] = {1, 63, 64, 65, 1000, 0x80000000, UINT32_MAX};
	static struct pair p;
	struct uroce_abi_cqe cqe;

	pair_open(&p, 16, false);
	for (unsigned int i = 0; i < sizeof(indices) / sizeof(indices[0]); i++) {
		p.qp_a.sq.ring->producer.index = indices[i];
		sendring_announce(&p.a->ring[0], p.qp_a.sq.ring, p.qp_a.handle);
		run(&p);
		CU_ASSERT_FALSE(front_poll(&p.qp_a, &cqe));
	}
	CU_ASSERT_EQUAL(rig_worker(&p.rig, 0)->counters.tx_packets, 0);
	pair_close(&p);
}

/* In ERR receives are announced and flushed; so are sends. */
static void posts_into_err(void)
{
	static struct pair p;
	struct uroce_abi_cqe cqe;

	pair_open(&p, 16, false);
	CU_ASSERT(front_recv(p.a, &p.qp_a, 1, NULL, 0, 0));
	CU_ASSERT_FALSE(wq_announce_recv(&p.qp_a.rq));
	CU_ASSERT_EQUAL(front_to_state(p.a, &p.qp_a, IBV_QPS_ERR), 0);
	run(&p);
	CU_ASSERT(wq_announce_recv(&p.qp_a.rq));
	CU_ASSERT(front_recv(p.a, &p.qp_a, 2, NULL, 0, 0));
	run(&p);
	send_empty(&p, 3, 0);
	run(&p);
	for (uint64_t wr_id = 1; wr_id <= 3; wr_id++) {
		CU_ASSERT_FATAL(front_poll(&p.qp_a, &cqe));
		CU_ASSERT_EQUAL(cqe.wr_id, wr_id);
		CU_ASSERT_EQUAL(cqe.status, IBV_WC_WR_FLUSH_ERR);
		CU_ASSERT_EQUAL(cqe.opcode & IBV_WC_RECV, wr_id < 3 ? IBV_WC_RECV : 0);
	}
	/* RESET ends it. */
	CU_ASSERT_EQUAL(front_to_state(p.a, &p.qp_a, IBV_QPS_RESET), 0);
	CU_ASSERT_FALSE(wq_announce_recv(&p.qp_a.rq));
	pair_close(&p);
}

static void slots_are_released(void)
{
	static struct pair p;
	struct uroce_abi_cqe cqe;

	pair_open(&p, 1024, false);
	for (uint64_t i = 0; i < 500; i++) {
		CU_ASSERT_FATAL(front_recv(p.b, &p.qp_b, i, NULL, 0, 0));
		send_empty(&p, i, 0);
		if (i % 50 != 49)
			continue;
		run(&p);
		while (front_poll(&p.qp_a, &cqe))
			CU_ASSERT_EQUAL(cqe.released, cqe.wr_id + 1);
		while (front_poll(&p.qp_b, &cqe))
			CU_ASSERT_EQUAL(cqe.released, cqe.wr_id + 1);
	}
	CU_ASSERT_EQUAL(wq_outstanding(&p.qp_a.sq), 0);
	pair_close(&p);
}

/* ---- completions ---- */

static void overrun(void)
{
	static struct pair p;
	struct front_qp bystander;
	struct uroce_abi_cqe cqe;
	uint32_t object;

	pair_open(&p, 4, false);
	bystander = front_create_qp(p.a, &p.cq_a);
	CU_ASSERT_EQUAL(front_to_init(p.a, &bystander), 0);
	for (uint64_t i = 0; i < 6; i++) {
		CU_ASSERT(front_recv(p.b, &p.qp_b, i, NULL, 0, 0));
		send_empty(&p, i, 0);
		run(&p);
		while (front_poll(&p.qp_b, &cqe))
			continue;
	}
	CU_ASSERT_EQUAL(front_event(&p.events_a, &object), IBV_EVENT_CQ_ERR);
	CU_ASSERT_EQUAL(object, p.cq_a.handle);
	CU_ASSERT_EQUAL(front_event(&p.events_a, NULL), NO_EVENT);
	CU_ASSERT(cq_overrun(&p.cq_a.cq));
	CU_ASSERT_EQUAL(front_state(p.a, &p.qp_a), IBV_QPS_ERR);
	CU_ASSERT_EQUAL(front_state(p.a, &bystander), IBV_QPS_ERR);
	/* What fitted is there and whole. */
	for (uint64_t i = 0; i < 4; i++) {
		CU_ASSERT(front_poll(&p.qp_a, &cqe));
		CU_ASSERT_EQUAL(cqe.wr_id, i);
		CU_ASSERT_EQUAL(cqe.status, IBV_WC_SUCCESS);
	}
	CU_ASSERT_FALSE(front_poll(&p.qp_a, &cqe));
	CU_ASSERT(rig_worker(&p.rig, 0)->counters.cq_overruns >= 1);
	/* A QP that meets the dead CQ later goes the same way, without a second event. */
	CU_ASSERT_EQUAL(front_to_state(p.a, &bystander, IBV_QPS_RESET), 0);
	wq_front_reset(&bystander.sq);
	CU_ASSERT_EQUAL(front_to_init(p.a, &bystander), 0);
	CU_ASSERT_EQUAL(front_to_rtr(p.a, &bystander, RIG_ADDRESS + 1, 5), 0);
	CU_ASSERT_EQUAL(front_to_rts(p.a, &bystander), 0);
	{
		struct uroce_abi_send_wqe lie = {.opcode = 99, .flags = IBV_SEND_SIGNALED};

		CU_ASSERT(front_send(p.a, &bystander, &lie, NULL, 0, 0));
	}
	run(&p);
	CU_ASSERT_EQUAL(front_state(p.a, &bystander), IBV_QPS_ERR);
	CU_ASSERT_EQUAL(front_event(&p.events_a, NULL), NO_EVENT);
	pair_close(&p);
}

static void arming(void)
{
	static struct pair p;
	uint32_t object;

	pair_open(&p, 64, false);
	for (uint64_t i = 0; i < 10; i++)
		CU_ASSERT(front_recv(p.b, &p.qp_b, i, NULL, 0, 0));
	send_empty(&p, 1, 0); /* not armed */
	run(&p);
	CU_ASSERT_EQUAL(front_event(&p.channel_b, NULL), NO_EVENT);
	cq_arm(&p.cq_b.cq, false);
	send_empty(&p, 2, 0);
	send_empty(&p, 3, 0);
	run(&p);
	CU_ASSERT_EQUAL(front_event(&p.channel_b, &object), UROCE_ABI_EVENT_COMP);
	CU_ASSERT_EQUAL(object, p.cq_b.handle);
	CU_ASSERT_EQUAL(front_event(&p.channel_b, NULL), NO_EVENT);
	cq_arm(&p.cq_b.cq, true);
	send_empty(&p, 4, 0);
	run(&p);
	CU_ASSERT_EQUAL(front_event(&p.channel_b, NULL), NO_EVENT);
	send_empty(&p, 5, IBV_SEND_SOLICITED);
	run(&p);
	CU_ASSERT_EQUAL(front_event(&p.channel_b, NULL), UROCE_ABI_EVENT_COMP);
	/* An error wakes whoever waits for solicited ones (man ibv_req_notify_cq). */
	cq_arm(&p.cq_b.cq, true);
	CU_ASSERT_EQUAL(front_to_state(p.b, &p.qp_b, IBV_QPS_ERR), 0);
	run(&p);
	CU_ASSERT_EQUAL(front_event(&p.channel_b, NULL), UROCE_ABI_EVENT_COMP);
	/* A CQ without a channel may be armed, too. */
	cq_arm(&p.cq_a.cq, false);
	send_empty(&p, 6, 0);
	run(&p);
	CU_ASSERT_EQUAL(rig_worker(&p.rig, 0)->counters.events_unheard, 0);
	pair_close(&p);
}

/* ---- the SRQ ---- */

static void srq_limit(void)
{
	struct uroce_abi_command command = {.head.op = UROCE_ABI_MODIFY_SRQ};
	static struct pair p;
	struct uroce_abi_cqe cqe;
	uint32_t object;

	pair_open(&p, 64, true);
	for (uint64_t i = 0; i < 10; i++)
		CU_ASSERT(front_srq_recv(&p.srq, i, NULL, 0, 0));
	command.head.object = p.srq_handle;
	command.u.srq.mask = IBV_SRQ_LIMIT;
	command.u.srq.limit = 8;
	CU_ASSERT_EQUAL(front_command(p.b, &command), 0);
	for (uint64_t i = 0; i < 10; i++) {
		send_empty(&p, i, 0);
		run(&p);
		CU_ASSERT(front_poll(&p.qp_b, &cqe));
		CU_ASSERT_EQUAL(cqe.wr_id, i);
		CU_ASSERT_EQUAL(cqe.released, 0); /* an SRQ's slots are free when they are taken */
		CU_ASSERT_EQUAL(front_event(&p.events_b, &object),
			i == 2 ? IBV_EVENT_SRQ_LIMIT_REACHED : NO_EVENT);
		CU_ASSERT(i != 2 || object == p.srq_handle);
	}
	pair_close(&p);
}

static void last_wqe(void)
{
	static struct pair p;
	uint32_t object;

	pair_open(&p, 64, true);
	CU_ASSERT_EQUAL(front_to_state(p.b, &p.qp_b, IBV_QPS_ERR), 0);
	run(&p);
	CU_ASSERT_EQUAL(front_event(&p.events_b, &object), IBV_EVENT_QP_LAST_WQE_REACHED);
	CU_ASSERT_EQUAL(object, p.qp_b.handle);
	pair_close(&p);
}

/* An event that is kept when its QP goes vanishes with it (EP-9). */
static void events_of_the_dead(void)
{
	static struct pair p;
	struct eventring *ring;

	pair_open(&p, 64, true);
	ring = &p.b->client->events->events;
	while (eventring_push(ring, 77, 77) == 0)
		continue;
	CU_ASSERT_EQUAL(front_to_state(p.b, &p.qp_b, IBV_QPS_ERR), 0);
	run(&p);
	CU_ASSERT_EQUAL(rig_worker(&p.rig, 1)->counters.events_kept, 1);
	CU_ASSERT_EQUAL(front_simple(p.b, UROCE_ABI_DESTROY_QP, p.qp_b.handle), 0);
	while (front_event(&p.events_b, NULL) == 77)
		continue;
	run(&p);
	CU_ASSERT_EQUAL(front_event(&p.events_b, NULL), NO_EVENT);
	pair_close(&p);
}

static const struct unit_case cases[] = {
	UNIT_CASE(lying_sends),
	UNIT_CASE(lying_recvs),
	UNIT_CASE(lying_indices),
	UNIT_CASE(posts_into_err),
	UNIT_CASE(slots_are_released),
	UNIT_CASE(overrun),
	UNIT_CASE(arming),
	UNIT_CASE(srq_limit),
	UNIT_CASE(last_wqe),
	UNIT_CASE(events_of_the_dead),
};

UNIT_MAIN("engine-queues", cases)
