/* SPDX-License-Identifier: BSD-3-Clause */
/* The engines of this process, as the door shows them. */
#ifndef UROCE_ENGINE_DOORS_H
#define UROCE_ENGINE_DOORS_H

#include "door.h"

/* Shows the engine. 0, or -EEXIST: there is one of that name. */
int doors_add(struct engine *engine);
/* Hides it, unless clients are attached: -EBUSY. After 0 nobody can attach. */
int doors_remove(struct engine *engine);

/* Exported by liburoce-engine; found by fronts by its name. */
extern const struct door uroce_engine_door __attribute__((visibility("default")));

/*
 * Starts an engine from an argument line (uroce/engine.h): what stands behind the door's start().
 * Weak: it is provided by who knows how to make ports, and where nobody does, start() fails with
 * ENOSYS. NULL and errno.
 */
struct engine *engine_start_line(const char *arguments) __attribute__((weak));

#endif
