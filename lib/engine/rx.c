/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A frame in: parse, find the QP by its number, hand it over. What isn't RoCE goes back to the
 * port, which answers for its addresses; what is wrong is dropped and counted by its reason.
 */
#include "rx.h"

#include "state.h"

static void to_qp(struct worker *worker, const struct wire_packet *packet)
{
	struct engine_qp *qp = qp_table_find(&worker->engine->qps, packet->destination_qp);

	if (qp)
		rc_receive(&worker->core, qp->rc, packet);
	else
		worker->counters.drop_no_qp++;
}

static enum wire_drop take_frame(struct worker *worker, const struct packet *frame)
{
	struct wire_packet packet;
	enum wire_drop drop = wire_parse(frame->data, frame->length, &packet);

	if (drop == WIRE_OK)
		to_qp(worker, &packet);
	else
		worker->drops[drop]++;
	return drop;
}

void rx_deliver(struct worker *worker, const struct packet *frames, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (i + 1 < count)
			__builtin_prefetch(frames[i + 1].data);
		take_frame(worker, &frames[i]);
	}
}

unsigned int rx_run(struct worker *worker)
{
	struct port *port = worker->engine->port;
	struct packet frames[PORT_BURST], others[PORT_BURST];
	unsigned int count = port->ops->rx(port, worker->queue, frames, PORT_BURST);
	unsigned int other = 0;

	if (count == 0)
		return 0;
	for (unsigned int i = 0; i < count; i++) {
		if (i + 1 < count)
			__builtin_prefetch(frames[i + 1].data);
		if (take_frame(worker, &frames[i]) == WIRE_NOT_ROCE)
			others[other++] = frames[i];
	}
	if (other)
		port->ops->other(port, worker->queue, others, other, worker->core.now);
	port->ops->release(port, worker->queue, frames, count);
	worker->counters.rx_packets += count;
	return count;
}
