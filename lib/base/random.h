/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random numbers. struct random is a generator of one owner (xoshiro256**, fast, for tests, jitter
 * and QPN/key choice once seeded by the system); random_system() asks the kernel.
 */
#ifndef UROCE_BASE_RANDOM_H
#define UROCE_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct random {
	uint64_t state[4];
};

/* Same seed, same sequence. */
void random_seed(struct random *random, uint64_t seed);
/* Seeds from getrandom(2). Returns 0 or -errno. */
int random_seed_system(struct random *random);
uint64_t random_next(struct random *random);
/* Uniform in [0, bound), bound > 0, without bias. */
uint64_t random_below(struct random *random, uint64_t bound);
/* Fills from getrandom(2): for numbers that a stranger must not guess. 0 or -errno. */
int random_system(void *buffer, size_t length);

#endif
