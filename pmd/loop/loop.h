/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A wire in memory. Its ends are ports like any other (port.h), so that engines run over it in one
 * process, in tests and in the simulator, by whatever clock the caller provides.
 *
 * Between the ends stands a switch. All frames to an end leave the switch through that end's link:
 * a line with a rate, a queue in front of it, and a delay behind it. What goes wrong on the way is
 * set per direction, from one end to another, and is drawn from a generator of that direction, so
 * that the same seed and the same frames at the same times give the same faults.
 *
 * Frames aren't copied: a buffer moves from the sender to the receiver. All calls are serialised
 * by a lock, so that ends may be driven by different threads; only one thread is deterministic.
 */
#ifndef UROCE_LOOP_LOOP_H
#define UROCE_LOOP_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "port.h"

struct loop_wire;

#define LOOP_ENDS_MAX 64u
#define LOOP_ANY UINT32_MAX /* every end */
#define LOOP_MILLION 1000000u

struct loop_config {
	uint64_t (*clock)(void *context); /* ns, monotonic */
	void *clock_context;
	uint64_t seed;
	uint32_t buffers;      /* of all ends together; 0: 4096 */
	uint32_t room;	       /* bytes a buffer; 0: 9216 */
	const char *pcap;      /* a file for all frames that cross, or NULL */
	bool pcap_nanoseconds; /* the magic number that says ns instead of us */
};

struct loop_end_config {
	const char *name;    /* NULL: "loopN" */
	uint8_t mac[6];	     /* zero: 02:00:00:00:00:N + 1 */
	uint32_t mtu;	     /* of L3; 0: 4200 */
	uint32_t speed_mbps; /* as reported; 0: unknown */
	uint16_t queues;     /* 0: one; frames are dealt to them by their UDP source port */
	uint16_t gid_count;
	struct port_gid gids[PORT_GIDS_MAX];
};

/* The line from the switch to an end. All zero: infinitely fast. */
struct loop_link {
	uint64_t rate;	/* bits a second; 0: no limit, and then nothing ever waits */
	uint64_t delay; /* ns */
	uint32_t queue; /* frames that may wait; what comes then is dropped. 0: no limit */
	uint32_t mark;	/* frames waiting from which on ECN-capable ones are marked; 0: never */
};

/* Chances are in millionths per frame. */
struct loop_faults {
	uint32_t loss;
	uint32_t duplicate; /* a second copy right behind the first */
	uint32_t reorder;   /* comes later by up to reorder_by; others overtake it */
	uint32_t late;	    /* comes later by up to late_by, and nothing overtakes it */
	uint32_t corrupt;   /* 1 to corrupt_bits random bits behind the MAC addresses flip */
	uint32_t corrupt_bits;
	uint64_t reorder_by; /* ns */
	uint64_t late_by;
	uint64_t blackout_from; /* ns; from here until blackout_until nothing passes */
	uint64_t blackout_until;
};

/* How an end's neighbours answer. */
enum loop_neighbour {
	LOOP_NEIGHBOUR_AT_ONCE,
	LOOP_NEIGHBOUR_DELAYED, /* after `delay` */
	LOOP_NEIGHBOUR_NEVER,	/* -EHOSTUNREACH after `delay` */
};

#define LOOP_COUNTERS(X)                                                                           \
	X(sent)	     /* accepted by tx */                                                          \
	X(delivered) /* handed out by rx */                                                        \
	X(lost)                                                                                    \
	X(duplicated)                                                                              \
	X(reordered)                                                                               \
	X(delayed)                                                                                 \
	X(corrupted)                                                                               \
	X(blacked_out)                                                                             \
	X(queue_full)                                                                              \
	X(marked)                                                                                  \
	X(no_destination) /* a MAC address that nobody has */                                      \
	X(link_down)                                                                               \
	X(oversized) /* shorter than a header or longer than the sender's MTU */                   \
	X(no_buffer) /* a copy that could not be made */                                           \
	X(misused)   /* buffers given back or sent by somebody who didn't have them */

struct loop_counters {
#define X(name) uint64_t name;
	LOOP_COUNTERS(X)
#undef X
};

/* 0, -ENOMEM, or -errno of opening the capture file. */
int loop_create(const struct loop_config *config, struct loop_wire **wire);
/* All engines over its ends are gone. */
void loop_destroy(struct loop_wire *wire);

/* A further end; its number counts from 0. The port lives as long as the wire; close() marks it
 * closed. 0, -ENOMEM, -ENOSPC, -EINVAL (too many GIDs, MTU beyond the buffers). */
int loop_add_end(struct loop_wire *wire, const struct loop_end_config *config, struct port **port);

/* Numbers of ends; LOOP_ANY for each. For set-up and for tests between rounds. */
void loop_set_link(struct loop_wire *wire, uint32_t to, const struct loop_link *link);
void loop_set_faults(
	struct loop_wire *wire, uint32_t from, uint32_t to, const struct loop_faults *faults);
void loop_set_neighbour(
	struct loop_wire *wire, uint32_t end, enum loop_neighbour how, uint64_t delay);
void loop_set_up(struct loop_wire *wire, uint32_t end, bool up);
void loop_set_mac(struct loop_wire *wire, uint32_t end, const uint8_t mac[6]);
void loop_set_gids(
	struct loop_wire *wire, uint32_t end, const struct port_gid *gids, uint16_t count);
/* tx takes at most `frames` a call (UINT32_MAX: all): a NIC whose ring is full. */
void loop_set_tx_limit(struct loop_wire *wire, uint32_t end, uint32_t frames);
/* alloc gives at most `buffers` a call (UINT32_MAX: all that there are). */
void loop_set_alloc_limit(struct loop_wire *wire, uint32_t end, uint32_t buffers);

/* When the next frame arrives or the next neighbour answers; UINT64_MAX: nothing is under way. */
uint64_t loop_next_event(struct loop_wire *wire);
/* Of one direction, or summed over all that match. */
void loop_count(struct loop_wire *wire, uint32_t from, uint32_t to, struct loop_counters *counters);
/* Buffers in the hands of ports' users, and those on the way. */
uint32_t loop_buffers_used(struct loop_wire *wire);
uint32_t loop_buffers_flying(struct loop_wire *wire);

/* A GID entry from an IPv4 address in host order or an IPv6 address, for tests. */
struct port_gid loop_gid4(uint32_t address, uint8_t prefix_length);
struct port_gid loop_gid6(const uint8_t address[16], uint8_t prefix_length);

#endif
