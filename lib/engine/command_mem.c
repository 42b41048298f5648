/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory regions and windows. lib/mem decides what a key allows; here is who owns it.
 *
 * Embedded, an address is the engine's own, too: the front has seen to it that the memory is
 * mapped. A key that goes, or leads elsewhere, is unlinked at once; the answer, after which the
 * program may unmap what it led to, waits until no core is in the round any more in which it may
 * have looked the key up (quiescence.h).
 */
#include "command.h"

#include <errno.h>
#include <stdlib.h>

#include "mem.h"

static uint8_t *host_of(uint64_t address)
{
	return (uint8_t *)(uintptr_t)address;
}

static struct engine_key *owned_key(const struct client *client, uint32_t key, bool window)
{
	uint32_t index = key >> 8;
	struct engine_key *entry;

	if (index > client->engine->max_mr)
		return NULL;
	entry = client->engine->keys[index];
	return entry && entry->client == client && entry->window == window ? entry : NULL;
}

static struct engine_pd *find_pd(const struct client *client, uint32_t handle)
{
	return client_object(client, OBJECT_PD, handle);
}

static void own(struct client *client, struct engine_key *entry, struct engine_pd *pd)
{
	entry->client = client;
	entry->pd = pd;
	pd->uses++;
	list_append(&client->keys, &entry->node);
	client->engine->keys[entry->key >> 8] = entry;
}

static void disown(struct engine_key *entry)
{
	entry->client->engine->keys[entry->key >> 8] = NULL;
	entry->pd->uses--;
	list_remove(&entry->node);
	free(entry);
}

/* Its first step is done; the last: nobody uses the old key any more, and its index may be given
 * out again. (Those of other commands that still wait may be, too: a reader of lib/mem notices.) */
static int when_quiet(struct worker *worker, struct command *command)
{
	if (!quiescence_over(&command->quiescence, worker->engine))
		return COMMAND_PENDING;
	mem_reclaim(worker->engine->mem);
	return 0;
}

static int wait_quiet(struct worker *worker, struct command *command)
{
	quiescence_begin(&command->quiescence, worker->engine, worker);
	return when_quiet(worker, command);
}

int command_reg_mr(struct worker *worker, struct command *command)
{
	const struct engine_pd *pd = find_pd(command->client, command->abi.u.mr.pd);
	uint64_t address = command->abi.u.mr.address;
	uint64_t length = command->abi.u.mr.length;
	struct engine_key *entry;
	int error;

	if (!pd)
		return -EINVAL;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	error = mem_register(worker->engine->mem, pd->number, host_of(address), length,
		command->abi.u.mr.iova, command->abi.u.mr.access, &entry->key);
	if (error) {
		free(entry);
		return error;
	}
	entry->address = address;
	entry->length = length;
	own(command->client, entry, find_pd(command->client, command->abi.u.mr.pd));
	command->abi.u.mr.key = entry->key;
	return 0;
}

static void move_pd(struct engine_key *entry, struct engine_pd *pd)
{
	entry->pd->uses--;
	entry->pd = pd;
	pd->uses++;
}

static int rereg_mr(struct worker *worker, struct command *command)
{
	struct client *client = command->client;
	struct engine_key *entry = owned_key(client, command->abi.u.mr.key, false);
	int flags = (int)command->abi.u.mr.flags;
	struct engine_pd *pd = entry ? entry->pd : NULL;
	uint32_t key = command->abi.u.mr.key;
	int error;

	if (flags & IBV_REREG_MR_CHANGE_PD)
		pd = find_pd(client, command->abi.u.mr.pd);
	if (!entry || !pd)
		return -EINVAL;
	error = mem_reregister(worker->engine->mem, &key, flags, pd->number,
		host_of(command->abi.u.mr.address), command->abi.u.mr.length,
		command->abi.u.mr.iova, command->abi.u.mr.access);
	if (error)
		return error;
	move_pd(entry, pd);
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		entry->address = command->abi.u.mr.address;
		entry->length = command->abi.u.mr.length;
	}
	entry->key = key;
	command->abi.u.mr.key = key;
	return wait_quiet(worker, command);
}

int command_rereg_mr(struct worker *worker, struct command *command)
{
	if (list_linked(&command->pending))
		return when_quiet(worker, command);
	return rereg_mr(worker, command);
}

static int dereg_mr(struct worker *worker, struct command *command)
{
	struct engine_key *entry = owned_key(command->client, command->abi.u.mr.key, false);
	int error;

	if (!entry)
		return -EINVAL;
	error = mem_deregister(worker->engine->mem, command->abi.u.mr.key);
	if (error)
		return error;
	disown(entry);
	return wait_quiet(worker, command);
}

int command_dereg_mr(struct worker *worker, struct command *command)
{
	if (list_linked(&command->pending))
		return when_quiet(worker, command);
	return dereg_mr(worker, command);
}

int command_alloc_mw(struct worker *worker, struct command *command)
{
	struct engine_pd *pd = find_pd(command->client, command->abi.u.mr.pd);
	struct engine_key *entry;
	int error;

	if (!pd)
		return -EINVAL;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	entry->window = true;
	error = mem_window_alloc(
		worker->engine->mem, pd->number, (int)command->abi.u.mr.type, &entry->key);
	if (error) {
		free(entry);
		return error;
	}
	own(command->client, entry, pd);
	command->abi.u.mr.key = entry->key;
	return 0;
}

/* By the key that it has now: what a program remembers of a type 2 window is its own business. */
static int dealloc_mw(struct worker *worker, struct command *command)
{
	struct engine_key *entry = owned_key(command->client, command->abi.u.mr.key, true);
	struct mem_table *mem = worker->engine->mem;
	int error;

	if (!entry)
		return -EINVAL;
	error = mem_window_dealloc(mem, mem_window_key(mem, entry->key));
	if (error)
		return error;
	disown(entry);
	return wait_quiet(worker, command);
}

int command_dealloc_mw(struct worker *worker, struct command *command)
{
	if (list_linked(&command->pending))
		return when_quiet(worker, command);
	return dealloc_mw(worker, command);
}

/* Windows' current keys are known to their binders only, so lib/mem empties the PDs. */
void keys_vanish(struct client *client)
{
	const struct handle_table *pds = &client->objects[OBJECT_PD];

	for (uint32_t handle = handle_next(pds, 0); handle; handle = handle_next(pds, handle))
		mem_pd_release(client->engine->mem, find_pd(client, handle)->number);
	list_for_each_safe (key, &client->keys)
		disown(container_of(key, struct engine_key, node));
	mem_reclaim(client->engine->mem);
}
