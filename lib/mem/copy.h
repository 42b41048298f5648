/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes between packets and application memory: gather, scatter, placement, atomics. */
#ifndef UROCE_MEM_COPY_H
#define UROCE_MEM_COPY_H

#include <stdint.h>

#include "mem.h"

/*
 * Copies so that the destination becomes visible in address order as far as anybody can see who
 * polls on it: the last bytes (up to 8, within one aligned word) by one release store after all
 * the others; an aligned 8-byte word is never torn. Blueprint "Placement".
 */
void mem_place(uint8_t *to, const uint8_t *from, uint64_t length);
/* The other way: reads application memory; an aligned 8-byte word of it is never torn. */
void mem_fetch(uint8_t *to, const uint8_t *from, uint64_t length);

/*
 * Copies `length` bytes of the list, starting `offset` bytes into it, to `to`. Every piece is
 * checked at each call (no pointer outlives a burst). Bytes beyond the list: MEM_BAD_RANGE.
 */
enum mem_status mem_gather(const struct mem_table *table, uint32_t pd, const struct mem_sge *sge,
	unsigned int count, uint64_t offset, uint8_t *to, uint32_t length);
/* The other way, with mem_place(). All pieces are checked before the first byte is written. */
enum mem_status mem_scatter(const struct mem_table *table, uint32_t pd, const struct mem_sge *sge,
	unsigned int count, uint64_t offset, const uint8_t *from, uint32_t length);
/* All pieces are accessible (access as in mem_local). */
enum mem_status mem_check(const struct mem_table *table, uint32_t pd, const struct mem_sge *sge,
	unsigned int count, uint32_t access);
/* Sum of the lengths; the caller has bounded count by 32, so it cannot wrap 64 bits. */
uint64_t mem_length(const struct mem_sge *sge, unsigned int count);

/* On an aligned word in place, with the CPU's atomics; return the original value. */
uint64_t mem_compare_swap(uint8_t *host, uint64_t compare, uint64_t swap);
uint64_t mem_fetch_add(uint8_t *host, uint64_t add);

#endif
