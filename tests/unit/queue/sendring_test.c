/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Send rings: announcing, taking, threads that come and go. Every case runs with rings as they are
 * in process and with those of another process; sendring_threads_test.c has the threads.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sendring.h"
#include "views.h"
#include "wq.h"

#define MIB (1ull << 20)
#define QUOTA 5u
#define TAKE 64u

struct fixture {
	struct views views;
	struct sendring_set *set;
	struct wq_engine queues[QUOTA];
};

static void start(struct fixture *fixture, bool hostile)
{
	views_open(&fixture->views, 16 * MIB);
	CU_ASSERT_EQUAL_FATAL(
		sendring_set_create(fixture->views.region, QUOTA, hostile, &fixture->set), 0);
	for (uint32_t i = 0; i < QUOTA; i++)
		CU_ASSERT_EQUAL_FATAL(
			wq_create(fixture->views.region, 1, 0, 0, &fixture->queues[i]), 0);
}

static void stop(struct fixture *fixture)
{
	sendring_set_destroy(fixture->views.region, fixture->set);
	for (uint32_t i = 0; i < QUOTA; i++)
		wq_destroy(fixture->views.region, &fixture->queues[i]);
	views_close(&fixture->views);
}

static void attach(struct fixture *fixture, struct sendring_front *front, uint32_t *bit)
{
	uroce_abi_ref ref = 0;

	CU_ASSERT_EQUAL_FATAL(sendring_attach(fixture->views.region, fixture->set, &ref, bit), 0);
	CU_ASSERT_EQUAL_FATAL(sendring_front_init(front, &fixture->views.front, ref), 0);
}

/* The queue's record as the front has it. */
static struct uroce_abi_ring *front_queue(struct fixture *fixture, uint32_t n)
{
	return region_at(
		&fixture->views.front, fixture->queues[n].ref, sizeof(struct uroce_abi_ring));
}

static bool announce(struct fixture *fixture, struct sendring_front *front, uint32_t n)
{
	return sendring_announce(front, front_queue(fixture, n), n);
}

/* Takes everything; "" if there is nothing, else one letter an announcement. */
static const char *take(struct fixture *fixture, char letters[TAKE + 1], uint32_t count)
{
	uint32_t announcements[TAKE];
	uint32_t taken = sendring_take(fixture->set, announcements, count);

	for (uint32_t i = 0; i < taken; i++)
		letters[i] = (char)('a' + (announcements[i] & ~SENDRING_RECV));
	letters[taken] = 0;
	return letters;
}

/* Once until it is taken, then again. */
static void announces_once(bool hostile)
{
	struct fixture fixture;
	struct sendring_front front;
	char letters[TAKE + 1];
	uint32_t bit;

	start(&fixture, hostile);
	CU_ASSERT_TRUE(sendring_empty(fixture.set));
	CU_ASSERT_STRING_EQUAL(take(&fixture, letters, TAKE), "");
	attach(&fixture, &front, &bit);
	CU_ASSERT_TRUE(sendring_empty(fixture.set));
	for (unsigned int i = 0; i < 1000; i++) {
		CU_ASSERT_TRUE(announce(&fixture, &front, 0));
		CU_ASSERT_FALSE(announce(&fixture, &front, 0));
		CU_ASSERT_TRUE(announce(&fixture, &front, 3));
		CU_ASSERT_FALSE(sendring_empty(fixture.set));
		CU_ASSERT_STRING_EQUAL(take(&fixture, letters, TAKE), "ad");
		CU_ASSERT_TRUE(sendring_empty(fixture.set));
		CU_ASSERT_FALSE(announce(&fixture, &front, 0)); /* not parked yet */
		sendring_taken(fixture.queues[0].ring);
		sendring_taken(fixture.queues[3].ring);
	}
	stop(&fixture);
}

/* The value comes out as it went in. */
static void values(bool hostile)
{
	static const uint32_t rows[] = {
		0, 1, 0x7fffffff, SENDRING_RECV, SENDRING_RECV | 77, UINT32_MAX};
	struct fixture fixture;
	struct sendring_front front;
	uint32_t bit, value;

	start(&fixture, hostile);
	attach(&fixture, &front, &bit);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CU_ASSERT_TRUE(sendring_announce(&front, front_queue(&fixture, 0), rows[i]));
		CU_ASSERT_EQUAL(sendring_take(fixture.set, &value, 1), 1);
		CU_ASSERT_EQUAL(value, rows[i]);
		sendring_taken(fixture.queues[0].ring);
	}
	stop(&fixture);
}

