/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events to an application: a ring in the region and an eventfd (EFD_SEMAPHORE) whose count is the
 * number of events that can be read, so that poll, epoll and O_NONBLOCK work as on a uverbs file.
 * One ring per completion channel, one per context for asynchronous events.
 */
#ifndef UROCE_QUEUE_EVENTRING_H
#define UROCE_QUEUE_EVENTRING_H

#include <stdbool.h>
#include <stdint.h>

#include "region.h"

/* ---- the engine's side ---- */
struct eventring {
	struct uroce_abi_ring *ring;
	struct uroce_abi_event *slots;
	uroce_abi_ref ref;
	uroce_abi_ref slots_ref;
	uint32_t mask;
	uint32_t depth;
	uint32_t produced;
	uint32_t busy; /* atomic; cores that push take turns */
	int fd;
};

/* fd: the eventfd; stays the caller's. 0 or -ENOMEM. */
int eventring_create(struct region *region, uint32_t depth, int fd, struct eventring *events);
void eventring_destroy(struct region *region, struct eventring *events);
/*
 * Any core. -EAGAIN if the ring is full: the caller keeps the event and tries again later; nothing
 * is lost. The write to the eventfd would block if somebody had filled its counter up; who hands
 * events to another process gives a descriptor here whose other end is its own.
 */
int eventring_push(struct eventring *events, uint32_t type, uint32_t object);

/* ---- the front's side; the caller holds the channel's lock ---- */
struct eventring_front {
	struct uroce_abi_ring *ring;
	struct uroce_abi_event *slots;
	uint32_t mask;
	uint32_t consumed;
	int fd;
};

int eventring_front_init(
	struct eventring_front *events, const struct region_view *view, uroce_abi_ref ring, int fd);
/* Blocks on the fd unless it is O_NONBLOCK. 0, -EAGAIN, -EINTR, -errno. Call without the lock; then
 * eventring_pop() with it; if that finds nothing (a purge was faster), wait again. */
int eventring_wait(const struct eventring_front *events);
/* The same without waiting, whatever O_NONBLOCK says: true if there was one. */
bool eventring_try(const struct eventring_front *events);
bool eventring_pop(struct eventring_front *events, struct uroce_abi_event *event);
/* Takes the events that match out of the ring and out of the count (an object is destroyed, and the
 * engine pushes no more events of it); returns how many. */
uint32_t eventring_purge(struct eventring_front *events,
	bool (*match)(const struct uroce_abi_event *event, const void *context),
	const void *context);

#endif
