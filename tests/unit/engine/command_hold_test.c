/* SPDX-License-Identifier: BSD-3-Clause */
/* The gate by command: policy, time-out, arming, notify, and what the counters say of it. */
#include <errno.h>
#include <string.h>

#include "rig.h"

struct fixture {
	struct rig rig;
	struct front *front, *peer;
	struct front_cq cq, peer_cq;
	struct front_qp qp, peer_qp;
};

static void fixture_open(struct fixture *f)
{
	rig_open(&f->rig);
	f->front = &f->rig.fronts[0];
	f->peer = &f->rig.fronts[1];
	f->cq = front_create_cq(f->front, 64, 0);
	f->peer_cq = front_create_cq(f->peer, 64, 0);
	f->qp = front_create_qp(f->front, &f->cq);
	f->peer_qp = front_create_qp(f->peer, &f->peer_cq);
	CU_ASSERT_EQUAL_FATAL(front_to_init(f->front, &f->qp), 0);
	CU_ASSERT_EQUAL_FATAL(front_to_init(f->peer, &f->peer_qp), 0);
	CU_ASSERT_EQUAL_FATAL(front_to_rtr(f->peer, &f->peer_qp, RIG_ADDRESS, f->qp.qp_num), 0);
	CU_ASSERT_EQUAL_FATAL(front_to_rts(f->peer, &f->peer_qp), 0);
}

static int policy(struct fixture *f, uint32_t strict, uint32_t ms, uint32_t action)
{
	struct uroce_abi_command command = {
		.head = {.op = UROCE_ABI_QP_POLICY, .object = f->qp.handle}};

	command.u.policy.strict = strict;
	command.u.policy.arm.hold_timeout_ms = ms;
	command.u.policy.arm.hold_action = action;
	return front_command(f->front, &command);
}

static int arm(struct fixture *f, uint8_t retry_cnt)
{
	struct uroce_abi_command command = {
		.head = {.op = UROCE_ABI_QP_ARM, .object = f->qp.handle}};

	command.u.policy.arm = (struct uroce_abi_arm_attr){
		.sq_psn = 100,
		.timeout = 14,
		.retry_cnt = retry_cnt,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};
	return front_command(f->front, &command);
}

/* The gate's counters, then how it stands. */
enum { HELD_NOW = sizeof(struct rc_hold_counters) / 8, CLOSED, ARMED, STRICT, SINCE, CAUSE };

static struct rc_hold_counters counters(struct fixture *f, uint64_t state[6])
{
	struct uroce_abi_command command = {
		.head = {.op = UROCE_ABI_QP_COUNTERS, .object = f->qp.handle}};
	struct rc_hold_counters hold;

	CU_ASSERT_EQUAL_FATAL(front_command(f->front, &command), 0);
	memcpy(&hold, command.u.counters.value, sizeof(hold));
	memcpy(state, command.u.counters.value + HELD_NOW, 6 * sizeof(*state));
	return hold;
}

#define STATE(state, which) (state)[(which)-HELD_NOW]

static void send_empty(struct front *front, struct front_qp *qp, uint64_t wr_id)
{
	struct uroce_abi_send_wqe wqe = {.opcode = IBV_WR_SEND,
		.flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
		.wr_id = wr_id};

	CU_ASSERT(front_send(front, qp, &wqe, NULL, 0, 0));
}

static void policies(void)
{
	static struct fixture f;
	uint64_t state[6];

	fixture_open(&f);
	CU_ASSERT_EQUAL(policy(&f, 0, 0, 2), -EINVAL);
	CU_ASSERT_EQUAL(policy(&f, 1, 0, 0), 0);
	counters(&f, state);
	CU_ASSERT_EQUAL(STATE(state, STRICT), 1);
	CU_ASSERT_EQUAL(front_to_rtr(f.front, &f.qp, RIG_ADDRESS + 1, f.peer_qp.qp_num), 0);
	/* From RTR on the policy stays, the time-out doesn't. */
	CU_ASSERT_EQUAL(policy(&f, 0, 0, 0), -EINVAL);
	CU_ASSERT_EQUAL(policy(&f, 1, 50, 1), 0);
	CU_ASSERT_EQUAL(arm(&f, 7), -EINVAL);
	counters(&f, state);
	CU_ASSERT_EQUAL(STATE(state, STRICT), 1);
	CU_ASSERT_EQUAL(STATE(state, CLOSED), 1);
	CU_ASSERT_EQUAL(STATE(state, ARMED), 0);
	CU_ASSERT_EQUAL(STATE(state, CAUSE), (uint64_t)-1);
	rig_close(&f.rig);
}

