/* SPDX-License-Identifier: BSD-3-Clause */
/* Early posts through the API: the contract's rules as a program sees them (docs/early-posts.md).
 */
#include <poll.h>
#include <unistd.h>

#include "pair.h"

static struct pair pair;
static struct end *const active = &pair.end[0];
static struct end *const passive = &pair.end[1];

enum how { UNARMED, ARMED, STRICT };

/* The active side in RTS, the passive one in RTR. */
static void begin(enum how how)
{
	struct ibv_qp_attr attr;

	pair_open(&pair, false);
	if (how == STRICT)
		CU_ASSERT_EQUAL(uroce_qp_set_policy(passive->qp, UROCE_POLICY_STRICT), 0);
	CU_ASSERT_EQUAL(end_to_init(active, active->qp), 0);
	CU_ASSERT_EQUAL(end_to_init(passive, passive->qp), 0);
	attr = end_rtr_attr(active, active->qp);
	if (how == ARMED) {
		struct ibv_qp_attr rts = end_rts_attr();

		attr.sq_psn = rts.sq_psn;
		attr.timeout = rts.timeout;
		attr.retry_cnt = rts.retry_cnt;
		attr.rnr_retry = rts.rnr_retry;
		attr.max_rd_atomic = rts.max_rd_atomic;
	}
	CU_ASSERT_EQUAL_FATAL(ibv_modify_qp(passive->qp, &attr,
				      PAIR_RTR_MASK | (how == ARMED ? PAIR_RTS_ATTRS : 0)),
		0);
	CU_ASSERT_EQUAL_FATAL(end_to_rtr(active->qp, passive, passive->qp), 0);
	CU_ASSERT_EQUAL_FATAL(end_to_rts(active->qp), 0);
}

static struct uroce_hold hold(void)
{
	struct uroce_hold now;

	CU_ASSERT_EQUAL(uroce_qp_query_hold(passive->qp, &now), 0);
	return now;
}

/* Of all of the engine's QPs. */
static uint64_t engine_counter(const char *name)
{
	uint64_t value[128];
	unsigned int count = uroce_counter_count();

	CU_ASSERT_FATAL(count <= 128);
	CU_ASSERT_EQUAL(uroce_query_counters(passive->context, value, count), 0);
	for (unsigned int i = 0; i < count; i++)
		if (strcmp(uroce_counter_name(i), name) == 0)
			return value[i];
	CU_FAIL("no such counter");
	return 0;
}

static struct uroce_qp_counters counters(void)
{
	struct uroce_qp_counters now;

	CU_ASSERT_EQUAL(uroce_qp_query_counters(passive->qp, &now), 0);
	return now;
}

/* How many COMM_EST events lie ready on the passive side. */
static unsigned int comm_est(void)
{
	struct pollfd poll_fd = {.fd = passive->context->async_fd, .events = POLLIN};
	struct ibv_async_event event;
	unsigned int count = 0;

	while (poll(&poll_fd, 1, 0) == 1) {
		CU_ASSERT_EQUAL(ibv_get_async_event(passive->context, &event), 0);
		CU_ASSERT_EQUAL(event.event_type, IBV_EVENT_COMM_EST);
		CU_ASSERT_PTR_EQUAL(event.element.qp, passive->qp);
		ibv_ack_async_event(&event);
		count++;
	}
	return count;
}

/* n early posts, each with its number as data; the active side has receives for them. */
static void post_early(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		CU_ASSERT_EQUAL(end_recv(active, i, 64 + i, 1), 0);
		passive->buffer[1000 + i] = (uint8_t)(i + 1);
		CU_ASSERT_EQUAL(end_send(passive, 100 + i, 1000 + i, 1), 0);
	}
}

static void expect_all(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		pair_expect(&pair, 0, i, IBV_WC_RECV);
		CU_ASSERT_EQUAL(active->buffer[64 + i], i + 1);
	}
	for (unsigned int i = 0; i < n; i++)
		pair_expect(&pair, 1, 100 + i, IBV_WC_SEND);
}

/* The first request of the peer. */
static void first_packet(void)
{
	CU_ASSERT_EQUAL(end_recv(passive, 50, 0, 8), 0);
	CU_ASSERT_EQUAL(end_send(active, 60, 0, 8), 0);
	pair_expect(&pair, 1, 50, IBV_WC_RECV);
}

