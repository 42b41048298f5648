/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work queues in the region: SQ, RQ, SRQ. Any number of threads post; one engine core takes (an
 * SRQ: several cores claim). Posting, step by step:
 *
 *  1. reserve: compare-and-swap on the producer index takes as many slots as fit;
 *  2. write the records in place;
 *  3. publish: mark each slot valid with its lap (release);
 *  4. announce (sendring.h): exchange the announced flag; if it was clear, enqueue the QP.
 *
 * The engine takes slots in order and stops at the first that isn't valid.
 *
 * What "fits" is the front's own business: positions up to `released`, which completions carry and
 * polling advances, are free again (a work request is outstanding until its completion, or a later
 * one's of the same queue, has been polled: IBTA 10.8.5.1). The engine never looks at it; it only
 * refuses to run ahead of `count` slots.
 */
#ifndef UROCE_QUEUE_WQ_H
#define UROCE_QUEUE_WQ_H

#include <stdbool.h>
#include <stdint.h>

#include "region.h"

/* ---- the front's side ---- */

struct wq_front {
	struct uroce_abi_ring *ring;
	uint8_t *slots;
	uint32_t stride;
	uint32_t mask;	/* slots - 1 */
	uint32_t shift; /* log2(slots): position >> shift is the lap */
	uint32_t depth;
	uint32_t released; /* atomic; free up to here. An SRQ reads the consumer index instead */
	bool shared;	   /* an SRQ */
};

/* From the reference that a command returned. 0 or -EPROTO if it leads out of the view. */
int wq_front_init(
	struct wq_front *wq, const struct region_view *view, uroce_abi_ref ring, bool shared);

/* Reserves up to `wanted` slots; returns how many (0: full) and the first position. Lock-free. */
uint32_t wq_reserve(struct wq_front *wq, uint32_t wanted, uint32_t *position);

/* The record to write, all but `valid`, and what lies behind it. */
static inline void *wq_slot(const struct wq_front *wq, uint32_t position)
{
	return wq->slots + (uint64_t)(position & wq->mask) * wq->stride;
}

/* Marks the slot valid (release; pairs with the acquire in wq_take()). */
void wq_publish(struct wq_front *wq, uint32_t position);
/* A completion that frees up to `position` was polled. Only forward; any thread. */
void wq_release(struct wq_front *wq, uint32_t position);
/* RESET: the engine has emptied the ring; nothing is outstanding. */
void wq_front_reset(struct wq_front *wq);
/* Posted and not released. */
uint32_t wq_outstanding(const struct wq_front *wq);
/* After publishing (full barrier inside): must this receive be announced? See wq_set_notice(). */
bool wq_announce_recv(struct wq_front *wq);

/* ---- the engine's side; geometry is its own copy ---- */

struct wq_engine {
	struct uroce_abi_ring *ring;
	uint8_t *slots;
	uroce_abi_ref ref;
	uroce_abi_ref slots_ref;
	uint32_t stride;
	uint32_t mask;
	uint32_t shift;
	uint32_t depth;
	uint32_t max_sge;
	uint32_t max_inline;
	uint32_t taken;	  /* next position; an SRQ's is claimed by compare-and-swap (atomic) */
	uint32_t telling; /* atomic; an SRQ: one of its cores writes the consumer index */
};

/* Allocates the ring in the region. record: sizeof the WQE; behind it room for max_sge SGEs or
 * max_inline bytes. depth 0 is allowed: nothing ever fits. 0, -ENOMEM, -EINVAL: more than
 * UROCE_ABI_MAX_SGE or _INLINE. */
int wq_create(struct region *region, uint32_t depth, uint32_t max_sge, uint32_t max_inline,
	struct wq_engine *wq);
void wq_destroy(struct region *region, struct wq_engine *wq);

/* Bytes of a copied slot at most: what a buffer for wq_take() must hold. */
#define WQ_RECORD_MAX                                                                              \
	(64u +                                                                                     \
		(UROCE_ABI_MAX_SGE * 16u > UROCE_ABI_MAX_INLINE ? UROCE_ABI_MAX_SGE * 16u          \
								: UROCE_ABI_MAX_INLINE))

/* The slot at `taken` is valid. */
bool wq_ready(const struct wq_engine *wq);
/* How many are valid from `taken` on, at most `limit`. */
uint32_t wq_count(const struct wq_engine *wq, uint32_t limit);
/*
 * Copies the next valid slot (once; the caller validates the copy) and advances. The record's
 * first 64 bytes go to `record`, as much behind it as `tail_size` says to `tail`. Returns false if
 * there is none. *position is the slot's position.
 */
bool wq_take(
	struct wq_engine *wq, void *record, void *tail, uint32_t tail_size, uint32_t *position);
/* The same for a send request, of whose SGEs or inline bytes only as many are copied as it says to
 * have: what is behind them in `tail` stays as it was. */
bool wq_take_send(struct wq_engine *wq, struct uroce_abi_send_wqe *record, void *tail,
	uint32_t tail_size, uint32_t *position);
/* wq_take() for an SRQ, from any core. */
bool wq_claim(struct wq_engine *wq, void *record, void *tail, uint32_t tail_size);
/* RESET: drops what was posted, and what threads amid a post have reserved; taking goes on where
 * the producer's index is. What is reserved from then on counts as posted behind the reset. */
void wq_reset(struct wq_engine *wq);
/* RQ of a QP in ERR: from now on receives must be announced. Full barrier inside; the caller looks
 * at the ring once more afterwards. */
void wq_set_notice(struct wq_engine *wq, uint32_t notice);

#endif