/* The whole story: held, armed, the peer's first packet, the event before the completion. */
static void first_packet_opens(void)
{
	struct front_channel events;
	static struct fixture f;
	struct rc_hold_counters hold;
	struct uroce_abi_cqe cqe;
	uint64_t state[6];
	uint32_t object;

	fixture_open(&f);
	events = front_create_channel(f.front, true);
	CU_ASSERT_EQUAL(arm(&f, 7), -EINVAL); /* not in RTR yet */
	CU_ASSERT_EQUAL(front_to_rtr(f.front, &f.qp, RIG_ADDRESS + 1, f.peer_qp.qp_num), 0);
	CU_ASSERT_EQUAL(arm(&f, 8), -EINVAL);
	CU_ASSERT_EQUAL(arm(&f, 7), 0);
	for (uint64_t i = 0; i < 3; i++) {
		send_empty(f.front, &f.qp, i);
		CU_ASSERT(front_recv(f.peer, &f.peer_qp, i, NULL, 0, 0));
	}
	CU_ASSERT(front_recv(f.front, &f.qp, 50, NULL, 0, 0));
	rig_run(&f.rig, f.rig.now + 20 * MS);
	hold = counters(&f, state);
	CU_ASSERT_EQUAL(hold.held, 3);
	CU_ASSERT_EQUAL(STATE(state, HELD_NOW), 3);
	CU_ASSERT_EQUAL(STATE(state, ARMED), 1);
	CU_ASSERT_FALSE(front_poll(&f.peer_qp, &cqe));
	CU_ASSERT_EQUAL(rig_worker(&f.rig, 0)->counters.tx_packets, 0);

	send_empty(f.peer, &f.peer_qp, 60);
	while (!front_poll(&f.qp, &cqe))
		rig_round(&f.rig);
	CU_ASSERT_EQUAL(cqe.wr_id, 50);
	CU_ASSERT_EQUAL(front_event(&events, &object), IBV_EVENT_COMM_EST);
	CU_ASSERT_EQUAL(object, f.qp.handle);
	rig_run(&f.rig, f.rig.now + 20 * MS);
	for (uint64_t i = 0; i < 3; i++) {
		CU_ASSERT(front_poll(&f.qp, &cqe));
		CU_ASSERT_EQUAL(cqe.wr_id, i);
		CU_ASSERT_EQUAL(cqe.status, IBV_WC_SUCCESS);
	}
	hold = counters(&f, state);
	CU_ASSERT_EQUAL(hold.released, 3);
	CU_ASSERT_EQUAL(hold.promoted_packet, 1);
	CU_ASSERT_EQUAL(hold.comm_est, 1);
	CU_ASSERT_EQUAL(STATE(state, HELD_NOW), 0);
	CU_ASSERT_EQUAL(STATE(state, CLOSED), 0);
	CU_ASSERT_EQUAL(STATE(state, CAUSE), RC_HOLD_PACKET);
	CU_ASSERT_EQUAL(front_state(f.front, &f.qp), IBV_QPS_RTS);
	CU_ASSERT_EQUAL(front_event(&events, NULL), NO_EVENT);
	rig_close(&f.rig);
	front_close_channel(&events);
}

static void notify(void)
{
	static struct fixture f;
	uint64_t state[6];

	fixture_open(&f);
	CU_ASSERT_EQUAL(front_simple(f.front, UROCE_ABI_QP_NOTIFY, f.qp.handle), -EINVAL);
	CU_ASSERT_EQUAL(front_to_rtr(f.front, &f.qp, RIG_ADDRESS + 1, f.peer_qp.qp_num), 0);
	CU_ASSERT_EQUAL(front_simple(f.front, UROCE_ABI_QP_NOTIFY, f.qp.handle), -EINVAL);
	CU_ASSERT_EQUAL(arm(&f, 7), 0);
	CU_ASSERT_EQUAL(front_simple(f.front, UROCE_ABI_QP_NOTIFY, f.qp.handle), 0);
	CU_ASSERT_EQUAL(front_simple(f.front, UROCE_ABI_QP_NOTIFY, f.qp.handle), -EISCONN);
	CU_ASSERT_EQUAL(counters(&f, state).late_notify, 1);
	CU_ASSERT_EQUAL(STATE(state, CAUSE), RC_HOLD_NOTIFY);
	rig_close(&f.rig);
}

