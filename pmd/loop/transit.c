/* SPDX-License-Identifier: BSD-3-Clause */
/* A frame's way across the wire: destination, faults, line, flight. */
#include <stddef.h>
#include <string.h>

#include "be.h"
#include "headers.h"
#include "wire.h"

static void drop(struct loop_wire *wire, struct loop_buffer *buffer, uint64_t *counter)
{
	(*counter)++;
	buffers_give(&wire->buffers, buffer);
}

/* Through the line, into the air. The buffer is the wire's. */
static void launch(
	struct loop_end *from, struct loop_end *to, struct loop_buffer *buffer, uint64_t now)
{
	struct loop_wire *wire = from->wire;
	struct direction *direction = wire_direction(wire, from->number, to->number);
	struct flight flight = {.order = wire->order++, .buffer = buffer, .from = from->number};
	uint64_t arrives;

	if (!line_pass(
		    &to->line, buffer, &direction->counters, wire->buffers.total, now, &arrives)) {
		buffers_give(&wire->buffers, buffer);
		return;
	}
	capture_write(&wire->capture, now, buffer->data, buffer->length);
	flight.when = fault_delay(direction, arrives);
	flights_push(&to->flights, &flight);
}

static struct loop_buffer *copy(struct loop_wire *wire, const struct loop_buffer *original)
{
	struct loop_buffer *buffer = buffers_take(&wire->buffers, BUFFER_FLYING);

	if (!buffer)
		return NULL;
	memcpy(buffer->data, original->data, original->length);
	buffer->length = original->length;
	return buffer;
}

/* The copy is made first: the original may be dropped at the line. */
static void cross(
	struct loop_end *from, struct loop_end *to, struct loop_buffer *buffer, uint64_t now)
{
	struct loop_wire *wire = from->wire;
	struct direction *direction = wire_direction(wire, from->number, to->number);
	struct loop_buffer *second = NULL;

	direction->counters.sent++;
	if (!to->info.up || to->closed) {
		drop(wire, buffer, &direction->counters.link_down);
		return;
	}
	if (fault_lose(direction, now) == FATE_LOST) {
		buffers_give(&wire->buffers, buffer);
		return;
	}
	if (fault_duplicate(direction)) {
		second = copy(wire, buffer);
		if (second)
			direction->counters.duplicated++;
		else
			direction->counters.no_buffer++;
	}
	fault_corrupt(direction, buffer);
	launch(from, to, buffer, now);
	if (second)
		launch(from, to, second, now);
}

static struct loop_end *owner_of(struct loop_wire *wire, const uint8_t mac[6])
{
	for (uint32_t i = 0; i < wire->end_count; i++)
		if (memcmp(wire->ends[i]->info.mac, mac, 6) == 0)
			return wire->ends[i];
	return NULL;
}

/* Multicast and broadcast: a copy to every other end. */
static void flood(struct loop_end *from, struct loop_buffer *buffer, uint64_t now)
{
	struct loop_wire *wire = from->wire;

	for (uint32_t i = 0; i < wire->end_count; i++) {
		struct loop_buffer *one;

		if (i == from->number)
			continue;
		one = copy(wire, buffer);
		if (one)
			cross(from, wire->ends[i], one, now);
		else
			wire_direction(wire, from->number, i)->counters.no_buffer++;
	}
	buffers_give(&wire->buffers, buffer);
}

void transit_send(struct loop_end *from, struct loop_buffer *buffer, uint64_t now)
{
	struct loop_wire *wire = from->wire;
	struct loop_counters *own = &wire_direction(wire, from->number, from->number)->counters;
	struct loop_end *to;

	if (buffer->length < sizeof(struct ether_header) || buffer->length > wire->buffers.room ||
		buffer->length >
			from->info.mtu + sizeof(struct ether_header) + sizeof(struct vlan_header)) {
		drop(wire, buffer, &own->oversized);
		return;
	}
	if (!from->info.up) {
		drop(wire, buffer, &own->link_down);
		return;
	}
	if (buffer->data[0] & 1) {
		flood(from, buffer, now);
		return;
	}
	to = owner_of(wire, buffer->data);
	if (!to) {
		drop(wire, buffer, &own->no_destination);
		return;
	}
	cross(from, to, buffer, now);
}

static uint32_t word_at(const uint8_t *at)
{
	return be16_get((const struct be16 *)at);
}

static uint32_t udp_offset(const uint8_t *frame, uint32_t length)
{
	uint32_t at = offsetof(struct ether_header, type);

	if (length < sizeof(struct ether_header) + sizeof(struct vlan_header) + 1)
		return 0;
	if (word_at(frame + at) == ETHER_VLAN)
		at += sizeof(struct vlan_header);
	if (word_at(frame + at) == ETHER_IPV4)
		return at + 2 + 4 * (frame[at + 2] & 15u);
	return word_at(frame + at) == ETHER_IPV6 ? at + 2 + sizeof(struct ipv6_header) : 0;
}

/* As RSS does: a flow's frames go to one queue. */
static uint16_t queue_of(const struct loop_end *end, const struct loop_buffer *buffer)
{
	uint32_t at = udp_offset(buffer->data, buffer->length);

	if (end->info.queues == 1 || at == 0 || at + 2 > buffer->length)
		return 0;
	return (uint16_t)(word_at(buffer->data + at) % end->info.queues);
}

struct loop_buffer *transit_arrived(struct loop_end *end, uint16_t queue, uint64_t now)
{
	struct flights *flights = &end->flights;

	while (flights->count && flights->heap[0].when <= now &&
		queue_of(end, flights->heap[0].buffer) == queue) {
		struct flight flight = flights_pop(flights);
		struct direction *direction = wire_direction(end->wire, flight.from, end->number);

		if (!end->info.up) {
			drop(end->wire, flight.buffer, &direction->counters.link_down);
			continue;
		}
		direction->counters.delivered++;
		return flight.buffer;
	}
	return NULL;
}
