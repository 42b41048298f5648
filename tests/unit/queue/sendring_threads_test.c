/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posting threads and an engine core: nothing that was posted is left lying, and each thread's
 * requests stay in order. Posting is what the front does: reserve, write, publish, announce.
 *
 * The two-thread races are run for a number of rounds or a few seconds, whichever ends first; the
 * threads meet in each round, since in a free run a later post would heal a lost announcement.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

#include "patience.h"
#include "random.h"
#include "sendring.h"
#include "views.h"
#include "wq.h"

#define MIB (1ull << 20)
#define QUEUES 3u
#define POSTERS 4u
#define POSTS 200000u /* a poster */
#define CHAIN_MAX 5u
#define RACE_NS 4000000000ull

struct fixture {
	struct views views;
	struct sendring_set *set;
	struct wq_engine engine[QUEUES];
	struct wq_front front[QUEUES];
};

static void start(struct fixture *fixture, bool hostile, uint32_t depth)
{
	struct region *region;

	views_open(&fixture->views, 4 * MIB);
	region = fixture->views.region;
	CU_ASSERT_EQUAL_FATAL(sendring_set_create(region, QUEUES, hostile, &fixture->set), 0);
	for (uint32_t i = 0; i < QUEUES; i++) {
		CU_ASSERT_EQUAL_FATAL(wq_create(region, depth, 0, 0, &fixture->engine[i]), 0);
		CU_ASSERT_EQUAL_FATAL(wq_front_init(&fixture->front[i], &fixture->views.front,
					      fixture->engine[i].ref, false),
			0);
	}
}

static void stop(struct fixture *fixture)
{
	sendring_set_destroy(fixture->views.region, fixture->set);
	for (uint32_t i = 0; i < QUEUES; i++)
		wq_destroy(fixture->views.region, &fixture->engine[i]);
	views_close(&fixture->views);
}

static void attach(struct fixture *fixture, struct sendring_front *sendring)
{
	uroce_abi_ref ref = 0;
	uint32_t bit;

	CU_ASSERT_EQUAL_FATAL(sendring_attach(fixture->views.region, fixture->set, &ref, &bit), 0);
	CU_ASSERT_EQUAL_FATAL(sendring_front_init(sendring, &fixture->views.front, ref), 0);
}

/* ---- many posters ---- */

struct poster {
	struct fixture *fixture;
	struct sendring_front sendring;
	pthread_t thread;
	uint32_t number;
	bool starved;
};

static uint32_t post_chain(struct poster *poster, uint32_t queue, uint32_t first, uint32_t wanted)
{
	struct wq_front *front = &poster->fixture->front[queue];
	uint32_t position, count = 0;

	if (!WAIT_FOR((count = wq_reserve(front, wanted, &position)) > 0))
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		struct uroce_abi_send_wqe *wqe = wq_slot(front, position + i);

		wqe->wr_id = (uint64_t)poster->number << 32 | (first + i);
		wqe->wr.remote.address = ~wqe->wr_id;
	}
	for (uint32_t i = 0; i < count; i++)
		wq_publish(front, position + i);
	sendring_announce(&poster->sendring, front->ring, queue);
	return count;
}

static void *post_all(void *argument)
{
	struct poster *poster = argument;
	uint32_t posted[QUEUES] = {0};
	struct random random;

	random_seed(&random, 1000 + poster->number);
	for (uint32_t total = 0; total < POSTS;) {
		uint32_t queue = (uint32_t)random_below(&random, QUEUES);
		uint32_t wanted = 1 + (uint32_t)random_below(&random, CHAIN_MAX);
		uint32_t count = post_chain(poster, queue, posted[queue],
			wanted < POSTS - total ? wanted : POSTS - total);

		if (count == 0) {
			poster->starved = true;
			break;
		}
		posted[queue] += count;
		total += count;
	}
	return NULL;
}

/* What the core has seen. */
struct seen {
	uint32_t next[QUEUES][POSTERS];
	uint32_t total;
	uint32_t wrong;
};

