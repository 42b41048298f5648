/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timer heap beside a model that searches a plain array, and what an expire function may do:
 * set itself, set or cancel others.
 */
#include <errno.h>
#include <stdint.h>

#include "list.h"
#include "random.h"
#include "timer.h"
#include "unit.h"

#define TIMERS 50u

struct probe {
	struct timer timer;
	struct probe *other; /* what the expire function acts on */
	uint64_t again;	     /* when it sets that (or itself) */
	unsigned int ran;
};

/* What the expire functions write down; their context. */
struct record {
	struct timers timers;
	struct probe probes[TIMERS];
	uint64_t now;
	uint64_t last;
	unsigned int ran;
	unsigned int wrong;
	bool pending[TIMERS]; /* the model */
	uint64_t when[TIMERS];
};

static void start(struct record *record, timer_fn *expire)
{
	*record = (struct record){.now = 0};
	CU_ASSERT_EQUAL_FATAL(timers_init(&record->timers), 0);
	CU_ASSERT_EQUAL_FATAL(timers_reserve(&record->timers, TIMERS), 0);
	for (unsigned int i = 0; i < TIMERS; i++)
		timer_init(&record->probes[i].timer, expire);
}

static void count(struct timer *timer, uint64_t now, void *context)
{
	struct record *record = context;

	container_of(timer, struct probe, timer)->ran++;
	record->wrong += timer->when > now || timer->when < record->last || timer_pending(timer);
	record->last = timer->when;
	record->ran++;
}

static void empty(void)
{
	struct record record;

	start(&record, count);
	CU_ASSERT_EQUAL(timers_next(&record.timers), TIMER_NEVER);
	CU_ASSERT_EQUAL(timers_run(&record.timers, UINT64_MAX, &record), 0);
	timer_cancel(&record.timers, &record.probes[0].timer);
	CU_ASSERT_FALSE(timer_pending(&record.probes[0].timer));
	timers_fini(&record.timers);
}

/* Due means when <= now; the last nanosecond before it is too early. */
static void due_at_its_time(void)
{
	struct record record;
	struct timer *timer = &record.probes[0].timer;

	start(&record, count);
	timer_set(&record.timers, timer, 1000);
	CU_ASSERT_TRUE(timer_pending(timer));
	CU_ASSERT_EQUAL(timers_next(&record.timers), 1000);
	CU_ASSERT_EQUAL(timers_run(&record.timers, 999, &record), 0);
	CU_ASSERT_EQUAL(timers_run(&record.timers, 1000, &record), 1);
	CU_ASSERT_FALSE(timer_pending(timer));
	CU_ASSERT_EQUAL(timers_run(&record.timers, 5000, &record), 0);
	CU_ASSERT_EQUAL(record.wrong, 0);
	timers_fini(&record.timers);
}

/* Setting a pending timer moves it, in either direction, and it still runs once. */
static void set_again_moves(void)
{
	struct record record;
	struct timer *timer = &record.probes[0].timer;

	start(&record, count);
	timer_set(&record.timers, &record.probes[1].timer, 500);
	timer_set(&record.timers, timer, 1000);
	timer_set(&record.timers, timer, 100);
	CU_ASSERT_EQUAL(timers_next(&record.timers), 100);
	timer_set(&record.timers, timer, 2000);
	CU_ASSERT_EQUAL(timers_next(&record.timers), 500);
	CU_ASSERT_EQUAL(record.timers.count, 2);
	CU_ASSERT_EQUAL(timers_run(&record.timers, 1999, &record), 1);
	CU_ASSERT_EQUAL(timers_run(&record.timers, 2000, &record), 1);
	CU_ASSERT_EQUAL(record.probes[0].ran, 1);
	timers_fini(&record.timers);
}

static void ties_all_run(void)
{
	struct record record;

	start(&record, count);
	for (unsigned int i = 0; i < TIMERS; i++)
		timer_set(&record.timers, &record.probes[i].timer, 77);
	CU_ASSERT_EQUAL(timers_run(&record.timers, 76, &record), 0);
	CU_ASSERT_EQUAL(timers_run(&record.timers, 77, &record), TIMERS);
	for (unsigned int i = 0; i < TIMERS; i++)
		CU_ASSERT_EQUAL(record.probes[i].ran, 1);
	timers_fini(&record.timers);
}

