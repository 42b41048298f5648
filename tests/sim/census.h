/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the engines have counted, in one world and in all: what must not happen on a clean wire, and
 * what must happen in many worlds, or they have not tested it.
 */
#ifndef UROCE_TESTS_CENSUS_H
#define UROCE_TESTS_CENSUS_H

#include "traffic.h"

#define CENSUS_COUNTERS 128u
/* With fewer worlds chance may leave something out. */
#define CENSUS_WORLDS 300u

struct census {
	uint64_t values[CENSUS_COUNTERS];
	uint64_t completions; /* judged by oracles */
};

/* Adds a world's counters. If it is clean, and no connection broke in it, nothing was repaired. */
void census_take(struct census *census, struct traffic *traffic);
/* Prints what never happened, and returns how much that is. */
unsigned int census_missing(const struct census *census);

#endif
