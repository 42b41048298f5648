/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread of one or more cores: polls, keeps away, sleeps. */
#include "serve.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "nap.h"
#include "state.h"
#include "worker.h"

/* What a serving thread remembers from look to look. */
struct watch {
	struct serve *serve;
	uint64_t active;	    /* when there was something to do */
	uint32_t driven[CORES_MAX]; /* as last seen */
};

_Static_assert(NAP_DESCRIPTORS >= 2 * CORES_MAX, "two for each core");

static struct worker *core_at(const struct serve *serve, uint32_t i)
{
	return serve->engine->workers[serve->first + i];
}

static uint64_t now_of(const struct serve *serve)
{
	return serve->engine->clock(serve->engine->clock_context);
}

static bool stopped(const struct serve *serve)
{
	return __atomic_load_n(&serve->stop, __ATOMIC_RELAXED) != 0;
}

/* ---- waiting ---- */

static int port_descriptor(const struct worker *worker)
{
	struct port *port = worker->engine->port;

	return port->ops->descriptor ? port->ops->descriptor(port, worker->queue) : -ENOTSUP;
}

/* What wakes it: first a descriptor for each core, then one for each core's port. */
static uint32_t descriptors(const struct serve *serve, int fds[NAP_DESCRIPTORS])
{
	for (uint32_t i = 0; i < serve->count; i++) {
		fds[i] = core_at(serve, i)->sleep.wake;
		fds[serve->count + i] = port_descriptor(core_at(serve, i));
	}
	return 2 * serve->count;
}

/* For so long, or until somebody says that he is going to wait: true. */
static bool keep_off(const struct serve *serve)
{
	int fds[NAP_DESCRIPTORS];
	bool called = false;
	uint64_t count;

	descriptors(serve, fds);
	if (!nap_wait(fds, serve->count, serve->nap))
		return false;
	for (uint32_t i = 0; i < serve->count; i++)
		called |= read(fds[i], &count, sizeof(count)) > 0;
	return called;
}

static bool is_deaf(const struct serve *serve, const int *fds)
{
	for (uint32_t i = 0; i < serve->count; i++)
		if (fds[serve->count + i] < 0)
			return true;
	return false;
}

/* What a sleep ends by, besides what wakes. */
struct until {
	uint64_t due; /* the next timer of all cores */
	bool often;   /* commands wait for other cores or for a neighbour */
};

/*
 * Where a port has no descriptor, it is looked at every so often: the longer nothing has come, the
 * less often, since each look costs microseconds and a frame after a long silence can wait a part
 * of it.
 */
#define SILENCE_PART 32u
#define NAPS_MAX 10u

static uint64_t nap_after(const struct serve *serve, uint64_t silence)
{
	uint64_t nap = silence / SILENCE_PART;

	if (nap < serve->nap)
		return serve->nap;
	return nap < NAPS_MAX * serve->nap ? nap : NAPS_MAX * serve->nap;
}

static void wait_until(const struct watch *watch, const struct until *until)
{
	const struct serve *serve = watch->serve;
	int fds[NAP_DESCRIPTORS];
	uint32_t n = descriptors(serve, fds);
	uint64_t now = now_of(serve);
	uint64_t time = until->due == UINT64_MAX ? NAP_FOREVER : until->due - now;
	uint64_t nap = UINT64_MAX;

	if (until->due <= now)
		return;
	if (is_deaf(serve, fds))
		nap = nap_after(serve, now - watch->active);
	if (until->often)
		nap = serve->nap;
	nap_wait(fds, n, time < nap ? time : nap);
}

/* ---- sleep ---- */

/* Whoever is at a core now has work for it. */
static bool enter_all(const struct serve *serve)
{
	for (uint32_t i = 0; i < serve->count; i++)
		if (!worker_enter(core_at(serve, i))) {
			while (i-- > 0)
				worker_leave(core_at(serve, i));
			return false;
		}
	return true;
}

static void leave_all(const struct serve *serve)
{
	for (uint32_t i = serve->count; i-- > 0;)
		worker_leave(core_at(serve, i));
}

/* False: somebody else is at the core, or there is something. */
static bool found_idle(struct worker *worker, struct until *until)
{
	uint64_t timer;
	bool idle;

	if (!worker_enter(worker))
		return false;
	idle = worker_round(worker) == 0 && !worker_busy(worker);
	timer = worker_next_timer(worker);
	until->due = timer < until->due ? timer : until->due;
	until->often |= !list_empty(&worker->pending);
	worker_leave(worker);
	return idle;
}

