/* SPDX-License-Identifier: BSD-3-Clause */
/* The wire's own structures, shared by the files of this folder. */
#ifndef UROCE_LOOP_WIRE_H
#define UROCE_LOOP_WIRE_H

#include <pthread.h>

#include "buffers.h"
#include "capture.h"
#include "loop.h"
#include "random.h"

/* A frame on the way. Earlier first; frames of the same time in the order they were sent. */
struct flight {
	uint64_t when;
	uint64_t order;
	struct loop_buffer *buffer;
	uint32_t from;
};

/* A binary heap with room for all buffers of the wire. */
struct flights {
	struct flight *heap;
	uint32_t count;
};

/* The line to an end. */
struct line {
	struct loop_link set;
	uint64_t free_at; /* when its last frame has left the queue */
	/* When the frames that wait leave, in a circle with room for all buffers. */
	uint64_t *leaves;
	uint32_t first;
	uint32_t waiting;
};

/* From one end to another. */
struct direction {
	struct loop_faults faults;
	struct loop_counters counters;
	struct random random;
	uint64_t last; /* when its latest frame arrives that nothing may overtake */
};

struct loop_end {
	struct port port; /* first: to_end() */
	struct loop_wire *wire;
	uint32_t number;
	bool closed;
	struct port_info info;
	struct port_counters counters;
	struct line line;
	struct flights flights;
	uint32_t tx_limit;
	uint32_t alloc_limit;
	enum loop_neighbour neighbour;
	uint64_t neighbour_delay;
	uint64_t asked[LOOP_ENDS_MAX]; /* when the current attempt ends; 0: none */
	bool known[LOOP_ENDS_MAX];     /* neighbours that have answered */
};

struct loop_wire {
	pthread_mutex_t lock;
	struct loop_config config;
	struct buffers buffers;
	struct capture capture;
	uint64_t order;
	uint32_t end_count;
	struct loop_end *ends[LOOP_ENDS_MAX];
	/* [from][to] */
	struct direction *directions;
};

static inline struct direction *wire_direction(struct loop_wire *wire, uint32_t from, uint32_t to)
{
	return &wire->directions[from * LOOP_ENDS_MAX + to];
}

static inline uint64_t wire_now(const struct loop_wire *wire)
{
	return wire->config.clock(wire->config.clock_context);
}

/* The port is the first member, so that const ports have their ends, too. */
static inline struct loop_end *to_end(const struct port *port)
{
	return (struct loop_end *)(uintptr_t)port;
}

/* The port's functions (ends.c). */
extern const struct port_ops loop_port_ops;

/* neighbours.c: three of them. */
int neighbours_route(struct port *port, const uint8_t source[16], const uint8_t destination[16],
	uint32_t *neighbour);
int neighbours_resolve(struct port *port, uint32_t neighbour, uint64_t now, uint8_t mac[6]);
uint64_t neighbours_service(struct port *port, uint64_t now);
/* When the next attempt of this end will be over; UINT64_MAX: none is under way. */
uint64_t neighbours_due(const struct loop_end *end, uint64_t now);

/* The frame's way from an end to the others (transit.c). The wire takes the buffer. */
void transit_send(struct loop_end *end, struct loop_buffer *buffer, uint64_t now);
/* The next frame that has arrived at the end by now, if it is one of this queue's, or NULL. A frame
 * of another queue holds those behind it up until that queue is read. */
struct loop_buffer *transit_arrived(struct loop_end *end, uint16_t queue, uint64_t now);

/* faults.c */
enum fate { FATE_PASSES, FATE_LOST };
enum fate fault_lose(struct direction *direction, uint64_t now);
/* Flips bits of the frame, if it is this one's turn. */
void fault_corrupt(struct direction *direction, struct loop_buffer *buffer);
bool fault_duplicate(struct direction *direction);
/* When a frame that would arrive at `when` does. */
uint64_t fault_delay(struct direction *direction, uint64_t when);

/* line.c: when a frame has crossed the line; false: its queue is full. May mark the frame. `room`:
 * what the circle of waiting frames holds. */
bool line_pass(struct line *line, struct loop_buffer *buffer, struct loop_counters *counters,
	uint32_t room, uint64_t now, uint64_t *arrives);

/* flights.c */
void flights_push(struct flights *flights, const struct flight *flight);
struct flight flights_pop(struct flights *flights);

#endif
