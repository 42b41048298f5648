/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reliable-connected transport, pure: packets and time come in as arguments, packets go out
 * into a burst that the caller sends. No DPDK, no system call, nothing allocated after set-up.
 *
 * A QP belongs to one core (struct rc_core), and only that core calls these functions for it.
 *
 *   packet in:    rc_receive() -> checks -> responder.c (requests) | completer.c (responses)
 *   work request: rc_posted() tells that there is one; rc_transmit() takes it -> requester.c
 *   answers:      rc_transmit() -> respond.c (READ responses, atomic and plain ACKs, NAKs)
 *   time:         rc_core_run_timers() -> timers.c
 *   control:      rc_modify() -> modify.c, the gate in hold.c
 */
#ifndef UROCE_RC_RC_H
#define UROCE_RC_RC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "build.h"
#include "copy.h"
#include "log.h"
#include "mem.h"
#include "packet.h"
#include "parse.h"
#include "random.h"
#include "timer.h"
#include "trace.h"

struct rc_core;
struct rc_qp;

/* A send request, copied out of the queue by take_send() and validated by it. */
struct rc_send {
	uint64_t wr_id;
	uint64_t remote_address;
	uint32_t remote_rkey;
	uint32_t length;      /* sum of the SGEs, or inline bytes; <= 2^31 */
	uint32_t imm_or_rkey; /* as verbs has it: immediate in network order */
	uint32_t released;    /* SQ position that its completion frees up to */
	enum ibv_wr_opcode opcode;
	unsigned int flags; /* enum ibv_send_flags; SIGNALED is set if sq_sig_all */

	/* the requester's, but for a status that take_send() may set: */
	enum ibv_wc_status status; /* not SUCCESS: failed before or while it was sent */
	uint32_t first_psn;
	uint32_t packets;  /* PSNs that it takes; at least 1 but for local operations: 0 */
	uint32_t received; /* READ: responses taken so far */
	uint16_t sge_count;
	bool bind_type1;
	bool started; /* its PSN is fixed, its first packet was sent */
	bool done;    /* a local operation that has run */
	bool resumed; /* READ: was asked for again since the last response */

	/* by opcode, and not cleared: */
	union {
		struct {
			uint64_t compare_add;
			uint64_t swap;
		};
		struct mem_bind bind; /* IBV_WR_BIND_MW */
	};
};

#define RC_SEND_CLEARED offsetof(struct rc_send, bind)

/* A receive request, likewise. */
struct rc_recv {
	uint64_t wr_id;
	uint32_t released;
	uint32_t length; /* room */
	uint16_t sge_count;
	struct mem_sge *sge; /* room for what the QP, or its SRQ, was created with */
};

struct rc_completion {
	uint64_t wr_id;
	enum ibv_wc_status status;
	enum ibv_wc_opcode opcode;
	unsigned int flags; /* enum ibv_wc_flags */
	uint32_t byte_len;
	uint32_t imm_or_rkey;
	uint32_t src_qp;
	uint32_t released;
	uint32_t vendor_err;
	bool solicited;
};

/* What the transport asks of the engine. All calls come from the QP's core. */
struct rc_ops {
	/* The next request of the send queue into *send (cleared up to RC_SEND_CLEARED) with its
	 * SGEs or inline bytes into tail, which has room for what the QP was created with. An
	 * invalid one is delivered with status IBV_WC_LOC_QP_OP_ERR. False: none. */
	bool (*take_send)(struct rc_core *core, struct rc_qp *qp, struct rc_send *send, void *tail);
	/* The next receive request, from the RQ or the SRQ; an invalid one has sge_count and length
	 * 0 and sets *invalid. False: none. */
	bool (*take_recv)(
		struct rc_core *core, struct rc_qp *qp, struct rc_recv *recv, bool *invalid);
	/* How many send requests are posted and not taken: what the gate holds (EP-17). */
	uint32_t (*posted)(struct rc_core *core, struct rc_qp *qp);
	/* A completion, into the send or the receive CQ. */
	void (*complete_send)(
		struct rc_core *core, struct rc_qp *qp, const struct rc_completion *completion);
	void (*complete_recv)(
		struct rc_core *core, struct rc_qp *qp, const struct rc_completion *completion);
	/* An affiliated asynchronous event. */
	void (*event)(struct rc_core *core, struct rc_qp *qp, enum ibv_event_type type);
	/* The QP has something for rc_transmit(): put it on the active list if it isn't there. */
	void (*activate)(struct rc_core *core, struct rc_qp *qp);
	/* The state changed (to ERR by itself, or by promotion). */
	void (*state_changed)(struct rc_core *core, struct rc_qp *qp, enum ibv_qp_state state);
	/* The CM's share of a promotion (EP-9): the QP was handed to it and opened by `cause`.
	 * Grace and time-out are no proof that the peer is up: then a second call follows with the
	 * cause ACK, PACKET or NOTIFY (EP-11), unless an RTU came meanwhile. */
	void (*opened)(struct rc_core *core, struct rc_qp *qp, int cause);
};

