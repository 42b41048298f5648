/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that have to fail, and must change nothing. */
#include <string.h>

#include "choose.h"

enum wrong {
	WRONG_INDEX,	 /* an R_Key of nothing */
	WRONG_BYTE,	 /* the low byte */
	WRONG_WRITE_END, /* one byte too far */
	WRONG_READ_END,
	WRONG_ALIGNMENT,
	WRONG_LENGTH, /* longer than the receive */
	WRONG_LKEY,
	WRONG_WINDOW, /* a binding that has ended */
	WRONG_OWNER,  /* a window of another QP */
	WRONG_BEYOND, /* beyond the window, inside its region */
	WRONG_RIGHT,  /* an atomic, which the window does not allow */
	WRONG_OPERATION,
	WRONGS,
};

/* WRITE of all bytes that the choice has; the target is where the oracle looks that it stays. */
static void wrong_write(struct half *half, struct choice *choice, uint8_t *target, uint32_t rkey)
{
	choice->request.opcode = IBV_WR_RDMA_WRITE;
	choice->request.target = target;
	choice->request.must_fail = IBV_WC_REM_ACCESS_ERR;
	choice->wr.wr.rdma.remote_addr = (uintptr_t)target;
	choice->wr.wr.rdma.rkey = rkey;
}

static uint8_t *region_end(const struct half *half)
{
	return half->end->arena + WORLD_REGION;
}

static const struct window *window_of_other(struct traffic *traffic, const struct half *half)
{
	for (uint32_t i = 0; i < traffic->pairs; i++)
		for (uint32_t j = 0; j < 2; j++) {
			const struct half *other = &traffic->pair[i].half[j];

			if (other != half->peer && other->end == half->peer->end &&
				other->window.state == WINDOW_BOUND && other->window.length > 0)
				return &other->window;
		}
	return NULL;
}

/* The word is where the oracle looks that nothing is added. */
static void wrong_atomic(
	struct half *half, struct choice *choice, uint64_t address, enum ibv_wc_status status)
{
	choice->request.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	choice->request.bytes = NULL;
	choice->request.length = 8;
	choice->request.word = half->word;
	choice->request.target = choice->local;
	choice->request.must_fail = status;
	choice->sge[0].length = 8;
	choice->wr.wr.atomic.remote_addr = address;
	choice->wr.wr.atomic.compare_add = 1;
	choice->wr.wr.atomic.rkey = half->peer->end->mr->rkey;
}

static bool wrong_right(struct half *half, struct choice *choice)
{
	const struct window *window = &half->peer->window;

	if (half->peer->no_atomics || window->state != WINDOW_BOUND || window->length < 16)
		return false;
	wrong_atomic(half, choice, ((uintptr_t)window->memory + 7) & ~(uint64_t)7,
		IBV_WC_REM_ACCESS_ERR);
	choice->wr.wr.atomic.rkey = window->mw->rkey;
	return true;
}

static bool wrong_by_window(
	struct traffic *traffic, struct half *half, struct choice *choice, enum wrong wrong)
{
	const struct window *window = &half->peer->window;

	if (wrong == WRONG_RIGHT)
		return wrong_right(half, choice);
	if (wrong == WRONG_OWNER)
		window = window_of_other(traffic, half);
	if (wrong == WRONG_WINDOW) {
		if (!window->old_rkey || window->state != WINDOW_FREE ||
			window->length < choice->request.length)
			return false;
		wrong_write(half, choice, window->memory, window->old_rkey);
		return true;
	}
	if (!window || window->state != WINDOW_BOUND || !window->length)
		return false;
	if (wrong == WRONG_BEYOND)
		wrong_write(half, choice,
			window->memory + window->length - choice->request.length + 1,
			window->mw->rkey);
	else
		wrong_write(half, choice, window->memory, window->mw->rkey);
	return true;
}

static bool make_wrong(
	struct traffic *traffic, struct half *half, struct choice *choice, enum wrong wrong)
{
	uint32_t rkey = half->peer->end->mr->rkey;
	uint32_t length = choice->request.length;

	switch (wrong) {
	case WRONG_INDEX:
		wrong_write(half, choice, half->board, rkey ^ 0x5500);
		return true;
	case WRONG_BYTE:
		wrong_write(half, choice, half->board, rkey ^ 1);
		return true;
	case WRONG_WRITE_END:
		wrong_write(half, choice, region_end(half->peer) - length + 1, rkey);
		return true;
	case WRONG_READ_END:
		wrong_write(half, choice, region_end(half->peer) - length + 1, rkey);
		choice->request.opcode = IBV_WR_RDMA_READ;
		choice->request.bytes = NULL;
		return true;
	case WRONG_ALIGNMENT:
		if (half->peer->no_atomics)
			return false;
		wrong_atomic(half, choice, (uintptr_t)half->word + 4, IBV_WC_REM_INV_REQ_ERR);
		return true;
	case WRONG_OPERATION:
		if (!half->peer->no_atomics)
			return false;
		wrong_atomic(half, choice, (uintptr_t)half->word, IBV_WC_REM_ACCESS_ERR);
		return true;
	case WRONG_LENGTH:
		choice->request.opcode = IBV_WR_SEND;
		choice->request.must_fail = IBV_WC_REM_INV_REQ_ERR;
		return true;
	case WRONG_LKEY:
		wrong_write(half, choice, half->board, rkey);
		choice->request.must_fail = IBV_WC_LOC_PROT_ERR;
		choice->sge[0].lkey ^= 1;
		return true;
	default:
		return wrong_by_window(traffic, half, choice, wrong);
	}
}

/* Of a length that shows whether a part of it is done: several packets for most path MTUs. */
void choose_wrong(struct traffic *traffic, struct half *half, struct choice *choice)
{
	struct world *world = traffic->world;
	enum wrong wrong = world_between(world, 0, WRONGS - 1);
	uint32_t length = wrong == WRONG_LENGTH ? TRAFFIC_ROOM + world_between(world, 1, 100)
						: world_between(world, 9, TRAFFIC_BOARD);

	memset(choice, 0, sizeof(*choice));
	choice->request.wr_id = half->next_id++;
	choice->request.signaled = true;
	choice->request.length = length;
	choice->local = world_take(world, half->end, length);
	if (!choice->local) {
		half->next_id--;
		choose_last(half, choice);
		return;
	}
	choose_bytes(world, choice->local, length);
	choice->request.bytes = choice->local;
	choice->sge[0] = (struct ibv_sge){(uintptr_t)choice->local, length, half->end->mr->lkey};
	choice->wr.sg_list = choice->sge;
	choice->wr.num_sge = 1;
	choice->wr.send_flags = IBV_SEND_SIGNALED;
	if (!make_wrong(traffic, half, choice, wrong))
		make_wrong(traffic, half, choice, WRONG_INDEX);
	choose_seal(choice);
}
