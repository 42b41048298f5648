/* SPDX-License-Identifier: BSD-3-Clause */
/* QPs from creation to destruction, and the send rings of threads. */
#include <errno.h>
#include <string.h>

#include "rig.h"

static void capabilities(void)
{
	static const struct {
		struct ibv_qp_cap cap;
		int status;
	} rows[] = {
		{{1, 1, 1, 1, 0}, 0},
		{{0, 0, 0, 0, 0}, 0},
		{{16384, 16384, 32, 32, 512}, 0},
		{{16385, 1, 1, 1, 0}, -EINVAL},
		{{1, 16385, 1, 1, 0}, -EINVAL},
		{{1, 1, 33, 1, 0}, -EINVAL},
		{{1, 1, 1, 33, 0}, -EINVAL},
		{{1, 1, 1, 1, 513}, -EINVAL},
		{{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}, -EINVAL},
	};
	static struct rig rig;
	struct front *front;
	struct front_cq cq;
	uint64_t used;

	rig_open(&rig);
	front = &rig.fronts[0];
	cq = front_create_cq(front, 10, 0);
	used = region_used(front->client->region);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct uroce_abi_command command = front_qp_request(front, cq.handle, 0);

		command.u.create_qp.cap = rows[i].cap;
		CU_ASSERT_EQUAL(front_command(front, &command), rows[i].status);
		if (rows[i].status)
			continue;
		CU_ASSERT_EQUAL(
			memcmp(&command.u.create_qp.cap, &rows[i].cap, sizeof(rows[i].cap)), 0);
		CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DESTROY_QP, command.head.object), 0);
	}
	CU_ASSERT_EQUAL(region_used(front->client->region), used);
	rig_close(&rig);
}

static void types(void)
{
	static const uint32_t others[] = {0, 1, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RAW_PACKET,
		IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV, IBV_QPT_DRIVER, UINT32_MAX};
	struct uroce_abi_command command;
	static struct rig rig;
	struct front *front;
	struct front_cq cq;

	rig_open(&rig);
	front = &rig.fronts[0];
	cq = front_create_cq(front, 10, 0);
	for (unsigned int i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		command = front_qp_request(front, cq.handle, 0);
		command.u.create_qp.type = others[i];
		CU_ASSERT_EQUAL(front_command(front, &command), -EOPNOTSUPP);
	}
	rig_close(&rig);
}

/* Each handle in turn is wrong; nothing is left behind, and what a QP uses stays. */
static void parts(void)
{
	static struct rig rig;
	struct front *front;
	struct front_cq cq;
	struct front_qp qp;
	uint64_t used;

	rig_open(&rig);
	front = &rig.fronts[0];
	cq = front_create_cq(front, 10, 0);
	used = region_used(front->client->region);
	for (unsigned int field = 0; field < 4; field++) {
		struct uroce_abi_command command = front_qp_request(front, cq.handle, 0);
		uint32_t *const fields[] = {&command.u.create_qp.pd, &command.u.create_qp.send_cq,
			&command.u.create_qp.recv_cq, &command.u.create_qp.srq};

		*fields[field] = 99;
		CU_ASSERT_EQUAL(front_command(front, &command), -EINVAL);
	}
	CU_ASSERT_EQUAL(region_used(front->client->region), used);
	qp = front_create_qp(front, &cq);
	CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DESTROY_CQ, cq.handle), -EBUSY);
	CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DEALLOC_PD, front->pd), -EBUSY);
	CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DESTROY_QP, qp.handle), 0);
	CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DESTROY_QP, qp.handle), -EINVAL);
	CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DESTROY_CQ, cq.handle), 0);
	CU_ASSERT_EQUAL(front_simple(front, UROCE_ABI_DEALLOC_PD, front->pd), 0);
	rig_close(&rig);
}

/* 256 is the rig's limit; after it everything is as before. */
static void too_many(void)
{
	struct uroce_abi_command command;
	static struct rig rig;
	struct front *front;
	struct front_cq cq;
	uint64_t used;

	rig_open(&rig);
	front = &rig.fronts[0];
	cq = front_create_cq(front, 10, 0);
	for (uint32_t i = 0; i < 256; i++) {
		command = front_qp_request(front, cq.handle, 0);
		CU_ASSERT_EQUAL_FATAL(front_command(front, &command), 0);
	}
	used = region_used(front->client->region);
	command = front_qp_request(front, cq.handle, 0);
	CU_ASSERT_EQUAL(front_command(front, &command), -ENOMEM);
	CU_ASSERT_EQUAL(region_used(front->client->region), used);
	CU_ASSERT_EQUAL(rig.engines[0]->qp_count, 256);
	rig_close(&rig);
}

