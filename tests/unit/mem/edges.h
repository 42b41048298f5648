/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranges at both ends of the address space: an entry of `size` bytes from `base`, and whether
 * `length` bytes from `address` lie in it. 2^64 is one past MAX. Every check site runs all rows.
 */
#ifndef UROCE_TESTS_MEM_EDGES_H
#define UROCE_TESTS_MEM_EDGES_H

#include <stdbool.h>
#include <stdint.h>

#define MAX UINT64_MAX

struct edge {
	uint64_t base;
	uint64_t size;
	uint64_t address;
	uint64_t length;
	bool inside;
};

static const struct edge edges[] = {
	/* in the middle */
	{0x1000, 0x1000, 0x1000, 0x1000, true},
	{0x1000, 0x1000, 0x1000, 1, true},
	{0x1000, 0x1000, 0x1fff, 1, true},
	{0x1000, 0x1000, 0xfff, 1, false},
	{0x1000, 0x1000, 0xfff, 2, false},
	{0x1000, 0x1000, 0x1000, 0x1001, false},
	{0x1000, 0x1000, 0x1fff, 2, false},
	{0x1000, 0x1000, 0x2000, 1, false},
	{0x1000, 0x1000, 0, 1, false},
	/* address + length is 0x1000, 0x1001, 0x1fff, 0x2000 modulo 2^64 */
	{0x1000, 0x1000, 0x1001, MAX, false},
	{0x1000, 0x1000, 0x1002, MAX, false},
	{0x1000, 0x1000, MAX, 0x2000, false},
	{0x1000, 0x1000, MAX - 0xfff, 0x3000, false},
	{0x1000, 0x1000, 0x1800, MAX - 0x7ff, false},
	/* from 0 */
	{0, 0x1000, 0, 0x1000, true},
	{0, 0x1000, 0, 0x1001, false},
	{0, 0x1000, 0xfff, 1, true},
	{0, 0x1000, MAX, 1, false},
	{0, 0x1000, MAX, 2, false},
	{0, 0x1000, MAX, 0x1001, false},
	{0, 0x1000, 0, MAX, false},
	{0, 0x1000, 1, MAX, false},
	/* up to 2^64 */
	{MAX - 0xfff, 0x1000, MAX - 0xfff, 0x1000, true},
	{MAX - 0xfff, 0x1000, MAX, 1, true},
	{MAX - 0xfff, 0x1000, MAX, 2, false},
	{MAX - 0xfff, 0x1000, MAX - 0xfff, 0x1001, false},
	{MAX - 0xfff, 0x1000, MAX - 0x1000, 1, false},
	{MAX - 0xfff, 0x1000, 0, 1, false},
	{MAX - 0xfff, 0x1000, MAX - 0xfff, MAX, false},
	{MAX - 0xfff, 0x1000, MAX, MAX, false},
	/* one byte short of 2^64 */
	{MAX - 0x1000, 0x1000, MAX - 1, 1, true},
	{MAX - 0x1000, 0x1000, MAX, 1, false},
	{MAX - 0x1000, 0x1000, MAX - 1, 2, false},
	/* all but one byte */
	{0, MAX, 0, MAX, true},
	{0, MAX, MAX - 1, 1, true},
	{0, MAX, MAX, 1, false},
	{0, MAX, 1, MAX, false},
	{1, MAX, 1, MAX, true},
	{1, MAX, MAX, 1, true},
	{1, MAX, MAX, 2, false},
	{1, MAX, 0, 1, false},
	/* one byte, and none */
	{MAX, 1, MAX, 1, true},
	{MAX, 1, 0, 1, false},
	{MAX, 1, MAX - 1, 2, false},
	{0, 1, 0, 1, true},
	{0, 1, MAX, 2, false},
	{0x1000, 0, 0x1000, 1, false},
	{MAX, 0, MAX, 1, false},
	{0, 0, 0, 1, false},
	{0, 0, 0, MAX, false},
};

#define EDGES (sizeof(edges) / sizeof(edges[0]))

#endif
