/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock of a connection: the ack time-out (IBTA 9.7.6.1.3, man ibv_modify_qp: 4.096 us * 2^n, 0
 * = none, retry_cnt), and the silence that an RNR NAK asks for (9.7.5.2.8, table 45: rnr_retry, 7 =
 * without end). Rig 1 sends from PSN 0x100 on; time starts at 1 s.
 */
#include "expect.h"

#define T14 67108864ull /* 4.096 us * 2^14, in ns */

/* One SEND is out. */
static void open_and_send(struct rig *rig, const struct ibv_qp_attr *attr)
{
	open_rts(rig, 1, attr);
	put(rig, IBV_WR_SEND, 1, 1);
	go(rig);
	SENT_COUNT(rig, 1);
}

static void pass(struct rig *rig, uint64_t ns)
{
	rig_time(rig, rig->core.now + ns);
}

/* ---- RNR ---- */

/* Table 45, in microseconds. */
static const uint64_t rnr_us[32] = {655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640,
	960, 1280, 1920, 2560, 3840, 5120, 7680, 10240, 15360, 20480, 30720, 40960, 61440, 81920,
	122880, 163840, 245760, 327680, 491520};

/* Never early (Soft-RoCE once retried at once); and not much later, either. */
static void rnr_is_kept(void)
{
	for (unsigned int timer = 0; timer < 32; timer++) {
		uint64_t start;
		struct rig rig;

		open_and_send(&rig, NULL);
		pass(&rig, 5 * US);
		start = rig.core.now;
		nak(&rig, 0x100, (uint8_t)(0x20 | timer));
		for (unsigned int i = 1; i <= 9; i++) {
			rig_time(&rig, start + rnr_us[timer] * US * i / 10);
			ROW(rig.sent_count == 1, timer);
		}
		rig_time(&rig, start + rnr_us[timer] * US - 1);
		ROW(rig.sent_count == 1, timer);
		rig_time(&rig, start + rnr_us[timer] * US);
		ROW(rig.sent_count == 2 && is_sent(&rig, 1, 0x04, 0x100), timer);
		rig_close(&rig);
	}
}

/* Nothing at all leaves in the meantime, what is posted then neither. */
static void rnr_is_silence(void)
{
	struct rig rig;

	open_and_send(&rig, NULL);
	put(&rig, IBV_WR_SEND, 2, 1);
	go(&rig);
	nak(&rig, 0x100, 0x21); /* 10 us */
	put(&rig, IBV_WR_RDMA_WRITE, 3, 1);
	put(&rig, IBV_WR_RDMA_READ, 4, 1);
	go(&rig);
	nak(&rig, 0x100, 0x2c); /* said once more: the first counts */
	SENT_COUNT(&rig, 2);
	pass(&rig, 10 * US);
	SENT_COUNT(&rig, 6);
	SENT(&rig, 2, 0x04, 0x100);
	SENT(&rig, 3, 0x04, 0x101);
	SENT(&rig, 4, 0x0a, 0x102);
	SENT(&rig, 5, 0x0c, 0x103);
	rig_close(&rig);
}

/*
 * Soft-RoCE says NAK 0x60 at once for the packet behind the one that it was not ready for: an echo,
 * which uses up no retry.
 */
static void sequence_nak_during_the_silence(void)
{
	struct ibv_qp_attr attr = attr_of(1);
	struct rig rig;

	attr.retry_cnt = 0;
	open_and_send(&rig, &attr);
	put(&rig, IBV_WR_SEND, 2, 1);
	go(&rig);
	nak(&rig, 0x100, 0x21);
	nak(&rig, 0x100, 0x60);
	STATE(&rig, IBV_QPS_RTS);
	SENT_COUNT(&rig, 2);
	pass(&rig, 10 * US);
	SENT_COUNT(&rig, 4);
	COUNTED(&rig, completer_retry_err, 0);
	rig_close(&rig);
}

/* One for a later packet acknowledges the earlier one, and its own time counts. */
static void later_rnr_nak_during_the_silence(void)
{
	struct rig rig;

	open_and_send(&rig, NULL);
	put(&rig, IBV_WR_SEND, 2, 1);
	go(&rig);
	nak(&rig, 0x100, 0x21); /* 10 us */
	nak(&rig, 0x101, 0x2c); /* 640 us */
	DONE_COUNT(&rig, 1);
	pass(&rig, 640 * US - 1);
	SENT_COUNT(&rig, 2);
	pass(&rig, 1);
	SENT_COUNT(&rig, 3);
	SENT(&rig, 2, 0x04, 0x101);
	rig_close(&rig);
}

