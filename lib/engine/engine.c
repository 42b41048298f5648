/* SPDX-License-Identifier: BSD-3-Clause */
/* An engine from creation to destruction, and its calls for those who drive it. */
#include "engine.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doors.h"
#include "state.h"
#include "worker.h"

static uint32_t core_count(const struct engine_config *config)
{
	return config->cores ? config->cores : 1;
}

static int check_config(const struct engine_config *config)
{
	const struct engine *room = NULL;
	struct port_info info;

	if (!config->name || !*config->name || strlen(config->name) >= sizeof(room->name))
		return -EINVAL;
	if (!config->port || !config->clock || config->max_qp > LIMIT_QPS_MAX ||
		config->max_mr > LIMIT_KEYS_MAX || config->tx_burst > TX_QUEUE)
		return -EINVAL;
	if (config->cores > CORES_MAX || config->dedicated > core_count(config))
		return -EINVAL;
	config->port->ops->info(config->port, &info);
	return core_count(config) <= info.queues ? 0 : -EINVAL;
}

static void configure(struct engine *engine, const struct engine_config *config)
{
	snprintf(engine->name, sizeof(engine->name), "%s", config->name);
	engine->cores = cores_of(core_count(config));
	engine->dedicated = config->dedicated;
	engine->port = config->port;
	engine->clock = config->clock;
	engine->clock_context = config->clock_context;
	engine->max_qp = config->max_qp ? config->max_qp : LIMIT_QPS;
	engine->max_mr = config->max_mr ? config->max_mr : LIMIT_KEYS;
	engine->region_size = config->region_size ? config->region_size : REGION_SIZE;
	engine->memfd_regions = config->memfd_regions;
	engine->process = getpid();
	list_init(&engine->clients);
	list_init(&engine->node);
	pthread_mutex_init(&engine->control, NULL);
}

/* A seed makes everything repeatable and is for tests: numbers that peers must not guess come from
 * the system (EP-16). */
static int seed_random(struct engine *engine, uint64_t seed)
{
	if (seed == 0)
		return random_seed_system(&engine->random);
	random_seed(&engine->random, seed);
	return 0;
}

static int make_tables(struct engine *engine)
{
	int error = mem_table_create(engine->max_mr, &engine->random, &engine->mem);

	if (!error)
		error = handle_table_init(&engine->pds, LIMIT_PDS);
	if (error)
		return error;
	engine->keys = calloc((size_t)engine->max_mr + 1, sizeof(void *));
	return engine->keys ? 0 : -ENOMEM;
}

static int make_workers(struct engine *engine, uint32_t budget)
{
	int error = 0;

	for (uint32_t i = 0; i < engine->cores.count && !error; i++)
		error = worker_create(
			engine, i, random_next(&engine->random), budget, &engine->workers[i]);
	return error;
}

static void free_engine(struct engine *engine)
{
	for_each_worker(worker, engine) worker_destroy(worker);
	free(engine->keys);
	handle_table_fini(&engine->pds);
	mem_table_destroy(engine->mem);
	pthread_mutex_destroy(&engine->control);
	free(engine);
}

int engine_create(const struct engine_config *config, struct engine **created)
{
	struct engine *engine;
	int error = check_config(config);

	if (error)
		return error;
	engine = aligned_alloc(UROCE_ABI_LINE, sizeof(*engine));
	if (!engine)
		return -ENOMEM;
	*engine = (struct engine){0};
	configure(engine, config);
	error = seed_random(engine, config->seed);
	if (!error)
		error = make_tables(engine);
	if (!error)
		error = make_workers(engine, config->tx_burst);
	if (!error)
		error = doors_add(engine);
	if (error) {
		free_engine(engine);
		return error;
	}
	*created = engine;
	return 0;
}

/* Nobody finds it through the door any more, and whoever drives it has stopped to; the last round
 * may just be ending. */
