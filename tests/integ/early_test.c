/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Early posts (docs/early-posts.md) through the whole of it: a program's calls, the engine, the
 * port, the wire. The passive end is in RTR; whichever engine has a core of its own.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include <uroce/uroce.h>

#include "bench.h"
#include "link.h"
#include "pattern.h"

#define HELD 20u
#define SLOT 64u
#define IN (NODE_MEMORY / 2)

static const enum mode modes[][2] = {
	{INLINE, DEDICATED},
	{DEDICATED, INLINE},
	{MIXED, INLINE},
	{INLINE, MIXED},
};
#define MODES (sizeof(modes) / sizeof(modes[0]))

struct scene {
	struct node nodes[2];
	struct link link;
	struct end *passive, *active;
};

static void scene_open(struct scene *scene, const enum mode mode[2], enum reach reach)
{
	node_open(&scene->nodes[0], EAST, mode[0]);
	node_open(&scene->nodes[1], WEST, mode[1]);
	link_open(&scene->link, &scene->nodes[0], &scene->nodes[1], reach);
	scene->passive = &scene->link.ends[0];
	scene->active = &scene->link.ends[1];
}

static void scene_close(struct scene *scene)
{
	link_close(&scene->link);
	node_close(&scene->nodes[0]);
	node_close(&scene->nodes[1]);
}

static void in_all_modes(enum reach reach, void (*run)(struct scene *scene))
{
	struct scene scene;

	for (size_t i = 0; i < MODES; i++) {
		scene_open(&scene, modes[i], reach);
		run(&scene);
		scene_close(&scene);
	}
}

static int send_number(struct end *end, uint64_t number)
{
	struct ibv_send_wr wr = {
		.wr_id = number, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};

	memcpy(end->node->memory + SLOT * number, &number, sizeof(number));
	return end_send(end, &wr, SLOT * number, sizeof(number), 0);
}

static void recv_numbers(struct end *end, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		CU_ASSERT_EQUAL_FATAL(end_recv(end, i, IN + SLOT * i, 8), 0);
}

/* The receives complete in order with the numbers first, first + 1, ... */
static void expect_numbers(struct end *end, uint64_t first, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct ibv_wc wc = bench_complete(end->node->cq);
		uint64_t number;

		CU_ASSERT_EQUAL(wc.opcode, IBV_WC_RECV);
		memcpy(&number, end->node->memory + IN + SLOT * wc.wr_id, sizeof(number));
		CU_ASSERT_EQUAL(number, first + i);
	}
}

static void expect_sent(struct end *end, uint64_t first, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct ibv_wc wc = bench_complete(end->node->cq);

		CU_ASSERT_EQUAL(wc.opcode, IBV_WC_SEND);
		CU_ASSERT_EQUAL(wc.wr_id, first + i);
	}
}

static struct uroce_hold hold_of(struct end *end)
{
	struct uroce_hold hold;

	CU_ASSERT_EQUAL_FATAL(uroce_qp_query_hold(end->qp, &hold), 0);
	return hold;
}

static struct uroce_qp_counters counters_of(struct end *end)
{
	struct uroce_qp_counters counters;

	CU_ASSERT_EQUAL_FATAL(uroce_qp_query_counters(end->qp, &counters), 0);
	return counters;
}

/* The next asynchronous event, acknowledged; -1: there is none. */
static int take_event(struct end *end)
{
	struct pollfd async = {.fd = end->node->context->async_fd, .events = POLLIN};
	struct ibv_async_event event;

	if (poll(&async, 1, 0) != 1)
		return -1;
	CU_ASSERT_EQUAL_FATAL(ibv_get_async_event(end->node->context, &event), 0);
	CU_ASSERT_PTR_EQUAL(event.element.qp, end->qp);
	ibv_ack_async_event(&event);
	return (int)event.event_type;
}

