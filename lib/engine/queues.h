/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport's view of the queues in the region: struct rc_ops, and what follows from it. */
#ifndef UROCE_ENGINE_QUEUES_H
#define UROCE_ENGINE_QUEUES_H

#include "object.h"

struct worker;

extern const struct rc_ops queues_ops;

/* At the end of a round: CQs that overran, and events of those that were armed. */
void queues_settle(struct worker *worker);
/* The QP is in RESET again: its queues are empty, and receives needn't be announced. */
void queues_reset(struct engine_qp *qp);
/* Raises the limit event if fewer receives than the limit are there; then the SRQ is disarmed. */
void queues_check_limit(struct worker *worker, struct engine_srq *srq);

#endif
