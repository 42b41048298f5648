/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine library is found, not linked: a front that never needs an engine of its own stays a
 * small library without DPDK. A program that embeds one has linked liburoce-engine, so its symbol
 * is among the global ones, or at least it is loaded; otherwise it is loaded when it is needed, and
 * then for good, since DPDK cannot be unloaded.
 */
#include <dlfcn.h>
#include <errno.h>

#include "local.h"
#include "log.h"

#define DOOR_SYMBOL "uroce_engine_door"
#define ENGINE_LIBRARY "liburoce-engine.so.0"

static const struct door *find(bool load)
{
	const struct door *door = dlsym(RTLD_DEFAULT, DOOR_SYMBOL);
	void *library;

	if (door)
		return door;
	library = dlopen(ENGINE_LIBRARY, RTLD_NOW | RTLD_NODELETE | (load ? 0 : RTLD_NOLOAD));
	if (!library) {
		if (load)
			log_error("no engine in this process: %s", dlerror());
		return NULL;
	}
	door = dlsym(library, DOOR_SYMBOL);
	if (!door)
		log_error("%s has no symbol %s: it is not uroce's", ENGINE_LIBRARY, DOOR_SYMBOL);
	dlclose(library);
	return door;
}

int local_door(bool load, const struct door **door)
{
	const struct door *found = find(load);

	if (!found)
		return -ENOENT;
	if (found->version != DOOR_VERSION || found->size != sizeof(*found)) {
		log_error("the engine library's door has version %u and %u bytes, the front's "
			  "version %u and %zu bytes: install both from one release",
			found->version, found->size, DOOR_VERSION, sizeof(*found));
		return -EPROTO;
	}
	*door = found;
	return 0;
}
