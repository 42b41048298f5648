/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work queues, the engine's side. It keeps geometry and position to itself and reads from the
 * region only the valid mark and, once, the record: whatever the client writes there, the engine
 * stays inside its slots and takes one record per call.
 */
#include <errno.h>
#include <string.h>

#include "ring.h"
#include "wq.h"

#define RECORD 64u

static uint32_t stride_of(uint32_t max_sge, uint32_t max_inline)
{
	uint32_t tail = max_sge * (uint32_t)sizeof(struct uroce_abi_sge);

	if (tail < max_inline)
		tail = max_inline;
	return RECORD + ((tail + RECORD - 1) & ~(RECORD - 1));
}

int wq_create(struct region *region, uint32_t depth, uint32_t max_sge, uint32_t max_inline,
	struct wq_engine *wq)
{
	struct ring_place place;
	uint32_t stride;
	int error;

	if (max_sge > UROCE_ABI_MAX_SGE || max_inline > UROCE_ABI_MAX_INLINE)
		return -EINVAL;
	stride = stride_of(max_sge, max_inline);
	error = ring_create(region, depth, stride, &place);
	if (error)
		return error;
	place.ring->fixed.max_sge = max_sge;
	place.ring->fixed.max_inline = max_inline;
	*wq = (struct wq_engine){
		.ring = place.ring,
		.slots = place.slots,
		.ref = place.ref,
		.slots_ref = place.slots_ref,
		.stride = stride,
		.mask = place.count - 1,
		.shift = (uint32_t)__builtin_ctz(place.count),
		.depth = depth,
		.max_sge = max_sge,
		.max_inline = max_inline,
	};
	return 0;
}

void wq_destroy(struct region *region, struct wq_engine *wq)
{
	ring_destroy(region, wq->ref, wq->slots_ref, (uint64_t)(wq->mask + 1) * wq->stride);
	memset(wq, 0, sizeof(*wq));
}

static uint8_t *slot_at(const struct wq_engine *wq, uint32_t position)
{
	return wq->slots + (uint64_t)(position & wq->mask) * wq->stride;
}

/* Acquire: pairs with the release in wq_publish(); the record was written before its mark. */
static bool slot_valid(const struct wq_engine *wq, uint32_t position)
{
	const uint32_t *valid = (const uint32_t *)(const void *)slot_at(wq, position);

	return __atomic_load_n(valid, __ATOMIC_ACQUIRE) == (position >> wq->shift) + 1;
}

bool wq_ready(const struct wq_engine *wq)
{
	return slot_valid(wq, __atomic_load_n(&wq->taken, __ATOMIC_RELAXED));
}

uint32_t wq_count(const struct wq_engine *wq, uint32_t limit)
{
	uint32_t taken = __atomic_load_n(&wq->taken, __ATOMIC_RELAXED);
	uint32_t count = 0;

	while (count < limit && count <= wq->mask && slot_valid(wq, taken + count))
		count++;
	return count;
}

typedef uint64_t pair __attribute__((vector_size(16), aligned(8), may_alias));

/*
 * Every byte is loaded exactly once, by a volatile or atomic load, which the compiler may not
 * repeat: what was validated in the copy cannot change behind the validation. `from` is aligned to
 * 8 bytes, `to` anyhow.
 */
static inline __attribute__((always_inline)) void copy_once(
	void *to, const uint8_t *from, uint32_t size)
{
	uint8_t *bytes = to;
	uint32_t i;

	for (i = 0; i + 16 <= size; i += 16) {
		pair value = *(const volatile pair *)(const void *)(from + i);

		memcpy(bytes + i, &value, sizeof(value));
	}
	for (; i + 8 <= size; i += 8) {
		uint64_t word = __atomic_load_n(
			(const uint64_t *)(const void *)(from + i), __ATOMIC_RELAXED);

		memcpy(bytes + i, &word, sizeof(word));
	}
	for (; i < size; i++)
		bytes[i] = __atomic_load_n(from + i, __ATOMIC_RELAXED);
}

/* A record: without a loop. */
static inline __attribute__((always_inline)) void copy_record(void *to, const uint8_t *from)
{
	for (uint32_t i = 0; i < RECORD; i += RECORD / 4)
		copy_once((uint8_t *)to + i, from + i, RECORD / 4);
}

static uint32_t tail_of(const struct wq_engine *wq, uint32_t wanted)
{
	uint32_t room = wq->stride - RECORD;

	return wanted < room ? wanted : room;
}

static uint32_t advance(struct wq_engine *wq)
{
	uint32_t position = wq->taken++;

	/* Release: whoever produces flush completions for a dead engine starts behind this copy. */
	__atomic_store_n(&wq->ring->consumer.index, wq->taken, __ATOMIC_RELEASE);
	return position;
}

