/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections between the ends, and random requests on them. */
#ifndef UROCE_TESTS_TRAFFIC_H
#define UROCE_TESTS_TRAFFIC_H

#include "world.h"

#define TRAFFIC_PAIRS 6u
#define TRAFFIC_RECVS 16u   /* receives of a half at a time */
#define TRAFFIC_ROOM 3000u  /* bytes of each */
#define TRAFFIC_POSTS 1024u /* in all */
#define TRAFFIC_BOARD 640u
#define TRAFFIC_RECV_IDS 1000000u /* the numbers of receives begin here */

enum window_state { WINDOW_FREE, WINDOW_BINDING, WINDOW_BOUND, WINDOW_ENDING };

/* A type 2 window on memory of this half, for its peer. */
struct window {
	bool wanted;
	struct ibv_mw *mw; /* or NULL */
	enum window_state state;
	uint32_t old_rkey; /* of the last binding that has ended; 0: none */
	uint64_t request;  /* that binds or invalidates */
	uint8_t *memory;
	uint32_t length;
};

enum half_state {
	HALF_LIVE,
	HALF_DRAINING, /* in SQD */
	HALF_DEAD,     /* in ERR */
	HALF_GONE,     /* reset or destroyed */
};

/* One end of a connection. */
struct half {
	struct end *end;
	struct ibv_qp *qp;	  /* NULL: destroyed */
	struct oracle_flow *flow; /* of what this half sends */
	struct half *peer;
	struct pair *pair;
	enum half_state state;
	uint32_t number;
	uint32_t psn;
	uint32_t depth, recv_depth;
	uint32_t left; /* requests still to be posted */
	uint32_t late; /* and those when it is in ERR */
	uint32_t late_recvs;
	uint32_t recvs_posted;
	uint8_t *all[TRAFFIC_RECVS];	 /* receive buffers */
	uint8_t *buffers[TRAFFIC_RECVS]; /* those that are free lie first */
	uint32_t buffers_free;
	uint8_t *posted[TRAFFIC_POSTS]; /* by the number of the receive */
	uint64_t next_id;
	uint32_t unsignaled; /* in a row */
	uint8_t *word;	     /* at the peer, for this half's atomics */
	uint8_t *board;	     /* at the peer, for WRITEs and READs whose order shows */
	struct window window;
	bool no_atomics; /* its access flags forbid them to the peer */
	uint32_t max_message;
	uint32_t max_inline;
	/* an RNR NAK asks for silence (watch.c) */
	uint64_t rnr_ns; /* what this half asks for */
	uint64_t silent_from;
	uint64_t silent_until;
	uint32_t silent_psn;
	uint32_t newest; /* PSN that has left */
	/* asynchronous events, and how many there must be */
	uint32_t comm_est, comm_est_due;
	uint32_t last_wqe, last_wqe_due;
	uint32_t drained, drained_due;
	uint32_t access_error, request_error;
};

/* How the gate of the passive half opens, or what comes before that. */
enum opening {
	OPENING_NONE, /* it doesn't hold */
	OPENING_PACKET,
	OPENING_MODIFY,
	OPENING_NOTIFY,
	OPENING_TIMEOUT,
	OPENING_EXPIRE, /* the hold time-out ends it */
	OPENING_ERROR,
	OPENING_RESET,
	OPENING_DESTROY,
};

/* What happens to a connection in the midst of its traffic. */
enum fate { FATE_NONE, FATE_ERROR, FATE_RESET, FATE_DESTROY, FATE_DRAIN };

struct agreed {
	enum ibv_mtu mtu;
	int gid;
	uint8_t depth; /* of READs and atomics, each way */
};

struct pair {
	struct half half[2]; /* 1: the passive one */
	struct agreed agreed;
	enum opening opening;
	bool waits;	     /* the active half does not send yet */
	bool promoted;	     /* a late modify to RTS is allowed */
	uint64_t open_at;    /* when something opens, or ends the waiting */
	uint64_t held_until; /* OPENING_TIMEOUT */
	bool proved; /* the passive half has refused the first request for want of a receive */
	bool broken; /* it has ended before its time, at least once */
	bool breaks; /* the active half ends with a request that has to fail */
	enum fate fate;
	uint32_t fate_left; /* requests of the active half that are left then */
	uint32_t victim;
	unsigned int phase; /* script.c */
	uint64_t next_at;
};

struct traffic {
	struct world *world;
	uint32_t pairs;
	struct pair pair[TRAFFIC_PAIRS];
	uint32_t steps;
};

void traffic_open(struct traffic *traffic, struct world *world);
/* Posts what is due, polls what is there. True if something was done. */
bool traffic_step(struct traffic *traffic);
/* Polls an end's CQ till it is empty, whether or not the program would do so now. */
bool traffic_poll(struct traffic *traffic, struct end *end);
/* Polls as the end's program does (poll.c). True if something was there. */
bool traffic_look(struct traffic *traffic, struct end *end);
/* Every request has come to its end. */
bool traffic_settled(const struct traffic *traffic);
/* What must be so when nothing moves any more. */
void traffic_finish(struct traffic *traffic);
void traffic_close(struct traffic *traffic);

/* The half is in ERR. */
void traffic_dead(struct traffic *traffic, struct half *half);

#endif
