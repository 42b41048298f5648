/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies that a program may watch. Plain memcpy() is out: it may store the last bytes first
 * (seen, at 4 KiB), and its string instructions promise nothing about words.
 *
 * A copy has three parts, cut where the watched side (the destination of a placement, the source
 * of a fetch) is aligned to 8: up to 7 bytes of head, whole words, up to 7 bytes of tail. Words go
 * in vectors of two. An unaligned vector access is split by the CPU at cache lines at most, and a
 * line's edge is never inside an aligned word.
 */
#include <stdbool.h>

#include "copy.h"

/* A reader that polls races with these on purpose. */
#define WATCHED __attribute__((no_sanitize("thread")))

/* A vector at any address, and words and halves at their own alignment, whatever they alias. */
typedef uint64_t pair __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t any64 __attribute__((aligned(1), may_alias));
typedef uint32_t any32 __attribute__((aligned(1), may_alias));
typedef uint16_t any16 __attribute__((aligned(1), may_alias));

/* Keeps the compiler from making a memcpy() of a loop, or reordering its stores. */
static inline void compiler_barrier(void)
{
	__asm__ volatile("" ::: "memory");
}

WATCHED static inline void copy_pair(uint8_t *to, const uint8_t *from)
{
	*(pair *)to = *(const pair *)from;
}

/* Whole words, in address order. */
WATCHED static void copy_words(uint8_t *to, const uint8_t *from, uint64_t words)
{
	for (; words >= 8; words -= 8, to += 64, from += 64) {
		copy_pair(to, from);
		copy_pair(to + 16, from + 16);
		copy_pair(to + 32, from + 32);
		copy_pair(to + 48, from + 48);
		compiler_barrier();
	}
	for (; words >= 2; words -= 2, to += 16, from += 16) {
		copy_pair(to, from);
		compiler_barrier();
	}
	if (words > 0)
		*(any64 *)to = *(const any64 *)from;
}

/*
 * Stores that a reader orders by: each release, so that who sees it sees all that was placed
 * before. Pairs with the application's acquire (on x86 any load).
 */
static inline void store64(uint8_t *to, const uint8_t *from)
{
	__atomic_store_n((uint64_t *)to, *(const any64 *)from, __ATOMIC_RELEASE);
}

/*
 * Less than a word, within one aligned word, in address order: each piece the largest that is
 * aligned at `to` and fits. Not one store, since that would write the neighbours' bytes too.
 */
static inline void store_pieces(uint8_t *to, const uint8_t *from, uint64_t length)
{
	while (length > 0) {
		uint64_t size = 1;

		if (length >= 4 && ((uintptr_t)to & 3) == 0) {
			size = 4;
			__atomic_store_n((uint32_t *)to, *(const any32 *)from, __ATOMIC_RELEASE);
		} else if (length >= 2 && ((uintptr_t)to & 1) == 0) {
			size = 2;
			__atomic_store_n((uint16_t *)to, *(const any16 *)from, __ATOMIC_RELEASE);
		} else {
			__atomic_store_n(to, *from, __ATOMIC_RELEASE);
		}
		to += size;
		from += size;
		length -= size;
	}
}

static inline bool is_word(const uint8_t *watched, uint64_t length)
{
	return length == 8 && ((uintptr_t)watched & 7) == 0;
}

/* Up to the first aligned address of the watched side. */
static inline uint64_t head_length(const uint8_t *watched, uint64_t length)
{
	uint64_t head = -(uintptr_t)watched & 7;

	return head < length ? head : length;
}

void mem_place(uint8_t *to, const uint8_t *from, uint64_t length)
{
	uint64_t head = head_length(to, length);
	uint64_t words = (length - head) / 8;
	uint64_t tail = (length - head) % 8;
	uint64_t bulk = tail == 0 && words > 0 ? words - 1 : words;

	if (is_word(to, length)) {
		store64(to, from);
		return;
	}
	store_pieces(to, from, head);
	to += head;
	from += head;
	copy_words(to, from, bulk);
	to += 8 * bulk;
	from += 8 * bulk;
	if (bulk < words)
		store64(to, from);
	else
		store_pieces(to, from, tail);
}

/* Less than a word, the source within one aligned word, read by its aligned pieces. */
WATCHED static inline void load_pieces(uint8_t *to, const uint8_t *from, uint64_t length)
{
	while (length > 0) {
		uint64_t size = 1;

		if (length >= 4 && ((uintptr_t)from & 3) == 0) {
			size = 4;
			*(any32 *)to = *(const any32 *)from;
		} else if (length >= 2 && ((uintptr_t)from & 1) == 0) {
			size = 2;
			*(any16 *)to = *(const any16 *)from;
		} else {
			*to = *from;
		}
		to += size;
		from += size;
		length -= size;
		compiler_barrier();
	}
}

void mem_fetch(uint8_t *to, const uint8_t *from, uint64_t length)
{
	uint64_t head = head_length(from, length);
	uint64_t words = (length - head) / 8;
	uint64_t done = head + 8 * words;

	if (is_word(from, length)) {
		*(any64 *)to = *(const any64 *)from;
		return;
	}
	load_pieces(to, from, head);
	copy_words(to + head, from + head, words);
	load_pieces(to + done, from + done, length - done);
}
