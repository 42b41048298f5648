/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection between two nodes, or within one. The process has both ends, so nothing is
 * exchanged. ends[0] is the passive one: it goes to RTR (and further) first.
 */
#ifndef UROCE_TESTS_LINK_H
#define UROCE_TESTS_LINK_H

#include "bench.h"

#define LINK_DEPTH 64u
#define LINK_SGES 4u
#define LINK_INLINE 128u

/* How far the passive end is taken; the active one goes to RTS always. */
enum reach {
	REACH_RTS,
	REACH_RTR,	  /* without the RTS attributes */
	REACH_RTR_ARMED,  /* with them: it holds what is posted, until something opens the gate */
	REACH_RTR_STRICT, /* the strict policy */
};

struct end {
	struct node *node;
	struct end *peer;
	struct ibv_qp *qp;
	struct ibv_cq *send_cq; /* the node's, unless the case has set others */
	struct ibv_cq *recv_cq;
	struct ibv_srq *srq;
	uint32_t psn;
};

struct link {
	enum ibv_mtu mtu;
	struct end ends[2];
};

/* Nodes are set, and what else differs from the usual; 0 as MTU is 1024. */
void link_open(struct link *link, struct node *passive, struct node *active, enum reach reach);
void link_open_as_set(struct link *link, enum reach reach);
void link_close(struct link *link);
/* One QP, of the first end's node, whose peer it is itself; in RTS. */
void link_open_to_itself(struct link *link);

/* The passive end's move to RTS: what ibv_modify_qp() gives. */
int end_to_rts(struct end *end);
int end_modify(struct end *end, enum ibv_qp_state state);
enum ibv_qp_state end_state(struct end *end);

/* Posts one request; what ibv_post_*() gives. The caller's WR has opcode, wr_id, flags. */
int end_send(struct end *end, struct ibv_send_wr *wr, uint64_t offset, uint32_t length,
	uint64_t remote_offset);
int end_recv(struct end *end, uint64_t id, uint64_t offset, uint32_t length);

#endif
