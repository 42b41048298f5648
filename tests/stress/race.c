/* SPDX-License-Identifier: BSD-3-Clause */
/* The rounds of a race, how its sides find each other, and the verdict. */
#include <inttypes.h>

#include "race.h"
#include "stress.h"

#define REGION_SIZE (64ull << 20)
#define REGION_ID 7u
#define BIAS_MAX 4096
#define PATIENCE 50u
#define SECONDS 120 /* unless rounds are asked for */
#define WEEK (7 * 24 * 3600)

/* Built with a barrier taken out: its name (tests/stress/meson.build). */
#ifdef RACE_WEAK
static const char *const weakened = RACE_WEAK;
#else
static const char *const weakened;
#endif

struct run {
	const struct race *race;
	struct stress_side first;
	struct stress_side second;
	/* The caller's; the other thread reads them behind a meeting. */
	int32_t bias; /* turns that the first waits, or, below 0, the second */
	uint32_t jitter;
	bool stop;
	uint64_t saw[4];
	double end;
};

static void wait_turns(uint32_t turns)
{
	for (; turns > 0; turns--)
		__asm__ volatile("" ::: "memory");
}

static uint32_t turns_of(int32_t bias, uint32_t jitter, uint32_t *seed)
{
	return (bias > 0 ? (uint32_t)bias : 0) + (stress_random(seed) & jitter);
}

static void *second_side(void *argument)
{
	struct run *run = argument;
	uint32_t seed = 2, n = 0;

	for (;;) {
		stress_meet(&run->second, &run->first, ++n);
		if (run->stop)
			return NULL;
		for (uint32_t i = 0; i < RACE_INSTANCES; i++) {
			uint32_t turns = turns_of(-run->bias, run->jitter, &seed);

			stress_meet(&run->second, &run->first, ++n);
			wait_turns(turns);
			run->race->second(i);
		}
		stress_meet(&run->second, &run->first, ++n);
	}
}

/* The side that saw the other more often was the later one: it starts earlier from now on. */
static void steer(struct run *run, const uint32_t saw[4])
{
	int32_t step = 1 + (run->bias < 0 ? -run->bias : run->bias) / 16;
	uint32_t late = saw[RACE_SECOND_SAW] + (run->race->both_is_late ? saw[RACE_BOTH_SAW] : 0);

	run->bias += saw[RACE_FIRST_SAW] < late ? step : -step;
	if (run->bias > BIAS_MAX)
		run->bias = BIAS_MAX;
	if (run->bias < -BIAS_MAX)
		run->bias = -BIAS_MAX;
}

static void judge(struct run *run)
{
	uint32_t saw[4] = {0};

	for (uint32_t i = 0; i < RACE_INSTANCES; i++)
		saw[run->race->judge(i)]++;
	for (unsigned int i = 0; i < 4; i++)
		run->saw[i] += saw[i];
	steer(run, saw);
}

/*
 * A missing barrier that hasn't been caught yet gets more rounds. On a busy machine, where the
 * sides wait for the scheduler more than for each other, rounds end when the time does; the report
 * says how many there were.
 */
static bool goes_on(const struct run *run, uint64_t batch, uint64_t batches)
{
	if (batch % 64 == 0 && stress_seconds() > run->end)
		return false;
	if (batch < batches)
		return true;
	return weakened && run->saw[RACE_LOST] == 0 && batch < PATIENCE * batches;
}

static void first_side(struct run *run, uint64_t rounds)
{
	static const uint32_t jitters[] = {0, 7, 31, 127};
	uint32_t seed = 1, n = 0;
	uint64_t batches = (rounds + RACE_INSTANCES - 1) / RACE_INSTANCES;

	for (uint64_t batch = 0; goes_on(run, batch, batches); batch++) {
		run->jitter = jitters[batch / 16 % 4];
		stress_meet(&run->first, &run->second, ++n);
		for (uint32_t i = 0; i < RACE_INSTANCES; i++) {
			uint32_t turns = turns_of(run->bias, run->jitter, &seed);

			stress_meet(&run->first, &run->second, ++n);
			wait_turns(turns);
			run->race->first(i);
		}
		stress_meet(&run->first, &run->second, ++n);
		judge(run);
	}
	run->stop = true;
	stress_meet(&run->first, &run->second, ++n);
}

static void race_rounds(struct run *run, uint64_t rounds)
{
	struct stress_cores cores;
	double start = stress_seconds();

	stress_start(&cores, second_side, run);
	first_side(run, rounds);
	stress_join(&cores);
	rounds = run->saw[0] + run->saw[1] + run->saw[2] + run->saw[3];
	printf("%s, %s: %" PRIu64 " rounds, %.0f ns each; first saw %" PRIu64
	       ", second saw %" PRIu64 ", both saw %" PRIu64 ", nobody saw %" PRIu64 "\n",
		run->race->name, weakened ? weakened : "all barriers", rounds,
		(stress_seconds() - start) * 1e9 / (double)rounds, run->saw[RACE_FIRST_SAW],
		run->saw[RACE_SECOND_SAW], run->saw[RACE_BOTH_SAW], run->saw[RACE_LOST]);
}

/* Two views, as of two processes. The thread sanitizer tells memory by its address and would see
 * two unrelated places, so under it both are one. */
static void with_region(struct run *run, uint64_t rounds)
{
	struct region *region;
	struct region_view front;

	stress_require(region_create(REGION_SIZE, true, REGION_ID, &region) == 0, "region");
	front = *region_engine_view(region);
	if (!STRESS_TSAN)
		stress_require(region_map(region_fd(region), &front) == 0, "second view");
	run->race->open(region, &front);
	race_rounds(run, rounds);
	run->race->close(region);
	if (!STRESS_TSAN)
		region_unmap(&front);
	region_destroy(region);
}

int race_main(int argc, char **argv, const struct race *race)
{
	uint64_t rounds = stress_rounds(argc, argv, weakened ? RACE_ROUNDS / 10 : RACE_ROUNDS);
	struct stress_report report = {.name = race->name};
	struct run run = {.race = race, .end = stress_seconds() + (argc > 1 ? WEEK : SECONDS)};

	if (!stress_two_cores())
		return stress_skip(race->name, "skipped: a race needs two cores");
	if (weakened && STRESS_TSAN)
		return stress_skip(race->name,
			"skipped: the thread sanitizer's own atomics are full barriers");
	with_region(&run, rounds);
	if (weakened)
		stress_case(&report, "the missing barrier was caught", run.saw[RACE_LOST] > 0);
	else
		stress_case(&report, "nothing was lost", run.saw[RACE_LOST] == 0);
	stress_case(&report, "each side was the later one at times",
		run.saw[RACE_FIRST_SAW] > 0 && run.saw[RACE_SECOND_SAW] > 0);
	return stress_end(&report);
}
