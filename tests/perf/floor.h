/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The floors: what two cores can do over a port at most, with less work than a transport has. A
 * change to what they do is a change of the bar that uroce is held against.
 */
#ifndef UROCE_TESTS_PERF_FLOOR_H
#define UROCE_TESTS_PERF_FLOOR_H

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "bench.h"

struct raw_config {
	uint32_t frame; /* bytes, without FCS */
	uint32_t mbufs;
	uint16_t descriptors;
};

struct raw {
	uint16_t port;
	struct rte_mempool *pool;
	double hz; /* of the TSC */
};

void raw_open(struct raw *raw, struct side *side, const struct raw_config *config);
void raw_close(struct raw *raw, struct side *side);

#endif
