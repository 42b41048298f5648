/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a thread that drives an engine sleeps: by descriptors, for a time in ns.
 */
#ifndef UROCE_ENGINE_NAP_H
#define UROCE_ENGINE_NAP_H

#include <stdint.h>

#define NAP_DESCRIPTORS 32u
#define NAP_FOREVER UINT64_MAX
/* What a wait by a broken descriptor lasts at least, if nothing else ends it. */
#define NAP_BROKEN 1000000ull

/*
 * For a thread of the library's own, once: its sleeps end on time (the kernel defers a thread's
 * timers by 50 us otherwise, to join them: prctl(2), PR_SET_TIMERSLACK), and the application's
 * signals are other threads'.
 */
void nap_prepare(void);

/*
 * Waits until one of the first NAP_DESCRIPTORS is readable, or max_ns have passed, or a signal has
 * come. Negative descriptors are left out. Returns a bit for each that is readable.
 *
 * One that has nothing but an error (POLLERR, POLLHUP, POLLNVAL) does not end the wait: what it
 * stands for might be dead for good, and whoever sleeps by it would spin. It is left out, and the
 * wait ends after NAP_BROKEN, so that its owner comes by and looks.
 */
uint32_t nap_wait(const int *descriptors, unsigned int count, uint64_t max_ns);

#endif
