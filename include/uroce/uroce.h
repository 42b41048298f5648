/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What uroce offers beyond verbs: the rules about posts in RTR ("early posts"), counters, memory.
 *
 * All functions may be called by any thread; calls for one QP take their turns. Unless it says
 * otherwise, a function returns 0 or an errno value, as ibv_modify_qp() does, and takes no
 * ownership of what its pointers lead to. Common to all that take an object: EOPNOTSUPP if it
 * belongs to another provider, EIO if the engine is gone or this is the child of a fork.
 *
 * EP-1 to EP-17 are the rules of docs/early-posts.md.
 */
#ifndef UROCE_UROCE_H
#define UROCE_UROCE_H

#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version that this header belongs to. */
#define UROCE_VERSION_MAJOR 0
#define UROCE_VERSION_MINOR 1
#define UROCE_VERSION_PATCH 0

/* The version of the library that is loaded, "0.1.0". A constant string. */
const char *uroce_version(void);

/* 1 if it is one of uroce's devices, else 0. Any pointer that ibv_get_device_list() gave. */
int uroce_is_device(struct ibv_device *device);

/*
 * The device of this name ("uroce0"), the same pointer that ibv_get_device_list() gives. NULL and
 * errno ENODEV: no engine of this process has it. Valid as long as the process runs, but to be
 * opened only while its engine does.
 */
struct ibv_device *uroce_find_device(const char *name);

/* ---- early posts: the policy ---- */

enum uroce_policy {
	UROCE_POLICY_HOLD,   /* EP-1, the default: a post in RTR is taken and held */
	UROCE_POLICY_STRICT, /* EP-2: a post in RTR is refused with EINVAL */
};

/*
 * Chooses the policy of an RC QP, before it is in RTR (in RESET or INIT). EINVAL: a later state, or
 * no such policy.
 */
int uroce_qp_set_policy(struct ibv_qp *qp, enum uroce_policy policy);

/* The five attributes that the move to RTS requires; ranges as in man ibv_modify_qp. */
struct uroce_arm_attr {
	uint32_t sq_psn;       /* its lower 24 bits count */
	uint8_t timeout;       /* 0 to 31: 4.096 us x 2^timeout; 0: infinite */
	uint8_t retry_cnt;     /* 0 to 7 */
	uint8_t rnr_retry;     /* 0 to 7; 7: for ever */
	uint8_t max_rd_atomic; /* READs and atomics in flight, 0 to the device's limit */
};

/*
 * Arms a QP in RTR (EP-4): the first packet that the peer sends, or uroce_qp_notify(), then opens
 * its gate with these attributes. The same is done by passing them with the modify from INIT to
 * RTR. May be repeated until the gate opens; the last one counts. EINVAL: not in RTR, strict, open
 * already, or a value out of range.
 */
int uroce_qp_arm(struct ibv_qp *qp, const struct uroce_arm_attr *attr);

/*
 * Tells that the connection is established, as rdma_notify(id, IBV_EVENT_COMM_EST) does: opens the
 * gate of an armed QP (EP-4c). EISCONN: it is open already (counted as late); EINVAL: not in RTR,
 * or not armed.
 */
int uroce_qp_notify(struct ibv_qp *qp);

enum uroce_hold_action {
	UROCE_HOLD_OPEN,  /* the gate opens, if the QP is armed */
	UROCE_HOLD_ERROR, /* the QP goes to ERR, what is held is flushed */
};

/*
 * How long the QP may hold, counted from its first held request (EP-12), and what happens then. In
 * milliseconds; 0 (the default): for ever. Any state; while it holds already it may be over at
 * once. EINVAL: no such action.
 */
int uroce_qp_set_hold_timeout(
	struct ibv_qp *qp, uint32_t milliseconds, enum uroce_hold_action action);

/* What opened a gate (EP-4, EP-11, EP-12). */
enum uroce_hold_cause {
	UROCE_CAUSE_NONE = -1, /* not opened yet */
	UROCE_CAUSE_MODIFY,    /* the move to RTS by ibv_modify_qp() */
	UROCE_CAUSE_PACKET,    /* the peer's first request */
	UROCE_CAUSE_RTU,
	UROCE_CAUSE_NOTIFY, /* uroce_qp_notify(), rdma_notify() */
	UROCE_CAUSE_GRACE,
	UROCE_CAUSE_ACK,
	UROCE_CAUSE_TIMEOUT,
};

