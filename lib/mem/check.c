/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checks of every access, in an order that tells a stranger nothing: key, protection domain,
 * right, range, alignment.
 */
#include <infiniband/verbs.h>

#include "entry.h"

#define REMOTE (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)

/* Inline: the view stays in registers, and both callers need the time more than the room. */
static inline __attribute__((always_inline)) enum mem_status lookup(
	const struct mem_table *table, uint32_t key, struct mem_view *view)
{
	const struct mem_entry *entry = entry_at(table, key);

	return entry && entry_read(entry, key, view) ? MEM_OK : MEM_BAD_KEY;
}

/* IBTA 10.6.7.2: a window must be bound, and a type 2 window serves the QP that bound it only. */
static enum mem_status check_owner(const struct mem_view *view, uint32_t pd, uint32_t qp_num)
{
	if (view->kind != MEM_REGION && !view->bound)
		return MEM_BAD_KEY;
	if (view->pd != pd)
		return MEM_BAD_PD;
	if (view->kind == MEM_WINDOW_2 && view->qp_num != qp_num)
		return MEM_BAD_PD;
	return MEM_OK;
}

enum mem_status mem_local(const struct mem_table *table, uint32_t pd, uint32_t lkey,
	uint64_t address, uint64_t length, uint32_t access, uint8_t **host)
{
	struct mem_view view;

	/* The R_Key of a window is no L_Key. */
	if (lookup(table, lkey, &view) != MEM_OK || view.kind != MEM_REGION)
		return MEM_BAD_KEY;
	if (view.pd != pd)
		return MEM_BAD_PD;
	/* man ibv_reg_mr: local read is always enabled */
	if ((view.access & access) != access)
		return MEM_BAD_ACCESS;
	if (!range_inside(view.iova, view.length, address, length))
		return MEM_BAD_RANGE;
	*host = host_at(view.host, address - view.iova);
	return MEM_OK;
}

enum mem_status mem_remote(const struct mem_table *table, uint32_t pd, uint32_t qp_num,
	uint32_t rkey, uint64_t address, uint64_t length, uint32_t access, uint8_t **host)
{
	enum mem_status status;
	struct mem_view view;
	uint8_t *at;

	if (length == 0) { /* C9-88 */
		*host = NULL;
		return MEM_OK;
	}
	status = lookup(table, rkey, &view);
	if (status == MEM_OK)
		status = check_owner(&view, pd, qp_num);
	if (status != MEM_OK)
		return status;
	if (!(access & REMOTE) || (view.access & access) != access)
		return MEM_BAD_ACCESS;
	if (!range_inside(view.iova, view.length, address, length))
		return MEM_BAD_RANGE;
	at = host_at(view.host, address - view.iova);
	/* The second half: ibv_reg_mr_iova may have moved the bytes by less than a word. */
	if ((access & IBV_ACCESS_REMOTE_ATOMIC) && ((address | (uintptr_t)at) & 7))
		return MEM_BAD_ALIGNMENT;
	*host = at;
	return MEM_OK;
}