/* A region without room: refused, and nothing is left behind. */
static void no_room(void)
{
	struct engine_config config = {.region_size = 4 << 20};
	struct uroce_abi_command command;
	static struct rig rig;
	struct front *front;
	struct front_cq cq;
	uint64_t used;

	rig_open_with(&rig, NULL, &config);
	front = &rig.fronts[0];
	cq = front_create_cq(front, 10, 0);
	used = region_used(front->client->region);
	command = front_qp_request(front, cq.handle, 0);
	command.u.create_qp.cap.max_send_wr = 4096; /* fits; the receive queue doesn't */
	command.u.create_qp.cap.max_recv_wr = 16384;
	command.u.create_qp.cap.max_recv_sge = 32;
	CU_ASSERT_EQUAL(front_command(front, &command), -ENOMEM);
	CU_ASSERT_EQUAL(region_used(front->client->region), used);
	CU_ASSERT_EQUAL(rig.engines[0]->qp_count, 0);
	rig_close(&rig);
}

static void query(void)
{
	struct uroce_abi_command command = {.head.op = UROCE_ABI_QUERY_QP};
	static struct rig rig;
	struct front_cq cq;
	struct front_qp qp;
	struct front *front;

	rig_open(&rig);
	front = &rig.fronts[0];
	cq = front_create_cq(front, 10, 0);
	qp = front_create_qp(front, &cq);
	command.head.object = qp.handle;
	CU_ASSERT_EQUAL(front_command(front, &command), 0);
	CU_ASSERT_EQUAL(command.u.qp.attr.qp_state, IBV_QPS_RESET);
	CU_ASSERT_EQUAL(front_to_init(front, &qp), 0);
	CU_ASSERT_EQUAL(front_to_rtr(front, &qp, RIG_ADDRESS + 1, 0x1234), 0);
	CU_ASSERT_EQUAL(front_command(front, &command), 0);
	CU_ASSERT_EQUAL(command.u.qp.attr.qp_state, IBV_QPS_RTR);
	CU_ASSERT_EQUAL(command.u.qp.state_seen, IBV_QPS_RTR);
	CU_ASSERT_EQUAL(command.u.qp.attr.port_num, 1);
	CU_ASSERT_EQUAL(command.u.qp.attr.path_mtu, IBV_MTU_1024);
	CU_ASSERT_EQUAL(command.u.qp.attr.dest_qp_num, 0x1234);
	CU_ASSERT_EQUAL(command.u.qp.attr.rq_psn, 100);
	CU_ASSERT_EQUAL(command.u.qp.attr.min_rnr_timer, 12);
	CU_ASSERT_EQUAL(command.u.qp.attr.ah_attr.is_global, 1);
	CU_ASSERT_EQUAL(command.u.qp.cap.max_send_wr, 64);
	CU_ASSERT_EQUAL(command.u.qp.attr.cap.max_inline_data, 64);
	CU_ASSERT_EQUAL(command.u.qp.sq_sig_all, 0);
	CU_ASSERT_EQUAL(command.u.qp.strict, 0);
	rig_close(&rig);
}

static int thread_command(struct front *front, enum uroce_abi_op op, uint32_t core, uint32_t *bit)
{
	struct uroce_abi_command command = {.head.op = op};
	int error;

	command.u.thread.core = core;
	command.u.thread.bit = *bit;
	error = front_command(front, &command);
	*bit = command.u.thread.bit;
	return error;
}

static void threads(void)
{
	static struct rig rig;
	struct front *front;
	uint32_t bit = 0, bits[SENDRING_MAX];
	uint32_t count = 0;
	uint64_t used;

	rig_open(&rig);
	front = &rig.fronts[0];
	used = region_used(front->client->region);
	CU_ASSERT_EQUAL(thread_command(front, UROCE_ABI_ATTACH_THREAD, 1, &bit), -EINVAL);
	bit = front->ring_bit;
	CU_ASSERT_EQUAL(thread_command(front, UROCE_ABI_DETACH_THREAD, 1, &bit), -EINVAL);
	bit = front->ring_bit + 1;
	CU_ASSERT_EQUAL(thread_command(front, UROCE_ABI_DETACH_THREAD, 0, &bit), -EINVAL);
	bit = UINT32_MAX;
	CU_ASSERT_EQUAL(thread_command(front, UROCE_ABI_DETACH_THREAD, 0, &bit), -EINVAL);
	while (thread_command(front, UROCE_ABI_ATTACH_THREAD, 0, &bits[count]) == 0)
		count++;
	CU_ASSERT_EQUAL(count, SENDRING_MAX - 1); /* one is the rig's */
	while (count)
		CU_ASSERT_EQUAL(
			thread_command(front, UROCE_ABI_DETACH_THREAD, 0, &bits[--count]), 0);
	CU_ASSERT_EQUAL(region_used(front->client->region), used);
	rig_close(&rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(capabilities),
	UNIT_CASE(types),
	UNIT_CASE(parts),
	UNIT_CASE(too_many),
	UNIT_CASE(no_room),
	UNIT_CASE(query),
	UNIT_CASE(threads),
};

UNIT_MAIN("engine-command_qp", cases)
