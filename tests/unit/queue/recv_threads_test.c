/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A receive queue with several posting threads and the core that takes from it, as packets come and
 * without being told; until its QP flushes, and the core looks only at what is announced. No
 * receive may be left behind by the change.
 */
#include <pthread.h>

#include "patience.h"
#include "sendring.h"
#include "views.h"
#include "wq.h"

#define MIB (1ull << 20)
#define POSTERS 3u
#define VISITS 300u /* of the QP to ERR */
#define POSTS 200u  /* a poster and visit */

struct poster {
	struct fixture *fixture;
	struct sendring_front sendring;
	pthread_t thread;
	uint32_t number;
	bool starved;
};

struct fixture {
	struct views views;
	struct sendring_set *set;
	struct wq_engine engine;
	struct wq_front front;
	struct poster posters[POSTERS];
	uint32_t visit; /* atomic: the posters may post for it */
	uint32_t next[POSTERS];
	uint32_t total;
	uint32_t wrong;
};

static void start(struct fixture *fixture)
{
	struct region *region;

	*fixture = (struct fixture){.visit = 0};
	views_open(&fixture->views, 4 * MIB);
	region = fixture->views.region;
	CU_ASSERT_EQUAL_FATAL(sendring_set_create(region, 1, false, &fixture->set), 0);
	CU_ASSERT_EQUAL_FATAL(wq_create(region, 21, 1, 0, &fixture->engine), 0);
	CU_ASSERT_EQUAL_FATAL(
		wq_front_init(&fixture->front, &fixture->views.front, fixture->engine.ref, false),
		0);
	for (uint32_t i = 0; i < POSTERS; i++) {
		uroce_abi_ref ref = 0;
		uint32_t bit;

		fixture->posters[i] = (struct poster){.fixture = fixture, .number = i};
		CU_ASSERT_EQUAL_FATAL(sendring_attach(region, fixture->set, &ref, &bit), 0);
		CU_ASSERT_EQUAL_FATAL(sendring_front_init(&fixture->posters[i].sendring,
					      &fixture->views.front, ref),
			0);
	}
}

static void stop(struct fixture *fixture)
{
	sendring_set_destroy(fixture->views.region, fixture->set);
	wq_destroy(fixture->views.region, &fixture->engine);
	views_close(&fixture->views);
}

/* Up to three receives, as ibv_post_recv() does it. */
static uint32_t post(struct poster *poster, uint32_t first, uint32_t wanted)
{
	struct wq_front *front = &poster->fixture->front;
	uint32_t position = 0, count = 0;

	if (!WAIT_FOR((count = wq_reserve(front, wanted < 3 ? wanted : 3, &position)) > 0)) {
		poster->starved = true;
		return 0;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct uroce_abi_recv_wqe *wqe = wq_slot(front, position + i);

		wqe->wr_id = (uint64_t)poster->number << 32 | (first + i);
		wqe->sge_count = ~(first + i);
		wq_publish(front, position + i);
	}
	if (wq_announce_recv(front))
		sendring_announce(&poster->sendring, front->ring, SENDRING_RECV);
	return count;
}

static void *post_all(void *argument)
{
	struct poster *poster = argument;

	for (uint32_t visit = 1; visit <= VISITS && !poster->starved; visit++) {
		uint32_t *allowed = &poster->fixture->visit;

		if (!WAIT_FOR(__atomic_load_n(allowed, __ATOMIC_ACQUIRE) >= visit))
			break;
		for (uint32_t i = (visit - 1) * POSTS; i < visit * POSTS && !poster->starved;)
			i += post(poster, i, visit * POSTS - i);
	}
	return NULL;
}

static bool take(struct fixture *fixture)
{
	struct uroce_abi_recv_wqe wqe;
	uint32_t position, poster;

	if (!wq_take(&fixture->engine, &wqe, NULL, 0, &position))
		return false;
	poster = (uint32_t)(wqe.wr_id >> 32);
	fixture->wrong += poster >= POSTERS || wqe.sge_count != ~(uint32_t)wqe.wr_id ||
		(uint32_t)wqe.wr_id != fixture->next[poster % POSTERS];
	fixture->next[poster % POSTERS]++;
	fixture->total++;
	wq_release(&fixture->front, position + 1);
	return true;
}

/* What an announcement makes the core do. */
static bool answer(struct fixture *fixture)
{
	uint32_t announcement;

	if (sendring_take(fixture->set, &announcement, 1) != 1)
		return false;
	fixture->wrong += announcement != SENDRING_RECV;
	sendring_taken(fixture->engine.ring);
	while (take(fixture))
		continue;
	return true;
}

/* Some by packets; then the QP flushes: all that is there, once, and then what is announced. */
static bool visit_error(struct fixture *fixture, uint32_t visit)
{
	uint32_t all = visit * POSTERS * POSTS;
	uint32_t some = all - POSTERS * POSTS + visit * 7 % (POSTERS * POSTS / 2);

	__atomic_store_n(&fixture->visit, visit, __ATOMIC_RELEASE);
	if (!WAIT_FOR((take(fixture), fixture->total >= some)))
		return false;
	wq_set_notice(&fixture->engine, UROCE_ABI_ANNOUNCE_RECV);
	while (take(fixture))
		continue;
	if (!WAIT_FOR((answer(fixture), fixture->total == all)))
		return false;
	wq_set_notice(&fixture->engine, 0);
	return true;
}

static void flushed_amid_posts(void)
{
	static struct fixture fixture;
	bool lost = false;

	start(&fixture);
	for (uint32_t i = 0; i < POSTERS; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&fixture.posters[i].thread, NULL, post_all,
					      &fixture.posters[i]),
			0);
	for (uint32_t visit = 1; visit <= VISITS && !lost; visit++)
		lost = !visit_error(&fixture, visit);
	for (uint32_t i = 0; i < POSTERS; i++) {
		pthread_join(fixture.posters[i].thread, NULL);
		CU_ASSERT_FALSE(fixture.posters[i].starved);
	}
	CU_ASSERT_FALSE(lost);
	CU_ASSERT_EQUAL(fixture.total, VISITS * POSTERS * POSTS);
	CU_ASSERT_EQUAL(fixture.wrong, 0);
	CU_ASSERT_FALSE(wq_ready(&fixture.engine));
	stop(&fixture);
}

static const struct unit_case cases[] = {
	UNIT_CASE(flushed_amid_posts),
};

UNIT_MAIN("queue-recv_threads", cases)
