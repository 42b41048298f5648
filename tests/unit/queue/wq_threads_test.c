/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work queues with several threads: posting out of order, an SRQ. tests/stress has what two cores
 * that claim tell the client, and the notice of a flushing RQ.
 */
#include <pthread.h>
#include <stdlib.h>

#include "patience.h"
#include "views.h"
#include "wq.h"

#define MIB (1ull << 20)

struct fixture {
	struct views views;
	struct wq_engine engine;
	struct wq_front front;
	uint32_t step; /* atomic */
	uint32_t stop; /* atomic */
};

static void start(struct fixture *fixture, uint32_t depth, bool shared)
{
	*fixture = (struct fixture){.step = 0};
	views_open(&fixture->views, 4 * MIB);
	CU_ASSERT_EQUAL_FATAL(wq_create(fixture->views.region, depth, 1, 0, &fixture->engine), 0);
	CU_ASSERT_EQUAL_FATAL(
		wq_front_init(&fixture->front, &fixture->views.front, fixture->engine.ref, shared),
		0);
}

static void stop(struct fixture *fixture)
{
	wq_destroy(fixture->views.region, &fixture->engine);
	views_close(&fixture->views);
}

static uint32_t load(uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void store(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static void write_id(struct wq_front *front, uint32_t position, uint64_t wr_id)
{
	struct uroce_abi_send_wqe *wqe = wq_slot(front, position);

	wqe->wr_id = wr_id;
	wqe->wr.remote.address = ~wr_id;
}

/* ---- two posters, the later one publishes first ---- */

static void *post_slowly(void *argument)
{
	struct fixture *fixture = argument;
	uint32_t position = 99;

	CU_ASSERT_EQUAL(wq_reserve(&fixture->front, 1, &position), 1);
	write_id(&fixture->front, position, 1);
	store(&fixture->step, 1);
	CU_ASSERT_TRUE(WAIT_FOR(load(&fixture->step) == 2));
	wq_publish(&fixture->front, position);
	store(&fixture->step, 3);
	return NULL;
}

static void out_of_order(void)
{
	struct fixture fixture;
	struct uroce_abi_send_wqe wqe;
	pthread_t thread;
	uint32_t position;

	start(&fixture, 4, false);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, post_slowly, &fixture), 0);
	CU_ASSERT_TRUE(WAIT_FOR(load(&fixture.step) == 1));
	CU_ASSERT_EQUAL(wq_reserve(&fixture.front, 2, &position), 2);
	write_id(&fixture.front, position, 2);
	write_id(&fixture.front, position + 1, 3);
	wq_publish(&fixture.front, position);
	wq_publish(&fixture.front, position + 1);
	CU_ASSERT_FALSE(wq_ready(&fixture.engine));
	store(&fixture.step, 2);
	CU_ASSERT_TRUE(WAIT_FOR(load(&fixture.step) == 3));
	CU_ASSERT_EQUAL(wq_count(&fixture.engine, 9), 3);
	for (uint64_t id = 1; id <= 3; id++) {
		CU_ASSERT_TRUE(wq_take(&fixture.engine, &wqe, NULL, 0, &position));
		CU_ASSERT_EQUAL(wqe.wr_id, id);
	}
	pthread_join(thread, NULL);
	stop(&fixture);
}

/* ---- two posters that hold one request each, in a queue for two ---- */

#define RESERVES 300000u

struct holder {
	struct fixture *fixture;
	uint32_t refused;
};

static void *reserve_one(void *argument)
{
	struct holder *holder = argument;
	struct wq_front *front = &holder->fixture->front;

	for (uint32_t i = 0; i < RESERVES; i++) {
		uint32_t position = 0;

		if (wq_reserve(front, 1, &position) == 1)
			wq_release(front, position + 1);
		else
			holder->refused++;
	}
	return NULL;
}

/* There is always room, however old the position is that a thread has read. */
static void never_full_by_mistake(void)
{
	struct fixture fixture;
	struct holder holders[2] = {{.fixture = &fixture}, {.fixture = &fixture}};
	pthread_t threads[2];

	start(&fixture, 2, false);
	for (uint32_t i = 0; i < 2; i++)
		CU_ASSERT_EQUAL_FATAL(
			pthread_create(&threads[i], NULL, reserve_one, &holders[i]), 0);
	for (uint32_t i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		CU_ASSERT_EQUAL(holders[i].refused, 0);
	}
	CU_ASSERT_EQUAL(fixture.front.ring->producer.index, 2 * RESERVES);
	stop(&fixture);
}

