/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What uroce is for: the passive side's QP is in RTR, no RTU ever comes, and the first request
 * does.
 *
 *   answer    its handler posts the answer at once; the gate has opened, the answer goes out
 *   thousand  1,000 requests posted before that: held, then sent in order
 *   strict    the other policy: a post is EINVAL until the owner has moved the QP to RTS
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include <uroce/uroce.h>

#include "demo.h"

/* The slots of memory: what is sent, and what is received (slot n). */
#define OUT 0u
#define IN 4096u
#define SLOT 64u

static void put_number(struct side *side, uint64_t offset, uint64_t number)
{
	memcpy(side->memory + offset, &number, sizeof(number));
}

static uint64_t get_number(const struct side *side, uint64_t offset)
{
	uint64_t number;

	memcpy(&number, side->memory + offset, sizeof(number));
	return number;
}

/* An asynchronous event that has been raised, acknowledged; -1: none. */
static int event_type(struct side *side)
{
	struct pollfd async = {.fd = side->context->async_fd, .events = POLLIN};
	struct ibv_async_event event;

	if (poll(&async, 1, 0) != 1 || ibv_get_async_event(side->context, &event) != 0)
		return -1;
	ibv_ack_async_event(&event);
	return (int)event.event_type;
}

static void pause_polling(struct link *link, double seconds)
{
	struct ibv_wc wc;

	if (next_completion(link, &wc, seconds))
		die("a completion where none was due");
}

static void request(struct link *link, double *answered)
{
	double start = seconds_now();
	struct ibv_wc wc;

	put_number(link->side, OUT, 7);
	if (post_send(link, IBV_WR_SEND, 1, OUT, 8, 0, false) != 0)
		die("ibv_post_send failed");
	must_complete(link, &wc);
	*answered = seconds_now() - start;
}

/* ---- answer ---- */

static void answer_passive(struct link *link)
{
	struct side *side = link->side;
	struct ibv_wc wc;
	int posted;

	check(side, link_state(link) == IBV_QPS_RTR,
		"the QP is in RTR: no RTU, no move to RTS will come");
	meet(side);
	must_complete(link, &wc);
	put_number(side, OUT, get_number(side, IN) + 1);
	posted = post_send(link, IBV_WR_SEND, 2, OUT, 8, 0, true);
	check(side, posted == 0, "the first request came; its handler posts the answer: accepted");
	must_complete(link, &wc);
	check(side, wc.wr_id == 2, "the answer went out and was acknowledged");
	check(side, link_state(link) == IBV_QPS_RTS,
		"the QP shows RTS: the first packet promoted it");
	check(side, event_type(side) == IBV_EVENT_COMM_EST, "the event was IBV_EVENT_COMM_EST");
	check(side, event_type(side) == -1, "and there is no other");
}

static void answer_active(struct link *link)
{
	double answered;

	meet(link->side);
	request(link, &answered);
	check(link->side, get_number(link->side, IN) == 8,
		"the answer came %.0f us after the request was posted", answered * 1e6);
}

void show_answer(struct side *side)
{
	struct link link;

	say(side, "The passive side in RTR answers from its completion handler");
	link_open(&link, side, side->active ? REACH_RTS : REACH_RTR_ARMED);
	if (post_recv(&link, 1, IN, 8) != 0)
		die("ibv_post_recv failed");
	if (side->active)
		answer_active(&link);
	else
		answer_passive(&link);
	link_close(&link);
}

/* ---- thousand ---- */

static void thousand_passive(struct link *link)
{
	struct side *side = link->side;
	struct uroce_hold hold;
	uint32_t taken = 0;
	struct ibv_wc wc;

	for (uint32_t i = 0; i < DEMO_HELD; i++) {
		put_number(side, IN + i * SLOT, i);
		taken += post_send(link, IBV_WR_SEND, i, IN + i * SLOT, 8, 0, i + 1 == DEMO_HELD) ==
			0;
	}
	check(side, taken == DEMO_HELD, "%u requests posted in RTR, all accepted", taken);
	pause_polling(link, 0.2);
	if (uroce_qp_query_hold(link->qp, &hold) != 0)
		die("uroce_qp_query_hold failed");
	check(side, hold.closed && hold.held_now == DEMO_HELD,
		"the gate is closed and holds %" PRIu64, hold.held_now);
	meet(side);
	must_complete(link, &wc); /* the request */
	must_complete(link, &wc);
	check(side, wc.opcode == IBV_WC_SEND && wc.wr_id == DEMO_HELD - 1,
		"after the first packet all of them went out");
}

