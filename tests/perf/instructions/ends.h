/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A requester and a responder in one thread: two inline engines over a wire in memory, each with a
 * device, by a clock that only the program moves, so that every run does the same.
 */
#ifndef UROCE_TESTS_PERF_ENDS_H
#define UROCE_TESTS_PERF_ENDS_H

#include <infiniband/verbs.h>

#include "engine.h"
#include "loop.h"
#include "meter.h"

#define DEPTH 64u
#define MESSAGE 8u

enum { REQUESTER, RESPONDER, ENDS };

struct end {
	struct metered_port port;
	struct engine *engine;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	union ibv_gid gid;
	uint64_t memory[DEPTH];
};

struct ends {
	uint64_t now;
	struct loop_wire *wire;
	struct meter meter;
	struct end end[ENDS];
};

/* Whatever cannot be made ends the program. */
void ends_open(struct ends *ends);
/* A further QP of the requester, in RTS towards a QP that nobody has; never sends. */
void ends_add_idle(struct ends *ends);
/* Ends the program, with this text, unless it is so. */
void must(bool so, const char *what);

#endif
