/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the engine's handles to the front's objects. Two levels, so that it grows without moving:
 * readers take no lock.
 */
#ifndef UROCE_VERBS_TABLE_H
#define UROCE_VERBS_TABLE_H

#include <stdint.h>

#define TABLE_PAGE 1024u
#define TABLE_PAGES 1024u /* handles 1 to 2^20 */

struct table {
	void **page[TABLE_PAGES];
};

/* 0, -ENOMEM, -EPROTO (no such handle can be). One writer at a time. object NULL: removes it. */
int table_set(struct table *table, uint32_t handle, void *object);
/* NULL: none. */
void *table_get(const struct table *table, uint32_t handle);
void table_free(struct table *table);

#endif
