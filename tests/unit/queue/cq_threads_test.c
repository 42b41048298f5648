/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queues with engine cores that complete while the program polls, sleeps, resizes and
 * purges: no wake-up lost, no completion lost, order kept. Arming against completing, where in a
 * free run the next completion heals a lost event, is in tests/stress.
 */
#include <errno.h>
#include <pthread.h>

#include "cq.h"
#include "patience.h"
#include "random.h"
#include "views.h"

#define MIB (1ull << 20)
#define CORES 2u

struct fixture {
	struct views views;
	struct cq_ring engine[CORES];
	struct cq_front front;
	uroce_abi_ref refs[CORES];
	uint32_t rings;
	uint32_t events;    /* atomic; stands for the channel */
	uint32_t command;   /* atomic: depth asked for, 0: none */
	int error;	    /* of the command */
	uint32_t stop;	    /* atomic */
	uint64_t limit;	    /* of what the core completes */
	uint64_t completed; /* by it, when it has ended */
};

static void start(struct fixture *fixture, uint32_t rings, uint32_t depth)
{
	*fixture = (struct fixture){.rings = rings};
	views_open(&fixture->views, 4 * MIB);
	for (uint32_t i = 0; i < rings; i++) {
		CU_ASSERT_EQUAL_FATAL(
			cq_ring_create(fixture->views.region, depth, &fixture->engine[i]), 0);
		fixture->refs[i] = fixture->engine[i].ref;
	}
	CU_ASSERT_EQUAL_FATAL(
		cq_front_init(&fixture->front, &fixture->views.front, rings, fixture->refs), 0);
}

static void stop(struct fixture *fixture)
{
	for (uint32_t i = 0; i < fixture->rings; i++)
		cq_ring_destroy(fixture->views.region, &fixture->engine[i]);
	views_close(&fixture->views);
}

