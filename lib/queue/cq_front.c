/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues, the front's side: polling, arming, purging, taking over a resize. */
#include <errno.h>

#include "cq.h"
#include "ring.h"

static int open_ring(struct cq_front_ring *sub, const struct region_view *view, uroce_abi_ref ref)
{
	struct ring_shape shape;
	int error = ring_open(view, ref, &shape);

	if (error)
		return error;
	if (shape.stride != sizeof(struct uroce_abi_cqe))
		return -EPROTO;
	sub->ring = shape.ring;
	sub->slots = (struct uroce_abi_cqe *)(void *)shape.slots;
	sub->mask = shape.mask;
	return 0;
}

int cq_front_init(struct cq_front *cq, const struct region_view *view, uint32_t rings,
	const uroce_abi_ref *refs)
{
	if (rings == 0 || rings > UROCE_ABI_MAX_CORES)
		return -EPROTO;
	*cq = (struct cq_front){.view = view, .rings = rings};
	for (uint32_t i = 0; i < rings; i++) {
		struct cq_front_ring *sub = &cq->ring[i];
		int error = open_ring(sub, view, refs[i]);

		if (error)
			return error;
		sub->consumed = __atomic_load_n(&sub->ring->consumer.index, __ATOMIC_RELAXED);
		sub->moves = __atomic_load_n(&sub->ring->engine.moves, __ATOMIC_ACQUIRE);
	}
	return 0;
}

/*
 * The position up to which completions lie in the slots that we know. Acquire of the producer:
 * pairs with the release in cq_push(). The count of moves is read afterwards: a completion that
 * went into new slots was published after the move was announced.
 */
static uint32_t pending_end(const struct cq_front_ring *sub)
{
	const struct uroce_abi_ring *ring = sub->ring;
	uint32_t produced = __atomic_load_n(&ring->producer.index, __ATOMIC_ACQUIRE);

	if (__atomic_load_n(&ring->engine.moves, __ATOMIC_ACQUIRE) == sub->moves)
		return produced;
	return __atomic_load_n(&ring->engine.limit, __ATOMIC_RELAXED);
}

struct cq_front_ring *cq_look(struct cq_front *cq)
{
	for (uint32_t i = 0; i < cq->rings; i++) {
		struct cq_front_ring *sub = &cq->ring[cq->next];

		cq->next = cq->next + 1 < cq->rings ? cq->next + 1 : 0;
		if (pending_end(sub) != sub->consumed)
			return sub;
	}
	return NULL;
}

bool cq_poll(struct cq_front *cq, struct uroce_abi_cqe *cqe)
{
	struct cq_front_ring *sub = cq_look(cq);

	if (!sub)
		return false;
	*cqe = *cq_at(sub);
	cq_step(sub, 1);
	return true;
}

/* By the indices in the region: both are atomic. The acquire pairs with the release in cq_push().
 */
bool cq_idle(const struct cq_front *cq)
{
	for (uint32_t i = 0; i < cq->rings; i++) {
		const struct uroce_abi_ring *ring = cq->ring[i].ring;

		if (__atomic_load_n(&ring->producer.index, __ATOMIC_ACQUIRE) !=
			__atomic_load_n(&ring->consumer.index, __ATOMIC_RELAXED))
			return false;
	}
	return true;
}

bool cq_overrun(const struct cq_front *cq)
{
	for (uint32_t i = 0; i < cq->rings; i++)
		if (__atomic_load_n(&cq->ring[i].ring->engine.notice, __ATOMIC_ACQUIRE) &
			UROCE_ABI_CQ_OVERRUN)
			return true;
	return false;
}

/*
 * Setting a bit keeps the other, so asking for solicited completions doesn't take back that any
 * were asked for (IBTA 11.4.2.2). The read-modify-write is the full barrier before the program's
 * next poll and pairs with the one in cq_arm_check().
 */
void cq_arm(struct cq_front *cq, bool solicited_only)
{
	__atomic_fetch_or(&cq->ring[0].ring->flag.word,
		solicited_only ? UROCE_ABI_ARM_SOLICITED : UROCE_ABI_ARM_ANY, __ATOMIC_SEQ_CST);
}

struct purge {
	uint32_t qp;
	void (*release)(void *context, const struct uroce_abi_cqe *cqe);
	void *context;
};

static bool purge_match(const void *record, void *context)
{
	const struct uroce_abi_cqe *cqe = record;
	const struct purge *purge = context;

	if (cqe->qp != purge->qp)
		return false;
	if (purge->release)
		purge->release(purge->context, cqe);
	return true;
}

void cq_purge(struct cq_front *cq, uint32_t qp,
	void (*release)(void *context, const struct uroce_abi_cqe *cqe), void *context)
{
	struct purge purge = {.qp = qp, .release = release, .context = context};

	for (uint32_t i = 0; i < cq->rings; i++) {
		struct cq_front_ring *sub = &cq->ring[i];

		cq_step(sub,
			ring_purge((uint8_t *)sub->slots, sub->mask, sub->consumed,
				pending_end(sub), purge_match, &purge));
	}
}

/* Carries over what is pending in the old slots; the engine writes only behind the limit. */
static int follow_move(struct cq_front *cq, struct cq_front_ring *sub, uroce_abi_ref ref)
{
	uint32_t moves = __atomic_load_n(&sub->ring->engine.moves, __ATOMIC_ACQUIRE);
	struct cq_front_ring moved = *sub;
	uint32_t limit;
	int error;

	if (region_at(cq->view, ref, sizeof(*sub->ring)) != (void *)sub->ring)
		return -EPROTO;
	if (moves == sub->moves)
		return 0;
	error = open_ring(&moved, cq->view, ref);
	if (error)
		return error;
	limit = __atomic_load_n(&sub->ring->engine.limit, __ATOMIC_RELAXED);
	for (uint32_t p = sub->consumed; p != limit; p++)
		moved.slots[p & moved.mask] = sub->slots[p & sub->mask];
	moved.moves = moves;
	*sub = moved;
	return 0;
}

int cq_front_resize(struct cq_front *cq, const uroce_abi_ref *refs)
{
	int error = 0;

	for (uint32_t i = 0; i < cq->rings && !error; i++)
		error = follow_move(cq, &cq->ring[i], refs[i]);
	return error;
}
