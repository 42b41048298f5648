/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside lib/mem: the table of keys and its entries. */
#ifndef UROCE_MEM_ENTRY_H
#define UROCE_MEM_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "mem.h"
#include "random.h"

/*
 * How cores read an entry while another one changes it:
 *
 * 1. The live word holds a sequence number above the key. A key of 0 means that the entry is not
 *    valid, or is being changed; 0 is never given out, since no entry has index 0.
 * 2. A writer holds the table's lock. It stores the live word without the key and the sequence
 *    number plus 1 (entry_close), then the fields, then the word with the key and the sequence
 *    number plus 1 (entry_open).
 * 3. A reader loads the live word, compares the key, copies the fields, and loads the word again.
 *    If it has changed, it starts anew (entry_read). The sequence number matters because a type 2
 *    window may be bound again under the same key.
 * 4. Every field is stored with release and loaded with acquire: a reader that meets a field of a
 *    later round therefore also meets the closed word of step 2 at its second look. On x86 all of
 *    this is plain moves.
 */
enum mem_kind {
	MEM_FREE, /* no key belongs to it */
	MEM_REGION,
	MEM_WINDOW_1,
	MEM_WINDOW_2,
};

enum mem_list {
	MEM_BY_PD, /* all entries */
	MEM_BY_QP, /* type 2 windows while they are bound */
	MEM_LISTS,
};

struct mem_link {
	uint32_t next; /* indices; 0 ends the list */
	uint32_t previous;
};

struct mem_entry {
	/* read by all cores */
	uint64_t live;
	uint32_t pd;
	uint32_t qp_num; /* of a bound type 2 window */
	uint64_t iova;
	uint64_t length;
	uint8_t *host;
	uint8_t access; /* IBV_ACCESS_LOCAL_WRITE to IBV_ACCESS_MW_BIND: the low 5 bits */
	uint8_t kind;
	uint8_t bound; /* of windows */
	/* under the lock only */
	uint8_t byte;	/* low byte of the last key, so that the next one differs */
	uint32_t other; /* region: how many windows are bound to it; window: index of its region */
	struct mem_link links[MEM_LISTS];
};

_Static_assert(sizeof(struct mem_entry) == 64, "an entry is one cache line");

#define MEM_BUCKETS 4096

struct mem_table {
	/* constant after creation, read by all cores */
	struct mem_entry *entries; /* [1 .. capacity] */
	uint32_t capacity;
	/* writers; table.c says how indices are given out */
	_Alignas(64) uint32_t lock;
	uint32_t count;
	uint32_t fresh;
	uint32_t free;
	uint32_t waiting;
	uint32_t *fresh_map;
	uint32_t *pool;
	struct random random;
	uint32_t heads[MEM_LISTS][MEM_BUCKETS];
};

/* What a reader needs of an entry, all of one moment. */
struct mem_view {
	uint64_t iova;
	uint64_t length;
	uint8_t *host;
	uint32_t pd;
	uint32_t qp_num;
	uint8_t access;
	uint8_t kind;
	uint8_t bound;
};

/* ---- fields: pair with each other, see 4. above ---- */

#define FIELD_SET(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELEASE)
#ifndef FIELD_GET /* a test comes between the loads */
#define FIELD_GET(field) __atomic_load_n(&(field), __ATOMIC_ACQUIRE)
#endif

static inline uint32_t live_key(uint64_t live)
{
	return (uint32_t)live;
}

static inline uint64_t live_next(uint64_t live, uint32_t key)
{
	return ((live >> 32) + 1) << 32 | key;
}

static inline void entry_close(struct mem_entry *entry)
{
	FIELD_SET(entry->live, live_next(entry->live, 0));
}

static inline void entry_open(struct mem_entry *entry, uint32_t key)
{
	FIELD_SET(entry->live, live_next(entry->live, key));
}

static inline bool entry_read(const struct mem_entry *entry, uint32_t key, struct mem_view *view)
{
	uint64_t live;

	do {
		live = FIELD_GET(entry->live);
		if (live_key(live) != key)
			return false;
		view->pd = FIELD_GET(entry->pd);
		view->qp_num = FIELD_GET(entry->qp_num);
		view->iova = FIELD_GET(entry->iova);
		view->length = FIELD_GET(entry->length);
		view->host = FIELD_GET(entry->host);
		view->access = FIELD_GET(entry->access);
		view->kind = FIELD_GET(entry->kind);
		view->bound = FIELD_GET(entry->bound);
	} while (FIELD_GET(entry->live) != live);
	return true;
}

/* The entry that the key would name, or NULL for an index beyond the table. */
static inline struct mem_entry *entry_at(const struct mem_table *table, uint32_t key)
{
	uint32_t index = key >> 8;

	return index - 1 < table->capacity ? &table->entries[index] : NULL;
}

static inline uint32_t entry_index(const struct mem_table *table, const struct mem_entry *entry)
{
	return (uint32_t)(entry - table->entries);
}

/* [address, address + length) lies in [base, base + size), which does not wrap; nothing here can.
 */
static inline bool range_inside(uint64_t base, uint64_t size, uint64_t address, uint64_t length)
{
	return address >= base && length <= size && address - base <= size - length;
}

/* As numbers: the compiler takes a pointer for one into an object of its own, which this is not. */
static inline uint8_t *host_at(uint8_t *host, uint64_t offset)
{
	return (uint8_t *)((uintptr_t)host + offset);
}

/* ---- table.c; all under the lock ---- */

static inline void spin_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/*
 * A spin lock: what it guards is a few dozen instructions, and cores that bind windows cannot
 * sleep. Nobody holds it while it calls out. The exchange (acquire) pairs with the release store.
 */
static inline void table_lock(struct mem_table *table)
{
	while (__atomic_exchange_n(&table->lock, 1, __ATOMIC_ACQUIRE))
		while (__atomic_load_n(&table->lock, __ATOMIC_RELAXED))
			spin_pause();
}

static inline void table_unlock(struct mem_table *table)
{
	__atomic_store_n(&table->lock, 0, __ATOMIC_RELEASE);
}

/* The valid entry of that key, or NULL. */
struct mem_entry *table_find(const struct mem_table *table, uint32_t key);
/* An entry without a key, in the list of its PD and counted; NULL: the table is full. */
struct mem_entry *table_take(struct mem_table *table, uint32_t pd);
/* Closes the entry for good; its index waits for mem_reclaim(). */
void table_give(struct mem_table *table, struct mem_entry *entry);
/* A key for the entry that differs from its last one. */
uint32_t table_key(struct mem_table *table, struct mem_entry *entry);
void table_link(struct mem_table *table, enum mem_list list, uint32_t of, struct mem_entry *entry);
void table_unlink(
	struct mem_table *table, enum mem_list list, uint32_t of, struct mem_entry *entry);
/* The first entry of the list that may belong to `of`, and the next one; NULL at the end. */
struct mem_entry *table_first(const struct mem_table *table, enum mem_list list, uint32_t of);
struct mem_entry *table_next(
	const struct mem_table *table, enum mem_list list, const struct mem_entry *entry);

#endif
