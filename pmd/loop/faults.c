/* SPDX-License-Identifier: BSD-3-Clause */
/* What goes wrong with a frame. Each chance that isn't 0 costs one draw, in a fixed order. */
#include "wire.h"

static bool happens(struct direction *direction, uint32_t millionths)
{
	return millionths && random_below(&direction->random, LOOP_MILLION) < millionths;
}

enum fate fault_lose(struct direction *direction, uint64_t now)
{
	const struct loop_faults *faults = &direction->faults;

	if (now >= faults->blackout_from && now < faults->blackout_until) {
		direction->counters.blacked_out++;
		return FATE_LOST;
	}
	if (happens(direction, faults->loss)) {
		direction->counters.lost++;
		return FATE_LOST;
	}
	return FATE_PASSES;
}

/* The MAC addresses stay: a frame for somebody else would be a loss, which has its own chance. */
#define FIRST_BIT (12u * 8u)

void fault_corrupt(struct direction *direction, struct loop_buffer *buffer)
{
	const struct loop_faults *faults = &direction->faults;
	uint64_t bits = (uint64_t)buffer->length * 8 - FIRST_BIT;
	uint64_t flips;

	if (!happens(direction, faults->corrupt))
		return;
	flips = 1 +
		(faults->corrupt_bits > 1 ? random_below(&direction->random, faults->corrupt_bits)
					  : 0);
	for (; flips; flips--) {
		uint64_t bit = FIRST_BIT + random_below(&direction->random, bits);

		buffer->data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
	}
	direction->counters.corrupted++;
}

bool fault_duplicate(struct direction *direction)
{
	return happens(direction, direction->faults.duplicate);
}

static uint64_t up_to(struct direction *direction, uint64_t limit)
{
	return limit ? 1 + random_below(&direction->random, limit) : 0;
}

/* `last` moves with every frame but those that are reordered: order is kept among the others. */
uint64_t fault_delay(struct direction *direction, uint64_t when)
{
	const struct loop_faults *faults = &direction->faults;

	if (happens(direction, faults->late)) {
		direction->counters.delayed++;
		when += up_to(direction, faults->late_by);
	}
	if (when < direction->last)
		when = direction->last;
	if (happens(direction, faults->reorder)) {
		direction->counters.reordered++;
		return when + up_to(direction, faults->reorder_by);
	}
	direction->last = when;
	return when;
}