/* ---- an SRQ: two posters, two cores ---- */

#define SHARED_POSTS 100000u /* a poster */
#define POSTERS 2u
#define CORES 2u
#define TOTAL (POSTERS * SHARED_POSTS)

struct worker {
	struct fixture *fixture;
	pthread_t thread;
	uint32_t number;
	uint32_t claimed; /* atomic */
	uint32_t torn;
	uint32_t disordered;
	uint32_t starved;
	uint8_t *seen; /* all cores': one byte a request */
};

static void *post_shared(void *argument)
{
	struct worker *worker = argument;
	struct wq_front *front = &worker->fixture->front;

	for (uint32_t i = 0; i < SHARED_POSTS;) {
		uint32_t wanted = i + 3 < SHARED_POSTS ? 3 : SHARED_POSTS - i;
		uint32_t position, count = 0;

		if (!WAIT_FOR((count = wq_reserve(front, wanted, &position)) > 0)) {
			worker->starved = 1;
			break;
		}
		for (uint32_t n = 0; n < count; n++, i++) {
			write_id(front, position + n, worker->number * SHARED_POSTS + i);
			wq_publish(front, position + n);
		}
	}
	return NULL;
}

/* Each core sees a poster's requests in order, though not all of them. */
static void *claim_shared(void *argument)
{
	struct worker *worker = argument;
	uint64_t last[POSTERS] = {0};

	while (!load(&worker->fixture->stop)) {
		struct uroce_abi_send_wqe wqe;
		uint64_t poster;

		if (!wq_claim(&worker->fixture->engine, &wqe, NULL, 0)) {
			sched_yield();
			continue;
		}
		poster = wqe.wr_id / SHARED_POSTS;
		worker->torn += wqe.wr.remote.address != ~wqe.wr_id;
		if (poster < POSTERS) {
			worker->disordered += wqe.wr_id + 1 <= last[poster];
			last[poster] = wqe.wr_id + 1;
			__atomic_fetch_add(&worker->seen[wqe.wr_id], 1, __ATOMIC_RELAXED);
		}
		__atomic_fetch_add(&worker->claimed, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void srq(void)
{
	uint8_t *seen = calloc(TOTAL, 1);
	struct worker posters[POSTERS] = {0}, cores[CORES] = {0};
	struct fixture fixture;
	uint32_t wrong = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(seen);
	start(&fixture, 13, true);
	for (uint32_t i = 0; i < CORES; i++) {
		cores[i] = (struct worker){.fixture = &fixture, .seen = seen};
		CU_ASSERT_EQUAL_FATAL(
			pthread_create(&cores[i].thread, NULL, claim_shared, &cores[i]), 0);
	}
	for (uint32_t i = 0; i < POSTERS; i++) {
		posters[i] = (struct worker){.fixture = &fixture, .number = i};
		CU_ASSERT_EQUAL_FATAL(
			pthread_create(&posters[i].thread, NULL, post_shared, &posters[i]), 0);
	}
	for (uint32_t i = 0; i < POSTERS; i++) {
		pthread_join(posters[i].thread, NULL);
		CU_ASSERT_EQUAL(posters[i].starved, 0);
	}
	CU_ASSERT_TRUE(WAIT_FOR(load(&cores[0].claimed) + load(&cores[1].claimed) == TOTAL));
	store(&fixture.stop, 1);
	for (uint32_t i = 0; i < CORES; i++) {
		pthread_join(cores[i].thread, NULL);
		CU_ASSERT_EQUAL(cores[i].torn, 0);
		CU_ASSERT_EQUAL(cores[i].disordered, 0);
	}
	for (uint32_t i = 0; i < TOTAL; i++)
		wrong += seen[i] != 1;
	CU_ASSERT_EQUAL(wrong, 0);
	free(seen);
	/* The consumer index has caught up, whichever core was last. */
	CU_ASSERT_EQUAL(fixture.front.ring->consumer.index, TOTAL);
	CU_ASSERT_EQUAL(wq_outstanding(&fixture.front), 0);
	stop(&fixture);
}

static const struct unit_case cases[] = {
	UNIT_CASE(out_of_order),
	UNIT_CASE(never_full_by_mistake),
	UNIT_CASE(srq),
};

UNIT_MAIN("queue-wq_threads", cases)
