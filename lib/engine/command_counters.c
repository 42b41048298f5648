/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Everything that the engine counts, summed over its cores and put in one row: for the command
 * COUNTERS, and for those who look on from outside.
 */
#include "command.h"

#include <string.h>

#define VALUES(type) (sizeof(type) / sizeof(uint64_t))

/* The row, part by part; the histogram has no names. */
static const struct part {
	const char *const *names;
	size_t count;
} parts[] = {
	{rc_counter_names, VALUES(struct rc_counters)},
	{rc_hold_counter_names, VALUES(struct rc_hold_counters)},
	{NULL, RC_HOLD_BUCKETS},
	{engine_drop_names, WIRE_DROPS},
	{engine_counter_names, VALUES(struct engine_counters)},
	{engine_port_counter_names, VALUES(struct port_counters)},
};
#define PARTS (sizeof(parts) / sizeof(parts[0]))

#define BEFORE_HISTOGRAM (VALUES(struct rc_counters) + VALUES(struct rc_hold_counters))
#define ALL_VALUES                                                                                 \
	(BEFORE_HISTOGRAM + RC_HOLD_BUCKETS + WIRE_DROPS + VALUES(struct engine_counters) +        \
		VALUES(struct port_counters))

_Static_assert(ALL_VALUES <= sizeof(((struct uroce_abi_command *)0)->u.counters.value) / 8,
	"the answer holds all counters");

static uint64_t *add(uint64_t *to, const void *counters, size_t count)
{
	const uint64_t *from = counters;

	for (size_t i = 0; i < count; i++)
		to[i] += from[i];
	return to + count;
}

static uint64_t *add_worker(uint64_t *to, const struct worker *worker)
{
	const struct rc_core *core = &worker->core;

	to = add(to, &core->counters, VALUES(struct rc_counters));
	to = add(to, &core->hold_counters, VALUES(struct rc_hold_counters));
	to = add(to, core->hold_histogram, RC_HOLD_BUCKETS);
	to = add(to, worker->drops, WIRE_DROPS);
	return add(to, &worker->counters, VALUES(struct engine_counters));
}

/* What is gone has left its counts at core 0. */
static void add_client(uint64_t *values, const struct client *client)
{
	uint64_t *counters = values + BEFORE_HISTOGRAM + RC_HOLD_BUCKETS + WIRE_DROPS;
	struct engine_counters refused = {0};

	client_refused(client, &refused);
	add(counters, &refused, VALUES(struct engine_counters));
}

/* No core is inside a round. */
static void add_all(const struct engine *engine, uint64_t values[ALL_VALUES])
{
	struct port_counters port;
	uint64_t *end = values;

	memset(values, 0, ALL_VALUES * sizeof(*values));
	for_each_worker(each, engine) end = add_worker(values, each);
	list_for_each (node, &engine->clients)
		add_client(values, container_of(node, struct client, node));
	engine->port->ops->counters(engine->port, &port);
	add(end, &port, VALUES(struct port_counters));
}

int command_counters(struct worker *worker, struct command *command)
{
	add_all(worker->engine, command->abi.u.counters.value);
	return 0;
}

static void read_all(struct engine *engine, uint64_t values[ALL_VALUES])
{
	engine_pause(engine);
	add_all(engine, values);
	engine_resume(engine);
}

void engine_counters(struct engine *engine, engine_tell *tell, void *context)
{
	uint64_t values[ALL_VALUES];
	const uint64_t *value = values;

	read_all(engine, values);
	for (size_t p = 0; p < PARTS; value += parts[p++].count)
		for (size_t i = 0; parts[p].names && i < parts[p].count; i++)
			tell(context, parts[p].names[i], value[i]);
}

void engine_hold_histogram(struct engine *engine, struct engine_hold_histogram *histogram)
{
	uint64_t values[ALL_VALUES];

	_Static_assert(ENGINE_HOLD_BUCKETS == RC_HOLD_BUCKETS, "the transport's buckets");
	read_all(engine, values);
	memcpy(histogram->bound_us, rc_hold_bucket_us, sizeof(rc_hold_bucket_us));
	histogram->bound_us[RC_HOLD_BUCKETS - 1] = UINT64_MAX;
	memcpy(histogram->count, values + BEFORE_HISTOGRAM, sizeof(histogram->count));
}
