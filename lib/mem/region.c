/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory regions: register, change, deregister (man ibv_reg_mr, ibv_rereg_mr). */
#include <errno.h>

#include <infiniband/verbs.h>

#include "entry.h"

#define REMOTE_CHANGES (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)
#define RIGHTS                                                                                     \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
		IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND)
/* Bits that may be given and change nothing here; relaxed ordering is one of the optional range. */
#define HINTS ((uint32_t)IBV_ACCESS_HUGETLB | (uint32_t)IBV_ACCESS_OPTIONAL_RANGE)

struct region {
	uint32_t pd;
	uint32_t access;
	uint8_t *host;
	uint64_t length;
	uint64_t iova;
};

/* The last byte still has an address. */
static bool wraps(uint64_t base, uint64_t length)
{
	return length > 0 && length - 1 > UINT64_MAX - base;
}

static int verify(const struct region *region)
{
	if (region->access & ~((uint32_t)RIGHTS | HINTS))
		return -EOPNOTSUPP;
	/* man ibv_reg_mr: remote write and atomic need local write */
	if ((region->access & REMOTE_CHANGES) && !(region->access & IBV_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	/* NULL is what a check gives for an access of no bytes */
	if (region->length > 0 && !region->host)
		return -EINVAL;
	if (wraps(region->iova, region->length) || wraps((uintptr_t)region->host, region->length))
		return -EINVAL;
	return 0;
}

/* Of an entry that is closed and has its PD. */
static void fill(struct mem_entry *entry, const struct region *region)
{
	FIELD_SET(entry->qp_num, 0);
	FIELD_SET(entry->iova, region->iova);
	FIELD_SET(entry->length, region->length);
	FIELD_SET(entry->host, region->host);
	FIELD_SET(entry->access, (uint8_t)(region->access & RIGHTS));
	FIELD_SET(entry->kind, MEM_REGION);
	FIELD_SET(entry->bound, 0);
}

int mem_register(struct mem_table *table, uint32_t pd, uint8_t *host, uint64_t length,
	uint64_t iova, uint32_t access, uint32_t *key)
{
	const struct region region = {pd, access, host, length, iova};
	struct mem_entry *entry;
	int error = verify(&region);

	if (error)
		return error;
	table_lock(table);
	entry = table_take(table, pd);
	if (entry) {
		fill(entry, &region);
		*key = table_key(table, entry);
		entry_open(entry, *key);
	}
	table_unlock(table);
	return entry ? 0 : -ENOMEM;
}

/* The region of that key, if nothing holds on to it. */
static int find_idle(const struct mem_table *table, uint32_t key, struct mem_entry **entry)
{
	*entry = table_find(table, key);
	if (!*entry || (*entry)->kind != MEM_REGION)
		return -EINVAL;
	/* man ibv_dereg_mr: fails while a window is bound */
	return (*entry)->other ? -EBUSY : 0;
}

static struct region combine(const struct mem_entry *entry, int flags, const struct region *change)
{
	struct region region = {entry->pd, entry->access, entry->host, entry->length, entry->iova};

	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		region.host = change->host;
		region.length = change->length;
		region.iova = change->iova;
	}
	if (flags & IBV_REREG_MR_CHANGE_PD)
		region.pd = change->pd;
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		region.access = change->access;
	return region;
}

/* In place, under a new low byte: it needs no second index, so a full table is no obstacle. */
static void replace(struct mem_table *table, struct mem_entry *entry, const struct region *region,
	uint32_t *key)
{
	entry_close(entry);
	if (region->pd != entry->pd) {
		table_unlink(table, MEM_BY_PD, entry->pd, entry);
		FIELD_SET(entry->pd, region->pd);
		table_link(table, MEM_BY_PD, region->pd, entry);
	}
	fill(entry, region);
	*key = table_key(table, entry);
	entry_open(entry, *key);
}

int mem_reregister(struct mem_table *table, uint32_t *key, int flags, uint32_t pd, uint8_t *host,
	uint64_t length, uint64_t iova, uint32_t access)
{
	const struct region change = {pd, access, host, length, iova};
	struct mem_entry *entry;
	struct region region;
	int error;

	if (flags == 0 || (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED))
		return -EINVAL;
	table_lock(table);
	error = find_idle(table, *key, &entry);
	if (!error) {
		region = combine(entry, flags, &change);
		error = verify(&region);
	}
	if (!error)
		replace(table, entry, &region, key);
	table_unlock(table);
	return error;
}

int mem_deregister(struct mem_table *table, uint32_t key)
{
	struct mem_entry *entry;
	int error;

	table_lock(table);
	error = find_idle(table, key, &entry);
	if (!error)
		table_give(table, entry);
	table_unlock(table);
	return error;
}

bool mem_pd_used(const struct mem_table *table, uint32_t pd)
{
	/* The lock is the only thing that changes. */
	struct mem_table *locked = (struct mem_table *)(uintptr_t)table;
	const struct mem_entry *entry;

	table_lock(locked);
	entry = table_first(table, MEM_BY_PD, pd);
	while (entry && entry->pd != pd)
		entry = table_next(table, MEM_BY_PD, entry);
	table_unlock(locked);
	return entry != NULL;
}
