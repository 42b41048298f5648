/* SPDX-License-Identifier: BSD-3-Clause */
/* Events: the ring and the eventfd that counts it, as a program sees them that polls. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "eventring.h"
#include "patience.h"
#include "views.h"

#define MIB (1ull << 20)

struct fixture {
	struct views views;
	struct eventring engine;
	struct eventring_front front;
	int fd;
};

static void start(struct fixture *fixture, uint32_t depth, int flags)
{
	*fixture = (struct fixture){.fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC | flags)};
	CU_ASSERT_TRUE_FATAL(fixture->fd >= 0);
	views_open(&fixture->views, MIB);
	CU_ASSERT_EQUAL_FATAL(
		eventring_create(fixture->views.region, depth, fixture->fd, &fixture->engine), 0);
	CU_ASSERT_EQUAL_FATAL(eventring_front_init(&fixture->front, &fixture->views.front,
				      fixture->engine.ref, fixture->fd),
		0);
}

static void stop(struct fixture *fixture)
{
	eventring_destroy(fixture->views.region, &fixture->engine);
	views_close(&fixture->views);
	CU_ASSERT_EQUAL(close(fixture->fd), 0); /* it stayed ours */
}

static bool readable(const struct fixture *fixture)
{
	struct pollfd poll_fd = {.fd = fixture->fd, .events = POLLIN};

	return poll(&poll_fd, 1, 0) == 1;
}

/* The object, or UINT32_MAX if there is no event. */
static uint32_t next(struct fixture *fixture)
{
	struct uroce_abi_event event;

	if (!readable(fixture) || eventring_wait(&fixture->front))
		return UINT32_MAX;
	return eventring_pop(&fixture->front, &event) ? event.object : UINT32_MAX;
}

/* Readable as long as there are events: one count an event. */
static void count_is_events(void)
{
	static const uint32_t starts[] = {0, 2, UINT32_MAX - 1, UINT32_MAX};

	for (unsigned int s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
		struct fixture fixture;
		struct uroce_abi_event event;

		start(&fixture, 3, 0);
		fixture.engine.produced = starts[s];
		fixture.engine.ring->producer.index = starts[s];
		fixture.engine.ring->consumer.index = starts[s];
		fixture.front.consumed = starts[s];
		CU_ASSERT_FALSE(readable(&fixture));
		CU_ASSERT_FALSE(eventring_pop(&fixture.front, &event));
		for (uint32_t lap = 0; lap < 10; lap++) {
			CU_ASSERT_EQUAL(
				eventring_push(&fixture.engine, UROCE_ABI_EVENT_COMP, lap), 0);
			CU_ASSERT_EQUAL(eventring_push(&fixture.engine, IBV_EVENT_COMM_EST, 77), 0);
			CU_ASSERT_EQUAL(eventring_wait(&fixture.front), 0);
			CU_ASSERT_TRUE(eventring_pop(&fixture.front, &event));
			CU_ASSERT_EQUAL(event.type, 0xffffffff);
			CU_ASSERT_EQUAL(event.object, lap);
			CU_ASSERT_TRUE(readable(&fixture));
			CU_ASSERT_EQUAL(eventring_wait(&fixture.front), 0);
			CU_ASSERT_TRUE(eventring_pop(&fixture.front, &event));
			CU_ASSERT_EQUAL(event.type, 4); /* enum ibv_event_type */
			CU_ASSERT_EQUAL(event.object, 77);
			CU_ASSERT_FALSE(readable(&fixture));
		}
		stop(&fixture);
	}
}