static void time_out(void)
{
	static struct fixture f;
	struct uroce_abi_cqe cqe;
	uint64_t state[6];

	fixture_open(&f);
	CU_ASSERT_EQUAL(policy(&f, 0, 50, RC_HOLD_ERROR), 0);
	CU_ASSERT_EQUAL(front_to_rtr(f.front, &f.qp, RIG_ADDRESS + 1, f.peer_qp.qp_num), 0);
	send_empty(f.front, &f.qp, 4);
	rig_run(&f.rig, f.rig.now + 49 * MS);
	CU_ASSERT_FALSE(front_poll(&f.qp, &cqe));
	rig_run(&f.rig, f.rig.now + 2 * MS);
	CU_ASSERT(front_poll(&f.qp, &cqe));
	CU_ASSERT_EQUAL(cqe.status, IBV_WC_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(counters(&f, state).hold_timeout, 1);
	CU_ASSERT_EQUAL(front_state(f.front, &f.qp), IBV_QPS_ERR);
	rig_close(&f.rig);
}

/* The order of COUNTERS: the transport's, the gate's, its histogram, the parser's, the engine's. */
static void all_counters(void)
{
	enum {
		TRANSPORT = 37,
		GATE = 17,
		HISTOGRAM = 12,
		PARSER = 13,
		ENGINE = TRANSPORT + GATE + HISTOGRAM + PARSER,
	};
	struct uroce_abi_command command = {.head.op = UROCE_ABI_COUNTERS};
	const uint64_t *value = command.u.counters.value;
	static struct fixture f;
	struct uroce_abi_cqe cqe;
	uint64_t histogram = 0;

	fixture_open(&f);
	CU_ASSERT_EQUAL(front_to_rtr(f.front, &f.qp, RIG_ADDRESS + 1, f.peer_qp.qp_num), 0);
	send_empty(f.front, &f.qp, 4);
	CU_ASSERT(front_recv(f.peer, &f.peer_qp, 1, NULL, 0, 0));
	rig_run(&f.rig, f.rig.now + 2 * MS);
	CU_ASSERT_EQUAL(front_to_rts(f.front, &f.qp), 0);
	rig_run(&f.rig, f.rig.now + 2 * MS);
	CU_ASSERT(front_poll(&f.qp, &cqe) && cqe.status == IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(front_command(f.front, &command), 0);
	CU_ASSERT_EQUAL(value[0], 1);		  /* sent_pkts */
	CU_ASSERT_EQUAL(value[1], 1);		  /* rcvd_pkts: the ACK */
	CU_ASSERT_EQUAL(value[TRANSPORT], 1);	  /* held */
	CU_ASSERT_EQUAL(value[TRANSPORT + 1], 1); /* released */
	CU_ASSERT_EQUAL(value[TRANSPORT + 4], 1); /* promoted_modify */
	for (unsigned int i = 0; i < HISTOGRAM; i++)
		histogram += value[TRANSPORT + GATE + i];
	CU_ASSERT_EQUAL(histogram, 1);
	CU_ASSERT_EQUAL(value[ENGINE], 1);     /* rx_packets */
	CU_ASSERT_EQUAL(value[ENGINE + 1], 1); /* tx_packets */
	CU_ASSERT_STRING_EQUAL(engine_counter_names[0], "rx_packets");
	CU_ASSERT_STRING_EQUAL(engine_counter_names[1], "tx_packets");
	rig_close(&f.rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(policies),
	UNIT_CASE(first_packet_opens),
	UNIT_CASE(notify),
	UNIT_CASE(time_out),
	UNIT_CASE(all_counters),
};

UNIT_MAIN("engine-command_hold", cases)
