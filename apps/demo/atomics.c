/* SPDX-License-Identifier: BSD-3-Clause */
/* Fetch-and-add and compare-and-swap on a word of the passive side's memory. */
#include <string.h>

#include "demo.h"

#define ADDS 1000u
#define RESULT 8u /* where the active side wants the original value */

static uint64_t atomic(
	struct link *link, enum ibv_wr_opcode opcode, uint64_t compare_add, uint64_t swap)
{
	struct side *side = link->side;
	struct ibv_sge sge = {(uintptr_t)side->memory + RESULT, 8, side->mr->lkey};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.atomic =
			{
				.remote_addr = link->peer.address,
				.rkey = link->peer.rkey,
				.compare_add = compare_add,
				.swap = swap,
			},
	};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	uint64_t original;

	if (ibv_post_send(link->qp, &wr, &bad) != 0)
		die("ibv_post_send failed");
	must_complete(link, &wc);
	memcpy(&original, side->memory + RESULT, sizeof(original));
	return original;
}

static void run(struct link *link)
{
	struct side *side = link->side;
	bool in_steps = true;

	for (uint64_t i = 0; i < ADDS; i++)
		in_steps &= atomic(link, IBV_WR_ATOMIC_FETCH_AND_ADD, 3, 0) == 3 * i;
	check(side, in_steps, "%u fetch-and-adds of 3, each returned the value before it", ADDS);
	check(side, atomic(link, IBV_WR_ATOMIC_CMP_AND_SWP, 1, 99) == 3 * ADDS,
		"compare-and-swap with a wrong guess returned %u", 3 * ADDS);
	check(side, atomic(link, IBV_WR_ATOMIC_CMP_AND_SWP, 3 * ADDS, 42) == 3 * ADDS,
		"compare-and-swap with the right one, too");
}

void show_atomics(struct side *side)
{
	struct link link;
	uint64_t word = 0;

	say(side, "Atomics on a word of the passive side");
	memcpy(side->memory, &word, sizeof(word));
	link_open(&link, side, REACH_RTS);
	if (side->active)
		run(&link);
	meet(side);
	if (!side->active) {
		memcpy(&word, side->memory, sizeof(word));
		check(side, word == 42,
			"the word is 42 now: the wrong guess changed nothing, the right one did");
	}
	link_close(&link);
}
