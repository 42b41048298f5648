/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests (IBTA 9.7.4). A request passes these checks in this order; the first that fails decides:
 *
 *   PSN          expected; ahead: one NAK "PSN sequence error", then silence; behind: duplicate.c
 *   sequence     FIRST/ONLY where a message may start, MIDDLE/LAST where one goes on
 *   operation    the QP's access flags allow it (what they forbid is an access error)
 *   length       FIRST and MIDDLE the path MTU, LAST 1 to MTU, ONLY 0 to MTU, all as the RETH says
 *   access       R_Key, range, rights; alignment of atomics
 *   receive      SEND and immediates need a receive request: otherwise RNR NAK
 *
 * A request that has passed opens the gate (EP-5) before anything of it becomes visible.
 */
#include <endian.h>

#include "parts.h"
#include "status.h"

void responder_reset(struct rc_qp *qp, uint32_t psn)
{
	struct responder *responder = &qp->responder;

	responder->epsn = psn;
	responder->ack_psn = psn_add(psn, PSN_MASK);
	responder->message = MESSAGE_NONE;
	responder->has_recv = false;
	responder->ack_pending = false;
	responder->silent = false;
	responder->dead = false;
	responder->nak = 0;
	replay_reset(&responder->replay, responder->replay.depth);
}

void responder_nak(struct rc_core *core, struct rc_qp *qp, uint8_t syndrome, uint32_t psn)
{
	struct responder *responder = &qp->responder;

	responder->nak = syndrome;
	responder->nak_psn = psn;
	responder->silent = true;
	core->ops->activate(core, qp);
}

/* ---- what went wrong ---- */

static void complete_recv(struct rc_core *core, struct rc_qp *qp, struct rc_completion *completion)
{
	struct responder *responder = &qp->responder;

	completion->wr_id = responder->recv.wr_id;
	completion->released = responder->recv.released;
	completion->src_qp = qp->path.destination_qp;
	responder->has_recv = false;
	core->ops->complete_recv(core, qp, completion);
}

/*
 * A fatal error: the NAK leaves behind the answers that are due, then the QP goes to ERR. A receive
 * request in use ends with `status`; without one an event tells (IBTA class C faults).
 */
static void fatal(
	struct rc_core *core, struct rc_qp *qp, uint8_t syndrome, enum ibv_wc_status status)
{
	struct responder *responder = &qp->responder;

	responder->dead = true;
	responder_nak(core, qp, syndrome, responder->epsn);
	if (responder->has_recv) {
		struct rc_completion completion = {.status = status, .opcode = IBV_WC_RECV};

		complete_recv(core, qp, &completion);
	} else if (syndrome == NAK_REMOTE_ACCESS_ERROR) {
		core->ops->event(core, qp, IBV_EVENT_QP_ACCESS_ERR);
	} else if (syndrome == NAK_INVALID_REQUEST) {
		core->ops->event(core, qp, IBV_EVENT_QP_REQ_ERR);
	} else {
		core->ops->event(core, qp, IBV_EVENT_QP_FATAL);
	}
}

static bool invalid_request(struct rc_core *core, struct rc_qp *qp)
{
	fatal(core, qp, NAK_INVALID_REQUEST, IBV_WC_REM_INV_REQ_ERR);
	return false;
}

static bool access_error(struct rc_core *core, struct rc_qp *qp)
{
	fatal(core, qp, NAK_REMOTE_ACCESS_ERROR, IBV_WC_LOC_ACCESS_ERR);
	return false;
}

/* ---- checks ---- */

static bool check_sequence(struct rc_core *core, struct rc_qp *qp, const struct wire_packet *packet)
{
	enum message expected = opcode_is(packet->info, IS_SEND) ? MESSAGE_SEND
		: opcode_is(packet->info, IS_WRITE)		 ? MESSAGE_WRITE
								 : MESSAGE_NONE;
	bool starts = opcode_is(packet->info, IS_FIRST) || opcode_is(packet->info, IS_ONLY);

	if (starts ? qp->responder.message == MESSAGE_NONE : qp->responder.message == expected)
		return true;
	return invalid_request(core, qp);
}

