/* SPDX-License-Identifier: BSD-3-Clause */
/* Rings, the engine's side: made in the region, geometry written once. */
#include <errno.h>

#include "ring.h"

static int ring_place(struct region *region, uint64_t size, struct ring_place *place)
{
	const struct region_view *view = region_engine_view(region);

	place->ref = region_alloc(region, sizeof(*place->ring));
	place->slots_ref = region_alloc(region, size);
	if (!place->ref || !place->slots_ref) {
		ring_destroy(region, place->ref, place->slots_ref, size);
		return -ENOMEM;
	}
	place->ring = region_at(view, place->ref, sizeof(*place->ring));
	place->slots = region_at(view, place->slots_ref, size);
	return 0;
}

int ring_create(struct region *region, uint32_t depth, uint32_t stride, struct ring_place *place)
{
	int error;

	if (depth > RING_DEPTH_MAX)
		return -ENOMEM;
	place->count = ring_slots(depth);
	error = ring_place(region, (uint64_t)place->count * stride, place);
	if (error)
		return error;
	place->ring->fixed.slots = place->slots_ref;
	place->ring->fixed.stride = stride;
	place->ring->fixed.count = place->count;
	place->ring->fixed.depth = depth;
	return 0;
}

void ring_destroy(struct region *region, uroce_abi_ref ref, uroce_abi_ref slots, uint64_t size)
{
	region_free(region, slots, size);
	region_free(region, ref, sizeof(struct uroce_abi_ring));
}
