/* SPDX-License-Identifier: BSD-3-Clause */
/* A core by itself: counters and their names, turns and their budgets, when a QP is active. */
#include "expect.h"

/* Each counter has its own name, in the order of the struct; monitoring reads both side by side. */
static void counter_names(void)
{
	CU_ASSERT_EQUAL(COUNT(rc_counter_names), sizeof(struct rc_counters) / 8);
	CU_ASSERT_EQUAL(COUNT(rc_hold_counter_names), sizeof(struct rc_hold_counters) / 8);
	CU_ASSERT_STRING_EQUAL(rc_counter_names[0], "sent_pkts");
	CU_ASSERT_STRING_EQUAL(
		rc_counter_names[offsetof(struct rc_counters, rcvd_rnr_err) / 8], "rcvd_rnr_err");
	CU_ASSERT_STRING_EQUAL(
		rc_counter_names[offsetof(struct rc_counters, drop_silent) / 8], "drop_silent");
	CU_ASSERT_STRING_EQUAL(rc_hold_counter_names[0], "held");
	for (unsigned int i = 0; i < COUNT(rc_counter_names); i++)
		for (unsigned int k = 0; k < i; k++)
			ROW(strcmp(rc_counter_names[i], rc_counter_names[k]) != 0, i);
}

/* No turn makes more packets than its budget, whoever makes them. */
static void budgets(void)
{
	for (unsigned int budget = 1; budget <= 40; budget++) {
		struct rig_packet packet;
		struct rig rig;

		open_rts(&rig, 1, NULL);
		put(&rig, IBV_WR_SEND, 1, 256 * 30);
		rig_announce(&rig);
		packet = (struct rig_packet){.opcode = 0x0c,
			.psn = 0x200,
			.address = (uintptr_t)rig.memory,
			.rkey = rig.key,
			.length = 256 * 30};
		rig_receive(&rig, &packet);
		for (unsigned int turn = 0; turn < 100 && rig.active; turn++) {
			uint32_t before = rig.sent_count;

			rig_step(&rig, 64, budget);
			ROW(rig.sent_count <= before + budget, budget);
		}
		ROW(is_number(rig.sent_count, 60), budget);
		ROW(!rig.active, budget);
		ROW(rig.core.counters.sent_pkts == 60, budget);
		rig_close(&rig);
	}
}

/* The room for packets is a limit like the number of buffers. */
static void room_for_packets(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	put(&rig, IBV_WR_SEND, 1, 256 * 30);
	rig_announce(&rig);
	rig.core.out_room = 5;
	CU_ASSERT(rc_transmit(&rig.core, rig.qp, 64));
	SAME(rig.core.out_count, 5);
	SAME(rig.core.free_count, 59);
	CU_ASSERT(rc_transmit(&rig.core, rig.qp, 64));
	SAME(rig.core.out_count, 5);
	rig_close(&rig);
}

/* An announcement makes a QP active where there is something to do. */
static void announcements(void)
{
	static const struct {
		enum ibv_qp_state state;
		bool active;
	} rows[] = {{IBV_QPS_RTR, false}, {IBV_QPS_RTS, true}, {IBV_QPS_SQD, false},
		{IBV_QPS_ERR, true}};

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		struct rig rig;

		rig_open(&rig, 1, NULL);
		if (rows[i].state == IBV_QPS_RTR)
			rig_to_rtr(&rig);
		else
			rig_to_rts(&rig);
		if (rows[i].state == IBV_QPS_SQD)
			to_sqd(&rig, false);
		if (rows[i].state == IBV_QPS_ERR)
			CU_ASSERT_EQUAL(to_state(&rig, IBV_QPS_ERR), 0);
		rig_run(&rig);
		put(&rig, IBV_WR_SEND, 1, 1);
		rig_announce(&rig);
		ROW(rig.active == rows[i].active, i);
		rig_close(&rig);
	}
}

/* With nothing to do a turn says so, and an idle QP isn't active. */
static void idle(void)
{
	struct rig rig;

	open_rts(&rig, 1, NULL);
	rig_run(&rig);
	CU_ASSERT(!rc_transmit(&rig.core, rig.qp, 64));
	put(&rig, IBV_WR_SEND, 1, 1);
	rig_announce(&rig);
	CU_ASSERT(!rc_transmit(&rig.core, rig.qp, 64)); /* an acknowledgement goes on */
	SAME(rig.core.out_count, 1);
	rig_close(&rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(counter_names),
	UNIT_CASE(budgets),
	UNIT_CASE(room_for_packets),
	UNIT_CASE(announcements),
	UNIT_CASE(idle),
};

UNIT_MAIN("core", cases)
