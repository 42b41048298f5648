/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting for another thread in a test: spins, yields now and then (there may be fewer cores than
 * threads), and gives up after a time that no scheduler takes.
 */
#ifndef UROCE_TESTS_PATIENCE_H
#define UROCE_TESTS_PATIENCE_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define PATIENCE_NS 20000000000ull
#define PATIENCE_SPINS 128u

static inline uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

struct patience {
	uint64_t end;
	uint32_t spins;
};

/* False when it is at its end. The clock is read at the first yield and at every later one. */
static inline bool patient(struct patience *patience)
{
	if (++patience->spins % PATIENCE_SPINS)
		return true;
	sched_yield();
	if (patience->end == 0)
		patience->end = now_ns() + PATIENCE_NS;
	return now_ns() < patience->end;
}

/* True as soon as the condition is; false if it didn't become so. */
#define WAIT_FOR(condition)                                                                        \
	({                                                                                         \
		struct patience patience_left = {0};                                               \
		bool came_true;                                                                    \
                                                                                                   \
		while (!(came_true = (condition)) && patient(&patience_left))                      \
			continue;                                                                  \
		came_true;                                                                         \
	})

#endif
