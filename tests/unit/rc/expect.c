/* SPDX-License-Identifier: BSD-3-Clause */
/* Set-up, posts, answers and judgements of the transport's tests: expect.h. */
#include <stdlib.h>

#include "expect.h"

/* ---- set-up ---- */

struct ibv_qp_attr attr_of(uint32_t number)
{
	struct rig rig = {.number = number};
	struct ibv_qp_attr attr;

	rig_attr(&rig, &attr);
	return attr;
}

static void move(struct rig *rig, struct ibv_qp_attr attr, enum ibv_qp_state state, int mask)
{
	attr.qp_state = state;
	CU_ASSERT_EQUAL_FATAL(rig_modify(rig, &attr, mask), 0);
}

void to_rts(struct rig *rig, const struct ibv_qp_attr *attr)
{
	move(rig, *attr, IBV_QPS_INIT, RIG_INIT_MASK);
	move(rig, *attr, IBV_QPS_RTR, RIG_RTR_MASK);
	move(rig, *attr, IBV_QPS_RTS, RIG_RTS_MASK);
}

void open_rts(struct rig *rig, uint32_t number, const struct ibv_qp_attr *attr)
{
	struct ibv_qp_attr ordinary = attr_of(number);

	rig_open(rig, number, NULL);
	to_rts(rig, attr ? attr : &ordinary);
}

int to_state(struct rig *rig, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};
	int error = rig_modify(rig, &attr, IBV_QP_STATE);

	rig_run(rig);
	return error;
}

void to_sqd(struct rig *rig, bool notify)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = notify};

	CU_ASSERT_EQUAL(rig_modify(rig, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	rig_run(rig);
}

int back_to_rts(struct rig *rig)
{
	return to_state(rig, IBV_QPS_RTS);
}

void fill(struct rig *rig)
{
	for (uint32_t i = 0; i < RIG_MEMORY; i++)
		rig->memory[i] = (uint8_t)(i * 7 + (i >> 8) * 3 + 1);
}

/* ---- the owner posts ---- */

struct rig_send *put(struct rig *rig, enum ibv_wr_opcode opcode, uint64_t wr_id, uint32_t length)
{
	bool atomic = opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	struct rig_send *slot = rig_post(rig, opcode, wr_id, 0, atomic ? 8 : length, 0, REMOTE_KEY);

	slot->send.remote_address = REMOTE;
	return slot;
}

void go(struct rig *rig)
{
	rig_announce(rig);
	rig_run(rig);
}

/* ---- the peer answers ---- */

void ack(struct rig *rig, uint32_t psn)
{
	nak(rig, psn, 0x1f);
}

void nak(struct rig *rig, uint32_t psn, uint8_t syndrome)
{
	HEAR(rig, .opcode = 0x11, .psn = psn, .syndrome = syndrome);
}

void read_response(struct rig *rig, uint8_t opcode, uint32_t psn, uint32_t length)
{
	HEAR(rig, .opcode = opcode, .psn = psn, .syndrome = 0x1f, .payload_length = length);
}

void atomic_ack(struct rig *rig, uint32_t psn, uint64_t original)
{
	HEAR(rig, .opcode = 0x12, .psn = psn, .syndrome = 0x1f, .original = original);
}

/* ---- the peer asks ---- */

uint64_t place(const struct rig *rig)
{
	return (uintptr_t)rig->memory + PLACE;
}

struct rig_packet request(const struct rig *rig, uint8_t opcode, uint32_t psn)
{
	const struct opcode_info *info = opcode_info(opcode);
	bool full = opcode_is(info, IS_FIRST) || opcode_is(info, IS_MIDDLE);

	return (struct rig_packet){
		.opcode = opcode,
		.psn = psn,
		.ack_request = true,
		.address = place(rig),
		.rkey = rig->key,
		.length = full ? 512 : 16,
		.payload_length = !opcode_is(info, HAS_PAYLOAD) ? 0
			: full					? 256
								: 16,
		.immediate = 0xd1d2d3d4,
	};
}

void hear(struct rig *rig, struct rig_packet packet)
{
	rig_receive(rig, &packet);
	rig_run(rig);
}

void receives(struct rig *rig, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		rig_post_recv(rig, 1 + i, 0, 4096);
}

/* ---- judging ---- */

bool is_number(uint64_t found, uint64_t expected)
{
	if (found == expected)
		return true;
	fprintf(stderr, "\n    %llu (0x%llx) instead of %llu (0x%llx)\n", (unsigned long long)found,
		(unsigned long long)found, (unsigned long long)expected,
		(unsigned long long)expected);
	return false;
}

bool is_sent(const struct rig *rig, uint32_t n, uint8_t opcode, uint32_t psn)
{
	struct wire_packet packet;

	if (n >= rig->sent_count) {
		fprintf(stderr, "\n    %u packets were sent, there is no number %u\n",
			rig->sent_count, n);
		return false;
	}
	packet = rig_sent(rig, n);
	if (packet.opcode == opcode && packet.psn == psn)
		return true;
	fprintf(stderr, "\n    packet %u: opcode 0x%02x PSN 0x%06x instead of 0x%02x 0x%06x\n", n,
		packet.opcode, packet.psn, opcode, psn);
	return false;
}

bool is_answer(const struct rig *rig, uint32_t n, uint8_t syndrome, uint32_t psn, uint32_t msn)
{
	struct wire_packet packet;
	const struct aeth *aeth;

	if (!is_sent(rig, n, 0x11, psn))
		return false;
	packet = rig_sent(rig, n);
	aeth = wire_aeth(&packet);
	if (aeth->syndrome == syndrome && be24_get(&aeth->msn) == msn)
		return true;
	fprintf(stderr, "\n    packet %u: syndrome 0x%02x MSN 0x%06x instead of 0x%02x 0x%06x\n", n,
		aeth->syndrome, be24_get(&aeth->msn), syndrome, msn);
	return false;
}

static const struct rc_completion *completion(const struct rig *rig, enum rig_what what, uint32_t n)
{
	const struct rig_record *record = rig_record(rig, what, n);

	if (!record) {
		fprintf(stderr, "\n    %u completions, there is no number %u\n",
			rig_count(rig, what), n);
		return NULL;
	}
	return &record->completion;
}

static bool is_completion(
	const struct rc_completion *found, uint64_t wr_id, enum ibv_wc_status status)
{
	if (!found || (found->wr_id == wr_id && found->status == status))
		return found != NULL;
	fprintf(stderr, "\n    completion of %llu with status %d instead of %llu with %d\n",
		(unsigned long long)found->wr_id, found->status, (unsigned long long)wr_id, status);
	return false;
}

bool is_done(const struct rig *rig, uint32_t n, uint64_t wr_id, enum ibv_wc_status status)
{
	return is_completion(completion(rig, RIG_SEND_DONE, n), wr_id, status);
}

bool is_received(const struct rig *rig, uint32_t n, uint64_t wr_id, enum ibv_wc_status status,
	uint32_t byte_len)
{
	const struct rc_completion *found = completion(rig, RIG_RECV_DONE, n);

	return is_completion(found, wr_id, status) && is_number(found->byte_len, byte_len);
}

bool is_event(const struct rig *rig, uint32_t n, enum ibv_event_type type)
{
	const struct rig_record *record = rig_record(rig, RIG_EVENT, n);

	if (record)
		return is_number((uint64_t)record->value, type);
	fprintf(stderr, "\n    %u events, there is no number %u\n", rig_count(rig, RIG_EVENT), n);
	return false;
}