bool wq_take(struct wq_engine *wq, void *record, void *tail, uint32_t tail_size, uint32_t *position)
{
	const uint8_t *slot = slot_at(wq, wq->taken);

	if (!slot_valid(wq, wq->taken))
		return false;
	copy_record(record, slot);
	copy_once(tail, slot + RECORD, tail_of(wq, tail_size));
	*position = advance(wq);
	return true;
}

/* By the copy of the record; a number that the queue doesn't allow is cut, and refused later. */
static uint32_t send_tail(const struct uroce_abi_send_wqe *record)
{
	if (record->flags & IBV_SEND_INLINE)
		return record->inline_length;
	return record->sge_count * (uint32_t)sizeof(struct uroce_abi_sge);
}

bool wq_take_send(struct wq_engine *wq, struct uroce_abi_send_wqe *record, void *tail,
	uint32_t tail_size, uint32_t *position)
{
	const uint8_t *slot = slot_at(wq, wq->taken);
	uint32_t has;

	if (!slot_valid(wq, wq->taken))
		return false;
	copy_record(record, slot);
	has = send_tail(record);
	copy_once(tail, slot + RECORD, tail_of(wq, has < tail_size ? has : tail_size));
	*position = advance(wq);
	return true;
}

/*
 * A core that loses the claim has copied a slot that the client may already be writing again; it
 * throws the copy away. That race is meant, so the thread sanitizer does not look at it.
 */
static __attribute__((noinline, no_sanitize("thread"))) void copy_for_claim(
	const struct wq_engine *wq, uint32_t position, void *record, void *tail, uint32_t tail_size)
{
	const uint8_t *slot = slot_at(wq, position);

	copy_record(record, slot);
	copy_once(tail, slot + RECORD, tail_of(wq, tail_size));
}

/*
 * Writes the consumer index, which frees slots, never backwards and without waiting: whoever comes
 * while another core is at it leaves, and that core looks again. Its exchange that ends the turn
 * pairs with the exchange of the one that left: one of the two sees the claim.
 */
static void tell_consumed(struct wq_engine *wq)
{
	uint32_t taken;

	while (__atomic_exchange_n(&wq->telling, 1, __ATOMIC_ACQ_REL) == 0) {
		taken = __atomic_load_n(&wq->taken, __ATOMIC_ACQUIRE);
		/* Release: pairs with the acquire in freed_position(): the copies are made. */
		__atomic_store_n(&wq->ring->consumer.index, taken, __ATOMIC_RELEASE);
		__atomic_exchange_n(&wq->telling, 0, __ATOMIC_ACQ_REL);
		if (__atomic_load_n(&wq->taken, __ATOMIC_ACQUIRE) == taken)
			return;
	}
}

/*
 * Copies first and claims then: while the position is unclaimed, the client cannot have been told
 * that the slot is free, so the copy that goes with a successful claim is whole. The loop runs
 * again only if another core has claimed the slot.
 */
bool wq_claim(struct wq_engine *wq, void *record, void *tail, uint32_t tail_size)
{
	uint32_t position = __atomic_load_n(&wq->taken, __ATOMIC_ACQUIRE);

	do {
		if (!slot_valid(wq, position))
			return false;
		copy_for_claim(wq, position, record, tail, tail_size);
		/* Release: the copy is made before another core sees the slot claimed and tells the
		 * client; pairs with the acquire in tell_consumed(). Full barrier: pairs with the
		 * one behind setting an SRQ's limit (queues_check_limit()). */
	} while (!__atomic_compare_exchange_n(
		&wq->taken, &position, position + 1, false, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE));
	tell_consumed(wq);
	return true;
}

/*
 * Positions go on: were they to start again, a thread amid a post would mark a slot that another
 * post is going to use, or reserve by an index of before. Marks of skipped positions are of their
 * own laps and mean nothing to later ones. Whatever the client has written as its index, taking
 * starts at one of its slots.
 */
void wq_reset(struct wq_engine *wq)
{
	uint32_t posted = __atomic_load_n(&wq->ring->producer.index, __ATOMIC_RELAXED);

	__atomic_store_n(&wq->taken, posted, __ATOMIC_RELAXED);
	/* Release: pairs with the acquire in wq_front_reset(). */
	__atomic_store_n(&wq->ring->consumer.index, posted, __ATOMIC_RELEASE);
}

/* The exchange is the full barrier; it pairs with the one in wq_announce_recv(). */
void wq_set_notice(struct wq_engine *wq, uint32_t notice)
{
	__atomic_exchange_n(&wq->ring->engine.notice, notice, __ATOMIC_SEQ_CST);
}
