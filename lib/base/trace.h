/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trace points: what an outsider may watch of a running engine (docs/tracing.md has the list and
 * how to look). They are USDT probes of the provider `uroce`: a nop where the point is, and a note
 * in the file that says where it is and where its arguments are. Nothing else is there until a
 * tracer puts a breakpoint on the nop, so that they may stand in release builds; and where the
 * system has no <sys/sdt.h>, they are nothing at all.
 *
 * Arguments are values that the code has at hand: a point must not compute, or it would cost
 * something when it is off. Points stand where something turns, fails or is dropped, and not where
 * packets pass.
 */
#ifndef UROCE_BASE_TRACE_H
#define UROCE_BASE_TRACE_H

#ifdef UROCE_SDT
#define SDT_USE_VARIADIC
#include <sys/sdt.h>
#define TRACE(name, ...) STAP_PROBEV(uroce, name, __VA_ARGS__)
#else
/* The arguments are used, and never evaluated. */
static inline void trace_nothing(int count, ...)
{
}
#define TRACE(name, ...)                                                                           \
	do {                                                                                       \
		if (0)                                                                             \
			trace_nothing(0, __VA_ARGS__);                                             \
	} while (0)
#endif

/* ---- QPs. States are enum ibv_qp_state; causes and reasons are constant strings. ---- */

#define TRACE_QP_CREATE(qp_num, pd) TRACE(qp_create, qp_num, pd)
#define TRACE_QP_DESTROY(qp_num, state) TRACE(qp_destroy, qp_num, (int)(state))
/* The transport's state, which is RTR as long as the gate is closed. */
#define TRACE_QP_STATE(qp_num, from, to, cause)                                                    \
	TRACE(qp_state, qp_num, (int)(from), (int)(to), (const char *)(cause))
/* cause: enum uroce_hold_cause; held: requests that go on now; since: ns, 0: none was held. */
#define TRACE_GATE_OPEN(qp_num, cause, held, since)                                                \
	TRACE(gate_open, qp_num, (int)(cause), held, since)
/* The oldest request fails: what enum ibv_wc_status its completion has. */
#define TRACE_SEND_FAILED(qp_num, status) TRACE(send_failed, qp_num, (int)(status))
/* What was sent from `first` on, and before `end`, is sent again. */
#define TRACE_GO_BACK(qp_num, first, end, cause)                                                   \
	TRACE(go_back, qp_num, first, end, (const char *)(cause))
/* The AETH's syndrome: 0x20 to 0x3f RNR NAK, 0x60 sequence error, 0x61 ... */
#define TRACE_NAK_SENT(qp_num, syndrome, psn) TRACE(nak_sent, qp_num, syndrome, psn)
#define TRACE_NAK_RECEIVED(qp_num, syndrome, psn) TRACE(nak_received, qp_num, syndrome, psn)
/* A packet for a QP is ignored; reason: the counter's name (docs/counters.md). */
#define TRACE_DROP(qp_num, psn, reason) TRACE(drop, qp_num, psn, (const char *)(reason))

/* ---- the engine ---- */

/* A frame that is no good, or for no QP; reason: likewise. */
#define TRACE_DROP_FRAME(frame, length, reason)                                                    \
	TRACE(drop_frame, frame, length, (const char *)(reason))
/* A command of the region has ended: enum of uroce/abi.h, its object, 0 or -errno. */
#define TRACE_COMMAND(op, object, status) TRACE(command, op, object, status)

#endif
