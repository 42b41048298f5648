/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kept responder resources: what is needed to answer a READ or an atomic, and to answer it
 * again when it is repeated. A ring in PSN order of max_dest_rd_atomic entries; a new one takes the
 * place of the oldest. Those with something to send are `pending`; answers leave in PSN order.
 */
#ifndef UROCE_RC_REPLAY_H
#define UROCE_RC_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

struct replay_entry {
	uint32_t psn;	   /* first PSN of the request */
	uint32_t packets;  /* of its answer */
	uint32_t next;	   /* pending READ: next packet of the answer, from 0 */
	uint32_t end;	   /* one behind the last */
	uint32_t start;	   /* where this answer began: decides FIRST and ONLY */
	uint32_t msn : 24; /* as it was after the request */
	bool atomic : 1;
	bool pending : 1;  /* an answer is to be sent */
	bool answered : 1; /* completely, once at least */
	uint32_t rkey;
	uint32_t length; /* READ: bytes of the whole request */
	union {
		uint64_t address;  /* READ */
		uint64_t original; /* atomic: the result */
	};
};

_Static_assert(sizeof(struct replay_entry) == 40, "a QP keeps as many as it answers at once");

struct replay {
	struct replay_entry *entries;
	uint32_t mask;	   /* places - 1: a power of two, since positions run freely */
	uint32_t capacity; /* the depth is at most this */
	uint32_t depth;	   /* max_dest_rd_atomic */
	uint32_t first;	   /* oldest kept, free-running */
	uint32_t last;	   /* one behind the newest */
	uint32_t pending;  /* entries that are pending */
};

/* Set-up; 0 or -ENOMEM. */
int replay_init(struct replay *replay, uint32_t capacity);
void replay_fini(struct replay *replay);
/* Forgets all; the depth from now on. */
void replay_reset(struct replay *replay, uint32_t depth);
/* The depth from now on; what is kept stays until new requests take its place. */
void replay_set_depth(struct replay *replay, uint32_t depth);
/* A place for a new request, zeroed; NULL if the requester overran the resources: depth 0, or the
 * oldest has never been answered. */
struct replay_entry *replay_add(struct replay *replay);
/* The kept request that contains the PSN, or NULL. */
struct replay_entry *replay_find(struct replay *replay, uint32_t psn);
/* Marks an entry to be answered from packet `start` to before `end`. */
void replay_answer(struct replay *replay, struct replay_entry *entry, uint32_t start, uint32_t end);
/* The pending entry with the lowest PSN, or NULL. */
struct replay_entry *replay_pending(struct replay *replay);
void replay_done(struct replay *replay, struct replay_entry *entry);

#endif
