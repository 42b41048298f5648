/* SPDX-License-Identifier: BSD-3-Clause */
/* sim: runs seeds and judges them; see world.h, traffic.h, oracle.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "census.h"
#include "log.h"
#include "traffic.h"

/* Virtual time in which a world must have come to rest. */
#define BOUND 60000000000ull
#define STEPS 4000000u

static int usage(FILE *out)
{
	fprintf(out,
		"usage: sim SEEDS            run the seeds 1 to SEEDS\n"
		"       sim --seed SEED [--pcap FILE]   run one, with a trace\n");
	return out == stderr ? 2 : 0;
}

/* Runs until all has settled and the wire is quiet. False: it did not come to rest. */
static bool run_world(struct traffic *traffic)
{
	struct world *world = traffic->world;
	uint64_t end = world->now + BOUND;

	for (uint32_t i = 0; i < STEPS && world->now < end; i++) {
		bool any = traffic_step(traffic);
		bool settled = traffic_settled(traffic);

		if (settled && !any && world_quiet(world))
			return true;
		if (!world_step(world) && !any && !settled)
			world->now += 100000; /* who posts next is chance: give it time */
	}
	oracle_complain(world->oracle, "no rest after %u steps or 60 s of virtual time", STEPS);
	return false;
}

static bool report(const struct world *world)
{
	const char *complaint = oracle_complaint(world->oracle);

	if (complaint)
		printf("seed %" PRIu64 ": %s (and %u more)\n", world->seed, complaint,
			oracle_complaints(world->oracle) - 1);
	return !complaint;
}

static bool run_seed(uint64_t seed, bool verbose, const char *pcap, struct census *census)
{
	struct world world;
	struct traffic traffic;
	bool passed;

	world_open(&world, seed, verbose, pcap);
	traffic_open(&traffic, &world);
	if (run_world(&traffic)) {
		traffic_finish(&traffic);
		census_take(census, &traffic);
	}
	oracle_finish(world.oracle);
	traffic_close(&traffic);
	world_close(&world);
	passed = report(&world);
	census->completions += oracle_judged(world.oracle);
	world_free(&world);
	return passed;
}

static int finish(uint64_t passed, uint64_t failed)
{
	printf("sim: %" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
	return failed != 0;
}

static int run_many(const char *program, uint64_t seeds)
{
	struct census census = {0};
	uint64_t passed = 0;
	uint64_t missing = 0;

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		if (run_seed(seed, false, NULL, &census))
			passed++;
		else
			printf("  replay: %s --seed %" PRIu64 "\n", program, seed);
	}
	printf("%" PRIu64 " completions judged\n", census.completions);
	if (seeds >= CENSUS_WORLDS)
		missing = census_missing(&census);
	return finish(passed, seeds - passed + missing);
}

int main(int argc, char **argv)
{
	struct census census = {0};

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 2 && strcmp(argv[1], "--help") == 0)
		return usage(stdout);
	log_set_level(LOG_ERROR); /* thousands of worlds hold for a second, rightly */
	if ((argc == 3 || argc == 5) && strcmp(argv[1], "--seed") == 0) {
		const char *pcap = argc == 5 && strcmp(argv[3], "--pcap") == 0 ? argv[4] : NULL;
		bool passed = run_seed(strtoull(argv[2], NULL, 0), true, pcap, &census);

		return finish(passed, !passed);
	}
	if (argc != 2 || strtoull(argv[1], NULL, 0) == 0)
		return usage(stderr);
	return run_many(argv[0], strtoull(argv[1], NULL, 0));
}
