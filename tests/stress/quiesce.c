/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dropping a key against using it. A core unlinks a region and asks whether the others are at a
 * quiescent point, while another core ends a round, begins the next one and looks the key up:
 * either the key is gone, or the first core must wait for that round. Otherwise dereg would return,
 * and the memory be unmapped, while the other core writes to it.
 */
#include <string.h>

#include <infiniband/verbs.h>

#include "mem.h"
#include "quiescence.h"
#include "race.h"
#include "state.h"
#include "stress.h"
#include "worker.h"

#define PD 1u
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

struct place {
	struct engine *engine;
	struct worker *self;
	uint32_t key;
	struct quiescence quiescence;
	bool waits;
	uint32_t user_key __attribute__((aligned(64))); /* the other core's own copy */
	struct worker *user;
	bool found;
} __attribute__((aligned(64)));

static struct place places[RACE_INSTANCES];
static struct mem_table *table;
static uint8_t memory[64];

static void register_key(struct place *place)
{
	stress_require(mem_register(table, PD, memory, sizeof(memory), 0, ACCESS, &place->key) == 0,
		"key");
	place->user_key = place->key;
}

/* What of an engine the functions look at: which workers there are. */
static struct worker *make_worker(struct engine *engine, uint32_t number)
{
	struct worker *worker = aligned_alloc(UROCE_ABI_LINE, sizeof(*worker));

	stress_require(worker, "memory");
	memset(worker, 0, sizeof(*worker));
	worker->engine = engine;
	worker->number = number;
	engine->workers[number] = worker;
	return worker;
}

static void open_places(struct region *region, const struct region_view *front)
{
	struct random random;

	random_seed(&random, 21);
	stress_require(mem_table_create(4 * RACE_INSTANCES, &random, &table) == 0, "table");
	for (uint32_t i = 0; i < RACE_INSTANCES; i++) {
		struct place *place = &places[i];

		place->engine = calloc(1, sizeof(*place->engine));
		stress_require(place->engine, "memory");
		place->engine->cores = cores_of(2);
		place->self = make_worker(place->engine, 0);
		place->user = make_worker(place->engine, 1);
		register_key(place);
		stress_require(worker_enter(place->user), "round");
	}
}

static void close_places(struct region *region)
{
	mem_table_destroy(table);
	for (uint32_t i = 0; i < RACE_INSTANCES; i++) {
		free(places[i].self);
		free(places[i].user);
		free(places[i].engine);
	}
}

static void drop(uint32_t instance)
{
	struct place *place = &places[instance];

	mem_deregister(table, place->key);
	quiescence_begin(&place->quiescence, place->engine, place->self);
	place->waits = !quiescence_over(&place->quiescence, place->engine);
}

static bool look_up(uint32_t key)
{
	uint8_t *host;

	return mem_remote(table, PD, 0, key, 0, sizeof(memory), IBV_ACCESS_REMOTE_WRITE, &host) ==
		MEM_OK;
}

static bool sleeps(uint32_t instance)
{
	return instance % 4 == 3;
}

static void use(uint32_t instance)
{
	struct place *place = &places[instance];

	(void)look_up(place->user_key); /* in the round that ends */
	worker_leave(place->user);
	place->found = false;
	if (sleeps(instance))
		return;
	worker_enter(place->user);
	place->found = look_up(place->user_key);
}

/* The other core's round goes on until its next one. */
static enum race_saw judge(uint32_t instance)
{
	struct place *place = &places[instance];
	bool for_ever = false;

	mem_reclaim(table);
	register_key(place);
	if (sleeps(instance)) {
		for_ever = !quiescence_over(&place->quiescence, place->engine);
		worker_enter(place->user);
	}
	if (for_ever)
		return RACE_LOST;
	return (place->waits ? RACE_FIRST_SAW : 0) | (place->found ? 0 : RACE_SECOND_SAW);
}

int main(int argc, char **argv)
{
	static const struct race race = {
		.name = "quiesce",
		.open = open_places,
		.close = close_places,
		.first = drop,
		.second = use,
		.judge = judge,
		.both_is_late = true,
	};

	return race_main(argc, argv, &race);
}
