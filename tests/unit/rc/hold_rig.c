/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of the gate share. */
#include <stdlib.h>
#include <string.h>

#include "hold_rig.h"

/* ---- posting ---- */

void hold_post(struct rig *rig, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		rig_post(rig, IBV_WR_SEND, rig->sends_posted + 1, 0, 16, 0, 0);
	rig_announce(rig);
}

static bool is_atomic(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static bool is_local(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_LOCAL_INV || opcode == IBV_WR_BIND_MW;
}

struct rig_send *hold_post_one(
	struct rig *rig, const struct rig *peer, enum ibv_wr_opcode opcode, uint32_t remote)
{
	uint32_t length = is_local(opcode) ? 0 : is_atomic(opcode) ? 8 : 16;
	struct rig_send *slot =
		rig_post(rig, opcode, rig->sends_posted + 1, 0, length, 0, peer->key);

	slot->send.remote_address = (uintptr_t)peer->memory + remote;
	return slot;
}

/* ---- looking ---- */

static struct rc_hold_info info_of(struct rig *rig)
{
	struct rc_hold_info info;

	rc_hold_query(&rig->core, rig->qp, &info);
	return info;
}

bool hold_closed(struct rig *rig)
{
	return info_of(rig).closed;
}

uint32_t hold_held_now(struct rig *rig)
{
	return info_of(rig).held_now;
}

int hold_cause(struct rig *rig)
{
	return info_of(rig).cause;
}

uint64_t hold_promotions(const struct rc_hold_counters *counters)
{
	return counters->promoted_modify + counters->promoted_packet + counters->promoted_rtu +
		counters->promoted_notify + counters->promoted_grace + counters->promoted_timeout;
}

static bool adds_up(const struct rc_hold_counters *counters, uint32_t held_now)
{
	return counters->held ==
		counters->released + counters->flushed_held + counters->vanished_held + held_now;
}

void hold_assert_sum(struct rig *rig)
{
	CU_ASSERT(adds_up(&rig->core.hold_counters, hold_held_now(rig)));
	CU_ASSERT(adds_up(rc_qp_hold_counters(rig->qp), hold_held_now(rig)));
}

/* ---- states ---- */

struct rc_arm hold_arm(const struct rig *rig)
{
	return (struct rc_arm){.sq_psn = 0x100 * rig->number,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 16};
}

void hold_to_cm_rtr(struct rig *rig)
{
	struct rc_arm arm = hold_arm(rig);

	rig_to_rtr(rig);
	if (rc_hold_cm_own(&rig->core, rig->qp, &arm) != 0)
		abort();
}

void hold_reset(struct rig *rig)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};

	if (rig_modify(rig, &attr, IBV_QP_STATE) != 0)
		abort();
	rig->sends_taken = rig->sends_posted;
	rig->recvs_taken = rig->recvs_posted;
}

void hold_destroy(struct rig *rig)
{
	struct rc_qp_attr attr = {.qp_num = rc_qp_num(rig->qp),
		.pd = 7,
		.recv_pd = 7,
		.sq_depth = 64,
		.max_send_sge = 32,
		.max_recv_sge = RIG_SGES,
		.max_inline = 512,
		.max_rd_atomic = 16,
		.pkey = 0xffff};

	rc_qp_destroy(&rig->core, rig->qp);
	rig->sends_taken = rig->sends_posted;
	rig->recvs_taken = rig->recvs_posted;
	if (rc_qp_create(&rig->core, &attr, rig, &rig->qp) != 0)
		abort();
}

int hold_modify_rts(struct rig *rig)
{
	struct ibv_qp_attr attr;

	rig_attr(rig, &attr);
	attr.qp_state = IBV_QPS_RTS;
	return rig_modify(rig, &attr, RIG_RTS_MASK);
}

/* ---- packets ---- */

struct rig_packet hold_request(const struct rig *rig, uint8_t opcode)
{
	const struct opcode_info *info = opcode_info(opcode);
	struct rig_packet packet = {
		.opcode = opcode,
		.ack_request = true,
		.address = (uintptr_t)rig->memory + 4096,
		.rkey = rig->key,
	};
	struct ibv_qp_attr attr;

	rc_query(rig->qp, &attr);
	packet.psn = attr.rq_psn;
	packet.length = 16;
	if (opcode_is(info, HAS_PAYLOAD))
		packet.payload_length = 16;
	if (opcode_is(info, IS_FIRST) || opcode_is(info, IS_MIDDLE)) {
		packet.payload_length = 256;
		packet.length = 512;
	}
	return packet;
}

void hold_first_send(struct rig *rig)
{
	struct rig_packet packet = hold_request(rig, OPCODE_RC_SEND_ONLY);

	rig_post_recv(rig, 1000 + rig->recvs_posted, 8192, 4096);
	rig_receive(rig, &packet);
}

uint32_t hold_requests_sent(const struct rig *rig)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < rig->sent_count; i++)
		count += opcode_is(rig_sent(rig, i).info, IS_REQUEST);
	return count;
}

void hold_assert_psns(const struct rig *rig, uint32_t psn, uint32_t count)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < rig->sent_count; i++) {
		struct wire_packet packet = rig_sent(rig, i);

		if (opcode_is(packet.info, IS_REQUEST))
			CU_ASSERT_EQUAL(packet.psn, (psn + found++) & 0xffffff);
	}
	CU_ASSERT_EQUAL(found, count);
}

void hold_ack(struct rig *rig, uint32_t psn)
{
	struct rig_packet packet = {.opcode = OPCODE_RC_ACK, .psn = psn, .syndrome = 0x1f};

	rig_receive(rig, &packet);
}

/* ---- ways to open ---- */

static void by_modify(struct rig *rig)
{
	CU_ASSERT_EQUAL(hold_modify_rts(rig), 0);
}

static void by_rtu(struct rig *rig)
{
	CU_ASSERT(rc_hold_rtu(&rig->core, rig->qp));
}

static void by_notify(struct rig *rig)
{
	CU_ASSERT_EQUAL(rc_hold_notify(&rig->core, rig->qp), 0);
}

static void by_grace(struct rig *rig)
{
	CU_ASSERT(rc_hold_grace(&rig->core, rig->qp));
}

/* A time-out runs from the first held request: there must be one. */
static void by_timeout(struct rig *rig)
{
	CU_ASSERT_EQUAL(rc_hold_set_timeout(&rig->core, rig->qp, 5, RC_HOLD_OPEN), 0);
	rig->core.now += 5 * MS;
	rc_core_run_timers(&rig->core);
}

const struct hold_way hold_ways[] = {
	{"modify", RC_HOLD_MODIFY, false, by_modify},
	{"packet", RC_HOLD_PACKET, false, hold_first_send},
	{"rtu", RC_HOLD_RTU, true, by_rtu},
	{"notify", RC_HOLD_NOTIFY, false, by_notify},
	{"grace", RC_HOLD_GRACE, true, by_grace},
	{"timeout", RC_HOLD_TIMEOUT, false, by_timeout},
};
const unsigned int hold_way_count = COUNT(hold_ways);
