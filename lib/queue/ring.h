/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the rings of this folder have in common: where they lie and how large they are. Internal to
 * the folder; see abi.h for the layout.
 */
#ifndef UROCE_QUEUE_RING_H
#define UROCE_QUEUE_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "region.h"

/* Positions are compared by their signed difference, so a ring stays well below 2^31. */
#define RING_DEPTH_MAX (1u << 30)

/* Slots of a ring that holds `depth` records: at least one, so that a mask exists. */
static inline uint32_t ring_slots(uint32_t depth)
{
	return depth > 1 ? 1u << (32 - __builtin_clz(depth - 1)) : 1;
}

/* ---- the engine's side (ring_engine.c) ---- */

struct ring_place {
	struct uroce_abi_ring *ring;
	uint8_t *slots;
	uroce_abi_ref ref;
	uroce_abi_ref slots_ref;
	uint32_t count;
};

/* Allocates record and slots and writes the geometry. 0 or -ENOMEM. */
int ring_create(struct region *region, uint32_t depth, uint32_t stride, struct ring_place *place);
void ring_destroy(struct region *region, uroce_abi_ref ref, uroce_abi_ref slots, uint64_t size);

/* ---- the front's side (ring_front.c) ---- */

struct ring_shape {
	struct uroce_abi_ring *ring;
	uint8_t *slots;
	uint32_t stride;
	uint32_t mask;
	uint32_t depth;
};

/* Reads the geometry, once. 0, or -EPROTO if it leads out of the view or makes no sense. */
int ring_open(const struct region_view *view, uroce_abi_ref ref, struct ring_shape *shape);

/*
 * Takes the 64-byte records that match out of those between the positions. The others move up to
 * the newer end, in order, so that only the consumer's position changes: by the count returned.
 * match() sees the newest first.
 */
uint32_t ring_purge(uint8_t *slots, uint32_t mask, uint32_t consumed, uint32_t produced,
	bool (*match)(const void *record, void *context), void *context);

#endif
