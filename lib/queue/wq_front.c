/* SPDX-License-Identifier: BSD-3-Clause */
/* Work queues, the front's side: reserving, publishing, and knowing what is outstanding. */
#include <errno.h>

#include "ring.h"
#include "wq.h"

int wq_front_init(
	struct wq_front *wq, const struct region_view *view, uroce_abi_ref ref, bool shared)
{
	struct ring_shape shape;
	int error = ring_open(view, ref, &shape);

	if (error)
		return error;
	*wq = (struct wq_front){
		.ring = shape.ring,
		.slots = shape.slots,
		.stride = shape.stride,
		.mask = shape.mask,
		.shift = (uint32_t)__builtin_ctz(shape.mask + 1),
		.depth = shape.depth,
		.released = __atomic_load_n(&shape.ring->producer.index, __ATOMIC_RELAXED),
		.shared = shared,
	};
	return 0;
}

/*
 * Slots before this position are free again. Acquire: pairs with the release in wq_release(), or,
 * for an SRQ, with the one in wq_claim(): the engine's copy of the slot was made before.
 */
static uint32_t freed_position(const struct wq_front *wq)
{
	return __atomic_load_n(
		wq->shared ? &wq->ring->consumer.index : &wq->released, __ATOMIC_ACQUIRE);
}

static uint32_t outstanding(const struct wq_front *wq, uint32_t producer, uint32_t freed)
{
	uint32_t used = producer - freed;

	return used < wq->depth ? used : wq->depth;
}

/*
 * The freed position is read before the producer's, so it can only be too low. A reservation that
 * got less than it wanted looks again before it says so: other threads may have polled meanwhile.
 * The exchange itself orders nothing: the slots' contents are ordered by freed_position() on the
 * one side and wq_publish() on the other.
 */
uint32_t wq_reserve(struct wq_front *wq, uint32_t wanted, uint32_t *position)
{
	uint32_t *index = &wq->ring->producer.index;
	uint32_t freed = freed_position(wq);
	uint32_t producer = __atomic_load_n(index, __ATOMIC_RELAXED);

	for (;;) {
		uint32_t room = wq->depth - outstanding(wq, producer, freed);
		uint32_t again = freed_position(wq);

		if (room < wanted && again != freed) {
			freed = again;
			producer = __atomic_load_n(index, __ATOMIC_RELAXED);
			continue;
		}
		if (room > wanted)
			room = wanted;
		if (room == 0)
			return 0;
		if (__atomic_compare_exchange_n(index, &producer, producer + room, false,
			    __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			*position = producer;
			return room;
		}
	}
}

/* Release: pairs with the acquire in slot_valid() of wq_engine.c. */
void wq_publish(struct wq_front *wq, uint32_t position)
{
	uint32_t *valid = wq_slot(wq, position);

	__atomic_store_n(valid, (position >> wq->shift) + 1, __ATOMIC_RELEASE);
}

/* Release: pairs with the acquire in freed_position(). */
void wq_release(struct wq_front *wq, uint32_t position)
{
	uint32_t released = __atomic_load_n(&wq->released, __ATOMIC_RELAXED);

	while ((int32_t)(position - released) > 0)
		if (__atomic_compare_exchange_n(&wq->released, &released, position, false,
			    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			return;
}

void wq_front_reset(struct wq_front *wq)
{
	wq_release(wq, __atomic_load_n(&wq->ring->consumer.index, __ATOMIC_ACQUIRE));
}

uint32_t wq_outstanding(const struct wq_front *wq)
{
	uint32_t freed = freed_position(wq);

	return outstanding(wq, __atomic_load_n(&wq->ring->producer.index, __ATOMIC_RELAXED), freed);
}

/*
 * Full barrier between publishing and reading the notice: adding nothing is a read-modify-write of
 * the word that wq_set_notice() exchanges, so one of the two sees the other.
 */
bool wq_announce_recv(struct wq_front *wq)
{
	return __atomic_fetch_add(&wq->ring->engine.notice, 0, __ATOMIC_SEQ_CST) &
		UROCE_ABI_ANNOUNCE_RECV;
}
