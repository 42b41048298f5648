/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bench of these tests: a process that has started EAL itself (some lcores, no hugepages) and
 * has two ports, `east` and `west`, the ends of one wire of two rings. Engines adopt that EAL. For
 * engines of two cores each end has a further port, `wide_east` and `wide_west`, whose first pair
 * of queues are the same rings; what the second queue sends goes there, too, and it receives
 * nothing. So either of an end's ports may be used, one at a time.
 *
 * A node is an engine on one of the ports with its device opened and one object of each kind.
 * Whoever waits drives all inline engines of the bench, in this thread, and lets others run: the
 * machine may have fewer CPUs than there are busy threads.
 */
#ifndef UROCE_TESTS_BENCH_H
#define UROCE_TESTS_BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <infiniband/verbs.h>
#include <uroce/engine.h>

#include "unit.h"

#define BENCH_WORKER 1	    /* the lcore for a dedicated core */
#define BENCH_LCORES 4u	    /* 0, which is the main one, BENCH_WORKER, and others */
#define BENCH_PATIENCE 60.0 /* seconds; only ever used up by a failure */

enum side { EAST, WEST };
enum mode {
	INLINE,
	DEDICATED,
	MIXED, /* two cores: the first one dedicated, the second one driven */
};

/* EAL and the ports, once, before the cases. Ends the process with 77 where EAL doesn't start. */
void bench_start(void);
/* `--port ... --address ... --mode ...` of a side's engine: 10.0.0.1/24 and 10.0.0.2/24. */
const char *bench_arguments(enum side side, enum mode mode);
/* The name of a side's port, for that mode. */
const char *bench_port(enum side side, enum mode mode);
/* The raw frame that waits at this side's end of the wire: taken out and freed. Its length, or 0:
 * there is none. Only if there is no engine on that side. */
uint32_t bench_take_frame(enum side side, uint8_t *frame, uint32_t room);

#define NODE_MEMORY (4u << 20)

struct node {
	struct uroce_engine *engine;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;   /* all rights */
	uint8_t *memory;     /* NODE_MEMORY bytes, clear */
	struct ibv_qp *idle; /* of two cores: at the first one, so that the next QP is the second
			      * one's, whose frames the first one hands over */
};

/* Fails the case if anything fails. */
void node_open(struct node *node, enum side side, enum mode mode);
void node_close(struct node *node);
/* The same with an engine of these arguments. */
void node_open_line(struct node *node, const char *arguments);
/* A further context, with its objects, of the device of a node. */
void node_open_again(struct node *node, struct uroce_engine *engine);
/* All but the engine. */
void node_close_again(struct node *node);

/* One round of every inline engine of the bench; lets others run if there was nothing to do. */
void bench_drive(void);
/* Drives until the condition is true: false if it takes longer than any load explains. */
#define bench_until(condition)                                                                     \
	({                                                                                         \
		double end_ = bench_now() + BENCH_PATIENCE;                                        \
		bool true_;                                                                        \
		while (!(true_ = (condition)) && bench_now() < end_)                               \
			bench_drive();                                                             \
		true_;                                                                             \
	})
double bench_now(void);
/* Gives what must not happen a chance to: every engine has run many rounds when it returns. */
void bench_settle(void);

/* The next completion of the CQ, with success; fails the case otherwise. */
struct ibv_wc bench_complete(struct ibv_cq *cq);
/* The next completion, whatever its status. */
struct ibv_wc bench_any_completion(struct ibv_cq *cq);
/* Nothing is in the CQ, nor comes. */
void bench_no_completion(struct ibv_cq *cq);
/* The value of one of the engine's counters. */
uint64_t bench_counter(struct ibv_context *context, const char *name);

#endif