static void cancel_other(struct timer *timer, uint64_t now, void *context)
{
	struct record *record = context;
	struct probe *probe = container_of(timer, struct probe, timer);

	count(timer, now, context);
	timer_cancel(&record->timers, &probe->other->timer);
}

/* Both are due in the same run: the first to run cancels the second, which must not run. */
static void cancel_inside_expire(void)
{
	struct record record;

	start(&record, cancel_other);
	record.probes[0].other = &record.probes[1];
	record.probes[1].other = &record.probes[0];
	timer_set(&record.timers, &record.probes[0].timer, 10);
	timer_set(&record.timers, &record.probes[1].timer, 10);
	CU_ASSERT_EQUAL(timers_run(&record.timers, 20, &record), 1);
	CU_ASSERT_EQUAL(record.probes[0].ran + record.probes[1].ran, 1);
	CU_ASSERT_EQUAL(record.timers.count, 0);
	timers_fini(&record.timers);
}

static void set_other(struct timer *timer, uint64_t now, void *context)
{
	struct record *record = context;
	struct probe *probe = container_of(timer, struct probe, timer);

	count(timer, now, context);
	if (probe->other)
		timer_set(&record->timers, &probe->other->timer, probe->again);
}

/* A timer set inside a run for a time that has come runs in that run, a later one does not. */
static void set_inside_expire(void)
{
	struct record record;

	start(&record, set_other);
	record.probes[0].other = &record.probes[1];
	record.probes[0].again = 15;
	record.probes[1].other = &record.probes[2];
	record.probes[1].again = 21;
	timer_set(&record.timers, &record.probes[0].timer, 10);
	CU_ASSERT_EQUAL(timers_run(&record.timers, 20, &record), 2);
	CU_ASSERT_EQUAL(record.probes[2].ran, 0);
	CU_ASSERT_EQUAL(timers_next(&record.timers), 21);
	CU_ASSERT_EQUAL(timers_run(&record.timers, 21, &record), 1);
	CU_ASSERT_EQUAL(record.probes[2].ran, 1);
	CU_ASSERT_EQUAL(record.wrong, 0);
	timers_fini(&record.timers);
}

/* With the heap filled to what was reserved, a timer that sets itself takes its own room again. */
static void set_itself(void)
{
	struct record record;

	start(&record, set_other);
	for (unsigned int i = 0; i < TIMERS; i++) {
		record.probes[i].other = &record.probes[i];
		record.probes[i].again = 1000 + i;
		timer_set(&record.timers, &record.probes[i].timer, i);
	}
	CU_ASSERT_EQUAL(timers_run(&record.timers, TIMERS, &record), TIMERS);
	CU_ASSERT_EQUAL(record.timers.count, TIMERS);
	CU_ASSERT_EQUAL(timers_next(&record.timers), 1000);
	CU_ASSERT_EQUAL(record.wrong, 0);
	timers_fini(&record.timers);
}

static void reserve_and_release(void)
{
	static struct timer many[1000];
	struct timers timers;

	CU_ASSERT_EQUAL_FATAL(timers_init(&timers), 0);
	CU_ASSERT_EQUAL(timers.reserved, 0);
	CU_ASSERT_EQUAL(timers_reserve(&timers, 10), 0);
	CU_ASSERT_EQUAL(timers_reserve(&timers, 990), 0);
	CU_ASSERT_EQUAL(timers.reserved, 1000);
	CU_ASSERT(timers.capacity >= 1000);
	for (unsigned int i = 0; i < 1000; i++) {
		timer_init(&many[i], count);
		timer_set(&timers, &many[i], 1000 - i);
	}
	CU_ASSERT_EQUAL(
		timers_reserve(&timers, 5000), 0); /* moves the heap with all of them in it */
	CU_ASSERT_EQUAL(timers_next(&timers), 1);
	timers_release(&timers, 5000);
	CU_ASSERT_EQUAL(timers.reserved, 1000);
	for (unsigned int i = 0; i < 1000; i++)
		timer_cancel(&timers, &many[i]);
	timers_release(&timers, 1000);
	CU_ASSERT_EQUAL(timers.reserved, 0);
	CU_ASSERT_EQUAL(timers.count, 0);
	timers_fini(&timers);
}

