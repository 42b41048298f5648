/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two devices in one process, each over an engine of its own, with a wire in memory between them:
 * what two hosts are to a program. The clock is the system's. Inline: polling an end's CQ drives
 * its engine; pair_drive() drives both. Dedicated: a thread per engine does.
 */
#ifndef UROCE_TESTS_VERBS_PAIR_H
#define UROCE_TESTS_VERBS_PAIR_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include <infiniband/verbs.h>
#include <uroce/uroce.h>

#include "engine.h"
#include "loop.h"
#include "unit.h"

#define PAIR_BUFFER 65536u
#define PAIR_DEPTH 16u
#define PAIR_INLINE 64u
#define PAIR_FLAGS                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
		IBV_ACCESS_REMOTE_ATOMIC)

struct end {
	struct engine *engine;
	pthread_t thread;
	bool stop;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buffer;
	union ibv_gid gid;
};

struct pair {
	struct loop_wire *wire;
	bool dedicated;
	struct end end[2];
};

/* The QPs are in RESET. */
void pair_open(struct pair *pair, bool dedicated);
/* Checks that every destroy succeeds and that no buffer of the wire is left. */
void pair_close(struct pair *pair);

/* Rounds of both engines until nothing moves (inline). */
void pair_drive(struct pair *pair);

struct ibv_qp *end_create_qp(const struct end *end, struct ibv_cq *cq, struct ibv_srq *srq);
int end_to_init(const struct end *end, struct ibv_qp *qp);
/* The attributes of INIT to RTR towards a QP of the other end (or of this one), and the mask. */
struct ibv_qp_attr end_rtr_attr(const struct end *peer, const struct ibv_qp *peer_qp);
#define PAIR_RTR_MASK                                                                              \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |            \
		IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
struct ibv_qp_attr end_rts_attr(void);
#define PAIR_RTS_ATTRS                                                                             \
	(IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |                    \
		IBV_QP_MAX_QP_RD_ATOMIC)
#define PAIR_RTS_MASK (IBV_QP_STATE | PAIR_RTS_ATTRS)
int end_to_rtr(struct ibv_qp *qp, const struct end *peer, const struct ibv_qp *peer_qp);
int end_to_rts(struct ibv_qp *qp);
int qp_move(struct ibv_qp *qp, enum ibv_qp_state state);
enum ibv_qp_state qp_state(struct ibv_qp *qp);
/* Both to RTS. */
void pair_connect(struct pair *pair);

/* One request of `length` bytes at this offset of the end's buffer. The call's value. */
int end_send(const struct end *end, uint64_t id, uint32_t offset, uint32_t length);
int end_recv(const struct end *end, uint64_t id, uint32_t offset, uint32_t length);
int qp_post(struct ibv_qp *qp, const struct ibv_send_wr *wr);
/* Drives and polls until there is one, at most some seconds. */
bool pair_poll(struct pair *pair, unsigned int end, struct ibv_wc *wc);
/* The same, and it is a success of this request. */
void pair_expect(struct pair *pair, unsigned int end, uint64_t id, enum ibv_wc_opcode opcode);
/* There is none, whatever is driven. */
bool pair_quiet(struct pair *pair, unsigned int end);

#endif
