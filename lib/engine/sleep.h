/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cores that sleep. Sleeping and waking is store buffering, as announcing and parking is
 * (lib/queue/sendring.h):
 *
 *   core:   says that it sleeps (its own word, and one in each client's header); looks at
 *           everything once more; waits on descriptors
 *   others: put something where the core finds it; sleep_wake(): does it sleep? then wake it
 *
 * Both accesses of the word are read-modify-writes: they are the full barriers, and one of the two
 * sees the other.
 */
#ifndef UROCE_ENGINE_SLEEP_H
#define UROCE_ENGINE_SLEEP_H

#include <stdbool.h>
#include <stdint.h>

struct worker;

struct sleep {
	uint32_t asleep; /* atomic; 1: sleeps, or is about to */
	int wake;	 /* eventfd; -1: this core never sleeps */
};

/* The core can sleep from now on. 0 or -errno. */
int sleep_init(struct worker *worker);
void sleep_fini(struct worker *worker);

/* Something waits for the core. Any thread. */
void sleep_wake(struct worker *worker);
bool sleep_asleep(struct worker *worker);

/* By who has the worker's token: from here on it is woken; afterwards it looks once more (a round),
 * and may sleep if there is nothing. */
void sleep_begin(struct worker *worker);
/* Likewise: it is awake. */
void sleep_end(struct worker *worker);

#endif