/* Two announcements for each QP of the quota fit (send and receive queue), on one thread's ring. */
static void quota_fits(bool hostile)
{
	static const uint32_t quotas[] = {0, 1, 2, 3, 4, 7, 8, 500};

	for (unsigned int q = 0; q < sizeof(quotas) / sizeof(quotas[0]); q++) {
		struct views views;
		struct sendring_set *set;
		struct sendring_front front;
		struct uroce_abi_ring *queues = calloc(1001, sizeof(*queues));
		uint32_t bit, value, wrong = 0;
		uroce_abi_ref ref;

		views_open(&views, MIB);
		CU_ASSERT_EQUAL(sendring_set_create(views.region, quotas[q], hostile, &set), 0);
		CU_ASSERT_EQUAL_FATAL(sendring_attach(views.region, set, &ref, &bit), 0);
		CU_ASSERT_EQUAL_FATAL(sendring_front_init(&front, &views.front, ref), 0);
		for (unsigned int lap = 0; lap < 5; lap++) {
			for (uint32_t i = 0; i < 2 * quotas[q]; i++)
				wrong += !sendring_announce(&front, &queues[i], i);
			for (uint32_t i = 0; i < 2 * quotas[q]; i++) {
				wrong += sendring_take(set, &value, 1) != 1 || value != i;
				sendring_taken(&queues[i]);
			}
		}
		CU_ASSERT_EQUAL(wrong, 0);
		sendring_set_destroy(views.region, set);
		views_close(&views);
		free(queues);
	}
}

/* If the ring is full against all rules, the flag doesn't stay set with nobody to clear it. */
static void full_takes_back(bool hostile)
{
	struct fixture fixture;
	struct sendring_front front;
	uint32_t bit, announced = 0;
	struct uroce_abi_ring *queue;

	start(&fixture, hostile);
	attach(&fixture, &front, &bit);
	queue = front_queue(&fixture, 0);
	while (sendring_announce(&front, queue, 1) && announced < 1000) {
		announced++;
		sendring_taken(queue);
	}
	CU_ASSERT_TRUE(announced >= 2 * QUOTA && announced < 1000);
	CU_ASSERT_EQUAL(queue->flag.word, 0);
	stop(&fixture);
}

/* A thread that announces a lot doesn't keep the others waiting. */
static void round_robin(bool hostile)
{
	struct fixture fixture;
	struct sendring_front fronts[3];
	char letters[TAKE + 1];
	uint32_t bit;

	start(&fixture, hostile);
	for (unsigned int i = 0; i < 3; i++)
		attach(&fixture, &fronts[i], &bit);
	announce(&fixture, &fronts[0], 0);
	announce(&fixture, &fronts[0], 1);
	announce(&fixture, &fronts[0], 2);
	announce(&fixture, &fronts[1], 3);
	announce(&fixture, &fronts[2], 4);
	CU_ASSERT_STRING_EQUAL(take(&fixture, letters, 0), "");
	CU_ASSERT_STRING_EQUAL(take(&fixture, letters, 1), "a");
	CU_ASSERT_STRING_EQUAL(take(&fixture, letters, 1), "d");
	CU_ASSERT_STRING_EQUAL(take(&fixture, letters, 1), "e");
	CU_ASSERT_STRING_EQUAL(take(&fixture, letters, 1), "b");
	CU_ASSERT_STRING_EQUAL(take(&fixture, letters, TAKE), "c");
	CU_ASSERT_STRING_EQUAL(take(&fixture, letters, TAKE), "");
	stop(&fixture);
}

/* ---- threads come and go ---- */

