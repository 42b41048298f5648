/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames on the way to an end, by arrival: a binary heap. */
#include "wire.h"

static bool before(const struct flight *a, const struct flight *b)
{
	return a->when != b->when ? a->when < b->when : a->order < b->order;
}

void flights_push(struct flights *flights, const struct flight *flight)
{
	uint32_t at = flights->count++;

	while (at > 0 && before(flight, &flights->heap[(at - 1) / 2])) {
		flights->heap[at] = flights->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	flights->heap[at] = *flight;
}

struct flight flights_pop(struct flights *flights)
{
	struct flight first = flights->heap[0];
	struct flight last = flights->heap[--flights->count];
	uint32_t at = 0;

	for (uint32_t child = 1; child < flights->count; child = 2 * at + 1) {
		if (child + 1 < flights->count &&
			before(&flights->heap[child + 1], &flights->heap[child]))
			child++;
		if (!before(&flights->heap[child], &last))
			break;
		flights->heap[at] = flights->heap[child];
		at = child;
	}
	flights->heap[at] = last;
	return first;
}