/* The ack time-out doesn't run during the silence; it starts with the packet. */
static void rnr_stops_the_ack_timer(void)
{
	struct ibv_qp_attr attr = attr_of(1);
	struct rig rig;

	attr.timeout = 1; /* 8.192 us */
	attr.retry_cnt = 0;
	open_and_send(&rig, &attr);
	nak(&rig, 0x100, 0x20); /* 655.36 ms */
	for (unsigned int i = 0; i < 65; i++)
		pass(&rig, 10 * MS);
	SENT_COUNT(&rig, 1);
	DONE_COUNT(&rig, 0);
	pass(&rig, 10 * MS);
	SENT_COUNT(&rig, 2);
	pass(&rig, 8191);
	DONE_COUNT(&rig, 0);
	pass(&rig, 32768 - 8191);
	DONE(&rig, 0, 1, IBV_WC_RETRY_EXC_ERR);
	COUNTED(&rig, ack_timeout, 1);
	rig_close(&rig);
}

/* From the message's first packet, or from the last one of a WRITE with immediate. */
static void rnr_within_a_message(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_SEND, 1, 600);
	put(&rig, IBV_WR_RDMA_WRITE_WITH_IMM, 2, 600);
	go(&rig);
	nak(&rig, 0x100, 0x21);
	pass(&rig, 10 * US);
	SENT_COUNT(&rig, 12);
	SENT(&rig, 6, 0x00, 0x100);
	nak(&rig, 0x105, 0x21);
	DONE_COUNT(&rig, 1);
	pass(&rig, 10 * US);
	SENT_COUNT(&rig, 13);
	SENT(&rig, 12, 0x09, 0x105);
	rig_close(&rig);
}

/* rnr_retry 0 to 6: so many times again, then RNR_RETRY_EXC_ERR; 7: without end. */
static void rnr_retry(void)
{
	for (uint8_t retries = 0; retries <= 7; retries++) {
		struct ibv_qp_attr attr = attr_of(1);
		struct rig rig;

		attr.rnr_retry = retries;
		open_and_send(&rig, &attr);
		for (unsigned int i = 0; i < 500; i++) {
			nak(&rig, 0x100, 0x21);
			pass(&rig, 10 * US);
		}
		if (retries == 7) {
			ROW(is_number(rig.sent_count, 501), retries);
			ROW(rc_qp_state(rig.qp) == IBV_QPS_RTS, retries);
		} else {
			ROW(is_number(rig.sent_count, 1u + retries), retries);
			ROW(is_done(&rig, 0, 1, IBV_WC_RNR_RETRY_EXC_ERR), retries);
			ROW(is_number(rig.core.counters.retry_rnr_exceeded_err, 1), retries);
		}
		rig_close(&rig);
	}
}

/* Each message has its own count. */
static void rnr_retry_starts_anew(void)
{
	struct ibv_qp_attr attr = attr_of(1);
	struct rig rig;

	attr.rnr_retry = 1;
	open_rts(&rig, 1, &attr);
	for (unsigned int i = 0; i < 10; i++)
		put(&rig, IBV_WR_SEND, i, 1);
	go(&rig);
	for (uint32_t psn = 0x100; psn < 0x10a; psn++) {
		nak(&rig, psn, 0x21);
		pass(&rig, 10 * US);
	}
	DONE_COUNT(&rig, 9);
	STATE(&rig, IBV_QPS_RTS);
	nak(&rig, 0x109, 0x21);
	DONE(&rig, 9, 9, IBV_WC_RNR_RETRY_EXC_ERR);
	rig_close(&rig);
}

/* It doesn't use up retry_cnt. */
static void rnr_is_no_retry(void)
{
	struct ibv_qp_attr attr = attr_of(1);
	struct rig rig;

	attr.retry_cnt = 0;
	open_and_send(&rig, &attr);
	for (unsigned int i = 0; i < 10; i++) {
		nak(&rig, 0x100, 0x21);
		pass(&rig, 10 * US);
	}
	ack(&rig, 0x100);
	DONE(&rig, 0, 1, IBV_WC_SUCCESS);
	rig_close(&rig);
}

