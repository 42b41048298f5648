/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Responses: acknowledgements, NAKs, READ responses, atomic ACKs (IBTA 9.7.5.2, 9.7.5.3).
 *
 * A response is looked at if its PSN lies in [una, sent). An older one is an echo and ignored; one
 * for what was never sent is a ghost and ignored. What a response says about later
 * requests while an earlier READ or atomic has not been answered implies that the answer was lost.
 */
#include "parts.h"
#include "requester.h"
#include "status.h"

/* A response was lost, or the responder asks for a resend: go back, once per loss. */
static void retry(struct rc_core *core, struct rc_qp *qp)
{
	struct requester *requester = &qp->requester;

	/* An echo of the loss that is being repaired, behind which the timer stands; or of the
	 * request that was refused by an RNR NAK (Soft-RoCE adds a sequence NAK to it). */
	if (requester->recovering || requester->rnr_until)
		return;
	core->counters.completer_retry_err++;
	if (requester->retry_left == 0) {
		core->counters.retry_exceeded_err++;
		requester_fail(core, qp, IBV_WC_RETRY_EXC_ERR);
		return;
	}
	requester->retry_left--;
	requester->recovering = true;
	requester->deadline = TIMER_NEVER;
	TRACE_GO_BACK(qp->qp_num, requester->una, requester->sent, "loss");
	requester_go_back(qp);
	core->ops->activate(core, qp);
}

static void implied_nak(struct rc_core *core, struct rc_qp *qp)
{
	core->counters.implied_nak_seq_err++;
	retry(core, qp);
}

static void bad_response(struct rc_core *core, struct rc_qp *qp)
{
	core->counters.bad_response++;
	requester_fail(core, qp, IBV_WC_BAD_RESP_ERR);
}

/* ---- plain acknowledgements ---- */

static void rnr_nak(struct rc_core *core, struct rc_qp *qp, uint8_t timer)
{
	struct requester *requester = &qp->requester;

	core->counters.rcvd_rnr_err++;
	if (requester->rnr_until)
		return;
	/* 7 means without end (man ibv_modify_qp) */
	if (requester->rnr_left == 0) {
		core->counters.retry_rnr_exceeded_err++;
		requester_fail(core, qp, IBV_WC_RNR_RETRY_EXC_ERR);
		return;
	}
	if (requester->rnr_retry != 7)
		requester->rnr_left--;
	/* The peer is alive: what counts lost packets starts anew. */
	requester->retry_left = requester->retry_cnt;
	requester->rnr_until = core->now + status_rnr_ns(timer);
	requester->recovering = false; /* what is lost after the silence is a loss of its own */
	requester->deadline = TIMER_NEVER;
	TRACE_GO_BACK(qp->qp_num, requester->una, requester->sent, "rnr");
	requester_go_back(qp);
	timers_retry_set(core, qp);
}

static void nak(struct rc_core *core, struct rc_qp *qp, uint8_t syndrome)
{
	switch (syndrome) {
	case NAK_PSN_SEQUENCE_ERROR:
		core->counters.rcvd_seq_err++;
		retry(core, qp);
		return;
	case NAK_INVALID_REQUEST:
		core->counters.rcvd_nak_inv_req++;
		break;
	case NAK_REMOTE_ACCESS_ERROR:
		core->counters.rcvd_nak_access++;
		break;
	case NAK_REMOTE_OPERATIONAL_ERROR:
		core->counters.rcvd_nak_op++;
		break;
	default:
		bad_response(core, qp);
		return;
	}
	requester_fail(core, qp, status_of_nak(syndrome));
}

static void acknowledge(struct rc_core *core, struct rc_qp *qp, const struct wire_packet *packet)
{
	uint8_t syndrome = wire_aeth(packet)->syndrome;
	uint8_t kind = syndrome & (AETH_KIND_MASK | AETH_RESERVED_BIT);

	if (kind == AETH_ACK) {
		if (!requester_acknowledge(core, qp, psn_add(packet->psn, 1)))
			implied_nak(core, qp);
		return;
	}
	/* A NAK acknowledges what lies before its PSN. */
	if (kind != AETH_RNR_NAK && kind != AETH_NAK) {
		bad_response(core, qp);
		return;
	}
	TRACE_NAK_RECEIVED(qp->qp_num, syndrome, packet->psn);
	if (!requester_acknowledge(core, qp, packet->psn))
		implied_nak(core, qp);
	else if (kind == AETH_RNR_NAK)
		rnr_nak(core, qp, syndrome & AETH_VALUE_MASK);
	else
		nak(core, qp, syndrome);
}

/* ---- READ responses and atomic ACKs ---- */

/* The started request that the PSN belongs to. */
static struct rc_send *request_of(const struct rc_qp *qp, uint32_t psn)
{
	const struct requester *requester = &qp->requester;

