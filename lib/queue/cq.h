/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queues in the region. One sub-ring per engine core that owns a QP using the CQ, each
 * as deep as the CQ; poll goes round them; order holds per QP.
 *
 * Arming and completing is store buffering:
 *   front: sets its bit in the arm word;          then polls once more (the program's duty)
 *   core:  publishes the completion; reads the arm word; sets it to NONE; raises the event
 * Both accesses of the arm word are atomic read-modify-writes: they are the full barriers, and one
 * of the two sees the other.
 *
 * Overrun: a completion that doesn't fit in its sub-ring sets UROCE_ABI_CQ_OVERRUN; the caller then
 * raises IBV_EVENT_CQ_ERR and moves the CQ's QPs to ERR. Nothing is overwritten.
 *
 * Resize: a sub-ring keeps its record (indices, arm word, notices) and gets new slots. Completions
 * from the position `limit` on lie in the new ones; until the front has heard of them by
 * cq_front_resize(), which carries the unpolled ones over, it polls the old slots up to there. So
 * order holds, an arming stays, and nothing is lost however often a CQ is resized.
 */
#ifndef UROCE_QUEUE_CQ_H
#define UROCE_QUEUE_CQ_H

#include <stdbool.h>
#include <stdint.h>

#include "region.h"

/* ---- the engine's side ---- */

struct cq_ring {
	struct uroce_abi_ring *ring;
	struct uroce_abi_cqe *slots;
	uroce_abi_ref ref;
	uroce_abi_ref slots_ref;
	uint32_t mask;
	uint32_t depth;
	uint32_t produced;
	uint32_t consumed; /* as last read: the client's word */
	bool solicited;	   /* since the last cq_arm_check(): a completion that wakes SOLICITED */
	bool fresh;	   /* since then: any completion */
	bool overrun;
	/* The slots before the last resize, which the front may still read: */
	uroce_abi_ref old_ref;
	uint32_t old_slots;
};

int cq_ring_create(struct region *region, uint32_t depth, struct cq_ring *ring);
void cq_ring_destroy(struct region *region, struct cq_ring *ring);

/* A slot to fill in place, or NULL: overrun (see above; the CQ then refuses all that follow). */
struct uroce_abi_cqe *cq_slot(struct cq_ring *ring);
/* Publishes it (release; pairs with the acquire in cq_poll()). wakes: solicited, or an error
 * status. */
void cq_push(struct cq_ring *ring, bool wakes);
/*
 * After the pushes of a round: should an event be raised now? `arm` is the flag of sub-ring 0. Full
 * barrier, then the decision; at most one caller gets true per arming.
 */
bool cq_arm_check(struct cq_ring *ring, struct uroce_abi_ring *arm);
/* Completions not polled yet: what a smaller size must hold. */
uint32_t cq_pending(const struct cq_ring *ring);
/*
 * New slots, by the core that pushes; the reference of the sub-ring stays. The front must have
 * taken over the resize before. 0, -ENOMEM, -EINVAL: more completions are pending than fit.
 */
int cq_ring_resize(struct region *region, struct cq_ring *ring, uint32_t depth);
/* Its two steps, for a CQ of several rings, of which all or none are resized: the memory (0 or
 * -ENOMEM), then the move, which cannot fail if what is pending fits. */
int cq_slots_alloc(struct region *region, uint32_t depth, uroce_abi_ref *slots);
void cq_slots_free(struct region *region, uint32_t depth, uroce_abi_ref slots);
void cq_ring_move(struct region *region, struct cq_ring *ring, uint32_t depth, uroce_abi_ref slots);

/* ---- the front's side; the caller holds the CQ's front lock ---- */

struct cq_front_ring {
	struct uroce_abi_ring *ring;
	struct uroce_abi_cqe *slots;
	uint32_t mask;
	uint32_t consumed;
	uint32_t moves; /* resizes taken over */
};

struct cq_front {
	const struct region_view *view;
	uint32_t rings;
	uint32_t next; /* where poll starts */
	struct cq_front_ring ring[UROCE_ABI_MAX_CORES];
};

int cq_front_init(struct cq_front *cq, const struct region_view *view, uint32_t rings,
	const uroce_abi_ref *refs);
/* The next completion (a copy), or false. */
bool cq_poll(struct cq_front *cq, struct uroce_abi_cqe *cqe);
/* The same in place: the ring that has one, or NULL; it stays there until cq_step(). */
struct cq_front_ring *cq_look(struct cq_front *cq);

static inline const struct uroce_abi_cqe *cq_at(const struct cq_front_ring *sub)
{
	return &sub->slots[sub->consumed & sub->mask];
}

/* Release: pairs with the acquire in read_consumed() of cq_engine.c. */
static inline void cq_step(struct cq_front_ring *sub, uint32_t count)
{
	sub->consumed += count;
	__atomic_store_n(&sub->ring->consumer.index, sub->consumed, __ATOMIC_RELEASE);
}

/* Nothing is pending, or others are just taking it. From any thread, without the lock. */
bool cq_idle(const struct cq_front *cq);
/* The CQ overran. */
bool cq_overrun(const struct cq_front *cq);
/* From any thread, without the lock. */
void cq_arm(struct cq_front *cq, bool solicited_only);
/* Removes the completions of a QP (RESET, destroy), keeping the order of the others. release() is
 * called for each that was removed, newest first; may be NULL. */
void cq_purge(struct cq_front *cq, uint32_t qp,
	void (*release)(void *context, const struct uroce_abi_cqe *cqe), void *context);
/*
 * After each resize command, before the next one: takes over the new slots. refs: the rings as the
 * command returned them, the ones that the CQ has. 0 or -EPROTO: they are not, or lead nowhere.
 */
int cq_front_resize(struct cq_front *cq, const uroce_abi_ref *refs);

#endif
