/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine, as those see it who make one: pmd/eal (over DPDK ports) and the simulator (over wires
 * in memory, with a clock of its own).
 */
#ifndef UROCE_ENGINE_ENGINE_H
#define UROCE_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "port.h"

struct engine;

enum engine_mode {
	ENGINE_INLINE,	  /* whoever polls drives it: engine_round() */
	ENGINE_DEDICATED, /* each core has a thread of its own: serve.h */
	ENGINE_MIXED,	  /* some have, the others are driven */
};

struct engine_config {
	const char *name;   /* the device's: "uroce0" */
	uint32_t cores;	    /* 0: one; at most 16, and no more than the port has queues */
	uint32_t dedicated; /* how many of them, the first ones, have a thread of their own */
	struct port *port;  /* the engine closes it */
	uint64_t (*clock)(void *context); /* ns, monotonic */
	void *clock_context;
	uint64_t seed;	 /* 0: from the system */
	uint32_t max_qp; /* 0: the defaults */
	uint32_t max_mr;
	uint64_t region_size; /* bytes of address space per client */
	bool memfd_regions;   /* so that tests can map them a second time */
	uint32_t tx_burst;    /* packets a round and QP; 0: default */
};

/* 0, -EINVAL (name, port, clock, or a number out of range), -EEXIST (an engine of this process has
 * that name), -ENOMEM, -errno. On failure the port stays the caller's. */
int engine_create(const struct engine_config *config, struct engine **engine);
/* -EBUSY while clients are attached. Nobody drives it any more; closes the port. */
int engine_destroy(struct engine *engine);

const char *engine_name(const struct engine *engine);
enum engine_mode engine_mode(const struct engine *engine);

/*
 * One round of each core that is driven: commands, receive, timers, send. Takes a core's token by
 * try-lock, and leaves out cores that other threads are at. Returns packets received and sent.
 */
unsigned int engine_round(struct engine *engine);
/* One round of one core, for the thread that it has. */
unsigned int engine_core_round(struct engine *engine, uint32_t core);
/* When the next timer is due (ns of the engine's clock), for who sleeps or simulates. UINT64_MAX:
 * none. */
uint64_t engine_next_timer(struct engine *engine);
/* True if engine_round() has something to do besides timers and the port: active QPs, posted
 * commands, announcements. For the simulator and for sleep. */
bool engine_busy(struct engine *engine);

#endif
