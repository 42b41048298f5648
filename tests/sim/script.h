/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TESTS_SCRIPT_H
#define UROCE_TESTS_SCRIPT_H

#include "traffic.h"

/* Opens gates, and lets happen to connections what is their fate. True if something was done. */
bool script_step(struct traffic *traffic, struct pair *pair);
/* Something is still to happen. */
bool script_pending(const struct pair *pair);

#endif