static bool check_operation(
	struct rc_core *core, struct rc_qp *qp, const struct wire_packet *packet)
{
	uint32_t needed = opcode_is(packet->info, IS_WRITE) ? IBV_ACCESS_REMOTE_WRITE
		: opcode_is(packet->info, IS_READ)	    ? IBV_ACCESS_REMOTE_READ
		: opcode_is(packet->info, IS_ATOMIC)	    ? IBV_ACCESS_REMOTE_ATOMIC
							    : 0;

	if ((qp->responder.access & needed) == needed)
		return true;
	return access_error(core, qp);
}

/* The rest of a WRITE's length must agree with where the message ends. */
static bool write_length_ok(const struct rc_qp *qp, const struct wire_packet *packet)
{
	bool ends = opcode_is(packet->info, IS_LAST) || opcode_is(packet->info, IS_ONLY);
	bool starts = opcode_is(packet->info, IS_FIRST) || opcode_is(packet->info, IS_ONLY);
	uint32_t length = starts ? be32_get(&wire_reth(packet)->length) : qp->responder.length;
	uint64_t so_far = (starts ? 0 : qp->responder.offset) + packet->payload_length;

	if (length > RC_MESSAGE_MAX)
		return false;
	return ends ? so_far == length : so_far < length;
}

static bool check_length(struct rc_core *core, struct rc_qp *qp, const struct wire_packet *packet)
{
	if (!wire_length_ok(packet, qp->pmtu))
		return invalid_request(core, qp);
	if (opcode_is(packet->info, IS_WRITE) && !write_length_ok(qp, packet))
		return invalid_request(core, qp);
	if (opcode_is(packet->info, IS_READ) &&
		be32_get(&wire_reth(packet)->length) > RC_MESSAGE_MAX)
		return invalid_request(core, qp);
	return true;
}

/*
 * A receive request for the message, if it doesn't have one yet. For want of one: RNR NAK; the peer
 * is up all the same, so that the gate opens at once (EP-5).
 */
static bool need_recv(struct rc_core *core, struct rc_qp *qp)
{
	struct responder *responder = &qp->responder;
	bool invalid = false;

	if (responder->has_recv)
		return true;
	if (!core->ops->take_recv(core, qp, &responder->recv, &invalid)) {
		hold_first_packet(core, qp);
		responder_nak(core, qp, (uint8_t)(AETH_RNR_NAK | responder->min_rnr_timer),
			responder->epsn);
		core->counters.send_rnr_err++;
		return false;
	}
	responder->has_recv = true;
	if (invalid) {
		fatal(core, qp, NAK_REMOTE_OPERATIONAL_ERROR, IBV_WC_LOC_QP_OP_ERR);
		return false;
	}
	return true;
}

/* ---- operations: true if the packet was executed ---- */

static uint32_t network_order(uint32_t value)
{
	return htobe32(value);
}

static void complete_message(struct rc_core *core, struct rc_qp *qp,
	const struct wire_packet *packet, enum ibv_wc_opcode opcode, uint32_t length)
{
	struct rc_completion completion = {
		.status = IBV_WC_SUCCESS,
		.opcode = opcode,
		.byte_len = length,
		.solicited = packet->solicited,
	};

	if (opcode_is(packet->info, HAS_IMMDT)) {
		completion.flags = IBV_WC_WITH_IMM;
		completion.imm_or_rkey = network_order(wire_immediate(packet));
	} else if (opcode_is(packet->info, HAS_IETH)) {
		completion.flags = IBV_WC_WITH_INV;
		completion.imm_or_rkey = wire_invalidate_rkey(packet);
	}
	core->counters.rdma_recvs++;
	complete_recv(core, qp, &completion);
}

