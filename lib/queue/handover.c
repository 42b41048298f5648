/* SPDX-License-Identifier: BSD-3-Clause */
/* An rte_ring of packets, in memory of ours: no memzone, so that it works without EAL. */
#include <errno.h>
#include <stdlib.h>

#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "handover.h"

#define ENTRY ((unsigned int)sizeof(struct packet))

_Static_assert(sizeof(struct packet) % 4 == 0, "rte_ring copies whole words");

struct handover {
	struct rte_ring ring; /* its entries follow */
};

int handover_create(uint32_t count, struct handover **created)
{
	struct handover *handover;
	ssize_t size;

	if (count < 2) /* rte_ring would take 0, and in 1 there is no room */
		return -EINVAL;
	size = rte_ring_get_memsize_elem(ENTRY, count);
	if (size < 0)
		return -EINVAL;
	handover = aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_CACHE_LINE_ROUNDUP((size_t)size));
	if (!handover)
		return -ENOMEM;
	if (rte_ring_init(&handover->ring, "handover", count, RING_F_SP_ENQ | RING_F_SC_DEQ)) {
		free(handover);
		return -EINVAL;
	}
	*created = handover;
	return 0;
}

void handover_destroy(struct handover *handover)
{
	free(handover);
}

bool handover_put(struct handover *handover, const struct packet *packet)
{
	struct packet copy = *packet; /* rte_ring takes no pointer to const */

	return rte_ring_sp_enqueue_elem(&handover->ring, &copy, ENTRY) == 0;
}

/* As rte_ring_free_count(), whose loads are not atomic. What the other takes meanwhile makes it
 * more. Acquire: pairs with the release of the tail in rte_ring's dequeue. */
uint32_t handover_room(const struct handover *handover)
{
	const struct rte_ring *ring = &handover->ring;

	return ring->capacity + __atomic_load_n(&ring->cons.tail, __ATOMIC_ACQUIRE) -
		__atomic_load_n(&ring->prod.tail, __ATOMIC_RELAXED);
}

uint32_t handover_take(struct handover *handover, struct packet *packets, uint32_t count)
{
	return rte_ring_sc_dequeue_burst_elem(&handover->ring, packets, ENTRY, count, NULL);
}

/* As rte_ring_empty(), whose loads are not atomic. Acquire: pairs with the release of the tail in
 * rte_ring's enqueue. */
bool handover_empty(const struct handover *handover)
{
	const struct rte_ring *ring = &handover->ring;

	return __atomic_load_n(&ring->prod.tail, __ATOMIC_ACQUIRE) ==
		__atomic_load_n(&ring->cons.tail, __ATOMIC_RELAXED);
}