/* A loss after the silence is a loss of its own, not an echo of one before it. */
static void loss_after_rnr(void)
{
	struct rig rig;

	open_and_send(&rig, NULL);
	put(&rig, IBV_WR_SEND, 2, 1);
	go(&rig);
	nak(&rig, 0x100, 0x60);
	SENT_COUNT(&rig, 4);
	nak(&rig, 0x100, 0x21);
	pass(&rig, 10 * US);
	SENT_COUNT(&rig, 6);
	nak(&rig, 0x100, 0x60);
	SENT_COUNT(&rig, 8);
	rig_close(&rig);
}

/*
 * The packet that was refused is acknowledged during the silence: a copy of it met a receive. There
 * is nothing to be silent for any more, and the ack time-out runs as after any progress.
 */
static void acknowledged_during_the_silence(void)
{
	struct ibv_qp_attr attr = attr_of(1);
	struct rig rig;

	attr.timeout = 1; /* 8.192 us */
	attr.retry_cnt = 1;
	open_and_send(&rig, &attr);
	put(&rig, IBV_WR_SEND, 2, 1);
	go(&rig);
	nak(&rig, 0x100, 0x20); /* 655.36 ms */
	ack(&rig, 0x100);
	DONE_COUNT(&rig, 1);
	SENT_COUNT(&rig, 3);
	SENT(&rig, 2, 0x04, 0x101);
	pass(&rig, 32768);
	SENT_COUNT(&rig, 4);
	COUNTED(&rig, ack_timeout, 1);
	rig_close(&rig);
}

/* ---- ack time-out ---- */

/* At least T, at most 4 T (9.7.6.1.3). */
static void ack_timeout_is_kept(void)
{
	uint64_t t = 8192; /* n = 1 */

	for (uint8_t n = 1; n <= 31; n++, t *= 2) {
		struct ibv_qp_attr attr = attr_of(1);
		struct rig rig;

		attr.timeout = n;
		open_and_send(&rig, &attr);
		pass(&rig, t - 1);
		ROW(rig.sent_count == 1, n);
		pass(&rig, 3 * t + 1);
		ROW(rig.sent_count == 2 && is_sent(&rig, 1, 0x04, 0x100), n);
		ROW(rig.core.counters.ack_timeout == 1, n);
		rig_close(&rig);
	}
}

static void timeout_0_is_never(void)
{
	struct ibv_qp_attr attr = attr_of(1);
	struct rig rig;

	attr.timeout = 0;
	open_and_send(&rig, &attr);
	for (unsigned int i = 0; i < 50; i++)
		rig_time(&rig, 1000000000ull + (1ull << i));
	SENT_COUNT(&rig, 1);
	CU_ASSERT(timers_next(&rig.core.timers) == TIMER_NEVER);
	ack(&rig, 0x100);
	DONE(&rig, 0, 1, IBV_WC_SUCCESS);
	rig_close(&rig);
}

/* retry_cnt times again, 7 as well; then RETRY_EXC_ERR within [T, 4T] x (retries + 1). */
static void retries_exceeded(void)
{
	for (uint8_t retries = 0; retries <= 7; retries++) {
		struct ibv_qp_attr attr = attr_of(1);
		uint64_t passed = 0;
		struct rig rig;

		attr.retry_cnt = retries;
		open_and_send(&rig, &attr);
		for (; rig_count(&rig, RIG_SEND_DONE) == 0 && passed < 100 * T14;
			passed += T14 / 64)
			pass(&rig, T14 / 64);
		ROW(passed >= T14 * (retries + 1u), retries);
		ROW(passed <= 4 * T14 * (retries + 1u), retries);
		ROW(is_number(rig.sent_count, 1u + retries), retries);
		ROW(is_done(&rig, 0, 1, IBV_WC_RETRY_EXC_ERR), retries);
		ROW(rc_qp_state(rig.qp) == IBV_QPS_ERR, retries);
		ROW(is_number(rig.core.counters.ack_timeout, 1u + retries), retries);
		ROW(is_number(rig.core.counters.retry_exceeded_err, 1), retries);
		ROW(timers_next(&rig.core.timers) == TIMER_NEVER, retries);
		rig_close(&rig);
	}
}