/*
 * Releases at the end only, as if all were polled then: an atomic operation in the loop would be a
 * barrier that the engine doesn't have.
 */
static void drain(struct fixture *fixture, uint32_t queue, struct seen *seen)
{
	struct uroce_abi_send_wqe wqe;
	uint32_t before = seen->total;
	uint32_t position;

	while (wq_take(&fixture->engine[queue], &wqe, NULL, 0, &position)) {
		uint32_t poster = (uint32_t)(wqe.wr_id >> 32);

		seen->wrong += wqe.wr.remote.address != ~wqe.wr_id || poster >= POSTERS ||
			(uint32_t)wqe.wr_id != seen->next[queue][poster % POSTERS];
		seen->next[queue][poster % POSTERS]++;
		seen->total++;
	}
	if (seen->total != before)
		wq_release(&fixture->front[queue], position + 1);
}

static uint32_t core_round(struct fixture *fixture, struct seen *seen)
{
	uint32_t announcements[8];
	uint32_t taken = sendring_take(fixture->set, announcements, 8);

	for (uint32_t i = 0; i < taken; i++) {
		if (announcements[i] >= QUEUES) {
			seen->wrong++;
			continue;
		}
		sendring_taken(fixture->engine[announcements[i]].ring);
		drain(fixture, announcements[i], seen);
	}
	return taken;
}

static void many_posters(bool hostile)
{
	struct poster posters[POSTERS];
	struct seen seen = {.total = 0};
	struct fixture fixture;

	start(&fixture, hostile, 50);
	for (uint32_t i = 0; i < POSTERS; i++) {
		posters[i] = (struct poster){.fixture = &fixture, .number = i};
		attach(&fixture, &posters[i].sendring);
		CU_ASSERT_EQUAL_FATAL(
			pthread_create(&posters[i].thread, NULL, post_all, &posters[i]), 0);
	}
	while (seen.total < POSTERS * POSTS)
		if (!WAIT_FOR(core_round(&fixture, &seen) > 0))
			break;
	for (uint32_t i = 0; i < POSTERS; i++) {
		pthread_join(posters[i].thread, NULL);
		CU_ASSERT_FALSE(posters[i].starved);
	}
	CU_ASSERT_EQUAL(seen.total, POSTERS * POSTS);
	CU_ASSERT_EQUAL(seen.wrong, 0);
	CU_ASSERT_TRUE(sendring_empty(fixture.set));
	for (uint32_t i = 0; i < QUEUES; i++) {
		CU_ASSERT_FALSE(wq_ready(&fixture.engine[i]));
		CU_ASSERT_EQUAL(fixture.front[i].ring->flag.word, 0);
	}
	stop(&fixture);
}

static void many_posters_in_process(void)
{
	many_posters(false);
}

static void many_posters_attached(void)
{
	many_posters(true);
}

/* ---- announce and park ---- */

#define PARK_ROUNDS 3000000u

/*
 * Two requests a round. The second comes while the core takes the announcement of the first: either
 * its poster finds the flag clear and announces, or the core finds the request.
 */
struct race {
	struct fixture fixture;
	struct sendring_front sendring;
	uint32_t done; /* atomic: requests that the core has seen */
	uint32_t stop; /* atomic */
	sem_t wake;
	bool overslept;
};

static bool post_one(struct race *race)
{
	struct wq_front *front = &race->fixture.front[0];
	uint32_t position;

	if (wq_reserve(front, 1, &position) != 1)
		return false;
	wq_publish(front, position);
	return sendring_announce(&race->sendring, front->ring, 0);
}

