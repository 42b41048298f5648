/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections between the ends, and random requests on them. */
#ifndef UROCE_TESTS_TRAFFIC_H
#define UROCE_TESTS_TRAFFIC_H

#include "world.h"

#define TRAFFIC_PAIRS 6u
#define TRAFFIC_RECVS 32u   /* receives of a half at a time */
#define TRAFFIC_ROOM 3000u  /* bytes of each */
#define TRAFFIC_POSTS 4096u /* in all */

/* One end of a connection. */
struct half {
	struct end *end;
	struct ibv_qp *qp;
	struct oracle_flow *flow; /* of what this half sends */
	struct half *peer;
	uint32_t number;
	uint32_t psn;
	uint32_t depth, recv_depth;
	uint32_t left; /* requests still to be posted */
	uint32_t recvs_posted;
	uint8_t *buffers[TRAFFIC_RECVS]; /* receive buffers: those that are free lie first */
	uint32_t buffers_free;
	uint8_t *posted[TRAFFIC_POSTS]; /* by the number of the receive */
	uint64_t next_id;
	uint32_t unsignaled; /* in a row */
	uint8_t *word;	     /* at the peer, for this half's atomics */
	bool armed;	     /* began in RTR, holding */
	bool dead;	     /* a completion told that the QP is in ERR */
	bool breaks;	     /* ends with a wrong R_Key */
	uint32_t max_message;
};

struct traffic {
	struct world *world;
	uint32_t pairs;
	struct half half[TRAFFIC_PAIRS][2];
	uint64_t open_at; /* when the active halves begin */
};

void traffic_open(struct traffic *traffic, struct world *world);
/* Posts what is due, polls what is there. True if something was done. */
bool traffic_step(struct traffic *traffic);
/* Every request has come to its end. */
bool traffic_settled(const struct traffic *traffic);
void traffic_close(struct traffic *traffic);

#endif
