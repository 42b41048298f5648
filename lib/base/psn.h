/* SPDX-License-Identifier: BSD-3-Clause */
/* 24-bit serial numbers: PSN and MSN (IBTA 9.4.1, 9.7.1: modulo 2^24, half the space is ahead). */
#ifndef UROCE_BASE_PSN_H
#define UROCE_BASE_PSN_H

#include <stdint.h>

#define PSN_MASK 0xffffffu

static inline uint32_t psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & PSN_MASK;
}

/* a - b as a signed distance: > 0 if a is after b. Range -2^23 to 2^23 - 1. */
static inline int32_t psn_cmp(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

/* How far a is ahead of b, modulo 2^24. */
static inline uint32_t psn_ahead(uint32_t a, uint32_t b)
{
	return (a - b) & PSN_MASK;
}

#endif
