/* SPDX-License-Identifier: BSD-3-Clause */
/* uroce/uroce.h: which library, which devices. */
#include <uroce/uroce.h>

#include "device.h"
#include "front.h"

#define TEXT(number) #number
#define VERSION(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

EXPORT const char *uroce_version(void)
{
	return VERSION(UROCE_VERSION_MAJOR, UROCE_VERSION_MINOR, UROCE_VERSION_PATCH);
}

EXPORT int uroce_is_device(struct ibv_device *device)
{
	return device_find(device) != NULL;
}

EXPORT struct ibv_device *uroce_find_device(const char *name)
{
	struct device *device = device_by_name(name);

	return device ? &device->base : null_errno(-ENODEV);
}
