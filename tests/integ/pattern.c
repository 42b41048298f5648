/* SPDX-License-Identifier: BSD-3-Clause */
/* A multiplicative sequence: a byte in a wrong place, or of another seed, is another byte. */
#include <string.h>

#include "pattern.h"

#define CLEAR 0xa5

static uint8_t byte_at(size_t index, uint32_t seed)
{
	uint8_t byte = (uint8_t)(((uint32_t)index + seed * 40503u) * 2654435761u >> 24);

	return byte == CLEAR ? (uint8_t)~CLEAR : byte;
}

void pattern_fill(uint8_t *memory, size_t length, uint32_t seed)
{
	for (size_t i = 0; i < length; i++)
		memory[i] = byte_at(i, seed);
}

bool pattern_matches(const uint8_t *memory, size_t length, uint32_t seed)
{
	for (size_t i = 0; i < length; i++)
		if (memory[i] != byte_at(i, seed))
			return false;
	return true;
}

void pattern_clear(uint8_t *memory, size_t length)
{
	memset(memory, CLEAR, length);
}

bool pattern_is_clear(const uint8_t *memory, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (memory[i] != CLEAR)
			return false;
	return true;
}
