/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Send rings of threads. A thread's rings to one connection are one record, which the thread owns
 * and finds through a thread-local list, the latest first:
 *
 *  1. its first post to a core makes the ring (ATTACH_THREAD);
 *  2. every post finds it by one comparison;
 *  3. at its end the thread gives back those of connections that still exist (DETACH_THREAD);
 *  4. a connection that is closed first cuts the tie (attach = NULL); the record is used again for
 *     the thread's next connection.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "attach.h"
#include "process.h"
#include "thread.h"

struct thread_rings {
	struct attach *attach; /* atomic: NULL when the connection was closed */
	struct thread_rings *next;
	struct list node; /* of attach->threads */
	struct {
		struct sendring_front front;
		uint32_t bit;
		bool made;
	} core[UROCE_ABI_MAX_CORES];
};

/* Initial-exec: one instruction. A pointer's room is there even for a library loaded late. */
static __thread struct thread_rings *own __attribute__((tls_model("initial-exec")));

/* Only so that the end of a thread is heard of. */
static struct {
	pthread_once_t once;
	pthread_key_t key;
	int error;
} ending = {.once = PTHREAD_ONCE_INIT};

static struct attach *owner(const struct thread_rings *rings)
{
	return __atomic_load_n(&rings->attach, __ATOMIC_RELAXED);
}

static void detach_core(struct attach *attach, uint32_t core, uint32_t bit)
{
	struct uroce_abi_command command = {.head.op = UROCE_ABI_DETACH_THREAD};

	command.u.thread.core = core;
	command.u.thread.bit = bit;
	(void)attach_command(
		attach, &command); /* refused: then the engine has dropped it already */
}

/* Takes the record off its connection, which stays until leave() is over. */
static struct attach *begin_leave(struct thread_rings *rings)
{
	struct attach *attach;

	process_lock();
	attach = owner(rings);
	if (attach) {
		list_remove(&rings->node);
		attach->leaving++;
	}
	process_unlock();
	return attach;
}

static void leave(struct thread_rings *rings)
{
	struct attach *attach = begin_leave(rings);

	if (!attach)
		return;
	for (uint32_t core = 0; core < UROCE_ABI_MAX_CORES; core++)
		if (rings->core[core].made)
			detach_core(attach, core, rings->core[core].bit);
	process_lock();
	if (attach->leaving > 0) /* 0: this is the child of a fork that came in between */
		attach->leaving--;
	process_signal();
	process_unlock();
}

static void thread_ends(void *list)
{
	struct thread_rings *rings = list;

	own = NULL;
	while (rings) {
		struct thread_rings *next = rings->next;

		leave(rings);
		free(rings);
		rings = next;
	}
}

static void make_key(void)
{
	ending.error = pthread_key_create(&ending.key, thread_ends);
}

void thread_cut(struct attach *attach)
{
	process_lock();
	while (!list_empty(&attach->threads)) {
		struct list *node = list_first(&attach->threads);
		struct thread_rings *rings = container_of(node, struct thread_rings, node);

		list_remove(node);
		__atomic_store_n(&rings->attach, NULL, __ATOMIC_RELAXED);
	}
	while (attach->leaving > 0)
		process_wait();
	process_unlock();
}

/* A record of the thread that belongs to no connection, or a new one. */
static struct thread_rings *vacant(void)
{
	struct thread_rings *rings = own;

	while (rings && owner(rings))
		rings = rings->next;
	if (rings)
		return rings;
	rings = calloc(1, sizeof(*rings));
	if (!rings)
		return NULL;
	rings->next = own;
	if (pthread_setspecific(ending.key, rings)) {
		free(rings);
		return NULL;
	}
	own = rings;
	return rings;
}

static struct thread_rings *join(struct attach *attach)
{
	struct thread_rings *rings;

	pthread_once(&ending.once, make_key);
	rings = ending.error ? NULL : vacant();
	if (!rings)
		return NULL;
	for (uint32_t core = 0; core < UROCE_ABI_MAX_CORES; core++)
		rings->core[core].made = false;
	process_lock();
	list_append(&attach->threads, &rings->node);
	__atomic_store_n(&rings->attach, attach, __ATOMIC_RELAXED);
	process_unlock();
	return rings;
}

static struct sendring_front *make(struct attach *attach, struct thread_rings *rings, uint32_t core)
{
	struct uroce_abi_command command = {.head.op = UROCE_ABI_ATTACH_THREAD};

	command.u.thread.core = core;
	if (attach_command(attach, &command))
		return NULL;
	if (sendring_front_init(&rings->core[core].front, &attach->view, command.u.thread.ring)) {
		detach_core(attach, core, command.u.thread.bit);
		return NULL;
	}
	rings->core[core].bit = command.u.thread.bit;
	rings->core[core].made = true;
	return &rings->core[core].front;
}

struct sendring_front *attach_ring(struct attach *attach, uint32_t core)
{
	struct thread_rings *rings = own;

	while (rings && owner(rings) != attach)
		rings = rings->next;
	if (rings && rings->core[core].made)
		return &rings->core[core].front;
	if (!rings)
		rings = join(attach);
	return rings ? make(attach, rings, core) : NULL;
}
