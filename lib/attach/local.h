/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding the engine library of this process. */
#ifndef UROCE_ATTACH_LOCAL_H
#define UROCE_ATTACH_LOCAL_H

#include <stdbool.h>

#include "door.h"

/*
 * The door of the engine library that this process has, or with `load` has now. 0; -ENOENT: there
 * is none (with `load` the reason is logged); -EPROTO: of another version (logged).
 */
int local_door(bool load, const struct door **door);

#endif
