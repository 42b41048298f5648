/* SPDX-License-Identifier: BSD-3-Clause */
/* COUNTERS: everything that the engine counts, summed over its cores. */
#include "command.h"

#include <string.h>

const char *const engine_counter_names[sizeof(struct engine_counters) / 8] = {
#define X(name) #name,
	ENGINE_COUNTERS(X)
#undef X
};

#define VALUES(type) (sizeof(type) / sizeof(uint64_t))
#define ALL_VALUES                                                                                 \
	(VALUES(struct rc_counters) + VALUES(struct rc_hold_counters) + RC_HOLD_BUCKETS +          \
		WIRE_DROPS + VALUES(struct engine_counters))

_Static_assert(ALL_VALUES <= sizeof(((struct uroce_abi_command *)0)->u.counters.value) / 8,
	"the answer holds all counters");

static uint64_t *add(uint64_t *to, const void *counters, size_t count)
{
	const uint64_t *from = counters;

	for (size_t i = 0; i < count; i++)
		to[i] += from[i];
	return to + count;
}

static void add_worker(uint64_t *to, const struct worker *worker)
{
	const struct rc_core *core = &worker->core;

	to = add(to, &core->counters, VALUES(struct rc_counters));
	to = add(to, &core->hold_counters, VALUES(struct rc_hold_counters));
	to = add(to, core->hold_histogram, RC_HOLD_BUCKETS);
	to = add(to, worker->drops, WIRE_DROPS);
	add(to, &worker->counters, VALUES(struct engine_counters));
}

int command_counters(struct worker *worker, struct command *command)
{
	uint64_t *value = command->abi.u.counters.value;

	memset(value, 0, sizeof(command->abi.u.counters.value));
	for (unsigned int i = 0; i < ENGINE_CORES; i++)
		add_worker(value, worker->engine->workers[i]);
	return 0;
}
