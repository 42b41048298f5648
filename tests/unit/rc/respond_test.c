/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order in which answers leave, whatever the budget and the number of buffers (IBTA 9.7.5.1:
 * responses in the order of PSNs; an error NAK behind the answers that are due). Rig 1 expects PSN
 * 0x200, path MTU 256.
 */
#include "expect.h"

static struct rig_packet sized(const struct rig *rig, uint8_t opcode, uint32_t psn, uint32_t length)
{
	return (struct rig_packet){
		.opcode = opcode,
		.psn = psn,
		.ack_request = true,
		.address = place(rig),
		.rkey = rig->key,
		.length = length,
		.payload_length = opcode_is(opcode_info(opcode), HAS_PAYLOAD) ? length : 0,
		.swap_add = 1,
	};
}

/* Takes it, and sends nothing yet. */
static void take(struct rig *rig, struct rig_packet packet)
{
	rig_receive(rig, &packet);
}

/* WRITE, READ of 3, WRITE, FAA, READ of 1: PSNs 0x200, 0x201-0x203, 0x204, 0x205, 0x206. */
static void take_mixture(struct rig *rig)
{
	take(rig, sized(rig, 0x0a, 0x200, 16));
	take(rig, sized(rig, 0x0c, 0x201, 600));
	take(rig, sized(rig, 0x0a, 0x204, 16));
	take(rig, sized(rig, 0x14, 0x205, 8));
	take(rig, sized(rig, 0x0c, 0x206, 8));
}

/* Every answer acknowledges what lies before it: no plain ACK is needed. */
static void order_of_answers(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	take_mixture(&rig);
	rig_run(&rig);
	SENT_COUNT(&rig, 5);
	SENT(&rig, 0, 0x0d, 0x201);
	SENT(&rig, 1, 0x0e, 0x202);
	SENT(&rig, 2, 0x0f, 0x203);
	SENT(&rig, 3, 0x12, 0x205);
	SENT(&rig, 4, 0x10, 0x206);
	rig_close(&rig);
}

/* A WRITE behind them gets its ACK behind them. */
static void ack_behind_answers(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	take_mixture(&rig);
	take(&rig, sized(&rig, 0x0a, 0x207, 16));
	rig_run(&rig);
	SENT_COUNT(&rig, 6);
	SENT(&rig, 4, 0x10, 0x206);
	ANSWER(&rig, 5, 0x1f, 0x207, 6);
	rig_close(&rig);
}

/* The MSN of an answer is that of its own request, as it was after it (9.7.7.1). */
static void msn_of_answers(void)
{
	static const uint32_t msns[] = {2, 0, 2, 4, 5}; /* MIDDLE has no AETH */
	struct rig rig;

	open_rts(&rig, 1, NULL);
	take_mixture(&rig);
	take(&rig, sized(&rig, 0x0a, 0x207, 16));
	rig_run(&rig);
	for (uint32_t n = 0; n < 5; n++) {
		struct wire_packet packet = rig_sent(&rig, n);

		if (msns[n])
			ROW(is_number(be24_get(&wire_aeth(&packet)->msn), msns[n]), n);
	}
	rig_close(&rig);
}

/* ---- NAKs behind answers ---- */

/* The requests before the wrong one are answered in full, then the NAK, then ERR. */
static void error_nak_behind_answers(void)
{
	struct rig_packet wrong;
	struct rig rig;

	open_rts(&rig, 1, NULL);
	take_mixture(&rig);
	wrong = sized(&rig, 0x0a, 0x207, 16);
	wrong.rkey = 0;
	take(&rig, wrong);
	STATE(&rig, IBV_QPS_RTS);
	rig_run(&rig);
	SENT_COUNT(&rig, 6);
	SENT(&rig, 4, 0x10, 0x206);
	ANSWER(&rig, 5, 0x62, 0x207, 5);
	STATE(&rig, IBV_QPS_ERR);
	rig_close(&rig);
}

/* So do the others: the gap, and for want of a receive. */
static void other_naks_behind_answers(void)
{
	for (unsigned int rnr = 0; rnr < 2; rnr++) {
		struct rig rig;

		open_rts(&rig, 1, NULL);
		take_mixture(&rig);
		take(&rig, rnr ? sized(&rig, 0x04, 0x207, 16) : sized(&rig, 0x0a, 0x208, 16));
		rig_run(&rig);
		ROW(rig.sent_count == 6 && is_sent(&rig, 4, 0x10, 0x206), rnr);
		ROW(is_answer(&rig, 5, rnr ? 0x2c : 0x60, 0x207, 5), rnr);
		rig_close(&rig);
	}
}