/* HELD requests on the passive end, which stay there. */
static void post_held(struct scene *scene)
{
	struct uroce_hold hold;

	recv_numbers(scene->active, HELD + 1);
	for (uint32_t i = 0; i < HELD; i++)
		CU_ASSERT_EQUAL_FATAL(send_number(scene->passive, i), 0);
	bench_no_completion(scene->nodes[1].cq);
	bench_no_completion(scene->nodes[0].cq);
	hold = hold_of(scene->passive);
	CU_ASSERT_EQUAL(hold.closed, 1);
	CU_ASSERT_EQUAL(hold.held_now, HELD);
	CU_ASSERT(hold.held_since > 0);
	CU_ASSERT_EQUAL(hold.cause, UROCE_CAUSE_NONE);
	CU_ASSERT_EQUAL(end_state(scene->passive), IBV_QPS_RTR);
	CU_ASSERT_EQUAL(counters_of(scene->passive).held, HELD);
	/* EP-3: nothing at all has left */
	CU_ASSERT_EQUAL(bench_counter(scene->nodes[0].context, "sent_pkts"), 0);
}

static void expect_released(struct scene *scene, enum uroce_hold_cause cause)
{
	struct uroce_hold hold;

	expect_numbers(scene->active, 0, HELD);
	hold = hold_of(scene->passive);
	CU_ASSERT_EQUAL(hold.closed, 0);
	CU_ASSERT_EQUAL(hold.held_now, 0);
	CU_ASSERT_EQUAL(hold.cause, cause);
	CU_ASSERT_EQUAL(counters_of(scene->passive).held, HELD);
	CU_ASSERT_EQUAL(counters_of(scene->passive).released, HELD);
	CU_ASSERT_EQUAL(end_state(scene->passive), IBV_QPS_RTS);
}

/* ---- the gate opens ---- */

static void open_by_packet(struct scene *scene)
{
	post_held(scene);
	recv_numbers(scene->passive, 1);
	CU_ASSERT_EQUAL_FATAL(send_number(scene->active, 30), 0);
	/* EP-9: the event is seen no later than the completion */
	expect_numbers(scene->passive, 30, 1);
	CU_ASSERT_EQUAL(take_event(scene->passive), IBV_EVENT_COMM_EST);
	CU_ASSERT_EQUAL(take_event(scene->passive), -1);
	/* EP-7: what is posted now goes out behind what was held */
	CU_ASSERT_EQUAL(send_number(scene->passive, HELD), 0);
	expect_sent(scene->active, 30, 1);
	expect_released(scene, UROCE_CAUSE_PACKET);
	expect_numbers(scene->active, HELD, 1);
	expect_sent(scene->passive, 0, HELD + 1);
	CU_ASSERT_EQUAL(counters_of(scene->passive).promoted_packet, 1);
	CU_ASSERT_EQUAL(uroce_qp_notify(scene->passive->qp), EISCONN);
	CU_ASSERT_EQUAL(counters_of(scene->passive).late_notify, 1);
	/* EP-6: the late move to RTS fits */
	CU_ASSERT_EQUAL(end_to_rts(scene->passive), 0);
	CU_ASSERT_EQUAL(take_event(scene->passive), -1);
}

static void first_packet(void)
{
	in_all_modes(REACH_RTR_ARMED, open_by_packet);
}

static void open_by_notify(struct scene *scene)
{
	post_held(scene);
	CU_ASSERT_EQUAL(uroce_qp_notify(scene->passive->qp), 0);
	expect_released(scene, UROCE_CAUSE_NOTIFY);
	expect_sent(scene->passive, 0, HELD);
	CU_ASSERT_EQUAL(uroce_qp_notify(scene->passive->qp), EISCONN);
	CU_ASSERT_EQUAL(take_event(scene->passive), -1);
}

static void notify(void)
{
	in_all_modes(REACH_RTR_ARMED, open_by_notify);
}

