/* SPDX-License-Identifier: BSD-3-Clause */
/* CREATE_CHANNEL, DESTROY_CHANNEL: completion channels, and the context's asynchronous events. */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "events.h"

/* In the request's object: the context's asynchronous channel is asked for. */
#define WANTS_EVENTS 1u

static int make(struct client *client, struct command *command, uint32_t depth,
	struct engine_channel *channel)
{
	int error = eventring_create(
		client->region, depth, command->abi.u.channel.eventfd, &channel->events);

	if (error)
		return error;
	error = handle_put(&client->objects[OBJECT_CHANNEL], channel, &command->abi.head.object);
	if (error)
		eventring_destroy(client->region, &channel->events);
	return error;
}

int command_create_channel(struct worker *worker, struct command *command)
{
	struct client *client = command->client;
	bool asynchronous = command->abi.head.object == WANTS_EVENTS;
	struct engine_channel *channel;
	int error;

	if (command->abi.head.object > WANTS_EVENTS)
		return -EINVAL;
	if (asynchronous && client->events)
		return -EEXIST;
	if (fcntl(command->abi.u.channel.eventfd, F_GETFD) < 0)
		return -EBADF;
	channel = events_channel_create(worker->engine->cores.count);
	if (!channel)
		return -ENOMEM;
	error = make(
		client, command, asynchronous ? ASYNC_EVENTS_PENDING : EVENTS_PENDING, channel);
	if (error) {
		free(channel);
		return error;
	}
	/* Release: pairs with the acquire in client_events(). */
	if (asynchronous)
		__atomic_store_n(&client->events, channel, __ATOMIC_RELEASE);
	command->abi.u.channel.ring = channel->events.ref;
	return 0;
}

/* Whoever may raise an asynchronous event. */
static bool events_in_use(const struct client *client)
{
	return client->objects[OBJECT_CQ].live || client->objects[OBJECT_SRQ].live ||
		client_qp_count(client);
}

int command_destroy_channel(struct worker *worker, struct command *command)
{
	struct client *client = command->client;
	uint32_t handle = command->abi.head.object;
	struct engine_channel *channel = client_object(client, OBJECT_CHANNEL, handle);

	if (!channel)
		return -EINVAL;
	if (channel->uses || (channel == client->events && events_in_use(client)))
		return -EBUSY;
	channel_vanish(client, channel, handle);
	return 0;
}

void channel_vanish(struct client *client, struct engine_channel *channel, uint32_t handle)
{
	if (channel == client->events) {
		events_forget(&client->port_events);
		__atomic_store_n(&client->events, NULL, __ATOMIC_RELAXED);
	}
	events_channel_forget(channel, client->engine->cores.count);
	handle_remove(&client->objects[OBJECT_CHANNEL], handle);
	eventring_destroy(client->region, &channel->events);
	free(channel);
}
