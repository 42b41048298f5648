/* SPDX-License-Identifier: BSD-3-Clause */
/* Phases, and a port between the engine and its wire. */
#include <stdio.h>

#include <valgrind/callgrind.h>

#include "meter.h"

const char *const phase_names[PHASES] = {
	[PHASE_NONE] = "none",
	[PHASE_POST] = "post",
	[PHASE_SEND] = "send",
	[PHASE_RECEIVE] = "receive",
	[PHASE_ANSWER] = "answer",
	[PHASE_COMPLETE] = "complete",
	[PHASE_REAP] = "reap",
	[PHASE_REFILL] = "refill",
	[PHASE_IDLE] = "idle",
};

void meter_enter(struct meter *meter, enum phase phase)
{
	bool collect = phase == meter->wanted;

	meter->now = phase;
	if (collect == meter->collecting)
		return;
	meter->collecting = collect;
	CALLGRIND_TOGGLE_COLLECT;
}

void meter_dump(
	struct meter *meter, const char *operation, unsigned int batch, unsigned int messages)
{
	char name[64];

	meter_enter(meter, PHASE_NONE);
	snprintf(name, sizeof(name), "%s %u %s %u", operation, batch, phase_names[meter->wanted],
		messages);
	CALLGRIND_DUMP_STATS_AT(name);
}

/* ---- the port ---- */

static struct metered_port *to_metered(const struct port *port)
{
	return (struct metered_port *)(uintptr_t)port;
}

/* The wire's work is no phase. Returns the phase to go back to. */
static enum phase leave(struct metered_port *metered)
{
	enum phase phase = metered->meter->now;

	meter_enter(metered->meter, PHASE_NONE);
	return phase;
}

static unsigned int metered_rx(
	struct port *port, uint16_t queue, struct packet *packets, unsigned int count)
{
	struct metered_port *metered = to_metered(port);
	enum phase phase = leave(metered);
	unsigned int received = metered->inner->ops->rx(metered->inner, queue, packets, count);

	meter_enter(metered->meter, phase);
	return received;
}

static unsigned int metered_alloc(
	struct port *port, uint16_t queue, struct packet *packets, unsigned int count)
{
	struct metered_port *metered = to_metered(port);
	enum phase phase = leave(metered);
	unsigned int given = metered->inner->ops->alloc(metered->inner, queue, packets, count);

	meter_enter(metered->meter, phase);
	return given;
}

static unsigned int metered_tx(
	struct port *port, uint16_t queue, struct packet *packets, unsigned int count)
{
	struct metered_port *metered = to_metered(port);
	enum phase phase = leave(metered);
	unsigned int sent = metered->inner->ops->tx(metered->inner, queue, packets, count);

	meter_enter(metered->meter, phase);
	return sent;
}

static void metered_release(
	struct port *port, uint16_t queue, struct packet *packets, unsigned int count)
{
	struct metered_port *metered = to_metered(port);
	enum phase phase = leave(metered);

	metered->inner->ops->release(metered->inner, queue, packets, count);
	meter_enter(metered->meter, phase);
}

static void metered_other(struct port *port, uint16_t queue, const struct packet *packets,
	unsigned int count, uint64_t now)
{
	struct metered_port *metered = to_metered(port);

	metered->inner->ops->other(metered->inner, queue, packets, count, now);
}

static int metered_route(struct port *port, const uint8_t source[16], const uint8_t destination[16],
	uint32_t *neighbour)
{
	struct metered_port *metered = to_metered(port);

	return metered->inner->ops->route(metered->inner, source, destination, neighbour);
}

static int metered_neighbour(struct port *port, uint32_t neighbour, uint64_t now, uint8_t mac[6])
{
	struct metered_port *metered = to_metered(port);

	return metered->inner->ops->neighbour(metered->inner, neighbour, now, mac);
}

static uint64_t metered_service(struct port *port, uint64_t now)
{
	struct metered_port *metered = to_metered(port);
	enum phase phase = leave(metered);
	uint64_t due = metered->inner->ops->service(metered->inner, now);

	meter_enter(metered->meter, phase);
	return due;
}

static void metered_info(const struct port *port, struct port_info *info)
{
	struct metered_port *metered = to_metered(port);

	metered->inner->ops->info(metered->inner, info);
}

static void metered_counters(const struct port *port, struct port_counters *counters)
{
	struct metered_port *metered = to_metered(port);

	metered->inner->ops->counters(metered->inner, counters);
}

static void metered_close(struct port *port)
{
	struct metered_port *metered = to_metered(port);

	metered->inner->ops->close(metered->inner);
}

static const struct port_ops metered_ops = {
	.rx = metered_rx,
	.alloc = metered_alloc,
	.tx = metered_tx,
	.release = metered_release,
	.other = metered_other,
	.route = metered_route,
	.neighbour = metered_neighbour,
	.service = metered_service,
	.info = metered_info,
	.counters = metered_counters,
	.close = metered_close,
};

void metered_port_init(struct metered_port *metered, struct port *inner, struct meter *meter)
{
	*metered = (struct metered_port){
		.port = {.ops = &metered_ops, .epoch = inner->epoch},
		.inner = inner,
		.meter = meter,
	};
}
