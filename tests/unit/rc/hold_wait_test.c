/* SPDX-License-Identifier: BSD-3-Clause */
/* The gate, docs/early-posts.md: no waiting for ever (EP-12). */
#include <errno.h>
#include <string.h>

#include "hold_rig.h"
#include "log.h"

/* ---- the log, as the sink hears it ---- */

static unsigned int lines;
static char last_line[512];

static void hear(enum log_level level, const char *line)
{
	CU_ASSERT_EQUAL(level, LOG_WARNING);
	lines++;
	snprintf(last_line, sizeof(last_line), "%s", line);
}

static void listen_to_the_log(void)
{
	lines = 0;
	last_line[0] = 0;
	log_set_level(LOG_NOTICE);
	log_set_sink(hear);
}

static bool line_says(const char *words)
{
	return strstr(last_line, words) != NULL;
}

/* ---- EP-12 ---- */

/* Once, with the facts, a second after the first held request; the time-out is off by default. */
static void ep_12_a_second_of_holding_is_logged_once_and_counted(void)
{
	struct rig rig;
	uint64_t start;

	listen_to_the_log();
	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	rig_time(&rig, rig.core.now + 5 * SECOND); /* nothing held: no line */
	start = rig.core.now;
	hold_post(&rig, 1);
	rig_time(&rig, start + 600 * MS);
	hold_post(&rig, 2);
	rig_time(&rig, start + SECOND - 1);
	CU_ASSERT_EQUAL(lines, 0);
	rig_time(&rig, start + SECOND);
	CU_ASSERT_EQUAL(lines, 1);
	CU_ASSERT(line_says("0x000101"));
	CU_ASSERT(line_says("requests: 3"));
	CU_ASSERT(line_says("1000 ms"));
	CU_ASSERT(line_says("armed: yes"));
	ASSERT_COUNTED(&rig, hold_long, 1);
	hold_post(&rig, 1);
	rig_time(&rig, start + 3600 * SECOND);
	CU_ASSERT_EQUAL(lines, 1);
	ASSERT_COUNTED(&rig, hold_long, 1);
	ASSERT_COUNTED(&rig, hold_timeout, 0);
	CU_ASSERT(hold_closed(&rig));
	rig_close(&rig);
	log_set_sink(NULL);
}

static void ep_12_the_line_says_if_the_qp_is_not_armed(void)
{
	struct rig rig;

	listen_to_the_log();
	rig_open(&rig, 1, NULL);
	rig_to_rtr(&rig);
	hold_post(&rig, 1);
	rig_time(&rig, rig.core.now + SECOND);
	CU_ASSERT_EQUAL(lines, 1);
	CU_ASSERT(line_says("armed: no"));
	rig_close(&rig);
	log_set_sink(NULL);
}

/* Armed behind the peer's first packet: no other may come, so the line says what helps. */
static void ep_12_the_line_says_if_it_was_armed_too_late(void)
{
	struct rc_arm arm = {.sq_psn = 0x100, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7};
	struct rig_packet packet = {.opcode = 0x04, .psn = 0x200, .payload_length = 8};
	struct rig rig;

	listen_to_the_log();
	rig_open(&rig, 1, NULL);
	rig_to_rtr(&rig);
	rig_post_recv(&rig, 1, 0, 64);
	rig_receive(&rig, &packet);
	hold_post(&rig, 1);
	CU_ASSERT_EQUAL(rc_hold_arm(&rig.core, rig.qp, &arm), 0);
	CU_ASSERT(hold_closed(&rig));
	rig_time(&rig, rig.core.now + SECOND);
	CU_ASSERT_EQUAL(lines, 1);
	CU_ASSERT(line_says("came before the QP was armed"));
	CU_ASSERT_EQUAL(rc_hold_notify(&rig.core, rig.qp), 0);
	CU_ASSERT(!hold_closed(&rig));
	rig_close(&rig);
	log_set_sink(NULL);
}

/* Every visit to RTR is a wait of its own; one that opens in time is not mentioned. */
static void ep_12_every_visit_is_logged_for_itself(void)
{
	struct rig rig;

	listen_to_the_log();
	rig_open(&rig, 1, NULL);
	for (unsigned int visit = 1; visit <= 3; visit++) {
		rig_to_armed_rtr(&rig);
		hold_post(&rig, 1);
		rig_time(&rig, rig.core.now + 2 * SECOND);
		CU_ASSERT_EQUAL(lines, visit);
		hold_reset(&rig);
	}
	rig_to_armed_rtr(&rig);
	hold_post(&rig, 1);
	rig_time(&rig, rig.core.now + 999 * MS);
	hold_first_send(&rig);
	rig_run(&rig);
	hold_ack(&rig, 0x100);
	rig_time(&rig, rig.core.now + 5 * SECOND);
	CU_ASSERT_EQUAL(lines, 3);
	ASSERT_COUNTED(&rig, hold_long, 3);
	rig_close(&rig);
	log_set_sink(NULL);
}

