/* SPDX-License-Identifier: BSD-3-Clause */
/* CREATE_CQ, RESIZE_CQ, DESTROY_CQ. */
#include "command.h"

#include <errno.h>
#include <stdlib.h>

#include "events.h"

static void answer_rings(struct command *command, const struct engine_cq *cq)
{
	uint32_t cores = cq->client->engine->cores.count;

	command->abi.u.cq.cqe = cq->share[0].ring.depth;
	command->abi.u.cq.rings = cores;
	for (uint32_t i = 0; i < CORES_MAX; i++)
		command->abi.u.cq.ring[i] = i < cores ? cq->share[i].ring.ref : 0;
}

static int find_channel(const struct command *command, struct engine_channel **channel)
{
	uint32_t handle = command->abi.u.cq.channel;

	*channel = client_object(command->client, OBJECT_CHANNEL, handle);
	if (handle && (!*channel || *channel == command->client->events))
		return -EINVAL;
	return 0;
}

static void destroy_rings(struct client *client, struct engine_cq *cq, uint32_t count)
{
	while (count-- > 0)
		cq_ring_destroy(client->region, &cq->share[count].ring);
}

/* A ring for each core, each as deep as the CQ: any of the cores may own all of its QPs. */
static int make_rings(struct client *client, uint32_t depth, struct engine_cq *cq)
{
	int error;

	for (uint32_t i = 0; i < client->engine->cores.count; i++) {
		error = cq_ring_create(client->region, depth, &cq->share[i].ring);
		if (error) {
			destroy_rings(client, cq, i);
			return error;
		}
	}
	return 0;
}

static int make(struct client *client, uint32_t depth, struct engine_cq *cq, uint32_t *handle)
{
	int error = make_rings(client, depth, cq);

	if (error)
		return error;
	error = handle_put(&client->objects[OBJECT_CQ], cq, handle);
	if (error)
		destroy_rings(client, cq, client->engine->cores.count);
	return error;
}

static void init_share(struct engine_cq *cq, struct cq_share *share)
{
	share->cq = cq;
	list_init(&share->touched);
	list_init(&share->failed);
	list_init(&share->mail);
	list_init(&share->senders);
	list_init(&share->receivers);
	events_init(&share->completions, cq->handle);
	events_init(&share->events, cq->handle);
}

static void init(struct engine_cq *cq, struct client *client, struct engine_channel *channel,
	uint32_t handle)
{
	cq->client = client;
	cq->handle = handle;
	for (uint32_t i = 0; i < client->engine->cores.count; i++)
		init_share(cq, &cq->share[i]);
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

	if (!size_ok(command->abi.u.cq.cqe) ||
		command->abi.u.cq.vector >= worker->engine->cores.count)
		return -EINVAL;
	error = find_channel(command, &channel);
	if (error)
		return error;
	cq = calloc(1, sizeof(*cq) + worker->engine->cores.count * sizeof(cq->share[0]));
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

/* What is pending counts ring by ring: each is as deep as the CQ. */
static int check_pending(const struct engine_cq *cq, uint32_t depth)
{
	for (uint32_t i = 0; i < cq->client->engine->cores.count; i++)
		if (cq_pending(&cq->share[i].ring) > depth)
			return -EINVAL;
	return 0;
}

static int resize_rings(struct client *client, struct engine_cq *cq, uint32_t depth)
{
	uint32_t cores = client->engine->cores.count;
	uroce_abi_ref slots[CORES_MAX];
	uint32_t got = 0;
	int error = 0;

	while (got < cores && !error) {
		error = cq_slots_alloc(client->region, depth, &slots[got]);
		got += !error;
	}
	for (uint32_t i = 0; i < got; i++)
		if (error)
			cq_slots_free(client->region, depth, slots[i]);
		else
			cq_ring_move(client->region, &cq->share[i].ring, depth, slots[i]);
	return error;
}

/* No core pushes meanwhile. */
int command_resize_cq(struct worker *worker, struct command *command)
{
	struct client *client = command->client;
	struct engine_cq *cq = client_object(client, OBJECT_CQ, command->abi.head.object);
	uint32_t depth = command->abi.u.cq.cqe;
	int error;

	if (!cq || !size_ok(depth))
		return -EINVAL;
	error = check_pending(cq, depth);
	if (!error)
		error = resize_rings(client, cq, depth);
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

static void forget_share(struct cq_share *share)
{
	events_forget(&share->completions);
	events_forget(&share->events);
	list_remove(&share->touched);
	list_remove(&share->failed);
	list_remove(&share->mail);
}

/* Between rounds of all cores. */
void cq_vanish(struct client *client, struct engine_cq *cq)
{
	uint32_t cores = client->engine->cores.count;

	for (uint32_t i = 0; i < cores; i++)
		forget_share(&cq->share[i]);
	if (cq->channel)
		cq->channel->uses--;
	handle_remove(&client->objects[OBJECT_CQ], cq->handle);
	destroy_rings(client, cq, cores);
	free(cq);
}