int engine_destroy(struct engine *engine)
{
	struct port *port = engine->port;

	if (doors_remove(engine) != 0)
		return -EBUSY;
	engine_pause(engine);
	engine_resume(engine);
	free_engine(engine);
	port->ops->close(port);
	return 0;
}

const char *engine_name(const struct engine *engine)
{
	return engine->name;
}

enum engine_mode engine_mode(const struct engine *engine)
{
	if (engine->dedicated == 0)
		return ENGINE_INLINE;
	return engine->dedicated == engine->cores.count ? ENGINE_DEDICATED : ENGINE_MIXED;
}

/* ---- rounds, and the pauses between them ---- */

/* Somebody who wants to get between two rounds goes first: a core that takes its token again at
 * once would keep him out. */
static bool wanted(const struct engine *engine)
{
	return __atomic_load_n(&engine->stopping, __ATOMIC_RELAXED) != 0;
}

static inline unsigned int turn(
	struct engine *engine, struct worker *worker, unsigned int (*round)(struct worker *worker))
{
	unsigned int moved;

	if (wanted(engine) || !worker_enter(worker))
		return 0;
	moved = round(worker);
	worker_leave(worker);
	return moved;
}

unsigned int engine_core_round(struct engine *engine, uint32_t core)
{
	return turn(engine, engine->workers[core], worker_round);
}

/* Its progress thread, if it sleeps, does so until a time that this round may have changed. */
static unsigned int drive(struct engine *engine, struct worker *worker)
{
	unsigned int moved = turn(engine, worker, worker_driven_round);
	uint32_t driven = __atomic_load_n(&worker->driven, __ATOMIC_RELAXED);

	__atomic_store_n(&worker->driven, driven + 1, __ATOMIC_RELAXED);
	if (__builtin_expect(sleep_asleep(worker), 0))
		sleep_wake(worker);
	return moved;
}

unsigned int engine_round(struct engine *engine)
{
	unsigned int moved = 0;

	for (uint32_t i = engine->dedicated; i < engine->cores.count; i++)
		moved += drive(engine, engine->workers[i]);
	return moved;
}

/* Token by token, in ascending order: see engine_hold_others(). */
static void take_tokens(struct engine *engine, uint32_t first)
{
	__atomic_fetch_add(&engine->stopping, 1, __ATOMIC_RELAXED);
	for (uint32_t i = first; i < engine->cores.count; i++)
		while (!worker_enter(engine->workers[i]))
			sched_yield();
}

static void give_tokens(struct engine *engine, uint32_t first)
{
	for (uint32_t i = engine->cores.count; i-- > first;)
		worker_leave(engine->workers[i]);
	__atomic_fetch_sub(&engine->stopping, 1, __ATOMIC_RELAXED);
}

void engine_pause(struct engine *engine)
{
	uint64_t now;

	take_tokens(engine, 0);
	pthread_mutex_lock(&engine->control);
	now = engine->clock(engine->clock_context);
	for_each_worker(worker, engine) worker->core.now = now;
}

void engine_resume(struct engine *engine)
{
	pthread_mutex_unlock(&engine->control);
	give_tokens(engine, 0);
}

void engine_hold_others(struct engine *engine)
{
	take_tokens(engine, 1);
}

void engine_release_others(struct engine *engine)
{
	give_tokens(engine, 1);
}

uint64_t engine_next_timer(struct engine *engine)
{
	uint64_t next = UINT64_MAX;

	engine_pause(engine);
	for_each_worker(worker, engine)
	{
		uint64_t timer = worker_next_timer(worker);

		next = timer < next ? timer : next;
	}
	engine_resume(engine);
	return next;
}

/* Whoever is inside a round is busy. */
static bool is_busy(struct engine *engine, struct worker *worker)
{
	bool busy;

	if (wanted(engine) || !worker_enter(worker))
		return true;
	busy = worker_busy(worker);
	worker_leave(worker);
	return busy;
}

bool engine_busy(struct engine *engine)
{
	for_each_worker(worker, engine) if (is_busy(engine, worker)) return true;
	return false;
}