/* Many QPs at once, or one that comes back again and again, cannot flood the log. All count. */
static void ep_12_a_flood_of_holding_qps_is_not_a_flood_of_lines(void)
{
	enum { QPS = 100 };
	struct rc_qp *qps[QPS];
	struct rc_qp *first;
	struct rig rig;

	listen_to_the_log();
	rig_open(&rig, 1, NULL);
	first = rig.qp;
	for (uint32_t i = 0; i < QPS; i++) {
		struct rc_qp_attr attr = {.qp_num = 0x200 + i,
			.pd = 7,
			.recv_pd = 7,
			.sq_depth = 1,
			.max_send_sge = 1,
			.max_rd_atomic = 16,
			.pkey = 0xffff};

		CU_ASSERT_EQUAL_FATAL(rc_qp_create(&rig.core, &attr, &rig, &qps[i]), 0);
		rig.qp = qps[i];
		rig_to_rtr(&rig);
	}
	rig_post(&rig, IBV_WR_SEND, 1, 0, 16, 0, 0); /* the queue of the rig serves them all */
	for (uint32_t i = 0; i < QPS; i++)
		rc_posted(&rig.core, qps[i]);
	rig.core.now += SECOND;
	rc_core_run_timers(&rig.core);
	CU_ASSERT_EQUAL(rig.core.hold_counters.hold_long, QPS);
	CU_ASSERT_EQUAL(lines, LOG_LIMIT_BURST);
	for (uint32_t i = 0; i < QPS; i++)
		rc_qp_destroy(&rig.core, qps[i]);
	rig.qp = first;
	rig_close(&rig);
	log_set_sink(NULL);
}

static void ep_12_the_timeout_opens_or_ends(void)
{
	static const struct {
		uint32_t ms;
		enum rc_hold_action action;
	} rows[] = {
		{1, RC_HOLD_OPEN},
		{250, RC_HOLD_OPEN},
		{5000, RC_HOLD_OPEN},
		{UINT32_MAX, RC_HOLD_OPEN},
		{1, RC_HOLD_ERROR},
		{250, RC_HOLD_ERROR},
		{5000, RC_HOLD_ERROR},
		{UINT32_MAX, RC_HOLD_ERROR},
	};

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		uint64_t end;
		struct rig rig;

		listen_to_the_log();
		rig_open(&rig, 1, NULL);
		rig_to_armed_rtr(&rig);
		CU_ASSERT_EQUAL(
			rc_hold_set_timeout(&rig.core, rig.qp, rows[i].ms, rows[i].action), 0);
		rig_time(
			&rig, rig.core.now + 10 * SECOND); /* it runs from the first held request */
		end = rig.core.now + rows[i].ms * MS;
		hold_post(&rig, 2);
		rig_time(&rig, end - 1);
		CU_ASSERT(hold_closed(&rig));
		ASSERT_COUNTED(&rig, hold_timeout, 0);
		rig_time(&rig, end);
		ASSERT_COUNTED(&rig, hold_timeout, 1);
		if (rows[i].action == RC_HOLD_OPEN) {
			CU_ASSERT_EQUAL(hold_cause(&rig), RC_HOLD_TIMEOUT);
			hold_assert_psns(&rig, 0x100, 2);
			ASSERT_COUNTED(&rig, promoted_timeout, 1);
		} else {
			CU_ASSERT_EQUAL(rc_qp_shown_state(rig.qp), IBV_QPS_ERR);
			CU_ASSERT_EQUAL(rig_count(&rig, RIG_SEND_DONE), 2);
			CU_ASSERT_EQUAL(hold_requests_sent(&rig), 0);
			ASSERT_COUNTED(&rig, flushed_held, 2);
		}
		/* the line after a second does not depend on it */
		ASSERT_COUNTED(&rig, hold_long, rows[i].ms > 1000);
		rig_close(&rig);
	}
	log_set_sink(NULL);
}

