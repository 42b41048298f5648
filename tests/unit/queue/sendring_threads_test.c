/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posting threads and an engine core: nothing that was posted is left lying, and each thread's
 * requests stay in order. Posting is what the front does: reserve, write, publish, announce.
 *
 * The two-thread races are run for a number of rounds or a few seconds, whichever ends first; the
 * threads meet in each round, since in a free run a later post would heal a lost announcement. Here
 * the core's whole round is at work; tests/stress has the decisions alone, many more of them.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

#include "patience.h"
#include "race.h"
#include "random.h"
#include "sendring.h"
#include "views.h"
#include "wq.h"

#define MIB (1ull << 20)
#define QUEUES 3u
#define POSTERS 4u
#define POSTS 200000u /* a poster */
#define CHAIN_MAX 5u

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
	while (core_round(&fixture, &seen)) /* announced after the core had found the requests */
		continue;
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

#define PARK_ROUNDS 500000u

struct pair {
	struct fixture fixture;
	struct sendring_front sendring;
	uint32_t done; /* atomic: requests that the core has seen */
	uint32_t stop; /* atomic */
	sem_t wake;
	bool overslept;
};

static void start_pair(struct pair *pair)
{
	*pair = (struct pair){.done = 0};
	start(&pair->fixture, false, 2);
	attach(&pair->fixture, &pair->sendring);
	sem_init(&pair->wake, 0, 0);
}

static void stop_pair(struct pair *pair)
{
	sem_destroy(&pair->wake);
	stop(&pair->fixture);
}

static bool post_one(struct pair *pair)
{
	struct wq_front *front = &pair->fixture.front[0];
	uint32_t position;

	if (wq_reserve(front, 1, &position) != 1)
		return false;
	wq_publish(front, position);
	return sendring_announce(&pair->sendring, front->ring, 0);
}

static uint32_t loaded(uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void stored(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static void *park_core(void *argument)
{
	struct pair *pair = argument;
	struct seen seen = {.total = 0};

	while (!loaded(&pair->stop))
		if (core_round(&pair->fixture, &seen))
			stored(&pair->done, seen.total);
	return NULL;
}

/*
 * Two requests a round. The second comes while the core takes the announcement of the first: either
 * its poster finds the flag clear and announces, or the core finds the request.
 */
static void announce_and_park(void)
{
	struct pair pair;
	uint32_t round = 0;
	bool lost = false;
	struct race race;

	start_pair(&pair);
	race_start(&race, park_core, &pair);
	while (!lost && race_goes_on(&race, round, PARK_ROUNDS)) {
		post_one(&pair);
		race_wait(&race, round++);
		race_was(&race, !post_one(&pair));
		lost = !WAIT_FOR(loaded(&pair.done) == 2 * round);
	}
	stored(&pair.stop, 1);
	race_end(&race);
	CU_ASSERT_FALSE(lost);
	stop_pair(&pair);
}

/* ---- sleep and wake ---- */

#define SLEEP_ROUNDS 100000u
#define CORE 5u

/* True: woken, or there was no need to sleep. */
static bool sleep_core(struct pair *pair)
{
	struct uroce_abi_header *header = region_header(pair->fixture.views.engine);
	struct timespec limit;

	sendring_sleep(header, CORE);
	if (!sendring_empty(pair->fixture.set) || loaded(&pair->stop)) {
		sendring_awake(header, CORE);
		return true;
	}
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += 20;
	while (sem_timedwait(&pair->wake, &limit))
		if (errno != EINTR)
			return false;
	return true;
}

static void *sleepy_core(void *argument)
{
	struct pair *pair = argument;
	struct seen seen = {.total = 0};

	while (!loaded(&pair->stop) && !pair->overslept) {
		if (core_round(&pair->fixture, &seen))
			stored(&pair->done, seen.total);
		else
			pair->overslept = !sleep_core(pair);
	}
	return NULL;
}

/* A wake-up that comes when the core has changed its mind is one too many, which does no harm. */
static void sleep_and_wake(void)
{
	struct pair pair;
	uint32_t round = 0;
	bool lost = false;
	struct race race;

	start_pair(&pair);
	race_start(&race, sleepy_core, &pair);
	while (!lost && race_goes_on(&race, round, SLEEP_ROUNDS)) {
		bool woke;

		race_wait(&race, round++);
		woke = post_one(&pair) &&
			sendring_wakes(region_header(&pair.fixture.views.front), CORE);
		if (woke)
			sem_post(&pair.wake);
		race_was(&race, !woke);
		lost = !WAIT_FOR(loaded(&pair.done) == round);
	}
	stored(&pair.stop, 1);
	sem_post(&pair.wake);
	race_end(&race);
	CU_ASSERT_FALSE(lost);
	CU_ASSERT_FALSE(pair.overslept);
	stop_pair(&pair);
}

static const struct unit_case cases[] = {
	UNIT_CASE(many_posters_in_process),
	UNIT_CASE(many_posters_attached),
	UNIT_CASE(announce_and_park),
	UNIT_CASE(sleep_and_wake),
};

UNIT_MAIN("queue-sendring_threads", cases)
