/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory windows, types 1 and 2 (IBTA vol 1, 10.6.7.2; man ibv_alloc_mw, ibv_bind_mw). A bound
 * window carries its own copy of where its bytes are, so that a check reads one entry; the region
 * counts its windows and cannot go or change before them.
 */
#include <errno.h>

#include <infiniband/verbs.h>

#include "entry.h"

#define REMOTE_CHANGES (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)
/* man ibv_bind_mw, mw_access_flags */
#define BIND_ACCESS (REMOTE_CHANGES | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED)

static void count_window(struct mem_table *table, const struct mem_entry *window, uint32_t more)
{
	table->entries[window->other].other += more;
}

/* The fields of a window that grants nothing; it is closed. */
static void clear(struct mem_entry *window)
{
	FIELD_SET(window->bound, 0);
	FIELD_SET(window->access, 0);
	FIELD_SET(window->qp_num, 0);
	FIELD_SET(window->iova, 0);
	FIELD_SET(window->length, 0);
	FIELD_SET(window->host, NULL);
}

/* Closes the window and takes it off its region and QP. The caller opens it again, or gives it. */
static void unbind(struct mem_table *table, struct mem_entry *window)
{
	entry_close(window);
	if (!window->bound)
		return;
	if (window->kind == MEM_WINDOW_2)
		table_unlink(table, MEM_BY_QP, window->qp_num, window);
	count_window(table, window, -1u);
	window->other = 0;
	clear(window);
}

static bool is_window(const struct mem_entry *entry)
{
	return entry->kind == MEM_WINDOW_1 || entry->kind == MEM_WINDOW_2;
}

int mem_window_alloc(struct mem_table *table, uint32_t pd, int type, uint32_t *rkey)
{
	struct mem_entry *window;

	if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2)
		return -EINVAL;
	table_lock(table);
	window = table_take(table, pd);
	if (window) {
		clear(window);
		FIELD_SET(window->kind, type == IBV_MW_TYPE_1 ? MEM_WINDOW_1 : MEM_WINDOW_2);
		*rkey = table_key(table, window);
		entry_open(window, *rkey);
	}
	table_unlock(table);
	return window ? 0 : -ENOMEM;
}

uint32_t mem_window_key(struct mem_table *table, uint32_t rkey)
{
	const struct mem_entry *window = entry_at(table, rkey);
	uint32_t key = 0;

	table_lock(table);
	if (window && is_window(window))
		key = live_key(window->live);
	table_unlock(table);
	return key;
}

int mem_window_dealloc(struct mem_table *table, uint32_t rkey)
{
	struct mem_entry *window;
	int error = -EINVAL;

	table_lock(table);
	window = table_find(table, rkey);
	if (window && is_window(window)) {
		unbind(table, window);
		table_give(table, window);
		error = 0;
	}
	table_unlock(table);
	return error;
}

/* What the window itself must fulfil. */
static enum mem_status check_window(
	const struct mem_entry *window, const struct mem_bind *bind, int type)
{
	if (!window || window->kind != (type == IBV_MW_TYPE_1 ? MEM_WINDOW_1 : MEM_WINDOW_2))
		return MEM_BAD_KEY;
	if (window->pd != bind->pd) /* C10-72 */
		return MEM_BAD_PD;
	if (type == IBV_MW_TYPE_1)
		return MEM_OK;
	if (window->bound) /* o10-37.2.30: only in the free state */
		return MEM_BAD_ACCESS;
	if (bind->new_rkey >> 8 != bind->window >> 8)
		return MEM_BAD_KEY;
	/* o10-37.2.40: a type 2 window is not unbound by a bind of length 0 */
	return bind->length == 0 ? MEM_BAD_RANGE : MEM_OK;
}

static enum mem_status check_region(const struct mem_entry *region, const struct mem_bind *bind)
{
	if (!region || region->kind != MEM_REGION)
		return MEM_BAD_KEY;
	if (region->pd != bind->pd)
		return MEM_BAD_PD;
	if (bind->access & ~(uint32_t)BIND_ACCESS)
		return MEM_BAD_ACCESS;
	if (!(region->access & IBV_ACCESS_MW_BIND)) /* C10-73 */
		return MEM_BAD_ACCESS;
	if ((bind->access & REMOTE_CHANGES) &&
		!(region->access & IBV_ACCESS_LOCAL_WRITE)) /* C10-74 */
		return MEM_BAD_ACCESS;
	if (!range_inside(region->iova, region->length, bind->address, bind->length)) /* C10-75 */
		return MEM_BAD_RANGE;
	return MEM_OK;
}