static void as_many_as_fit(bool hostile)
{
	struct fixture fixture;
	char letters[TAKE + 1];
	struct sendring_front last;
	uroce_abi_ref ref;
	uint32_t bit;

	start(&fixture, hostile);
	for (uint32_t i = 0; i < SENDRING_MAX - 1; i++) {
		CU_ASSERT_EQUAL(sendring_attach(fixture.views.region, fixture.set, &ref, &bit), 0);
		CU_ASSERT_EQUAL(bit, i);
	}
	attach(&fixture, &last, &bit);
	CU_ASSERT_EQUAL(bit, SENDRING_MAX - 1);
	CU_ASSERT_EQUAL(sendring_attach(fixture.views.region, fixture.set, &ref, &bit), -EAGAIN);
	CU_ASSERT_TRUE(announce(&fixture, &last, 2));
	CU_ASSERT_FALSE(sendring_empty(fixture.set));
	CU_ASSERT_STRING_EQUAL(take(&fixture, letters, TAKE), "c");
	CU_ASSERT_EQUAL(sendring_detach(fixture.views.region, fixture.set, 600), 0);
	CU_ASSERT_EQUAL(sendring_detach(fixture.views.region, fixture.set, 600), -EINVAL);
	CU_ASSERT_EQUAL(sendring_attach(fixture.views.region, fixture.set, &ref, &bit), 0);
	CU_ASSERT_EQUAL(bit, 600);
	stop(&fixture);
}

static void detach_refuses(bool hostile)
{
	static const uint32_t rows[] = {0, 1, SENDRING_MAX - 1, SENDRING_MAX, UINT32_MAX};
	struct fixture fixture;

	start(&fixture, hostile);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CU_ASSERT_EQUAL(
			sendring_detach(fixture.views.region, fixture.set, rows[i]), -EINVAL);
	stop(&fixture);
}

/* What a thread announced before it left is taken; its ring goes afterwards. */
static void detach_with_announcements(bool hostile)
{
	struct fixture fixture;
	struct sendring_front front, other;
	char letters[TAKE + 1];
	uint32_t bit, other_bit;
	uint64_t before;

	start(&fixture, hostile);
	before = region_used(fixture.views.region);
	attach(&fixture, &front, &bit);
	CU_ASSERT_TRUE(announce(&fixture, &front, 1));
	CU_ASSERT_EQUAL(sendring_detach(fixture.views.region, fixture.set, bit), 0);
	CU_ASSERT_EQUAL(sendring_detach(fixture.views.region, fixture.set, bit), -EINVAL);
	attach(&fixture, &other, &other_bit);
	CU_ASSERT_NOT_EQUAL(other_bit, bit);
	CU_ASSERT_STRING_EQUAL(take(&fixture, letters, TAKE), "b");
	CU_ASSERT_EQUAL(sendring_detach(fixture.views.region, fixture.set, other_bit), 0);
	CU_ASSERT_EQUAL(region_used(fixture.views.region), before);
	stop(&fixture);
}

static void loop_without_growth(bool hostile)
{
	struct fixture fixture;
	struct sendring_front front;
	char letters[TAKE + 1];
	uint32_t bit;

	start(&fixture, hostile);
	for (unsigned int i = 0; i < 50000; i++) { /* 16 MiB hold fewer rings than that */
		attach(&fixture, &front, &bit);
		announce(&fixture, &front, 0);
		take(&fixture, letters, TAKE);
		sendring_taken(fixture.queues[0].ring);
		sendring_detach(fixture.views.region, fixture.set, bit);
	}
	CU_ASSERT_EQUAL(bit, 0);
	stop(&fixture);
}

static void create_refuses(bool hostile)
{
	struct views views;
	struct sendring_set *set = NULL;
	uroce_abi_ref ref;
	uint32_t bit;

	views_open(&views, MIB);
	CU_ASSERT_EQUAL(sendring_set_create(views.region, UINT32_MAX, hostile, &set), -ENOMEM);
	CU_ASSERT_PTR_NULL(set);
	CU_ASSERT_EQUAL_FATAL(sendring_set_create(views.region, MIB, hostile, &set), 0);
	CU_ASSERT_EQUAL(sendring_attach(views.region, set, &ref, &bit), -ENOMEM);
	sendring_set_destroy(views.region, set);
	sendring_set_destroy(views.region, NULL);
	views_close(&views);
}

static void front_refuses(bool hostile)
{
	struct fixture fixture;
	struct sendring_front front;
	uroce_abi_ref ref;
	uint32_t bit;

	start(&fixture, hostile);
	CU_ASSERT_EQUAL_FATAL(sendring_attach(fixture.views.region, fixture.set, &ref, &bit), 0);
	CU_ASSERT_EQUAL(sendring_front_init(&front, &fixture.views.front, 0), -EPROTO);
	CU_ASSERT_EQUAL(sendring_front_init(&front, &fixture.views.front, ref + 16 * MIB), -EPROTO);
	CU_ASSERT_EQUAL(sendring_front_init(
				&front, &fixture.views.front, fixture.queues[0].ref), /* not one */
		-EPROTO);
	stop(&fixture);
}

