/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues and channels. */
#include <errno.h>
#include <unistd.h>

#include "rig.h"

static int create(struct front *front, uint32_t cqe, uint32_t channel, uint32_t vector,
	struct uroce_abi_command *command)
{
	*command = (struct uroce_abi_command){.head.op = UROCE_ABI_CREATE_CQ};
	command->u.cq.cqe = cqe;
	command->u.cq.channel = channel;
	command->u.cq.vector = vector;
	return front_command(front, command);
}

static void sizes(void)
{
	static const struct {
		uint32_t cqe;
		int status;
	} rows[] = {{0, -EINVAL}, {1, 0}, {2, 0}, {1000, 0}, {2097151, 0}, {4194303, 0},
		{4194304, -EINVAL}, {UINT32_MAX, -EINVAL}};
	struct uroce_abi_command command;
	static struct rig rig;
	uint64_t used;

	rig_open(&rig);
	used = region_used(rig.fronts[0].client->region);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CU_ASSERT_EQUAL(
			create(&rig.fronts[0], rows[i].cqe, 0, 0, &command), rows[i].status);
		if (rows[i].status)
			continue;
		CU_ASSERT_EQUAL(command.u.cq.cqe, rows[i].cqe);
		CU_ASSERT_EQUAL(command.u.cq.rings, 1);
		CU_ASSERT_EQUAL(
			front_simple(&rig.fronts[0], UROCE_ABI_DESTROY_CQ, command.head.object), 0);
	}
	CU_ASSERT_EQUAL(region_used(rig.fronts[0].client->region), used);
	CU_ASSERT_EQUAL(create(&rig.fronts[0], 10, 0, 1, &command), -EINVAL); /* vector */
	rig_close(&rig);
}

static void channels(void)
{
	struct uroce_abi_command command = {.head.op = UROCE_ABI_CREATE_CHANNEL};
	struct front_channel channel, events;
	static struct rig rig;
	struct front *front;
	uint64_t used;
	uint32_t cq;

	rig_open(&rig);
	front = &rig.fronts[0];
	used = region_used(front->client->region);
	command.u.channel.eventfd = -1;
	CU_ASSERT_EQUAL(front_command(front, &command), -EBADF);
	command.u.channel.eventfd = 9999;
	CU_ASSERT_EQUAL(front_command(front, &command), -EBADF);
	command.u.channel.eventfd = STDERR_FILENO;
	command.head.object = 2;
	CU_ASSERT_EQUAL(front_command(front, &command), -EINVAL);
	channel = front_create_channel(front, false);
	events = front_create_channel(front, true);
	command.head.object = 1; /* a second one for asynchronous events */
	CU_ASSERT_EQUAL(front_command(front, &command), -EEXIST);
	CU_ASSERT_EQUAL(create(front, 10, events.handle, 0, &command), -EINVAL);
	CU_ASSERT_EQUAL(create(front, 10, channel.handle, 0, &command), 0);
	cq = command.head.object;
	CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DESTROY_CHANNEL, channel.handle), -EBUSY);
	CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DESTROY_CHANNEL, events.handle), -EBUSY);
	CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DESTROY_CQ, cq), 0);
	CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DESTROY_CHANNEL, channel.handle), 0);
	CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DESTROY_CHANNEL, events.handle), 0);
	CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DESTROY_CHANNEL, channel.handle), -EINVAL);
	CU_ASSERT_EQUAL(region_used(front->client->region), used);
	rig_close(&rig);
	front_close_channel(&channel);
	front_close_channel(&events);
}

/* Completions before and after, in order; a size below what is pending is refused. */
static void resizing(void)
{
	struct uroce_abi_send_wqe wqe = {
		.opcode = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE};
	struct uroce_abi_command command = {.head.op = UROCE_ABI_RESIZE_CQ};
	static struct rig rig;
	struct front_cq cq_a, cq_b;
	struct front_qp qp_a, qp_b;
	struct uroce_abi_cqe cqe;
	struct front *front;

	rig_open(&rig);
	front = &rig.fronts[0];
	cq_a = front_create_cq(front, 8, 0);
	cq_b = front_create_cq(&rig.fronts[1], 64, 0);
	qp_a = front_create_qp(front, &cq_a);
	qp_b = front_create_qp(&rig.fronts[1], &cq_b);
	front_connect(front, &qp_a, RIG_ADDRESS, &rig.fronts[1], &qp_b, RIG_ADDRESS + 1);
	for (uint32_t i = 0; i < 12; i++) {
		CU_ASSERT(front_recv(&rig.fronts[1], &qp_b, i, NULL, 0, 0));
		wqe.wr_id = i;
		CU_ASSERT(front_send(front, &qp_a, &wqe, NULL, 0, 0));
		if (i != 5)
			continue;
		rig_run(&rig, rig.now + MS);
		command.head.object = cq_a.handle;
		command.u.cq.cqe = 5;
		CU_ASSERT_EQUAL(front_command(front, &command), -EINVAL);
		command.u.cq.cqe = 0;
		CU_ASSERT_EQUAL(front_command(front, &command), -EINVAL);
		command.u.cq.cqe = 4194304;
		CU_ASSERT_EQUAL(front_command(front, &command), -EINVAL);
		command.u.cq.cqe = 12;
		CU_ASSERT_EQUAL(front_command(front, &command), 0);
		CU_ASSERT_EQUAL(command.u.cq.cqe, 12);
		CU_ASSERT_EQUAL(cq_front_resize(&cq_a.cq, command.u.cq.ring), 0);
	}
	rig_run(&rig, rig.now + MS);
	for (uint32_t i = 0; i < 12; i++) {
		CU_ASSERT_FATAL(front_poll(&qp_a, &cqe));
		CU_ASSERT_EQUAL(cqe.wr_id, i);
		CU_ASSERT_EQUAL(cqe.status, IBV_WC_SUCCESS);
	}
	CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DESTROY_CQ, cq_a.handle), -EBUSY);
	rig_close(&rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(sizes),
	UNIT_CASE(channels),
	UNIT_CASE(resizing),
};

UNIT_MAIN("engine-command_cq", cases)
