/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two atomic operations, by the CPU's own, so that they are atomic to the application's
 * threads as well (IBV_ATOMIC_GLOB). Sequentially consistent: they pair with whatever the
 * application uses on that word.
 */
#include "copy.h"

uint64_t mem_compare_swap(uint8_t *host, uint64_t compare, uint64_t swap)
{
	/* A failed exchange stores what it found; a successful one leaves what it expected. */
	__atomic_compare_exchange_n(
		(uint64_t *)host, &compare, swap, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return compare;
}

uint64_t mem_fetch_add(uint8_t *host, uint64_t add)
{
	return __atomic_fetch_add((uint64_t *)host, add, __ATOMIC_SEQ_CST);
}
