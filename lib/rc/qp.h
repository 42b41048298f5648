/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport state of one QP, private to lib/rc. Hot halves first.
 *
 * The requester's window, in positions of the send queue (free-running u32):
 *
 *     head          cursor        tail
 *      |  sent, unacked  |  taken   |  (still in the region)
 *
 *  1. take: a request is copied from the queue into the slot at `tail`;
 *  2. send: the cursor walks over the slots, packet by packet, giving out PSNs at a request's
 * first;
 *  3. an acknowledgement moves `una` (the oldest PSN not acknowledged), whole requests complete at
 *     `head` in order;
 *  4. go back: the cursor returns to where `una` is; nothing else moves.
 */
#ifndef UROCE_RC_QP_H
#define UROCE_RC_QP_H

#include <string.h>

#include "known.h"
#include "psn.h"
#include "rc.h"
#include "replay.h"

/* Request packets in flight at most; AckReq at least this often. */
#define RC_WINDOW 256u
#define RC_ACK_EVERY 32u
/* PSNs outstanding at most: half the space is "ahead" (IBTA 9.7.1). */
#define RC_PSN_SPAN (1u << 23)
#define RC_MESSAGE_MAX (1u << 31)
#define RC_RD_ATOMIC_MAX 128u

struct requester {
	uint32_t head;
	uint32_t cursor;
	uint32_t tail;
	uint32_t mask; /* slots - 1 */
	uint32_t depth;
	uint32_t slot_size;
	uint8_t *slots;

	uint32_t cursor_packet; /* next packet of the request at the cursor */
	uint32_t next_psn;	/* of the next request that starts */
	uint32_t una;		/* oldest PSN not acknowledged */
	uint32_t sent;		/* one behind the newest PSN sent (a READ counts its responses) */
	uint32_t in_flight;	/* request packets between una and the cursor */
	uint32_t reads;		/* READs and atomics started and not complete */
	uint64_t deadline;	/* ns: ack time-out; TIMER_NEVER: nothing outstanding */
	uint64_t rnr_until;	/* ns: silent until then; 0: not waiting */
	uint8_t retry_left;
	uint8_t rnr_left;
	bool recovering; /* went back for a NAK; more of the same are echoes until progress */

	uint8_t max_rd_atomic;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint64_t timeout; /* ns; TIMER_NEVER: no timer */
};

enum message { MESSAGE_NONE, MESSAGE_SEND, MESSAGE_WRITE };

struct responder {
	uint32_t epsn;	  /* expected PSN */
	uint32_t ack_psn; /* newest SEND or WRITE packet executed: what an ACK names */
	uint32_t msn;
	enum message message; /* in progress */
	bool has_recv;
	bool ack_pending;
	bool silent; /* a NAK for the expected PSN is out: one is enough (9.7.5.2.8) */
	bool dead;   /* a fatal NAK is pending: to ERR when it has left */
	uint8_t nak; /* syndrome to send, 0: none */
	uint32_t nak_psn;
	uint32_t gap_end; /* PSN of the furthest packet that was dropped behind a gap */
	uint32_t min_rnr_timer;
	uint32_t access;  /* qp_access_flags */
	uint64_t offset;  /* bytes of the message so far */
	uint64_t address; /* WRITE: as in the RETH */
	uint32_t rkey;
	uint32_t length;
	struct replay replay;
	struct rc_recv recv;
};

struct gate {
	bool strict;	    /* EP-2 */
	bool armed;	    /* EP-4: the RTS attributes are there */
	bool cm;	    /* EP-10: CM-gated */
	bool comm_est;	    /* EP-9: told in this visit to RTR */
	bool auto_promoted; /* EP-6: by other than modify, and no modify to RTS since */
	bool logged;	    /* EP-12: the line after a second */
	bool timed_out;	    /* EP-12: the hold time-out is over, once per visit and setting */
	bool ack_tells;	    /* EP-11: time opened it; the first ACK, or other proof, tells the CM */
	int cause;
	uint32_t held;	     /* counted as held in this visit */
	uint64_t held_since; /* ns; 0: nothing held */
	uint32_t timeout_ms; /* EP-12 */
	enum rc_hold_action action;
	struct timer timer;
	struct rc_hold_counters counters;
};

struct rc_qp {
	enum ibv_qp_state state; /* the transport's: RTR means that the gate is closed */
	enum ibv_qp_state shown; /* what its owner set, or what it became */
	uint32_t qp_num;
	uint32_t pd;
	uint32_t recv_pd;
	uint32_t pmtu; /* bytes */
	uint16_t pkey;
	bool has_srq;
	bool path_set;
	bool drain_notify; /* SQD: IBV_EVENT_SQ_DRAINED is due */
	bool last_wqe_due; /* ERR with an SRQ: IBV_EVENT_QP_LAST_WQE_REACHED is due */
	struct requester requester;
	struct responder responder;
	struct wire_path path;
	struct wire_known known; /* the peer's packets; forgotten with the path */
	struct timer retry_timer;
	struct gate gate;

	/* cold */
	void *user;
	uint32_t max_rd_atomic;	 /* limit of both ways, from creation */
	struct ibv_qp_attr attr; /* as set; what query shows */
};

/* The slot of a window position, and its SGEs or inline bytes. */
static inline struct rc_send *window_slot(const struct rc_qp *qp, uint32_t position)
{
	const struct requester *requester = &qp->requester;

	return (void *)(requester->slots +
		(uint64_t)(position & requester->mask) * requester->slot_size);
}

static inline void *window_tail(struct rc_send *send)
{
	return send + 1;
}

static inline const struct mem_sge *window_sge(const struct rc_send *send)
{
	return (const void *)(send + 1);
}

/* For take_send() to fill. */
static inline struct rc_send *window_clear(struct rc_send *send)
{
	memset(send, 0, RC_SEND_CLEARED);
	return send;
}

static inline bool is_read_or_atomic(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static inline bool is_local(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_LOCAL_INV || opcode == IBV_WR_BIND_MW;
}

/* Packets for so many bytes: one at least. An MTU is a power of two. */
static inline uint32_t packets_of(uint32_t length, uint32_t pmtu)
{
	if (length <= pmtu)
		return 1;
	return (uint32_t)(((uint64_t)length + pmtu - 1) >> __builtin_ctz(pmtu));
}

/* The transport's state, and the point where tracers see it change. */
static inline void qp_set_state(struct rc_qp *qp, enum ibv_qp_state state, const char *cause)
{
	if (qp->state != state)
		TRACE_QP_STATE(qp->qp_num, qp->state, state, cause);
	qp->state = state;
}

/* Room for one more packet in this burst? */
static inline bool tx_possible(const struct rc_core *core)
{
	return core->free_count > 0 && core->out_count < core->out_room;
}

/* ---- qp.c ---- */

/* Empties both sides; everything as after creation but for the gate's policy and counters. */
void qp_reset(struct rc_core *core, struct rc_qp *qp);
/* To ERR: timers off, the gate's share counted, flush under way (flush.c). Idempotent. The cause is
 * for tracers. */
void qp_enter_error(struct rc_core *core, struct rc_qp *qp, const char *cause);

#endif
