/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Races of two cores over the real functions, millions of rounds of them.
 *
 * A round is one act of each side on one instance of the thing. The sides meet right before, wait a
 * few turns each, and act; they meet again only after a batch of instances, and then the caller
 * judges each: what one side did, did the other see it? So a round costs two cache lines' way for
 * the meeting and not five, and what a later round would heal is found in the one that lost it.
 *
 * Every race is built more than once: over lib/queue as it is, where no round may be lost, and with
 * one full barrier of lib/queue taken out (weak.h), where the same rounds must lose some: otherwise
 * this test could not fail.
 */
#ifndef UROCE_TESTS_STRESS_RACE_H
#define UROCE_TESTS_STRESS_RACE_H

#include <stdbool.h>
#include <stdint.h>

#include "region.h"

#define RACE_INSTANCES 128u
#define RACE_ROUNDS 10000000ull

/* Who saw the other in a round. Nobody: what the barriers are for. */
enum race_saw { RACE_LOST = 0, RACE_FIRST_SAW = 1, RACE_SECOND_SAW = 2, RACE_BOTH_SAW = 3 };

struct race {
	const char *name;
	/* Makes the instances, in the state for a round. */
	void (*open)(struct region *region, const struct region_view *front);
	void (*close)(struct region *region);
	/* One act each, on two cores. */
	void (*first)(uint32_t instance);
	void (*second)(uint32_t instance);
	/* On one core, with both at rest: who saw, and back to the state for a round. */
	enum race_saw (*judge)(uint32_t instance);
	/* The first sees the second nearly always; so if both saw, the second was the later one. */
	bool both_is_late;
};

/* Options: --rounds N. Returns the exit status; the last line is `stress-NAME: ...`. */
int race_main(int argc, char **argv, const struct race *race);

#endif
