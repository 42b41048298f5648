/* SPDX-License-Identifier: BSD-3-Clause */
/* DPDK's environment abstraction layer: started here, or adopted from whoever started it. */
#ifndef UROCE_EAL_EAL_H
#define UROCE_EAL_EAL_H

#include <stdbool.h>

#include "lcores.h"

/* Has anybody in this process started EAL? After rte_eal_cleanup() it still says yes. */
bool eal_is_running(void);

/*
 * Starts EAL with the arguments of its part of the command line (argv[0] is the program's name), or
 * adopts it if it is running, and then there must be none. `lcores` are the workers', which must be
 * enabled lcores other than the main one; if EAL is started here and no argument names lcores, they
 * are made. What a person did not say is filled in: see defaults.h. The calling
 * thread becomes EAL's main lcore, but its CPU affinity is left as it was.
 *
 * 0; one log line and -EINVAL (arguments, lcore), -ENOTSUP (a secondary process), -ENOMEM, or what
 * EAL gave. Any thread, one at a time.
 */
int eal_start(int argc, char *const argv[], const struct lcores *lcores);

/*
 * At the end of a program that owns its process: devices let go of what lies outside it, such as
 * the sockets of net_vhost and net_memif. EAL cannot be started again.
 */
void eal_stop(void);

/*
 * Threads that drive an engine call this once: those that EAL did not make get an lcore id, and
 * with it a cache in front of the mbuf pools. 0, -EAGAIN if ETHDEV_CACHED_THREADS have one, -ENOMEM
 * if EAL has no id left, or -ENOTSUP where other processes may look on: EAL knows either them or
 * such threads. They all work, without a cache.
 */
int eal_register_thread(void);
/* At the end of a thread that has got 0, if it wasn't EAL's before. What its caches hold goes back
 * to the pools: nobody may ever have that id again. */
void eal_unregister_thread(void);

#endif