/* On a QP that is not armed "open" is impossible: said, counted, and not the end of the line. */
static void ep_12_the_timeout_cannot_open_what_is_not_armed(void)
{
	struct rig rig;
	uint64_t start;

	listen_to_the_log();
	rig_open(&rig, 1, NULL);
	rig_to_rtr(&rig);
	CU_ASSERT_EQUAL(rc_hold_set_timeout(&rig.core, rig.qp, 100, RC_HOLD_OPEN), 0);
	start = rig.core.now;
	hold_post(&rig, 1);
	rig_time(&rig, start + 100 * MS);
	CU_ASSERT(hold_closed(&rig));
	CU_ASSERT_EQUAL(lines, 1);
	CU_ASSERT(line_says("100 ms"));
	CU_ASSERT(line_says("not armed"));
	ASSERT_COUNTED(&rig, hold_timeout, 1);
	rig_time(&rig, start + SECOND);
	CU_ASSERT_EQUAL(lines, 2);
	ASSERT_COUNTED(&rig, hold_long, 1);
	rig_time(&rig, start + 100 * SECOND);
	CU_ASSERT_EQUAL(lines, 2);
	ASSERT_COUNTED(&rig, hold_timeout, 1);
	CU_ASSERT_EQUAL(hold_modify_rts(&rig), 0);
	rig_run(&rig);
	hold_assert_psns(&rig, 0x100, 1);
	rig_close(&rig);
	log_set_sink(NULL);
}

/* Armed when its time is over already, it opens at once: that is what the time-out is for. */
static void ep_12_armed_after_the_timeout_it_opens(void)
{
	struct rc_arm arm;
	struct rig rig;

	listen_to_the_log();
	rig_open(&rig, 1, NULL);
	rig_to_rtr(&rig);
	CU_ASSERT_EQUAL(rc_hold_set_timeout(&rig.core, rig.qp, 100, RC_HOLD_OPEN), 0);
	hold_post(&rig, 2);
	rig_time(&rig, rig.core.now + 500 * MS);
	arm = hold_arm(&rig);
	CU_ASSERT_EQUAL(rc_hold_arm(&rig.core, rig.qp, &arm), 0);
	rig_time(&rig, rig.core.now);
	CU_ASSERT_EQUAL(hold_cause(&rig), RC_HOLD_TIMEOUT);
	hold_assert_psns(&rig, 0x100, 2);
	ASSERT_COUNTED(&rig, hold_timeout, 1);
	rig_close(&rig);
	log_set_sink(NULL);
}

/* In the next visit, or set anew, it runs anew. */
static void ep_12_the_timeout_runs_anew(void)
{
	struct rig rig;

	listen_to_the_log();
	rig_open(&rig, 1, NULL);
	CU_ASSERT_EQUAL(rc_hold_set_timeout(&rig.core, rig.qp, 100, RC_HOLD_OPEN), 0);
	for (uint64_t visit = 1; visit <= 3; visit++) {
		rig_to_rtr(&rig);
		hold_post(&rig, 1);
		rig_time(&rig, rig.core.now + 100 * MS);
		ASSERT_COUNTED(&rig, hold_timeout, visit);
		if (visit < 3)
			hold_reset(&rig);
	}
	CU_ASSERT(hold_closed(&rig));
	CU_ASSERT_EQUAL(rc_hold_set_timeout(&rig.core, rig.qp, 150, RC_HOLD_ERROR), 0);
	rig_time(&rig, rig.core.now + 49 * MS);
	CU_ASSERT(hold_closed(&rig));
	rig_time(&rig, rig.core.now + MS);
	CU_ASSERT_EQUAL(rc_qp_state(rig.qp), IBV_QPS_ERR);
	rig_close(&rig);
	log_set_sink(NULL);
}

/* "error" needs no arming. */
static void ep_12_the_timeout_ends_what_is_not_armed(void)
{
	struct rig rig;

	rig_open(&rig, 1, NULL);
	rig_to_rtr(&rig);
	CU_ASSERT_EQUAL(rc_hold_set_timeout(&rig.core, rig.qp, 100, RC_HOLD_ERROR), 0);
	hold_post(&rig, 3);
	rig_time(&rig, rig.core.now + 100 * MS);
	CU_ASSERT_EQUAL(rc_qp_state(rig.qp), IBV_QPS_ERR);
	CU_ASSERT_EQUAL(rig_count(&rig, RIG_SEND_DONE), 3);
	rig_close(&rig);
}

/* Set while requests are held it runs from the first of them, and may be over already. */
static void ep_12_the_timeout_may_be_set_while_holding(void)
{
	static const struct {
		uint32_t ms;
		uint64_t opens; /* after the first held request; 0: never */
	} rows[] = {{500, 500}, {300, 300}, {200, 200}, {100, 200}, {1, 200}, {0, 0}, {3000, 3000}};

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		uint64_t start, opened = 0;
		struct rig rig;

		listen_to_the_log();
		rig_open(&rig, 1, NULL);
		rig_to_armed_rtr(&rig);
		start = rig.core.now;
		hold_post(&rig, 1);
		rig_time(&rig, start + 200 * MS);
		CU_ASSERT_EQUAL(
			rc_hold_set_timeout(&rig.core, rig.qp, rows[i].ms, RC_HOLD_OPEN), 0);
		for (uint64_t ms = 200; ms <= 4000; ms += 100) {
			rig_time(&rig, start + ms * MS);
			if (!hold_closed(&rig) && !opened)
				opened = ms;
		}
		CU_ASSERT_EQUAL(opened, rows[i].opens);
		ASSERT_COUNTED(&rig, hold_long, rows[i].opens == 0 || rows[i].opens > 1000);
		rig_close(&rig);
	}
	log_set_sink(NULL);
}