/* Once more, after it was said that the cores sleep. One core after the other: if this thread had
 * them all, a command that is run while no core is in a round would wait for ever. */
static bool all_idle(const struct serve *serve, struct until *until)
{
	*until = (struct until){.due = UINT64_MAX};
	for (uint32_t i = 0; i < serve->count; i++)
		if (!found_idle(core_at(serve, i), until))
			return false;
	return true;
}

static void lie_down(const struct serve *serve)
{
	for (uint32_t i = 0; i < serve->count; i++)
		sleep_begin(core_at(serve, i));
}

static void get_up(const struct serve *serve)
{
	for (uint32_t i = 0; i < serve->count; i++)
		sleep_end(core_at(serve, i));
}

static void sleep_all(const struct watch *watch)
{
	const struct serve *serve = watch->serve;
	struct until until;

	if (__atomic_load_n(&serve->engine->stopping, __ATOMIC_RELAXED) || !enter_all(serve))
		return;
	lie_down(serve);
	leave_all(serve);
	if (all_idle(serve, &until) && !stopped(serve))
		wait_until(watch, &until);
	while (!enter_all(serve))
		sched_yield();
	get_up(serve);
	leave_all(serve);
}

/* ---- the thread ---- */

static bool others_drive(struct watch *watch)
{
	bool driven = false;

	for (uint32_t i = 0; i < watch->serve->count; i++) {
		uint32_t now = __atomic_load_n(&core_at(watch->serve, i)->driven, __ATOMIC_RELAXED);

		driven |= now != watch->driven[i];
		watch->driven[i] = now;
	}
	return driven;
}

static bool round_of_all(const struct serve *serve)
{
	bool busy = false;

	for (uint32_t i = 0; i < serve->count; i++)
		busy |= engine_core_round(serve->engine, serve->first + i) != 0;
	return busy;
}

/* Who drove until just now, and says that he is going to wait, drives no more. */
static void keep_away(struct watch *watch)
{
	if (keep_off(watch->serve))
		(void)others_drive(watch);
	watch->active = now_of(watch->serve);
}

static void look(struct watch *watch)
{
	struct serve *serve = watch->serve;

	if (serve->progress && others_drive(watch))
		keep_away(watch);
	else if (round_of_all(serve))
		watch->active = now_of(serve);
	else if (serve->idle != SERVE_NEVER && now_of(serve) - watch->active >= serve->idle)
		sleep_all(watch);
}

int serve_init(struct serve *serve)
{
	int error = 0;

	__atomic_store_n(&serve->stop, 0, __ATOMIC_RELAXED);
	if (serve->nap == 0)
		serve->nap = SERVE_NAP;
	for (uint32_t i = 0; i < serve->count && !error; i++)
		error = sleep_init(core_at(serve, i));
	if (!error && serve->progress)
		__atomic_store_n(&serve->engine->progress, serve, __ATOMIC_RELEASE);
	return error;
}

void serve_run(struct serve *serve)
{
	struct watch watch = {.serve = serve, .active = now_of(serve)};

	nap_prepare();
	while (!stopped(serve))
		look(&watch);
}

static void wake_all(const struct serve *serve)
{
	uint64_t one = 1;

	for (uint32_t i = 0; i < serve->count; i++) {
		ssize_t ignored = write(core_at(serve, i)->sleep.wake, &one, sizeof(one));

		(void)ignored;
	}
}

void serve_stop(struct serve *serve)
{
	__atomic_store_n(&serve->stop, 1, __ATOMIC_RELAXED);
	wake_all(serve);
}

void serve_fini(struct serve *serve)
{
	if (serve->progress)
		__atomic_store_n(&serve->engine->progress, NULL, __ATOMIC_RELAXED);
}

void engine_take_over(struct engine *engine)
{
	struct serve *serve = __atomic_load_n(&engine->progress, __ATOMIC_ACQUIRE);

	if (serve)
		wake_all(serve);
}

bool engine_is_served(struct engine *engine)
{
	return engine->dedicated == engine->cores.count ||
		__atomic_load_n(&engine->progress, __ATOMIC_ACQUIRE) != NULL;
}
