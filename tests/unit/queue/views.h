/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A region with two views at two addresses, the engine's and a front's, as between two processes.
 * The thread sanitizer tells memory by its address and would see two unrelated places, so under it
 * both views are the engine's mapping.
 */
#ifndef UROCE_TESTS_VIEWS_H
#define UROCE_TESTS_VIEWS_H

#include <stdbool.h>

#include "region.h"
#include "unit.h"

#if defined(__SANITIZE_THREAD__)
#define VIEWS_DIFFER false
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define VIEWS_DIFFER false
#endif
#endif
#ifndef VIEWS_DIFFER
#define VIEWS_DIFFER true
#endif

#define VIEWS_ID 7u

struct views {
	struct region *region;
	const struct region_view *engine;
	struct region_view front;
	uint64_t used; /* by the region itself */
};

static inline void views_open(struct views *views, uint64_t size)
{
	*views = (struct views){0};
	CU_ASSERT_EQUAL_FATAL(region_create(size, true, VIEWS_ID, &views->region), 0);
	views->engine = region_engine_view(views->region);
	views->used = region_used(views->region);
	views->front = *views->engine;
	if (!VIEWS_DIFFER)
		return;
	CU_ASSERT_EQUAL_FATAL(region_map(region_fd(views->region), &views->front), 0);
	CU_ASSERT_PTR_NOT_EQUAL_FATAL(views->front.base, views->engine->base);
}

/* Everything must have been given back. */
static inline void views_close(struct views *views)
{
	CU_ASSERT_EQUAL(region_used(views->region), views->used);
	if (VIEWS_DIFFER)
		region_unmap(&views->front);
	region_destroy(views->region);
}

#endif
