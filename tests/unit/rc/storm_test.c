/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Everything at once, by seeds: posts, packets of all kinds around the PSNs that count (good ones,
 * wrong ones, nonsense), time, changes of state, few buffers. Nothing is known of what should come
 * out but what always holds: the window's account, an end to all activity, no completion that
 * nobody asked for. It is meant to be run under the sanitizers as well.
 */
#include "expect.h"

struct storm {
	struct rig rig;
	struct random random;
	uint32_t posted;
	uint32_t done;
	uint32_t received;
};

static uint32_t below(struct storm *storm, uint32_t bound)
{
	return (uint32_t)random_below(&storm->random, bound);
}

static bool one_in(struct storm *storm, uint32_t n)
{
	return below(storm, n) == 0;
}

/* ---- what may happen ---- */

static void post(struct storm *storm)
{
	static const enum ibv_wr_opcode opcodes[] = {IBV_WR_SEND, IBV_WR_SEND_WITH_IMM,
		IBV_WR_SEND_WITH_INV, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_RDMA_READ, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_LOCAL_INV, IBV_WR_BIND_MW};
	uint32_t kind = below(storm, one_in(storm, 20) ? COUNT(opcodes) : COUNT(opcodes) - 2);
	struct rig_send *slot =
		put(&storm->rig, opcodes[kind], storm->posted++, below(storm, 3000));

	if (one_in(storm, 8))
		slot->send.flags |= IBV_SEND_FENCE;
	if (one_in(storm, 100))
		((struct mem_sge *)slot->tail)->lkey ^= 1;
	rig_announce(&storm->rig);
}

/* Mostly within the memory; at its end; at the end of all addresses; anywhere. */
static uint64_t some_address(struct storm *storm)
{
	uint64_t memory = (uintptr_t)storm->rig.memory;

	switch (below(storm, 40)) {
	case 0:
		return memory + RIG_MEMORY - below(storm, 2000);
	case 1:
		return UINT64_MAX - below(storm, 5000);
	case 2:
		return random_next(&storm->random);
	default:
		return memory + 8 * below(storm, 1000);
	}
}

static uint32_t some_psn(struct storm *storm, const struct opcode_info *info)
{
	const struct rc_qp *qp = storm->rig.qp;
	uint32_t psn = opcode_is(info, IS_REQUEST) ? qp->responder.epsn : qp->requester.una;

	if (!opcode_is(info, IS_REQUEST) && one_in(storm, 4))
		psn = qp->requester.sent - 1;
	if (one_in(storm, 3))
		psn += below(storm, 9) - 4;
	return psn & 0xffffff;
}

static uint32_t some_payload(struct storm *storm, const struct opcode_info *info)
{
	if (!opcode_is(info, HAS_PAYLOAD))
		return 0;
	if (one_in(storm, 50))
		return below(storm, 600);
	if (opcode_is(info, IS_FIRST) || opcode_is(info, IS_MIDDLE))
		return 256;
	return 1 + below(storm, 256);
}

static void packet(struct storm *storm)
{
	static const uint8_t opcodes[] = {0x00, 0x01, 0x02, 0x03, 0x04, 0x04, 0x05, 0x06, 0x07,
		0x08, 0x09, 0x0a, 0x0a, 0x0b, 0x0c, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x11, 0x11,
		0x12, 0x13, 0x14, 0x16, 0x17, 0x24, 0x64, 0x81};
	uint8_t opcode = opcodes[below(storm, COUNT(opcodes))];
	const struct opcode_info *info = opcode_info(opcode);
	struct rig_packet one = {.opcode = opcode, .rkey = storm->rig.key, .syndrome = 0x1f};

	/* one after another: the same seed is the same storm whatever the compiler */
	one.psn = some_psn(storm, info);
	one.ack_request = below(storm, 2);
	one.payload_length = some_payload(storm, info);
	one.address = some_address(storm);
	one.length = below(storm, 1500);
	one.swap_add = random_next(&storm->random);
	one.compare = below(storm, 2);
	one.invalidate = storm->rig.key;
	if (one_in(storm, 50))
		one.rkey = (uint32_t)random_next(&storm->random);
	if (one_in(storm, 10))
		one.syndrome = (uint8_t)random_next(&storm->random);
	if (opcode_is(info, IS_WRITE) && opcode_is(info, IS_ONLY) && !one_in(storm, 50))
		one.length = one.payload_length;
	rig_receive(&storm->rig, &one);
}

