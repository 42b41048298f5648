/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many cores an engine has, and whose a QP is: the lowest bits of its number, and of its
 * handle, are its core's number. So a packet, an announcement or a command leads to the right core
 * by two instructions and without a table that several cores would have to share.
 */
#ifndef UROCE_ENGINE_CORE_H
#define UROCE_ENGINE_CORE_H

#include <stdint.h>

#define CORES_MAX 16u /* as the region has it */

struct cores {
	uint32_t count; /* 1 to CORES_MAX */
	uint32_t shift; /* bits that hold a core's number */
};

static inline struct cores cores_of(uint32_t count)
{
	uint32_t shift = 0;

	while (1u << shift < count)
		shift++;
	return (struct cores){.count = count, .shift = shift};
}

/* The core that a number or handle belongs to; not below `count`: to none. */
static inline uint32_t core_of(const struct cores *cores, uint32_t number)
{
	return number & ((1u << cores->shift) - 1);
}

#endif
