/* SPDX-License-Identifier: BSD-3-Clause */
/* The ends as ports: the functions of port.h. */
#include <errno.h>
#include <string.h>

#include "wire.h"

static void hand_out(struct loop_end *end, struct loop_buffer *buffer, struct packet *packet)
{
	buffer->end = end->number;
	*packet = (struct packet){
		.handle = buffer,
		.data = buffer->data,
		.length = buffer->length,
		.room = end->wire->buffers.room,
	};
}

static unsigned int end_rx(
	struct port *port, uint16_t queue, struct packet *packets, unsigned int count)
{
	struct loop_end *end = to_end(port);
	struct loop_wire *wire = end->wire;
	unsigned int received = 0;
	uint64_t now;

	pthread_mutex_lock(&wire->lock);
	now = wire_now(wire);
	while (received < count) {
		struct loop_buffer *buffer = transit_arrived(end, queue, now);

		if (!buffer)
			break;
		buffers_pass(&wire->buffers, buffer, BUFFER_HELD);
		hand_out(end, buffer, &packets[received++]);
		end->counters.rx_packets++;
		end->counters.rx_bytes += buffer->length;
	}
	pthread_mutex_unlock(&wire->lock);
	return received;
}

static unsigned int end_alloc(
	struct port *port, uint16_t queue, struct packet *packets, unsigned int count)
{
	struct loop_end *end = to_end(port);
	struct loop_wire *wire = end->wire;
	unsigned int wanted = count < end->alloc_limit ? count : end->alloc_limit;
	unsigned int taken = 0;

	pthread_mutex_lock(&wire->lock);
	while (taken < wanted) {
		struct loop_buffer *buffer = buffers_take(&wire->buffers, BUFFER_HELD);

		if (!buffer)
			break;
		buffer->length = 0;
		hand_out(end, buffer, &packets[taken++]);
	}
	if (taken < count)
		end->counters.no_buffer++;
	pthread_mutex_unlock(&wire->lock);
	return taken;
}

static void misuse(struct loop_end *end)
{
	wire_direction(end->wire, end->number, end->number)->counters.misused++;
}

static void send_one(struct loop_end *end, const struct packet *packet, uint64_t now)
{
	struct loop_wire *wire = end->wire;
	struct loop_buffer *buffer = buffers_held(&wire->buffers, packet->handle, end->number);

	if (!buffer) {
		misuse(end);
		return;
	}
	end->counters.tx_packets++;
	end->counters.tx_bytes += packet->length;
	buffer->length = packet->length;
	buffers_pass(&wire->buffers, buffer, BUFFER_FLYING);
	transit_send(end, buffer, now);
}

static unsigned int end_tx(
	struct port *port, uint16_t queue, struct packet *packets, unsigned int count)
{
	struct loop_end *end = to_end(port);
	struct loop_wire *wire = end->wire;
	unsigned int accepted = count < end->tx_limit ? count : end->tx_limit;
	uint64_t now;

	pthread_mutex_lock(&wire->lock);
	now = wire_now(wire);
	for (unsigned int i = 0; i < accepted; i++)
		send_one(end, &packets[i], now);
	end->counters.tx_rejected += count - accepted;
	pthread_mutex_unlock(&wire->lock);
	return accepted;
}

static void end_release(
	struct port *port, uint16_t queue, struct packet *packets, unsigned int count)
{
	struct loop_end *end = to_end(port);
	struct loop_wire *wire = end->wire;

	pthread_mutex_lock(&wire->lock);
	for (unsigned int i = 0; i < count; i++) {
		struct loop_buffer *buffer =
			buffers_held(&wire->buffers, packets[i].handle, end->number);

		if (buffer)
			buffers_give(&wire->buffers, buffer);
		else
			misuse(end);
	}
	pthread_mutex_unlock(&wire->lock);
}

/* Nobody here asks by ARP or neighbour discovery: addresses are known to the wire. */
static void end_other(struct port *port, uint16_t queue, const struct packet *packets,
	unsigned int count, uint64_t now)
{
	struct loop_end *end = to_end(port);

	pthread_mutex_lock(&end->wire->lock);
	end->counters.other_dropped += count;
	pthread_mutex_unlock(&end->wire->lock);
}

static void end_info(const struct port *port, struct port_info *info)
{
	struct loop_end *end = to_end(port);

	pthread_mutex_lock(&end->wire->lock);
	*info = end->info;
	pthread_mutex_unlock(&end->wire->lock);
}

static void end_counters(const struct port *port, struct port_counters *counters)
{
	struct loop_end *end = to_end(port);

	pthread_mutex_lock(&end->wire->lock);
	*counters = end->counters;
	pthread_mutex_unlock(&end->wire->lock);
}

static void end_close(struct port *port)
{
	struct loop_end *end = to_end(port);

	pthread_mutex_lock(&end->wire->lock);
	end->closed = true;
	pthread_mutex_unlock(&end->wire->lock);
}

const struct port_ops loop_port_ops = {
	.rx = end_rx,
	.alloc = end_alloc,
	.tx = end_tx,
	.release = end_release,
	.other = end_other,
	.route = neighbours_route,
	.neighbour = neighbours_resolve,
	.service = neighbours_service,
	.info = end_info,
	.counters = end_counters,
	.close = end_close,
};