	for (uint32_t i = requester->head; i != requester->tail; i++) {
		struct rc_send *send = window_slot(qp, i);

		if (!send->started)
			return NULL;
		if (psn_ahead(psn, send->first_psn) < send->packets)
			return send;
	}
	return NULL;
}

/*
 * The opcode fits the place in the answer, and the length too. The answer to a READ that was asked
 * for again may begin with FIRST or ONLY, or go on with MIDDLE or LAST (Soft-RoCE does).
 */
static bool read_response_fits(
	const struct rc_qp *qp, const struct rc_send *send, const struct wire_packet *packet)
{
	uint32_t left = send->packets - send->received;
	uint64_t offset = (uint64_t)send->received * qp->pmtu;
	uint32_t rest = (uint32_t)(send->length - offset);
	bool begins = send->received == 0 || send->resumed;
	bool goes_on = send->received > 0;

	if (packet->payload_length != (rest < qp->pmtu ? rest : qp->pmtu))
		return false;
	if (left == 1)
		return (opcode_is(packet->info, IS_ONLY) && begins) ||
			(opcode_is(packet->info, IS_LAST) && goes_on);
	return (opcode_is(packet->info, IS_FIRST) && begins) ||
		(opcode_is(packet->info, IS_MIDDLE) && goes_on);
}

/* One more PSN of the READ or atomic at the head has been answered. */
static void answered(struct rc_core *core, struct rc_qp *qp, struct rc_send *send)
{
	struct requester *requester = &qp->requester;

	send->received++;
	send->resumed = false;
	requester->una = psn_add(requester->una, 1);
	if (send->received == send->packets) {
		requester->reads--;
		if (requester->in_flight)
			requester->in_flight--;
	}
	requester_retire(core, qp);
	requester_progress(core, qp);
}

static void read_response(struct rc_core *core, struct rc_qp *qp, const struct wire_packet *packet)
{
	struct rc_send *send = request_of(qp, packet->psn);
	uint64_t offset;

	if (!send || send->opcode != IBV_WR_RDMA_READ) {
		bad_response(core, qp);
		return;
	}
	if (packet->info->aeth &&
		(wire_aeth(packet)->syndrome & (AETH_KIND_MASK | AETH_RESERVED_BIT))) {
		bad_response(core, qp);
		return;
	}
	/* It acknowledges what lies before the READ, and may not skip a part of it. */
	if (!requester_acknowledge(core, qp, send->first_psn) || packet->psn != qp->requester.una) {
		implied_nak(core, qp);
		return;
	}
	if (!read_response_fits(qp, send, packet)) {
		bad_response(core, qp);
		return;
	}
	offset = (uint64_t)send->received * qp->pmtu;
	if (packet->payload_length &&
		mem_scatter(core->mem, qp->pd, window_sge(send), send->sge_count, offset,
			packet->payload, packet->payload_length) != MEM_OK) {
		requester_fail(core, qp, IBV_WC_LOC_PROT_ERR);
		return;
	}
	answered(core, qp, send);
}

static void atomic_ack(struct rc_core *core, struct rc_qp *qp, const struct wire_packet *packet)
{
	struct rc_send *send = request_of(qp, packet->psn);
	uint64_t original = be64_get(&wire_atomic_ack(packet)->original);

	if (!send || !is_read_or_atomic(send->opcode) || send->opcode == IBV_WR_RDMA_READ ||
		(wire_aeth(packet)->syndrome & (AETH_KIND_MASK | AETH_RESERVED_BIT))) {
		bad_response(core, qp);
		return;
	}
	if (!requester_acknowledge(core, qp, send->first_psn)) {
		implied_nak(core, qp);
		return;
	}
	if (mem_scatter(core->mem, qp->pd, window_sge(send), send->sge_count, 0,
		    (const uint8_t *)&original, sizeof(original)) != MEM_OK) {
		requester_fail(core, qp, IBV_WC_LOC_PROT_ERR);
		return;
	}
	answered(core, qp, send);
}

void completer_receive(struct rc_core *core, struct rc_qp *qp, const struct wire_packet *packet)
{
	const struct requester *requester = &qp->requester;
	uint32_t ahead = psn_ahead(packet->psn, requester->una);

	if (qp->state != IBV_QPS_RTS && qp->state != IBV_QPS_SQD) {
		RC_DROP(core, qp, packet, drop_response);
		return;
	}
	if (ahead >= psn_ahead(requester->sent, requester->una)) {
		if (psn_cmp(packet->psn, requester->una) < 0)
			RC_DROP(core, qp, packet, duplicate_response);
		else
			RC_DROP(core, qp, packet, ghost_ack);
		return;
	}
	if (packet->opcode == OPCODE_RC_ACK)
		acknowledge(core, qp, packet);
	else if (packet->opcode == OPCODE_RC_ATOMIC_ACK)
		atomic_ack(core, qp, packet);
	else
		read_response(core, qp, packet);
}
