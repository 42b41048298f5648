/* SPDX-License-Identifier: BSD-3-Clause */
/* A wire with a clock that the test sets, and frames that carry a number. */
#ifndef UROCE_TESTS_LOOP_FIXTURE_H
#define UROCE_TESTS_LOOP_FIXTURE_H

#include <string.h>

#include "loop.h"
#include "unit.h"

#define ENDS 3u
#define FRAME 100u

struct fixture {
	uint64_t now;
	struct loop_wire *wire;
	struct port *port[ENDS];
};

static inline uint64_t fixture_clock(void *context)
{
	return ((struct fixture *)context)->now;
}

static inline void fixture_open(struct fixture *f, const struct loop_config *base)
{
	struct loop_config config = base ? *base : (struct loop_config){0};

	config.clock = fixture_clock;
	config.clock_context = f;
	f->now = 0;
	CU_ASSERT_EQUAL_FATAL(loop_create(&config, &f->wire), 0);
	for (uint32_t i = 0; i < ENDS; i++) {
		struct loop_end_config end = {.gid_count = 1};

		end.gids[0] = loop_gid4(0x0a000001 + i, 24);
		CU_ASSERT_EQUAL_FATAL(loop_add_end(f->wire, &end, &f->port[i]), 0);
	}
}

static inline void fixture_close(struct fixture *f)
{
	loop_destroy(f->wire);
}

/* To the MAC addresses that the ends have by default. The number lies behind the header. */
static inline bool fixture_send(
	struct fixture *f, uint32_t from, uint32_t to, uint32_t number, uint32_t length)
{
	struct port *port = f->port[from];
	struct packet packet;

	if (port->ops->alloc(port, 0, &packet, 1) != 1)
		return false;
	memset(packet.data, 0, length);
	memcpy(packet.data, (uint8_t[]){2, 0, 0, 0, 0, (uint8_t)(to + 1)}, 6);
	memcpy(packet.data + 6, (uint8_t[]){2, 0, 0, 0, 0, (uint8_t)(from + 1)}, 6);
	memcpy(packet.data + 14, &number, sizeof(number));
	packet.length = length;
	if (port->ops->tx(port, 0, &packet, 1) == 1)
		return true;
	port->ops->release(port, 0, &packet, 1);
	return false;
}

/* The number of the next frame that has arrived, or -1. */
static inline int64_t fixture_receive(struct fixture *f, uint32_t end)
{
	struct port *port = f->port[end];
	struct packet packet;
	uint32_t number;

	if (port->ops->rx(port, 0, &packet, 1) != 1)
		return -1;
	memcpy(&number, packet.data + 14, sizeof(number));
	port->ops->release(port, 0, &packet, 1);
	return number;
}

static inline struct loop_counters fixture_count(struct fixture *f, uint32_t from, uint32_t to)
{
	struct loop_counters counters;

	loop_count(f->wire, from, to, &counters);
	return counters;
}

#endif
