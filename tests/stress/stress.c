/* SPDX-License-Identifier: BSD-3-Clause */
/* Options, cores, the report. */
#include <string.h>

#include "stress.h"

uint64_t stress_rounds(int argc, char **argv, uint64_t usual)
{
	uint64_t rounds = usual / STRESS_SLOWER;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], "--rounds") == 0)
			rounds = strtoull(argv[i + 1], NULL, 0);
	return rounds;
}

/* The n-th of the cores that the process may use, or -1. */
static int nth_core(const cpu_set_t *allowed, int n)
{
	for (int core = 0; core < CPU_SETSIZE; core++)
		if (CPU_ISSET(core, allowed) && n-- == 0)
			return core;
	return -1;
}

bool stress_two_cores(void)
{
	cpu_set_t allowed;

	return pthread_getaffinity_np(pthread_self(), sizeof(allowed), &allowed) == 0 &&
		nth_core(&allowed, 1) >= 0;
}

static void pin(pthread_t thread, const cpu_set_t *allowed, int n)
{
	int core = nth_core(allowed, n);
	cpu_set_t set;

	if (core < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(core, &set);
	pthread_setaffinity_np(thread, sizeof(set), &set);
}

void stress_start(struct stress_cores *cores, void *(*other)(void *), void *argument)
{
	pthread_getaffinity_np(pthread_self(), sizeof(cores->saved), &cores->saved);
	pin(pthread_self(), &cores->saved, 0);
	stress_require(pthread_create(&cores->other, NULL, other, argument) == 0, "a thread");
	pin(cores->other, &cores->saved, 1);
}

void stress_join(struct stress_cores *cores)
{
	pthread_join(cores->other, NULL);
	pthread_setaffinity_np(pthread_self(), sizeof(cores->saved), &cores->saved);
}

void stress_case(struct stress_report *report, const char *what, bool passed)
{
	report->passed += passed;
	report->failed += !passed;
	printf("  %s: %s\n", what, passed ? "passed" : "FAILED");
}

int stress_end(const struct stress_report *report)
{
	printf("stress-%s: %u passed, %u failed\n", report->name, report->passed, report->failed);
	return report->failed != 0;
}

int stress_skip(const char *name, const char *reason)
{
	printf("stress-%s: %s\n", name, reason);
	return STRESS_SKIPPED;
}

void stress_require(bool condition, const char *what)
{
	if (condition)
		return;
	printf("no %s\nstress: 0 passed, 1 failed\n", what);
	exit(1);
}

double stress_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}
