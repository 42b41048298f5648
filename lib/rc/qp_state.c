/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transitions of a QP and their attributes, as data.
 *
 * The sources are man ibv_modify_qp, which names what RESET to INIT to RTR to RTS require, and
 * Linux's qp_state_table with ib_modify_qp_is_ok() (drivers/infiniband/core/verbs.c), which says
 * the same of those three and has all the rest. Where the man page is silent, Linux decides:
 *
 *  - Any state to RESET, and any but RESET to ERR, takes IBV_QP_STATE and nothing else. RESET to
 * ERR does not exist.
 *  - Staying in INIT, RTS or SQD changes attributes, each of them optional; staying in RESET or ERR
 *    changes nothing. Staying in RTR or SQE does not exist: attributes there change with the move.
 *  - IBV_QP_CUR_STATE comes with the moves to RTS only.
 *  - SQE is a state of UC and UD. For RC, Linux has the move from it to RTS, without attributes.
 *  - IBV_QP_CAP and IBV_QP_RATE_LIMIT come with no transition of these types.
 *
 * One thing is the man page's, which lists IBV_QP_STATE among the required ones: a move without it
 * is refused. Linux needs no such check, since its drivers take the current state for the next one
 * if the bit is missing.
 */
#include <errno.h>

#include "qp_state.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* What a connected QP may change at any time from the move to RTS on; RC has one more. */
#define UC_LIVE (IBV_QP_ACCESS_FLAGS | IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE)
#define RC_LIVE (UC_LIVE | IBV_QP_MIN_RNR_TIMER)

#define UC_INIT (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define UD_INIT (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY)
#define UC_RTR (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RC_RTR (UC_RTR | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)

struct attrs {
	int required;
	int optional;
};

static const struct transition {
	enum ibv_qp_state from;
	enum ibv_qp_state to;
	struct attrs rc;
	struct attrs uc;
	struct attrs ud;
} transitions[] = {
	{
		.from = IBV_QPS_RESET,
		.to = IBV_QPS_INIT,
		.rc = {.required = UC_INIT},
		.uc = {.required = UC_INIT},
		.ud = {.required = UD_INIT},
	},
	{
		.from = IBV_QPS_INIT,
		.to = IBV_QPS_INIT,
		.rc = {.optional = UC_INIT},
		.uc = {.optional = UC_INIT},
		.ud = {.optional = UD_INIT},
	},
	{
		.from = IBV_QPS_INIT,
		.to = IBV_QPS_RTR,
		.rc = {RC_RTR, IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
		.uc = {UC_RTR, IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
		.ud = {.optional = IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
	},
	{
		.from = IBV_QPS_RTR,
		.to = IBV_QPS_RTS,
		.rc = {QP_STATE_RTS_ATTRS, IBV_QP_CUR_STATE | RC_LIVE},
		.uc = {IBV_QP_SQ_PSN, IBV_QP_CUR_STATE | UC_LIVE},
		.ud = {IBV_QP_SQ_PSN, IBV_QP_CUR_STATE | IBV_QP_QKEY},
	},
	{
		.from = IBV_QPS_RTS,
		.to = IBV_QPS_RTS,
		.rc = {.optional = IBV_QP_CUR_STATE | RC_LIVE},
		.uc = {.optional = IBV_QP_CUR_STATE | UC_LIVE},
		.ud = {.optional = IBV_QP_CUR_STATE | IBV_QP_QKEY},
	},
	{
		.from = IBV_QPS_RTS,
		.to = IBV_QPS_SQD,
		.rc = {.optional = IBV_QP_EN_SQD_ASYNC_NOTIFY},
		.uc = {.optional = IBV_QP_EN_SQD_ASYNC_NOTIFY},
		.ud = {.optional = IBV_QP_EN_SQD_ASYNC_NOTIFY},
	},
	{
		.from = IBV_QPS_SQD,
		.to = IBV_QPS_RTS,
		.rc = {.optional = IBV_QP_CUR_STATE | RC_LIVE},
		.uc = {.optional = IBV_QP_CUR_STATE | UC_LIVE},
		.ud = {.optional = IBV_QP_CUR_STATE | IBV_QP_QKEY},
	},
	{
		/* The send queue is idle, so that the path and the requester's limits may change;
		 * the port is RC's alone. */
		.from = IBV_QPS_SQD,
		.to = IBV_QPS_SQD,
		.rc = {.optional = RC_LIVE | IBV_QP_AV | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC},
		.uc = {.optional = UC_LIVE | IBV_QP_AV | IBV_QP_PKEY_INDEX},
		.ud = {.optional = IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
	},
	{
		.from = IBV_QPS_SQE,
		.to = IBV_QPS_RTS,
		.uc = {.optional = IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS},
		.ud = {.optional = IBV_QP_CUR_STATE | IBV_QP_QKEY},
	},
};

/* To RESET and to ERR from everywhere (but for RESET to ERR): no attributes. */
static const struct transition leave;

static const struct transition *find(enum ibv_qp_state from, enum ibv_qp_state to)
{
	if (to == IBV_QPS_RESET || (to == IBV_QPS_ERR && from != IBV_QPS_RESET))
		return &leave;
	for (unsigned int i = 0; i < COUNT(transitions); i++) {
		if (transitions[i].from == from && transitions[i].to == to)
			return &transitions[i];
	}
	return NULL;
}

static const struct attrs *attrs_of(const struct transition *transition, enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
		return &transition->rc;
	case IBV_QPT_UC:
		return &transition->uc;
	case IBV_QPT_UD:
		return &transition->ud;
	default:
		return NULL;
	}
}

/* EP-4: what arms a QP if it comes with the move to RTR; UD has no gate. */
static int arming_attrs(enum ibv_qp_state from, enum ibv_qp_state to, enum ibv_qp_type type)
{
	if (from != IBV_QPS_INIT || to != IBV_QPS_RTR)
		return 0;
	if (type == IBV_QPT_RC)
		return QP_STATE_RTS_ATTRS;
	return type == IBV_QPT_UC ? IBV_QP_SQ_PSN : 0;
}

int qp_state_check(
	enum ibv_qp_state from, enum ibv_qp_state to, enum ibv_qp_type type, int mask, bool arms)
{
	int arming = arms ? arming_attrs(from, to, type) : 0;
	const struct transition *transition;
	const struct attrs *attrs;

	if ((unsigned int)from > IBV_QPS_ERR)
		return -EINVAL;
	transition = find(from, to);
	attrs = transition ? attrs_of(transition, type) : NULL;
	if (!attrs)
		return -EINVAL;

	if (from != to && !(mask & IBV_QP_STATE))
		return -EINVAL;
	if ((mask & arming) == arming)
		mask &= ~arming;
	if ((mask & attrs->required) != attrs->required)
		return -EINVAL;
	if (mask & ~(IBV_QP_STATE | attrs->required | attrs->optional))
		return -EINVAL;
	return 0;
}

const char *qp_state_name(enum ibv_qp_state state)
{
	static const char *const names[] = {
		[IBV_QPS_RESET] = "RESET",
		[IBV_QPS_INIT] = "INIT",
		[IBV_QPS_RTR] = "RTR",
		[IBV_QPS_RTS] = "RTS",
		[IBV_QPS_SQD] = "SQD",
		[IBV_QPS_SQE] = "SQE",
		[IBV_QPS_ERR] = "ERR",
	};
	unsigned int i = state;

	return i < COUNT(names) ? names[i] : "unknown";
}
