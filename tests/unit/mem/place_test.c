/* SPDX-License-Identifier: BSD-3-Clause */
/* Placement: the bytes, the guards around them, and what a thread that polls can see of it. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "copy.h"
#include "random.h"
#include "unit.h"

#define ROOM 8192
#define ROUNDS 200000
#define SECONDS 3

static uint8_t from[ROOM] __attribute__((aligned(64)));
static uint8_t to[ROOM] __attribute__((aligned(64)));
static uint8_t expected[ROOM];

typedef void (*copier)(uint8_t *to, const uint8_t *from, uint64_t length);

/* One copy beside memmove() on a copy of all, so that a byte changed anywhere shows. */
static bool same_as_memmove(copier copy, unsigned int source, unsigned int target, uint64_t length)
{
	memset(to, 0xa5, 512 + length);
	memset(expected, 0xa5, 512 + length);
	memmove(expected + 64 + target, from + source, length);
	copy(to + 64 + target, from + source, length);
	return memcmp(to, expected, 512 + length) == 0;
}

static void fill_source(void)
{
	struct random random;

	random_seed(&random, 3);
	for (unsigned int i = 0; i < ROOM; i++)
		from[i] = (uint8_t)random_next(&random);
}

static void bytes_of(copier copy)
{
	static const uint64_t long_ones[] = {511, 512, 513, 1024, 2047, 4095, 4096, 4097};
	unsigned int wrong = 0;

	fill_source();
	for (unsigned int target = 0; target < 64; target++)
		for (unsigned int source = 0; source < 8; source++)
			for (uint64_t length = 0; length <= 300; length++)
				wrong += !same_as_memmove(copy, source, target, length);
	for (unsigned int target = 0; target < 64; target++)
		for (unsigned int i = 0; i < sizeof(long_ones) / sizeof(long_ones[0]); i++)
			wrong += !same_as_memmove(copy, target * 5 % 8, target, long_ones[i]);
	CU_ASSERT_EQUAL(wrong, 0);
}

static void bytes_placed(void)
{
	bytes_of(mem_place);
}

static void bytes_fetched(void)
{
	bytes_of(mem_fetch);
}

/*
 * The order of the stores, seen without luck: up to 8 last bytes lie behind the edge of a page that
 * can't be written. At the first store there, all that comes before must be in place.
 */
static struct {
	uint8_t *page; /* the one that faults; the one before it does not */
	uint64_t before;
	bool complete;
	unsigned int faults;
} edge;

static long page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

static void at_fault(int signal, siginfo_t *info, void *context)
{
	edge.faults++;
	edge.complete = true;
	for (uint64_t i = 1; i <= edge.before; i++)
		edge.complete &= edge.page[-(int64_t)i] == 0xee;
	if (mprotect(edge.page, (size_t)page_size(), PROT_READ | PROT_WRITE) != 0)
		abort();
}

static bool in_order(uint64_t before, uint64_t behind, unsigned int source)
{
	memset(edge.page - before, 0, before + behind);
	edge.before = before;
	edge.faults = 0;
	if (mprotect(edge.page, (size_t)page_size(), PROT_READ) != 0)
		return false;
	mem_place(edge.page - before, from + source, before + behind);
	return edge.faults == 1 && edge.complete && edge.page[behind - 1] == 0xee;
}

static void last_word_is_stored_last(void)
{
	struct sigaction action = {.sa_sigaction = at_fault, .sa_flags = SA_SIGINFO}, old;
	size_t size = 3 * (size_t)page_size();
	uint8_t *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int wrong = 0;

	CU_ASSERT_FATAL(at != MAP_FAILED);
	edge.page = at + 2 * page_size();
	memset(from, 0xee, sizeof(from));
	CU_ASSERT_EQUAL_FATAL(sigaction(SIGSEGV, &action, &old), 0);
	for (uint64_t behind = 1; behind <= 8; behind++) {
		for (uint64_t before = 0; before <= 300; before++)
			wrong += !in_order(before, behind, before % 8);
		wrong += !in_order(4096 - behind, behind, 2);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	sigaction(SIGSEGV, &old, NULL);
	munmap(at, size);
}

/* A round of a writer and a reader: where, how much, and what all bytes are. */
struct shape {
	uint8_t *to;
	const uint8_t *from;
	uint64_t length;
};

struct shared {
	uint8_t round[64]; /* the reader's position, on a line of its own */
	uint32_t done __attribute__((aligned(64)));
	uint32_t started __attribute__((aligned(64)));
	uint64_t wrong;
	bool stop;
};

/* The same sequence on both sides. Lengths around words and lines, up to a path MTU of 4096. */
static struct shape shape_of(uint32_t round)
{
	static const uint64_t lengths[] = {8, 16, 64, 4096, 24, 200, 1024, 9, 63, 65, 2048, 100};
	uint64_t length = lengths[round % 12];

	return (struct shape){to + 64 + round / 12 % 64, from + round / 768 % 8, length};
}

static bool expired(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - start->tv_sec >= SECONDS;
}

/* One that waits for the other yields the core, should both run on one. */
static bool wait_for(const uint32_t *word, uint32_t value, const bool *stop)
{
	for (uint32_t spins = 1; __atomic_load_n(word, __ATOMIC_ACQUIRE) != value; spins++) {
		if (__atomic_load_n(stop, __ATOMIC_RELAXED))
			return false;
		if (spins % 4096 == 0)
			sched_yield();
	}
	return true;
}

/* A poller's plain reads, ordered by its poll; the sanitizer sees no order in bytes of words. */
__attribute__((no_sanitize("thread"))) static uint64_t count_others(
	const uint8_t *at, uint64_t length, uint8_t value)
{
	uint64_t others = 0;

	for (uint64_t i = 0; i < length; i++)
		others += *(const volatile uint8_t *)(at + i) != value;
	return others;
}

/* Polls on the last byte; what came before must be there. */
static void *poller(void *argument)
{
	struct shared *shared = argument;

	for (uint32_t round = 1; round <= ROUNDS; round++) {
		struct shape shape = shape_of(round);
		const uint8_t *last = shape.to + shape.length - 1;
		uint8_t value = (uint8_t)(round % 251 + 1);

		if (!wait_for(&shared->started, round, &shared->stop))
			break;
		for (uint32_t spins = 1; __atomic_load_n(last, __ATOMIC_ACQUIRE) != value; spins++)
			if (spins % 4096 == 0)
				sched_yield();
		/* the first and the last words first: their stores are the likeliest to be late */
		shared->wrong += count_others(shape.to, shape.length, value);
		__atomic_store_n(&shared->done, round, __ATOMIC_RELEASE);
	}
	return NULL;
}

static uint32_t place_rounds(struct shared *shared)
{
	struct timespec start;
	uint32_t round;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (round = 1; round <= ROUNDS; round++) {
		struct shape shape = shape_of(round);

		memset(from, (int)(round % 251 + 1), shape.length + 8);
		__atomic_store_n(&shared->started, round, __ATOMIC_RELEASE);
		mem_place(shape.to, shape.from, shape.length);
		wait_for(&shared->done, round, &shared->stop);
		if (round % 256 == 0 && expired(&start))
			break;
	}
	__atomic_store_n(&shared->stop, true, __ATOMIC_RELAXED);
	return round;
}

static void last_byte_comes_last(void)
{
	static struct shared shared;
	pthread_t thread;

	memset(&shared, 0, sizeof(shared));
	memset(to, 0, sizeof(to));
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, poller, &shared), 0);
	CU_ASSERT(place_rounds(&shared) >= 256);
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(shared.wrong, 0);
}

