/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles: a table in chunks, and a queue of the free numbers. */
#include <errno.h>
#include <stdlib.h>

#include "handle.h"

/* While numbers last that were never used, so many free ones wait. */
#define REST 64u

static uint32_t chunk_count(uint32_t limit)
{
	return (limit + HANDLE_CHUNK - 1) / HANDLE_CHUNK;
}

static struct handle_slot *slot_of(const struct handle_table *table, uint32_t handle)
{
	return &table->chunks[(handle - 1) / HANDLE_CHUNK][(handle - 1) % HANDLE_CHUNK];
}

int handle_table_init(struct handle_table *table, uint32_t limit)
{
	*table = (struct handle_table){.limit = limit};
	table->chunks = calloc(chunk_count(limit), sizeof(void *));
	return table->chunks ? 0 : -ENOMEM;
}

void handle_table_fini(struct handle_table *table)
{
	for (uint32_t i = 0; table->chunks && i < chunk_count(table->limit); i++)
		free(table->chunks[i]);
	free(table->chunks);
	table->chunks = NULL;
}

static uint32_t take_oldest(struct handle_table *table)
{
	uint32_t handle = table->oldest;

	table->oldest = slot_of(table, handle)->next;
	table->free--;
	return handle;
}

/* 0: no memory. */
static uint32_t take_unused(struct handle_table *table)
{
	struct handle_slot **chunk = &table->chunks[table->used / HANDLE_CHUNK];

	if (!*chunk)
		*chunk = calloc(HANDLE_CHUNK, sizeof(**chunk));
	if (!*chunk)
		return 0;
	return ++table->used;
}

int handle_put(struct handle_table *table, void *object, uint32_t *handle)
{
	uint32_t taken = 0;

	if (table->live == table->limit)
		return -ENOMEM;
	if (table->free < REST && table->used < table->limit)
		taken = take_unused(table);
	else
		taken = take_oldest(table);
	if (taken == 0)
		return -ENOMEM;
	slot_of(table, taken)->object = object;
	table->live++;
	*handle = taken;
	return 0;
}

void handle_remove(struct handle_table *table, uint32_t handle)
{
	struct handle_slot *slot = slot_of(table, handle);

	slot->object = NULL;
	slot->next = 0;
	if (table->free)
		slot_of(table, table->newest)->next = handle;
	else
		table->oldest = handle;
	table->newest = handle;
	table->free++;
	table->live--;
}

uint32_t handle_next(const struct handle_table *table, uint32_t after)
{
	for (uint32_t handle = after + 1; handle <= table->used; handle++)
		if (slot_of(table, handle)->object)
			return handle;
	return 0;
}