/* A full ring takes no more; the caller tries again, and nothing was lost or counted twice. */
static void full(void)
{
	static const uint32_t depths[] = {1, 2, 3, 64};

	for (unsigned int d = 0; d < sizeof(depths) / sizeof(depths[0]); d++) {
		struct fixture fixture;

		start(&fixture, depths[d], 0);
		for (uint32_t i = 0; i < depths[d]; i++)
			CU_ASSERT_EQUAL(eventring_push(&fixture.engine, 1, i), 0);
		CU_ASSERT_EQUAL(eventring_push(&fixture.engine, 1, depths[d]), -EAGAIN);
		CU_ASSERT_EQUAL(eventring_push(&fixture.engine, 1, depths[d]), -EAGAIN);
		CU_ASSERT_EQUAL(next(&fixture), 0);
		CU_ASSERT_EQUAL(eventring_push(&fixture.engine, 1, depths[d]), 0);
		for (uint32_t i = 1; i <= depths[d]; i++)
			CU_ASSERT_EQUAL(next(&fixture), i);
		CU_ASSERT_EQUAL(next(&fixture), UINT32_MAX);
		stop(&fixture);
	}
}

static void nonblocking(void)
{
	struct fixture fixture;

	start(&fixture, 4, 0);
	CU_ASSERT_EQUAL_FATAL(fcntl(fixture.fd, F_SETFL, O_NONBLOCK), 0); /* as programs do */
	CU_ASSERT_EQUAL(eventring_wait(&fixture.front), -EAGAIN);
	CU_ASSERT_EQUAL(eventring_push(&fixture.engine, 1, 5), 0);
	CU_ASSERT_EQUAL(eventring_wait(&fixture.front), 0);
	CU_ASSERT_EQUAL(eventring_wait(&fixture.front), -EAGAIN);
	stop(&fixture);
}

/* eventring_try() waits for nothing, on a descriptor that blocks too. */
static void without_waiting(void)
{
	static const int flags[] = {0, EFD_NONBLOCK};

	for (unsigned int i = 0; i < 2; i++) {
		struct fixture fixture;

		start(&fixture, 4, flags[i]);
		CU_ASSERT_FALSE(eventring_try(&fixture.front));
		CU_ASSERT_EQUAL(eventring_push(&fixture.engine, 1, 5), 0);
		CU_ASSERT_EQUAL(eventring_push(&fixture.engine, 1, 6), 0);
		CU_ASSERT_TRUE(eventring_try(&fixture.front));
		CU_ASSERT_TRUE(eventring_try(&fixture.front));
		CU_ASSERT_FALSE(eventring_try(&fixture.front));
		stop(&fixture);
	}
}

/* Edge-triggered epoll reports each event that comes, as on a uverbs file. */
static void edge_triggered(void)
{
	struct fixture fixture;
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	start(&fixture, 4, EFD_NONBLOCK);
	CU_ASSERT_EQUAL_FATAL(epoll_ctl(epoll, EPOLL_CTL_ADD, fixture.fd, &event), 0);
	CU_ASSERT_EQUAL(epoll_wait(epoll, &event, 1, 0), 0);
	for (uint32_t i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(eventring_push(&fixture.engine, 1, i), 0);
		CU_ASSERT_EQUAL(epoll_wait(epoll, &event, 1, 0), 1);
		CU_ASSERT_EQUAL(epoll_wait(epoll, &event, 1, 0), 0);
	}
	for (uint32_t i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(next(&fixture), i);
	close(epoll);
	stop(&fixture);
}

/* ---- waiting ---- */

struct waiter {
	struct fixture *fixture;
	pthread_t thread;
	uint32_t waiting; /* atomic */
	int result;
	uint32_t object;
};

static void *wait_once(void *argument)
{
	struct waiter *waiter = argument;
	struct uroce_abi_event event = {.object = UINT32_MAX};

	__atomic_store_n(&waiter->waiting, 1, __ATOMIC_RELEASE);
	waiter->result = eventring_wait(&waiter->fixture->front);
	if (waiter->result == 0)
		eventring_pop(&waiter->fixture->front, &event);
	waiter->object = event.object;
	__atomic_store_n(&waiter->waiting, 2, __ATOMIC_RELEASE);
	return NULL;
}

static void blocks_until_pushed(void)
{
	struct fixture fixture;
	struct waiter waiter = {.fixture = &fixture};
	struct timespec moment = {.tv_nsec = 20000000};

	start(&fixture, 4, 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&waiter.thread, NULL, wait_once, &waiter), 0);
	CU_ASSERT_TRUE(WAIT_FOR(__atomic_load_n(&waiter.waiting, __ATOMIC_ACQUIRE) == 1));
	nanosleep(&moment, NULL);
	CU_ASSERT_EQUAL(__atomic_load_n(&waiter.waiting, __ATOMIC_ACQUIRE), 1);
	CU_ASSERT_EQUAL(eventring_push(&fixture.engine, 1, 42), 0);
	pthread_join(waiter.thread, NULL);
	CU_ASSERT_EQUAL(waiter.result, 0);
	CU_ASSERT_EQUAL(waiter.object, 42);
	stop(&fixture);
}

