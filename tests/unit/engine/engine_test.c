/* SPDX-License-Identifier: BSD-3-Clause */
/* Making engines, and threads that drive one, stop it and come to it all at once. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "doors.h"
#include "rig.h"

static void configurations(void)
{
	struct engine_config good = {.name = "other", .max_qp = 4, .max_mr = 4};
	struct engine_config config;
	struct engine *engine;
	static struct rig rig;
	char name[80];

#define BAD(change)                                                                                \
	do {                                                                                       \
		config = good;                                                                     \
		change;                                                                            \
		CU_ASSERT_EQUAL(engine_create(&config, &engine), -EINVAL);                         \
	} while (0)

	rig_open(&rig);
	good.port = rig.ports[0];
	good.clock = rig.engines[0]->clock;
	good.clock_context = &rig;
	memset(name, 'n', sizeof(name) - 1);
	name[79] = 0;
	BAD(config.name = NULL);
	BAD(config.name = "");
	BAD(config.name = name);
	BAD(config.port = NULL);
	BAD(config.clock = NULL);
	BAD(config.cores = 17);
	BAD(config.dedicated = 2);
	config.cores = 2;
	BAD(config.dedicated = 3);
	config.cores = 0;
	BAD(config.max_qp = 1048577);
	BAD(config.max_mr = 8388609);
	BAD(config.tx_burst = 257);
	CU_ASSERT_EQUAL(rig_worker(&rig, 0)->budget, 32);
	rig_close(&rig);
}

static void defaults(void)
{
	struct uroce_abi_command command = {.head.op = UROCE_ABI_QUERY_DEVICE};
	struct engine_config config = {.name = "defaults"};
	struct engine *engine, *kept;
	static struct rig rig;
	struct front front;

	rig_open(&rig);
	config.port = rig.ports[0];
	config.clock = rig.engines[0]->clock;
	config.clock_context = &rig;
	CU_ASSERT_EQUAL_FATAL(engine_create(&config, &engine), 0);
	CU_ASSERT_STRING_EQUAL(engine_name(engine), "defaults");
	kept = rig.engines[0];
	rig.engines[0] = engine;
	front_attach(&rig, 0, &front);
	CU_ASSERT_EQUAL(front_command(&front, &command), 0);
	CU_ASSERT_EQUAL(command.u.device.max_qp, 65536);
	CU_ASSERT_EQUAL(command.u.device.max_mr, 1048576);
	front_detach(&front);
	CU_ASSERT_EQUAL(engine_destroy(engine), 0);
	rig.engines[0] = kept;
	loop_set_up(rig.wire, 0, true);
	rig_close(&rig);
}

/* Without a seed the numbers are the system's: two engines have nothing in common. */
static void seeds(void)
{
	struct engine_config config = {.name = "seeds", .max_qp = 16, .max_mr = 16};
	uint64_t first[2];
	static struct rig rig;

	rig_open(&rig);
	config.port = rig.ports[0];
	config.clock = rig.engines[0]->clock;
	config.clock_context = &rig;
	for (unsigned int i = 0; i < 4; i++) {
		struct engine *engine;

		config.seed = i < 2 ? 0 : 5;
		CU_ASSERT_EQUAL_FATAL(engine_create(&config, &engine), 0);
		first[i % 2] = random_next(&engine->random);
		CU_ASSERT_EQUAL(engine_destroy(engine), 0);
		if (i == 1)
			CU_ASSERT_NOT_EQUAL(first[0], first[1]);
	}
	CU_ASSERT_EQUAL(first[0], first[1]);
	rig_close(&rig);
}

/* ---- threads ---- */

static uint64_t real_clock(void *context)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000ull + (uint64_t)time.tv_nsec;
}

struct race {
	struct engine *engine;
	uint32_t stop;
	uint32_t failures;
	uint64_t rounds;
};

static void *driver(void *argument)
{
	struct race *race = argument;
	uint64_t rounds = 0;

	while (!__atomic_load_n(&race->stop, __ATOMIC_ACQUIRE)) {
		engine_round(race->engine);
		if (++rounds % 64 == 0)
			sched_yield();
	}
	__atomic_fetch_add(&race->rounds, rounds, __ATOMIC_RELAXED);
	return NULL;
}

