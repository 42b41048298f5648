/* SPDX-License-Identifier: BSD-3-Clause */
/* Events, the engine's side. The consumer index is the client's word: it decides only about room.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "eventring.h"
#include "ring.h"

int eventring_create(struct region *region, uint32_t depth, int fd, struct eventring *events)
{
	struct ring_place place;
	int error = ring_create(region, depth, sizeof(struct uroce_abi_event), &place);

	if (error)
		return error;
	*events = (struct eventring){
		.ring = place.ring,
		.slots = (struct uroce_abi_event *)(void *)place.slots,
		.ref = place.ref,
		.slots_ref = place.slots_ref,
		.mask = place.count - 1,
		.depth = depth,
		.fd = fd,
	};
	return 0;
}

void eventring_destroy(struct region *region, struct eventring *events)
{
	ring_destroy(region, events->ref, events->slots_ref,
		(uint64_t)(events->mask + 1) * sizeof(struct uroce_abi_event));
	memset(events, 0, sizeof(*events));
	events->fd = -1;
}

/* Several cores may have an event for one channel. Held for one record's writing. */
static void lock(struct eventring *events)
{
	while (__atomic_exchange_n(&events->busy, 1, __ATOMIC_ACQUIRE))
		continue;
}

static void unlock(struct eventring *events)
{
	__atomic_store_n(&events->busy, 0, __ATOMIC_RELEASE);
}

static bool publish(struct eventring *events, uint32_t type, uint32_t object)
{
	struct uroce_abi_ring *ring = events->ring;
	/* Acquire: pairs with the release in step() of eventring_front.c. */
	uint32_t consumed = __atomic_load_n(&ring->consumer.index, __ATOMIC_ACQUIRE);
	struct uroce_abi_event *slot = &events->slots[events->produced & events->mask];

	if (events->produced - consumed >= events->depth)
		return false;
	*slot = (struct uroce_abi_event){.type = type, .object = object};
	events->produced++;
	/* Release: pairs with the acquire in produced() of eventring_front.c. */
	__atomic_store_n(&ring->producer.index, events->produced, __ATOMIC_RELEASE);
	return true;
}

/*
 * The record first, the count afterwards: whoever has read the count finds a record. The count
 * cannot overflow by our own writes (the ring is smaller); if the owner of the descriptor has
 * spoilt it, the loss is his.
 */
int eventring_push(struct eventring *events, uint32_t type, uint32_t object)
{
	uint64_t one = 1;
	ssize_t ignored;
	bool published;

	lock(events);
	published = publish(events, type, object);
	unlock(events);
	if (!published)
		return -EAGAIN;
	ignored = write(events->fd, &one, sizeof(one));
	(void)ignored;
	return 0;
}