/* All bytes of the word are the same. */
static bool whole(uint64_t word)
{
	return word == (word & 0xff) * UINT64_C(0x0101010101010101);
}

/* Looks at the aligned words of [to + 128, to + 128 + 4096) until told to stop. */
static void *word_watcher(void *argument)
{
	struct shared *shared = argument;
	struct random random;

	random_seed(&random, 4);
	while (!__atomic_load_n(&shared->stop, __ATOMIC_RELAXED)) {
		const uint64_t *words = (const uint64_t *)(const void *)(to + 128);
		uint64_t at = random_below(&random, 480);

		for (uint64_t i = at; i < at + 32; i++)
			shared->wrong += !whole(__atomic_load_n(&words[i], __ATOMIC_RELAXED));
	}
	return NULL;
}

/* Placements with other ends and other alignments of the source, over the same words. */
static void placed_words_are_whole(void)
{
	static struct shared shared;
	struct timespec start;
	uint64_t rounds = 0;
	pthread_t thread;

	memset(&shared, 0, sizeof(shared));
	memset(to, 0, sizeof(to));
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, word_watcher, &shared), 0);
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (; rounds < ROUNDS && (rounds % 256 != 0 || !expired(&start)); rounds++) {
		memset(from, (int)(rounds % 256), 4096 + 256);
		mem_place(
			to + 120 + rounds % 8, from + rounds / 8 % 64, 4096 + 8 + rounds / 3 % 64);
	}
	__atomic_store_n(&shared.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	CU_ASSERT(rounds >= 256);
	CU_ASSERT_EQUAL(shared.wrong, 0);
}

/* The application changes words, each at once, while we read them into a packet. */
static void *word_changer(void *argument)
{
	struct shared *shared = argument;
	uint64_t *words = (uint64_t *)(void *)(from + 64);

	for (uint64_t value = 0; !__atomic_load_n(&shared->stop, __ATOMIC_RELAXED); value++)
		for (unsigned int i = 0; i < 64; i++)
			__atomic_store_n(&words[i], value % 256 * UINT64_C(0x0101010101010101),
				__ATOMIC_RELAXED);
	return NULL;
}

static void fetched_words_are_whole(void)
{
	static struct shared shared;
	struct timespec start;
	uint64_t wrong = 0, rounds = 0;
	pthread_t thread;

	memset(&shared, 0, sizeof(shared));
	memset(from, 0, sizeof(from));
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, word_changer, &shared), 0);
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (; rounds < ROUNDS && (rounds % 256 != 0 || !expired(&start)); rounds++) {
		uint64_t ahead = rounds % 8;
		uint8_t *at = to + rounds / 8 % 64;

		mem_fetch(at, from + 64 - ahead, ahead + 512 + rounds % 3);
		for (unsigned int i = 0; i < 64; i++) {
			uint64_t word;

			memcpy(&word, at + ahead + 8 * i, 8);
			wrong += !whole(word);
		}
	}
	__atomic_store_n(&shared.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	CU_ASSERT(rounds >= 256);
	CU_ASSERT_EQUAL(wrong, 0);
}

static const struct unit_case cases[] = {
	UNIT_CASE(bytes_placed),
	UNIT_CASE(bytes_fetched),
	UNIT_CASE(last_word_is_stored_last),
	UNIT_CASE(last_byte_comes_last),
	UNIT_CASE(placed_words_are_whole),
	UNIT_CASE(fetched_words_are_whole),
};

UNIT_MAIN("mem-place", cases)
