/* SPDX-License-Identifier: BSD-3-Clause */
/* The process's connections, and what becomes of them in the child of a fork and at exit. */
#include <pthread.h>
#include <stdlib.h>

#include "attach.h"
#include "process.h"

/* Static because fork() is: pthread_atfork() hands its functions nothing. */
static struct {
	pthread_once_t once;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct list attaches;
} process = {
	.once = PTHREAD_ONCE_INIT,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
	.attaches = {&process.attaches, &process.attaches},
};

static void before_fork(void)
{
	pthread_mutex_lock(&process.lock);
}

static void after_fork_parent(void)
{
	pthread_mutex_unlock(&process.lock);
}

/*
 * The region was not inherited (MADV_DONTFORK), and the engine's threads weren't either. Waiters of
 * the parent don't exist here, so the condition variable starts anew.
 */
static void after_fork_child(void)
{
	pthread_cond_t fresh = PTHREAD_COND_INITIALIZER;

	list_for_each (node, &process.attaches) {
		struct attach *attach = container_of(node, struct attach, node);

		__atomic_store_n(&attach->dead, 1, __ATOMIC_RELAXED);
		attach->leaving = 0;
	}
	process.changed = fresh;
	pthread_mutex_unlock(&process.lock);
}

/*
 * What the program's last call received is acknowledged by the next one (lib/engine/worker.c), and
 * a program that ends makes none. Handlers of exit() run before any library's end.
 */
#define LAST_ROUNDS 100

static void at_exit(void)
{
	pthread_mutex_lock(&process.lock);
	list_for_each (node, &process.attaches) {
		struct attach *attach = container_of(node, struct attach, node);

		for (int i = 0; i < LAST_ROUNDS && !attach_dead(attach); i++)
			if (attach_drive(attach) == 0)
				break;
	}
	pthread_mutex_unlock(&process.lock);
}

static void prepare(void)
{
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
	atexit(at_exit);
}

void process_lock(void)
{
	pthread_once(&process.once, prepare);
	pthread_mutex_lock(&process.lock);
}

void process_unlock(void)
{
	pthread_mutex_unlock(&process.lock);
}

void process_wait(void)
{
	pthread_cond_wait(&process.changed, &process.lock);
}

void process_signal(void)
{
	pthread_cond_broadcast(&process.changed);
}

void process_add(struct attach *attach)
{
	process_lock();
	list_append(&process.attaches, &attach->node);
	process_unlock();
}

void process_remove(struct attach *attach)
{
	process_lock();
	list_remove(&attach->node);
	process_unlock();
}
