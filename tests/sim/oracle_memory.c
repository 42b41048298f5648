/* SPDX-License-Identifier: BSD-3-Clause */
/* The oracle's shadow of all memory. */
#include <stdlib.h>
#include <string.h>

#include "oracle_parts.h"

static struct arena *arena_of(struct oracle *oracle, const uint8_t *at)
{
	for (uint32_t i = 0; i < oracle->arena_count; i++)
		if (at >= oracle->arenas[i].memory &&
			at < oracle->arenas[i].memory + oracle->arenas[i].length)
			return &oracle->arenas[i];
	abort();
}

void oracle_watch(struct oracle *oracle, uint8_t *memory, uint32_t length)
{
	struct arena *arena = &oracle->arenas[oracle->arena_count++];

	arena->memory = memory;
	arena->length = length;
	arena->shadow = oracle_need(malloc(length));
	arena->unknown = oracle_need(calloc(1, length));
	memcpy(arena->shadow, memory, length);
}

void oracle_wrote(struct oracle *oracle, const uint8_t *at, uint32_t length)
{
	struct arena *arena;

	if (length == 0)
		return;
	arena = arena_of(oracle, at);
	memcpy(arena->shadow + (at - arena->memory), at, length);
	memset(arena->unknown + (at - arena->memory), 0, length);
}

void memory_passes(
	struct oracle_flow *flow, const uint8_t *at, const uint8_t *bytes, uint32_t length)
{
	struct arena *arena;

	if (length == 0)
		return;
	arena = arena_of(flow->oracle, at);
	memcpy(arena->shadow + (at - arena->memory), bytes, length);
	memset(arena->unknown + (at - arena->memory), 0, length);
}

void memory_expect(struct oracle_flow *flow, const uint8_t *at, const uint8_t *bytes,
	uint32_t length, const char *what)
{
	memory_passes(flow, at, bytes, length);
	if (length && memcmp(at, bytes, length) != 0)
		oracle_complain(flow->oracle,
			"flow %u: %s completed, but its %u bytes are not there", flow->number, what,
			length);
}

void memory_forget(struct oracle_flow *flow, const uint8_t *at, uint32_t length)
{
	struct arena *arena;

	if (length == 0 || !at)
		return;
	arena = arena_of(flow->oracle, at);
	memset(arena->unknown + (at - arena->memory), 1, length);
}

static void judge_arena(struct oracle *oracle, const struct arena *arena, uint32_t number)
{
	for (uint32_t i = 0; i < arena->length; i++)
		if (!arena->unknown[i] && arena->memory[i] != arena->shadow[i]) {
			oracle_complain(oracle, "arena %u: byte %u is 0x%02x, must be 0x%02x",
				number, i, arena->memory[i], arena->shadow[i]);
			return;
		}
}

void memory_judge(struct oracle *oracle)
{
	for (uint32_t i = 0; i < oracle->arena_count; i++)
		judge_arena(oracle, &oracle->arenas[i], i);
}
