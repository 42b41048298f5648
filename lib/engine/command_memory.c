/* SPDX-License-Identifier: BSD-3-Clause */
/* ALLOC, FREE: application memory inside the region. */
#include "command.h"

#include <errno.h>
#include <stdlib.h>

struct allocation {
	struct list node;
	uroce_abi_ref ref;
	uint64_t size;
};

int command_alloc(struct worker *worker, struct command *command)
{
	struct client *client = command->client;
	struct allocation *allocation;

	if (command->abi.u.memory.size == 0)
		return -EINVAL;
	allocation = calloc(1, sizeof(*allocation));
	if (!allocation)
		return -ENOMEM;
	allocation->size = command->abi.u.memory.size;
	allocation->ref = region_alloc(client->region, allocation->size);
	if (!allocation->ref) {
		free(allocation);
		return -ENOMEM;
	}
	list_append(&client->allocations, &allocation->node);
	command->abi.u.memory.ref = allocation->ref;
	return 0;
}

static struct allocation *find(const struct client *client, uroce_abi_ref ref)
{
	list_for_each (node, &client->allocations) {
		struct allocation *allocation = container_of(node, struct allocation, node);

		if (allocation->ref == ref)
			return allocation;
	}
	return NULL;
}

/* What a key opens may not become something else: the next to get these bytes may be a queue. */
static bool is_registered(const struct client *client, const struct allocation *allocation)
{
	uint64_t base = (uintptr_t)region_at(client->view, allocation->ref, allocation->size);

	list_for_each (node, &client->keys) {
		const struct engine_key *key = container_of(node, struct engine_key, node);

		if (key->length && key->address < base + allocation->size &&
			base < key->address + key->length)
			return true;
	}
	return false;
}

static void drop(struct client *client, struct allocation *allocation)
{
	list_remove(&allocation->node);
	region_free(client->region, allocation->ref, allocation->size);
	free(allocation);
}

int command_free(struct worker *worker, struct command *command)
{
	struct client *client = command->client;
	struct allocation *allocation = find(client, command->abi.u.memory.ref);

	if (!allocation)
		return -EINVAL;
	if (is_registered(client, allocation))
		return -EBUSY;
	drop(client, allocation);
	return 0;
}

void memory_vanish(struct client *client)
{
	list_for_each_safe (node, &client->allocations)
		drop(client, container_of(node, struct allocation, node));
}
