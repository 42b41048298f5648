/* SPDX-License-Identifier: BSD-3-Clause */
/* The generator against published sequences, random_below() for bias, and the kernel's numbers. */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "random.h"
#include "unit.h"

/* xoshiro256** from the state {1, 2, 3, 4}: the sequence that other implementations test with. */
static void reference_sequence(void)
{
	static const uint64_t expected[] = {
		11520ull,
		0ull,
		1509978240ull,
		1215971899390074240ull,
		1216172134540287360ull,
		607988272756665600ull,
		16172922978634559625ull,
		8476171486693032832ull,
		10595114339597558777ull,
		2904607092377533576ull,
	};
	struct random random = {{1, 2, 3, 4}};

	for (unsigned int i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		CU_ASSERT_EQUAL(random_next(&random), expected[i]);
}

/* splitmix64 from 0: its published first four numbers are the state. */
static void seed_is_splitmix64(void)
{
	struct random random;

	random_seed(&random, 0);
	CU_ASSERT_EQUAL(random.state[0], 0xe220a8397b1dcdafull);
	CU_ASSERT_EQUAL(random.state[1], 0x6e789e6aa1b965f4ull);
	CU_ASSERT_EQUAL(random.state[2], 0x06c45d188009454full);
	CU_ASSERT_EQUAL(random.state[3], 0xf88bb8a8724c81ecull);
}

static void same_seed_same_sequence(void)
{
	struct random a, b, other;
	unsigned int equal = 0;

	random_seed(&a, 42);
	random_seed(&b, 42);
	random_seed(&other, 43);
	for (unsigned int i = 0; i < 1000; i++) {
		uint64_t x = random_next(&a);

		CU_ASSERT_EQUAL(x, random_next(&b));
		equal += x == random_next(&other);
	}
	CU_ASSERT_EQUAL(equal, 0);
}

/* Every value below small bounds comes up, and none at or above them. */
static void below_covers_its_range(void)
{
	struct random random;

	random_seed(&random, 7);
	for (uint64_t bound = 1; bound <= 20; bound++) {
		uint32_t seen = 0;

		for (unsigned int i = 0; i < 2000; i++) {
			uint64_t x = random_below(&random, bound);

			CU_ASSERT_FATAL(x < bound);
			seen |= 1u << x;
		}
		CU_ASSERT_EQUAL(seen, (1u << bound) - 1);
	}
}

/*
 * With the bound 3 * 2^62 a third of the results lies below 2^62; a plain remainder would put one
 * half there, since the last quarter of the 64-bit numbers would fall on it too.
 */
static void below_has_no_bias(void)
{
	struct random random;
	unsigned int low = 0;

	random_seed(&random, 3);
	for (unsigned int i = 0; i < 30000; i++)
		low += random_below(&random, 3ull << 62) < 1ull << 62;
	CU_ASSERT(low > 9500 && low < 10500);
}

static void below_largest_bound(void)
{
	struct random random;

	random_seed(&random, 9);
	for (unsigned int i = 0; i < 1000; i++)
		CU_ASSERT(random_below(&random, UINT64_MAX) < UINT64_MAX);
}

static void ignore(int number)
{
}

/* A signal every 200 us, so that getrandom(2) returns early, with a part or with EINTR. */
static void interrupt_often(bool on)
{
	struct sigaction action = {.sa_handler = ignore};
	struct itimerval timer = {0};

	if (on) {
		timer.it_interval.tv_usec = 200;
		timer.it_value.tv_usec = 200;
		sigaction(SIGALRM, &action, NULL);
	}
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* The last page is filled however often the call was cut short, and the byte after it is left. */
static void system_fills_the_buffer(void)
{
	size_t length = 8 * 1024 * 1024;
	uint8_t *buffer = calloc(1, length + 1);
	unsigned int zero = 0;

	CU_ASSERT_FATAL(buffer != NULL);
	interrupt_often(true);
	CU_ASSERT_EQUAL(random_system(buffer, length), 0);
	interrupt_often(false);
	for (size_t i = length - 4096; i < length; i++)
		zero += buffer[i] == 0;
	CU_ASSERT(zero < 100); /* 16 expected, 100 is 21 standard deviations away */
	CU_ASSERT_EQUAL(buffer[length], 0);
	CU_ASSERT_EQUAL(random_system(buffer, 0), 0);
	free(buffer);
}

static void system_seeds_differ(void)
{
	struct random a, b;

	CU_ASSERT_EQUAL(random_seed_system(&a), 0);
	CU_ASSERT_EQUAL(random_seed_system(&b), 0);
	CU_ASSERT_NOT_EQUAL(memcmp(&a, &b, sizeof(a)), 0);
}

static const struct unit_case cases[] = {
	UNIT_CASE(reference_sequence),
	UNIT_CASE(seed_is_splitmix64),
	UNIT_CASE(same_seed_same_sequence),
	UNIT_CASE(below_covers_its_range),
	UNIT_CASE(below_has_no_bias),
	UNIT_CASE(below_largest_bound),
	UNIT_CASE(system_fills_the_buffer),
	UNIT_CASE(system_seeds_differ),
};

UNIT_MAIN("base-random", cases)
