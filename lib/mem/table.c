/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table: its memory, which index comes next, and the lists of its entries.
 *
 * An index is in one of four places:
 * 1. fresh: never used. fresh_map is a shuffle in progress (Fisher and Yates, from the top): place
 *    i below `fresh` holds one such index, written as its difference (exclusive or) from i, so that
 *    memory that was never touched reads as "i itself" and creation need not write it.
 * 2. live.
 * 3. waiting: unlinked, and a core may still be in the burst in which it read the entry. These are
 *    pool[free .. free + waiting).
 * 4. free: pool[0 .. free), any of which may be used again.
 */
#include <errno.h>
#include <sys/mman.h>

#include "entry.h"

#define CAPACITY_MAX (1u << 23)
/* While fresh indices last, so many must be free before one is used again: a stale key of a peer
 * should meet nothing, but a table that is used in a small way should stay small. */
#define REUSE_MIN 256u

/* Address space, which becomes memory page by page with use. Huge pages would undo that, since
 * indices are random. */
static void *reserve(uint64_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	(void)madvise(at, size, MADV_NOHUGEPAGE);
	return at;
}

static void release(void *at, uint64_t size)
{
	if (at)
		munmap(at, size);
}

static uint64_t entries_size(uint32_t capacity)
{
	return ((uint64_t)capacity + 1) * sizeof(struct mem_entry);
}

static uint64_t indices_size(uint32_t capacity)
{
	return (uint64_t)capacity * sizeof(uint32_t);
}

int mem_table_create(uint32_t capacity, struct random *random, struct mem_table **table)
{
	struct mem_table *t;

	if (capacity == 0 || capacity > CAPACITY_MAX)
		return -EINVAL;
	t = reserve(sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->capacity = capacity;
	t->fresh = capacity;
	t->entries = reserve(entries_size(capacity));
	t->fresh_map = reserve(indices_size(capacity));
	t->pool = reserve(indices_size(capacity));
	if (!t->entries || !t->fresh_map || !t->pool) {
		mem_table_destroy(t);
		return -ENOMEM;
	}
	/* A generator of its own: binds on several cores draw from it, under the table's lock. */
	for (int i = 0; i < 4; i++)
		t->random.state[i] = random_next(random);
	*table = t;
	return 0;
}

void mem_table_destroy(struct mem_table *table)
{
	if (!table)
		return;
	release(table->pool, indices_size(table->capacity));
	release(table->fresh_map, indices_size(table->capacity));
	release(table->entries, entries_size(table->capacity));
	release(table, sizeof(*table));
}

static uint32_t take_fresh(struct mem_table *table)
{
	uint32_t *map = table->fresh_map;
	uint32_t at = (uint32_t)random_below(&table->random, table->fresh);
	uint32_t last = --table->fresh;
	uint32_t index = map[at] ^ at;

	map[at] = map[last] ^ last ^ at;
	return index + 1;
}

static uint32_t take_used(struct mem_table *table)
{
	uint32_t *pool = table->pool;
	uint32_t at = (uint32_t)random_below(&table->random, table->free);
	uint32_t last = --table->free;
	uint32_t index = pool[at];

	pool[at] = pool[last];
	/* The waiting ones follow the free ones without a gap. */
	pool[last] = pool[last + table->waiting];
	return index;
}

static uint32_t take_index(struct mem_table *table)
{
	if (table->fresh > 0 && table->free < REUSE_MIN)
		return take_fresh(table);
	return table->free > 0 ? take_used(table) : 0;
}

static void count_add(struct mem_table *table, uint32_t difference)
{
	/* Relaxed: mem_count() is a number for a check, and orders nothing. */
	__atomic_store_n(&table->count, table->count + difference, __ATOMIC_RELAXED);
}

struct mem_entry *table_find(const struct mem_table *table, uint32_t key)
{
	struct mem_entry *entry = entry_at(table, key);

	return entry && live_key(entry->live) == key ? entry : NULL;
}

struct mem_entry *table_take(struct mem_table *table, uint32_t pd)
{
	uint32_t index = take_index(table);
	struct mem_entry *entry;

	if (index == 0)
		return NULL;
	entry = &table->entries[index];
	entry_close(entry);
	FIELD_SET(entry->pd, pd);
	entry->other = 0;
	table_link(table, MEM_BY_PD, pd, entry);
	count_add(table, 1);
	return entry;
}

void table_give(struct mem_table *table, struct mem_entry *entry)
{
	entry_close(entry);
	FIELD_SET(entry->kind, MEM_FREE);
	table_unlink(table, MEM_BY_PD, entry->pd, entry);
	table->pool[table->free + table->waiting++] = entry_index(table, entry);
	count_add(table, -1u);
}

uint32_t table_key(struct mem_table *table, struct mem_entry *entry)
{
	entry->byte = (uint8_t)(entry->byte + 1 + random_below(&table->random, 255));
	return entry_index(table, entry) << 8 | entry->byte;
}

static uint32_t *list_head(struct mem_table *table, enum mem_list list, uint32_t of)
{
	return &table->heads[list][of % MEM_BUCKETS];
}

void table_link(struct mem_table *table, enum mem_list list, uint32_t of, struct mem_entry *entry)
{
	uint32_t *head = list_head(table, list, of);
	uint32_t index = entry_index(table, entry);

	entry->links[list].previous = 0;
	entry->links[list].next = *head;
	if (*head)
		table->entries[*head].links[list].previous = index;
	*head = index;
}

void table_unlink(struct mem_table *table, enum mem_list list, uint32_t of, struct mem_entry *entry)
{
	struct mem_link link = entry->links[list];

	if (link.previous)
		table->entries[link.previous].links[list].next = link.next;
	else
		*list_head(table, list, of) = link.next;
	if (link.next)
		table->entries[link.next].links[list].previous = link.previous;
}

struct mem_entry *table_first(const struct mem_table *table, enum mem_list list, uint32_t of)
{
	uint32_t index = table->heads[list][of % MEM_BUCKETS];

	return index ? &table->entries[index] : NULL;
}

struct mem_entry *table_next(
	const struct mem_table *table, enum mem_list list, const struct mem_entry *entry)
{
	uint32_t index = entry->links[list].next;

	return index ? &table->entries[index] : NULL;
}

void mem_reclaim(struct mem_table *table)
{
	table_lock(table);
	table->free += table->waiting;
	table->waiting = 0;
	table_unlock(table);
}

uint32_t mem_count(const struct mem_table *table)
{
	return __atomic_load_n(&table->count, __ATOMIC_RELAXED);
}