/* The window is closed and unbound; everything has been checked. */
static void attach(struct mem_table *table, struct mem_entry *window,
	const struct mem_entry *region, const struct mem_bind *bind)
{
	window->other = entry_index(table, region);
	count_window(table, window, 1);
	FIELD_SET(window->iova, bind->access & IBV_ACCESS_ZERO_BASED ? 0 : bind->address);
	FIELD_SET(window->length, bind->length);
	FIELD_SET(window->host, host_at(region->host, bind->address - region->iova));
	FIELD_SET(window->access,
		(uint8_t)(bind->access & (REMOTE_CHANGES | IBV_ACCESS_REMOTE_READ)));
	FIELD_SET(window->bound, 1);
	if (window->kind == MEM_WINDOW_2) {
		FIELD_SET(window->qp_num, bind->qp_num);
		table_link(table, MEM_BY_QP, bind->qp_num, window);
	}
}

static enum mem_status bind_locked(
	struct mem_table *table, const struct mem_bind *bind, int type, uint32_t *rkey)
{
	struct mem_entry *window = table_find(table, bind->window);
	const struct mem_entry *region = NULL;
	enum mem_status status = check_window(window, bind, type);

	if (status == MEM_OK && bind->length > 0) {
		region = table_find(table, bind->lkey);
		status = check_region(region, bind);
	}
	if (status != MEM_OK)
		return status;
	unbind(table, window);
	if (region)
		attach(table, window, region, bind);
	/* ibv_bind_mw() tells the program its new key before the bind runs: the front chose it. */
	if (type == IBV_MW_TYPE_1 && bind->new_rkey >> 8 != bind->window >> 8) {
		*rkey = table_key(table, window);
	} else {
		window->byte = (uint8_t)bind->new_rkey;
		*rkey = bind->new_rkey;
	}
	entry_open(window, *rkey);
	return MEM_OK;
}

enum mem_status mem_window_bind(
	struct mem_table *table, const struct mem_bind *bind, int type, uint32_t *rkey)
{
	enum mem_status status;

	table_lock(table);
	status = bind_locked(table, bind, type, rkey);
	table_unlock(table);
	return status;
}

static enum mem_status invalidate_locked(
	struct mem_table *table, uint32_t rkey, uint32_t pd, uint32_t qp_num)
{
	struct mem_entry *window = table_find(table, rkey);

	if (!window)
		return MEM_BAD_KEY;
	if (window->pd != pd)
		return MEM_BAD_PD;
	/* o10-37.2.26: no type 1 windows; and no regions but those of a fast registration */
	if (window->kind != MEM_WINDOW_2)
		return MEM_BAD_ACCESS;
	/* Already free: the same state again. */
	if (!window->bound)
		return MEM_OK;
	if (window->qp_num != qp_num)
		return MEM_BAD_PD;
	unbind(table, window);
	entry_open(window, rkey);
	return MEM_OK;
}

enum mem_status mem_invalidate(struct mem_table *table, uint32_t rkey, uint32_t pd, uint32_t qp_num)
{
	enum mem_status status;

	table_lock(table);
	status = invalidate_locked(table, rkey, pd, qp_num);
	table_unlock(table);
	return status;
}

void mem_windows_release(struct mem_table *table, uint32_t qp_num)
{
	struct mem_entry *next;
	uint32_t rkey;

	table_lock(table);
	for (struct mem_entry *window = table_first(table, MEM_BY_QP, qp_num); window;
		window = next) {
		next = table_next(table, MEM_BY_QP, window);
		if (window->qp_num != qp_num)
			continue;
		rkey = live_key(window->live);
		unbind(table, window);
		entry_open(window, rkey);
	}
	table_unlock(table);
}

/* Entries of the PD that are windows, or that aren't. Other PDs may share the list. */
static void release_kind(struct mem_table *table, uint32_t pd, bool windows)
{
	struct mem_entry *next;

	for (struct mem_entry *entry = table_first(table, MEM_BY_PD, pd); entry; entry = next) {
		next = table_next(table, MEM_BY_PD, entry);
		if (entry->pd != pd || is_window(entry) != windows)
			continue;
		if (windows)
			unbind(table, entry);
		table_give(table, entry);
	}
}

void mem_pd_release(struct mem_table *table, uint32_t pd)
{
	table_lock(table);
	release_kind(table, pd, true);
	release_kind(table, pd, false);
	table_unlock(table);
}