static void thousand_active(struct link *link)
{
	struct side *side = link->side;
	bool in_order = true;
	struct ibv_wc wc;

	pause_polling(link, 0.2);
	check(side, true, "nothing arrived while they were held");
	meet(side);
	put_number(side, OUT, 0);
	if (post_send(link, IBV_WR_SEND, 1, OUT, 8, 0, false) != 0)
		die("ibv_post_send failed");
	for (uint32_t i = 0; i < DEMO_HELD; i++) {
		must_complete(link, &wc);
		in_order &= wc.wr_id == i && get_number(side, IN + i * SLOT) == i;
	}
	check(side, in_order, "after the first request: %u messages, in the order they were posted",
		DEMO_HELD);
}

void show_thousand(struct side *side)
{
	uint32_t receives = side->active ? DEMO_HELD : 1;
	struct link link;

	say(side, "1,000 requests posted before the connection is known to be up");
	link_open(&link, side, side->active ? REACH_RTS : REACH_RTR_ARMED);
	for (uint32_t i = 0; i < receives; i++)
		if (post_recv(&link, i, side->active ? IN + i * SLOT : OUT, 8) != 0)
			die("ibv_post_recv failed");
	meet(side);
	if (side->active)
		thousand_active(&link);
	else
		thousand_passive(&link);
	link_close(&link);
	event_type(side); /* COMM_EST, as before */
}

/* ---- strict ---- */

static void strict_passive(struct link *link)
{
	struct side *side = link->side;
	struct ibv_wc wc;

	check(side, post_send(link, IBV_WR_SEND, 1, OUT, 8, 0, true) == EINVAL,
		"a post in RTR is EINVAL");
	meet(side);
	must_complete(link, &wc);
	check(side, event_type(side) == IBV_EVENT_COMM_EST,
		"the first request came and raised IBV_EVENT_COMM_EST");
	check(side,
		post_send(link, IBV_WR_SEND, 2, OUT, 8, 0, true) == EINVAL &&
			link_state(link) == IBV_QPS_RTR,
		"the QP is in RTR still, a post is EINVAL still");
	check(side, link_to_rts(link) == 0, "its owner moves it to RTS");
	put_number(side, OUT, get_number(side, IN) + 1);
	check(side, post_send(link, IBV_WR_SEND, 3, OUT, 8, 0, true) == 0,
		"now the answer is accepted");
	must_complete(link, &wc);
	check(side, wc.wr_id == 3,
		"and it is the first that went out: nothing of the refused ones did");
}

static void strict_active(struct link *link)
{
	double answered;

	meet(link->side);
	request(link, &answered);
	check(link->side, get_number(link->side, IN) == 8,
		"one answer came, the one that was accepted");
}

static void print_histogram(struct side *side)
{
	struct uroce_hold_histogram histogram;
	uint64_t from = 0;
	uint64_t total = 0;

	if (uroce_query_hold_histogram(side->context, &histogram) != 0)
		die("uroce_query_hold_histogram failed");
	for (unsigned int i = 0; i < UROCE_HOLD_BUCKETS; i++) {
		total += histogram.count[i];
		if (histogram.count[i])
			say(side, "held for %" PRIu64 " us and more: %" PRIu64 " times", from,
				histogram.count[i]);
		from = histogram.bound_us[i];
	}
	/* only the thousand were posted before their gate opened */
	check(side, total == 1, "the histogram of the time held shows one gate that held requests");
}

void show_strict(struct side *side)
{
	struct link link;

	say(side, "The same under the strict policy");
	link_open(&link, side, side->active ? REACH_RTS : REACH_RTR_STRICT);
	if (post_recv(&link, 1, IN, 8) != 0)
		die("ibv_post_recv failed");
	if (side->active)
		strict_active(&link);
	else
		strict_passive(&link);
	link_close(&link);
	if (!side->active)
		print_histogram(side);
}