/* The whole rest goes again, as rc-lost-send-last.pcap has it: from the oldest on. */
static void timeout_goes_back(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_SEND, 1, 600);
	put(&rig, IBV_WR_RDMA_READ, 2, 600);
	put(&rig, IBV_WR_SEND, 3, 1);
	go(&rig);
	ack(&rig, 0x101);
	pass(&rig, 4 * T14);
	SENT_COUNT(&rig, 8);
	SENT(&rig, 5, 0x02, 0x102);
	SENT(&rig, 6, 0x0c, 0x103);
	SENT(&rig, 7, 0x04, 0x106);
	rig_close(&rig);
}

/* Progress moves the time-out, and gives the retries back. */
static void progress_moves_the_timeout(void)
{
	struct ibv_qp_attr attr = attr_of(1);
	struct rig rig;

	attr.retry_cnt = 1;
	open_rts(&rig, 1, &attr);
	put(&rig, IBV_WR_SEND, 1, 256 * 20);
	put(&rig, IBV_WR_RDMA_READ, 2, 256 * 20);
	go(&rig);
	for (uint32_t psn = 0x100; psn < 0x114; psn++) {
		pass(&rig, T14 - 1);
		ack(&rig, psn);
	}
	SENT_COUNT(&rig, 21);
	read_response(&rig, 0x0d, 0x114, 256);
	for (uint32_t psn = 0x115; psn < 0x127; psn++) {
		pass(&rig, T14 - 1);
		read_response(&rig, 0x0e, psn, 256);
	}
	SENT_COUNT(&rig, 21);
	COUNTED(&rig, ack_timeout, 0);
	pass(&rig, 4 * T14);
	SENT_COUNT(&rig, 22);
	read_response(&rig, 0x10, 0x127, 256);
	DONE_COUNT(&rig, 2);
	rig_close(&rig);
}

/* Later posts don't move it: it is the oldest packet's. */
static void posts_do_not_move_the_timeout(void)
{
	struct rig rig;

	open_and_send(&rig, NULL);
	for (unsigned int i = 0; i < 8; i++) {
		pass(&rig, T14 / 2);
		put(&rig, IBV_WR_SEND, 2 + i, 0);
		go(&rig);
	}
	CU_ASSERT(rig.core.counters.ack_timeout >= 1);
	rig_close(&rig);
}

/* With nothing outstanding no time runs, however long it is idle; then it starts with the post. */
static void idle(void)
{
	struct rig rig;

	open_and_send(&rig, NULL);
	ack(&rig, 0x100);
	pass(&rig, 1000 * SECOND);
	SENT_COUNT(&rig, 1);
	COUNTED(&rig, ack_timeout, 0);
	put(&rig, IBV_WR_SEND, 2, 1);
	go(&rig);
	pass(&rig, T14 - 1);
	SENT_COUNT(&rig, 2);
	pass(&rig, 3 * T14 + 1);
	SENT_COUNT(&rig, 3);
	rig_close(&rig);
}

/* The time-out of packets that are acknowledged has nothing to do with that of the next ones. */
static void each_burst_has_its_own(void)
{
	struct rig rig;

	open_and_send(&rig, NULL);
	ack(&rig, 0x100);
	pass(&rig, T14 / 2);
	put(&rig, IBV_WR_SEND, 2, 1);
	go(&rig);
	pass(&rig, T14 - 1);
	SENT_COUNT(&rig, 2);
	rig_close(&rig);
}

/* What a NAK has brought out again has a full time-out before it. */
static void resend_has_its_own(void)
{
	struct rig rig;

	open_and_send(&rig, NULL);
	pass(&rig, T14 / 2);
	nak(&rig, 0x100, 0x60);
	SENT_COUNT(&rig, 2);
	pass(&rig, T14 - 1);
	SENT_COUNT(&rig, 2);
	pass(&rig, 3 * T14 + 1);
	SENT_COUNT(&rig, 3);
	rig_close(&rig);
}

/* A NAK after a time-out is obeyed: it is about what was sent again. */
static void nak_after_timeout(void)
{
	struct rig rig;

	open_and_send(&rig, NULL);
	put(&rig, IBV_WR_SEND, 2, 1);
	go(&rig);
	nak(&rig, 0x100, 0x60);
	SENT_COUNT(&rig, 4);
	pass(&rig, 4 * T14);
	SENT_COUNT(&rig, 6);
	nak(&rig, 0x100, 0x60);
	SENT_COUNT(&rig, 8);
	rig_close(&rig);
}

