/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The front's objects. Each embeds the public struct of <infiniband/verbs.h> first, so that a cast
 * turns one into the other. What each lock guards stands beside it; the order in which they nest is
 * the one below: a QP's lock, the context's `handles`, a CQ's or channel's lock.
 */
#ifndef UROCE_VERBS_FRONT_H
#define UROCE_VERBS_FRONT_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "attach.h"
#include "cq.h"
#include "eventring.h"
#include "fallthrough.h"
#include "list.h"
#include "table.h"
#include "wq.h"

/* A symbol of the shared library; its version stands in liburoce.map. */
#define EXPORT __attribute__((visibility("default")))

#define PORTS 1u
#define PKEY_DEFAULT 0xffffu /* the only entry of the P_Key table */

/* Events on their way to the program: a descriptor, a ring, and who reads it. */
struct events {
	pthread_mutex_t lock; /* the ring's consumer side, and `got` of the objects it names */
	struct eventring_front ring;
	uint32_t handle; /* the engine's */
};

struct context {
	struct verbs_context verbs;
	struct attach *attach;
	struct ibv_device_attr limits;
	struct events async;
	/*
	 * Held from a command that makes or ends a handle until the tables, rings and CQs have
	 * followed it: the engine gives the number of an ended object to the next one at once.
	 */
	pthread_mutex_t handles;
	struct table qps; /* by the engine's handle */
	struct table cqs;
	struct table srqs;
	pthread_mutex_t memory_lock;
	struct list memory; /* struct memory: what uroce_alloc() gave */
};

struct channel {
	struct ibv_comp_channel base; /* refcnt: under events.lock */
	struct events events;
};

struct cq {
	struct ibv_cq base;
	struct attach *attach;
	pthread_mutex_t lock; /* front */
	struct cq_front front;
	uint32_t completions_got; /* completion events got, under the channel's lock */
	uint32_t async_got;	  /* under the context's async.lock */
};

struct srq {
	struct ibv_srq base;
	struct attach *attach;
	struct wq_front wq;
	uint32_t max_sge;
	uint32_t async_got; /* under the context's async.lock */
};

/* What a post is told before it touches the queue (EP-1, EP-2). */
enum refusal { REFUSE_NOT, REFUSE_STATE, REFUSE_STRICT };

struct qp {
	struct ibv_qp base;
	/* read by every post: */
	struct attach *attach;
	uint32_t send_refusal; /* atomic, enum refusal */
	uint32_t recv_refusal;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t max_inline;
	uint32_t core;
	uint32_t always; /* flags of every request: IBV_SEND_SIGNALED if sq_sig_all */
	bool has_rq;	 /* not with an SRQ */
	struct wq_front sq;
	struct wq_front rq;
	/* control: */
	pthread_mutex_t lock; /* one modify, query or extension call at a time */
	bool strict;
	uint32_t hold_timeout_ms;
	uint32_t hold_action;
	uint64_t refused_full; /* atomic */
	uint64_t refused_strict;
	uint32_t async_got; /* under the context's async.lock */
};

struct ah {
	struct ibv_ah base;
};

/* ---- ours, or another provider's? ---- */

int verbs_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc);

/* Which provider made a context shows in its table of operations. */
static inline bool is_ours(const struct ibv_context *context)
{
	return context->ops.poll_cq == verbs_poll_cq;
}

static inline struct context *to_context(struct ibv_context *context)
{
	return container_of(context, struct context, verbs.context);
}

static inline struct channel *to_channel(struct ibv_comp_channel *channel)
{
	return container_of(channel, struct channel, base);
}

static inline struct cq *to_cq(struct ibv_cq *cq)
{
	return container_of(cq, struct cq, base);
}

static inline struct srq *to_srq(struct ibv_srq *srq)
{
	return container_of(srq, struct srq, base);
}

static inline struct qp *to_qp(struct ibv_qp *qp)
{
	return container_of(qp, struct qp, base);
}

/* ---- errors, as the man pages return them ---- */

/* NULL and errno; error: 0 or -errno. */
static inline void *null_errno(int error)
{
	errno = -error;
	return NULL;
}

/* -1 and errno. */
static inline int minus_errno(int error)
{
	errno = -error;
	return -1;
}

static inline int command(struct context *context, struct uroce_abi_command *command)
{
	return attach_command(context->attach, command);
}

/* ---- async.c ---- */
int events_open(struct context *context, struct events *events, int fd, bool async);
void events_close(struct context *context, struct events *events);
/* The object ends: its undelivered events vanish, and nobody gets more of them. */
enum object_kind { OBJECT_NONE, OBJECT_CQ, OBJECT_SRQ, OBJECT_QP };
void async_forget(struct context *context, enum object_kind kind, uint32_t handle);
/* Waits until `completed` (under the mutex of the public struct) has reached what was got. */
void wait_acknowledged(
	pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed, uint32_t got);

/* ---- cq.c ---- */
/* Removes the QP's completions. */
void cq_forget(struct cq *cq, uint32_t qp);
int verbs_req_notify_cq(struct ibv_cq *cq, int solicited_only);

/* ---- mr.c, mw.c, probe.c ---- */
struct ibv_mw *verbs_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int verbs_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
int verbs_dealloc_mw(struct ibv_mw *mw);
/* Is it mapped, and for writing if `write`? 0 or -EFAULT. */
int probe_memory(const void *address, size_t length, bool write);

/* ---- compat.c ---- */
int verbs_query_port(
	struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t length);
int verbs_query_device_ex(struct ibv_context *context,
	const struct ibv_query_device_ex_input *input, struct ibv_device_attr_ex *attr,
	size_t length);

/* ---- qp.c, post.c ---- */
struct ibv_qp *verbs_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *init);
/* Under the QP's lock: its owner moved it to this state. */
void qp_moved(struct qp *qp, enum ibv_qp_state state);
void qp_set_strict(struct qp *qp, bool strict);
int verbs_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int verbs_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int verbs_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
/* A bind of a type 1 window; the window's new key is in wr->bind_mw.rkey. */
int post_bind(struct qp *qp, struct ibv_send_wr *wr);

#endif
