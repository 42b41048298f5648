/* SPDX-License-Identifier: BSD-3-Clause */
/* Random requests: what verbs is told, and the same for the oracle. */
#include <string.h>

#include "choose.h"

static const enum ibv_wr_opcode opcodes[] = {IBV_WR_SEND, IBV_WR_SEND, IBV_WR_SEND_WITH_IMM,
	IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
	IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP};
#define ALL ((uint32_t)(sizeof(opcodes) / sizeof(opcodes[0])))
#define ATOMICS 2u

static bool is_atomic(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
}

static bool is_remote(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM ||
		opcode == IBV_WR_RDMA_READ;
}

static uint32_t choose_length(
	struct world *world, const struct half *half, const struct oracle_request *request)
{
	uint32_t most = is_remote(request->opcode) ? half->max_message : TRAFFIC_ROOM;

	if (is_atomic(request->opcode))
		return 8;
	if (request->board)
		return world_between(world, 1, TRAFFIC_BOARD);
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

void choose_bytes(struct world *world, uint8_t *at, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		at[i] = (uint8_t)random_next(&world->random);
	oracle_wrote(world->oracle, at, length);
}

/* ---- what is at the peer ---- */

/* The peer's window takes it, if it is bound and long enough. */
static bool through_window(struct world *world, struct half *half, struct choice *choice)
{
	const struct window *window = &half->peer->window;

	if (window->state != WINDOW_BOUND || choice->request.length > window->length ||
		world_chance(world, 60))
		return false;
	choice->wr.wr.rdma.rkey = window->mw->rkey;
	return true;
}

/* The window's memory is used once: each binding has its own, and so has each half of it. */
static uint8_t *take_window(struct half *half, uint32_t length)
{
	struct window *window = &half->peer->window;
	uint8_t *at = window->memory;

	window->memory += length;
	window->length -= length;
	return at;
}

static bool choose_remote(struct world *world, struct half *half, struct choice *choice)
{
	struct oracle_request *request = &choice->request;
	uint8_t *remote;

	choice->wr.wr.rdma.rkey = half->peer->end->mr->rkey;
	if (request->board)
		remote = half->board + world_between(world, 0, TRAFFIC_BOARD - request->length);
	else if (through_window(world, half, choice))
		remote = take_window(half, request->length);
	else
		remote = world_take(world, half->peer->end, request->length);
	if (!remote)
		return false;
	choice->wr.wr.rdma.remote_addr = (uintptr_t)remote;
	if (request->opcode != IBV_WR_RDMA_READ) {
		request->target = remote;
		return true;
	}
	request->target = choice->local;
	request->source = remote;
	if (!request->board)
		choose_bytes(world, remote, request->length);
	return true;
}

static void choose_atomic(struct world *world, struct half *half, struct choice *choice)
{
	struct oracle_request *request = &choice->request;

	request->target = choice->local;
	request->word = half->word;
	request->compare_add = world_between(world, 0, 5);
	request->swap = world_between(world, 0, 5);
	choice->wr.wr.atomic.remote_addr = (uintptr_t)half->word;
	choice->wr.wr.atomic.compare_add = request->compare_add;
	choice->wr.wr.atomic.swap = request->swap;
	choice->wr.wr.atomic.rkey = half->peer->end->mr->rkey;
}

/* What is left is for connections that are made anew. */
static bool is_low(const struct end *end)
{
	return end->used > WORLD_REGION - 65536;
}

/* The places that the request needs; false: no memory is left for this world. */
static bool choose_places(struct world *world, struct half *half, struct choice *choice)
{
	struct oracle_request *request = &choice->request;

	if (is_low(half->end) || is_low(half->peer->end))
		return false;
	choice->local = world_take(world, half->end, request->length);
	if (!choice->local)
		return false;
	if (is_remote(request->opcode) && !choose_remote(world, half, choice))
		return false;
	if (is_atomic(request->opcode)) {
		choose_atomic(world, half, choice);
	} else if (request->opcode != IBV_WR_RDMA_READ) {
		choose_bytes(world, choice->local, request->length);
		request->bytes = choice->local;
	}
	return true;
}

/* ---- windows ---- */

/* The half gives its peer a new binding, or takes it away. */
static bool choose_local(struct world *world, struct half *half, struct choice *choice)
{
	struct window *window = &half->window;
	struct ibv_mw_bind_info *info = &choice->wr.bind_mw.bind_info;

	/* not the last one: something has to leave for the peer's gate to open */
	if (!window->mw || half->left == 1 || !world_chance(world, 20) || is_low(half->end))
		return false;
	if (window->state == WINDOW_BOUND && oracle_outstanding(half->peer->flow) == 0) {
		choice->request.opcode = IBV_WR_LOCAL_INV;
		choice->wr.invalidate_rkey = window->mw->rkey;
		window->state = WINDOW_ENDING;
	} else if (window->state == WINDOW_FREE) {
		window->length = world_between(world, 100, 5000);
		window->memory = world_take(world, half->end, window->length);
		if (!window->memory)
			return false;
		choice->request.opcode = IBV_WR_BIND_MW;
		choice->wr.bind_mw.mw = window->mw;
		choice->wr.bind_mw.rkey = ibv_inc_rkey(window->mw->rkey);
		info->mr = half->end->mr;
		info->addr = (uintptr_t)window->memory;
		info->length = window->length;
		info->mw_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
		window->state = WINDOW_BINDING;
	} else {
		return false;
	}
	window->request = choice->request.wr_id;
	choice->request.signaled = true;
	return true;
}

/* The peer's window is given back with a message: behind all that used it, answers too. */
static void choose_invalidate(struct world *world, struct half *half, struct choice *choice)
{
	struct window *window = &half->peer->window;

	if (choice->request.opcode != IBV_WR_SEND || window->state != WINDOW_BOUND ||
		!world_chance(world, 30))
		return;
	window->state = WINDOW_ENDING;
	choice->request.opcode = IBV_WR_SEND_WITH_INV;
	choice->request.imm_or_rkey = window->mw->rkey;
	choice->request.fence = true;
}

/* ---- the request ---- */

static void choose_flags(struct world *world, struct half *half, struct choice *choice)
{
	struct oracle_request *request = &choice->request;

	/* A slot is free again when its completion, or a later one, has been polled. */
	request->signaled |= half->left == 1 || half->unsignaled + 1 >= half->depth / 2 ||
		world_chance(world, 50);
	request->fence |= world_chance(world, 15);
	request->solicited = request->opcode != IBV_WR_RDMA_WRITE && world_chance(world, 10);
	half->unsignaled = request->signaled ? 0 : half->unsignaled + 1;
	choice->wr.send_flags = (request->signaled ? IBV_SEND_SIGNALED : 0) |
		(request->fence ? IBV_SEND_FENCE : 0) |
		(request->solicited ? IBV_SEND_SOLICITED : 0);
	if (request->bytes && request->length <= half->max_inline && world_chance(world, 30))
		choice->wr.send_flags |= IBV_SEND_INLINE;
}

void choose_seal(struct choice *choice)
{
	choice->wr.wr_id = choice->request.wr_id;
	choice->wr.opcode = choice->request.opcode;
	if (choice->request.opcode != IBV_WR_LOCAL_INV)
		choice->wr.imm_data = choice->request.imm_or_rkey;
}

bool choose_request(struct traffic *traffic, struct half *half, struct choice *choice)
{
	struct world *world = traffic->world;
	struct oracle_request *request = &choice->request;

	memset(choice, 0, sizeof(*choice));
	request->wr_id = half->next_id++;
	if (!choose_local(world, half, choice)) {
		request->opcode = opcodes[world_between(
			world, 0, ALL - 1 - (half->peer->no_atomics ? ATOMICS : 0))];
		request->board = is_remote(request->opcode) && world_chance(world, 35);
		request->length = choose_length(world, half, request);
		request->imm_or_rkey = (uint32_t)random_next(&world->random);
		if (!choose_places(world, half, choice))
			return false;
		choose_invalidate(world, half, choice);
		choose_pieces(world, half, choice, request->length);
	}
	choose_flags(world, half, choice);
	choose_seal(choice);
	return true;
}

void choose_last(struct half *half, struct choice *choice)
{
	memset(choice, 0, sizeof(*choice));
	choice->request.wr_id = half->next_id++;
	choice->request.opcode = IBV_WR_RDMA_WRITE;
	choice->request.signaled = true;
	choice->request.target = half->board;
	choice->request.bytes = half->board;
	choice->wr.send_flags = IBV_SEND_SIGNALED;
	choose_seal(choice);
}
