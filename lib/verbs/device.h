/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices: one per engine of this process, by name. A device stays allocated once it was seen, so
 * that a program may compare lists by pointer (librdmacm does) and a stale pointer hurts nobody.
 */
#ifndef UROCE_VERBS_DEVICE_H
#define UROCE_VERBS_DEVICE_H

#include <stddef.h>

#include <infiniband/verbs.h>

#include "door.h"

struct device {
	struct ibv_device base;
	/* mlx5dv_* and efadv_* look behind the public struct of any device for the provider's
	 * operations (struct verbs_device); they find zeros. */
	uint8_t behind[256];
	/* under process_lock(): */
	struct device *next;
	const struct door *door;
	struct engine *engine; /* NULL: it was destroyed, or not started yet */
	__be64 guid;	       /* 0: not asked yet */
};

/* Our device, or NULL. Any pointer will do. */
struct device *device_find(const struct ibv_device *device);
/* By name; looks for new engines first. NULL: none. */
struct device *device_by_name(const char *name);
/* The devices that have an engine or can have one, as many as fit in list (may be NULL); returns
 * how many there are. */
size_t device_list(struct ibv_device **list, size_t room);
/* Its engine, started if that is what the environment asks for. 0, -ENODEV, -EPROTO, or why not. */
int device_engine(struct device *device, const struct door **door, struct engine **engine);
__be64 device_guid(struct device *device);
void device_set_guid(struct device *device, __be64 guid);

#endif
