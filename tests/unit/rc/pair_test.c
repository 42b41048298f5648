/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two ends and a wire that loses, doubles, delays and spoils packets, by rule or by seed. What the
 * applications at both ends see must be the same as over a perfect wire (IBTA 9.7.1: reliable
 * service: exactly once, in order, uncorrupted).
 */
#include <stdlib.h>

#include "expect.h"

#define OPS 48u	   /* requests of each end */
#define SLOT 4096u /* bytes of each request's own place */
#define SOURCE 0u  /* constant bytes; then places for receives, WRITEs and READs; then two words */
#define RECEIVES (1 * OPS * SLOT)
#define WRITES (2 * OPS * SLOT)
#define READS (3 * OPS * SLOT)
#define COUNTER (4 * OPS * SLOT)
#define CHAIN (COUNTER + 8)

_Static_assert(CHAIN + 8 <= RIG_MEMORY, "it all fits");

/* ---- the applications ---- */

struct op {
	enum ibv_wr_opcode opcode;
	uint32_t length;
	bool fence;
	uint64_t expected; /* atomics: the original value */
};

struct end {
	struct rig rig;
	struct op ops[OPS];
	uint32_t done;	   /* completions of the send queue */
	uint32_t arrived;  /* and of the receive queue */
	uint32_t messages; /* op of the peer that the next arrival belongs to */
	uint64_t chain;	   /* what the word of the CAS chain is expected to be */
	bool broken;
};

struct flight {
	uint64_t due;
	uint32_t to;
	struct rig_frame frame;
};

struct fault {
	const char *name;
	uint32_t loss, twice, late, spoiled; /* of 1000 packets */
	bool scarce;			     /* buffers */
	bool lazy;			     /* receives are posted late */
};

#define FLIGHTS 1024u

struct net {
	struct end ends[2];
	struct random random;
	struct flight *flights;
	uint32_t flight_count;
	uint64_t now;
	const struct fault *fault;
	/* by rule: the n-th packet of the wire (from 0) has this fate */
	uint32_t packets;
	uint32_t lose_n, lose_m, double_n, late_n;
};

#define NONE UINT32_MAX

static uint8_t source_byte(uint32_t end, uint32_t i)
{
	return (uint8_t)(i * 7 + (i >> 8) * 13 + end * 101 + 1);
}

/* Lengths around packets of 256 bytes, and any. */
static uint32_t some_length(struct random *random)
{
	static const uint32_t lengths[] = {0, 1, 255, 256, 257, 511, 512, 513, 1024};

	if (random_below(random, 2))
		return lengths[random_below(random, COUNT(lengths))];
	return (uint32_t)random_below(random, 1500);
}

static void choose_ops(struct end *end, struct random *random)
{
	static const enum ibv_wr_opcode opcodes[] = {IBV_WR_SEND, IBV_WR_SEND_WITH_IMM,
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP};

	for (uint32_t i = 0; i < OPS; i++) {
		end->ops[i].opcode = opcodes[random_below(random, COUNT(opcodes))];
		end->ops[i].length = some_length(random);
		end->ops[i].fence = random_below(random, 5) == 0;
	}
}

