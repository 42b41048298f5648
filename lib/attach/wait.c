/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting for events. A dedicated engine writes to the descriptor by itself, so reading it is all.
 * One that its clients drive is driven by the waiting thread, busily at first, since an event that
 * comes soon is heard of sooner so; then a progress thread takes over, or, if the engine has none,
 * the waiting thread drives on, once per nap.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "attach.h"

#define BUSY_ROUNDS 2000u
#define NAP_NS 50000

static void close_timer(void *fd)
{
	if (*(int *)fd >= 0)
		close(*(int *)fd);
}

/*
 * Sleeps by reading a timer: what a signal does to a read of a uverbs file (it ends it, or goes on
 * after the handler with SA_RESTART), it does to this one; nanosleep() and poll() always end.
 */
static int nap(int *timer)
{
	struct itimerspec when = {.it_value.tv_nsec = NAP_NS};
	uint64_t expired;

	if (*timer < 0)
		*timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (*timer < 0 || timerfd_settime(*timer, 0, &when, NULL))
		return -errno;
	return read(*timer, &expired, sizeof(expired)) < 0 ? -errno : 0;
}

/* What happened until now was our own driving; from now on it is the progress thread's. */
static int wait_served(struct attach *attach, const struct eventring_front *events)
{
	attach->door->take_over(attach->client);
	return eventring_wait(events);
}

static int drive_until_event(
	struct attach *attach, const struct eventring_front *events, int *timer)
{
	int error = 0;

	for (uint32_t idle = 0; !error; idle++) {
		if (attach_dead(attach))
			return -EIO;
		if (attach_drive(attach) > 0)
			idle = 0;
		if (eventring_try(events))
			return 0;
		if (idle >= BUSY_ROUNDS && attach->served)
			return wait_served(attach, events);
		if (idle >= BUSY_ROUNDS)
			error = nap(timer);
	}
	return error;
}

/* Threads that wait for events are often ended by pthread_cancel(). */
static int wait_cancellable(struct attach *attach, const struct eventring_front *events, int *timer)
{
	int error;

	pthread_cleanup_push(close_timer, timer);
	error = drive_until_event(attach, events, timer);
	pthread_cleanup_pop(1);
	return error;
}

static int wait_inline(struct attach *attach, const struct eventring_front *events)
{
	int timer = -1;

	return wait_cancellable(attach, events, &timer);
}

int attach_wait_event(struct attach *attach, const struct eventring_front *events)
{
	int flags;

	if (attach_dead(attach))
		return -EIO;
	if (attach->dedicated)
		return eventring_wait(events);
	flags = fcntl(events->fd, F_GETFL);
	if (flags < 0)
		return -errno;
	if (!(flags & O_NONBLOCK))
		return wait_inline(attach, events);
	(void)attach_drive(attach);
	return eventring_wait(events);
}