/* A sum that wraps must not shrink the heap. */
static void reserve_does_not_wrap(void)
{
	struct timers timers;

	CU_ASSERT_EQUAL_FATAL(timers_init(&timers), 0);
	CU_ASSERT_EQUAL(timers_reserve(&timers, 2), 0);
	CU_ASSERT_EQUAL(timers_reserve(&timers, UINT32_MAX), -ENOMEM);
	CU_ASSERT_EQUAL(timers_reserve(&timers, UINT32_MAX - 1), -ENOMEM);
	CU_ASSERT_EQUAL(timers.reserved, 2);
	timers_fini(&timers);
}

static void fini_forgets_the_pending(void)
{
	struct record record;

	start(&record, count);
	timer_set(&record.timers, &record.probes[3].timer, 5);
	timers_fini(&record.timers);
	CU_ASSERT_FALSE(timer_pending(&record.probes[3].timer));
	CU_ASSERT_EQUAL(timers_next(&record.timers), TIMER_NEVER);
}

/* Checks each expiry against the model: pending there, due, and none pending is earlier. */
static void check_with_model(struct timer *timer, uint64_t now, void *context)
{
	struct record *record = context;
	struct probe *probe = container_of(timer, struct probe, timer);
	unsigned int index = (unsigned int)(probe - record->probes);

	record->wrong += !record->pending[index] || record->when[index] > now;
	for (unsigned int i = 0; i < TIMERS; i++)
		record->wrong += record->pending[i] && record->when[i] < record->when[index];
	record->pending[index] = false;
	record->ran++;
}

static uint64_t model_next(const struct record *record)
{
	uint64_t next = TIMER_NEVER;

	for (unsigned int i = 0; i < TIMERS; i++)
		if (record->pending[i] && record->when[i] < next)
			next = record->when[i];
	return next;
}

static void random_step(struct record *record, struct random *random)
{
	unsigned int index = (unsigned int)random_below(random, TIMERS);
	struct timer *timer = &record->probes[index].timer;

	switch (random_below(random, 8)) {
	case 0:
		record->now += random_below(random, 20);
		timers_run(&record->timers, record->now, record);
		record->wrong += model_next(record) <= record->now;
		break;
	case 1:
	case 2:
		timer_cancel(&record->timers, timer);
		record->pending[index] = false;
		break;
	default: /* few distinct times, so that ties are common */
		record->when[index] = record->now + 1 + random_below(random, 60);
		record->pending[index] = true;
		timer_set(&record->timers, timer, record->when[index]);
	}
	record->wrong += timer_pending(timer) != record->pending[index];
	record->wrong += timers_next(&record->timers) != model_next(record);
}

static void random_walk_beside_a_model(void)
{
	struct record record;
	struct random random;

	random_seed(&random, 1);
	start(&record, check_with_model);
	for (unsigned int step = 0; step < 200000; step++)
		random_step(&record, &random);
	CU_ASSERT_EQUAL(record.wrong, 0);
	CU_ASSERT(record.ran > 10000); /* the walk did exercise expiry */
	timers_fini(&record.timers);
}

static const struct unit_case cases[] = {
	UNIT_CASE(empty),
	UNIT_CASE(due_at_its_time),
	UNIT_CASE(set_again_moves),
	UNIT_CASE(ties_all_run),
	UNIT_CASE(cancel_inside_expire),
	UNIT_CASE(set_inside_expire),
	UNIT_CASE(set_itself),
	UNIT_CASE(reserve_and_release),
	UNIT_CASE(reserve_does_not_wrap),
	UNIT_CASE(fini_forgets_the_pending),
	UNIT_CASE(random_walk_beside_a_model),
};

UNIT_MAIN("base-timer", cases)
