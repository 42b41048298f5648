/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The region as each side sees it, and the engine's allocator in it. The allocator's own records
 * lie in the engine's private memory: nothing that a client writes can confuse it.
 */
#ifndef UROCE_QUEUE_REGION_H
#define UROCE_QUEUE_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uroce/abi.h>

/* Where one side has mapped the region. */
struct region_view {
	uint8_t *base;
	uint64_t size;
	uint32_t id;
};

/* ---- the engine's side ---- */

struct region; /* view, memory, allocator */

/*
 * Creates a region with its header and command slots. memfd: backed by one (two views possible),
 * otherwise anonymous. Address space is reserved, memory comes with use; MADV_DONTFORK.
 * 0, -ENOMEM, -errno of the system calls.
 */
int region_create(uint64_t size, bool memfd, uint32_t id, struct region **region);
void region_destroy(struct region *region);
const struct region_view *region_engine_view(const struct region *region);
/* The memfd, or -1. */
int region_fd(const struct region *region);

/* Zeroed, aligned to 64 bytes (pages for sizes of a page or more). 0 if there is no room. From any
 * thread; not on the data path. */
uroce_abi_ref region_alloc(struct region *region, uint64_t size);
/* Size as given to region_alloc(). */
void region_free(struct region *region, uroce_abi_ref ref, uint64_t size);
/* Most of the block will never be touched: huge pages would keep all of it resident. */
void region_sparse(struct region *region, uroce_abi_ref ref, uint64_t size);
/* Bytes in use, rounded up as they were given out, for leak checks. */
uint64_t region_used(const struct region *region);

/* ---- the front's side ---- */

/* A second mapping of a memfd region (another process, or a test). 0 or -errno; checks the header:
 * -EPROTO with a log line that names both numbers if magic, major, endianness or a size differ. */
int region_map(int fd, struct region_view *view);
void region_unmap(struct region_view *view);
/* The header's check alone, of a view that somebody else mapped. */
int region_check(const struct region_view *view);

/* NULL if ref .. ref + size isn't inside the view or has another region's id. */
static inline void *region_at(const struct region_view *view, uroce_abi_ref ref, uint64_t size)
{
	uint64_t offset = ref & 0xffffffffffffull;

	if (ref == 0 || ref >> 48 != view->id || offset > view->size || size > view->size - offset)
		return NULL;
	return view->base + offset;
}

static inline struct uroce_abi_header *region_header(const struct region_view *view)
{
	return (struct uroce_abi_header *)view->base;
}

#endif
