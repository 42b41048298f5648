/* SPDX-License-Identifier: BSD-3-Clause */
/* A client from attach to detach. */
#include "client.h"

#include <errno.h>
#include <stdlib.h>

#include "command.h"
#include "counters.h"
#include "events.h"
#include "sleep.h"
#include "worker.h"

#define REGION_ID 1u /* a client has one region */

static const uint32_t limits[OBJECT_KINDS] = {
	[OBJECT_PD] = LIMIT_PDS,
	[OBJECT_CHANNEL] = LIMIT_CHANNELS,
	[OBJECT_CQ] = LIMIT_CQS,
	[OBJECT_SRQ] = LIMIT_SRQS,
	[OBJECT_AH] = LIMIT_AHS,
};

static int make_tables(struct client *client)
{
	for (unsigned int kind = 0; kind < OBJECT_KINDS; kind++)
		if (handle_table_init(&client->objects[kind], limits[kind]) != 0)
			return -ENOMEM;
	for (uint32_t i = 0; i < client->engine->cores.count; i++)
		if (handle_table_init(&client->core[i].qps, LIMIT_QPS_MAX) != 0)
			return -ENOMEM;
	return 0;
}

/* In process the client is trusted with its rings: what it spoils is its own program. */
static int make_rings(struct engine *engine, struct client *client)
{
	int error = 0;

	for (uint32_t i = 0; i < engine->cores.count && !error; i++)
		error = sendring_set_create(
			client->region, engine->max_qp, false, &client->core[i].rings);
	return error;
}

/* A core that sleeps now will not look into this client's header before it is woken. */
static void tell_asleep(struct engine *engine, struct client *client)
{
	for_each_worker(worker, engine) if (sleep_asleep(worker))
		sendring_sleep(client->header, worker->number);
}

static int make_region(struct engine *engine, struct client *client)
{
	int error = region_create(
		engine->region_size, engine->memfd_regions, REGION_ID, &client->region);

	if (error)
		return error;
	client->view = region_engine_view(client->region);
	client->header = region_header(client->view);
	client->header->cores = engine->cores.count;
	client->header->client = client->number;
	client->slots = region_at(client->view, client->header->commands,
		UROCE_ABI_COMMANDS * sizeof(*client->slots));
	tell_asleep(engine, client);
	return make_rings(engine, client);
}

static void init(struct engine *engine, struct client *client)
{
	client->engine = engine;
	client->number = ++engine->next_client;
	list_init(&client->node);
	list_init(&client->keys);
	list_init(&client->allocations);
	events_init(&client->port_events, LIMIT_PORT);
	for (uint32_t i = 0; i < UROCE_ABI_COMMANDS; i++) {
		client->commands[i].client = client;
		client->commands[i].slot = i;
		list_init(&client->commands[i].pending);
	}
}

int client_create(struct engine *engine, struct client **created)
{
	struct client *client = calloc(1, sizeof(*client));
	int error;

	if (!client)
		return -ENOMEM;
	init(engine, client);
	error = make_tables(client);
	if (!error)
		error = make_region(engine, client);
	if (error) {
		client_destroy(client);
		return error;
	}
	list_append(&engine->clients, &client->node);
	engine->client_count++;
	*created = client;
	return 0;
}

/* ---- QPs, by core ---- */

struct engine_qp *client_qp(
	const struct client *client, const struct worker *worker, uint32_t handle)
{
	const struct cores *cores = &worker->engine->cores;

	if (core_of(cores, handle) != worker->number)
		return NULL;
	return handle_get(&client->core[worker->number].qps, handle >> cores->shift);
}

uint32_t client_qp_count(const struct client *client)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < client->engine->cores.count; i++)
		count += client->core[i].qps.live;
	return count;
}

static void vanish_qps(struct worker *worker, struct client *client)
{
	const struct handle_table *qps = &client->core[worker->number].qps;

	for (uint32_t index = handle_next(qps, 0); index; index = handle_next(qps, index))
		qp_vanish(worker, handle_get(qps, index));
}

/* ---- the end ---- */

/* Calls vanish() for each object of a kind that is left. */
#define FOR_OBJECTS(client, kind, handle, object)                                                  \
	for (uint32_t handle = handle_next(&(client)->objects[kind], 0);                           \
		handle && (object = client_object(client, kind, handle)) != NULL;                  \
		handle = handle_next(&(client)->objects[kind], handle))

/* Users before what they use. */
static void vanish_objects(struct client *client)
{
	void *object;

	for_each_worker(worker, client->engine) vanish_qps(worker, client);
	FOR_OBJECTS(client, OBJECT_AH, handle, object)
	ah_vanish(client, object, handle);
	FOR_OBJECTS(client, OBJECT_SRQ, handle, object)
	srq_vanish(client, object);
	FOR_OBJECTS(client, OBJECT_CQ, handle, object)
	cq_vanish(client, object);
	keys_vanish(client);
	FOR_OBJECTS(client, OBJECT_PD, handle, object)
	pd_vanish(client, object, handle);
	FOR_OBJECTS(client, OBJECT_CHANNEL, handle, object)
	channel_vanish(client, object, handle);
	memory_vanish(client);
}

void client_refused(const struct client *client, struct engine_counters *counters)
{
	const struct uroce_abi_header *header = client->header;

	counters->refused_full += __atomic_load_n(&header->front.refused_full, __ATOMIC_RELAXED);
	counters->refused_strict +=
		__atomic_load_n(&header->front.refused_strict, __ATOMIC_RELAXED);
}

void client_destroy(struct client *client)
{
	if (list_linked(&client->node)) {
		client_refused(client, &client->engine->workers[0]->counters);
		list_remove(&client->node);
		client->engine->client_count--;
		commands_cancel(client);
		vanish_objects(client);
	}
	for (unsigned int kind = 0; kind < OBJECT_KINDS; kind++)
		handle_table_fini(&client->objects[kind]);
	for (uint32_t i = 0; i < client->engine->cores.count; i++) {
		handle_table_fini(&client->core[i].qps);
		sendring_set_destroy(client->region, client->core[i].rings);
	}
	region_destroy(client->region);
	free(client);
}

int client_attach(struct engine *engine, struct client **client)
{
	int error;

	engine_pause(engine);
	error = client_create(engine, client);
	engine_resume(engine);
	return error;
}

void client_detach(struct client *client)
{
	struct engine *engine = client->engine;

	engine_pause(engine);
	for_each_worker(worker, engine) worker_send_owed(worker);
	client_destroy(client);
	engine_resume(engine);
}
