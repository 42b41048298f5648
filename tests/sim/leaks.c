/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks into the engine, which has no such question of its own. */
#include "leaks.h"
#include "state.h"

void leaks_count(struct engine *engine, struct leaks *leaks)
{
	const struct client *client =
		container_of(list_first(&engine->clients), struct client, node);

	*leaks = (struct leaks){
		.region = region_used(client->region),
		.keys = mem_count(engine->mem),
		.qps = engine->qp_count,
	};
	for_each_worker(worker, engine)
	{
		leaks->rings += sendring_count(client->core[worker->number].rings);
		leaks->timers += worker->core.timers.reserved;
		leaks->pending += worker->core.timers.count;
		leaks->waiting +=
			worker->to_port.length + worker->to_self.length + worker->flushing.length;
	}
}

const char *leaks_compare(const struct leaks *before, const struct leaks *after)
{
	uint32_t rings = after->rings - before->rings;

	if (after->region - before->region != (uint64_t)rings * LEAKS_RING)
		return "memory of the region";
	if (after->keys != before->keys)
		return "keys";
	if (after->qps != before->qps)
		return "QPs";
	if (after->timers != before->timers || after->pending != before->pending)
		return "timers";
	return after->waiting != before->waiting ? "places in a line" : NULL;
}
