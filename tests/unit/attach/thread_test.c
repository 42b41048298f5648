/* SPDX-License-Identifier: BSD-3-Clause */
/* Send rings of threads: one each, kept, given back at the end of the thread or the connection. */
#include <pthread.h>

#include "attach.h"
#include "fake.h"
#include "unit.h"

static struct engine *engine;
static struct attach *attach;

static void begin(void)
{
	engine = fake_create("uroce0", false);
	CU_ASSERT_EQUAL_FATAL(attach_open(&uroce_engine_door, engine, &attach), 0);
}

static void end(void)
{
	attach_close(attach);
	fake_destroy(engine);
}

static void *take_ring(void *argument)
{
	struct sendring_front *ring = attach_ring(attach, 0);

	return ring == attach_ring(attach, 0) ? ring->ring : NULL;
}

static void one_each(void)
{
	struct sendring_front *mine;
	pthread_t thread;
	void *ring;

	begin();
	mine = attach_ring(attach, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(mine);
	CU_ASSERT_PTR_EQUAL(attach_ring(attach, 0), mine);
	CU_ASSERT_EQUAL(fake_commands(engine, UROCE_ABI_ATTACH_THREAD), 1);
	pthread_create(&thread, NULL, take_ring, NULL);
	pthread_join(thread, &ring);
	CU_ASSERT_PTR_NOT_NULL(ring);
	CU_ASSERT_PTR_NOT_EQUAL(ring, mine->ring);
	CU_ASSERT_EQUAL(fake_commands(engine, UROCE_ABI_ATTACH_THREAD), 2);
	CU_ASSERT_EQUAL(fake_commands(engine, UROCE_ABI_DETACH_THREAD), 1);
	CU_ASSERT_EQUAL(fake_threads(engine), 1);
	end();
}

/* Thousands of threads, one after the other, need no more rings than run at once. */
static void reused(void)
{
	pthread_t thread;

	begin();
	for (unsigned int i = 0; i < 3000; i++) {
		void *ring;

		pthread_create(&thread, NULL, take_ring, NULL);
		pthread_join(thread, &ring);
		CU_ASSERT_PTR_NOT_NULL_FATAL(ring);
	}
	CU_ASSERT_EQUAL(fake_threads(engine), 0);
	end();
}

/* The record outlives the connection and serves the next one, at whatever address it lies. */
static void connections(void)
{
	for (unsigned int i = 0; i < 10; i++) {
		begin();
		CU_ASSERT_PTR_NOT_NULL(attach_ring(attach, 0));
		CU_ASSERT_EQUAL(fake_commands(engine, UROCE_ABI_ATTACH_THREAD), 1);
		end();
	}
}

static void two_connections(void)
{
	struct sendring_front *first, *second;
	struct attach *other;

	begin();
	CU_ASSERT_EQUAL_FATAL(attach_open(&uroce_engine_door, engine, &other), 0);
	first = attach_ring(attach, 0);
	second = attach_ring(other, 0);
	CU_ASSERT_PTR_NOT_EQUAL(first, second);
	CU_ASSERT_PTR_EQUAL(attach_ring(attach, 0), first);
	CU_ASSERT_PTR_EQUAL(attach_ring(other, 0), second);
	attach_close(other);
	CU_ASSERT_PTR_EQUAL(attach_ring(attach, 0), first);
	end();
}

static pthread_barrier_t barrier;

static void *hold_ring(void *argument)
{
	attach_ring(attach, 0);
	pthread_barrier_wait(&barrier); /* the ring is made */
	pthread_barrier_wait(&barrier); /* the connection is closed */
	return NULL;
}

/* A thread that outlives the connection ends without a command to it. */
static void closed_first(void)
{
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 2);
	begin();
	pthread_create(&thread, NULL, hold_ring, NULL);
	pthread_barrier_wait(&barrier);
	attach_close(attach);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(fake_commands(engine, UROCE_ABI_DETACH_THREAD), 0);
	pthread_barrier_destroy(&barrier);
	fake_destroy(engine);
}

static void refused(void)
{
	begin();
	fake_fail(engine, UROCE_ABI_ATTACH_THREAD, -11);
	CU_ASSERT_PTR_NULL(attach_ring(attach, 0));
	CU_ASSERT_PTR_NULL(attach_ring(attach, 0));
	fake_fail(engine, UROCE_ABI_ATTACH_THREAD, 0);
	CU_ASSERT_PTR_NOT_NULL(attach_ring(attach, 0));
	end();
}

static void *make_and_end(void *argument)
{
	attach_ring(attach, 0);
	pthread_barrier_wait(&barrier);
	return NULL;
}

/* Threads that end while the connection closes: whoever comes first, nothing is touched after. */
static void race(void)
{
	pthread_barrier_init(&barrier, NULL, 5);
	for (unsigned int i = 0; i < 200; i++) {
		pthread_t thread[4];

		begin();
		for (unsigned int n = 0; n < 4; n++)
			pthread_create(&thread[n], NULL, make_and_end, NULL);
		pthread_barrier_wait(&barrier);
		attach_close(attach);
		for (unsigned int n = 0; n < 4; n++)
			pthread_join(thread[n], NULL);
		CU_ASSERT_EQUAL(fake_clients(engine), 0);
		fake_destroy(engine);
	}
	pthread_barrier_destroy(&barrier);
}

static const struct unit_case cases[] = {
	UNIT_CASE(one_each),
	UNIT_CASE(reused),
	UNIT_CASE(connections),
	UNIT_CASE(two_connections),
	UNIT_CASE(closed_first),
	UNIT_CASE(refused),
	UNIT_CASE(race),
};

UNIT_MAIN("attach-thread", cases)