static bool execute_send(struct rc_core *core, struct rc_qp *qp, const struct wire_packet *packet)
{
	struct responder *responder = &qp->responder;
	bool ends = opcode_is(packet->info, IS_LAST) || opcode_is(packet->info, IS_ONLY);
	uint64_t offset = responder->message == MESSAGE_SEND ? responder->offset : 0;
	const struct rc_recv *recv = &responder->recv;

	if (!need_recv(core, qp))
		return false;
	if (offset + packet->payload_length > recv->length) {
		fatal(core, qp, NAK_INVALID_REQUEST, IBV_WC_LOC_LEN_ERR);
		return false;
	}
	if (packet->payload_length &&
		mem_scatter(core->mem, qp->recv_pd, recv->sge, recv->sge_count, offset,
			packet->payload, packet->payload_length) != MEM_OK) {
		fatal(core, qp, NAK_REMOTE_OPERATIONAL_ERROR, IBV_WC_LOC_PROT_ERR);
		return false;
	}
	/* A window that cannot be invalidated is the peer's fault: its R_Key is wrong. */
	if (opcode_is(packet->info, HAS_IETH) &&
		mem_invalidate(core->mem, wire_invalidate_rkey(packet), qp->pd, qp->qp_num) !=
			MEM_OK)
		return access_error(core, qp);
	hold_first_packet(core, qp);
	responder->offset = offset + packet->payload_length;
	responder->message = ends ? MESSAGE_NONE : MESSAGE_SEND;
	if (ends) {
		responder->msn = psn_add(responder->msn, 1);
		complete_message(core, qp, packet, IBV_WC_RECV, (uint32_t)responder->offset);
	}
	return true;
}

static void start_write(struct responder *responder, const struct reth *reth)
{
	responder->address = be64_get(&reth->address);
	responder->rkey = be32_get(&reth->rkey);
	responder->length = be32_get(&reth->length);
	responder->offset = 0;
}

/*
 * At a message's start the whole range is checked, if it is more than this packet's; later only
 * that the key still stands.
 */
static enum mem_status write_target(struct rc_core *core, struct rc_qp *qp,
	const struct wire_packet *packet, bool starts, uint8_t **host)
{
	struct responder *responder = &qp->responder;
	enum mem_status status;

	if (starts && responder->length != packet->payload_length) {
		status = mem_remote(core->mem, qp->pd, qp->qp_num, responder->rkey,
			responder->address, responder->length, IBV_ACCESS_REMOTE_WRITE, host);
		if (status != MEM_OK)
			return status;
	}
	return mem_remote(core->mem, qp->pd, qp->qp_num, responder->rkey,
		responder->address + responder->offset, packet->payload_length,
		IBV_ACCESS_REMOTE_WRITE, host);
}

static bool execute_write(struct rc_core *core, struct rc_qp *qp, const struct wire_packet *packet)
{
	struct responder *responder = &qp->responder;
	bool starts = opcode_is(packet->info, HAS_RETH);
	bool ends = opcode_is(packet->info, IS_LAST) || opcode_is(packet->info, IS_ONLY);
	bool immediate = opcode_is(packet->info, HAS_IMMDT);
	uint8_t *host;

	if (starts)
		start_write(responder, wire_reth(packet));
	if (write_target(core, qp, packet, starts, &host) != MEM_OK)
		return access_error(core, qp);
	if (immediate && !need_recv(core, qp))
		return false;
	hold_first_packet(core, qp);
	if (packet->payload_length)
		mem_place(host, packet->payload, packet->payload_length);
	responder->offset += packet->payload_length;
	responder->message = ends ? MESSAGE_NONE : MESSAGE_WRITE;
	if (ends)
		responder->msn = psn_add(responder->msn, 1);
	if (immediate)
		complete_message(core, qp, packet, IBV_WC_RECV_RDMA_WITH_IMM, responder->length);
	return true;
}

static bool execute_read(struct rc_core *core, struct rc_qp *qp, const struct wire_packet *packet)
{
	struct responder *responder = &qp->responder;
	const struct reth *reth = wire_reth(packet);
	uint32_t length = be32_get(&reth->length);
	struct replay_entry *entry;
	uint8_t *host;

	if (mem_remote(core->mem, qp->pd, qp->qp_num, be32_get(&reth->rkey),
		    be64_get(&reth->address), length, IBV_ACCESS_REMOTE_READ, &host) != MEM_OK)
		return access_error(core, qp);
	entry = replay_add(&responder->replay);
	if (!entry)
		return invalid_request(core, qp);
	hold_first_packet(core, qp);
	responder->msn = psn_add(responder->msn, 1);
	entry->psn = packet->psn;
	entry->packets = packets_of(length, qp->pmtu);
	entry->msn = responder->msn;
	entry->rkey = be32_get(&reth->rkey);
	entry->address = be64_get(&reth->address);
	entry->length = length;
	replay_answer(&responder->replay, entry, 0, entry->packets);
	return true;
}

