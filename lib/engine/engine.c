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

static int check_config(const struct engine_config *config)
{
	const struct engine *room = NULL;

	if (!config->name || !*config->name || strlen(config->name) >= sizeof(room->name))
		return -EINVAL;
	if (!config->port || !config->clock || config->max_qp > LIMIT_QPS_MAX ||
		config->max_mr > LIMIT_KEYS_MAX || config->tx_burst > TX_QUEUE)
		return -EINVAL;
	if (config->mode != ENGINE_INLINE && config->mode != ENGINE_DEDICATED)
		return -EINVAL;
	return 0;
}

static void configure(struct engine *engine, const struct engine_config *config)
{
	snprintf(engine->name, sizeof(engine->name), "%s", config->name);
	engine->mode = config->mode;
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
		error = qp_table_init(&engine->qps, engine->max_qp);
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

	for (uint32_t i = 0; i < ENGINE_CORES && !error; i++)
		error = worker_create(
			engine, i, random_next(&engine->random), budget, &engine->workers[i]);
	return error;
}

static void free_engine(struct engine *engine)
{
	for (uint32_t i = 0; i < ENGINE_CORES; i++)
		worker_destroy(engine->workers[i]);
	free(engine->keys);
	handle_table_fini(&engine->pds);
	qp_table_fini(&engine->qps);
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
	return engine->mode;
}

/* ---- rounds, and the pauses between them ---- */

/* Somebody who wants to get between two rounds goes first: a core that takes its token again at
 * once would keep him out. */
static bool wanted(const struct engine *engine)
{
	return __atomic_load_n(&engine->stopping, __ATOMIC_RELAXED) != 0;
}

unsigned int engine_round(struct engine *engine)
{
	struct worker *worker = engine->workers[0];
	unsigned int moved;

	if (wanted(engine) || !worker_enter(worker))
		return 0;
	moved = worker_round(worker);
	worker_leave(worker);
	return moved;
}

void engine_pause(struct engine *engine)
{
	uint64_t now;

	__atomic_fetch_add(&engine->stopping, 1, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < ENGINE_CORES; i++)
		while (!worker_enter(engine->workers[i]))
			sched_yield();
	pthread_mutex_lock(&engine->control);
	now = engine->clock(engine->clock_context);
	for (uint32_t i = 0; i < ENGINE_CORES; i++)
		engine->workers[i]->core.now = now;
}

void engine_resume(struct engine *engine)
{
	pthread_mutex_unlock(&engine->control);
	for (uint32_t i = ENGINE_CORES; i-- > 0;)
		worker_leave(engine->workers[i]);
	__atomic_fetch_sub(&engine->stopping, 1, __ATOMIC_RELAXED);
}

uint64_t engine_next_timer(struct engine *engine)
{
	uint64_t next = UINT64_MAX;

	engine_pause(engine);
	for (uint32_t i = 0; i < ENGINE_CORES; i++) {
		uint64_t timer = worker_next_timer(engine->workers[i]);

		next = timer < next ? timer : next;
	}
	engine_resume(engine);
	return next;
}

/* Whoever is inside a round is busy. */
bool engine_busy(struct engine *engine)
{
	struct worker *worker = engine->workers[0];
	bool busy;

	if (wanted(engine) || !worker_enter(worker))
		return true;
	busy = worker_busy(worker);
	worker_leave(worker);
	return busy;
}
