/* SPDX-License-Identifier: BSD-3-Clause */
/* Rings, the front's side: geometry read once, records taken out of the middle. */
#include <errno.h>
#include <string.h>

#include "ring.h"

#define RECORD 64u

_Static_assert(sizeof(struct uroce_abi_cqe) == RECORD, "a completion is one cache line");
_Static_assert(sizeof(struct uroce_abi_event) == RECORD, "an event is one cache line");

int ring_open(const struct region_view *view, uroce_abi_ref ref, struct ring_shape *shape)
{
	struct uroce_abi_ring *ring = region_at(view, ref, sizeof(*ring));
	uint32_t count, stride;

	if (!ring)
		return -EPROTO;
	count = ring->fixed.count;
	stride = ring->fixed.stride;
	if (count == 0 || (count & (count - 1)) || ring->fixed.depth > count)
		return -EPROTO;
	if (stride < RECORD || stride % RECORD)
		return -EPROTO;
	shape->ring = ring;
	shape->slots = region_at(view, ring->fixed.slots, (uint64_t)count * stride);
	shape->stride = stride;
	shape->mask = count - 1;
	shape->depth = ring->fixed.depth;
	return shape->slots ? 0 : -EPROTO;
}

uint32_t ring_purge(uint8_t *slots, uint32_t mask, uint32_t consumed, uint32_t produced,
	bool (*match)(const void *record, void *context), void *context)
{
	uint32_t removed = 0;

	while (produced != consumed) {
		uint8_t *record = slots + (uint64_t)(--produced & mask) * RECORD;

		if (match(record, context))
			removed++;
		else if (removed)
			memcpy(slots + (uint64_t)((produced + removed) & mask) * RECORD, record,
				RECORD);
	}
	return removed;
}