/* ---- sleep ---- */

static void wakes_once(bool hostile)
{
	struct fixture fixture;
	struct uroce_abi_header *engine, *front;

	start(&fixture, hostile);
	engine = region_header(fixture.views.engine);
	front = region_header(&fixture.views.front);
	CU_ASSERT_FALSE(sendring_wakes(front, 3));
	sendring_sleep(engine, 3);
	CU_ASSERT_FALSE(sendring_wakes(front, 2));
	CU_ASSERT_TRUE(sendring_wakes(front, 3));
	CU_ASSERT_FALSE(sendring_wakes(front, 3));
	sendring_sleep(engine, 3);
	sendring_awake(engine, 3);
	CU_ASSERT_FALSE(sendring_wakes(front, 3));
	stop(&fixture);
}

#define BOTH(name)                                                                                 \
	static void name##_in_process(void)                                                        \
	{                                                                                          \
		name(false);                                                                       \
	}                                                                                          \
	static void name##_attached(void)                                                          \
	{                                                                                          \
		name(true);                                                                        \
	}

BOTH(announces_once)
BOTH(values)
BOTH(quota_fits)
BOTH(full_takes_back)
BOTH(round_robin)
BOTH(as_many_as_fit)
BOTH(detach_refuses)
BOTH(detach_with_announcements)
BOTH(loop_without_growth)
BOTH(create_refuses)
BOTH(front_refuses)
BOTH(wakes_once)

#define ROOM (64 * MIB)

/* Bytes of the region that are in memory: mincore(2). */
static uint64_t resident(const struct region *region)
{
	static uint8_t pages[ROOM / 4096];
	uint64_t count = 0;

	CU_ASSERT_EQUAL_FATAL(mincore(region_engine_view(region)->base, ROOM, pages), 0);
	for (uint64_t i = 0; i < ROOM / 4096; i++)
		count += pages[i] & 1;
	return count * 4096;
}

/* A ring has room for two announcements of each of the engine's QPs; a thread that posts to one of
 * them needs a page or two of it, and nothing once it has left. */
static void a_ring_takes_what_is_used(void)
{
	struct sendring_front front;
	struct sendring_set *set;
	struct region *region;
	struct wq_engine queue;
	uint64_t before;
	uroce_abi_ref ref;
	uint32_t bit, one;

	CU_ASSERT_EQUAL_FATAL(region_create(ROOM, false, 1, &region), 0);
	CU_ASSERT_EQUAL_FATAL(sendring_set_create(region, 65536, false, &set), 0);
	CU_ASSERT_EQUAL_FATAL(wq_create(region, 1, 0, 0, &queue), 0);
	before = resident(region);
	for (unsigned int i = 0; i < 8; i++) {
		CU_ASSERT_EQUAL_FATAL(sendring_attach(region, set, &ref, &bit), 0);
		CU_ASSERT_EQUAL_FATAL(
			sendring_front_init(&front, region_engine_view(region), ref), 0);
		CU_ASSERT(sendring_announce(&front, queue.ring, 1));
		CU_ASSERT_EQUAL(sendring_take(set, &one, 1), 1);
		sendring_taken(queue.ring);
	}
	CU_ASSERT(resident(region) <= before + 8 * 8192);
	for (bit = 0; bit < 8; bit++)
		CU_ASSERT_EQUAL(sendring_detach(region, set, bit), 0);
	CU_ASSERT(resident(region) <= before);
	wq_destroy(region, &queue);
	sendring_set_destroy(region, set);
	region_destroy(region);
}

#define CASES(name) UNIT_CASE(name##_in_process), UNIT_CASE(name##_attached)

static const struct unit_case cases[] = {
	CASES(announces_once),
	CASES(values),
	CASES(quota_fits),
	CASES(full_takes_back),
	CASES(round_robin),
	CASES(as_many_as_fit),
	CASES(detach_refuses),
	CASES(detach_with_announcements),
	CASES(loop_without_growth),
	CASES(create_refuses),
	CASES(front_refuses),
	CASES(wakes_once),
	UNIT_CASE(a_ring_takes_what_is_used),
};

UNIT_MAIN("queue-sendring", cases)
