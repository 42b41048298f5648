/* SPDX-License-Identifier: BSD-3-Clause */
/* CREATE_SRQ, MODIFY_SRQ, QUERY_SRQ, DESTROY_SRQ. */
#include "command.h"

#include <errno.h>
#include <stdlib.h>

#include "events.h"
#include "queues.h"

static struct engine_srq *find(const struct command *command)
{
	return client_object(command->client, OBJECT_SRQ, command->abi.head.object);
}

static int make(struct client *client, const struct command *command, struct engine_srq *srq,
	uint32_t *handle)
{
	int error = wq_create(
		client->region, command->abi.u.srq.max_wr, command->abi.u.srq.max_sge, 0, &srq->wq);

	if (error)
		return error;
	error = handle_put(&client->objects[OBJECT_SRQ], srq, handle);
	if (error)
		wq_destroy(client->region, &srq->wq);
	return error;
}

/* srq_limit is ignored here: man ibv_create_srq. */
int command_create_srq(struct worker *worker, struct command *command)
{
	struct engine_pd *pd = client_object(command->client, OBJECT_PD, command->abi.u.srq.pd);
	struct engine_srq *srq;
	int error;

	if (!pd || command->abi.u.srq.max_wr == 0 || command->abi.u.srq.max_wr > LIMIT_SRQ_WR ||
		command->abi.u.srq.max_sge > LIMIT_SGE)
		return -EINVAL;
	srq = calloc(1, sizeof(*srq) + worker->engine->cores.count * sizeof(srq->events[0]));
	if (!srq)
		return -ENOMEM;
	error = make(command->client, command, srq, &command->abi.head.object);
	if (error) {
		free(srq);
		return error;
	}
	for (uint32_t i = 0; i < worker->engine->cores.count; i++)
		events_init(&srq->events[i], command->abi.head.object);
	srq->client = command->client;
	srq->pd = pd;
	pd->uses++;
	command->abi.u.srq.limit = 0;
	command->abi.u.srq.ring = srq->wq.ref;
	return 0;
}

/* Sizes stay: IBV_DEVICE_SRQ_RESIZE isn't among the capabilities. */
int command_modify_srq(struct worker *worker, struct command *command)
{
	struct engine_srq *srq = find(command);
	uint32_t mask = command->abi.u.srq.mask;

	if (!srq || (mask & ~(uint32_t)(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)))
		return -EINVAL;
	if (mask & IBV_SRQ_MAX_WR)
		return -EOPNOTSUPP;
	if (!(mask & IBV_SRQ_LIMIT))
		return 0;
	if (command->abi.u.srq.limit > srq->wq.depth)
		return -EINVAL;
	/* Pairs with the claims of other cores: queues_check_limit(). */
	__atomic_store_n(&srq->limit, command->abi.u.srq.limit, __ATOMIC_SEQ_CST);
	queues_check_limit(worker, srq);
	return 0;
}

int command_query_srq(struct worker *worker, struct command *command)
{
	const struct engine_srq *srq = find(command);

	if (!srq)
		return -EINVAL;
	command->abi.u.srq.max_wr = srq->wq.depth;
	command->abi.u.srq.max_sge = srq->wq.max_sge;
	command->abi.u.srq.limit = __atomic_load_n(&srq->limit, __ATOMIC_RELAXED);
	return 0;
}

int command_destroy_srq(struct worker *worker, struct command *command)
{
	struct engine_srq *srq = find(command);

	if (!srq)
		return -EINVAL;
	if (srq->uses)
		return -EBUSY;
	srq_vanish(command->client, srq);
	return 0;
}

/* Between rounds of all cores. */
void srq_vanish(struct client *client, struct engine_srq *srq)
{
	handle_remove(&client->objects[OBJECT_SRQ], srq->events[0].object);
	for (uint32_t i = 0; i < client->engine->cores.count; i++)
		events_forget(&srq->events[i]);
	srq->pd->uses--;
	wq_destroy(client->region, &srq->wq);
	free(srq);
}
