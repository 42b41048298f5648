/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a client's handles stand for. All of it lies in the engine's private memory; what the client
 * can write is only what the rings in the region hold.
 */
#ifndef UROCE_ENGINE_OBJECT_H
#define UROCE_ENGINE_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "build.h"
#include "cq.h"
#include "eventring.h"
#include "list.h"
#include "qp_table.h"
#include "rc.h"
#include "wq.h"

struct client;
struct outlet;
struct worker;

enum object_kind {
	OBJECT_PD,
	OBJECT_CHANNEL,
	OBJECT_CQ,
	OBJECT_SRQ,
	OBJECT_AH, /* QPs have tables of their own, at their cores */
	OBJECT_KINDS,
};

/*
 * An event that is to be told, and where. If the channel's ring is full the event stays here: bits
 * for asynchronous events (at most one of each type waits; a second of the same type says nothing
 * new), a count for completion events, each of which answers an arming.
 */
struct event_source {
	struct list node;    /* of the channel's kept ones */
	uint32_t object;     /* handle, or port number */
	uint32_t kept_types; /* bit: enum ibv_event_type */
	uint32_t kept_completions;
};

/* What one core keeps for a channel: that core's alone. */
struct channel_share {
	struct engine_channel *channel;
	struct list kept; /* struct event_source */
	struct list node; /* of the worker's shares that have kept ones */
};

/* A completion channel, or the context's channel of asynchronous events. */
struct engine_channel {
	struct eventring events;
	uint32_t uses;
	struct channel_share share[]; /* by core */
};

struct engine_pd {
	uint32_t number; /* unique in the engine: what lib/mem and lib/rc know */
	uint32_t uses;
};

/* Who owns a key; found by its index. */
struct engine_key {
	struct list node; /* of the client's */
	struct client *client;
	struct engine_pd *pd;
	uint32_t key; /* as last given out; a type 2 window's low byte is its binder's */
	bool window;
	uint64_t address; /* region: where its memory lies */
	uint64_t length;
};

/* A core's part of a CQ: that core's alone. */
struct cq_share {
	struct cq_ring ring;
	struct engine_cq *cq;
	struct list touched; /* of the worker's: completions since the last look at the arm word */
	struct list failed;  /* likewise: overran, or the CQ did at another core */
	struct list mail;    /* of the worker's inbox: it did at another core */
	struct event_source completions;
	struct event_source events;
	struct list senders;   /* struct engine_qp, by send_node */
	struct list receivers; /* by recv_node */
};

struct engine_cq {
	struct engine_channel *channel;
	struct client *client;
	uint32_t handle;
	uint32_t uses;
	uint32_t reported;	 /* atomic; 1: IBV_EVENT_CQ_ERR was raised, all its QPs are told */
	struct cq_share share[]; /* by core */
};

struct engine_srq {
	struct wq_engine wq;
	uint32_t limit; /* atomic; armed while not 0 */
	struct engine_pd *pd;
	struct client *client;
	uint32_t uses;
	struct event_source events[]; /* by core */
};

/* Where a path's packets go first; the port's name for it holds until the port gives it up. */
struct next_hop {
	uint8_t source[16];
	uint8_t destination[16];
	uint32_t neighbour;
};

struct engine_qp {
	/* what the data path reads: */
	struct rc_qp *rc;
	struct outlet *outlet; /* where its packets go */
	struct list active;    /* of the outlet's active ones */
	struct cq_share *send_cq;
	struct cq_share *recv_cq;
	struct engine_srq *srq; /* or NULL */
	struct worker *worker;	/* the core that owns it */
	uint32_t handle;
	uint32_t qp_num;
	uint32_t tail_size; /* bytes behind a send record */
	bool sq_sig_all;
	struct wq_engine sq;
	struct wq_engine rq; /* unless it has an SRQ */

	/* control: */
	struct qp_name name;
	struct client *client;
	struct engine_pd *pd;
	struct list send_node;
	struct list recv_node;
	struct event_source events;
	struct ibv_qp_cap cap;
	bool routed; /* its path has a neighbour, whose MAC may change */
	struct next_hop hop;
};

struct engine_ah {
	struct engine_pd *pd;
	struct wire_path_attr path;
	bool own; /* leads to an address of this engine */
};

#endif
