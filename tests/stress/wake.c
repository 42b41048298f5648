/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * As sleep.c, for what another core puts: a packet for one of the core's QPs. While the core says
 * that it sleeps and looks once more, another one hands a packet over and wakes it if it sleeps.
 * Otherwise the packet would lie there while the core sleeps.
 */
#include <string.h>

#include "port.h"
#include "race.h"
#include "rx.h"
#include "sleep.h"
#include "state.h"
#include "stress.h"

struct place {
	struct engine *engine;
	struct worker *giver;
	struct worker *sleeper;
	bool found __attribute__((aligned(64))); /* the sleeper's */
} __attribute__((aligned(64)));

static struct place places[RACE_INSTANCES];
static struct port port;
static const struct port_ops ops; /* no arm(): there is no port to hear of */

static struct worker *make_worker(struct engine *engine, uint32_t number)
{
	struct worker *worker = aligned_alloc(UROCE_ABI_LINE, sizeof(*worker));

	stress_require(worker, "memory");
	memset(worker, 0, sizeof(*worker));
	worker->engine = engine;
	worker->number = number;
	worker->sleep.wake = -1;
	engine->workers[number] = worker;
	return worker;
}

static void open_place(struct place *place)
{
	place->engine = calloc(1, sizeof(*place->engine));
	stress_require(place->engine, "memory");
	place->engine->cores = cores_of(2);
	place->engine->port = &port;
	list_init(&place->engine->clients);
	place->giver = make_worker(place->engine, 0);
	place->sleeper = make_worker(place->engine, 1);
	stress_require(sleep_init(place->sleeper) == 0, "eventfd");
	stress_require(handover_create(4, &place->sleeper->inbound[0]) == 0, "ring");
}

static void open_places(struct region *region, const struct region_view *front)
{
	port.ops = &ops;
	for (uint32_t i = 0; i < RACE_INSTANCES; i++)
		open_place(&places[i]);
}

static void close_places(struct region *region)
{
	for (uint32_t i = 0; i < RACE_INSTANCES; i++) {
		sleep_fini(places[i].sleeper);
		handover_destroy(places[i].sleeper->inbound[0]);
		free(places[i].giver);
		free(places[i].sleeper);
		free(places[i].engine);
	}
}

static void give(uint32_t instance)
{
	struct place *place = &places[instance];
	struct packet packet = {.length = instance};

	handover_put(place->sleeper->inbound[0], &packet);
	sleep_wake(place->sleeper);
}

static void sleep_after_a_look(uint32_t instance)
{
	struct place *place = &places[instance];

	(void)rx_waits(place->sleeper); /* it sleeps because there was nothing */
	sleep_begin(place->sleeper);
	place->found = rx_waits(place->sleeper);
}

/* Who wakes takes the word back. */
static enum race_saw judge(uint32_t instance)
{
	struct place *place = &places[instance];
	bool woken = !sleep_asleep(place->sleeper);
	struct packet packet;

	if (woken)
		sleep_end(place->sleeper);
	__atomic_store_n(&place->sleeper->sleep.asleep, 0, __ATOMIC_RELAXED);
	stress_require(handover_take(place->sleeper->inbound[0], &packet, 1) == 1, "packet");
	return (woken ? RACE_FIRST_SAW : 0) | (place->found ? RACE_SECOND_SAW : 0);
}

int main(int argc, char **argv)
{
	static const struct race race = {
		.name = "wake",
		.open = open_places,
		.close = close_places,
		.first = give,
		.second = sleep_after_a_look,
		.judge = judge,
	};

	return race_main(argc, argv, &race);
}
