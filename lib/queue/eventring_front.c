/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events, the front's side. The eventfd counts the events in the ring, less those whose waiters are
 * on their way from the descriptor to the ring.
 */
#include <errno.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include "eventring.h"
#include "ring.h"

int eventring_front_init(
	struct eventring_front *events, const struct region_view *view, uroce_abi_ref ref, int fd)
{
	struct ring_shape shape;
	int error = ring_open(view, ref, &shape);

	if (error)
		return error;
	if (shape.stride != sizeof(struct uroce_abi_event))
		return -EPROTO;
	*events = (struct eventring_front){
		.ring = shape.ring,
		.slots = (struct uroce_abi_event *)(void *)shape.slots,
		.mask = shape.mask,
		.consumed = __atomic_load_n(&shape.ring->consumer.index, __ATOMIC_RELAXED),
		.fd = fd,
	};
	return 0;
}

int eventring_wait(const struct eventring_front *events)
{
	uint64_t count;

	return read(events->fd, &count, sizeof(count)) == sizeof(count) ? 0 : -errno;
}

/* Acquire: pairs with the release in publish() of eventring.c. */
static uint32_t produced(const struct eventring_front *events)
{
	return __atomic_load_n(&events->ring->producer.index, __ATOMIC_ACQUIRE);
}

/* Release: pairs with the acquire in publish() of eventring.c. */
static void step(struct eventring_front *events, uint32_t count)
{
	events->consumed += count;
	__atomic_store_n(&events->ring->consumer.index, events->consumed, __ATOMIC_RELEASE);
}

bool eventring_pop(struct eventring_front *events, struct uroce_abi_event *event)
{
	if (produced(events) == events->consumed)
		return false;
	*event = events->slots[events->consumed & events->mask];
	step(events, 1);
	return true;
}

/*
 * Takes one from the count without waiting, whatever O_NONBLOCK says: the descriptor's flag is the
 * program's, and a waiter may be faster than a poll() before the read. RWF_NOWAIT works on eventfds
 * since Linux 5.8 (fs/eventfd.c, eventfd_read()).
 */
bool eventring_try(const struct eventring_front *events)
{
	uint64_t count;
	struct iovec vector = {.iov_base = &count, .iov_len = sizeof(count)};
	struct pollfd readable = {.fd = events->fd, .events = POLLIN};

	if (preadv2(events->fd, &vector, 1, -1, RWF_NOWAIT) == sizeof(count))
		return true;
	if (errno != EOPNOTSUPP || poll(&readable, 1, 0) != 1)
		return false;
	return read(events->fd, &count, sizeof(count)) == sizeof(count);
}

struct purge {
	bool (*match)(const struct uroce_abi_event *event, const void *context);
	const void *context;
};

static bool purge_match(const void *record, void *context)
{
	const struct purge *purge = context;

	return purge->match(record, purge->context);
}

/* What cannot be uncounted has been read by a waiter, who will find nothing and wait again. */
uint32_t eventring_purge(struct eventring_front *events,
	bool (*match)(const struct uroce_abi_event *event, const void *context),
	const void *context)
{
	struct purge purge = {.match = match, .context = context};
	uint32_t removed = ring_purge((uint8_t *)events->slots, events->mask, events->consumed,
		produced(events), purge_match, &purge);

	step(events, removed);
	for (uint32_t i = 0; i < removed && eventring_try(events); i++)
		continue;
	return removed;
}
