/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which devices there are. Each look asks the engine library (if the process has one) for its
 * engines. A program that embeds none gets one all the same if UROCE_ARGS holds an argument line:
 * its device is listed at once, its engine starts when the device is first opened, because listing
 * devices must cost nothing and survive a fork.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "device.h"
#include "front.h"
#include "local.h"
#include "log.h"
#include "process.h"

#define ENGINES_MAX 64u
#define DEFAULT_NAME "uroce0"

/* Under process_lock(). Static because ibv_get_device_list() takes nothing to hang it on. */
static struct device *devices;

static const char *environment_arguments(void)
{
	return secure_getenv("UROCE_ARGS");
}

static struct device *named(const char *name)
{
	struct device *device = devices;

	while (device && strcmp(device->base.name, name) != 0)
		device = device->next;
	return device;
}

static void append(struct device *device)
{
	struct device **end = &devices;

	while (*end)
		end = &(*end)->next;
	/* Release: device_find() goes along without the lock. */
	__atomic_store_n(end, device, __ATOMIC_RELEASE);
}

static struct device *add(const char *name)
{
	struct device *device = calloc(1, sizeof(*device));

	if (!device)
		return NULL;
	device->base.node_type = IBV_NODE_CA;
	device->base.transport_type = IBV_TRANSPORT_IB;
	snprintf(device->base.name, sizeof(device->base.name), "%s", name);
	snprintf(device->base.dev_name, sizeof(device->base.dev_name), "uverbs-%.50s", name);
	snprintf(device->base.dev_path, sizeof(device->base.dev_path),
		"/sys/class/infiniband_verbs/%s", device->base.dev_name);
	snprintf(device->base.ibdev_path, sizeof(device->base.ibdev_path),
		"/sys/class/infiniband/%s", name);
	append(device);
	return device;
}

struct found {
	struct engine *engine[ENGINES_MAX];
	char name[ENGINES_MAX][IBV_SYSFS_NAME_MAX];
	unsigned int count;
	const struct door *door;
};

/* Without the lock: the engine library has locks of its own. */
static void find_engines(struct found *found)
{
	struct engine *engine;

	found->count = 0;
	if (local_door(false, &found->door))
		return;
	while (found->count < ENGINES_MAX) {
		engine = found->door->engine(found->count);
		if (!engine)
			return;
		found->engine[found->count] = engine;
		snprintf(found->name[found->count++], IBV_SYSFS_NAME_MAX, "%s",
			found->door->name(engine));
	}
}

static void set_engine(struct device *device, const struct found *found, unsigned int n)
{
	if (device->engine != found->engine[n])
		device->guid = 0;
	device->engine = found->engine[n];
	device->door = found->door;
}

/* What the argument line calls the device: the word behind --name, or after --name=. */
static void environment_name(const char *arguments, char name[IBV_SYSFS_NAME_MAX])
{
	const char *word = strstr(arguments, "--name");

	if (!word || sscanf(word, "--name%*[= \t\n]%63[^ \t\n]", name) != 1)
		snprintf(name, IBV_SYSFS_NAME_MAX, "%s", DEFAULT_NAME);
}

static void merge(const struct found *found)
{
	char name[IBV_SYSFS_NAME_MAX];

	for (struct device *device = devices; device; device = device->next)
		device->engine = NULL;
	for (unsigned int n = 0; n < found->count; n++) {
		struct device *device = named(found->name[n]);

		if (!device)
			device = add(found->name[n]);
		if (device)
			set_engine(device, found, n);
	}
	if (environment_arguments()) {
		environment_name(environment_arguments(), name);
		if (!named(name))
			(void)add(name);
	}
}

static void look(void)
{
	struct found found;

	find_engines(&found);
	process_lock();
	merge(&found);
	process_unlock();
}

/* Its engine would be started by device_engine(). */
static bool pending(const struct device *device)
{
	char name[IBV_SYSFS_NAME_MAX];

	if (device->engine || !environment_arguments())
		return false;
	environment_name(environment_arguments(), name);
	return strcmp(device->base.name, name) == 0;
}

size_t device_list(struct ibv_device **list, size_t room)
{
	size_t count = 0;

	look();
	process_lock();
	for (struct device *device = devices; device; device = device->next) {
		if (!device->engine && !pending(device))
			continue;
		if (count < room)
			list[count] = &device->base;
		count++;
	}
	process_unlock();
	return count;
}

struct device *device_find(const struct ibv_device *device)
{
	struct device *ours = __atomic_load_n(&devices, __ATOMIC_ACQUIRE);

	while (ours && &ours->base != device)
		ours = __atomic_load_n(&ours->next, __ATOMIC_ACQUIRE);
	return ours;
}

struct device *device_by_name(const char *name)
{
	struct device *device;

	look();
	process_lock();
	device = named(name);
	if (device && !device->engine && !pending(device))
		device = NULL;
	process_unlock();
	return device;
}

/* -EAGAIN: it has to be started. */
static int take_engine(struct device *device, const struct door **door, struct engine **engine)
{
	int error;

	look();
	process_lock();
	*door = device->door;
	*engine = device->engine;
	error = device->engine ? 0 : pending(device) ? -EAGAIN : -ENODEV;
	process_unlock();
	return error;
}

static int start_engine(void)
{
	const struct door *door;
	int error = local_door(true, &door);

	if (error)
		return error;
	errno = 0;
	if (door->start(environment_arguments()))
		return 0;
	return errno ? -errno : -ENODEV;
}

/* One thread starts it, the others wait for that. */
static int start(struct device *device, const struct door **door, struct engine **engine)
{
	static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
	int error;

	pthread_mutex_lock(&starting);
	error = take_engine(device, door, engine);
	if (error == -EAGAIN)
		error = start_engine();
	if (!error && !*engine)
		error = take_engine(device, door, engine);
	pthread_mutex_unlock(&starting);
	/* -EAGAIN: one was started, but by another name. */
	return error == -ENOENT || error == -EAGAIN ? -ENODEV : error;
}

int device_engine(struct device *device, const struct door **door, struct engine **engine)
{
	int error = take_engine(device, door, engine);

	return error == -EAGAIN ? start(device, door, engine) : error;
}

void device_set_guid(struct device *device, __be64 guid)
{
	process_lock();
	device->guid = guid;
	process_unlock();
}

/* The engine knows it; a connection for that purpose is made once. */
__be64 device_guid(struct device *device)
{
	struct context *context;
	__be64 guid;

	process_lock();
	guid = device->guid;
	process_unlock();
	if (guid || context_open(device, &context))
		return guid;
	guid = context->limits.node_guid;
	context_close(context);
	return guid;
}