static void change_state(struct storm *storm)
{
	enum ibv_qp_state state = rc_qp_shown_state(storm->rig.qp);

	if (one_in(storm, 200)) {
		CU_ASSERT_EQUAL(to_state(&storm->rig, IBV_QPS_ERR), 0);
	} else if (state == IBV_QPS_RTS && one_in(storm, 10)) {
		to_sqd(&storm->rig, true);
	} else if (state == IBV_QPS_SQD) {
		CU_ASSERT_EQUAL(back_to_rts(&storm->rig), 0);
	}
}

static void something(struct storm *storm)
{
	switch (below(storm, 10)) {
	case 0:
		post(storm);
		break;
	case 1:
		rig_post_recv(&storm->rig, storm->rig.recvs_posted, 0, below(storm, 3000));
		rig_announce(&storm->rig); /* in ERR it counts */
		break;
	case 2:
		storm->rig.core.now += below(storm, 2000000);
		rc_core_run_timers(&storm->rig.core);
		break;
	case 3:
		change_state(storm);
		break;
	default:
		packet(storm);
	}
}

/* ---- what always holds ---- */

static bool accounts_agree(const struct rc_qp *qp)
{
	const struct requester *requester = &qp->requester;

	if (qp->state == IBV_QPS_ERR)
		return true; /* the window is only emptied any more */
	return requester->in_flight <= RC_WINDOW &&
		requester->tail - requester->head <= requester->depth &&
		requester->cursor - requester->head <= requester->tail - requester->head &&
		requester->reads <= requester->tail - requester->head &&
		psn_ahead(requester->sent, requester->una) <= RC_PSN_SPAN;
}

/* Completions come in the order of the posts, none twice. */
static bool completions_agree(struct storm *storm)
{
	bool right = true;

	for (uint32_t i = 0; i < storm->rig.record_count; i++) {
		const struct rig_record *record = &storm->rig.records[i];

		if (record->what == RIG_SEND_DONE)
			right &= record->completion.wr_id == storm->done++;
		if (record->what == RIG_RECV_DONE)
			right &= record->completion.wr_id == storm->received++;
	}
	storm->rig.record_count = 0;
	storm->rig.sent_count = 0;
	return right && storm->done <= storm->posted && storm->received <= storm->rig.recvs_posted;
}

/* In the end nothing is active, and in ERR everything that was posted has been completed. */
static bool comes_to_rest(struct storm *storm)
{
	bool right = true;

	for (unsigned int turn = 0; turn < 5000 && storm->rig.active; turn++) {
		rig_step(&storm->rig, 64, 64);
		right &= completions_agree(storm);
	}
	CU_ASSERT_EQUAL(to_state(&storm->rig, IBV_QPS_ERR), 0);
	right &= completions_agree(storm);
	return right && !storm->rig.active && storm->done == storm->posted &&
		storm->received == storm->rig.recvs_posted;
}

static void live(struct storm *storm, uint64_t seed)
{
	struct ibv_qp_attr attr = attr_of(1);
	bool right = true;

	attr.timeout = 8; /* 1 ms */
	attr.rq_psn = 0xfffff0;
	attr.sq_psn = 0xfffff8;
	attr.max_dest_rd_atomic = (uint8_t)below(storm, 5);
	attr.max_rd_atomic = (uint8_t)(1 + below(storm, 4));
	to_rts(&storm->rig, &attr);
	for (unsigned int i = 0; i < 400 && right; i++) {
		something(storm);
		if (storm->rig.active)
			rig_step(&storm->rig, below(storm, 5), 1 + below(storm, 10));
		right = accounts_agree(storm->rig.qp) && completions_agree(storm);
	}
	right &= comes_to_rest(storm);
	CU_ASSERT(right);
	if (!right)
		fprintf(stderr, "\n    seed %llu\n", (unsigned long long)seed);
	CU_ASSERT_EQUAL(to_state(&storm->rig, IBV_QPS_RESET), 0);
	completions_agree(storm);
}

static void storms(void)
{
	for (uint64_t seed = 1; seed <= 150; seed++) {
		struct storm storm = {.posted = 0};
		struct rig_options options;

		random_seed(&storm.random, seed);
		options = (struct rig_options){.sq_depth = 1 + below(&storm, 64)};
		rig_open(&storm.rig, 1, &options);
		for (unsigned int life = 0; life < 3; life++)
			live(&storm, seed);
		rig_close(&storm.rig);
	}
}

static const struct unit_case cases[] = {
	UNIT_CASE(storms),
};

UNIT_MAIN("storm", cases)
