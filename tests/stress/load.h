/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Load on engines of two cores each, through the verbs API, by many threads at once: what an
 * application does to its memory, its queues and itself while requests are under way. The engines
 * have threads of their own or are driven by who polls (enum load_driver); the wire between them is
 * in memory.
 *
 * Threads of the test are actors; each goes round until it has done its rounds or time is over.
 * What is wrong ends the program with its name; and an access to memory that was unmapped after
 * ibv_dereg_mr() had returned ends it by a signal.
 */
#ifndef UROCE_TESTS_LOAD_H
#define UROCE_TESTS_LOAD_H

#include <infiniband/verbs.h>

#include "leaks.h"
#include "loop.h"
#include "serve.h"
#include "stress.h"

#define LOAD_CORES 2u
#define LOAD_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

enum load_driver {
	LOAD_ROUNDS,   /* a thread a core, which never sleeps */
	LOAD_SERVED,   /* a thread a core, which sleeps soon */
	LOAD_PROGRESS, /* who polls; and a progress thread of both cores */
	LOAD_MIXED,    /* core 0 has a thread, core 1 is driven */
};

struct load_thread {
	pthread_t thread;
	struct engine *engine;
	uint32_t core;
	bool stop;
	struct serve serve;
};

struct load_end {
	struct port *port;
	struct engine *engine;
	struct load_thread threads[LOAD_CORES];
	uint32_t thread_count;
	struct ibv_context *context;
	struct ibv_pd *pd;
	union ibv_gid gid;
	struct leaks before;
	pthread_t listener; /* to asynchronous events */
	uint32_t limits;    /* atomic; of SRQs, that it has heard of */
	bool stop;
};

struct load {
	struct loop_wire *wire;
	struct load_end end[2];
	uint64_t rounds; /* of each actor */
	double deadline; /* of stress_seconds(); 0: none */
	uint64_t done;	 /* atomic; rounds of all actors */
	uint64_t good;	 /* atomic; requests that succeeded, and others */
	uint64_t bad;
};

/* An actor of its own thread. */
struct actor {
	struct load *load;
	pthread_t thread;
	uint32_t number;
	uint32_t seed;
};

typedef void *actor_fn(void *actor);

void load_open(struct load *load, enum load_driver driver, uint64_t rounds, double seconds);
/* All that the actors had is back, on both ends. */
void load_close(struct load *load);
/* Runs them until they are done; `disturb`: meanwhile the link goes down and MACs change. */
void load_run(struct load *load, actor_fn *const *actors, uint32_t count, bool disturb);
/* Asked before each round: goes it on? */
bool load_goes_on(struct actor *actor, uint64_t round);
uint32_t load_random(struct actor *actor, uint32_t below);
/* For so many microseconds at most, or none. */
void load_linger(struct actor *actor, uint32_t us);

/* ---- a connection between the ends, one actor's ---- */

#define LANE_DEPTH 32u
#define LANE_BUFFER 65536u

struct lane {
	struct actor *actor;
	struct ibv_context *context[2];
	struct ibv_pd *pd[2];
	struct ibv_comp_channel *channel[2];
	struct ibv_cq *cq[2];
	struct ibv_qp *qp[2];
	uint8_t *buffer[2];
	struct ibv_mr *mr[2];
	uint32_t generation; /* in each wr_id: of the QPs' last RESET */
	bool failed;	     /* since then some request has */
};

/* In the actor's load; contexts NULL: its own. The QPs are connected. */
void lane_open(
	struct lane *lane, struct actor *actor, struct ibv_context *a, struct ibv_context *b);
void lane_close(struct lane *lane);
/* From RESET to RTS; or to RESET before. Completions not polled yet vanish. */
void lane_connect(struct lane *lane);
void lane_reconnect(struct lane *lane);

/* Where a request's data is, and where the peer's. */
struct spot {
	uint8_t *at;
	uint32_t key;
	uint32_t length;
};

/* A signalled request of side 0 or 1. */
void lane_post(struct lane *lane, unsigned int side, enum ibv_wr_opcode opcode, struct spot here,
	struct spot there);
void lane_recv(struct lane *lane, unsigned int side, struct spot here);
/* Takes so many completions of that side, all of this generation; waits. More would be wrong. */
void lane_collect(struct lane *lane, unsigned int side, uint32_t count);
/* Takes one if there is one. */
bool lane_poll(struct lane *lane, unsigned int side);
/* The next event of that side's channel; waits. */
void lane_await_event(struct lane *lane, unsigned int side);
struct spot lane_spot(struct lane *lane, unsigned int side, uint32_t length);

/* ---- the actors ---- */

/* load_memory.c: memory that requests under way lead to is deregistered and unmapped. */
actor_fn load_remote_memory;
actor_fn load_local_memory;
actor_fn load_moved_memory;
/* load_objects.c: QPs and CQs come, change and go with requests under way. */
actor_fn load_queues;
actor_fn load_states;
actor_fn load_resize;
/* load_shared.c: a CQ and an SRQ of QPs of both cores. */
actor_fn load_shared;
/* load_clients.c: contexts and threads come and go. */
actor_fn load_contexts;
actor_fn load_leftovers;
actor_fn load_threads;

#endif
