/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Timers of one core: a binary heap of intrusive timers. Time is a u64 in nanoseconds, monotonic,
 * and always handed in. Not thread-safe: a heap belongs to its core.
 */
#ifndef UROCE_BASE_TIMER_H
#define UROCE_BASE_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#define TIMER_NEVER UINT64_MAX

struct timer;
typedef void timer_fn(struct timer *timer, uint64_t now, void *context);

struct timer {
	uint64_t when; /* ns; meaningful while pending */
	timer_fn *expire;
	uint32_t place; /* index in the heap + 1; 0: not pending */
};

struct timers {
	struct timer **heap;
	uint32_t count;
	uint32_t capacity;
	uint32_t reserved; /* timers that exist: what timers_reserve() has promised room for */
};

/* Set-up. Returns 0 or -ENOMEM. */
int timers_init(struct timers *timers);
void timers_fini(struct timers *timers);

/* Makes room for n more timers, so that timer_set() never allocates. Control path. 0 or -ENOMEM. */
int timers_reserve(struct timers *timers, uint32_t n);
/* Gives back room for n timers, none of which may be pending. */
void timers_release(struct timers *timers, uint32_t n);

static inline void timer_init(struct timer *timer, timer_fn *expire)
{
	timer->when = TIMER_NEVER;
	timer->expire = expire;
	timer->place = 0;
}

static inline bool timer_pending(const struct timer *timer)
{
	return timer->place != 0;
}

/* (Re)arms; a timer that is pending moves. Never allocates: see timers_reserve(). */
void timer_set(struct timers *timers, struct timer *timer, uint64_t when);
void timer_cancel(struct timers *timers, struct timer *timer);

/* When the next one is due, or TIMER_NEVER. */
static inline uint64_t timers_next(const struct timers *timers)
{
	return timers->count ? timers->heap[0]->when : TIMER_NEVER;
}

/*
 * Calls expire() of every timer with when <= now, earliest first; ties in the order they were set
 * is not promised. A timer is no longer pending when its function runs and may set itself again
 * (for later than now) or others. Returns how many ran.
 */
unsigned int timers_run(struct timers *timers, uint64_t now, void *context);

#endif
