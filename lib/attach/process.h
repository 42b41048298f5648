/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a front keeps per process and not per connection. libibverbs' functions carry no handle of a
 * process, so this is the one place of the front with state that isn't reached through an object:
 * the list of connections (for fork), and the lock that the device list shares with it.
 */
#ifndef UROCE_ATTACH_PROCESS_H
#define UROCE_ATTACH_PROCESS_H

struct attach;

/* Held briefly, never around a command or a call of another library. fork() waits for it, so that
 * the child finds what it guards in one piece. */
void process_lock(void);
void process_unlock(void);
/* With the lock held: gives it up until process_signal(). */
void process_wait(void);
void process_signal(void);

/* Connections that a fork cuts. Take the lock themselves. */
void process_add(struct attach *attach);
void process_remove(struct attach *attach);

#endif
