/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A reader polls on the last byte of a WRITE, as programs do, while another core places it from a
 * packet's buffer as lib/rc/responder.c does: one call of mem_place() a packet. It never sees the
 * last byte before the rest. And one that looks at aligned words at any time never sees one torn.
 *
 * Built three times: with lib/mem's mem_place(); with memcpy() in its place, which must be caught
 * by the first reader; and with a copy byte by byte, in order, which must be caught by the second.
 */
#include <inttypes.h>
#include <string.h>

#include "copy.h"
#include "stress.h"

#define ROUNDS 10000000u
#define LENGTH_MAX 4096u
#define ROOM (LENGTH_MAX + 256u)
#define SLOTS 4u

/* What is expected of this build (tests/stress/meson.build). */
#ifdef PLACE_WEAK
static const char *const copier = PLACE_WEAK;
#else
static const char *const copier = "mem_place";
#define PLACE_LAST_BYTE 0
#define PLACE_TORN 0
#endif

/* The packets' buffers and the application's memory. */
static uint8_t packets[SLOTS][ROOM] __attribute__((aligned(4096)));
static uint8_t memory[SLOTS][ROOM] __attribute__((aligned(4096)));

struct shape {
	uint8_t *to;
	uint8_t *from;
	uint32_t length;
	uint8_t value;
};

struct run {
	struct stress_side writer;
	struct stress_side reader;
	uint64_t rounds;
	uint64_t wrong; /* of the reader */
	uint64_t looks;
	bool stop;
};

/*
 * The same sequence on both sides. One in 16 is a whole packet of the largest size; of the others
 * each doubling of the length is as frequent as the next. Every alignment of both ends.
 */
static struct shape shape_of(uint64_t round, uint32_t *seed)
{
	uint32_t random = stress_random(seed);
	uint32_t bits = random % 13;
	uint32_t length = (1u << bits) + ((random >> 4) & ((1u << bits) - 1));
	unsigned int slot = round % SLOTS;

	if (random >> 28 == 0 || length > LENGTH_MAX)
		length = LENGTH_MAX;
	return (struct shape){
		.to = memory[slot] + 64 + (random >> 16) % 64,
		.from = packets[slot] + (random >> 22) % 64,
		.length = length,
		.value = (uint8_t)(round % 251 + 1),
	};
}

/* A reader's plain loads, ordered by its poll; the sanitizer sees no order in bytes of words. */
__attribute__((no_sanitize("thread"))) static bool all_are(
	const uint8_t *at, uint32_t length, uint8_t value)
{
	uint64_t pattern = value * UINT64_C(0x0101010101010101);
	uint64_t wrong = *(const volatile uint8_t *)at ^ value; /* memcpy() may store it last */

	for (; length >= 8; length -= 8) {
		uint64_t word = 0;

		/* From the end: what was stored last is looked at first. */
		memcpy(&word, at + length - 8, sizeof(word));
		wrong |= word ^ pattern;
		__asm__ volatile("" ::: "memory");
	}
	for (; length > 0; length--)
		wrong |= at[length - 1] ^ value;
	return wrong == 0;
}

static void *poll_last_byte(void *argument)
{
	struct run *run = argument;
	uint32_t seed = 3;

	for (uint64_t round = 1; round <= run->rounds; round++) {
		struct shape shape = shape_of(round, &seed);
		const uint8_t *last = shape.to + shape.length - 1;

		__atomic_store_n(&run->reader.arrived, (uint32_t)round, __ATOMIC_RELEASE);
		STRESS_AWAIT(__atomic_load_n(last, __ATOMIC_ACQUIRE) == shape.value);
		run->wrong += !all_are(shape.to, shape.length, shape.value);
	}
	__atomic_store_n(&run->reader.arrived, (uint32_t)run->rounds + 1, __ATOMIC_RELEASE);
	return NULL;
}

/* The byte that the reader polls on has another value: that of SLOTS rounds ago, or nobody's. */
static void blank(struct shape shape)
{
	__atomic_store_n(shape.to + shape.length - 1, 0, __ATOMIC_RELAXED);
}

