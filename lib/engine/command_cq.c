/* SPDX-License-Identifier: BSD-3-Clause */
/* CREATE_CQ, RESIZE_CQ, DESTROY_CQ. */
#include "command.h"

#include <errno.h>
#include <stdlib.h>

#include "events.h"

static void answer_rings(struct command *command, const struct engine_cq *cq)
{
	command->abi.u.cq.cqe = cq->ring.depth;
	command->abi.u.cq.rings = ENGINE_CORES;
	for (uint32_t i = 0; i < UROCE_ABI_MAX_CORES; i++)
		command->abi.u.cq.ring[i] = 0;
	command->abi.u.cq.ring[0] = cq->ring.ref;
}

static int find_channel(const struct command *command, struct engine_channel **channel)
{
	uint32_t handle = command->abi.u.cq.channel;

	*channel = client_object(command->client, OBJECT_CHANNEL, handle);
	if (handle && (!*channel || *channel == command->client->events))
		return -EINVAL;
	return 0;
}

static int make(struct client *client, uint32_t depth, struct engine_cq *cq, uint32_t *handle)
{
	int error = cq_ring_create(client->region, depth, &cq->ring);

	if (error)
		return error;
	error = handle_put(&client->objects[OBJECT_CQ], cq, handle);
	if (error)
		cq_ring_destroy(client->region, &cq->ring);
	return error;
}

static void init(struct engine_cq *cq, struct client *client, struct engine_channel *channel,
	uint32_t handle)
{
	list_init(&cq->touched);
	list_init(&cq->failed);
	list_init(&cq->senders);
	list_init(&cq->receivers);
	events_init(&cq->completions, handle);
	events_init(&cq->events, handle);
	cq->client = client;
	cq->channel = channel;
	if (channel)
		channel->uses++;
}

static bool size_ok(uint32_t cqe)
{
	return cqe > 0 && cqe <= LIMIT_CQE;
}

int command_create_cq(struct worker *worker, struct command *command)
{
	struct engine_channel *channel;
	struct engine_cq *cq;
	int error;

	if (!size_ok(command->abi.u.cq.cqe) || command->abi.u.cq.vector >= ENGINE_CORES)
		return -EINVAL;
	error = find_channel(command, &channel);
	if (error)
		return error;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -ENOMEM;
	error = make(command->client, command->abi.u.cq.cqe, cq, &command->abi.head.object);
	if (error) {
		free(cq);
		return error;
	}
	init(cq, command->client, channel, command->abi.head.object);
	answer_rings(command, cq);
	return 0;
}

int command_resize_cq(struct worker *worker, struct command *command)
{
	struct client *client = command->client;
	struct engine_cq *cq = client_object(client, OBJECT_CQ, command->abi.head.object);
	int error;

	if (!cq || !size_ok(command->abi.u.cq.cqe))
		return -EINVAL;
	error = cq_ring_resize(client->region, &cq->ring, command->abi.u.cq.cqe);
	if (error)
		return error;
	answer_rings(command, cq);
	return 0;
}

int command_destroy_cq(struct worker *worker, struct command *command)
{
	struct engine_cq *cq = client_object(command->client, OBJECT_CQ, command->abi.head.object);

	if (!cq)
		return -EINVAL;
	if (cq->uses)
		return -EBUSY;
	cq_vanish(command->client, cq);
	return 0;
}

void cq_vanish(struct client *client, struct engine_cq *cq)
{
	events_forget(&cq->completions);
	events_forget(&cq->events);
	list_remove(&cq->touched);
	list_remove(&cq->failed);
	if (cq->channel)
		cq->channel->uses--;
	handle_remove(&client->objects[OBJECT_CQ], cq->events.object);
	cq_ring_destroy(client->region, &cq->ring);
	free(cq);
}
