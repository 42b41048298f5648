/* SPDX-License-Identifier: BSD-3-Clause */
/* What the stress programs have in common: two threads that meet, options, the report. */
#ifndef UROCE_TESTS_STRESS_H
#define UROCE_TESTS_STRESS_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* gcc defines the macros, clang has the features. */
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define STRESS_TSAN 1
#define STRESS_SLOWER 100u
#elif defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define STRESS_TSAN 0
#define STRESS_SLOWER 10u
#else
#define STRESS_TSAN 0
#define STRESS_SLOWER 1u
#endif

#define STRESS_SKIPPED 77

/* Reads `--rounds N`; otherwise `usual` rounds, or fewer under a sanitizer. */
uint64_t stress_rounds(int argc, char **argv, uint64_t usual);

/* Two cores for the caller and another thread, and the caller's old set. */
struct stress_cores {
	cpu_set_t saved;
	pthread_t other;
};

/* The process may use two cores, so that threads race and don't take turns. */
bool stress_two_cores(void);
/* Starts the thread; each of the two has a core of its own. */
void stress_start(struct stress_cores *cores, void *(*other)(void *), void *argument);
void stress_join(struct stress_cores *cores);

/* Counts a case and says how it went. */
struct stress_report {
	const char *name;
	unsigned int passed;
	unsigned int failed;
};

void stress_case(struct stress_report *report, const char *what, bool passed);
/* The closing line; returns the exit status. */
int stress_end(const struct stress_report *report);
/* Instead of all of that: the reason, and the exit status that says so. */
int stress_skip(const char *name, const char *reason);
/* A test that cannot go on is a failed one. */
void stress_require(bool condition, const char *what);

double stress_seconds(void);

/* Where one side has got to; a line of its own. */
struct stress_side {
	uint32_t arrived;
} __attribute__((aligned(64)));

/* The condition becomes true by the other thread's doing; yields now and then, should both run on
 * one core. */
#define STRESS_AWAIT(condition)                                                                    \
	do {                                                                                       \
		for (uint32_t spins = 1; !(condition); spins++)                                    \
			if (spins % 4096 == 0)                                                     \
				sched_yield();                                                     \
	} while (0)

/* Release and acquire: each sees what the other did before it arrived. No full barrier: what is
 * tested must not get one from here. */
static inline void stress_meet(
	struct stress_side *mine, const struct stress_side *other, uint32_t n)
{
	__atomic_store_n(&mine->arrived, n, __ATOMIC_RELEASE);
	STRESS_AWAIT((int32_t)(__atomic_load_n(&other->arrived, __ATOMIC_ACQUIRE) - n) >= 0);
}

/* A small generator (xorshift32, Marsaglia 2003): lib/base's costs more than a race has. */
static inline uint32_t stress_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

#endif
