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

#define DOOR_VERSION 2u

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
	/* Drives those cores of the engine that have no thread, for one round. Returns packets
	 * moved. */
	unsigned int (*drive)(struct client *client);
	/* 1 if all of them have a thread, so that driving does nothing. */
	int (*dedicated)(struct client *client);
	/* 1 if somebody drives when the clients don't: to wait for an event is enough. */
	int (*served)(struct client *client);
	/* The caller has driven and is going to wait: that somebody should take over. */
	void (*take_over)(struct client *client);
	/* Wakes a sleeping core. */
	void (*wake)(struct client *client, uint32_t core);
};

#endif
