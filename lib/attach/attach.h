/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A front's connection to an engine: the region, commands with their waiting, and the send ring of
 * each thread that posts. One connection per opened context.
 *
 * After fork() the child's connections are dead: the region isn't in the child's address space, so
 * every entry looks at attach_dead() before it touches anything in there. The parent's stay as they
 * were.
 */
#ifndef UROCE_ATTACH_ATTACH_H
#define UROCE_ATTACH_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "door.h"
#include "eventring.h"
#include "list.h"
#include "sendring.h"

struct attach {
	/* what a post reads: */
	uint32_t dead;	/* atomic; 1: every call fails with EIO */
	bool dedicated; /* each core has a thread */
	bool served;	/* somebody drives if we don't */
	struct uroce_abi_header *header;
	const struct door *door;
	struct client *client;

	/* control: */
	struct region_view view;
	struct uroce_abi_command *commands;
	uint64_t busy;	     /* atomic; bit n: command slot n is taken */
	struct list node;    /* of the process's connections */
	struct list threads; /* struct thread_rings, under process_lock() */
	uint32_t leaving;    /* threads that are giving their rings back; likewise */
};

/* Attaches to an engine. 0, -ENOMEM, -EPROTO (another layout; logged), or what the engine says. */
int attach_open(const struct door *door, struct engine *engine, struct attach **attach);
/* All that the engine keeps for it vanishes. No other call is under way on it. */
void attach_close(struct attach *attach);

static inline bool attach_dead(const struct attach *attach)
{
	return __builtin_expect(__atomic_load_n(&attach->dead, __ATOMIC_RELAXED) != 0, 0);
}

/*
 * Runs a command: the request is copied into a slot, the answer back from it. Returns its status, 0
 * or -errno; -EIO if the connection is dead. Any thread; waits (inline: by driving the engine).
 */
int attach_command(struct attach *attach, struct uroce_abi_command *command);

/* Drives the engine for one round and returns the packets moved; 0 at once if it is dedicated. */
unsigned int attach_drive(struct attach *attach);

/*
 * Waits for an event and takes it from the descriptor's count; eventring_pop() then takes it from
 * the ring. Inline: drives the engine meanwhile. 0, -EAGAIN (the descriptor is O_NONBLOCK), -EINTR
 * (as read(2): only by a handler without SA_RESTART), -EIO.
 */
int attach_wait_event(struct attach *attach, const struct eventring_front *events);

/* After something was published for this core: wakes it if it sleeps. Full barrier. */
void attach_wake(struct attach *attach, uint32_t core);

/*
 * The calling thread's send ring to a core of the engine. The first call of a thread makes it, by a
 * command; it goes back when the thread ends. NULL: no more threads fit, or no memory.
 */
struct sendring_front *attach_ring(struct attach *attach, uint32_t core);

#endif
