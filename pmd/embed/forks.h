/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fork() and the engine. A child inherits an engine's memory, part of it shared with the parent
 * (mbufs, rings), but none of its threads, and it must not touch any of it. Nor can it start an
 * EAL of its own if the parent's was up.
 */
#ifndef UROCE_EMBED_FORKS_H
#define UROCE_EMBED_FORKS_H

#include <stdbool.h>
#include <stdint.h>

/* How many forks lie between this process and the one that called forks_watch() first. What was
 * made at another count is not this process's. */
uint32_t forks_count(void);
/* Counts from now on. Any thread, any number of times. */
void forks_watch(void);

/* EAL runs, started or adopted by this process. */
void forks_keep_eal(void);
/* Does EAL belong to a process that this one was forked from? */
bool forks_lost_eal(void);

#endif