/* Not armed: it holds as well, but only its owner opens it. */
static void open_by_modify(struct scene *scene)
{
	post_held(scene);
	CU_ASSERT_EQUAL(uroce_qp_notify(scene->passive->qp), EINVAL);
	recv_numbers(scene->passive, 1);
	CU_ASSERT_EQUAL_FATAL(send_number(scene->active, 30), 0);
	expect_numbers(scene->passive, 30, 1);
	CU_ASSERT_EQUAL(take_event(scene->passive), IBV_EVENT_COMM_EST);
	CU_ASSERT_EQUAL(hold_of(scene->passive).held_now, HELD);
	CU_ASSERT_EQUAL(counters_of(scene->passive).unarmed_first_packet, 1);
	CU_ASSERT_EQUAL(end_to_rts(scene->passive), 0);
	expect_sent(scene->active, 30, 1);
	expect_released(scene, UROCE_CAUSE_MODIFY);
	expect_sent(scene->passive, 0, HELD);
}

static void modify(void)
{
	in_all_modes(REACH_RTR, open_by_modify);
}

static void open_by_late_arming(struct scene *scene)
{
	struct uroce_arm_attr attr = {.sq_psn = scene->passive->psn,
		.timeout = 18,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 4};

	post_held(scene);
	CU_ASSERT_EQUAL(uroce_qp_arm(scene->passive->qp, &attr), 0);
	recv_numbers(scene->passive, 1);
	CU_ASSERT_EQUAL_FATAL(send_number(scene->active, 30), 0);
	expect_sent(scene->active, 30, 1);
	expect_released(scene, UROCE_CAUSE_PACKET);
	expect_numbers(scene->passive, 30, 1);
	expect_sent(scene->passive, 0, HELD);
	CU_ASSERT_EQUAL(take_event(scene->passive), IBV_EVENT_COMM_EST);
	CU_ASSERT_EQUAL(uroce_qp_arm(scene->passive->qp, &attr), EINVAL);
}

static void late_arming(void)
{
	in_all_modes(REACH_RTR, open_by_late_arming);
}

/* EP-12: set while it holds already; counted from the first held request, so it is over. */
static void open_by_timeout(struct scene *scene)
{
	post_held(scene);
	CU_ASSERT_EQUAL(uroce_qp_set_hold_timeout(scene->passive->qp, 1, UROCE_HOLD_OPEN), 0);
	expect_released(scene, UROCE_CAUSE_TIMEOUT);
	expect_sent(scene->passive, 0, HELD);
	CU_ASSERT_EQUAL(counters_of(scene->passive).hold_timeout, 1);
	CU_ASSERT_EQUAL(take_event(scene->passive), -1);
}

static void hold_timeout(void)
{
	in_all_modes(REACH_RTR_ARMED, open_by_timeout);
}

/* ---- EP-8: the scene that the project is about ---- */

static void answer_at_once(struct scene *scene)
{
	recv_numbers(scene->active, 1);
	recv_numbers(scene->passive, 1);
	CU_ASSERT_EQUAL_FATAL(send_number(scene->active, 7), 0);
	expect_numbers(scene->passive, 7, 1);
	CU_ASSERT_EQUAL(hold_of(scene->passive).closed, 0);
	CU_ASSERT_EQUAL(send_number(scene->passive, 8), 0);
	expect_sent(scene->active, 7, 1);
	expect_numbers(scene->active, 8, 1);
	expect_sent(scene->passive, 8, 1);
	CU_ASSERT_EQUAL(counters_of(scene->passive).held, 0);
	CU_ASSERT_EQUAL(take_event(scene->passive), IBV_EVENT_COMM_EST);
}

static void answer_from_the_handler(void)
{
	in_all_modes(REACH_RTR_ARMED, answer_at_once);
}

/* ---- EP-1: the depth is the end, and then ENOMEM ---- */