/* ---- counters: u64 each; the names are `rdma statistic`'s where it has them ---- */

/* clang-format off */
#define RC_COUNTERS(X)                                                                             \
	X(sent_pkts) X(rcvd_pkts) X(duplicate_request) X(out_of_seq_request) X(rcvd_rnr_err)       \
	X(send_rnr_err) X(rcvd_seq_err) X(retry_exceeded_err)                                      \
	X(retry_rnr_exceeded_err) X(completer_retry_err) X(send_err) X(rdma_sends) X(rdma_recvs)   \
	X(sent_bytes) X(rcvd_bytes) X(ack_timeout)                                                 \
	X(implied_nak_seq_err) X(ghost_ack) X(bad_response) X(duplicate_response)                  \
	X(lost_resource) X(retransmitted_pkts) X(rcvd_nak_inv_req) X(rcvd_nak_access)              \
	X(rcvd_nak_op) X(sent_nak_seq) X(sent_nak_inv_req) X(sent_nak_access) X(sent_nak_op)       \
	X(cnp_rcvd)                                                                                \
	/* packets dropped, by the check that failed */                                            \
	X(drop_state) X(drop_service) X(drop_pkey) X(drop_source) X(drop_icrc) X(drop_response)    \
	X(drop_silent)
/* clang-format on */

struct rc_counters {
#define X(name) uint64_t name;
	RC_COUNTERS(X)
#undef X
};

/* The gate's (EP-17), per core and per QP. */
/* clang-format off */
#define RC_HOLD_COUNTERS(X)                                                                        \
	X(held) X(released) X(flushed_held) X(vanished_held) X(promoted_modify) X(promoted_packet) \
	X(promoted_rtu) X(promoted_notify) X(promoted_grace) X(promoted_ack) X(promoted_timeout)   \
	X(late_rtu) X(late_notify) X(unarmed_first_packet) X(hold_timeout) X(hold_long) X(comm_est)
/* clang-format on */

struct rc_hold_counters {
#define X(name) uint64_t name;
	RC_HOLD_COUNTERS(X)
#undef X
};

extern const char *const rc_counter_names[sizeof(struct rc_counters) / 8];
extern const char *const rc_hold_counter_names[sizeof(struct rc_hold_counters) / 8];

/* Upper bounds of the histogram of the time held, microseconds; the last bucket is open. */
#define RC_HOLD_BUCKETS 12
extern const uint64_t rc_hold_bucket_us[RC_HOLD_BUCKETS - 1];

/* ---- one core ---- */

struct rc_core {
	uint64_t now; /* ns; the caller sets it once per burst */
	const struct rc_ops *ops;
	struct mem_table *mem;

	/* Transmit: buffers that may be used (taken from the end), packets that were made
	 * (appended). Both arrays and their sizes are the caller's. */
	struct packet *free;
	uint32_t free_count;
	struct packet *out;
	uint32_t out_count;
	uint32_t out_room;

	struct timers timers;
	struct random random;
	struct rc_counters counters;
	struct rc_hold_counters hold_counters;
	uint64_t hold_histogram[RC_HOLD_BUCKETS];
	struct log_limit hold_log; /* lines about QPs that hold for long */
};

/* timers and random; the rest is the caller's to fill. 0 or -ENOMEM. */
int rc_core_init(
	struct rc_core *core, const struct rc_ops *ops, struct mem_table *mem, uint64_t seed);
void rc_core_fini(struct rc_core *core);

static inline unsigned int rc_core_run_timers(struct rc_core *core)
{
	return timers_run(&core->timers, core->now, core);
}

/* ---- QPs ---- */

struct rc_qp_attr {
	uint32_t qp_num;
	uint32_t pd;
	uint32_t
		recv_pd; /* of the receives' memory: the SRQ's, which may be another, or the QP's */
	uint32_t sq_depth;
	uint32_t max_send_sge;
	uint32_t max_recv_sge; /* of the receives that come: the SRQ's, if it has one */
	uint32_t max_inline;
	uint32_t max_rd_atomic; /* what modify may ask for, each way: kept resources; <= 128 */
	bool strict;		/* EP-2 */
	bool has_srq;
	uint16_t pkey; /* of the port's table, index 0 */
};