/* Time that passes without a free buffer is not the peer's: no retry is used up by it. */
static void no_buffers_no_timeout(void)
{
	struct ibv_qp_attr attr = attr_of(1);
	struct rig rig;

	attr.retry_cnt = 1;
	open_and_send(&rig, &attr);
	rig.core.now += 4 * T14;
	rc_core_run_timers(&rig.core);
	for (unsigned int i = 0; i < 10; i++) {
		rig_step(&rig, 0, 64);
		rig.core.now += 4 * T14;
		rc_core_run_timers(&rig.core);
	}
	DONE_COUNT(&rig, 0);
	COUNTED(&rig, ack_timeout, 1);
	rig_run(&rig);
	SENT_COUNT(&rig, 2);
	pass(&rig, T14 - 1);
	DONE_COUNT(&rig, 0);
	pass(&rig, 3 * T14 + 1);
	DONE(&rig, 0, 1, IBV_WC_RETRY_EXC_ERR);
	rig_close(&rig);
}

/* The first transmission starts it, also if the buffers came late. */
static void first_transmission_starts_it(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_SEND, 1, 1);
	rig_announce(&rig);
	for (unsigned int i = 0; i < 10; i++) {
		rig_step(&rig, 0, 64);
		rig.core.now += T14;
		rc_core_run_timers(&rig.core);
	}
	COUNTED(&rig, ack_timeout, 0);
	rig_run(&rig);
	pass(&rig, T14 - 1);
	SENT_COUNT(&rig, 1);
	rig_close(&rig);
}

/* In SQD what was started is still repeated; in ERR and RESET nothing is. */
static void timers_by_state(void)
{
	struct rig rig;

	open_and_send(&rig, NULL);
	to_sqd(&rig, false);
	pass(&rig, 4 * T14);
	SENT_COUNT(&rig, 2);
	CU_ASSERT_EQUAL(to_state(&rig, IBV_QPS_ERR), 0);
	pass(&rig, 100 * T14);
	SENT_COUNT(&rig, 2);
	CU_ASSERT(timers_next(&rig.core.timers) == TIMER_NEVER);
	rig_close(&rig);

	open_and_send(&rig, NULL);
	nak(&rig, 0x100, 0x2c);
	CU_ASSERT_EQUAL(to_state(&rig, IBV_QPS_RESET), 0);
	pass(&rig, 100 * T14);
	SENT_COUNT(&rig, 1);
	CU_ASSERT(timers_next(&rig.core.timers) == TIMER_NEVER);
	rig_close(&rig);
}

/* A request that fails while others are outstanding leaves no timer behind. */
static void no_timer_after_a_local_error(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	((struct mem_sge *)put(&rig, IBV_WR_SEND, 1, 600)->tail)->address =
		(uintptr_t)rig.memory + RIG_MEMORY - 300;
	rig_announce(&rig);
	rig_step(&rig, 64, 64); /* all in one turn */
	SENT_COUNT(&rig, 1);
	DONE(&rig, 0, 1, IBV_WC_LOC_PROT_ERR);
	CU_ASSERT(timers_next(&rig.core.timers) == TIMER_NEVER);
	rig_close(&rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(rnr_is_kept),
	UNIT_CASE(rnr_is_silence),
	UNIT_CASE(sequence_nak_during_the_silence),
	UNIT_CASE(later_rnr_nak_during_the_silence),
	UNIT_CASE(rnr_stops_the_ack_timer),
	UNIT_CASE(rnr_within_a_message),
	UNIT_CASE(rnr_retry),
	UNIT_CASE(rnr_retry_starts_anew),
	UNIT_CASE(rnr_is_no_retry),
	UNIT_CASE(loss_after_rnr),
	UNIT_CASE(acknowledged_during_the_silence),
	UNIT_CASE(ack_timeout_is_kept),
	UNIT_CASE(timeout_0_is_never),
	UNIT_CASE(retries_exceeded),
	UNIT_CASE(timeout_goes_back),
	UNIT_CASE(progress_moves_the_timeout),
	UNIT_CASE(posts_do_not_move_the_timeout),
	UNIT_CASE(idle),
	UNIT_CASE(each_burst_has_its_own),
	UNIT_CASE(resend_has_its_own),
	UNIT_CASE(nak_after_timeout),
	UNIT_CASE(no_buffers_no_timeout),
	UNIT_CASE(first_transmission_starts_it),
	UNIT_CASE(timers_by_state),
	UNIT_CASE(no_timer_after_a_local_error),
};

UNIT_MAIN("timers", cases)