static uint32_t loaded(uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Around what the last rounds said is the time of the race, wider and narrower in turns. */
static uint32_t shift(uint32_t delay, uint32_t round)
{
	uint32_t spread = 16u << (round / 1024 % 7);
	uint32_t back = delay < spread / 2 ? delay : spread / 2;

	return delay - back + round % spread;
}

static void *park_core(void *argument)
{
	struct race *race = argument;
	struct seen seen = {.total = 0};

	while (!loaded(&race->stop))
		if (core_round(&race->fixture, &seen))
			__atomic_store_n(&race->done, seen.total, __ATOMIC_RELEASE);
	return NULL;
}

static void announce_and_park(void)
{
	struct race race = {.done = 0};
	uint64_t end = now_ns() + RACE_NS;
	uint32_t rounds = 0, found_clear = 0, delay = 0;
	bool lost = false;
	pthread_t core;

	start(&race.fixture, false, 2);
	attach(&race.fixture, &race.sendring);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&core, NULL, park_core, &race), 0);
	while (rounds < PARK_ROUNDS && !lost && (rounds % 1024 || now_ns() < end)) {
		post_one(&race);
		pause_for(shift(delay, rounds));
		if (post_one(&race)) {
			found_clear++;
			delay -= delay / 16; /* keep near the race */
		} else {
			delay += 4;
		}
		rounds++;
		lost = !WAIT_FOR(loaded(&race.done) == 2 * rounds);
	}
	__atomic_store_n(&race.stop, 1, __ATOMIC_RELEASE);
	pthread_join(core, NULL);
	CU_ASSERT_FALSE(lost);
	CU_ASSERT_TRUE(rounds > 1000);
	CU_ASSERT_TRUE(one_core() || (found_clear > 0 && found_clear < rounds));
	stop(&race.fixture);
}

/* ---- sleep and wake ---- */

#define SLEEP_ROUNDS 2000000u

/* True: woken, or there was no need to sleep. */
static bool sleep_core(struct race *race)
{
	struct uroce_abi_header *header = region_header(race->fixture.views.engine);
	struct timespec limit;

	sendring_sleep(header, 5);
	if (!sendring_empty(race->fixture.set) || loaded(&race->stop)) {
		sendring_awake(header, 5);
		return true;
	}
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += 20;
	while (sem_timedwait(&race->wake, &limit))
		if (errno != EINTR)
			return false;
	return true;
}

static void *sleepy_core(void *argument)
{
	struct race *race = argument;
	struct seen seen = {.total = 0};

	while (!loaded(&race->stop) && !race->overslept) {
		if (core_round(&race->fixture, &seen))
			__atomic_store_n(&race->done, seen.total, __ATOMIC_RELEASE);
		else
			race->overslept = !sleep_core(race);
	}
	return NULL;
}

/* A wake-up that comes when the core has changed its mind is one too many, which does no harm. */
static void sleep_and_wake(void)
{
	struct race race = {.done = 0};
	struct uroce_abi_header *header;
	uint64_t end = now_ns() + RACE_NS;
	uint32_t rounds = 0, woken = 0, delay = 0;
	bool lost = false;
	pthread_t core;

	start(&race.fixture, false, 2);
	attach(&race.fixture, &race.sendring);
	sem_init(&race.wake, 0, 0);
	header = region_header(&race.fixture.views.front);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&core, NULL, sleepy_core, &race), 0);
	while (rounds < SLEEP_ROUNDS && !lost && (rounds % 1024 || now_ns() < end)) {
		pause_for(shift(delay, rounds));
		if (post_one(&race) && sendring_wakes(header, 5)) {
			sem_post(&race.wake);
			woken++;
			delay -= delay / 16;
		} else {
			delay += 4;
		}
		rounds++;
		lost = !WAIT_FOR(loaded(&race.done) == rounds);
	}
	__atomic_store_n(&race.stop, 1, __ATOMIC_RELEASE);
	sem_post(&race.wake);
	pthread_join(core, NULL);
	CU_ASSERT_FALSE(lost);
	CU_ASSERT_FALSE(race.overslept);
	CU_ASSERT_TRUE(rounds > 1000);
	CU_ASSERT_TRUE(one_core() || (woken > 0 && woken < rounds));
	sem_destroy(&race.wake);
	stop(&race.fixture);
}

static const struct unit_case cases[] = {
	UNIT_CASE(many_posters_in_process),
	UNIT_CASE(many_posters_attached),
	UNIT_CASE(announce_and_park),
	UNIT_CASE(sleep_and_wake),
};

UNIT_MAIN("queue-sendring_threads", cases)