/* Set-up: allocates what the QP will ever need. 0, -EINVAL, -ENOMEM. `user` is the caller's. */
int rc_qp_create(
	struct rc_core *core, const struct rc_qp_attr *attr, void *user, struct rc_qp **qp);
/* Any state; requests vanish without completion (EP-13). */
void rc_qp_destroy(struct rc_core *core, struct rc_qp *qp);

void *rc_qp_user(const struct rc_qp *qp);
uint32_t rc_qp_num(const struct rc_qp *qp);
uint32_t rc_qp_pd(const struct rc_qp *qp);
/* The transport's state, and what query_qp shows (EP-6, EP-10). */
enum ibv_qp_state rc_qp_state(const struct rc_qp *qp);
enum ibv_qp_state rc_qp_shown_state(const struct rc_qp *qp);
/* The path's headers, for loopback and for MAC changes. */
struct wire_path *rc_qp_path(struct rc_qp *qp);

/*
 * modify_qp. path: the resolved path if mask has IBV_QP_AV (the caller has checked the GID index
 * and the neighbour); MTU limits were checked by the caller. 0 or -EINVAL, then nothing changed.
 */
int rc_modify(struct rc_core *core, struct rc_qp *qp, const struct ibv_qp_attr *attr, int mask,
	const struct wire_path_attr *path);
/* All attributes as they are now (qp_state: as shown). */
void rc_query(const struct rc_qp *qp, struct ibv_qp_attr *attr);

/* A parsed packet for this QP; its ICRC has not been checked yet. */
void rc_receive(struct rc_core *core, struct rc_qp *qp, const struct wire_packet *packet);

/* An announcement of the send queue (or, in ERR, the receive queue) was taken. */
void rc_posted(struct rc_core *core, struct rc_qp *qp);

/*
 * Makes up to `budget` packets. Returns true if the QP has more to do now (stay on the active
 * list); false: activate() will be called when there is.
 */
bool rc_transmit(struct rc_core *core, struct rc_qp *qp, unsigned int budget);

/* The CQ overran, the application died, ...: to ERR, flush. */
void rc_error(struct rc_core *core, struct rc_qp *qp);

/* ---- the gate, for verbs extensions and the CM (hold.c) ---- */

enum rc_hold_cause {
	RC_HOLD_MODIFY,
	RC_HOLD_PACKET,
	RC_HOLD_RTU,
	RC_HOLD_NOTIFY,
	RC_HOLD_GRACE,
	RC_HOLD_ACK,
	RC_HOLD_TIMEOUT,
};

enum rc_hold_action { RC_HOLD_OPEN, RC_HOLD_ERROR };

struct rc_arm {
	uint32_t sq_psn;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t max_rd_atomic;
};

/* EP-2: before RTR only. 0 or -EINVAL. */
int rc_hold_set_policy(struct rc_core *core, struct rc_qp *qp, bool strict);
/* EP-4: arms a QP in RTR. -EINVAL: not in RTR, strict, open already, or a value out of range. Opens
 * it if its hold time-out is over (EP-12). */
int rc_hold_arm(struct rc_core *core, struct rc_qp *qp, const struct rc_arm *arm);
/* EP-12: in ms, 0 = none. Any state; runs from the first held request. -EINVAL: no such action. */
int rc_hold_set_timeout(
	struct rc_core *core, struct rc_qp *qp, uint32_t ms, enum rc_hold_action action);
/* EP-4c: rdma_notify(COMM_EST). 0, -EISCONN if the gate is open already (counted; but 0 if that was
 * by grace and this is the first proof), -EINVAL if the QP is not in RTR or not armed. */
int rc_hold_notify(struct rc_core *core, struct rc_qp *qp);
/* EP-4c, from the CM: the RTU arrived. A late one is counted. Returns true if it opened the gate.
 */
bool rc_hold_rtu(struct rc_core *core, struct rc_qp *qp);
/* EP-10: the CM takes the QP over; armed already or by arm (may be NULL). From now on CM-gated. */
int rc_hold_cm_own(struct rc_core *core, struct rc_qp *qp, const struct rc_arm *arm);
/* EP-11: the CM's grace is over. */
bool rc_hold_grace(struct rc_core *core, struct rc_qp *qp);

struct rc_hold_info {
	bool closed;
	bool armed;
	bool strict;
	uint32_t held_now;
	uint64_t held_since; /* ns; 0: nothing held */
	int cause;	     /* of the last opening, or -1 */
};
void rc_hold_query(struct rc_core *core, struct rc_qp *qp, struct rc_hold_info *info);
/* This QP's share of the gate's counters. */
const struct rc_hold_counters *rc_qp_hold_counters(const struct rc_qp *qp);

#endif
