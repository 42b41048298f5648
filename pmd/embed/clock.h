/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine's clock: ns, monotonic. The TSC where it is invariant (10 ns a reading), otherwise
 * CLOCK_MONOTONIC.
 */
#ifndef UROCE_EMBED_CLOCK_H
#define UROCE_EMBED_CLOCK_H

#include <stdint.h>

struct clock {
	uint64_t start_tsc;
	uint64_t start_ns;
	uint64_t ns_per_tick; /* 32 fractional bits; 0: no invariant TSC */
};

/* EAL is running: it has measured the TSC. */
void clock_init(struct clock *clock);
/* For struct engine_config. Read once a round, by the thread that drives the engine: which is thus
 * made known to EAL at its first round, and forgotten when it ends. */
uint64_t clock_read(void *clock);

#endif
