/* SPDX-License-Identifier: BSD-3-Clause */
/* Events that find their channel full: kept, told once each when there is room, forgotten with
 * their object. */
#include "events.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "rig.h"

#define DEPTH 4u
#define QPS 3u

struct fixture {
	struct region *region;
	struct worker worker;
	struct engine_channel *channel;
	struct front_channel front;
	struct event_source sources[QPS];
};

static void fixture_open(struct fixture *f)
{
	CU_ASSERT_EQUAL_FATAL(region_create(1 << 20, false, 1, &f->region), 0);
	f->channel = events_channel_create(1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f->channel);
	f->front.fd = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC);
	f->worker.counters = (struct engine_counters){0};
	list_init(&f->worker.kept);
	CU_ASSERT_EQUAL_FATAL(
		eventring_create(f->region, DEPTH, f->front.fd, &f->channel->events), 0);
	CU_ASSERT_EQUAL_FATAL(eventring_front_init(&f->front.events, region_engine_view(f->region),
				      f->channel->events.ref, f->front.fd),
		0);
	for (uint32_t i = 0; i < QPS; i++)
		events_init(&f->sources[i], 10 + i);
}

static void fixture_close(struct fixture *f)
{
	eventring_destroy(f->region, &f->channel->events);
	region_destroy(f->region);
	close(f->front.fd);
	free(f->channel);
}

static void raise(struct fixture *f, uint32_t source, uint32_t type)
{
	events_raise(&f->worker, f->channel, &f->sources[source], type);
}

static void expect(struct fixture *f, uint32_t source, uint32_t type)
{
	uint32_t object;

	CU_ASSERT_EQUAL(front_event(&f->front, &object), type);
	CU_ASSERT_EQUAL(object, 10 + source);
}

static void expect_none(struct fixture *f)
{
	CU_ASSERT_EQUAL(front_event(&f->front, NULL), NO_EVENT);
}

static void told_at_once(void)
{
	static struct fixture f;

	fixture_open(&f);
	raise(&f, 0, IBV_EVENT_COMM_EST);
	raise(&f, 1, UROCE_ABI_EVENT_COMP);
	expect(&f, 0, IBV_EVENT_COMM_EST);
	expect(&f, 1, UROCE_ABI_EVENT_COMP);
	expect_none(&f);
	CU_ASSERT_EQUAL(f.worker.counters.events, 2);
	CU_ASSERT_EQUAL(f.worker.counters.events_kept, 0);
	fixture_close(&f);
}

static void kept_and_told_once(void)
{
	static struct fixture f;

	fixture_open(&f);
	for (uint32_t i = 0; i < DEPTH; i++)
		raise(&f, 0, UROCE_ABI_EVENT_COMP);
	raise(&f, 0, UROCE_ABI_EVENT_COMP);
	raise(&f, 1, IBV_EVENT_COMM_EST);
	raise(&f, 0, UROCE_ABI_EVENT_COMP);
	raise(&f, 1, IBV_EVENT_QP_LAST_WQE_REACHED);
	CU_ASSERT_EQUAL(f.worker.counters.events_kept, 4);
	events_retry(&f.worker); /* still no room */
	for (uint32_t i = 0; i < DEPTH; i++)
		expect(&f, 0, UROCE_ABI_EVENT_COMP);
	expect_none(&f);
	/* Room, but the kept ones come first. */
	raise(&f, 2, IBV_EVENT_COMM_EST);
	expect_none(&f);
	events_retry(&f.worker);
	expect(&f, 0, UROCE_ABI_EVENT_COMP);
	expect(&f, 0, UROCE_ABI_EVENT_COMP);
	expect(&f, 1, IBV_EVENT_COMM_EST);
	expect(&f, 1, IBV_EVENT_QP_LAST_WQE_REACHED);
	expect_none(&f);
	events_retry(&f.worker);
	expect(&f, 2, IBV_EVENT_COMM_EST);
	events_retry(&f.worker);
	expect_none(&f);
	CU_ASSERT(list_empty(&f.worker.kept));
	raise(&f, 2, IBV_EVENT_COMM_EST);
	expect(&f, 2, IBV_EVENT_COMM_EST);
	CU_ASSERT_EQUAL(f.worker.counters.events, DEPTH + 6);
	fixture_close(&f);
}

static void forgotten_with_the_object(void)
{
	static struct fixture f;

	fixture_open(&f);
	for (uint32_t i = 0; i < DEPTH; i++)
		raise(&f, 0, UROCE_ABI_EVENT_COMP);
	raise(&f, 1, IBV_EVENT_COMM_EST);
	raise(&f, 2, IBV_EVENT_COMM_EST);
	events_forget(&f.sources[1]);
	for (uint32_t i = 0; i < DEPTH; i++)
		expect(&f, 0, UROCE_ABI_EVENT_COMP);
	events_retry(&f.worker);
	expect(&f, 2, IBV_EVENT_COMM_EST);
	expect_none(&f);
	fixture_close(&f);
}

static void nobody_listens(void)
{
	static struct fixture f;

	fixture_open(&f);
	events_raise(&f.worker, NULL, &f.sources[0], IBV_EVENT_COMM_EST);
	CU_ASSERT_EQUAL(f.worker.counters.events_unheard, 1);
	events_retry(&f.worker);
	expect_none(&f);
	fixture_close(&f);
}

static const struct unit_case cases[] = {
	UNIT_CASE(told_at_once),
	UNIT_CASE(kept_and_told_once),
	UNIT_CASE(forgotten_with_the_object),
	UNIT_CASE(nobody_listens),
};

UNIT_MAIN("engine-events", cases)
