/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulated world of one seed: ends with an engine and a device each, on one wire, under one
 * virtual clock. Nothing here runs in a thread; the clock moves only when nothing else does.
 */
#ifndef UROCE_TESTS_WORLD_H
#define UROCE_TESTS_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "engine.h"
#include "leaks.h"
#include "loop.h"
#include "oracle.h"
#include "random.h"
#include "tap.h"

#define WORLD_ENDS 4u
#define WORLD_ARENA (1u << 20)
/* The region of an end covers the arena up to here; behind it lies what nobody may reach. */
#define WORLD_REGION (WORLD_ARENA - (1u << 14))
/* From this loss on, in millionths, a connection may break rightly. */
#define WORLD_BAD_LOSS 20000u

struct end {
	struct engine *engine;
	uint32_t cores;
	struct tap tap;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_srq *srq;		  /* or NULL */
	struct ibv_comp_channel *channel; /* or NULL: the program polls */
	bool asleep;			  /* waits for the channel */
	bool sleeps_on;	   /* for solicited events only; looks by itself now and then */
	uint64_t wakes_at; /* then */
	uint32_t urgent;   /* completions that had to wake it since it looked last */
	bool lazy;	   /* polls seldom */
	bool limited;	   /* the SRQ's limit is armed */
	uint32_t limit;
	uint8_t *arena;
	uint32_t used; /* bytes of the arena that are given out */
	struct leaks before;
};

struct world {
	uint64_t seed;
	uint64_t now; /* ns */
	bool verbose;
	struct random random;
	struct loop_wire *wire;
	struct oracle *oracle;
	uint32_t ends;
	struct end end[WORLD_ENDS];
	uint32_t loss; /* millionths */
	bool clean;    /* nothing is lost, repeated, or overtaken on the wire */
};

/* pcap: a file for everything on the wire, or NULL. */
void world_open(struct world *world, uint64_t seed, bool verbose, const char *pcap);
/* The end's CQ, just big enough, perhaps an SRQ, and what else its QPs share. */
void world_provide(struct world *world, struct end *end, uint32_t completions, uint32_t receives);
/* All QPs and windows are gone: the oracle hears of what has not come back. */
void world_close(struct world *world);
void world_free(struct world *world);

/* One step: every engine runs a round; if none had anything to do, the clock goes on to what is due
 * next. False: nothing is due any more. */
bool world_step(struct world *world);
/* No engine has anything to do, and nothing is on the wire. */
bool world_quiet(struct world *world);
/* A file descriptor has something to read. */
bool world_readable(int fd);

/* A piece of an end's arena, with guard bytes around it that nobody may change. NULL: used up. */
uint8_t *world_take(struct world *world, struct end *end, uint32_t length);

/* Uniform in [low, high]; true with so many in 100. */
uint32_t world_between(struct world *world, uint32_t low, uint32_t high);
bool world_chance(struct world *world, uint32_t percent);

void world_trace(const struct world *world, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
