/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The door: how a front in this process finds engines and attaches to them.
 *
 * A front comes with nothing in its hands but the name of a symbol, so the list of the process's
 * engines cannot hang on any object: it is the one piece of mutable static state of the engine's
 * library, and it is kept in this file, under one lock. Data paths never come here.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "doors.h"
#include "serve.h"
#include "state.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct list engines = {&engines, &engines};

/* A fork while another thread holds the lock would leave it held in the child for ever. */
static void lock_engines(void)
{
	pthread_mutex_lock(&lock);
}

static void unlock_engines(void)
{
	pthread_mutex_unlock(&lock);
}

static void watch_forks(void)
{
	pthread_atfork(lock_engines, unlock_engines, unlock_engines);
}

/* ---- the engines' side ---- */

/* A child of fork() inherits the list but no engine: the threads that drive them, the ports and
 * the clients' regions stayed with the parent. */
static bool is_ours(const struct engine *engine)
{
	return engine->process == getpid();
}

static struct engine *find(const char *name)
{
	list_for_each (node, &engines) {
		struct engine *engine = container_of(node, struct engine, node);

		if (is_ours(engine) && strcmp(engine->name, name) == 0)
			return engine;
	}
	return NULL;
}

int doors_add(struct engine *engine)
{
	static pthread_once_t watched = PTHREAD_ONCE_INIT;
	int error = 0;

	pthread_once(&watched, watch_forks);
	lock_engines();
	if (find(engine->name))
		error = -EEXIST;
	else
		list_append(&engines, &engine->node);
	unlock_engines();
	return error;
}

int doors_remove(struct engine *engine)
{
	int error = 0;

	lock_engines();
	if (engine->client_count)
		error = -EBUSY;
	else
		list_remove(&engine->node);
	unlock_engines();
	return error;
}

/* ---- the fronts' side ---- */

static struct engine *nth_engine(unsigned int n)
{
	struct engine *found = NULL;

	lock_engines();
	list_for_each (node, &engines) {
		struct engine *engine = container_of(node, struct engine, node);

		if (is_ours(engine) && n-- == 0) {
			found = engine;
			break;
		}
	}
	unlock_engines();
	return found;
}

static const char *name_of(struct engine *engine)
{
	return engine_name(engine);
}

static struct engine *start(const char *arguments)
{
	if (engine_start_line)
		return engine_start_line(arguments);
	errno = ENOSYS;
	return NULL;
}

static bool is_listed(const struct engine *engine)
{
	list_for_each (node, &engines)
		if (container_of(node, struct engine, node) == engine)
			return is_ours(engine);
	return false;
}

/* The lock is held, so that an engine that is found cannot go before it has the client. */
static int attach(struct engine *engine, struct client **client, struct region_view *view)
{
	int error = -ENODEV;

	lock_engines();
	if (is_listed(engine))
		error = client_attach(engine, client);
	if (!error)
		*view = *(*client)->view;
	unlock_engines();
	return error;
}

static void detach(struct client *client)
{
	lock_engines();
	client_detach(client);
	unlock_engines();
}

static unsigned int drive(struct client *client)
{
	struct engine *engine = client->engine;

	return engine_round(engine);
}

static int dedicated(struct client *client)
{
	return engine_mode(client->engine) == ENGINE_DEDICATED;
}

static int served(struct client *client)
{
	return engine_is_served(client->engine);
}

static void take_over(struct client *client)
{
	engine_take_over(client->engine);
}

static void wake(struct client *client, uint32_t core)
{
	struct engine *engine = client->engine;

	if (core < engine->cores.count)
		sleep_wake(engine->workers[core]);
}

const struct door uroce_engine_door = {
	.version = DOOR_VERSION,
	.size = sizeof(struct door),
	.engine = nth_engine,
	.name = name_of,
	.start = start,
	.attach = attach,
	.detach = detach,
	.drive = drive,
	.dedicated = dedicated,
	.served = served,
	.take_over = take_over,
	.wake = wake,
};
