/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames out. */
#include "tx.h"

#include <string.h>

#include "state.h"

/* Refilled when fewer are left, so that the port is asked for whole bursts. */
#define ENOUGH (TX_BUFFERS - PORT_BURST)

void tx_refill(struct worker *worker)
{
	struct port *port = worker->engine->port;
	struct rc_core *core = &worker->core;
	uint32_t wanted = TX_BUFFERS - core->free_count;
	uint32_t given;

	if (core->free_count > ENOUGH)
		return;
	given = port->ops->alloc(port, worker->queue, core->free + core->free_count, wanted);
	core->free_count += given;
	if (given < wanted)
		worker->counters.no_buffer++;
}

unsigned int tx_flush(struct worker *worker)
{
	struct port *port = worker->engine->port;
	struct outlet *outlet = &worker->to_port;
	uint32_t sent;

	if (outlet->count == 0)
		return 0;
	sent = port->ops->tx(port, worker->queue, outlet->out, outlet->count);
	worker->counters.tx_packets += sent;
	outlet->count -= sent;
	if (outlet->count) {
		worker->counters.tx_refused += outlet->count;
		memmove(outlet->out, outlet->out + sent, outlet->count * sizeof(*outlet->out));
	}
	return sent;
}

static void give_back(struct worker *worker, struct packet *packets, uint32_t *count)
{
	struct port *port = worker->engine->port;

	if (*count)
		port->ops->release(port, worker->queue, packets, *count);
	*count = 0;
}

void tx_fini(struct worker *worker)
{
	give_back(worker, worker->to_port.out, &worker->to_port.count);
	give_back(worker, worker->to_self.out, &worker->to_self.count);
	give_back(worker, worker->core.free, &worker->core.free_count);
}
