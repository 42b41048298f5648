/* SPDX-License-Identifier: BSD-3-Clause */
/* From doorbell to answer: slots, states, unknown commands, and a client that cheats. */
#include <errno.h>
#include <string.h>

#include "rig.h"

static void unknown_commands(void)
{
	static const uint32_t ops[] = {UROCE_ABI_OPS, UROCE_ABI_OPS + 1, 0x80000000, UINT32_MAX};
	static struct rig rig;

	rig_open(&rig);
	CU_ASSERT_EQUAL(front_simple(&rig.fronts[0], UROCE_ABI_NOP, 0), 0);
	for (unsigned int i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		CU_ASSERT_EQUAL(
			front_simple(&rig.fronts[0], (enum uroce_abi_op)ops[i], 0), -EOPNOTSUPP);
	rig_close(&rig);
}

/* Every command that acts on a handle, with handles that there aren't. */
static void wrong_handles(void)
{
	static const enum uroce_abi_op ops[] = {UROCE_ABI_DEALLOC_PD, UROCE_ABI_DESTROY_CHANNEL,
		UROCE_ABI_RESIZE_CQ, UROCE_ABI_DESTROY_CQ, UROCE_ABI_MODIFY_SRQ,
		UROCE_ABI_QUERY_SRQ, UROCE_ABI_DESTROY_SRQ, UROCE_ABI_MODIFY_QP, UROCE_ABI_QUERY_QP,
		UROCE_ABI_DESTROY_QP, UROCE_ABI_DESTROY_AH, UROCE_ABI_QP_POLICY, UROCE_ABI_QP_ARM,
		UROCE_ABI_QP_NOTIFY, UROCE_ABI_QP_COUNTERS, UROCE_ABI_REG_MR, UROCE_ABI_REREG_MR,
		UROCE_ABI_DEREG_MR, UROCE_ABI_ALLOC_MW, UROCE_ABI_DEALLOC_MW, UROCE_ABI_CREATE_CQ,
		UROCE_ABI_CREATE_SRQ, UROCE_ABI_CREATE_QP, UROCE_ABI_CREATE_AH, UROCE_ABI_FREE};
	static const uint32_t handles[] = {0, 2, 255, 256, 257, 0x10000, 0x80000001, UINT32_MAX};
	static struct rig rig;

	rig_open(&rig);
	for (unsigned int i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		for (unsigned int j = 0; j < sizeof(handles) / sizeof(handles[0]); j++) {
			struct uroce_abi_command command;

			/* Every field of the union that is a handle, a key or a reference. */
			for (unsigned int k = 0; k < sizeof(command.u.bytes) / 4; k++)
				memcpy(command.u.bytes + 4 * k, &handles[j], 4);
			command.head.op = ops[i];
			command.head.object = handles[j];
			CU_ASSERT_EQUAL(front_command(&rig.fronts[0], &command), -EINVAL);
		}
	CU_ASSERT_EQUAL(rig_worker(&rig, 0)->counters.commands_failed,
		sizeof(ops) / sizeof(ops[0]) * (sizeof(handles) / sizeof(handles[0])));
	rig_close(&rig);
}

/* Handles are those of one client: another one's are as good as none. */
static void handles_of_others(void)
{
	static uint8_t memory[64];
	struct uroce_abi_command command = {.head.op = UROCE_ABI_DEREG_MR};
	static struct rig rig;
	struct front other;
	struct front_cq cq;
	struct front_qp qp;
	uint32_t key;

	rig_open(&rig);
	front_attach(&rig, 0, &other);
	for (unsigned int i = 0; i < 10; i++) /* so that numbers differ */
		front_alloc_pd(&other);
	cq = front_create_cq(&other, 1, 0);
	qp = front_create_qp(&other, &cq);
	key = front_reg_mr(&other, memory, sizeof(memory), 0);
	CU_ASSERT_EQUAL(front_simple(&rig.fronts[0], UROCE_ABI_DEALLOC_PD, 5), -EINVAL);
	CU_ASSERT_EQUAL(front_simple(&rig.fronts[0], UROCE_ABI_DESTROY_CQ, cq.handle), -EINVAL);
	CU_ASSERT_EQUAL(front_simple(&rig.fronts[0], UROCE_ABI_DESTROY_QP, qp.handle), -EINVAL);
	command.u.mr.key = key;
	CU_ASSERT_EQUAL(front_command(&rig.fronts[0], &command), -EINVAL);
	command.head.op = UROCE_ABI_DEREG_MR;
	command.u.mr.key = key;
	CU_ASSERT_EQUAL(front_command(&other, &command), 0);
	front_detach(&other);
	rig_close(&rig);
}

static void all_slots_at_once(void)
{
	struct uroce_abi_command command = {.head.op = UROCE_ABI_ALLOC_PD};
	bool seen[UROCE_ABI_COMMANDS + 2] = {false};
	static struct rig rig;

	rig_open(&rig);
	for (uint32_t slot = 0; slot < UROCE_ABI_COMMANDS; slot++)
		front_post(&rig.fronts[0], slot, &command);
	CU_ASSERT(engine_busy(rig.engines[0]));
	rig_round(&rig);
	for (uint32_t slot = 0; slot < UROCE_ABI_COMMANDS; slot++) {
		CU_ASSERT_EQUAL(rig.fronts[0].slots[slot].head.state, UROCE_ABI_DONE);
		CU_ASSERT(front_done(&rig.fronts[0], slot, &command));
		CU_ASSERT_EQUAL(command.head.status, 0);
		CU_ASSERT_FATAL(command.head.object < UROCE_ABI_COMMANDS + 2);
		CU_ASSERT_FALSE(seen[command.head.object]);
		seen[command.head.object] = true;
	}
	CU_ASSERT_FALSE(engine_busy(rig.engines[0]));
	rig_close(&rig);
}

/* A doorbell without a command, and one that is rung again while the command is under way. */
static void false_alarms(void)
{
	struct uroce_abi_command command;
	static struct rig rig;
	struct front *front;
	struct front_cq cq;
	struct front_qp qp;
	uint64_t before;

	rig_open(&rig);
	front = &rig.fronts[0];
	cq = front_create_cq(front, 1, 0);
	qp = front_create_qp(front, &cq);
	CU_ASSERT_EQUAL(front_to_init(front, &qp), 0);
	before = rig_worker(&rig, 0)->counters.commands;
	__atomic_store_n(&front->header->doorbell.posted, UINT64_MAX, __ATOMIC_SEQ_CST);
	rig_round(&rig);
	CU_ASSERT_EQUAL(rig_worker(&rig, 0)->counters.commands, before);

	loop_set_neighbour(rig.wire, 0, LOOP_NEIGHBOUR_DELAYED, 5 * MS);
	command = front_rtr_request(&qp, RIG_ADDRESS + 1, 5);
	front_post(front, 3, &command);
	rig_round(&rig);
	CU_ASSERT_EQUAL(front->slots[3].head.state, UROCE_ABI_POSTED);
	front->slots[3].head.op = UROCE_ABI_DESTROY_QP; /* not what it was taken as */
	__atomic_store_n(&front->header->doorbell.posted, 8, __ATOMIC_SEQ_CST);
	rig_round(&rig);
	CU_ASSERT_EQUAL(rig_worker(&rig, 0)->counters.commands, before + 1);
	rig_run(&rig, rig.now + 10 * MS);
	CU_ASSERT_EQUAL(front->slots[3].head.state, UROCE_ABI_DONE);
	CU_ASSERT_EQUAL(front->slots[3].head.status, 0);
	front->slots[3].head.state = UROCE_ABI_FREE_SLOT;
	CU_ASSERT_EQUAL(front_state(front, &qp), IBV_QPS_RTR);
	rig_close(&rig);
}

/* What failed leaves the request as it was. */
static void failure_changes_nothing(void)
{
	struct uroce_abi_command command = {.head = {.op = UROCE_ABI_CREATE_CQ, .object = 77}};
	static struct rig rig;

	rig_open(&rig);
	command.u.cq.cqe = 0;
	command.u.cq.vector = 5;
	CU_ASSERT_EQUAL(front_command(&rig.fronts[0], &command), -EINVAL);
	CU_ASSERT_EQUAL(command.head.object, 77);
	CU_ASSERT_EQUAL(command.u.cq.vector, 5);
	rig_close(&rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(unknown_commands),
	UNIT_CASE(wrong_handles),
	UNIT_CASE(handles_of_others),
	UNIT_CASE(all_slots_at_once),
	UNIT_CASE(false_alarms),
	UNIT_CASE(failure_changes_nothing),
};

UNIT_MAIN("engine-command", cases)
