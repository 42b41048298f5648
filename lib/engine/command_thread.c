/* SPDX-License-Identifier: BSD-3-Clause */
/* ATTACH_THREAD, DETACH_THREAD: the send ring of a thread that posts, at the core that it is to. */
#include "command.h"

#include <errno.h>

int command_attach_thread(struct worker *worker, struct command *command)
{
	struct client *client = command->client;

	if (command->abi.u.thread.core != worker->number)
		return -EINVAL;
	return sendring_attach(client->region, client->core[worker->number].rings,
		&command->abi.u.thread.ring, &command->abi.u.thread.bit);
}

int command_detach_thread(struct worker *worker, struct command *command)
{
	struct client *client = command->client;

	if (command->abi.u.thread.core != worker->number)
		return -EINVAL;
	return sendring_detach(
		client->region, client->core[worker->number].rings, command->abi.u.thread.bit);
}
