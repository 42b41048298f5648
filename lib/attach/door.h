/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The door between a front and an engine in the same process. liburoce-engine exports one symbol of
 * this type, uroce_engine_door; the front finds it with dlsym() or loads the library at first need.
 * All else passes through the region.
 */
#ifndef UROCE_ATTACH_DOOR_H
#define UROCE_ATTACH_DOOR_H

#include <stdint.h>

#include "region.h"

#define DOOR_VERSION 1u

struct engine;
struct client; /* one front's attachment to one engine */

struct door {
	uint32_t version; /* DOOR_VERSION; another one is refused with both numbers */
	uint32_t size;	  /* sizeof(struct door) */

	/* The engines that run in this process: the n-th, or NULL behind the last. */
	struct engine *(*engine)(unsigned int n);
	const char *(*name)(struct engine *engine);
	/* Starts an engine from an argument line (uroce/engine.h). NULL and errno. */
	struct engine *(*start)(const char *arguments);

	/* Attaches: the region, mapped as the engine has it. 0 or -errno. */
	int (*attach)(struct engine *engine, struct client **client, struct region_view *view);
	/* All of the client's objects vanish. */
	void (*detach)(struct client *client);
	/* Inline: drives the engine for one round. Dedicated: returns 0. Returns packets moved. */
	unsigned int (*drive)(struct client *client);
	/* 1 if the engine has a core of its own, 0 if its clients drive it. */
	int (*dedicated)(struct client *client);
	/* Wakes a sleeping core. */
	void (*wake)(struct client *client, uint32_t core);
};

#endif
