/* SPDX-License-Identifier: BSD-3-Clause */
/* Two arrays: one is being filled while the other is delivered. */
#include "loopback.h"

#include "rx.h"
#include "state.h"

void loopback_init(struct worker *worker)
{
	scheduler_init(&worker->to_self, worker->loopback.packets[0], LOOP_QUEUE);
}

/* Before the loop's packets are handed over the port's are. */
bool loopback_open(const struct worker *worker)
{
	for_each_worker(other, worker->engine)
	{
		const struct handover *ring = other->inbound[worker->number];

		if (ring && handover_room(ring) < PORT_BURST + LOOP_QUEUE)
			return false;
	}
	return true;
}

unsigned int loopback_run(struct worker *worker)
{
	struct outlet *outlet = &worker->to_self;
	struct packet *frames = outlet->out;
	uint32_t count = outlet->count;

	if (count == 0)
		return 0;
	worker->loopback.filling ^= 1;
	outlet->out = worker->loopback.packets[worker->loopback.filling];
	outlet->count = 0;
	rx_take(worker, frames, count);
	worker->counters.looped_packets += count;
	return count;
}
