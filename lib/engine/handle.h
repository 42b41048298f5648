/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles: small numbers that stand for objects, so that neither the region nor a stranger ever
 * holds a pointer. One table per client and kind. 0 is never a handle. A number is used again as
 * late as the table's size allows, so that what still carries an old one meets nothing.
 */
#ifndef UROCE_ENGINE_HANDLE_H
#define UROCE_ENGINE_HANDLE_H

#include <stddef.h>
#include <stdint.h>

#define HANDLE_CHUNK 256u

struct handle_slot {
	void *object;  /* NULL: free */
	uint32_t next; /* free: the handle freed after this one */
};

struct handle_table {
	struct handle_slot **chunks; /* made when they are needed; they never move */
	uint32_t limit;
	uint32_t used; /* handles 1 to used have been given out at least once */
	uint32_t live;
	uint32_t oldest; /* of the free ones; 0: none */
	uint32_t newest;
	uint32_t free;
};

/* 0 or -ENOMEM. */
int handle_table_init(struct handle_table *table, uint32_t limit);
void handle_table_fini(struct handle_table *table);
/* 0, or -ENOMEM: limit reached, or no memory. */
int handle_put(struct handle_table *table, void *object, uint32_t *handle);
/* The handle must be live. */
void handle_remove(struct handle_table *table, uint32_t handle);
/* The first live handle after this one; 0: none. */
uint32_t handle_next(const struct handle_table *table, uint32_t after);

/* Any value may be asked for; NULL: nothing has that handle. */
static inline void *handle_get(const struct handle_table *table, uint32_t handle)
{
	uint32_t index = handle - 1; /* 0 becomes the highest */

	if (index >= table->used)
		return NULL;
	return table->chunks[index / HANDLE_CHUNK][index % HANDLE_CHUNK].object;
}

#endif
