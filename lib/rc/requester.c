/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sending side: takes requests, gives out PSNs, makes packets, and goes back when told to.
 *
 * AckReq is set on the last packet of each message and every RC_ACK_EVERY packets within one, and
 * so at the edge of the window: an acknowledgement is always due while something is outstanding.
 */
#include <string.h>

#include "parts.h"
#include "requester.h"
#include "tx.h"

bool requester_outstanding(const struct rc_qp *qp)
{
	return qp->requester.una != qp->requester.sent;
}

/* ---- taking ---- */

static uint32_t count_packets(const struct rc_qp *qp, const struct rc_send *send)
{
	if (is_local(send->opcode))
		return 0;
	if (send->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		send->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		return 1;
	return packets_of(send->length, qp->pmtu);
}

/* The request at the cursor, taken from the queue if need be; NULL: there is none that may go. */
static struct rc_send *request_at_cursor(struct rc_core *core, struct rc_qp *qp)
{
	struct requester *requester = &qp->requester;
	bool taken = requester->cursor != requester->tail;
	struct rc_send *send = window_slot(qp, requester->cursor);

	/* SQD: what has been started goes on, nothing new does, whatever becomes of it */
	if (qp->state == IBV_QPS_SQD)
		return taken && send->started ? send : NULL;
	if (taken)
		return send;
	if (requester->tail - requester->head == requester->depth)
		return NULL;
	if (!core->ops->take_send(core, qp, window_clear(send), window_tail(send)))
		return NULL;
	requester->tail++;
	return send;
}

/* ---- may the request at the cursor go now? ---- */

enum go { GO, WAIT, FAILED };

/* What holds back a request that has not been started (fence: IBTA 10.8.3.3). */
static enum go may_start(const struct rc_qp *qp, struct rc_send *send)
{
	const struct requester *requester = &qp->requester;

	if ((send->flags & IBV_SEND_FENCE) && requester->reads)
		return WAIT;
	/* A local invalidate waits for everything before it: an earlier request may use the key. */
	if (send->opcode == IBV_WR_LOCAL_INV)
		return requester->head == requester->cursor ? GO : WAIT;
	if (send->opcode == IBV_WR_BIND_MW)
		return GO;
	if (is_read_or_atomic(send->opcode)) {
		/* With an initiator depth of 0 it could never go: when it is the oldest, say so
		 * instead of waiting. */
		if (requester->max_rd_atomic == 0 && requester->head == requester->cursor) {
			send->status = IBV_WC_LOC_QP_OP_ERR;
			return FAILED;
		}
		if (requester->reads >= requester->max_rd_atomic)
			return WAIT;
	}
	if (requester_outstanding(qp) &&
		psn_ahead(requester->next_psn, requester->una) + send->packets > RC_PSN_SPAN)
		return WAIT;
	return GO;
}

static void start(struct rc_qp *qp, struct rc_send *send)
{
	struct requester *requester = &qp->requester;

	send->first_psn = requester->next_psn;
	send->started = true;
	requester->next_psn = psn_add(requester->next_psn, send->packets);
	if (is_read_or_atomic(send->opcode))
		requester->reads++;
}

/* ---- local operations ---- */

static enum ibv_wc_status run_local(struct rc_core *core, struct rc_qp *qp, struct rc_send *send)
{
	enum mem_status status;
	uint32_t rkey;

	if (send->opcode == IBV_WR_LOCAL_INV) {
		status = mem_invalidate(core->mem, send->imm_or_rkey, qp->pd, qp->qp_num);
	} else {
		send->bind.pd = qp->pd;
		send->bind.qp_num = qp->qp_num;
		status = mem_window_bind(core->mem, &send->bind, send->bind_type1 ? 1 : 2, &rkey);
	}
	return status == MEM_OK ? IBV_WC_SUCCESS : IBV_WC_MW_BIND_ERR;
}

/* ---- packets ---- */

enum place { PLACE_FIRST, PLACE_MIDDLE, PLACE_LAST, PLACE_ONLY };

static enum place place_of(uint32_t packet, uint32_t packets)
{
	if (packets == 1)
		return PLACE_ONLY;
	if (packet == 0)
		return PLACE_FIRST;
	return packet + 1 == packets ? PLACE_LAST : PLACE_MIDDLE;
}

/* By enum place. */
#define OF_SEND(kind)                                                                              \
	{                                                                                          \
		OPCODE_RC_SEND_FIRST, OPCODE_RC_SEND_MIDDLE, OPCODE_RC_SEND_LAST##kind,            \
			OPCODE_RC_SEND_ONLY##kind                                                  \
	}
#define OF_WRITE(kind)                                                                             \
	{                                                                                          \
		OPCODE_RC_WRITE_FIRST, OPCODE_RC_WRITE_MIDDLE, OPCODE_RC_WRITE_LAST##kind,         \
			OPCODE_RC_WRITE_ONLY##kind                                                 \
	}

static uint8_t opcode_of(enum ibv_wr_opcode opcode, enum place place)
{
	static const uint8_t opcodes[][4] = {
		[IBV_WR_SEND] = OF_SEND(),
		[IBV_WR_SEND_WITH_IMM] = OF_SEND(_IMM),
		[IBV_WR_SEND_WITH_INV] = OF_SEND(_INV),
		[IBV_WR_RDMA_WRITE] = OF_WRITE(),
		[IBV_WR_RDMA_WRITE_WITH_IMM] = OF_WRITE(_IMM),
	};

	return opcodes[opcode][place];
}

static bool has_immediate(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/* SE: in the last packet of what ends with a receive completion at the peer (IBTA 9.2.3). */
static bool solicits(const struct rc_send *send, bool ends)
{
	return ends && (send->flags & IBV_SEND_SOLICITED) && send->opcode != IBV_WR_RDMA_WRITE;
}

static uint8_t *put_reth(uint8_t *at, uint64_t address, uint32_t rkey, uint32_t length)
{
	be128_put((struct be128 *)at, address, (uint64_t)rkey << 32 | length);
	return at + sizeof(struct reth);
}

/* Extension headers of a SEND or WRITE packet. */
static uint8_t *put_extensions(uint8_t *at, const struct rc_send *send, enum place place)
{
	bool write =
		send->opcode == IBV_WR_RDMA_WRITE || send->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;

	if (write && (place == PLACE_FIRST || place == PLACE_ONLY))
		at = put_reth(at, send->remote_address, send->remote_rkey, send->length);
	if (place != PLACE_LAST && place != PLACE_ONLY)
		return at;
	if (has_immediate(send->opcode)) {
		/* verbs hands over the immediate in network order already */
		memcpy(at, &send->imm_or_rkey, sizeof(send->imm_or_rkey));
		at += sizeof(struct immdt);
	} else if (send->opcode == IBV_WR_SEND_WITH_INV) {
		be32_put((struct be32 *)at, send->imm_or_rkey);
		at += sizeof(struct ieth);
	}
	return at;
}

static enum ibv_wc_status put_payload(struct rc_core *core, struct rc_qp *qp, struct rc_send *send,
	uint64_t offset, uint8_t *at, uint32_t length)
{
	if (length == 0)
		return IBV_WC_SUCCESS;
	if (send->flags & IBV_SEND_INLINE) {
		memcpy(at, (uint8_t *)window_tail(send) + offset, length);
		return IBV_WC_SUCCESS;
	}
	return mem_gather(core->mem, qp->pd, window_sge(send), send->sge_count, offset, at,
		       length) == MEM_OK
		? IBV_WC_SUCCESS
		: IBV_WC_LOC_PROT_ERR;
}

_Static_assert(RC_WINDOW % RC_ACK_EVERY == 0, "the last packet of the window asks for an ACK");

static bool wants_ack(
	const struct requester *requester, const struct rc_send *send, uint32_t packet)
{
	return packet + 1 == send->packets ||
		requester->in_flight % RC_ACK_EVERY == RC_ACK_EVERY - 1;
}

static void make_data(struct rc_core *core, struct rc_qp *qp, struct rc_send *send)
{
	uint32_t packet = qp->requester.cursor_packet;
	uint64_t offset = (uint64_t)packet * qp->pmtu;
	uint32_t rest = (uint32_t)(send->length - offset);
	enum place place = place_of(packet, send->packets);
	bool ends = place == PLACE_LAST || place == PLACE_ONLY;
	struct wire_bth bth = {
		.opcode = opcode_of(send->opcode, place),
		.solicited = solicits(send, ends),
		.ack_request = wants_ack(&qp->requester, send, packet),
		.psn = psn_add(send->first_psn, packet),
		.payload_length = rest < qp->pmtu ? rest : qp->pmtu,
	};
	uint8_t *frame = tx_frame(core);
	uint8_t *at = put_extensions(wire_start(frame, &qp->path, &bth), send, place);

	send->status = put_payload(core, qp, send, offset, at, bth.payload_length);
	if (send->status != IBV_WC_SUCCESS)
		return;
	tx_commit(core, wire_finish(frame, &qp->path, &bth));
	core->counters.sent_bytes += bth.payload_length;
}

/* A READ asks for what has not been received yet. */
static void make_read(struct rc_core *core, struct rc_qp *qp, const struct rc_send *send)
{
	uint64_t offset = (uint64_t)send->received * qp->pmtu;
	struct wire_bth bth = {
		.opcode = OPCODE_RC_READ_REQUEST,
		.ack_request = true,
		.psn = psn_add(send->first_psn, send->received),
	};
	uint8_t *frame = tx_frame(core);

	put_reth(wire_start(frame, &qp->path, &bth), send->remote_address + offset,
		send->remote_rkey, (uint32_t)(send->length - offset));
	tx_commit(core, wire_finish(frame, &qp->path, &bth));
}

static void make_atomic(struct rc_core *core, struct rc_qp *qp, const struct rc_send *send)
{
	bool cas = send->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
	struct wire_bth bth = {
		.opcode = cas ? OPCODE_RC_CAS : OPCODE_RC_FAA,
		.ack_request = true,
		.psn = send->first_psn,
	};
	uint8_t *frame = tx_frame(core);
	struct atomic_eth *atomic = (struct atomic_eth *)wire_start(frame, &qp->path, &bth);

	be64_put(&atomic->address, send->remote_address);
	be32_put(&atomic->rkey, send->remote_rkey);
	be64_put(&atomic->swap_or_add, cas ? send->swap : send->compare_add);
	be64_put(&atomic->compare, cas ? send->compare_add : 0);
	tx_commit(core, wire_finish(frame, &qp->path, &bth));
}

/* One packet of the request at the cursor; the cursor moves on. */
static void make_packet(struct rc_core *core, struct rc_qp *qp, struct rc_send *send)
{
	struct requester *requester = &qp->requester;
	bool single = is_read_or_atomic(send->opcode);
	uint32_t psn = psn_add(send->first_psn, single ? send->received : requester->cursor_packet);
	bool again = psn_ahead(psn, requester->una) < psn_ahead(requester->sent, requester->una);
	uint32_t end;

	if (send->opcode == IBV_WR_RDMA_READ) {
		send->resumed = again;
		make_read(core, qp, send);
	} else if (single) {
		make_atomic(core, qp, send);
	} else {
		make_data(core, qp, send);
	}
	if (send->status != IBV_WC_SUCCESS)
		return;
	core->counters.sent_pkts++;
	core->counters.retransmitted_pkts += again;
	requester->in_flight++;
	requester->cursor_packet++;
	end = psn_add(send->first_psn, single ? send->packets : requester->cursor_packet);
	if (!again)
		requester->sent = end;
	if (single || requester->cursor_packet == send->packets) {
		requester->cursor++;
		requester->cursor_packet = 0;
	}
}

/* One step of the cursor: a packet or a local operation. */
static enum go step(struct rc_core *core, struct rc_qp *qp, struct rc_send *send)
{
	struct requester *requester = &qp->requester;

	if (requester->in_flight >= RC_WINDOW && !is_local(send->opcode))
		return WAIT;
	if (!send->started) {
		enum go go;

		send->packets = count_packets(qp, send);
		go = may_start(qp, send);
		if (go != GO)
			return go;
		start(qp, send);
	}
	if (is_local(send->opcode)) {
		if (!send->done)
			send->status = run_local(core, qp, send);
		if (send->status != IBV_WC_SUCCESS)
			return FAILED;
		send->done = true;
		requester->cursor++;
		requester_retire(core, qp);
		return GO;
	}
	make_packet(core, qp, send);
	return send->status == IBV_WC_SUCCESS ? GO : FAILED;
}

/* The cursor walks as far as budget, buffers and the requests themselves let it. */
static bool walk(struct rc_core *core, struct rc_qp *qp, unsigned int *budget)
{
	struct requester *requester = &qp->requester;

	for (; *budget && tx_possible(core); (*budget)--) {
		struct rc_send *send = request_at_cursor(core, qp);
		enum go go;

		if (!send)
			return false;
		go = send->status == IBV_WC_SUCCESS ? step(core, qp, send) : FAILED;
		if (go == FAILED && requester->head == requester->cursor) {
			requester_fail(core, qp, send->status);
			return true; /* to flush */
		}
		if (go != GO)
			return false; /* an acknowledgement, or what fails before it, goes on */
	}
	return true;
}

/* The ack timer starts with a packet: time without a free buffer isn't the peer's. */
bool requester_transmit(struct rc_core *core, struct rc_qp *qp, unsigned int *budget)
{
	unsigned int before = *budget;
	bool more;

	if (qp->state != IBV_QPS_RTS && qp->state != IBV_QPS_SQD)
		return false;
	if (qp->requester.rnr_until)
		return false; /* timers.c ends the silence */
	more = walk(core, qp, budget);
	if (*budget != before && qp->state != IBV_QPS_ERR)
		requester_start_timer(core, qp);
	return more;
}
