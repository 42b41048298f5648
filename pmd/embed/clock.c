/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine's clock, and the threads that read it. */
#include "clock.h"

#include <cpuid.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_lcore.h>

#include "eal.h"

static bool tsc_is_invariant(void)
{
	unsigned int a, b, c, d;

	/* Intel SDM, CPUID leaf 80000007H, EDX bit 8; AMD likewise */
	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}

static uint64_t monotonic(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void clock_init(struct clock *clock)
{
	clock->start_ns = monotonic();
	clock->start_tsc = rte_rdtsc();
	clock->ns_per_tick =
		tsc_is_invariant() ? (uint64_t)(1e9 / (double)rte_get_tsc_hz() * 4294967296.0) : 0;
}

/* ---- threads ---- */

static pthread_key_t leaving;

static void leave(void *registered)
{
	(void)registered;
	eal_unregister_thread();
}

static void make_key(void)
{
	pthread_key_create(&leaving, leave);
}

/* A thread that cannot be registered works, without a cache. */
static void introduce(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (rte_lcore_id() != LCORE_ID_ANY)
		return;
	pthread_once(&once, make_key);
	if (eal_register_thread() == 0)
		pthread_setspecific(leaving, &leaving);
}

uint64_t clock_read(void *context)
{
	static __thread bool known;
	const struct clock *clock = context;

	if (__builtin_expect(!known, 0)) {
		known = true;
		introduce();
	}
	if (clock->ns_per_tick == 0)
		return monotonic();
	return clock->start_ns +
		(uint64_t)((unsigned __int128)(rte_rdtsc() - clock->start_tsc) *
				clock->ns_per_tick >>
			32);
}
