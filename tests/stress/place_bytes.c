/* SPDX-License-Identifier: BSD-3-Clause */
/* What lib/mem's mem_place() must not be: in order, and byte by byte. */
#include "copy.h"

void mem_place(uint8_t *to, const uint8_t *from, uint64_t length)
{
	for (uint64_t i = 0; i < length; i++)
		__atomic_store_n(to + i, from[i], __ATOMIC_RELEASE);
}
