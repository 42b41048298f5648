/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xoshiro256** 1.0 by Blackman and Vigna (https://prng.di.unimi.it/xoshiro256starstar.c, public
 * domain), seeded as its authors advise, by splitmix64; and getrandom(2).
 */
#include <errno.h>
#include <sys/random.h>

#include "random.h"

static uint64_t splitmix64(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* splitmix64 never gives the same number twice in a row, so the state is never all zero. */
void random_seed(struct random *random, uint64_t seed)
{
	for (unsigned int i = 0; i < 4; i++)
		random->state[i] = splitmix64(&seed);
}

int random_seed_system(struct random *random)
{
	uint64_t *s = random->state;
	int err = random_system(s, sizeof(random->state));

	/* An all-zero state would stay zero for ever. */
	if (!err && (s[0] | s[1] | s[2] | s[3]) == 0)
		s[0] = 1;
	return err;
}

static uint64_t rotate_left(uint64_t x, unsigned int k)
{
	return x << k | x >> (64 - k);
}

uint64_t random_next(struct random *random)
{
	uint64_t *s = random->state;
	uint64_t result = rotate_left(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate_left(s[3], 45);
	return result;
}

uint64_t random_below(struct random *random, uint64_t bound)
{
	/* 2^64 mod bound: numbers below it would make the small results more likely. */
	uint64_t excess = (0 - bound) % bound;
	uint64_t x;

	do
		x = random_next(random);
	while (x < excess);
	return x % bound;
}

/* getrandom(2) may be interrupted, and may give less than was asked above 256 bytes. */
int random_system(void *buffer, size_t length)
{
	uint8_t *at = buffer;

	while (length > 0) {
		ssize_t n = getrandom(at, length, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		length -= (size_t)n;
	}
	return 0;
}