static bool execute_atomic(struct rc_core *core, struct rc_qp *qp, const struct wire_packet *packet)
{
	struct responder *responder = &qp->responder;
	const struct atomic_eth *atomic = wire_atomic(packet);
	uint64_t operand = be64_get(&atomic->swap_or_add);
	enum mem_status status;
	struct replay_entry *entry;
	uint8_t *host;

	status = mem_remote(core->mem, qp->pd, qp->qp_num, be32_get(&atomic->rkey),
		be64_get(&atomic->address), sizeof(uint64_t), IBV_ACCESS_REMOTE_ATOMIC, &host);
	if (status == MEM_BAD_ALIGNMENT)
		return invalid_request(core, qp);
	if (status != MEM_OK)
		return access_error(core, qp);
	entry = replay_add(&responder->replay);
	if (!entry)
		return invalid_request(core, qp);
	hold_first_packet(core, qp);
	responder->msn = psn_add(responder->msn, 1);
	entry->psn = packet->psn;
	entry->packets = 1;
	entry->atomic = true;
	entry->msn = responder->msn;
	entry->original = packet->opcode == OPCODE_RC_CAS
		? mem_compare_swap(host, be64_get(&atomic->compare), operand)
		: mem_fetch_add(host, operand);
	replay_answer(&responder->replay, entry, 0, 1);
	return true;
}

static bool execute(struct rc_core *core, struct rc_qp *qp, const struct wire_packet *packet)
{
	if (opcode_is(packet->info, IS_SEND))
		return execute_send(core, qp, packet);
	if (opcode_is(packet->info, IS_WRITE))
		return execute_write(core, qp, packet);
	if (opcode_is(packet->info, IS_READ))
		return execute_read(core, qp, packet);
	return execute_atomic(core, qp, packet);
}

/* How many PSNs the request takes. */
static uint32_t psns_of(const struct rc_qp *qp, const struct wire_packet *packet)
{
	return opcode_is(packet->info, IS_READ)
		? packets_of(be32_get(&wire_reth(packet)->length), qp->pmtu)
		: 1;
}

/*
 * The expected packet has come. A NAK that has not left yet may be out of date: it was for want of
 * a receive, or the whole row came again and nothing is missing any more.
 */
static void revise_nak(struct responder *responder)
{
	if ((responder->nak & AETH_KIND_MASK) == AETH_RNR_NAK ||
		psn_cmp(responder->epsn, responder->gap_end) > 0)
		responder->nak = 0;
	responder->silent = responder->nak != 0;
}

/* READs and atomics are acknowledged by their answers alone (IBTA 9.7.5.1.2). */
static void executed(struct rc_core *core, struct rc_qp *qp, const struct wire_packet *packet)
{
	struct responder *responder = &qp->responder;

	responder->epsn = psn_add(responder->epsn, psns_of(qp, packet));
	revise_nak(responder);
	if (!opcode_is(packet->info, IS_READ) && !opcode_is(packet->info, IS_ATOMIC)) {
		responder->ack_psn = packet->psn;
		responder->ack_pending |= packet->ack_request;
	}
	if (respond_pending(qp))
		core->ops->activate(core, qp);
}

/* One NAK for a gap, then silence until the expected packet comes (9.7.5.2.8). */
static void behind_a_gap(struct rc_core *core, struct rc_qp *qp, const struct wire_packet *packet)
{
	struct responder *responder = &qp->responder;

	core->counters.out_of_seq_request++;
	if (!responder->silent || psn_cmp(packet->psn, responder->gap_end) > 0)
		responder->gap_end = packet->psn;
	if (responder->silent)
		return;
	core->counters.sent_nak_seq++;
	responder_nak(core, qp, NAK_PSN_SEQUENCE_ERROR, responder->epsn);
}

void responder_receive(struct rc_core *core, struct rc_qp *qp, const struct wire_packet *packet)
{
	struct responder *responder = &qp->responder;
	int32_t distance = psn_cmp(packet->psn, responder->epsn);

	if (responder->dead) {
		RC_DROP(core, qp, packet, drop_silent);
		return;
	}
	if (distance > 0) {
		behind_a_gap(core, qp, packet);
		return;
	}
	if (distance < 0) {
		duplicate_receive(core, qp, packet);
		return;
	}
	if (!check_sequence(core, qp, packet) || !check_operation(core, qp, packet) ||
		!check_length(core, qp, packet) || !execute(core, qp, packet))
		return;
	executed(core, qp, packet);
}