static void fill_up(struct scene *scene)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	uint32_t taken = 0;

	CU_ASSERT_EQUAL_FATAL(ibv_query_qp(scene->passive->qp, &attr, IBV_QP_CAP, &init), 0);
	while (taken < 10000 && send_number(scene->passive, taken) == 0)
		taken++;
	CU_ASSERT_EQUAL(taken, init.cap.max_send_wr);
	CU_ASSERT_EQUAL(send_number(scene->passive, taken), ENOMEM);
	CU_ASSERT_EQUAL(counters_of(scene->passive).refused_full, 2);
	/* EP-13: to ERR, all flushed, in order */
	CU_ASSERT_EQUAL(end_modify(scene->passive, IBV_QPS_ERR), 0);
	for (uint32_t i = 0; i < taken; i++) {
		struct ibv_wc wc = bench_any_completion(scene->nodes[0].cq);

		CU_ASSERT_EQUAL(wc.status, IBV_WC_WR_FLUSH_ERR);
		CU_ASSERT_EQUAL(wc.wr_id, i);
	}
	CU_ASSERT_EQUAL(counters_of(scene->passive).flushed_held, taken);
	CU_ASSERT_EQUAL(bench_counter(scene->nodes[0].context, "sent_pkts"), 0);
}

static void full_and_flushed(void)
{
	in_all_modes(REACH_RTR_ARMED, fill_up);
}

/* EP-13: RESET makes them vanish. */
static void reset_held(struct scene *scene)
{
	post_held(scene);
	CU_ASSERT_EQUAL(end_modify(scene->passive, IBV_QPS_RESET), 0);
	bench_no_completion(scene->nodes[0].cq);
	bench_no_completion(scene->nodes[1].cq);
	CU_ASSERT_EQUAL(counters_of(scene->passive).vanished_held, HELD);
}

static void vanished(void)
{
	in_all_modes(REACH_RTR_ARMED, reset_held);
}

/* ---- EP-2: strict ---- */

static void refuse(struct scene *scene)
{
	CU_ASSERT_EQUAL(send_number(scene->passive, 1), EINVAL);
	recv_numbers(scene->passive, 1);
	recv_numbers(scene->active, 1);
	CU_ASSERT_EQUAL_FATAL(send_number(scene->active, 7), 0);
	expect_numbers(scene->passive, 7, 1);
	expect_sent(scene->active, 7, 1);
	CU_ASSERT_EQUAL(take_event(scene->passive), IBV_EVENT_COMM_EST);
	CU_ASSERT_EQUAL(end_state(scene->passive), IBV_QPS_RTR);
	CU_ASSERT_EQUAL(send_number(scene->passive, 2), EINVAL);
	CU_ASSERT_EQUAL(counters_of(scene->passive).refused_strict, 2);
	CU_ASSERT_EQUAL(hold_of(scene->passive).strict, 1);
	CU_ASSERT_EQUAL(end_to_rts(scene->passive), 0);
	CU_ASSERT_EQUAL(send_number(scene->passive, 3), 0);
	/* the refused ones have left nothing behind */
	expect_numbers(scene->active, 3, 1);
	expect_sent(scene->passive, 3, 1);
	bench_no_completion(scene->nodes[1].cq);
	CU_ASSERT_EQUAL(counters_of(scene->passive).held, 0);
}

static void strict(void)
{
	in_all_modes(REACH_RTR_STRICT, refuse);
}

static const struct unit_case cases[] = {
	UNIT_CASE(first_packet),
	UNIT_CASE(notify),
	UNIT_CASE(modify),
	UNIT_CASE(late_arming),
	UNIT_CASE(hold_timeout),
	UNIT_CASE(answer_from_the_handler),
	UNIT_CASE(full_and_flushed),
	UNIT_CASE(vanished),
	UNIT_CASE(strict),
};

int main(int argc, char **argv)
{
	bench_start();
	return unit_run("integ-early", cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
