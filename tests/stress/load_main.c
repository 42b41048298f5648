/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which actors meet under which engines. Every case ends after so many seconds; with --rounds N
 * after N rounds of each actor, however long that takes.
 */
#include "load.h"

#include <inttypes.h>

#define SECONDS 2.5
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static actor_fn *const memory[] = {
	load_remote_memory, load_local_memory, load_moved_memory, load_remote_memory};
static actor_fn *const objects[] = {
	load_queues, load_states, load_resize, load_queues, load_shared};
static actor_fn *const clients[] = {load_contexts, load_leftovers, load_threads, load_shared};
static actor_fn *const everything[] = {load_remote_memory, load_local_memory, load_moved_memory,
	load_queues, load_states, load_resize, load_contexts, load_leftovers, load_threads};

struct load_case {
	const char *name;
	enum load_driver driver;
	actor_fn *const *actors;
	uint32_t count;
	bool disturbed;
};

static const struct load_case cases[] = {
	{"memory that goes, busy cores", LOAD_ROUNDS, memory, COUNT(memory), false},
	{"queues that come and go, cores that sleep", LOAD_SERVED, objects, COUNT(objects), false},
	{"clients that come and go, driven by them", LOAD_PROGRESS, clients, COUNT(clients), false},
	{"everything, mixed, a bad link", LOAD_MIXED, everything, COUNT(everything), true},
	{"everything, cores that sleep, a bad link", LOAD_SERVED, everything, COUNT(everything),
		true},
	{"everything, driven, a bad link", LOAD_PROGRESS, everything, COUNT(everything), true},
};

/* What is wrong ends the program; who comes back has passed, if something was done at all. */
static bool run(const struct load_case *is, uint64_t rounds, double seconds)
{
	static struct load load;
	double start = stress_seconds();

	load_open(&load, is->driver, rounds, seconds);
	load_run(&load, is->actors, is->count, is->disturbed);
	load_close(&load);
	printf("load, %s: %.1f s, %" PRIu64 " rounds, %" PRIu64 " requests that succeeded, %" PRIu64
	       " others\n",
		is->name, stress_seconds() - start, load.done, load.good, load.bad);
	return load.done > 0 && load.good > 0;
}

int main(int argc, char **argv)
{
	struct stress_report report = {.name = "load"};
	uint64_t rounds = stress_rounds(argc, argv, UINT64_MAX);
	double seconds = argc > 1 ? 0 : SECONDS;

	for (unsigned int i = 0; i < COUNT(cases); i++)
		stress_case(&report, cases[i].name, run(&cases[i], rounds, seconds));
	return stress_end(&report);
}
