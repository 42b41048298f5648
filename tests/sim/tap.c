/* SPDX-License-Identifier: BSD-3-Clause */
/* The tap: a port in front of a port. */
#include <string.h>

#include "be.h"
#include "icrc.h"
#include "tap.h"

static struct tap *to_tap(const struct port *port)
{
	return (struct tap *)(uintptr_t)port;
}

static bool parse(const struct packet *frame, struct wire_packet *packet)
{
	return wire_parse(frame->data, frame->length, packet) == WIRE_OK && wire_icrc_ok(packet);
}

/* ---- forging ---- */

/* What is left of a header's checksum when it is in place (RFC 1071). */
static void fix_ipv4(uint8_t *ip)
{
	uint32_t sum = 0;

	ip[10] = 0;
	ip[11] = 0;
	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~((sum & 0xffff) + (sum >> 16));
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
}

/* Another source address, or another partition; and other bytes, so that it shows if they count. */
static void spoil(struct tap *tap, struct wire_packet *packet)
{
	uint8_t *bth = (uint8_t *)(uintptr_t)packet->bth;
	uint8_t *source = (uint8_t *)(uintptr_t)packet->source;
	uint8_t *payload = (uint8_t *)(uintptr_t)packet->payload;

	if (random_below(tap->random, 2))
		source[packet->ip_version == 4 ? 3 : 15] ^= 0x40;
	else
		bth[3] ^= 0x11; /* the P_Key */
	for (uint32_t i = 0; i < packet->payload_length; i++)
		payload[i] ^= 0xff;
	if (packet->opcode == OPCODE_RC_ACK)
		bth[12] = 0x62; /* the AETH: NAK, remote access error */
	if (packet->ip_version == 4)
		fix_ipv4((uint8_t *)(uintptr_t)packet->ip);
	icrc_put(payload + packet->payload_length + packet->pad, wire_icrc(packet));
}

/* A frame more; false: no buffer is left. */
static bool copy(
	struct tap *tap, uint16_t queue, const uint8_t *data, uint32_t length, struct packet *into)
{
	if (tap->inner->ops->alloc(tap->inner, queue, into, 1) != 1)
		return false;
	memcpy(into->data, data, length);
	into->length = length;
	return true;
}

static void forge(struct tap *tap, uint16_t queue, const struct packet *frame)
{
	struct wire_packet packet;
	struct packet forged;

	if (!copy(tap, queue, frame->data, frame->length, &forged))
		return;
	if (wire_parse(forged.data, forged.length, &packet) == WIRE_OK)
		spoil(tap, &packet);
	tap->inner->ops->tx(tap->inner, queue, &forged, 1);
}

/* Sends what was kept, and keeps this one instead. */
static void repeat_old(struct tap *tap, uint16_t queue, const struct packet *frame)
{
	struct packet old;

	if (tap->old_length && copy(tap, queue, tap->old, tap->old_length, &old))
		tap->inner->ops->tx(tap->inner, queue, &old, 1);
	tap->old_length = frame->length <= TAP_FRAME ? frame->length : 0;
	memcpy(tap->old, frame->data, tap->old_length);
}

static bool happens(struct tap *tap)
{
	return tap->forge && random_below(tap->random, 100) < tap->forge;
}

/* The ends' own addresses have this bit clear. */
static bool is_forged(const struct wire_packet *packet)
{
	return packet->pkey != 0xffff || packet->source[packet->ip_version == 4 ? 3 : 15] & 0x40;
}

/* ---- the data path ---- */

static void send_one(struct tap *tap, uint16_t queue, struct packet *frame)
{
	struct wire_packet packet;

	if (parse(frame, &packet))
		tap->sent(tap->context, tap->end, &packet);
	if (happens(tap))
		repeat_old(tap, queue, frame);
	if (happens(tap)) {
		forge(tap, queue, frame);
		if (random_below(tap->random, 2)) {
			tap->inner->ops->release(tap->inner, queue, frame, 1);
			return;
		}
	}
	tap->inner->ops->tx(tap->inner, queue, frame, 1);
}

static unsigned int tap_tx(
	struct port *port, uint16_t queue, struct packet *packets, unsigned int count)
{
	struct tap *tap = to_tap(port);
	unsigned int taken = count < tap->tx_limit ? count : tap->tx_limit;

	for (unsigned int i = 0; i < taken; i++)
		send_one(tap, queue, &packets[i]);
	return taken;
}

static unsigned int tap_rx(
	struct port *port, uint16_t queue, struct packet *packets, unsigned int count)
{
	struct tap *tap = to_tap(port);
	unsigned int received = tap->inner->ops->rx(tap->inner, queue, packets, count);
	struct wire_packet packet;

	for (unsigned int i = 0; i < received; i++)
		if (parse(&packets[i], &packet) && !is_forged(&packet))
			tap->received(tap->context, tap->end, &packet);
	return received;
}

/* ---- the rest passes through ---- */

static unsigned int tap_alloc(
	struct port *port, uint16_t queue, struct packet *packets, unsigned int count)
{
	struct port *inner = to_tap(port)->inner;

	return inner->ops->alloc(inner, queue, packets, count);
}

static void tap_release(
	struct port *port, uint16_t queue, struct packet *packets, unsigned int count)
{
	struct port *inner = to_tap(port)->inner;

	inner->ops->release(inner, queue, packets, count);
}

static void tap_other(struct port *port, uint16_t queue, const struct packet *packets,
	unsigned int count, uint64_t now)
{
	struct port *inner = to_tap(port)->inner;

	inner->ops->other(inner, queue, packets, count, now);
}

static int tap_route(struct port *port, const uint8_t source[16], const uint8_t destination[16],
	uint32_t *neighbour)
{
	struct port *inner = to_tap(port)->inner;

	return inner->ops->route(inner, source, destination, neighbour);
}

static int tap_neighbour(struct port *port, uint32_t neighbour, uint64_t now, uint8_t mac[6])
{
	struct port *inner = to_tap(port)->inner;

	return inner->ops->neighbour(inner, neighbour, now, mac);
}

static uint64_t tap_service(struct port *port, uint64_t now)
{
	struct port *inner = to_tap(port)->inner;

	return inner->ops->service(inner, now);
}

static void tap_info(const struct port *port, struct port_info *info)
{
	const struct port *inner = to_tap(port)->inner;

	inner->ops->info(inner, info);
}

static void tap_counters(const struct port *port, struct port_counters *counters)
{
	const struct port *inner = to_tap(port)->inner;

	inner->ops->counters(inner, counters);
}

static void tap_close(struct port *port)
{
	struct port *inner = to_tap(port)->inner;

	inner->ops->close(inner);
}

static const struct port_ops tap_ops = {
	.rx = tap_rx,
	.alloc = tap_alloc,
	.tx = tap_tx,
	.release = tap_release,
	.other = tap_other,
	.route = tap_route,
	.neighbour = tap_neighbour,
	.service = tap_service,
	.info = tap_info,
	.counters = tap_counters,
	.close = tap_close,
};

void tap_open(struct tap *tap, struct port *inner)
{
	tap->port = (struct port){.ops = &tap_ops, .epoch = inner->epoch};
	tap->inner = inner;
}
