/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that goes while requests use it. When ibv_dereg_mr() or ibv_rereg_mr() has returned, the
 * program unmaps it, or takes all rights away, and whoever still touched it would end the program.
 */
#include "load.h"

#include <sys/mman.h>

#define PAGES_MAX 8u
#define REQUESTS 16u

struct piece {
	uint8_t *at;
	size_t size;
	bool gone; /* unmapped */
};

static struct piece map_piece(struct actor *actor)
{
	struct piece piece = {.size = (1 + load_random(actor, PAGES_MAX)) * 4096};

	piece.at =
		mmap(NULL, piece.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stress_require(piece.at != MAP_FAILED, "memory");
	return piece;
}

/* Nobody's any more: unmapped, or without rights, so that no other mapping takes its place. */
static void drop(struct actor *actor, struct piece *piece)
{
	piece->gone = load_random(actor, 4) == 0;
	if (piece->gone)
		stress_require(munmap(piece->at, piece->size) == 0, "unmapped memory");
	else
		stress_require(mprotect(piece->at, piece->size, PROT_NONE) == 0, "rights");
}

static void unmap(struct piece *piece)
{
	if (!piece->gone)
		munmap(piece->at, piece->size);
}

/* Requests of side 0 between a piece and the lane's own buffer at the other side. */
static uint32_t post_some(
	struct lane *lane, const struct piece *piece, uint32_t lkey, uint32_t rkey, bool local)
{
	uint32_t count = 1 + load_random(lane->actor, REQUESTS);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t length = 1 + load_random(lane->actor, (uint32_t)piece->size);
		struct spot mine = {piece->at, local ? lkey : rkey, length};
		struct spot other = lane_spot(lane, local, length);
		bool read = load_random(lane->actor, 2) == 0;

		lane_post(lane, 0, read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
			local ? mine : other, local ? other : mine);
	}
	return count;
}

/* Until some of them are done, or a millisecond is over; or until all are. Returns how many were.
 */
static uint32_t until_some_are_done(struct lane *lane, uint32_t count)
{
	uint32_t wanted = load_random(lane->actor, count + 1), done = 0;
	double until = stress_seconds() + 1e-3;

	if (load_random(lane->actor, 4) == 0) {
		lane_collect(lane, 0, count);
		return count;
	}
	while (done < wanted && stress_seconds() < until)
		done += lane_poll(lane, 0);
	return done;
}

static void one_round(struct lane *lane, bool local)
{
	struct actor *actor = lane->actor;
	struct piece piece = map_piece(actor);
	struct ibv_mr *mr = ibv_reg_mr(lane->pd[!local], piece.at, piece.size, LOAD_ACCESS);
	uint32_t count;

	stress_require(mr, "memory region");
	count = post_some(lane, &piece, mr->lkey, mr->rkey, local);
	count -= until_some_are_done(lane, count);
	stress_require(ibv_dereg_mr(mr) == 0, "deregistered memory");
	drop(actor, &piece);
	lane_collect(lane, 0, count);
	unmap(&piece);
	if (lane->failed)
		lane_reconnect(lane);
}

static void *go_round(struct actor *actor, bool local)
{
	struct lane lane;

	lane_open(&lane, actor, NULL, NULL);
	for (uint64_t round = 0; load_goes_on(actor, round); round++)
		one_round(&lane, local);
	lane_close(&lane);
	return NULL;
}

void *load_remote_memory(void *argument)
{
	return go_round(argument, false);
}

void *load_local_memory(void *argument)
{
	return go_round(argument, true);
}

/* The region is led to other memory, and the old one goes. */
void *load_moved_memory(void *argument)
{
	struct actor *actor = argument;
	struct piece old = map_piece(actor);
	struct ibv_mr *mr;
	struct lane lane;

	lane_open(&lane, actor, NULL, NULL);
	mr = ibv_reg_mr(lane.pd[1], old.at, old.size, LOAD_ACCESS);
	stress_require(mr, "memory region");
	for (uint64_t round = 0; load_goes_on(actor, round); round++) {
		struct piece piece = map_piece(actor);
		uint32_t count = post_some(&lane, &old, mr->lkey, mr->rkey, false);

		count -= until_some_are_done(&lane, count);
		stress_require(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, piece.at,
				       piece.size, 0) == 0,
			"moved region");
		drop(actor, &old);
		lane_collect(&lane, 0, count);
		unmap(&old);
		old = piece;
		if (lane.failed)
			lane_reconnect(&lane);
	}
	stress_require(ibv_dereg_mr(mr) == 0, "deregistered memory");
	unmap(&old);
	lane_close(&lane);
	return NULL;
}
