/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two threads that race, each on a core of its own: on one core they would take turns. The caller
 * is one of them.
 */
#ifndef UROCE_TESTS_RACE_H
#define UROCE_TESTS_RACE_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "patience.h"
#include "unit.h"

#define RACE_NS 3000000000ull
#define RACE_DELAY_MAX 4096u

struct race {
	cpu_set_t saved;
	pthread_t other;
	uint64_t end;
	uint32_t delay; /* of the caller, in turns of a loop: where the race was last found */
	uint32_t early; /* rounds in which the caller was early */
	uint32_t late;
};

/* The n-th of the cores that the process may use, or -1. */
static inline int race_core(const cpu_set_t *allowed, int n)
{
	for (int core = 0; core < CPU_SETSIZE; core++)
		if (CPU_ISSET(core, allowed) && n-- == 0)
			return core;
	return -1;
}

static inline void race_pin(pthread_t thread, const cpu_set_t *allowed, int n)
{
	int core = race_core(allowed, n);
	cpu_set_t set;

	if (core < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(core, &set);
	pthread_setaffinity_np(thread, sizeof(set), &set);
}

static inline void race_start(struct race *race, void *(*other)(void *), void *argument)
{
	*race = (struct race){.end = now_ns() + RACE_NS};
	pthread_getaffinity_np(pthread_self(), sizeof(race->saved), &race->saved);
	race_pin(pthread_self(), &race->saved, 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&race->other, NULL, other, argument), 0);
	race_pin(race->other, &race->saved, 1);
}

/* Another round? The clock is read now and then. */
static inline bool race_goes_on(const struct race *race, uint32_t round, uint32_t rounds)
{
	return round < rounds && (round % 1024 || now_ns() < race->end);
}

/* Waits until about the time of the race, now nearer, now farther. */
static inline void race_wait(const struct race *race, uint32_t round)
{
	uint32_t spread = 16u << (round / 1024 % 7);
	uint32_t back = race->delay < spread / 2 ? race->delay : spread / 2;

	for (uint32_t turns = race->delay - back + round % spread; turns > 0; turns--)
		__asm__ volatile("" ::: "memory");
}

/* How the round ended; moves the delay. */
static inline void race_was(struct race *race, bool early)
{
	if (early) {
		race->early++;
		race->delay += 8 + race->delay / 16;
		if (race->delay > RACE_DELAY_MAX)
			race->delay = RACE_DELAY_MAX;
	} else {
		race->late++;
		race->delay -= race->delay / 16;
	}
}

/* Joins. The two must have met: neither was always first. */
static inline void race_end(struct race *race)
{
	pthread_join(race->other, NULL);
	pthread_setaffinity_np(pthread_self(), sizeof(race->saved), &race->saved);
	CU_ASSERT_TRUE(race->early + race->late > 1000);
	if (race_core(&race->saved, 1) >= 0)
		CU_ASSERT_TRUE(race->early > 0 && race->late > 0);
}

#endif