static uint32_t loaded(uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void stored(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static bool push(struct cq_ring *ring, uint32_t qp, uint64_t wr_id)
{
	struct uroce_abi_cqe *cqe = cq_slot(ring);

	if (!cqe)
		return false;
	cqe->wr_id = wr_id;
	cqe->qp = qp;
	cqe->timestamp = ~wr_id;
	cq_push(ring, wr_id % 3 == 0);
	return true;
}

static bool raise_event(struct fixture *fixture, uint32_t ring)
{
	if (!cq_arm_check(&fixture->engine[ring], fixture->engine[0].ring))
		return false;
	__atomic_fetch_add(&fixture->events, 1, __ATOMIC_ACQ_REL);
	return true;
}

/* ---- two cores, one program that sleeps ---- */

#define BUSY_COMPLETIONS 200000u

struct core {
	struct fixture *fixture;
	uint32_t ring;
	pthread_t thread;
	bool starved;
};

static void *complete_freely(void *argument)
{
	struct core *core = argument;
	struct cq_ring *ring = &core->fixture->engine[core->ring];

	for (uint64_t i = 0; i < BUSY_COMPLETIONS; i++) {
		if (!WAIT_FOR(cq_pending(ring) < ring->depth)) {
			core->starved = true;
			break;
		}
		push(ring, 1 + core->ring, i);
		raise_event(core->fixture, core->ring);
	}
	return NULL;
}

static void two_cores(void)
{
	struct core cores[CORES];
	struct fixture fixture;
	uint32_t total = 0, armings = 0, seen = 0, wrong = 0;
	uint64_t next[CORES] = {0};
	bool lost = false;

	start(&fixture, CORES, 16);
	for (uint32_t i = 0; i < CORES; i++) {
		cores[i] = (struct core){.fixture = &fixture, .ring = i};
		CU_ASSERT_EQUAL_FATAL(
			pthread_create(&cores[i].thread, NULL, complete_freely, &cores[i]), 0);
	}
	while (total < CORES * BUSY_COMPLETIONS && !lost) {
		struct uroce_abi_cqe cqe;

		cq_arm(&fixture.front, false);
		armings++;
		while (cq_poll(&fixture.front, &cqe)) {
			wrong += cqe.qp < 1 || cqe.qp > CORES || cqe.timestamp != ~cqe.wr_id ||
				cqe.wr_id != next[(cqe.qp - 1) % CORES]++;
			total++;
		}
		if (total == CORES * BUSY_COMPLETIONS)
			break;
		lost = !WAIT_FOR(loaded(&fixture.events) != seen);
		seen = loaded(&fixture.events);
	}
	for (uint32_t i = 0; i < CORES; i++) {
		pthread_join(cores[i].thread, NULL);
		CU_ASSERT_FALSE(cores[i].starved);
	}
	CU_ASSERT_FALSE(lost);
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(total, CORES * BUSY_COMPLETIONS);
	CU_ASSERT_TRUE(fixture.events <= armings);
	CU_ASSERT_FALSE(cq_overrun(&fixture.front));
	stop(&fixture);
}

/* ---- two cores, several threads that poll ---- */

#define POLLERS 3u

/* What the front's lock guards, and what has come. */
struct polls {
	struct fixture *fixture;
	pthread_mutex_t lock;
	uint64_t next[CORES];
	uint32_t total;
	uint32_t wrong;
	uint64_t end;
};

/* One that found nothing lets the cores have the processor. */
static bool poll_locked(struct polls *polls)
{
	struct uroce_abi_cqe cqe;
	bool goes_on, found;

	pthread_mutex_lock(&polls->lock);
	found = cq_poll(&polls->fixture->front, &cqe);
	if (found) {
		polls->wrong += cqe.qp < 1 || cqe.qp > CORES || cqe.timestamp != ~cqe.wr_id ||
			cqe.wr_id != polls->next[(cqe.qp - 1) % CORES]++;
		polls->total++;
	}
	goes_on = polls->total < CORES * BUSY_COMPLETIONS && (found || now_ns() < polls->end);
	pthread_mutex_unlock(&polls->lock);
	if (!found)
		sched_yield();
	return goes_on;
}

static void *poll_all(void *argument)
{
	while (poll_locked(argument))
		continue;
	return NULL;
}

static void several_pollers(void)
{
	struct fixture fixture;
	struct core cores[CORES];
	struct polls polls = {.fixture = &fixture, .end = now_ns() + PATIENCE_NS};
	pthread_t pollers[POLLERS];

	start(&fixture, CORES, 16);
	pthread_mutex_init(&polls.lock, NULL);
	for (uint32_t i = 0; i < CORES; i++) {
		cores[i] = (struct core){.fixture = &fixture, .ring = i};
		CU_ASSERT_EQUAL_FATAL(
			pthread_create(&cores[i].thread, NULL, complete_freely, &cores[i]), 0);
	}
	for (uint32_t i = 0; i < POLLERS; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&pollers[i], NULL, poll_all, &polls), 0);
	for (uint32_t i = 0; i < POLLERS; i++)
		pthread_join(pollers[i], NULL);
	for (uint32_t i = 0; i < CORES; i++) {
		pthread_join(cores[i].thread, NULL);
		CU_ASSERT_FALSE(cores[i].starved);
		CU_ASSERT_EQUAL(polls.next[i], BUSY_COMPLETIONS);
	}
	CU_ASSERT_EQUAL(polls.wrong, 0);
	CU_ASSERT_FALSE(cq_overrun(&fixture.front));
	pthread_mutex_destroy(&polls.lock);
	stop(&fixture);
}

/* ---- resize under load ---- */

#define LOAD_COMPLETIONS 300000u /* at least, and until there were enough of both: */
#define RESIZED 101u
#define REFUSED 1u

/* Completes whenever there is room, and carries out what is asked for in between. */
static void *complete_and_obey(void *argument)
{
	struct fixture *fixture = argument;
	struct cq_ring *ring = &fixture->engine[0];
	uint64_t next = 0;

	while (!loaded(&fixture->stop)) {
		uint32_t depth = loaded(&fixture->command);

		if (depth) {
			fixture->error = cq_ring_resize(fixture->views.region, ring, depth);
			stored(&fixture->command, 0);
		}
		if (next < fixture->limit && cq_pending(ring) < ring->depth)
			next += push(ring, 1 + next % 2, next);
		else
			sched_yield();
	}
	fixture->completed = next;
	return NULL;
}

static uint32_t poll_some(struct fixture *fixture, uint32_t count, uint64_t *next)
{
	struct uroce_abi_cqe cqe;
	uint32_t wrong = 0;

	while (count-- > 0 && cq_poll(&fixture->front, &cqe))
		wrong += cqe.wr_id != (*next)++ || cqe.timestamp != ~cqe.wr_id;
	return wrong;
}

static void resize_under_load(void)
{
	struct fixture fixture;
	struct random random;
	uint32_t wrong = 0, resized = 0, refused = 0;
	uint64_t polled = 0, end = now_ns() + PATIENCE_NS;
	pthread_t core;

	random_seed(&random, 77);
	start(&fixture, 1, 8);
	fixture.limit = UINT64_MAX;
	CU_ASSERT_EQUAL_FATAL(pthread_create(&core, NULL, complete_and_obey, &fixture), 0);
	while ((polled < LOAD_COMPLETIONS || resized < RESIZED || refused < REFUSED) &&
		now_ns() < end) {
		wrong += poll_some(&fixture, (uint32_t)random_below(&random, 200), &polled);
		stored(&fixture.command, 1 + (uint32_t)random_below(&random, 100));
		while (loaded(&fixture.command) && now_ns() < end) {
			wrong += poll_some(&fixture, 1, &polled);
			sched_yield();
		}
		CU_ASSERT_TRUE_FATAL(fixture.error == 0 || fixture.error == -EINVAL);
		resized += fixture.error == 0;
		refused += fixture.error != 0;
		wrong += poll_some(&fixture, (uint32_t)random_below(&random, 8), &polled);
		wrong += cq_front_resize(&fixture.front, fixture.refs) != 0;
	}
	stored(&fixture.stop, 1);
	pthread_join(core, NULL);
	wrong += poll_some(&fixture, UINT32_MAX, &polled);
	CU_ASSERT_EQUAL(polled, fixture.completed);
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_TRUE(resized >= RESIZED);
	CU_ASSERT_TRUE(refused >= REFUSED);
	CU_ASSERT_FALSE(cq_overrun(&fixture.front));
	stop(&fixture);
}

/* ---- purge under load ---- */

static void count_release(void *context, const struct uroce_abi_cqe *cqe)
{
	uint32_t *count = context;

	*count += cqe->qp == 2;
}

/* QP 2's completions are polled or purged, QP 1's are polled, all of them and in order. */
static void purge_under_load(void)
{
	struct fixture fixture;
	struct random random;
	uint32_t first = 0, second = 0, purged = 0, wrong = 0;
	uint64_t next = 0, end = now_ns() + PATIENCE_NS;
	pthread_t core;

	random_seed(&random, 78);
	start(&fixture, 1, 32);
	fixture.limit = LOAD_COMPLETIONS;
	CU_ASSERT_EQUAL_FATAL(pthread_create(&core, NULL, complete_and_obey, &fixture), 0);
	while (first + second + purged < LOAD_COMPLETIONS && now_ns() < end) {
		struct uroce_abi_cqe cqe;

		for (uint64_t n = random_below(&random, 40); n > 0 && cq_poll(&fixture.front, &cqe);
			n--) {
			wrong += cqe.wr_id < next || cqe.timestamp != ~cqe.wr_id;
			wrong += cqe.qp == 1 && cqe.wr_id != 2ull * first;
			next = cqe.wr_id + 1;
			first += cqe.qp == 1;
			second += cqe.qp == 2;
		}
		cq_purge(&fixture.front, 2, count_release, &purged);
		sched_yield();
	}
	stored(&fixture.stop, 1);
	pthread_join(core, NULL);
	CU_ASSERT_EQUAL(first, LOAD_COMPLETIONS / 2);
	CU_ASSERT_EQUAL(second + purged, LOAD_COMPLETIONS / 2);
	CU_ASSERT_TRUE(purged > 0);
	CU_ASSERT_EQUAL(wrong, 0);
	stop(&fixture);
}

static const struct unit_case cases[] = {
	UNIT_CASE(two_cores),
	UNIT_CASE(several_pollers),
	UNIT_CASE(resize_under_load),
	UNIT_CASE(purge_under_load),
};

UNIT_MAIN("queue-cq_threads", cases)