/* What uroce_qp_query_hold() tells. */
struct uroce_hold {
	int closed;	     /* 1: posts are held */
	int armed;	     /* 1: it has the RTS attributes while in RTR */
	int strict;	     /* 1: UROCE_POLICY_STRICT */
	int cause;	     /* enum uroce_hold_cause, of the latest opening */
	uint64_t held_now;   /* requests posted and held */
	uint64_t held_since; /* the engine's clock (ns) when it saw the first of them; 0: none */
};

/* The gate of a QP, now. Asks the engine: not for the data path. */
int uroce_qp_query_hold(struct ibv_qp *qp, struct uroce_hold *hold);

/* ---- counters ---- */

/* The gate's counters of one QP since its creation (EP-17). */
struct uroce_qp_counters {
	uint64_t held;		  /* requests that were held */
	uint64_t released;	  /* of those: sent after the gate opened */
	uint64_t flushed_held;	  /* of those: flushed in ERR */
	uint64_t vanished_held;	  /* of those: gone with RESET or destroy */
	uint64_t promoted_modify; /* openings, by cause */
	uint64_t promoted_packet;
	uint64_t promoted_rtu;
	uint64_t promoted_notify;
	uint64_t promoted_grace;
	uint64_t promoted_ack;
	uint64_t promoted_timeout;
	uint64_t late_rtu;	       /* RTUs that found the gate open */
	uint64_t late_notify;	       /* uroce_qp_notify() likewise */
	uint64_t unarmed_first_packet; /* first packets that opened nothing */
	uint64_t hold_timeout;
	uint64_t hold_long;	 /* times that it held for a second */
	uint64_t comm_est;	 /* IBV_EVENT_COMM_EST raised */
	uint64_t refused_full;	 /* calls of ibv_post_send() that got ENOMEM */
	uint64_t refused_strict; /* calls that got EINVAL in RTR under UROCE_POLICY_STRICT */
	uint64_t reserved[13];	 /* 0 */
};

/* Reads them. Asks the engine: not for the data path. */
int uroce_qp_query_counters(struct ibv_qp *qp, struct uroce_qp_counters *counters);

/* How many counters an engine has, and the name of each: names as in `rdma statistic` where that
 * has them. NULL: no such counter. Constant strings. */
unsigned int uroce_counter_count(void);
/* The name of the counter with this index, from 0 to uroce_counter_count() - 1; else NULL. */
const char *uroce_counter_name(unsigned int index);

/*
 * Reads the counters of the context's engine, all QPs and clients together, since its start: the
 * first `count` of them into values, in the order of the names. EINVAL: count is above
 * uroce_counter_count().
 */
int uroce_query_counters(struct ibv_context *context, uint64_t *values, unsigned int count);

#define UROCE_HOLD_BUCKETS 12

/* How long gates have held before they opened, all QPs together. */
struct uroce_hold_histogram {
	/* microseconds: bucket n counts the times below its bound, from the bound before it on; the
	 * last one is open (its bound is UINT64_MAX) */
	uint64_t bound_us[UROCE_HOLD_BUCKETS];
	uint64_t count[UROCE_HOLD_BUCKETS];
};

/* Reads it, with its bounds. */
int uroce_query_hold_histogram(struct ibv_context *context, struct uroce_hold_histogram *histogram);

/* ---- memory ---- */

/*
 * Memory that application and engine share, zeroed, aligned to 64 bytes (to a page from the size of
 * a page on): what is registered in it stays in place even if the engine is another process. NULL
 * and errno: EINVAL (size 0), ENOMEM, EOPNOTSUPP, EIO. It lives until uroce_free(), at most as long
 * as the context.
 */
void *uroce_alloc(struct ibv_context *context, size_t size);

/* Gives it back. NULL does nothing. EINVAL: not from uroce_alloc() of this context; EBUSY: a memory
 * region lies in it. */
int uroce_free(struct ibv_context *context, void *memory);

#ifdef __cplusplus
}
#endif

#endif
