/* SPDX-License-Identifier: BSD-3-Clause */
/* From handles to objects. */
#include <errno.h>
#include <stdlib.h>

#include "table.h"

/* The release stores pair with the acquire loads of table_get(). */
int table_set(struct table *table, uint32_t handle, void *object)
{
	uint32_t index = handle - 1;
	void **page;

	if (index >= TABLE_PAGE * TABLE_PAGES)
		return -EPROTO;
	page = table->page[index / TABLE_PAGE];
	if (!page && object) {
		page = calloc(TABLE_PAGE, sizeof(*page));
		if (!page)
			return -ENOMEM;
		__atomic_store_n(&table->page[index / TABLE_PAGE], page, __ATOMIC_RELEASE);
	}
	if (page)
		__atomic_store_n(&page[index % TABLE_PAGE], object, __ATOMIC_RELEASE);
	return 0;
}

void *table_get(const struct table *table, uint32_t handle)
{
	uint32_t index = handle - 1;
	void **page;

	if (index >= TABLE_PAGE * TABLE_PAGES)
		return NULL;
	page = __atomic_load_n(&table->page[index / TABLE_PAGE], __ATOMIC_ACQUIRE);
	return page ? __atomic_load_n(&page[index % TABLE_PAGE], __ATOMIC_ACQUIRE) : NULL;
}

void table_free(struct table *table)
{
	for (uint32_t i = 0; i < TABLE_PAGES; i++)
		free(table->page[i]);
}