/* A NAK acknowledges what is before it: the ACK that was due is part of it. */
static void nak_includes_the_ack(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	take(&rig, sized(&rig, 0x0a, 0x200, 16));
	take(&rig, sized(&rig, 0x0a, 0x202, 16));
	rig_run(&rig);
	SENT_COUNT(&rig, 1);
	ANSWER(&rig, 0, 0x60, 0x201, 1);
	rig_close(&rig);
}

/* The region goes while its READ waits for its turn: NAK there, and nothing behind it. */
static void key_gone_within_the_answers(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	take_mixture(&rig);
	for (unsigned int i = 0; i < 2; i++)
		rig_step(&rig, 64, 1);
	CU_ASSERT_EQUAL(mem_deregister(rig.mem, rig.key), 0);
	rig_run(&rig);
	SENT_COUNT(&rig, 3);
	SENT(&rig, 1, 0x0e, 0x202);
	ANSWER(&rig, 2, 0x62, 0x203, 5);
	STATE(&rig, IBV_QPS_ERR);
	EVENT_COUNT(&rig, 1);
	EVENT(&rig, 0, IBV_EVENT_QP_ACCESS_ERR);
	rig_close(&rig);
}

/* A NAK that is due gives way to that one: its PSN is further back. */
static void key_gone_before_another_nak(void)
{
	struct rig_packet wrong;
	struct rig rig;

	open_rts(&rig, 1, NULL);
	take(&rig, sized(&rig, 0x0c, 0x200, 600));
	wrong = sized(&rig, 0x13, 0x203, 8);
	wrong.address++;
	take(&rig, wrong);
	CU_ASSERT_EQUAL(mem_deregister(rig.mem, rig.key), 0);
	rig_run(&rig);
	SENT_COUNT(&rig, 1);
	ANSWER(&rig, 0, 0x62, 0x200, 1);
	STATE(&rig, IBV_QPS_ERR);
	rig_close(&rig);
}

/* ---- NAKs that were overtaken while no buffer was free ---- */

/* The receive came, and with it the packet again: what is true now is said, not what was. */
static void rnr_nak_overtaken(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	take(&rig, sized(&rig, 0x04, 0x200, 16));
	take(&rig, sized(&rig, 0x0a, 0x201, 16)); /* dropped in silence */
	rig_step(&rig, 0, 64);
	SENT_COUNT(&rig, 0);
	rig_post_recv(&rig, 1, 0, 4096);
	take(&rig, sized(&rig, 0x04, 0x200, 16));
	RECEIVED(&rig, 0, 1, IBV_WC_SUCCESS, 16);
	rig_run(&rig);
	SENT_COUNT(&rig, 1);
	ANSWER(&rig, 0, 0x1f, 0x200, 1);
	rig_close(&rig);
}

/* Two packets changed places: the gap is filled, and the packet behind it is missing now. */
static void sequence_nak_overtaken(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	take(&rig, sized(&rig, 0x0a, 0x201, 16));
	take(&rig, sized(&rig, 0x0a, 0x200, 16));
	rig_run(&rig);
	ANSWER(&rig, 0, 0x60, 0x201, 1);
	/* still one NAK for it */
	take(&rig, sized(&rig, 0x0a, 0x202, 16));
	rig_run(&rig);
	take(&rig, sized(&rig, 0x0a, 0x203, 16));
	rig_run(&rig);
	for (uint32_t n = 1; n < rig.sent_count; n++)
		ROW(rig_syndrome(&rig, n) == 0x1f, n);
	rig_close(&rig);
}

/* Of a row that came again in part, what is still missing is asked for. */
static void sequence_nak_overtaken_in_part(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	take(&rig, sized(&rig, 0x0a, 0x201, 16));
	take(&rig, sized(&rig, 0x0a, 0x203, 16));
	take(&rig, sized(&rig, 0x0a, 0x202, 16));
	take(&rig, sized(&rig, 0x0a, 0x200, 16));
	take(&rig, sized(&rig, 0x0a, 0x201, 16));
	take(&rig, sized(&rig, 0x0a, 0x202, 16));
	rig_run(&rig);
	SENT_COUNT(&rig, 1);
	ANSWER(&rig, 0, 0x60, 0x203, 3);
	rig_close(&rig);
}

