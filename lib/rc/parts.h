/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of lib/rc offer each other, one paragraph a file. */
#ifndef UROCE_RC_PARTS_H
#define UROCE_RC_PARTS_H

#include "qp.h"

/* A packet is ignored: counted, and a trace point. */
#define RC_DROP(core, qp, packet, reason)                                                          \
	do {                                                                                       \
		(core)->counters.reason++;                                                         \
		TRACE_DROP((qp)->qp_num, (packet)->psn, #reason);                                  \
	} while (0)

/* completer.c: responses for this QP, checked by receive.c. */
void completer_receive(struct rc_core *core, struct rc_qp *qp, const struct wire_packet *packet);

/* responder.c: requests for this QP, checked by receive.c. */
void responder_receive(struct rc_core *core, struct rc_qp *qp, const struct wire_packet *packet);
/* Forgets the message in progress; expects `psn` next. */
void responder_reset(struct rc_qp *qp, uint32_t psn);
/* Queues a NAK; a fatal one ends the QP when it has left. */
void responder_nak(struct rc_core *core, struct rc_qp *qp, uint8_t syndrome, uint32_t psn);

/* duplicate.c: requests from before the expected PSN. */
void duplicate_receive(struct rc_core *core, struct rc_qp *qp, const struct wire_packet *packet);

/* respond.c: READ responses, atomic ACKs, NAKs and ACKs, in this order of PSNs. Counts *budget
 * down; true if there is more. */
bool respond_transmit(struct rc_core *core, struct rc_qp *qp, unsigned int *budget);
bool respond_pending(const struct rc_qp *qp);

/* flush.c: ERR. Up to *budget completions; true if there is more. */
bool flush_run(struct rc_core *core, struct rc_qp *qp, unsigned int *budget);

/* timers.c */
void timers_retry_expire(struct timer *timer, uint64_t now, void *context);
/* The retry timer runs for whatever of deadline and rnr_until is due. */
void timers_retry_set(struct rc_core *core, struct rc_qp *qp);

/* hold.c, the gate: see rc.h for the rest. */
static inline bool hold_closed(const struct rc_qp *qp)
{
	return qp->state == IBV_QPS_RTR;
}
/* The QP enters RTR: a new visit, closed. */
void hold_enter(struct rc_qp *qp);
/* EP-5: a request has passed every check. Cheap once the gate is open. */
void hold_first_packet(struct rc_core *core, struct rc_qp *qp);
/* Opens, if it is closed. */
bool hold_open(struct rc_core *core, struct rc_qp *qp, enum rc_hold_cause cause);
/* EP-11: after grace, the first acknowledgement proves that the REP arrived. */
void hold_first_ack(struct rc_core *core, struct rc_qp *qp);
/* Requests were announced while the gate is closed. */
void hold_posted(struct rc_core *core, struct rc_qp *qp);
/* The QP leaves RTR without opening. vanish: to RESET or destroyed; otherwise flushed. */
void hold_abandon(struct rc_core *core, struct rc_qp *qp, bool vanish);
/* The RTS attributes as set by modify, extension or CM. */
int hold_check_arm(const struct rc_qp *qp, const struct rc_arm *arm);
void hold_set_arm(struct rc_qp *qp, const struct rc_arm *arm);

/* hold_wait.c: what ends the wait, from the first held request on. */
void hold_set_timer(struct rc_core *core, struct rc_qp *qp);
void hold_timer_expire(struct timer *timer, uint64_t now, void *context);

#define HOLD_COUNT(core, qp, name, n)                                                              \
	((core)->hold_counters.name += (n), (qp)->gate.counters.name += (n))

#endif