static void do_nothing(int number)
{
}

/* Without SA_RESTART a signal ends the wait, as man ibv_get_cq_event's callers expect of a read. */
static void interrupted(void)
{
	struct sigaction action = {.sa_handler = do_nothing}, saved;
	struct fixture fixture;
	struct waiter waiter = {.fixture = &fixture};
	struct timespec moment = {.tv_nsec = 1000000};

	start(&fixture, 4, 0);
	sigaction(SIGUSR1, &action, &saved);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&waiter.thread, NULL, wait_once, &waiter), 0);
	for (unsigned int i = 0;
		i < 20000 && __atomic_load_n(&waiter.waiting, __ATOMIC_ACQUIRE) != 2; i++) {
		pthread_kill(waiter.thread, SIGUSR1); /* again: it may not have read yet */
		nanosleep(&moment, NULL);
	}
	CU_ASSERT_EQUAL(__atomic_load_n(&waiter.waiting, __ATOMIC_ACQUIRE), 2);
	pthread_join(waiter.thread, NULL);
	CU_ASSERT_EQUAL(waiter.result, -EINTR);
	sigaction(SIGUSR1, &saved, NULL);
	stop(&fixture);
}

/* ---- purge ---- */

static bool is_object(const struct uroce_abi_event *event, const void *context)
{
	const uint32_t *object = context;

	return event->object == *object;
}

static uint32_t purge(struct fixture *fixture, uint32_t object)
{
	return eventring_purge(&fixture->front, is_object, &object);
}

/* The dead object's events go from the ring and from the count; the others keep their order. */
static void purge_uncounts(void)
{
	static const int flags[] = {0, EFD_NONBLOCK};

	for (unsigned int i = 0; i < 2; i++) {
		static const uint32_t objects[] = {7, 1, 7, 7, 2, 3, 7};
		struct fixture fixture;

		start(&fixture, 8, flags[i]);
		CU_ASSERT_EQUAL(purge(&fixture, 7), 0);
		for (unsigned int n = 0; n < 7; n++)
			CU_ASSERT_EQUAL(eventring_push(&fixture.engine, 1, objects[n]), 0);
		CU_ASSERT_EQUAL(purge(&fixture, 7), 4);
		CU_ASSERT_EQUAL(purge(&fixture, 7), 0);
		CU_ASSERT_EQUAL(next(&fixture), 1);
		CU_ASSERT_EQUAL(next(&fixture), 2);
		CU_ASSERT_EQUAL(next(&fixture), 3);
		CU_ASSERT_FALSE(readable(&fixture));
		for (unsigned int n = 0; n < 8; n++)
			CU_ASSERT_EQUAL(eventring_push(&fixture.engine, 1, 9), 0);
		CU_ASSERT_EQUAL(purge(&fixture, 9), 8);
		CU_ASSERT_FALSE(readable(&fixture));
		stop(&fixture);
	}
}

