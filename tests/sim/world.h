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
#include "loop.h"
#include "oracle.h"
#include "random.h"

#define WORLD_ENDS 4u
#define WORLD_ARENA (1u << 20)

struct end {
	struct engine *engine;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_srq *srq; /* or NULL */
	uint8_t *arena;
	uint32_t used; /* bytes of the arena that are given out */
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
	uint32_t loss; /* millionths, for the report */
};

/* pcap: a file for everything on the wire, or NULL. */
void world_open(struct world *world, uint64_t seed, bool verbose, const char *pcap);
void world_close(struct world *world);

/* One step: every engine runs a round; if none had anything to do, the clock goes on to what is due
 * next. False: nothing is due any more. */
bool world_step(struct world *world);

/* A piece of an end's arena, with guard bytes around it that nobody may change. NULL: used up. */
uint8_t *world_take(struct world *world, struct end *end, uint32_t length);

/* Uniform in [low, high]; true with so many in 100. */
uint32_t world_between(struct world *world, uint32_t low, uint32_t high);
bool world_chance(struct world *world, uint32_t percent);

void world_trace(const struct world *world, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