static void ep1_hold(void)
{
	struct uroce_hold now;

	begin(ARMED);
	post_early(PAIR_DEPTH);
	CU_ASSERT_EQUAL(end_send(passive, 200, 0, 1), ENOMEM);
	CU_ASSERT(pair_quiet(&pair, 0)); /* EP-3 */
	now = hold();
	CU_ASSERT_EQUAL(now.closed, 1);
	CU_ASSERT_EQUAL(now.armed, 1);
	CU_ASSERT_EQUAL(now.strict, 0);
	CU_ASSERT_EQUAL(now.held_now, PAIR_DEPTH);
	CU_ASSERT_NOT_EQUAL(now.held_since, 0);
	CU_ASSERT_EQUAL(now.cause, UROCE_CAUSE_NONE);
	CU_ASSERT_EQUAL(qp_state(passive->qp), IBV_QPS_RTR);
	first_packet();
	CU_ASSERT_EQUAL(qp_state(passive->qp), IBV_QPS_RTS);
	now = hold();
	CU_ASSERT_EQUAL(now.closed, 0);
	CU_ASSERT_EQUAL(now.cause, UROCE_CAUSE_PACKET);
	pair_expect(&pair, 0, 60, IBV_WC_SEND);
	expect_all(PAIR_DEPTH); /* EP-7: in order */
	now = hold();
	CU_ASSERT_EQUAL(now.held_now, 0);
	CU_ASSERT_EQUAL(counters().held, PAIR_DEPTH);
	CU_ASSERT_EQUAL(counters().released, PAIR_DEPTH);
	CU_ASSERT_EQUAL(counters().promoted_packet, 1);
	CU_ASSERT_EQUAL(counters().refused_full, 1);
	CU_ASSERT_EQUAL(engine_counter("refused_full"), 1);
	CU_ASSERT_EQUAL(comm_est(), 1); /* EP-9 */
	pair_close(&pair);
}

/* EP-2: refused at once, nothing sent; the first packet tells, its owner moves to RTS. */
static void ep2_strict(void)
{
	struct ibv_qp_attr attr;

	begin(STRICT);
	CU_ASSERT_EQUAL(end_send(passive, 1, 0, 1), EINVAL);
	CU_ASSERT_EQUAL(counters().refused_strict, 1);
	CU_ASSERT_EQUAL(engine_counter("refused_strict"), 1);
	CU_ASSERT_EQUAL(hold().held_now, 0);
	CU_ASSERT_EQUAL(hold().strict, 1);
	first_packet();
	CU_ASSERT_EQUAL(comm_est(), 1);
	CU_ASSERT_EQUAL(qp_state(passive->qp), IBV_QPS_RTR);
	CU_ASSERT_EQUAL(end_send(passive, 1, 0, 1), EINVAL);
	pair_expect(&pair, 0, 60, IBV_WC_SEND);
	CU_ASSERT(pair_quiet(&pair, 0));
	CU_ASSERT_EQUAL(uroce_qp_arm(passive->qp, &(struct uroce_arm_attr){.timeout = 14}), EINVAL);
	CU_ASSERT_EQUAL(end_to_rts(passive->qp), 0);
	CU_ASSERT_EQUAL(end_recv(active, 2, 0, 8), 0);
	CU_ASSERT_EQUAL(end_send(passive, 1, 0, 1), 0);
	pair_expect(&pair, 0, 2, IBV_WC_RECV);
	/* and in the modify from INIT: EP-4 */
	CU_ASSERT_EQUAL(qp_move(passive->qp, IBV_QPS_RESET), 0);
	CU_ASSERT_EQUAL(end_to_init(passive, passive->qp), 0);
	attr = end_rtr_attr(active, active->qp);
	CU_ASSERT_EQUAL(ibv_modify_qp(passive->qp, &attr, PAIR_RTR_MASK | PAIR_RTS_ATTRS), EINVAL);
	pair_close(&pair);
}

/* Some of the five attributes are none (EP-4), and the QP stays in INIT. */
static void ep4_all_or_none(void)
{
	struct ibv_qp_attr attr;

	pair_open(&pair, false);
	CU_ASSERT_EQUAL(end_to_init(passive, passive->qp), 0);
	attr = end_rtr_attr(active, active->qp);
	for (unsigned int bit = 0; bit < 21; bit++) {
		if (!(PAIR_RTS_ATTRS & (1 << bit)))
			continue;
		CU_ASSERT_EQUAL(
			ibv_modify_qp(passive->qp, &attr, PAIR_RTR_MASK | (1 << bit)), EINVAL);
		CU_ASSERT_EQUAL(ibv_modify_qp(passive->qp, &attr,
					PAIR_RTR_MASK | (PAIR_RTS_ATTRS & ~(1 << bit))),
			EINVAL);
	}
	CU_ASSERT_EQUAL(qp_state(passive->qp), IBV_QPS_INIT);
	CU_ASSERT_EQUAL(ibv_modify_qp(passive->qp, &attr, PAIR_RTR_MASK | PAIR_RTS_ATTRS), 0);
	CU_ASSERT_EQUAL(hold().armed, 1);
	pair_close(&pair);
}