/* Off again, or longer: the old end does not count any more. */
static void ep_12_the_timeout_may_be_changed_while_holding(void)
{
	struct rig rig;
	uint64_t start;

	listen_to_the_log();
	rig_open(&rig, 1, NULL);
	rig_to_armed_rtr(&rig);
	start = rig.core.now;
	CU_ASSERT_EQUAL(rc_hold_set_timeout(&rig.core, rig.qp, 100, RC_HOLD_ERROR), 0);
	hold_post(&rig, 1);
	CU_ASSERT_EQUAL(rc_hold_set_timeout(&rig.core, rig.qp, 0, RC_HOLD_ERROR), 0);
	rig_time(&rig, start + 700 * MS);
	CU_ASSERT(hold_closed(&rig));
	CU_ASSERT_EQUAL(rc_hold_set_timeout(&rig.core, rig.qp, 800, RC_HOLD_OPEN), 0);
	rig_time(&rig, start + 800 * MS);
	CU_ASSERT_EQUAL(hold_cause(&rig), RC_HOLD_TIMEOUT);
	CU_ASSERT_EQUAL(rc_hold_set_timeout(&rig.core, rig.qp, 1, (enum rc_hold_action)2), -EINVAL);
	rig_close(&rig);
	log_set_sink(NULL);
}

/* It stays with the QP over RESET, and an opening ends it. */
static void ep_12_the_timeout_stays_with_the_qp(void)
{
	struct rig rig;

	rig_open(&rig, 1, NULL);
	CU_ASSERT_EQUAL(rc_hold_set_timeout(&rig.core, rig.qp, 100, RC_HOLD_ERROR), 0);
	rig_to_armed_rtr(&rig);
	CU_ASSERT_EQUAL(rc_hold_set_timeout(&rig.core, rig.qp, 100, RC_HOLD_ERROR), 0);
	CU_ASSERT_EQUAL(timers_next(&rig.core.timers), TIMER_NEVER);
	hold_post(&rig, 1);
	CU_ASSERT_EQUAL(rc_hold_notify(&rig.core, rig.qp), 0);
	CU_ASSERT_EQUAL(timers_next(&rig.core.timers), TIMER_NEVER);
	rig_run(&rig);
	hold_ack(&rig, 0x100);
	rig_time(&rig, rig.core.now + SECOND);
	CU_ASSERT_EQUAL(rc_qp_state(rig.qp), IBV_QPS_RTS);
	hold_reset(&rig);
	rig_time(&rig, rig.core.now + SECOND);
	rig_to_armed_rtr(&rig);
	rig_time(&rig, rig.core.now + SECOND);
	hold_post(&rig, 1);
	rig_time(&rig, rig.core.now + 99 * MS);
	CU_ASSERT(hold_closed(&rig));
	rig_time(&rig, rig.core.now + MS);
	CU_ASSERT_EQUAL(rc_qp_state(rig.qp), IBV_QPS_ERR);
	rig_close(&rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(ep_12_a_second_of_holding_is_logged_once_and_counted),
	UNIT_CASE(ep_12_the_line_says_if_the_qp_is_not_armed),
	UNIT_CASE(ep_12_the_line_says_if_it_was_armed_too_late),
	UNIT_CASE(ep_12_every_visit_is_logged_for_itself),
	UNIT_CASE(ep_12_a_flood_of_holding_qps_is_not_a_flood_of_lines),
	UNIT_CASE(ep_12_the_timeout_opens_or_ends),
	UNIT_CASE(ep_12_the_timeout_cannot_open_what_is_not_armed),
	UNIT_CASE(ep_12_armed_after_the_timeout_it_opens),
	UNIT_CASE(ep_12_the_timeout_runs_anew),
	UNIT_CASE(ep_12_the_timeout_ends_what_is_not_armed),
	UNIT_CASE(ep_12_the_timeout_may_be_set_while_holding),
	UNIT_CASE(ep_12_the_timeout_may_be_changed_while_holding),
	UNIT_CASE(ep_12_the_timeout_stays_with_the_qp),
};

UNIT_MAIN("hold-wait", cases)
