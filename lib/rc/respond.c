/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers out. READ responses and atomic ACKs leave in PSN order; then a NAK, if one is due, which
 * acknowledges all before it; otherwise one ACK for everything since the last (coalesced: it names
 * the newest SEND or WRITE packet that was executed). An ACK never names a READ or an atomic: those
 * are acknowledged by their answers, and their answers acknowledge what lies before them.
 */
#include "parts.h"
#include "tx.h"

bool respond_pending(const struct rc_qp *qp)
{
	const struct responder *responder = &qp->responder;

	return responder->replay.pending || responder->nak || responder->ack_pending;
}

static uint8_t *put_aeth(uint8_t *at, uint8_t syndrome, uint32_t msn)
{
	struct aeth *aeth = (struct aeth *)at;

	aeth->syndrome = syndrome;
	be24_put(&aeth->msn, msn);
	return at + sizeof(*aeth);
}

static void make_ack(struct rc_core *core, struct rc_qp *qp, uint8_t syndrome, uint32_t psn)
{
	struct wire_bth bth = {.opcode = OPCODE_RC_ACK, .psn = psn};
	uint8_t *frame = tx_frame(core);

	put_aeth(wire_start(frame, &qp->path, &bth), syndrome, qp->responder.msn);
	tx_commit(core, wire_finish(frame, &qp->path, &bth));
	core->counters.sent_pkts++;
}

static void make_atomic_ack(
	struct rc_core *core, struct rc_qp *qp, const struct replay_entry *entry)
{
	struct wire_bth bth = {.opcode = OPCODE_RC_ATOMIC_ACK, .psn = entry->psn};
	uint8_t *frame = tx_frame(core);
	uint8_t *at = put_aeth(
		wire_start(frame, &qp->path, &bth), AETH_ACK | AETH_CREDITS_INVALID, entry->msn);

	be64_put((struct be64 *)at, entry->original);
	tx_commit(core, wire_finish(frame, &qp->path, &bth));
	core->counters.sent_pkts++;
}

static uint8_t read_opcode(const struct replay_entry *entry)
{
	bool first = entry->next == entry->start;
	bool last = entry->next + 1 == entry->end;

	if (first)
		return last ? OPCODE_RC_READ_RESPONSE_ONLY : OPCODE_RC_READ_RESPONSE_FIRST;
	return last ? OPCODE_RC_READ_RESPONSE_LAST : OPCODE_RC_READ_RESPONSE_MIDDLE;
}

/* False: the key is gone since the request came (a region was deregistered under it). */
static bool make_read_response(
	struct rc_core *core, struct rc_qp *qp, const struct replay_entry *entry)
{
	uint64_t offset = (uint64_t)entry->next * qp->pmtu;
	uint32_t rest = (uint32_t)(entry->length - offset);
	struct wire_bth bth = {
		.opcode = read_opcode(entry),
		.psn = psn_add(entry->psn, entry->next),
		.payload_length = rest < qp->pmtu ? rest : qp->pmtu,
	};
	uint8_t *frame = tx_frame(core);
	uint8_t *host;
	uint8_t *at;

	if (mem_remote(core->mem, qp->pd, qp->qp_num, entry->rkey, entry->address + offset,
		    bth.payload_length, IBV_ACCESS_REMOTE_READ, &host) != MEM_OK)
		return false;
	at = wire_start(frame, &qp->path, &bth);
	if (bth.opcode != OPCODE_RC_READ_RESPONSE_MIDDLE)
		at = put_aeth(at, AETH_ACK | AETH_CREDITS_INVALID, entry->msn);
	if (bth.payload_length)
		mem_fetch(at, host, bth.payload_length);
	tx_commit(core, wire_finish(frame, &qp->path, &bth));
	core->counters.sent_pkts++;
	core->counters.sent_bytes += bth.payload_length;
	return true;
}

static void answer(struct rc_core *core, struct rc_qp *qp, struct replay_entry *entry)
{
	struct responder *responder = &qp->responder;

	if (psn_cmp(entry->psn, responder->ack_psn) > 0)
		responder->ack_pending = false;
	if (entry->atomic) {
		make_atomic_ack(core, qp, entry);
		replay_done(&responder->replay, entry);
		return;
	}
	if (!make_read_response(core, qp, entry)) {
		/* The whole answer was out before: the peer may have got it, and the key may have
		 * been taken back since, so that a copy of the request must not end the QP. */
		if (entry->answered) {
			RC_DROP(core, qp, entry, lost_resource);
			replay_done(&responder->replay, entry);
			return;
		}
		/* Nothing behind it can be answered any more. */
		uint32_t psn = psn_add(entry->psn, entry->next);

		while ((entry = replay_pending(&responder->replay)))
			replay_done(&responder->replay, entry);
		responder->dead = true;
		responder_nak(core, qp, NAK_REMOTE_ACCESS_ERROR, psn);
		core->ops->event(core, qp, IBV_EVENT_QP_ACCESS_ERR);
		return;
	}
	if (++entry->next == entry->end)
		replay_done(&responder->replay, entry);
}

static void count_nak(struct rc_core *core, uint8_t syndrome)
{
	core->counters.sent_nak_inv_req += syndrome == NAK_INVALID_REQUEST;
	core->counters.sent_nak_access += syndrome == NAK_REMOTE_ACCESS_ERROR;
	core->counters.sent_nak_op += syndrome == NAK_REMOTE_OPERATIONAL_ERROR;
}

static void send_nak(struct rc_core *core, struct rc_qp *qp)
{
	struct responder *responder = &qp->responder;

	/* What was missing may have come meanwhile: the NAK names what is missing now. */
	if (responder->nak == NAK_PSN_SEQUENCE_ERROR)
		responder->nak_psn = responder->epsn;
	make_ack(core, qp, responder->nak, responder->nak_psn);
	count_nak(core, responder->nak);
	TRACE_NAK_SENT(qp->qp_num, responder->nak, responder->nak_psn);
	responder->nak = 0;
	responder->ack_pending = false;
	if (responder->dead)
		qp_enter_error(core, qp, "nak");
}

bool respond_transmit(struct rc_core *core, struct rc_qp *qp, unsigned int *budget)
{
	struct responder *responder = &qp->responder;

	for (; *budget && tx_possible(core); (*budget)--) {
		struct replay_entry *entry = replay_pending(&responder->replay);

		if (entry) {
			answer(core, qp, entry);
		} else if (responder->nak) {
			send_nak(core, qp);
		} else if (responder->ack_pending) {
			responder->ack_pending = false;
			make_ack(core, qp, AETH_ACK | AETH_CREDITS_INVALID, responder->ack_psn);
		} else {
			return false;
		}
	}
	return respond_pending(qp);
}
