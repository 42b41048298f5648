/* SPDX-License-Identifier: BSD-3-Clause */
/* EAL runs the workers on its lcores; the progress thread is an ordinary one, on any CPU. */
#include "threads.h"

#include <errno.h>
#include <string.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#include "log.h"

/* A frame or a post is seldom alone: so long, in ns, does the progress thread look for more. */
#define PROGRESS_IDLE 20000u

/* ---- workers ---- */

static int work(void *argument)
{
	struct worker_thread *worker = argument;

	serve_run(&worker->serve);
	/* Release: pairs with the acquire in stop_worker(). EAL orders this as well, but where no
	 * sanitizer looks. */
	__atomic_store_n(&worker->left, 1, __ATOMIC_RELEASE);
	return 0;
}

static int start_worker(struct worker_thread *worker)
{
	int error = serve_init(&worker->serve);

	if (error)
		return error;
	error = rte_eal_remote_launch(work, worker, worker->lcore);
	if (error)
		log_error("lcore %u is busy with something else: take another", worker->lcore);
	return error;
}

static void stop_worker(struct worker_thread *worker)
{
	serve_stop(&worker->serve);
	rte_eal_wait_lcore(worker->lcore);
	(void)__atomic_load_n(&worker->left, __ATOMIC_ACQUIRE);
	serve_fini(&worker->serve);
}

static int start_workers(struct threads *threads)
{
	for (uint32_t i = 0; i < threads->count; i++) {
		int error = start_worker(&threads->workers[i]);

		if (!error)
			continue;
		while (i-- > 0)
			stop_worker(&threads->workers[i]);
		return error;
	}
	return 0;
}

/* ---- progress ---- */

static void *progress(void *argument)
{
	struct threads *threads = argument;

	pthread_setname_np(pthread_self(), "uroce-progress");
	serve_run(&threads->progress);
	return NULL;
}

static int start_progress(struct threads *threads)
{
	int error;

	if (!threads->has_progress)
		return 0;
	error = serve_init(&threads->progress);
	if (!error)
		error = -pthread_create(&threads->thread, NULL, progress, threads);
	if (error) {
		log_error("no progress thread: %s", strerror(-error));
		serve_fini(&threads->progress);
	}
	return error;
}

static void stop_progress(struct threads *threads)
{
	if (!threads->has_progress)
		return;
	serve_stop(&threads->progress);
	pthread_join(threads->thread, NULL);
	serve_fini(&threads->progress);
}

/* ---- all ---- */

int threads_restart(struct threads *threads)
{
	int error = start_workers(threads);

	if (error)
		return error;
	error = start_progress(threads);
	if (error)
		for (uint32_t i = 0; i < threads->count; i++)
			stop_worker(&threads->workers[i]);
	threads->runs = !error;
	return error;
}

int threads_start(struct threads *threads, struct engine *engine, const struct arguments *arguments)
{
	uint32_t driven = arguments->cores - arguments->lcores.count;

	memset(threads, 0, sizeof(*threads));
	threads->count = arguments->lcores.count;
	for (uint32_t i = 0; i < threads->count; i++) {
		threads->workers[i].lcore = arguments->lcores.id[i];
		threads->workers[i].serve = (struct serve){
			.engine = engine, .first = i, .count = 1, .idle = arguments->idle};
	}
	threads->has_progress = arguments->progress && driven > 0;
	threads->progress = (struct serve){.engine = engine,
		.first = threads->count,
		.count = driven,
		.progress = true,
		.idle = PROGRESS_IDLE};
	return threads_restart(threads);
}

void threads_stop(struct threads *threads)
{
	if (!threads->runs)
		return;
	threads->runs = false;
	stop_progress(threads);
	for (uint32_t i = 0; i < threads->count; i++)
		stop_worker(&threads->workers[i]);
}
