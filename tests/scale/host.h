/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An engine over a wire in memory with nobody else on it, its device opened: what is in it talks to
 * itself, by its own address. The process's clock.
 */
#ifndef UROCE_TESTS_HOST_H
#define UROCE_TESTS_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "engine.h"
#include "loop.h"
#include "unit.h"

struct host {
	struct loop_wire *wire;
	struct engine *engine;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr; /* all rights */
	uint8_t *memory;
	uint64_t size;
	union ibv_gid gid;
};

/* What is in use, by everybody who counts. */
struct use {
	uint64_t heap; /* bytes that malloc() has given out, and not got back */
	uint64_t resident;
	uint64_t region;
	uint32_t keys;
	uint32_t qps;
	uint32_t timers;
};

/* With that much registered memory; the CQ is as large. Fail the case if anything fails. */
void host_open(struct host *host, uint32_t cores, uint64_t memory, uint32_t cqe);
void host_close(struct host *host);
void host_use(const struct host *host, struct use *use);
/* Checks that it is as before; the heap and what is resident may be less. */
void use_not_grown(const struct use *before, const struct use *after);
/* Heap that the engine uses for a QP, if that many were made meanwhile, `qp` one of them. */
uint64_t use_per_qp(
	const struct use *before, const struct use *after, uint32_t qps, struct ibv_qp *qp);

/* The value of one of the engine's counters. */
uint64_t host_counter(const struct host *host, const char *name);

/* A small RC QP in RESET: two sends, one receive, one SGE each. */
struct ibv_qp *host_create_qp(struct host *host);
/* From RESET to RTS. */
void host_connect(struct host *host, struct ibv_qp *qp, uint32_t peer);
/* Posts a signalled WRITE. */
int host_write(const struct host *host, struct ibv_qp *qp, uint64_t from, uint64_t to,
	uint32_t length, uint32_t rkey);
/* The next completion, whatever its status: drives until it is there. */
struct ibv_wc host_complete(struct host *host);

/* Seconds of a CPU that the process has used: it has one thread, and others may run beside it. */
double host_cpu(void);

#endif