/* Attaches, makes a few things by commands that others run, and leaves. */
static bool visit(struct engine *engine)
{
	const struct door *door = &uroce_engine_door;
	struct uroce_abi_command *slot;
	struct region_view view;
	struct client *client;
	bool good = true;

	if (door->attach(engine, &client, &view) != 0)
		return false;
	slot = region_at(&view, region_header(&view)->commands, sizeof(*slot));
	for (unsigned int i = 0; i < 20; i++) {
		slot->head.op = i % 2 ? UROCE_ABI_CREATE_CQ : UROCE_ABI_ALLOC_PD;
		slot->head.object = 0;
		memset(&slot->u, 0, sizeof(slot->u));
		slot->u.cq.cqe = 10;
		__atomic_store_n(&slot->head.state, UROCE_ABI_POSTED, __ATOMIC_RELEASE);
		__atomic_fetch_or(&region_header(&view)->doorbell.posted, 1, __ATOMIC_SEQ_CST);
		while (__atomic_load_n(&slot->head.state, __ATOMIC_ACQUIRE) != UROCE_ABI_DONE)
			sched_yield();
		good &= slot->head.status == 0;
	}
	door->detach(client);
	return good;
}

static void *visitor(void *argument)
{
	struct race *race = argument;

	for (unsigned int i = 0; i < 100; i++)
		if (!visit(race->engine))
			__atomic_fetch_add(&race->failures, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void *watcher(void *argument)
{
	struct race *race = argument;

	while (!__atomic_load_n(&race->stop, __ATOMIC_ACQUIRE)) {
		(void)engine_busy(race->engine);
		(void)engine_next_timer(race->engine);
		sched_yield();
	}
	return NULL;
}

static void threads(void)
{
	struct loop_config wire_config = {.clock = real_clock, .buffers = 512};
	struct engine_config config = {.name = "threads", .max_qp = 16, .max_mr = 16};
	struct loop_end_config end = {0};
	struct race race = {0};
	struct loop_wire *wire;
	pthread_t drivers[2], visitors[2], watch;

	CU_ASSERT_EQUAL_FATAL(loop_create(&wire_config, &wire), 0);
	CU_ASSERT_EQUAL_FATAL(loop_add_end(wire, &end, &config.port), 0);
	config.clock = real_clock;
	config.region_size = 16 << 20;
	CU_ASSERT_EQUAL_FATAL(engine_create(&config, &race.engine), 0);
	for (unsigned int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL_FATAL(pthread_create(&drivers[i], NULL, driver, &race), 0);
		CU_ASSERT_EQUAL_FATAL(pthread_create(&visitors[i], NULL, visitor, &race), 0);
	}
	CU_ASSERT_EQUAL_FATAL(pthread_create(&watch, NULL, watcher, &race), 0);
	for (unsigned int i = 0; i < 2; i++)
		pthread_join(visitors[i], NULL);
	__atomic_store_n(&race.stop, 1, __ATOMIC_RELEASE);
	for (unsigned int i = 0; i < 2; i++)
		pthread_join(drivers[i], NULL);
	pthread_join(watch, NULL);
	CU_ASSERT_EQUAL(race.failures, 0);
	CU_ASSERT(race.rounds > 0);
	CU_ASSERT_EQUAL(race.engine->client_count, 0);
	CU_ASSERT_EQUAL(engine_destroy(race.engine), 0);
	CU_ASSERT_EQUAL(loop_buffers_used(wire), 0);
	loop_destroy(wire);
}

/* In a pause nobody runs a round; afterwards all goes on. */
static void pauses(void)
{
	static struct rig rig;
	uint64_t rounds;

	rig_open(&rig);
	engine_pause(rig.engines[0]);
	rounds = rig_worker(&rig, 0)->core.now;
	rig.now += MS;
	CU_ASSERT_EQUAL(engine_round(rig.engines[0]), 0);
	CU_ASSERT_EQUAL(rig_worker(&rig, 0)->core.now, rounds);
	CU_ASSERT(engine_busy(rig.engines[0]));
	engine_resume(rig.engines[0]);
	engine_round(rig.engines[0]);
	CU_ASSERT_EQUAL(rig_worker(&rig, 0)->core.now, rig.now);
	CU_ASSERT_FALSE(engine_busy(rig.engines[0]));
	rig_close(&rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(configurations),
	UNIT_CASE(defaults),
	UNIT_CASE(seeds),
	UNIT_CASE(threads),
	UNIT_CASE(pauses),
};

UNIT_MAIN("engine-engine", cases)
