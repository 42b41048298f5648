/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A binary heap, earliest at index 0. Each timer knows its place, so that a cancel or a move
 * costs O(log n) without a search.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "timer.h"

#define FIRST_CAPACITY 64u

int timers_init(struct timers *timers)
{
	timers->heap = calloc(FIRST_CAPACITY, sizeof(struct timer *));
	timers->count = 0;
	timers->capacity = timers->heap ? FIRST_CAPACITY : 0;
	timers->reserved = 0;
	return timers->heap ? 0 : -ENOMEM;
}

/* Timers that are still pending belong to their owners: they only lose their place. */
void timers_fini(struct timers *timers)
{
	for (uint32_t i = 0; i < timers->count; i++)
		timers->heap[i]->place = 0;
	free(timers->heap);
	timers->heap = NULL;
	timers->count = 0;
	timers->capacity = 0;
	timers->reserved = 0;
}

int timers_reserve(struct timers *timers, uint32_t n)
{
	uint64_t needed = (uint64_t)timers->reserved + n;
	uint64_t capacity = timers->capacity ? timers->capacity : FIRST_CAPACITY;
	struct timer **heap;

	if (needed > UINT32_MAX)
		return -ENOMEM;
	if (needed > timers->capacity) {
		while (capacity < needed)
			capacity *= 2;
		if (capacity > UINT32_MAX)
			capacity = UINT32_MAX;
		heap = reallocarray(timers->heap, capacity, sizeof(struct timer *));
		if (!heap)
			return -ENOMEM;
		timers->heap = heap;
		timers->capacity = (uint32_t)capacity;
	}
	timers->reserved = (uint32_t)needed;
	return 0;
}

/* The memory is kept: what was needed once will be needed again. */
void timers_release(struct timers *timers, uint32_t n)
{
	assert(n <= timers->reserved && timers->count <= timers->reserved - n);
	timers->reserved -= n;
}

static void put(struct timers *timers, uint32_t i, struct timer *timer)
{
	timers->heap[i] = timer;
	timer->place = i + 1;
}

/* Settles `timer` at index i or above it; what it passes moves down one level. */
static void sift_up(struct timers *timers, uint32_t i, struct timer *timer)
{
	while (i > 0) {
		uint32_t parent = (i - 1) / 2;

		if (timers->heap[parent]->when <= timer->when)
			break;
		put(timers, i, timers->heap[parent]);
		i = parent;
	}
	put(timers, i, timer);
}

/* Settles `timer` at index i or below it; what it passes moves up one level. */
static void sift_down(struct timers *timers, uint32_t i, struct timer *timer)
{
	/* An index below count / 2 has a left child, and 2 * i + 1 cannot wrap. */
	while (i < timers->count / 2) {
		uint32_t child = 2 * i + 1;

		if (child + 1 < timers->count &&
			timers->heap[child + 1]->when < timers->heap[child]->when)
			child++;
		if (timers->heap[child]->when >= timer->when)
			break;
		put(timers, i, timers->heap[child]);
		i = child;
	}
	put(timers, i, timer);
}

/* Settles `timer` in index i, whatever was there, up or down as its time wants. */
static void settle(struct timers *timers, uint32_t i, struct timer *timer)
{
	if (i > 0 && timers->heap[(i - 1) / 2]->when > timer->when)
		sift_up(timers, i, timer);
	else
		sift_down(timers, i, timer);
}

void timer_set(struct timers *timers, struct timer *timer, uint64_t when)
{
	timer->when = when;
	if (timer_pending(timer)) {
		settle(timers, timer->place - 1, timer);
		return;
	}
	assert(timers->count < timers->reserved); /* else nobody called timers_reserve() for it */
	sift_up(timers, timers->count++, timer);
}

void timer_cancel(struct timers *timers, struct timer *timer)
{
	uint32_t hole = timer->place - 1;
	struct timer *last;

	if (!timer_pending(timer))
		return;
	timer->place = 0;
	last = timers->heap[--timers->count];
	if (last != timer)
		settle(timers, hole, last);
}

unsigned int timers_run(struct timers *timers, uint64_t now, void *context)
{
	unsigned int ran = 0;

	/* The root is read anew each time: a function that ran may have set or cancelled any timer.
	 */
	while (timers->count && timers->heap[0]->when <= now) {
		struct timer *timer = timers->heap[0];

		timer_cancel(timers, timer);
		timer->expire(timer, now, context);
		ran++;
	}
	return ran;
}
