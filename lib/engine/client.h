/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One front's attachment to one engine: its region, its handles, its send rings, and the commands
 * that it has under way.
 */
#ifndef UROCE_ENGINE_CLIENT_H
#define UROCE_ENGINE_CLIENT_H

#include "address.h"
#include "handle.h"
#include "core.h"
#include "object.h"
#include "quiescence.h"
#include "region.h"
#include "sendring.h"

struct engine;
struct engine_counters;

/* A command that was taken out of its slot. Some stay for several rounds. */
struct command {
	struct uroce_abi_command abi; /* the private copy: request, then answer */
	struct client *client;
	uint32_t slot;
	bool busy;	     /* not answered yet */
	struct list pending; /* of the worker's */

	/* MODIFY_QP and CREATE_AH that wait for a neighbour: */
	struct qp_name qp;
	struct address address;
	/* DEREG_MR, REREG_MR and DEALLOC_MW that wait for the other cores: */
	struct quiescence quiescence;
};

/* What the client has at one core: that core's alone. */
struct client_core {
	struct sendring_set *rings;
	struct handle_table qps; /* by handle >> cores.shift */
};

struct client {
	struct engine *engine;
	struct list node;
	uint32_t number;
	struct region *region;
	const struct region_view *view;
	struct uroce_abi_header *header;
	struct uroce_abi_command *slots;
	struct client_core core[CORES_MAX];
	struct engine_channel *events; /* atomic; asynchronous ones; NULL: not made yet */
	struct event_source port_events;
	struct handle_table objects[OBJECT_KINDS];
	struct list keys;	 /* struct engine_key */
	struct list allocations; /* of the region: command_memory.c */
	struct command commands[UROCE_ABI_COMMANDS];
};

/* Engine paused. 0, -ENOMEM, -errno. */
int client_create(struct engine *engine, struct client **client);
/* Engine paused. Whatever the client has left vanishes. */
void client_destroy(struct client *client);

/* Adds the posts that it has refused, by its own word. */
void client_refused(const struct client *client, struct engine_counters *counters);

/* The door's calls (door.c): the same from any thread, between rounds. */
int client_attach(struct engine *engine, struct client **client);
void client_detach(struct client *client);

/* Acquire: pairs with the release when it is made. */
static inline struct engine_channel *client_events(const struct client *client)
{
	return __atomic_load_n(&client->events, __ATOMIC_ACQUIRE);
}

/* The QP of that handle, if it is one of this client's at this core. Only that core asks. */
struct engine_qp *client_qp(
	const struct client *client, const struct worker *worker, uint32_t handle);
/* QPs at all cores; under the control lock. */
uint32_t client_qp_count(const struct client *client);

static inline void *client_object(
	const struct client *client, enum object_kind kind, uint32_t handle)
{
	return handle_get(&client->objects[kind], handle);
}

#endif
