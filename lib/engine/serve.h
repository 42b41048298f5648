/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread that serves cores of an engine: the worker of a dedicated core, or the progress thread
 * of the cores that are driven by whoever polls.
 *
 * It polls while there is something to do; after `idle` ns without, it sleeps until a post, a
 * command, a frame or a timer wakes it. Where the port has no descriptor it looks at the port again
 * every `nap` ns, after a long silence every 10 `nap`.
 *
 * A progress thread also keeps away while others drive: it looks every `nap` ns whether they still
 * do, and takes over when they don't, or at once when one of them says that it is going to wait
 * (engine_take_over()).
 */
#ifndef UROCE_ENGINE_SERVE_H
#define UROCE_ENGINE_SERVE_H

#include <stdbool.h>
#include <stdint.h>

struct engine;

#define SERVE_NEVER UINT64_MAX
#define SERVE_NAP 100000u

struct serve {
	struct engine *engine;
	uint32_t first; /* of the cores */
	uint32_t count;
	bool progress; /* others drive these cores, too */
	uint64_t idle; /* ns; SERVE_NEVER: it never sleeps */
	uint64_t nap;  /* ns; 0: SERVE_NAP */
	uint32_t stop; /* atomic; see serve_stop() */
};

/* Before the thread starts and anybody attaches. 0 or -errno. */
int serve_init(struct serve *serve);
/* The thread. Returns after serve_stop(). */
void serve_run(struct serve *serve);
/* From another thread: serve_run() returns soon. */
void serve_stop(struct serve *serve);
/* After it has returned: these cores have nobody that serves them. */
void serve_fini(struct serve *serve);

/* The caller, who drives by polling, is going to wait for an event: the progress thread is needed
 * now. */
void engine_take_over(struct engine *engine);
/* Somebody serves the engine's cores, so that waiting is enough. */
bool engine_is_served(struct engine *engine);

#endif
