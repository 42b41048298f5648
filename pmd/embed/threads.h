/* SPDX-License-Identifier: BSD-3-Clause */
/* The threads of an engine: a worker on each of its lcores, and the progress thread of the cores
 * that have none. */
#ifndef UROCE_EMBED_THREADS_H
#define UROCE_EMBED_THREADS_H

#include <pthread.h>
#include <stdbool.h>

#include "arguments.h"
#include "serve.h"

struct worker_thread {
	struct serve serve;
	unsigned int lcore;
	uint32_t left; /* atomic; it has come to its end */
};

struct threads {
	struct worker_thread workers[CORES_MAX];
	uint32_t count;
	struct serve progress;
	pthread_t thread;
	bool has_progress;
	bool runs;
};

/* 0, -EBUSY (an lcore does something else already; logged), -errno. */
int threads_start(
	struct threads *threads, struct engine *engine, const struct arguments *arguments);
/* They have ended when it returns. */
void threads_stop(struct threads *threads);
/* After threads_stop(): the same again. */
int threads_restart(struct threads *threads);

#endif