/* Not armed: the packet tells and opens nothing; the modify opens (EP-4a). */
static void ep4_modify(void)
{
	begin(UNARMED);
	post_early(3);
	first_packet();
	CU_ASSERT_EQUAL(comm_est(), 1);
	CU_ASSERT_EQUAL(hold().closed, 1);
	CU_ASSERT_EQUAL(hold().armed, 0);
	pair_expect(&pair, 0, 60, IBV_WC_SEND);
	CU_ASSERT(pair_quiet(&pair, 0));
	CU_ASSERT_EQUAL(end_to_rts(passive->qp), 0);
	expect_all(3);
	CU_ASSERT_EQUAL(hold().cause, UROCE_CAUSE_MODIFY);
	CU_ASSERT_EQUAL(comm_est(), 0);
	pair_close(&pair);
}

static const struct {
	struct uroce_arm_attr attr;
	int error;
} arms[] = {
	{{.sq_psn = 5, .timeout = 255}, EINVAL},
	{{.sq_psn = 5, .timeout = 32}, EINVAL},
	{{.sq_psn = 5, .timeout = 14, .retry_cnt = 8}, EINVAL},
	{{.sq_psn = 5, .timeout = 14, .rnr_retry = 8}, EINVAL},
	{{.sq_psn = 5, .timeout = 14, .max_rd_atomic = 255}, EINVAL},
	{{.sq_psn = 0x123456, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1},
		0},
};

static void ep4_arm(void)
{
	const struct uroce_arm_attr good = arms[5].attr;

	begin(UNARMED);
	CU_ASSERT_EQUAL(uroce_qp_arm(active->qp, &good), EINVAL); /* in RTS */
	for (unsigned int i = 0; i < 6; i++) {
		CU_ASSERT_EQUAL(uroce_qp_arm(passive->qp, &arms[i].attr), arms[i].error);
		CU_ASSERT_EQUAL(hold().armed, arms[i].error == 0);
	}
	post_early(2);
	first_packet();
	pair_expect(&pair, 0, 60, IBV_WC_SEND);
	expect_all(2);
	CU_ASSERT_EQUAL(uroce_qp_arm(passive->qp, &good), EINVAL); /* open */
	pair_close(&pair);
}

static void ep4_notify(void)
{
	begin(UNARMED);
	CU_ASSERT_EQUAL(uroce_qp_notify(passive->qp), EINVAL); /* not armed */
	CU_ASSERT_EQUAL(uroce_qp_arm(passive->qp, &arms[5].attr), 0);
	post_early(2);
	CU_ASSERT(pair_quiet(&pair, 0));
	CU_ASSERT_EQUAL(uroce_qp_notify(passive->qp), 0);
	expect_all(2);
	CU_ASSERT_EQUAL(hold().cause, UROCE_CAUSE_NOTIFY);
	CU_ASSERT_EQUAL(uroce_qp_notify(passive->qp), EISCONN); /* EP-6: once */
	CU_ASSERT_EQUAL(counters().late_notify, 1);
	CU_ASSERT_EQUAL(counters().promoted_notify, 1);
	pair_close(&pair);
}

/* The first modify to RTS after an automatic promotion: with the armed PSN, or not at all. */
static void ep6_modify_after(void)
{
	struct ibv_qp_attr attr = end_rts_attr();

	begin(ARMED);
	first_packet();
	pair_expect(&pair, 0, 60, IBV_WC_SEND);
	CU_ASSERT_EQUAL(qp_state(passive->qp), IBV_QPS_RTS);
	attr.sq_psn ^= 1;
	CU_ASSERT_EQUAL(ibv_modify_qp(passive->qp, &attr, PAIR_RTS_MASK), EINVAL);
	CU_ASSERT_EQUAL(end_to_rts(passive->qp), 0);
	CU_ASSERT_EQUAL(end_to_rts(passive->qp), EINVAL); /* now RTS to RTS by the table */
	pair_close(&pair);
}

/* EP-8: what the handler of the first request posts goes out at once. */
static void ep8_answer(void)
{
	begin(ARMED);
	CU_ASSERT_EQUAL(end_recv(active, 1, 0, 8), 0);
	first_packet();
	CU_ASSERT_EQUAL(end_send(passive, 2, 0, 8), 0);
	pair_expect(&pair, 0, 60, IBV_WC_SEND);
	pair_expect(&pair, 0, 1, IBV_WC_RECV);
	CU_ASSERT_EQUAL(counters().held, 0);
	pair_close(&pair);
}

