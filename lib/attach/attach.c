/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections: opening, closing, commands. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "attach.h"
#include "process.h"
#include "thread.h"

_Static_assert(UROCE_ABI_COMMANDS == 64, "a word has a bit for each command slot");

static int adopt(struct attach *attach)
{
	int error = region_check(&attach->view);

	if (error)
		return error;
	attach->header = region_header(&attach->view);
	attach->commands = region_at(&attach->view, attach->header->commands,
		UROCE_ABI_COMMANDS * sizeof(struct uroce_abi_command));
	attach->dedicated = attach->door->dedicated(attach->client) != 0;
	attach->served = attach->door->served(attach->client) != 0;
	return 0;
}

int attach_open(const struct door *door, struct engine *engine, struct attach **attach)
{
	struct attach *made = calloc(1, sizeof(*made));
	int error;

	if (!made)
		return -ENOMEM;
	made->door = door;
	list_init(&made->node);
	list_init(&made->threads);
	error = door->attach(engine, &made->client, &made->view);
	if (!error) {
		error = adopt(made);
		if (error)
			door->detach(made->client);
	}
	if (error) {
		free(made);
		return error;
	}
	process_add(made);
	*attach = made;
	return 0;
}

void attach_close(struct attach *attach)
{
	thread_cut(attach);
	process_remove(attach);
	if (!attach_dead(attach))
		attach->door->detach(attach->client);
	free(attach);
}

unsigned int attach_drive(struct attach *attach)
{
	return attach->dedicated ? 0 : attach->door->drive(attach->client);
}

void attach_wake(struct attach *attach, uint32_t core)
{
	if (sendring_wakes(attach->header, core))
		attach->door->wake(attach->client, core);
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* The longer a wait, the longer its naps, from 50 us to 6.4 ms: a thousand threads that all wait
 * would otherwise take the cores from the one that they wait for. */
static struct timespec nap_of(uint32_t naps)
{
	uint32_t doubled = naps / 16;

	return (struct timespec){.tv_nsec = 50000l << (doubled < 7 ? doubled : 7)};
}

/* Gives the core's answer time to come: first this thread spins, then others run, then it sleeps.
 */
static void pass_time(uint32_t *rounds)
{
	struct timespec nap = nap_of(*rounds < 1100 ? 0 : *rounds - 1100);

	(*rounds)++;
	if (*rounds < 1000)
		relax();
	else if (*rounds < 1100)
		sched_yield();
	else
		nanosleep(&nap, NULL);
}

/* 64 slots are more than threads usually command at once; who finds none waits. */
static uint32_t take_slot(struct attach *attach)
{
	uint64_t busy = __atomic_load_n(&attach->busy, __ATOMIC_RELAXED);
	uint32_t rounds = 0;

	for (;;) {
		if (~busy == 0) {
			(void)attach_drive(attach);
			pass_time(&rounds);
			busy = __atomic_load_n(&attach->busy, __ATOMIC_RELAXED);
			continue;
		}
		/* Acquire: pairs with the release in give_slot(). */
		if (__atomic_compare_exchange_n(&attach->busy, &busy, busy | (~busy & (busy + 1)),
			    false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return (uint32_t)__builtin_ctzll(~busy);
	}
}

static void give_slot(struct attach *attach, uint32_t slot)
{
	__atomic_store_n(&attach->commands[slot].head.state, UROCE_ABI_FREE_SLOT, __ATOMIC_RELAXED);
	__atomic_fetch_and(&attach->busy, ~(1ull << slot), __ATOMIC_RELEASE);
}

/* Release: pairs with the acquires of the engine's exchange of the doorbell and read of the state.
 */
static void post(struct attach *attach, uint32_t slot, const struct uroce_abi_command *request)
{
	struct uroce_abi_command *command = &attach->commands[slot];

	command->u = request->u;
	command->head.op = request->head.op;
	command->head.object = request->head.object;
	command->head.status = 0;
	__atomic_store_n(&command->head.state, UROCE_ABI_POSTED, __ATOMIC_RELEASE);
	__atomic_fetch_or(&attach->header->doorbell.posted, 1ull << slot, __ATOMIC_SEQ_CST);
	attach_wake(attach, 0);
}

/* Acquire: pairs with the release with which the engine says DONE. */
static void wait_done(struct attach *attach, uint32_t slot)
{
	const uint32_t *state = &attach->commands[slot].head.state;
	uint32_t rounds = 0;

	while (__atomic_load_n(state, __ATOMIC_ACQUIRE) != UROCE_ABI_DONE)
		if (attach_drive(attach) == 0)
			pass_time(&rounds);
}

int attach_command(struct attach *attach, struct uroce_abi_command *command)
{
	uint32_t slot;

	if (attach_dead(attach))
		return -EIO;
	slot = take_slot(attach);
	post(attach, slot, command);
	wait_done(attach, slot);
	command->u = attach->commands[slot].u;
	command->head.object = attach->commands[slot].head.object;
	command->head.status = attach->commands[slot].head.status;
	give_slot(attach, slot);
	return command->head.status;
}
