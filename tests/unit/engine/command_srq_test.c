/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues: sizes, limits, who holds what. */
#include <errno.h>

#include "rig.h"

static int create(
	struct front *front, uint32_t max_wr, uint32_t max_sge, struct uroce_abi_command *command)
{
	*command = (struct uroce_abi_command){.head.op = UROCE_ABI_CREATE_SRQ};
	command->u.srq.pd = front->pd;
	command->u.srq.max_wr = max_wr;
	command->u.srq.max_sge = max_sge;
	return front_command(front, command);
}

static void sizes(void)
{
	static const struct {
		uint32_t max_wr, max_sge;
		int status;
	} rows[] = {{0, 1, -EINVAL}, {1, 0, 0}, {1, 1, 0}, {65536, 32, 0}, {65537, 1, -EINVAL},
		{1, 33, -EINVAL}, {UINT32_MAX, UINT32_MAX, -EINVAL}};
	struct uroce_abi_command command;
	static struct rig rig;
	struct front *front;
	uint64_t used;

	rig_open(&rig);
	front = &rig.fronts[0];
	used = region_used(front->client->region);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CU_ASSERT_EQUAL(
			create(front, rows[i].max_wr, rows[i].max_sge, &command), rows[i].status);
		if (rows[i].status)
			continue;
		CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DEALLOC_PD, front->pd), -EBUSY);
		CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DESTROY_SRQ, command.head.object), 0);
	}
	CU_ASSERT_EQUAL(region_used(front->client->region), used);
	rig_close(&rig);
}

static int set_limit(struct front *front, uint32_t srq, uint32_t limit)
{
	struct uroce_abi_command command = {.head = {.op = UROCE_ABI_MODIFY_SRQ, .object = srq}};

	command.u.srq.mask = IBV_SRQ_LIMIT;
	command.u.srq.limit = limit;
	return front_command(front, &command);
}

static void limits(void)
{
	struct uroce_abi_command command = {.head.op = UROCE_ABI_QUERY_SRQ};
	struct front_channel events;
	static struct rig rig;
	struct front *front;
	struct wq_front wq;
	uint32_t srq, object;

	rig_open(&rig);
	front = &rig.fronts[0];
	events = front_create_channel(front, true);
	srq = front_create_srq(front, 10, &wq);
	command.head.object = srq;
	CU_ASSERT_EQUAL(front_command(front, &command), 0);
	CU_ASSERT_EQUAL(command.u.srq.max_wr, 10);
	CU_ASSERT_EQUAL(command.u.srq.max_sge, 4);
	CU_ASSERT_EQUAL(command.u.srq.limit, 0);
	CU_ASSERT_EQUAL(set_limit(front, srq, 11), -EINVAL);
	for (uint32_t i = 0; i < 10; i++)
		CU_ASSERT(front_srq_recv(&wq, i, NULL, 0, 0));
	CU_ASSERT_FALSE(front_srq_recv(&wq, 10, NULL, 0, 0));
	CU_ASSERT_EQUAL(set_limit(front, srq, 10), 0);
	CU_ASSERT_EQUAL(front_event(&events, NULL), NO_EVENT);
	CU_ASSERT_EQUAL(front_command(front, &command), 0);
	CU_ASSERT_EQUAL(command.u.srq.limit, 10);
	CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DESTROY_SRQ, srq), 0);

	/* Armed when there are fewer already: told at once, and once. */
	srq = front_create_srq(front, 10, &wq);
	CU_ASSERT_EQUAL(set_limit(front, srq, 1), 0);
	CU_ASSERT_EQUAL(front_event(&events, &object), IBV_EVENT_SRQ_LIMIT_REACHED);
	CU_ASSERT_EQUAL(object, srq);
	CU_ASSERT_EQUAL(front_event(&events, NULL), NO_EVENT);
	command = (struct uroce_abi_command){.head = {.op = UROCE_ABI_MODIFY_SRQ, .object = srq}};
	command.u.srq.mask = IBV_SRQ_MAX_WR;
	CU_ASSERT_EQUAL(front_command(front, &command), -EOPNOTSUPP);
	command.u.srq.mask = 4;
	CU_ASSERT_EQUAL(front_command(front, &command), -EINVAL);
	command.u.srq.mask = 0;
	CU_ASSERT_EQUAL(front_command(front, &command), 0);
	rig_close(&rig);
	front_close_channel(&events);
}

static void users(void)
{
	struct uroce_abi_command command;
	static struct rig rig;
	struct front *front;
	struct wq_front wq;
	struct front_cq cq;
	struct front_qp qp;
	uint32_t srq;

	rig_open(&rig);
	front = &rig.fronts[0];
	cq = front_create_cq(front, 10, 0);
	srq = front_create_srq(front, 10, &wq);
	qp = front_create_qp_srq(front, &cq, srq);
	CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DESTROY_SRQ, srq), -EBUSY);
	CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DESTROY_QP, qp.handle), 0);
	/* An SRQ's PD need not be the QP's (man ibv_create_srq). */
	command = front_qp_request(front, cq.handle, srq);
	command.u.create_qp.pd = front_alloc_pd(front);
	CU_ASSERT_EQUAL(front_command(front, &command), 0);
	CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DESTROY_QP, command.head.object), 0);
	CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DESTROY_SRQ, srq), 0);
	rig_close(&rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(sizes),
	UNIT_CASE(limits),
	UNIT_CASE(users),
};

UNIT_MAIN("engine-command_srq", cases)
