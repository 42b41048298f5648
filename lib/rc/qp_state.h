/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state machine of a QP as man ibv_modify_qp and Linux's table (ib_modify_qp_is_ok) have it:
 * which transitions exist, and which attributes each requires and allows.
 */
#ifndef UROCE_RC_QP_STATE_H
#define UROCE_RC_QP_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

/* The five attributes that the move to RTS requires: what arms a QP in RTR (EP-4). */
#define QP_STATE_RTS_ATTRS                                                                         \
	(IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |                    \
		IBV_QP_MAX_QP_RD_ATOMIC)

/*
 * Is the modify allowed? type: IBV_QPT_RC, UC or UD. mask: enum ibv_qp_attr_mask, IBV_QP_STATE and
 * IBV_QP_CUR_STATE included. Returns 0 or -EINVAL. arms: a hold policy is in force, so that INIT to
 * RTR of an RC (UC) QP takes the RTS attributes in addition, all of them or none (EP-4, the only
 * departure from the standard's table).
 */
int qp_state_check(
	enum ibv_qp_state from, enum ibv_qp_state to, enum ibv_qp_type type, int mask, bool arms);

/* "RESET", "INIT", ... */
const char *qp_state_name(enum ibv_qp_state state);

#endif