static void ep12_timeout(void)
{
	struct ibv_wc wc;

	begin(ARMED);
	CU_ASSERT_EQUAL(uroce_qp_set_hold_timeout(passive->qp, 20, UROCE_HOLD_OPEN), 0);
	post_early(2);
	CU_ASSERT(pair_quiet(&pair, 0));
	expect_all(2); /* waits */
	CU_ASSERT_EQUAL(hold().cause, UROCE_CAUSE_TIMEOUT);
	CU_ASSERT_EQUAL(counters().hold_timeout, 1);
	pair_close(&pair);

	begin(UNARMED);
	CU_ASSERT_EQUAL(uroce_qp_set_hold_timeout(passive->qp, 20, UROCE_HOLD_ERROR), 0);
	post_early(2);
	for (unsigned int i = 0; i < 2; i++) {
		CU_ASSERT(pair_poll(&pair, 1, &wc));
		CU_ASSERT_EQUAL(wc.status, IBV_WC_WR_FLUSH_ERR);
		CU_ASSERT_EQUAL(wc.wr_id, 100 + i);
	}
	CU_ASSERT_EQUAL(qp_state(passive->qp), IBV_QPS_ERR);
	pair_close(&pair);
}

/* To ERR: one flush per request, in order, unsignaled ones too. To RESET: nothing. */
static void ep13_failure(void)
{
	struct ibv_send_wr silent = {.wr_id = 7, .opcode = IBV_WR_SEND};
	struct ibv_wc wc;

	begin(ARMED);
	post_early(2);
	CU_ASSERT_EQUAL(qp_post(passive->qp, &silent), 0);
	CU_ASSERT_EQUAL(qp_move(passive->qp, IBV_QPS_ERR), 0);
	for (unsigned int i = 0; i < 3; i++) {
		CU_ASSERT(pair_poll(&pair, 1, &wc));
		CU_ASSERT_EQUAL(wc.status, IBV_WC_WR_FLUSH_ERR);
		CU_ASSERT_EQUAL(wc.wr_id, i < 2 ? 100 + i : 7);
	}
	CU_ASSERT_EQUAL(counters().flushed_held, 3);
	CU_ASSERT(pair_quiet(&pair, 0));
	pair_close(&pair);

	begin(ARMED);
	post_early(2);
	CU_ASSERT_EQUAL(qp_move(passive->qp, IBV_QPS_RESET), 0);
	CU_ASSERT_EQUAL(counters().vanished_held, 2);
	CU_ASSERT(pair_quiet(&pair, 0));
	CU_ASSERT(pair_quiet(&pair, 1));
	pair_close(&pair);
}

static void ep17_seen(void)
{
	struct uroce_hold_histogram histogram;
	uint64_t all = 0, long_ones = 0;

	begin(ARMED);
	post_early(2);
	pair_drive(&pair);
	usleep(2000);
	first_packet();
	pair_expect(&pair, 0, 60, IBV_WC_SEND);
	expect_all(2);
	CU_ASSERT_EQUAL(engine_counter("held"), 2);
	CU_ASSERT_EQUAL(engine_counter("released"), 2);
	CU_ASSERT_EQUAL(engine_counter("promoted_packet"), 1);
	CU_ASSERT_EQUAL(engine_counter("drop_icrc"), 0);
	CU_ASSERT(engine_counter("rx_packets") >= 2);
	CU_ASSERT_EQUAL(uroce_query_hold_histogram(passive->context, &histogram), 0);
	for (unsigned int i = 0; i < UROCE_HOLD_BUCKETS; i++) {
		all += histogram.count[i];
		if (histogram.bound_us[i] > 2000)
			long_ones += histogram.count[i];
	}
	CU_ASSERT_EQUAL(all, 1);
	CU_ASSERT_EQUAL(long_ones, 1);
	pair_close(&pair);
}

static const struct unit_case cases[] = {
	UNIT_CASE(ep1_hold),
	UNIT_CASE(ep2_strict),
	UNIT_CASE(ep4_all_or_none),
	UNIT_CASE(ep4_modify),
	UNIT_CASE(ep4_arm),
	UNIT_CASE(ep4_notify),
	UNIT_CASE(ep6_modify_after),
	UNIT_CASE(ep8_answer),
	UNIT_CASE(ep12_timeout),
	UNIT_CASE(ep13_failure),
	UNIT_CASE(ep17_seen),
};

UNIT_MAIN("verbs-early", cases)
