/* SPDX-License-Identifier: BSD-3-Clause */
/* A client from attach to detach. */
#include "client.h"

#include <errno.h>
#include <stdlib.h>

#include "command.h"
#include "events.h"

#define REGION_ID 1u /* a client has one region */

static const uint32_t limits[OBJECT_KINDS] = {
	[OBJECT_PD] = LIMIT_PDS,
	[OBJECT_CHANNEL] = LIMIT_CHANNELS,
	[OBJECT_CQ] = LIMIT_CQS,
	[OBJECT_SRQ] = LIMIT_SRQS,
	[OBJECT_QP] = LIMIT_QPS_MAX,
	[OBJECT_AH] = LIMIT_AHS,
};

static int make_tables(struct client *client)
{
	for (unsigned int kind = 0; kind < OBJECT_KINDS; kind++)
		if (handle_table_init(&client->objects[kind], limits[kind]) != 0)
			return -ENOMEM;
	return 0;
}

static int make_region(struct engine *engine, struct client *client)
{
	int error = region_create(
		engine->region_size, engine->memfd_regions, REGION_ID, &client->region);

	if (error)
		return error;
	client->view = region_engine_view(client->region);
	client->header = region_header(client->view);
	client->header->cores = ENGINE_CORES;
	client->header->client = client->number;
	client->slots = region_at(client->view, client->header->commands,
		UROCE_ABI_COMMANDS * sizeof(*client->slots));
	/* In process the client is trusted with its rings: what it spoils is its own program. */
	return sendring_set_create(client->region, engine->max_qp, false, &client->rings);
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

/* Calls vanish() for each object of a kind that is left. */
#define FOR_OBJECTS(client, kind, handle, object)                                                  \
	for (uint32_t handle = handle_next(&(client)->objects[kind], 0);                           \
		handle && (object = client_object(client, kind, handle)) != NULL;                  \
		handle = handle_next(&(client)->objects[kind], handle))

/* Users before what they use. */
static void vanish_objects(struct client *client)
{
	void *object;

	FOR_OBJECTS(client, OBJECT_QP, handle, object)
	qp_vanish(((struct engine_qp *)object)->worker, object);
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

void client_destroy(struct client *client)
{
	if (list_linked(&client->node)) {
		list_remove(&client->node);
		client->engine->client_count--;
		commands_cancel(client);
		vanish_objects(client);
	}
	for (unsigned int kind = 0; kind < OBJECT_KINDS; kind++)
		handle_table_fini(&client->objects[kind]);
	sendring_set_destroy(client->region, client->rings);
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
	client_destroy(client);
	engine_resume(engine);
}