/* A waiter that has the count but not yet the event finds nothing, and the purge doesn't block. */
static void purge_behind_a_waiter(void)
{
	struct fixture fixture;
	struct uroce_abi_event event;

	start(&fixture, 8, 0);
	CU_ASSERT_EQUAL(eventring_push(&fixture.engine, 1, 7), 0);
	CU_ASSERT_EQUAL(eventring_wait(&fixture.front), 0);
	CU_ASSERT_EQUAL(purge(&fixture, 7), 1);
	CU_ASSERT_FALSE(eventring_pop(&fixture.front, &event));
	CU_ASSERT_FALSE(readable(&fixture));
	CU_ASSERT_EQUAL(eventring_push(&fixture.engine, 1, 7), 0);
	CU_ASSERT_EQUAL(eventring_push(&fixture.engine, 1, 8), 0);
	CU_ASSERT_EQUAL(eventring_wait(&fixture.front), 0);
	CU_ASSERT_EQUAL(purge(&fixture, 7), 1);
	CU_ASSERT_TRUE(eventring_pop(&fixture.front, &event));
	CU_ASSERT_EQUAL(event.object, 8);
	CU_ASSERT_FALSE(readable(&fixture));
	stop(&fixture);
}

/* ---- several cores ---- */

#define CORES 2u
#define PUSHES 30000u

struct pusher {
	struct fixture *fixture;
	pthread_t thread;
	uint32_t number;
	bool starved;
};

static void *push_all(void *argument)
{
	struct pusher *pusher = argument;
	struct eventring *engine = &pusher->fixture->engine;

	for (uint32_t i = 0; i < PUSHES && !pusher->starved; i++)
		pusher->starved = !WAIT_FOR(eventring_push(engine, pusher->number, i) == 0);
	return NULL;
}

static void several_cores(void)
{
	struct pusher pushers[CORES];
	uint32_t expected[CORES] = {0}, wrong = 0;
	struct fixture fixture;

	start(&fixture, 5, 0);
	for (uint32_t i = 0; i < CORES; i++) {
		pushers[i] = (struct pusher){.fixture = &fixture, .number = i};
		CU_ASSERT_EQUAL_FATAL(
			pthread_create(&pushers[i].thread, NULL, push_all, &pushers[i]), 0);
	}
	for (uint32_t i = 0; i < CORES * PUSHES; i++) {
		struct uroce_abi_event event;

		wrong += eventring_wait(&fixture.front) != 0;
		wrong += !eventring_pop(&fixture.front, &event);
		wrong += event.type >= CORES || event.object != expected[event.type % CORES]++;
	}
	for (uint32_t i = 0; i < CORES; i++) {
		pthread_join(pushers[i].thread, NULL);
		CU_ASSERT_FALSE(pushers[i].starved);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_FALSE(readable(&fixture));
	stop(&fixture);
}

static void init_refuses(void)
{
	struct fixture fixture;
	struct eventring_front front;
	struct eventring engine;

	start(&fixture, 4, 0);
	CU_ASSERT_EQUAL(eventring_front_init(&front, &fixture.views.front, 0, 0), -EPROTO);
	fixture.engine.ring->fixed.stride = 128;
	CU_ASSERT_EQUAL(
		eventring_front_init(&front, &fixture.views.front, fixture.engine.ref, 0), -EPROTO);
	CU_ASSERT_EQUAL(
		eventring_create(fixture.views.region, 1u << 20, fixture.fd, &engine), -ENOMEM);
	stop(&fixture);
}

static const struct unit_case cases[] = {
	UNIT_CASE(count_is_events),
	UNIT_CASE(full),
	UNIT_CASE(nonblocking),
	UNIT_CASE(without_waiting),
	UNIT_CASE(edge_triggered),
	UNIT_CASE(blocks_until_pushed),
	UNIT_CASE(interrupted),
	UNIT_CASE(purge_uncounts),
	UNIT_CASE(purge_behind_a_waiter),
	UNIT_CASE(several_cores),
	UNIT_CASE(init_refuses),
};

UNIT_MAIN("queue-eventring", cases)
