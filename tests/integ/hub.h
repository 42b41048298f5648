/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the application itself does with DPDK while it embeds engines: a switch on an lcore of its
 * own, with ports and a pool of its own. The far ends of its ports are for engines: `net_ring_one`
 * and `net_ring_two` with a queue each, `net_ring_wide` with two, to which frames come by their UDP
 * source port.
 */
#ifndef UROCE_TESTS_HUB_H
#define UROCE_TESTS_HUB_H

#include <stdint.h>

/* After bench_start(), once. Ends the process with 77 where there are no such ports. */
void hub_start(unsigned int lcore);
void hub_stop(void);
/* Frames that went to this queue of the wide port. */
uint64_t hub_wide(unsigned int queue);

#endif
