/* SPDX-License-Identifier: BSD-3-Clause */
/* ALLOC_PD, DEALLOC_PD. */
#include "command.h"

#include <errno.h>
#include <stdlib.h>

static int number_pd(struct engine *engine, struct engine_pd **created)
{
	struct engine_pd *pd = calloc(1, sizeof(*pd));
	int error;

	if (!pd)
		return -ENOMEM;
	error = handle_put(&engine->pds, pd, &pd->number);
	if (error) {
		free(pd);
		return error;
	}
	*created = pd;
	return 0;
}

static void free_pd(struct engine *engine, struct engine_pd *pd)
{
	handle_remove(&engine->pds, pd->number);
	free(pd);
}

int command_alloc_pd(struct worker *worker, struct command *command)
{
	struct client *client = command->client;
	struct engine_pd *pd;
	int error = number_pd(worker->engine, &pd);

	if (error)
		return error;
	error = handle_put(&client->objects[OBJECT_PD], pd, &command->abi.head.object);
	if (error)
		free_pd(worker->engine, pd);
	return error;
}

int command_dealloc_pd(struct worker *worker, struct command *command)
{
	uint32_t handle = command->abi.head.object;
	struct engine_pd *pd = client_object(command->client, OBJECT_PD, handle);

	if (!pd)
		return -EINVAL;
	if (pd->uses)
		return -EBUSY;
	pd_vanish(command->client, pd, handle);
	return 0;
}

void pd_vanish(struct client *client, struct engine_pd *pd, uint32_t handle)
{
	handle_remove(&client->objects[OBJECT_PD], handle);
	free_pd(client->engine, pd);
}
