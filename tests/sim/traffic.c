/* SPDX-License-Identifier: BSD-3-Clause */
/* Random requests by verbs' calls; the oracle is told what was posted and what completed. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uroce/uroce.h>

#include "connect.h"
#include "traffic.h"

#define CLOSED_FOR 2000000ull /* ns that the active halves wait */

/* ---- receives ---- */

static void post_receive(struct half *half)
{
	uint8_t *buffer = half->buffers[half->buffers_free - 1];
	struct ibv_sge sge = {(uintptr_t)buffer, TRAFFIC_ROOM, half->end->mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;
	int error;

	/* the same number is never given twice, not even to two QPs of one SRQ */
	wr.wr_id = ((uint64_t)half->number << 32) + 1000000 + half->recvs_posted;
	error = half->end->srq ? ibv_post_srq_recv(half->end->srq, &wr, &bad)
			       : ibv_post_recv(half->qp, &wr, &bad);
	if (error) {
		fprintf(stderr, "sim: a receive was refused with %d\n", error);
		abort();
	}
	half->buffers_free--;
	half->posted[half->recvs_posted++] = buffer;
	oracle_recv_posted(half->peer->flow, wr.wr_id, buffer, TRAFFIC_ROOM);
}

/* A receive has completed; with an SRQ perhaps one that another half had posted. */
static void give_back(struct traffic *traffic, uint64_t wr_id)
{
	uint32_t number = (uint32_t)(wr_id >> 32);
	struct half *poster = &traffic->half[number / 2][number % 2];

	poster->buffers[poster->buffers_free++] = poster->posted[(uint32_t)wr_id - 1000000];
}

/* Now and then one is missing, so that there are RNR NAKs. */
static bool refill(struct world *world, struct half *half)
{
	if (half->dead || half->buffers_free == 0 || half->recvs_posted == TRAFFIC_POSTS ||
		world_chance(world, 70))
		return false;
	post_receive(half);
	return true;
}

/* ---- requests ---- */

struct choice {
	struct oracle_request request;
	struct ibv_send_wr wr;
	struct ibv_sge sge[3];
	uint8_t *local;
};

static enum ibv_wr_opcode choose_opcode(struct world *world)
{
	static const enum ibv_wr_opcode opcodes[] = {IBV_WR_SEND, IBV_WR_SEND, IBV_WR_SEND_WITH_IMM,
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
		IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP};

	return opcodes[world_between(world, 0, sizeof(opcodes) / sizeof(opcodes[0]) - 1)];
}

static bool is_atomic(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
}

static uint32_t choose_length(
	struct world *world, const struct half *half, enum ibv_wr_opcode opcode)
{
	uint32_t most = opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ? TRAFFIC_ROOM
										: half->max_message;

	if (is_atomic(opcode))
		return 8;
	return world_chance(world, 40) ? world_between(world, 0, 64)
				       : world_between(world, 0, most);
}

/* Up to three pieces that cover the bytes; none for nothing. */
static void choose_pieces(
	struct world *world, struct half *half, struct choice *choice, uint32_t length)
{
	uint32_t pieces = length == 8 ? 1 : world_between(world, 1, 3);
	uint32_t done = 0;

	for (uint32_t i = 0; i < pieces && length; i++) {
		uint32_t part =
			i + 1 == pieces ? length - done : world_between(world, 0, length - done);

		choice->sge[i].addr = (uintptr_t)choice->local + done;
		choice->sge[i].length = part;
		choice->sge[i].lkey = half->end->mr->lkey;
		done += part;
	}
	choice->wr.sg_list = choice->sge;
	choice->wr.num_sge = length ? (int)pieces : 0;
}

/* The places that the request needs; false: no memory is left for this world. */
static bool choose_places(struct world *world, struct half *half, struct choice *choice)
{
	struct oracle_request *request = &choice->request;
	uint8_t *remote = half->word;

	choice->local = world_take(world, half->end, request->length);
	if (!choice->local)
		return false;
	if (request->opcode == IBV_WR_RDMA_WRITE || request->opcode == IBV_WR_RDMA_WRITE_WITH_IMM ||
		request->opcode == IBV_WR_RDMA_READ)
		remote = world_take(world, half->peer->end, request->length);
	if (!remote)
		return false;
	choice->wr.wr.rdma.remote_addr = (uintptr_t)remote;
	choice->wr.wr.rdma.rkey = half->peer->end->mr->rkey;
	if (request->opcode == IBV_WR_RDMA_READ) {
		request->target = choice->local;
		request->source = remote;
		for (uint32_t i = 0; i < request->length; i++)
			remote[i] = (uint8_t)random_next(&world->random);
		oracle_wrote(world->oracle, remote, request->length);
		return true;
	}
	if (is_atomic(request->opcode)) {
		request->target = choice->local;
		request->word = half->word;
	} else {
		request->target = remote;
	}
	for (uint32_t i = 0; i < request->length; i++)
		choice->local[i] = (uint8_t)random_next(&world->random);
	oracle_wrote(world->oracle, choice->local, request->length);
	request->bytes = choice->local;
	return true;
}

static void choose_atomic(struct world *world, struct half *half, struct choice *choice)
{
	struct oracle_request *request = &choice->request;

	request->bytes = NULL;
	request->compare_add = world_between(world, 0, 5);
	request->swap = world_between(world, 0, 5);
	choice->wr.wr.atomic.remote_addr = (uintptr_t)half->word;
	choice->wr.wr.atomic.compare_add = request->compare_add;
	choice->wr.wr.atomic.swap = request->swap;
	choice->wr.wr.atomic.rkey = half->peer->end->mr->rkey;
}

static void choose_flags(struct world *world, struct half *half, struct choice *choice)
{
	struct oracle_request *request = &choice->request;

	/* A slot is free again when its completion, or a later one, has been polled. */
	request->signaled = half->left == 1 || half->unsignaled + 1 >= half->depth / 2 ||
		world_chance(world, 50);
	half->unsignaled = request->signaled ? 0 : half->unsignaled + 1;
	choice->wr.send_flags = (request->signaled ? IBV_SEND_SIGNALED : 0) |
		(world_chance(world, 15) ? IBV_SEND_FENCE : 0) |
		(world_chance(world, 10) ? IBV_SEND_SOLICITED : 0);
	if (request->bytes && request->length <= 64 && world_chance(world, 30))
		choice->wr.send_flags |= IBV_SEND_INLINE;
}

static bool choose(struct world *world, struct half *half, struct choice *choice)
{
	struct oracle_request *request = &choice->request;

	memset(choice, 0, sizeof(*choice));
	request->opcode = choose_opcode(world);
	request->length = choose_length(world, half, request->opcode);
	request->wr_id = half->next_id++;
	request->imm_or_rkey = (uint32_t)random_next(&world->random);
	if (!choose_places(world, half, choice))
		return false;
	choose_pieces(world, half, choice, request->length);
	if (request->word)
		choose_atomic(world, half, choice);
	choose_flags(world, half, choice);
	choice->wr.wr_id = request->wr_id;
	choice->wr.opcode = request->opcode;
	choice->wr.imm_data = request->imm_or_rkey;
	return true;
}

/* The last request of a half that breaks: a WRITE to nowhere. */
static void make_wrong(struct half *half, struct choice *choice)
{
	choice->request.opcode = IBV_WR_RDMA_WRITE;
	choice->request.word = NULL;
	choice->request.target = NULL;
	choice->request.bytes = NULL;
	choice->request.must_fail = true;
	choice->request.signaled = true;
	choice->wr.opcode = IBV_WR_RDMA_WRITE;
	choice->wr.send_flags = IBV_SEND_SIGNALED;
	choice->wr.wr.rdma.rkey = half->peer->end->mr->rkey ^ 0x5500;
	choice->sge[0].addr = (uintptr_t)choice->local;
	choice->sge[0].length = choice->request.length;
	choice->sge[0].lkey = half->end->mr->lkey;
	choice->wr.num_sge = 1;
}

static bool post(struct world *world, struct half *half)
{
	struct ibv_send_wr *bad;
	struct choice choice;
	int error;

	if (half->dead || half->left == 0 || oracle_outstanding(half->flow) >= half->depth)
		return false;
	if (!choose(world, half, &choice)) {
		half->left = 0; /* the arena is used up: what is posted must be signaled, so end
				   with one that is */
		choice.request = (struct oracle_request){.wr_id = half->next_id++,
			.opcode = IBV_WR_RDMA_WRITE,
			.signaled = true,
			.target = half->word,
			.bytes = half->word};
		choice.wr = (struct ibv_send_wr){.wr_id = choice.request.wr_id,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED};
		half->left = 1;
	} else if (half->breaks && half->left == 1 && choice.request.length) {
		make_wrong(half, &choice);
		oracle_may_break(half->flow, world->loss > 0);
		oracle_may_break(half->peer->flow, world->loss > 0);
	}
	/* told first: in a world with loopback the post may complete at once */
	oracle_posted(half->flow, &choice.request);
	error = ibv_post_send(half->qp, &choice.wr, &bad);
	if (error) {
		fprintf(stderr, "sim: a request was refused with %d\n", error);
		abort();
	}
	world_trace(world, "half %u posts %" PRIu64 ": opcode %d, %u bytes%s", half->number,
		choice.request.wr_id, choice.request.opcode, choice.request.length,
		choice.request.signaled ? ", signaled" : "");
	half->left--;
	return true;
}

/* ---- completions ---- */

static struct half *half_of(struct traffic *traffic, const struct end *end, uint32_t qp_num)
{
	for (uint32_t i = 0; i < traffic->pairs; i++)
		for (uint32_t j = 0; j < 2; j++)
			if (traffic->half[i][j].end == end &&
				traffic->half[i][j].qp->qp_num == qp_num)
				return &traffic->half[i][j];
	fprintf(stderr, "sim: a completion of an unknown QP 0x%06x\n", qp_num);
	abort();
}

/* Which side an unsuccessful completion belongs to shows in its wr_id. */
static bool is_receive(const struct ibv_wc *wc)
{
	return (wc->wr_id & 0xffffffff) >= 1000000;
}

static bool poll(struct traffic *traffic, struct end *end)
{
	struct world *world = traffic->world;
	struct ibv_wc wc;
	bool any = false;

	while (ibv_poll_cq(end->cq, 1, &wc) == 1) {
		struct half *half = half_of(traffic, end, wc.qp_num);

		any = true;
		world_trace(world, "half %u completes %s %" PRIu64 ": %s", half->number,
			is_receive(&wc) ? "receive" : "request", wc.wr_id & 0xffffffff,
			ibv_wc_status_str(wc.status));
		if (wc.status != IBV_WC_SUCCESS)
			half->dead = true;
		if (is_receive(&wc)) {
			oracle_recv_completed(half->peer->flow, &wc);
			give_back(traffic, wc.wr_id);
		} else {
			oracle_send_completed(half->flow, &wc);
		}
	}
	return any;
}

/* ---- the whole ---- */

/* Gates open with the first request of the active halves, and not before. */
static bool open_gates(struct traffic *traffic)
{
	if (traffic->open_at == 0 || traffic->world->now < traffic->open_at)
		return false;
	traffic->open_at = 0;
	for (uint32_t i = 0; i < traffic->pairs; i++) {
		struct half *passive = &traffic->half[i][1];
		struct uroce_hold hold;

		if (!passive->armed)
			continue;
		if (uroce_qp_query_hold(passive->qp, &hold) != 0 || !hold.closed ||
			hold.held_now != oracle_outstanding(passive->flow)) {
			fprintf(stderr, "sim: the gate of half %u is not as it must be\n",
				passive->number);
			abort();
		}
		oracle_gate(passive->flow, false);
	}
	return true;
}

bool traffic_step(struct traffic *traffic)
{
	struct world *world = traffic->world;
	bool any = open_gates(traffic);

	for (uint32_t i = 0; i < world->ends; i++)
		any |= poll(traffic, &world->end[i]);
	for (uint32_t i = 0; i < traffic->pairs; i++)
		for (uint32_t j = 0; j < 2; j++) {
			struct half *half = &traffic->half[i][j];
			bool waits = j == 0 && traffic->half[i][1].armed && traffic->open_at;

			any |= refill(world, half);
			if (!waits && world_chance(world, 60))
				any |= post(world, half);
		}
	return any;
}

bool traffic_settled(const struct traffic *traffic)
{
	for (uint32_t i = 0; i < traffic->pairs; i++)
		for (uint32_t j = 0; j < 2; j++) {
			const struct half *half = &traffic->half[i][j];

			if (!oracle_settled(half->flow) || (half->left && !half->dead))
				return false;
		}
	return true;
}

void traffic_open(struct traffic *traffic, struct world *world)
{
	memset(traffic, 0, sizeof(*traffic));
	traffic->world = world;
	traffic->pairs = world_between(world, 1, TRAFFIC_PAIRS);
	traffic->open_at = world->now + CLOSED_FOR;
	for (uint32_t i = 0; i < traffic->pairs; i++)
		connect_halves(traffic, i);
}

void traffic_close(struct traffic *traffic)
{
	for (uint32_t i = 0; i < traffic->pairs; i++)
		for (uint32_t j = 0; j < 2; j++)
			if (ibv_destroy_qp(traffic->half[i][j].qp) != 0)
				abort();
}
