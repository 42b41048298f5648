/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engines shown by DPDK's telemetry: its socket, its client (dpdk-telemetry.py), our commands under
 * /uroce. docs/telemetry.md lists them.
 */
#ifndef UROCE_EAL_TELEMETRY_H
#define UROCE_EAL_TELEMETRY_H

#include "list.h"

struct engine;
struct port;

/* One engine's place in the list; its owner keeps it where it is. */
struct telemetry {
	struct list node;
	struct engine *engine;
	struct port *port; /* an ethdev's */
};

/* Shows the engine from now on. Costs nothing unless somebody asks. */
void telemetry_add(struct telemetry *telemetry, struct engine *engine, struct port *port);
/* When it returns nobody asks it any more. It may be added again. */
void telemetry_remove(struct telemetry *telemetry);

#endif