static bool takes_receive(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
		opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/* The sum that op i adds, and what it finds: all those before it. */
static void post_atomic(struct end *end, struct end *peer, uint32_t i)
{
	bool add = end->ops[i].opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	struct rig_send *slot =
		rig_post(&end->rig, end->ops[i].opcode, i, READS + i * SLOT, 8, 0, peer->rig.key);

	slot->send.remote_address = (uintptr_t)peer->rig.memory + (add ? COUNTER : CHAIN);
	end->ops[i].length = 8;
	if (add) {
		slot->send.compare_add = i + 1;
		end->ops[i].expected = 0;
		for (uint32_t k = 0; k < i; k++)
			if (end->ops[k].opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
				end->ops[i].expected += k + 1;
	} else {
		end->ops[i].expected = end->chain;
		slot->send.compare_add = end->chain;
		slot->send.swap = end->chain = i + 1000;
	}
}

static void post_op(struct end *end, struct end *peer, uint32_t i)
{
	const struct op *op = &end->ops[i];
	bool read = op->opcode == IBV_WR_RDMA_READ;
	struct rig_send *slot;

	if (op->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || op->opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		post_atomic(end, peer, i);
	} else {
		slot = rig_post(&end->rig, op->opcode, i, (read ? READS : SOURCE) + i * SLOT,
			op->length, 0, peer->rig.key);
		slot->send.remote_address =
			(uintptr_t)peer->rig.memory + (read ? SOURCE : WRITES) + i * SLOT;
		slot->send.imm_or_rkey = i;
	}
	if (op->fence)
		end->rig.sends[i].send.flags |= IBV_SEND_FENCE;
}

static struct net *net_open(const struct fault *fault, uint64_t seed)
{
	struct net *net = calloc(1, sizeof(*net));

	CU_ASSERT_FATAL(net != NULL);
	net->flights = calloc(FLIGHTS, sizeof(*net->flights));
	CU_ASSERT_FATAL(net->flights != NULL);
	random_seed(&net->random, seed);
	net->fault = fault;
	net->lose_n = net->lose_m = net->double_n = net->late_n = NONE;
	net->now = SECOND;
	for (uint32_t e = 0; e < 2; e++) {
		struct ibv_qp_attr attr = attr_of(e + 1);

		attr.sq_psn = e ? 0xffffe0 : 0x7ffff8; /* both wraps come soon */
		attr.rq_psn = e ? 0x7ffff8 : 0xffffe0;
		attr.timeout = 9; /* 2.1 ms */
		attr.min_rnr_timer = 1;
		attr.max_rd_atomic = attr.max_dest_rd_atomic = e ? 3 : 1;
		attr.max_dest_rd_atomic = e ? 1 : 3;
		rig_open(&net->ends[e].rig, e + 1, NULL);
		to_rts(&net->ends[e].rig, &attr);
		choose_ops(&net->ends[e], &net->random);
		for (uint32_t i = 0; i < OPS * SLOT; i++)
			net->ends[e].rig.memory[SOURCE + i] = source_byte(e, i);
	}
	for (uint32_t e = 0; e < 2; e++)
		for (uint32_t i = 0; i < OPS; i++)
			post_op(&net->ends[e], &net->ends[1 - e], i);
	for (uint32_t e = 0; e < 2; e++)
		rig_announce(&net->ends[e].rig);
	return net;
}

static void net_close(struct net *net)
{
	for (uint32_t e = 0; e < 2; e++)
		rig_close(&net->ends[e].rig);
	free(net->flights);
	free(net);
}

/* ---- what the applications see ---- */

static bool bytes_are(
	const struct end *end, uint32_t at, uint32_t of, uint32_t from, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		if (end->rig.memory[at + i] != source_byte(of, from + i))
			return false;
	return true;
}

static void saw_done(struct net *net, uint32_t e, const struct rc_completion *completion)
{
	struct end *end = &net->ends[e];
	const struct op *op = &end->ops[end->done % OPS];
	uint32_t place = READS + end->done * SLOT;
	uint64_t original;

	end->broken |= end->done >= OPS || completion->wr_id != end->done ||
		completion->status != IBV_WC_SUCCESS;
	if (end->broken)
		return;
	if (op->opcode == IBV_WR_RDMA_READ)
		end->broken |= !bytes_are(end, place, 1 - e, SOURCE + end->done * SLOT, op->length);
	if (op->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || op->opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		memcpy(&original, end->rig.memory + place, 8);
		end->broken |= original != op->expected;
	}
	end->done++;
}

static void saw_arrival(struct net *net, uint32_t e, const struct rc_completion *completion)
{
	const struct op *ops = net->ends[1 - e].ops;
	struct end *end = &net->ends[e];
	uint32_t place = RECEIVES + end->arrived * SLOT;
	const struct op *op;

	while (end->messages < OPS && !takes_receive(ops[end->messages].opcode))
		end->messages++;
	end->broken |= end->messages == OPS || completion->wr_id != end->arrived ||
		completion->status != IBV_WC_SUCCESS;
	if (end->broken)
		return;
	op = &ops[end->messages];
	end->broken |= completion->byte_len != op->length;
	if (op->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		place = WRITES + end->messages * SLOT; /* it is there with its completion */
	end->broken |= !bytes_are(end, place, 1 - e, SOURCE + end->messages * SLOT, op->length);
	if (op->opcode != IBV_WR_SEND)
		end->broken |= completion->imm_or_rkey != end->messages;
	end->arrived++;
	end->messages++;
}

/* Takes note of what happened at an end, and forgets the records. */
static void look(struct net *net, uint32_t e)
{
	struct rig *rig = &net->ends[e].rig;

	for (uint32_t i = 0; i < rig->record_count; i++) {
		const struct rig_record *record = &rig->records[i];

		if (record->what == RIG_SEND_DONE)
			saw_done(net, e, &record->completion);
		else if (record->what == RIG_RECV_DONE)
			saw_arrival(net, e, &record->completion);
		else if (record->what == RIG_EVENT)
			net->ends[e].broken = true;
	}
	rig->record_count = 0;
}

/* ---- the wire ---- */

static bool happens(struct net *net, uint32_t per_mille)
{
	return per_mille && random_below(&net->random, 1000) < per_mille;
}

static void fly(struct net *net, uint32_t to, const struct rig_frame *frame, uint64_t delay)
{
	struct flight *flight = &net->flights[net->flight_count++];

	if (net->flight_count == FLIGHTS)
		abort();
	flight->due = net->now + delay;
	flight->to = to;
	flight->frame.length = frame->length;
	memcpy(flight->frame.data, frame->data, frame->length);
	if (happens(net, net->fault->spoiled))
		flight->frame.data[14 + random_below(&net->random, frame->length - 14)] ^=
			(uint8_t)(1 + random_below(&net->random, 255));
}

/* 20 us, or some packets later: 100 us. */
static void launch(struct net *net, uint32_t to, const struct rig_frame *frame)
{
	uint32_t n = net->packets++;
	bool late = n == net->late_n || happens(net, net->fault->late);

	if (n == net->lose_n || n == net->lose_m || happens(net, net->fault->loss))
		return;
	fly(net, to, frame, (late ? 100 : 20) * US);
	if (n == net->double_n)
		fly(net, to, frame, 60 * US);
	if (happens(net, net->fault->twice))
		fly(net, to, frame, random_below(&net->random, 400) * US);
}

static void collect(struct net *net, uint32_t from)
{
	struct rig *rig = &net->ends[from].rig;

	for (uint32_t i = 0; i < rig->sent_count; i++)
		launch(net, 1 - from, &rig->sent[i]);
	rig->sent_count = 0;
}

/* Those that are due arrive in the order in which they are due. */
static void land(struct net *net)
{
	for (;;) {
		uint32_t next = NONE;

		for (uint32_t i = 0; i < net->flight_count; i++)
			if (net->flights[i].due <= net->now &&
				(next == NONE || net->flights[i].due < net->flights[next].due))
				next = i;
		if (next == NONE)
			return;
		rig_receive_frame(&net->ends[net->flights[next].to].rig,
			net->flights[next].frame.data, net->flights[next].frame.length);
		net->flight_count--;
		memmove(&net->flights[next], &net->flights[next + 1],
			(net->flight_count - next) * sizeof(net->flights[0]));
	}
}

/* ---- running ---- */

static void post_receives(struct net *net, uint32_t e)
{
	struct rig *rig = &net->ends[e].rig;

	while (rig->recvs_posted < OPS &&
		(!net->fault->lazy || rig->recvs_posted == rig->recvs_taken)) {
		if (net->fault->lazy && random_below(&net->random, 4))
			return;
		rig_post_recv(rig, rig->recvs_posted, RECEIVES + rig->recvs_posted * SLOT, SLOT);
	}
}

static void turn(struct net *net, uint32_t e)
{
	struct rig *rig = &net->ends[e].rig;
	uint32_t buffers = net->fault->scarce ? (uint32_t)random_below(&net->random, 4) : 32;

	post_receives(net, e);
	rig->core.now = net->now;
	rc_core_run_timers(&rig->core);
	if (rig->active)
		rig_step(rig, buffers, 1 + (unsigned int)random_below(&net->random, 16));
	collect(net, e);
	look(net, e);
}

static bool finished(const struct net *net)
{
	return net->ends[0].done == OPS && net->ends[1].done == OPS;
}

/* Until all is done, with a limit in time; then a while longer, for what is still under way. */
static void net_run(struct net *net)
{
	uint64_t end = net->now + 60 * SECOND;
	bool last = false;

	while (net->now < end && !net->ends[0].broken && !net->ends[1].broken) {
		if (!last && finished(net)) {
			last = true;
			end = net->now + 20 * MS;
		}
		land(net);
		turn(net, 0);
		turn(net, 1);
		net->now += 20 * US;
	}
}

/* Everything arrived once: the WRITEs' places, the words, the numbers of completions. */
static bool net_is_right(const struct net *net)
{
	for (uint32_t e = 0; e < 2; e++) {
		const struct end *end = &net->ends[e], *peer = &net->ends[1 - e];
		uint64_t counter = 0, chain = 0, word;
		uint32_t messages = 0;

		if (end->broken || end->done != OPS || rc_qp_state(end->rig.qp) != IBV_QPS_RTS)
			return false;
		for (uint32_t i = 0; i < OPS; i++) {
			const struct op *op = &peer->ops[i];

			messages += takes_receive(op->opcode);
			if (op->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
				counter += i + 1;
			if (op->opcode == IBV_WR_ATOMIC_CMP_AND_SWP)
				chain = i + 1000;
			if (op->opcode == IBV_WR_RDMA_WRITE &&
				!bytes_are(end, WRITES + i * SLOT, 1 - e, i * SLOT, op->length))
				return false;
		}
		if (end->arrived != messages || end->rig.recvs_taken != messages)
			return false;
		memcpy(&word, end->rig.memory + COUNTER, 8);
		if (word != counter)
			return false;
		memcpy(&word, end->rig.memory + CHAIN, 8);
		if (word != chain)
			return false;
	}
	return true;
}

static const struct fault perfect = {.name = "perfect wire"};

static void judge(struct net *net, uint64_t seed)
{
	bool right = net_is_right(net);

	CU_ASSERT(right);
	if (!right)
		fprintf(stderr,
			"\n    %s, seed %llu: done %u and %u, lost %d %d twice %d late %d\n",
			net->fault->name, (unsigned long long)seed, net->ends[0].done,
			net->ends[1].done, (int)net->lose_n, (int)net->lose_m, (int)net->double_n,
			(int)net->late_n);
}

/* ---- cases ---- */

static void perfect_wire(void)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct net *net = net_open(&perfect, seed);

		net_run(net);
		judge(net, seed);
		for (uint32_t e = 0; e < 2; e++) {
			const struct rc_counters *counters = &net->ends[e].rig.core.counters;

			SAME(counters->retransmitted_pkts, 0);
			SAME(counters->duplicate_request, 0);
			SAME(counters->out_of_seq_request, 0);
			SAME(counters->ack_timeout, 0);
		}
		net_close(net);
	}
}

/* One packet of the whole conversation is lost, doubled, or late: each of them in turn. */
static void single_faults(void)
{
	uint32_t count;
	struct net *net = net_open(&perfect, 7);

	net_run(net);
	count = net->packets;
	net_close(net);
	CU_ASSERT(count > 200);
	for (uint32_t n = 0; n < count; n++)
		for (unsigned int kind = 0; kind < 3; kind++) {
			net = net_open(&perfect, 7);
			if (kind == 0)
				net->lose_n = n;
			else if (kind == 1)
				net->double_n = n;
			else
				net->late_n = n;
			net_run(net);
			judge(net, 7);
			net_close(net);
		}
}

/* A loss and, within the repair of it, another one. */
static void double_losses(void)
{
	for (uint32_t n = 0; n < 200; n += 3)
		for (uint32_t m = 1; m <= 12; m++) {
			struct net *net = net_open(&perfect, 11);

			net->lose_n = n;
			net->lose_m = n + m;
			net_run(net);
			judge(net, 11);
			net_close(net);
		}
}

static const struct fault faults[] = {
	{.name = "loss 1 %", .loss = 10},
	{.name = "loss 10 %", .loss = 100},
	{.name = "duplicates", .twice = 200},
	{.name = "reordering", .late = 200},
	{.name = "corruption", .spoiled = 100},
	{.name = "scarce buffers", .scarce = true},
	{.name = "late receives", .lazy = true},
	{.name = "scarce buffers, loss", .loss = 50, .scarce = true},
	{.name = "late receives, duplicates", .twice = 100, .lazy = true},
	{.name = "everything",
		.loss = 50,
		.twice = 50,
		.late = 50,
		.spoiled = 20,
		.scarce = true,
		.lazy = true},
};

static void random_faults(void)
{
	for (unsigned int f = 0; f < COUNT(faults); f++)
		for (uint64_t seed = 1; seed <= 20; seed++) {
			struct net *net = net_open(&faults[f], seed);

			net_run(net);
			judge(net, seed);
			net_close(net);
		}
}

/* ---- both ends of an error ---- */

enum wrong {
	WRONG_KEY,
	WRONG_RANGE,
	WRONG_ALIGNMENT,
	SMALL_RECEIVE,
	WRONG_RECEIVE,
	WRONG_INVALIDATE
};

static const struct {
	enum wrong wrong;
	enum ibv_wr_opcode opcode;
	enum ibv_wc_status requester;
	enum ibv_wc_status receive; /* SUCCESS: it is flushed, and an event tells */
	enum ibv_event_type event;
} error_rows[] = {
	{WRONG_KEY, IBV_WR_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR, 0, IBV_EVENT_QP_ACCESS_ERR},
	{WRONG_KEY, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_REM_ACCESS_ERR, 0, IBV_EVENT_QP_ACCESS_ERR},
	{WRONG_KEY, IBV_WR_RDMA_READ, IBV_WC_REM_ACCESS_ERR, 0, IBV_EVENT_QP_ACCESS_ERR},
	{WRONG_KEY, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_REM_ACCESS_ERR, 0, IBV_EVENT_QP_ACCESS_ERR},
	{WRONG_RANGE, IBV_WR_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR, 0, IBV_EVENT_QP_ACCESS_ERR},
	{WRONG_RANGE, IBV_WR_RDMA_READ, IBV_WC_REM_ACCESS_ERR, 0, IBV_EVENT_QP_ACCESS_ERR},
	{WRONG_ALIGNMENT, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_REM_INV_REQ_ERR, 0,
		IBV_EVENT_QP_REQ_ERR},
	{SMALL_RECEIVE, IBV_WR_SEND, IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_LEN_ERR, 0},
	{WRONG_RECEIVE, IBV_WR_SEND, IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR, 0},
	{WRONG_INVALIDATE, IBV_WR_SEND_WITH_INV, IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR, 0},
};

static void post_wrong(struct rig *from, struct rig *to, unsigned int row)
{
	enum wrong wrong = error_rows[row].wrong;
	struct rig_send *slot;

	slot = rig_post(from, error_rows[row].opcode, 2, 0,
		error_rows[row].opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
				error_rows[row].opcode == IBV_WR_ATOMIC_FETCH_AND_ADD
			? 8
			: 600,
		0, wrong == WRONG_KEY ? to->key ^ 1 : to->key);
	slot->send.remote_address = (uintptr_t)to->memory +
		(wrong == WRONG_RANGE			   ? RIG_MEMORY - 599
				: wrong == WRONG_ALIGNMENT ? 4
							   : 0);
	slot->send.imm_or_rkey = to->key; /* of a region: nothing to invalidate */
}

/*
 * The class of each error at both ends, with and without a receive in it. What came before
 * succeeds, what comes after is flushed, both ends are in ERR.
 */
static void errors_at_both_ends(void)
{
	for (unsigned int i = 0; i < COUNT(error_rows); i++) {
		bool told = error_rows[i].receive != IBV_WC_SUCCESS;
		struct rig one, two;

		open_rts(&one, 1, NULL);
		open_rts(&two, 2, NULL);
		rig_post_recv(&two, 10, 0, 4096);
		rig_post_recv(&two, 11, 0, error_rows[i].wrong == SMALL_RECEIVE ? 300 : 4096);
		if (error_rows[i].wrong == WRONG_RECEIVE)
			two.recvs[1].sge[0].lkey ^= 1;
		rig_post(&one, IBV_WR_SEND, 1, 0, 64, 0, 0)->send.flags = 0;
		post_wrong(&one, &two, i);
		rig_post(&one, IBV_WR_SEND, 3, 0, 64, 0, 0)->send.flags = 0;
		rig_announce(&one);
		rig_exchange(&one, &two);
		ROW(rc_qp_state(one.qp) == IBV_QPS_ERR && rc_qp_state(two.qp) == IBV_QPS_ERR, i);
		ROW(rig_count(&one, RIG_SEND_DONE) == 2, i);
		ROW(is_done(&one, 0, 2, error_rows[i].requester), i);
		ROW(is_done(&one, 1, 3, IBV_WC_WR_FLUSH_ERR), i);
		ROW(is_received(&two, 0, 10, IBV_WC_SUCCESS, 64), i);
		ROW(is_received(&two, 1, 11, told ? error_rows[i].receive : IBV_WC_WR_FLUSH_ERR, 0),
			i);
		ROW(rig_count(&two, RIG_EVENT) == !told, i);
		if (!told)
			ROW(is_event(&two, 0, error_rows[i].event), i);
		ROW(rig_count(&one, RIG_EVENT) == 0, i);
		rig_close(&one);
		rig_close(&two);
	}
}

/* rc-peer-gone.pcap: a peer that isn't there ends with RETRY_EXC_ERR at this end alone. */
static void peer_gone(void)
{
	struct rig one, two;

	open_rts(&one, 1, NULL);
	open_rts(&two, 2, NULL);
	CU_ASSERT_EQUAL(to_state(&two, IBV_QPS_RESET), 0);
	put(&one, IBV_WR_SEND, 1, 1);
	rig_announce(&one);
	for (unsigned int i = 0; i < 200 && rig_count(&one, RIG_SEND_DONE) == 0; i++) {
		rig_exchange(&one, &two);
		rig_time(&one, one.core.now + 10 * MS);
	}
	DONE(&one, 0, 1, IBV_WC_RETRY_EXC_ERR);
	COUNTED(&two, drop_state, 8);
	SENT_COUNT(&two, 0);
	rig_close(&one);
	rig_close(&two);
}

static const struct unit_case cases[] = {
	UNIT_CASE(perfect_wire),
	UNIT_CASE(single_faults),
	UNIT_CASE(double_losses),
	UNIT_CASE(random_faults),
	UNIT_CASE(errors_at_both_ends),
	UNIT_CASE(peer_gone),
};

UNIT_MAIN("pair", cases)