static void place_all(struct run *run)
{
	uint32_t seed = 3, ahead = 3;
	uint64_t round = 1;

	blank(shape_of(round, &ahead));
	for (; round <= run->rounds; round++) {
		struct shape shape = shape_of(round, &seed);

		memset(shape.from, shape.value, shape.length);
		/* The memory of the next round, before its reader comes there. */
		blank(shape_of(round + 1, &ahead));
		STRESS_AWAIT(
			__atomic_load_n(&run->reader.arrived, __ATOMIC_ACQUIRE) >= (uint32_t)round);
		mem_place(shape.to, shape.from, shape.length);
	}
	STRESS_AWAIT(__atomic_load_n(&run->reader.arrived, __ATOMIC_ACQUIRE) > run->rounds);
}

static uint64_t last_byte_comes_last(uint64_t rounds)
{
	struct run run = {.rounds = rounds};
	struct stress_cores cores;
	double start = stress_seconds();

	memset(memory, 0, sizeof(memory));
	stress_start(&cores, poll_last_byte, &run);
	place_all(&run);
	stress_join(&cores);
	printf("place, %s: %" PRIu64 " WRITEs, %.0f ns each, in %" PRIu64
	       " the last byte was there before the rest\n",
		copier, rounds, (stress_seconds() - start) * 1e9 / (double)rounds, run.wrong);
	return run.wrong;
}

/* ---- words ---- */

#define WATCHED 4032u /* bytes of the memory, from its offset 128 on */

/* Looks at the aligned words of the memory until told to stop. */
static void *watch_words(void *argument)
{
	const uint64_t *words = (const uint64_t *)(const void *)(memory[0] + 128);
	struct run *run = argument;

	while (!__atomic_load_n(&run->stop, __ATOMIC_RELAXED)) {
		for (uint32_t i = 0; i < WATCHED / 8; i++) {
			uint64_t word = __atomic_load_n(&words[i], __ATOMIC_RELAXED);

			run->wrong += word != (word & 0xff) * UINT64_C(0x0101010101010101);
		}
		run->looks += WATCHED / 8;
	}
	return NULL;
}

/*
 * Every watched word is in a WRITE or not, but never in part: it begins and ends between two words,
 * or outside of what is watched, wherever that is.
 */
static struct shape shape_of_words(uint32_t *seed)
{
	uint32_t random = stress_random(seed);
	uint32_t words = random % (WATCHED / 8);
	uint32_t first = (random >> 10) % (WATCHED / 8 - words);
	struct shape shape = {
		.to = memory[0] + 128 + (size_t)first * 8,
		.from = packets[0] + (random >> 20) % 64,
		.length = (words + 1) * 8,
	};

	if (random >> 31) {
		shape.to = memory[0] + 120 + first % 8;
		shape.length = WATCHED + 8 + words % 64;
	}
	return shape;
}

static uint64_t words_are_whole(uint64_t rounds)
{
	struct run run = {.stop = false};
	struct stress_cores cores;
	uint32_t seed = 5;

	memset(memory, 0, sizeof(memory));
	stress_start(&cores, watch_words, &run);
	for (uint64_t round = 0; round < rounds; round++) {
		struct shape shape = shape_of_words(&seed);

		memset(shape.from, (int)(round % 256), shape.length);
		mem_place(shape.to, shape.from, shape.length);
	}
	__atomic_store_n(&run.stop, true, __ATOMIC_RELAXED);
	stress_join(&cores);
	printf("place, %s: %" PRIu64 " WRITEs, %" PRIu64 " looks at words, %" PRIu64 " torn\n",
		copier, rounds, run.looks, run.wrong);
	return run.wrong;
}

int main(int argc, char **argv)
{
	bool weak = PLACE_LAST_BYTE || PLACE_TORN;
	uint64_t rounds = stress_rounds(argc, argv, weak ? ROUNDS / 10 : ROUNDS);
	struct stress_report report = {.name = "place"};

	if (!stress_two_cores())
		return stress_skip(report.name, "skipped: needs two cores");
	if (weak && STRESS_TSAN)
		return stress_skip(
			report.name, "skipped: the thread sanitizer refuses such copies");
	if (PLACE_LAST_BYTE)
		stress_case(&report, "the copy out of order was caught",
			last_byte_comes_last(rounds) > 0);
	else
		stress_case(&report, "the last byte came last", last_byte_comes_last(rounds) == 0);
	if (PLACE_TORN)
		stress_case(&report, "torn words were caught", words_are_whole(rounds / 10) > 0);
	else if (!PLACE_LAST_BYTE)
		stress_case(&report, "no word was torn", words_are_whole(rounds / 10) == 0);
	return stress_end(&report);
}