/* The whole row came again: nothing is missing, so that the ACK may not be lost in the NAK. */
static void sequence_nak_overtaken_by_all(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	take(&rig, sized(&rig, 0x0a, 0x201, 16));
	take(&rig, sized(&rig, 0x0a, 0x200, 16));
	take(&rig, sized(&rig, 0x0a, 0x201, 16));
	rig_run(&rig);
	CU_ASSERT_FATAL(rig.sent_count > 0);
	ANSWER(&rig, rig.sent_count - 1, 0x1f, 0x201, 2);
	rig_close(&rig);
}

/* ---- scarcity ---- */

/* Steps with so many buffers and this budget until nothing comes any more. */
static void run_scarce(struct rig *rig, uint32_t buffers, unsigned int budget)
{
	for (unsigned int turn = 0; turn < 100 && rig->active; turn++)
		rig_step(rig, buffers, budget);
}

static void scarce_buffers(void)
{
	static const struct {
		uint32_t buffers;
		unsigned int budget;
	} rows[] = {{1, 1}, {1, 64}, {2, 3}, {3, 2}, {64, 1}, {64, 7}, {64, 64}};
	static const uint8_t opcodes[] = {0x0d, 0x0e, 0x0f, 0x12, 0x10, 0x11};
	static const uint32_t psns[] = {0x201, 0x202, 0x203, 0x205, 0x206, 0x207};

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		struct rig_packet wrong;
		struct rig rig;

		open_rts(&rig, 1, NULL);
		take_mixture(&rig);
		wrong = sized(&rig, 0x0a, 0x207, 16);
		wrong.rkey = 0;
		take(&rig, wrong);
		run_scarce(&rig, 0, 64);
		ROW(rig.sent_count == 0 && rc_qp_state(rig.qp) == IBV_QPS_RTS, i);
		ROW(rig.active, i);
		run_scarce(&rig, rows[i].buffers, rows[i].budget);
		ROW(is_number(rig.sent_count, 6), i);
		for (uint32_t n = 0; n < 6; n++)
			ROW(is_sent(&rig, n, opcodes[n], psns[n]), i);
		ROW(rc_qp_state(rig.qp) == IBV_QPS_ERR, i);
		rig_close(&rig);
	}
}

/* A long answer must not keep the QP's own requests from going out, nor they it. */
static void answers_and_requests_take_turns(void)
{
	uint32_t requests = 0;
	uint32_t answers = 0;
	struct rig rig;

	open_rts(&rig, 1, NULL);
	take(&rig, sized(&rig, 0x0c, 0x200, 256 * 1000));
	put(&rig, IBV_WR_RDMA_WRITE, 1, 256 * 100);
	rig_announce(&rig);
	for (unsigned int i = 0; i < 10; i++)
		rig_step(&rig, 16, 64);
	for (uint32_t n = 0; n < rig.sent_count; n++) {
		if (opcode_is(rig_sent(&rig, n).info, IS_REQUEST))
			requests++;
		else
			answers++;
	}
	SAME(requests + answers, 160);
	CU_ASSERT(requests >= 40);
	CU_ASSERT(answers >= 40);
	rig_close(&rig);
}

/* ERR by another cause: what was to be answered is not any more. */
static void no_answers_in_err(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	take_mixture(&rig);
	CU_ASSERT_EQUAL(to_state(&rig, IBV_QPS_ERR), 0);
	SENT_COUNT(&rig, 0);
	rig_close(&rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(order_of_answers),
	UNIT_CASE(ack_behind_answers),
	UNIT_CASE(msn_of_answers),
	UNIT_CASE(error_nak_behind_answers),
	UNIT_CASE(other_naks_behind_answers),
	UNIT_CASE(nak_includes_the_ack),
	UNIT_CASE(key_gone_within_the_answers),
	UNIT_CASE(key_gone_before_another_nak),
	UNIT_CASE(rnr_nak_overtaken),
	UNIT_CASE(sequence_nak_overtaken),
	UNIT_CASE(sequence_nak_overtaken_in_part),
	UNIT_CASE(sequence_nak_overtaken_by_all),
	UNIT_CASE(scarce_buffers),
	UNIT_CASE(answers_and_requests_take_turns),
	UNIT_CASE(no_answers_in_err),
};

UNIT_MAIN("respond", cases)
