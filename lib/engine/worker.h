/* SPDX-License-Identifier: BSD-3-Clause */
/* One core's loop. */
#ifndef UROCE_ENGINE_WORKER_H
#define UROCE_ENGINE_WORKER_H

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct worker;

/* 0 or -ENOMEM. */
int worker_create(struct engine *engine, uint32_t number, uint64_t seed, uint32_t budget,
	struct worker **worker);
/* All buffers go back to the port. */
void worker_destroy(struct worker *worker);

/* Try-lock and unlock of the worker's token. */
bool worker_enter(struct worker *worker);
void worker_leave(struct worker *worker);

/* One round, with the token. Returns packets moved. */
unsigned int worker_round(struct worker *worker);
/* The same for a thread that has other things to do in between: what it receives is answered by the
 * next round. */
unsigned int worker_driven_round(struct worker *worker);
/* What the core's QPs owe their peers goes out, up to a bound: before one of them ends. */
unsigned int worker_send_owed(struct worker *worker);
bool worker_busy(struct worker *worker);
uint64_t worker_next_timer(const struct worker *worker);

#endif
