/* SPDX-License-Identifier: BSD-3-Clause */
/* The sending side: requests out, acknowledgements counted, going back. Private to lib/rc. */
#ifndef UROCE_RC_REQUESTER_H
#define UROCE_RC_REQUESTER_H

#include "qp.h"

/* Makes request packets, up to *budget (counted down). True if there is more that could go now. */
bool requester_transmit(struct rc_core *core, struct rc_qp *qp, unsigned int *budget);
/* Something is outstanding: sent and not acknowledged. */
bool requester_outstanding(const struct rc_qp *qp);
/*
 * Everything before `psn` is acknowledged, as far as it can be: an incomplete READ or atomic stops
 * it. Completes requests. Returns true if `una` has reached psn.
 */
bool requester_acknowledge(struct rc_core *core, struct rc_qp *qp, uint32_t psn);
/* The oldest request made progress: counters and timer start anew. */
void requester_progress(struct rc_core *core, struct rc_qp *qp);
/* The PSN that the cursor would send next. */
uint32_t requester_cursor_psn(const struct rc_qp *qp);
/* The cursor returns to `una`. */
void requester_go_back(struct rc_qp *qp);
/* The request at the head ends with this status, the QP goes to ERR. */
void requester_fail(struct rc_core *core, struct rc_qp *qp, enum ibv_wc_status status);
/* Completes what is complete at the head; SQD: tells when it has drained. */
void requester_retire(struct rc_core *core, struct rc_qp *qp);
/* The completion of one request (signaled or failed). */
void requester_complete(struct rc_core *core, struct rc_qp *qp, const struct rc_send *send,
	enum ibv_wc_status status);
/* (Re)starts the ack timer if something is outstanding (timers.c sets the timer itself). */
void requester_start_timer(struct rc_core *core, struct rc_qp *qp);

#endif
