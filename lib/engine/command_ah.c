/* SPDX-License-Identifier: BSD-3-Clause */
/* CREATE_AH, DESTROY_AH. As on Linux the neighbour is found now, so that sending needs no search.
 */
#include "command.h"

#include <errno.h>
#include <stdlib.h>

static int make(struct client *client, struct command *command, struct engine_pd *pd)
{
	struct engine_ah *ah = calloc(1, sizeof(*ah));
	int error;

	if (!ah)
		return -ENOMEM;
	error = handle_put(&client->objects[OBJECT_AH], ah, &command->abi.head.object);
	if (error) {
		free(ah);
		return error;
	}
	ah->path = command->address.path;
	ah->own = command->address.own;
	ah->pd = pd;
	pd->uses++;
	return 0;
}

int command_create_ah(struct worker *worker, struct command *command)
{
	struct engine_pd *pd = client_object(command->client, OBJECT_PD, command->abi.u.ah.pd);
	int error = 0;

	if (!pd) /* never was, or went while we waited */
		return -EINVAL;
	if (!list_linked(&command->pending))
		error = address_find(
			worker->engine->port, &command->abi.u.ah.attr, &command->address);
	if (!error)
		error = address_resolve(worker, &command->address);
	if (error)
		return error == -EINPROGRESS ? COMMAND_PENDING : error;
	return make(command->client, command, pd);
}

int command_destroy_ah(struct worker *worker, struct command *command)
{
	uint32_t handle = command->abi.head.object;
	struct engine_ah *ah = client_object(command->client, OBJECT_AH, handle);

	if (!ah)
		return -EINVAL;
	ah_vanish(command->client, ah, handle);
	return 0;
}

void ah_vanish(struct client *client, struct engine_ah *ah, uint32_t handle)
{
	ah->pd->uses--;
	handle_remove(&client->objects[OBJECT_AH], handle);
	free(ah);
}
