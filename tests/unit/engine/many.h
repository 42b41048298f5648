/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two engines of several cores, a CQ at each end that all QPs share, and connections between the
 * ends: the n-th QP of an end is core n's (cores taken in turns).
 */
#ifndef UROCE_TESTS_ENGINE_MANY_H
#define UROCE_TESTS_ENGINE_MANY_H

#include "rig.h"

#define MANY_QPS 8u
#define MANY_SIZE 16384u
#define MANY_ACCESS                                                                                \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
		IBV_ACCESS_REMOTE_ATOMIC)

struct many {
	struct rig rig;
	uint32_t cores;
	uint32_t qps;
	struct front *a, *b;
	struct front_channel channel, events; /* end A's: its CQ's, and the asynchronous one */
	struct front_cq cq_a, cq_b;
	struct front_qp qp_a[MANY_QPS], qp_b[MANY_QPS];
	_Alignas(64) uint8_t memory_a[MANY_SIZE], memory_b[MANY_SIZE];
	uint32_t key_a, key_b;
};

/* `depth`: of end A's CQ; end B's has room for everything. */
void many_open(struct many *m, uint32_t cores, uint32_t qps, uint32_t depth);
/* The QPs of the same number, to RTS. */
void many_connect(struct many *m);
void many_close(struct many *m);
/* The core that end A's n-th QP belongs to. */
uint32_t many_core(const struct many *m, uint32_t n);
/* A signalled SEND without payload from A's n-th QP to its peer, which has posted a receive. */
void many_send(struct many *m, uint32_t n, uint64_t wr_id);
/* Until nothing is to be done. */
void many_run(struct many *m);
/* A completion of end A; which QP's it is. False: there is none. */
bool many_poll(struct many *m, struct uroce_abi_cqe *cqe, uint32_t *n);

#endif
