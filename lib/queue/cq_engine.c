/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queues, the engine's side. The consumer index is the client's word: it decides only
 * whether a completion fits, and one that makes no sense counts as no room.
 */
#include <errno.h>
#include <string.h>

#include "cq.h"
#include "ring.h"

/* How often the look at the arm word is repeated if the client changes it meanwhile. */
#define ARM_TRIES 4u

int cq_ring_create(struct region *region, uint32_t depth, struct cq_ring *cq)
{
	struct ring_place place;
	int error = ring_create(region, depth, sizeof(struct uroce_abi_cqe), &place);

	if (error)
		return error;
	*cq = (struct cq_ring){
		.ring = place.ring,
		.slots = (struct uroce_abi_cqe *)(void *)place.slots,
		.ref = place.ref,
		.slots_ref = place.slots_ref,
		.mask = place.count - 1,
		.depth = depth,
	};
	return 0;
}

static uint64_t slots_size(uint32_t count)
{
	return (uint64_t)count * sizeof(struct uroce_abi_cqe);
}

void cq_ring_destroy(struct region *region, struct cq_ring *cq)
{
	region_free(region, cq->old_ref, slots_size(cq->old_slots));
	ring_destroy(region, cq->ref, cq->slots_ref, slots_size(cq->mask + 1));
	memset(cq, 0, sizeof(*cq));
}

static bool has_room(const struct cq_ring *cq)
{
	return cq->produced - cq->consumed < cq->depth;
}

/* Acquire: pairs with the release in cq_step(); the slot was read before it is reused.
 */
static uint32_t read_consumed(const struct cq_ring *cq)
{
	return __atomic_load_n(&cq->ring->consumer.index, __ATOMIC_ACQUIRE);
}

static void set_overrun(struct cq_ring *cq)
{
	if (cq->overrun)
		return;
	cq->overrun = true;
	/* Release: who sees it sees all completions that went before. */
	__atomic_fetch_or(&cq->ring->engine.notice, UROCE_ABI_CQ_OVERRUN, __ATOMIC_RELEASE);
}

/* The front's line is read only when the last value says that the ring is full. */
struct uroce_abi_cqe *cq_slot(struct cq_ring *cq)
{
	if (!has_room(cq)) {
		cq->consumed = read_consumed(cq);
		if (!has_room(cq))
			set_overrun(cq);
	}
	return cq->overrun ? NULL : &cq->slots[cq->produced & cq->mask];
}

void cq_push(struct cq_ring *cq, bool wakes)
{
	cq->fresh = true;
	cq->solicited |= wakes;
	cq->produced++;
	/* Release: pairs with the acquire in pending_end() of cq_front.c. */
	__atomic_store_n(&cq->ring->producer.index, cq->produced, __ATOMIC_RELEASE);
}

/* Bits of the arm word that the completions since the last look answer. */
static uint32_t answers(struct cq_ring *cq)
{
	uint32_t bits =
		(cq->fresh ? UROCE_ABI_ARM_ANY : 0) | (cq->solicited ? UROCE_ABI_ARM_SOLICITED : 0);

	cq->fresh = false;
	cq->solicited = false;
	return bits;
}

/*
 * Adding nothing reads the word by a read-modify-write: the full barrier behind cq_push() that
 * pairs with the one in cq_arm(). Taking the arming by compare-and-swap makes one core the one that
 * raises the event. A client that changes the word for ever gets an event instead of our time.
 */
bool cq_arm_check(struct cq_ring *cq, struct uroce_abi_ring *arm)
{
	uint32_t *word = &arm->flag.word;
	uint32_t bits = answers(cq);
	uint32_t armed;

	if (bits == 0)
		return false;
	armed = __atomic_fetch_add(word, 0, __ATOMIC_SEQ_CST);
	for (unsigned int i = 0; i < ARM_TRIES; i++) {
		if ((armed & bits) == 0)
			return false;
		if (__atomic_compare_exchange_n(word, &armed, UROCE_ABI_ARM_NONE, false,
			    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return true;
	}
	return __atomic_exchange_n(word, UROCE_ABI_ARM_NONE, __ATOMIC_SEQ_CST) & bits;
}

uint32_t cq_pending(const struct cq_ring *cq)
{
	uint32_t used = cq->produced - read_consumed(cq);

	return used < cq->depth ? used : cq->depth;
}

/* The front reads this after it has seen the new count of moves. */
static void announce_move(struct cq_ring *cq)
{
	struct uroce_abi_ring *ring = cq->ring;

	ring->fixed.slots = cq->slots_ref;
	ring->fixed.count = cq->mask + 1;
	ring->fixed.depth = cq->depth;
	__atomic_store_n(&ring->engine.limit, cq->produced, __ATOMIC_RELAXED);
	/* Release: pairs with the acquires in cq_front.c. The next completion's own release keeps
	 * this before it, so that nobody looks for that completion in the old slots. */
	__atomic_fetch_add(&ring->engine.moves, 1, __ATOMIC_RELEASE);
}

int cq_slots_alloc(struct region *region, uint32_t depth, uroce_abi_ref *slots)
{
	if (depth > RING_DEPTH_MAX)
		return -ENOMEM;
	*slots = region_alloc(region, slots_size(ring_slots(depth)));
	return *slots ? 0 : -ENOMEM;
}

void cq_slots_free(struct region *region, uint32_t depth, uroce_abi_ref slots)
{
	region_free(region, slots, slots_size(ring_slots(depth)));
}

/*
 * Pending completions stay where they are; the front carries them over. The new slots have room
 * for them, since whether a completion fits is a matter of positions alone.
 */
void cq_ring_move(struct region *region, struct cq_ring *cq, uint32_t depth, uroce_abi_ref slots)
{
	region_free(region, cq->old_ref, slots_size(cq->old_slots));
	cq->old_ref = cq->slots_ref;
	cq->old_slots = cq->mask + 1;
	cq->slots = region_at(region_engine_view(region), slots, slots_size(ring_slots(depth)));
	cq->slots_ref = slots;
	cq->mask = ring_slots(depth) - 1;
	cq->depth = depth;
	announce_move(cq);
}

int cq_ring_resize(struct region *region, struct cq_ring *cq, uint32_t depth)
{
	uroce_abi_ref slots;
	int error;

	if (depth <= RING_DEPTH_MAX && cq_pending(cq) > depth)
		return -EINVAL;
	error = cq_slots_alloc(region, depth, &slots);
	if (error)
		return error;
	cq_ring_move(region, cq, depth, slots);
	return 0;
}
