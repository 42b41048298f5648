/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Duplicate requests (IBTA 9.7.4.4): a SEND or WRITE is acknowledged again and does
 * nothing; a READ is read again, from the range that was granted then; an atomic is answered with
 * the kept result and never runs twice. What is not kept any more is dropped silently. A duplicate
 * proves nothing about the peer (EP-5).
 */
#include "parts.h"

static void drop(struct rc_core *core, const struct rc_qp *qp, const struct wire_packet *packet)
{
	RC_DROP(core, qp, packet, lost_resource);
}

/*
 * A repeated READ asks for a part of the first one, such that every packet of its answer is one of
 * the first answer, with the same PSN (IBTA 9.7.2.1): the rest of it, or a number of whole packets.
 */
static bool is_part(
	const struct replay_entry *entry, uint64_t offset, uint32_t length, uint32_t pmtu)
{
	uint64_t rest = entry->length - offset; /* the PSN lies within the first answer */

	return length == rest || (length < rest && length > 0 && length % pmtu == 0);
}

/* 64-bit sums cannot wrap here: the first request's range was checked. */
static void repeat_read(struct rc_core *core, struct rc_qp *qp, const struct wire_packet *packet,
	struct replay_entry *entry)
{
	const struct reth *reth = wire_reth(packet);
	uint32_t start = psn_ahead(packet->psn, entry->psn);
	uint64_t offset = (uint64_t)start * qp->pmtu;
	uint32_t length = be32_get(&reth->length);

	if (entry->atomic || be32_get(&reth->rkey) != entry->rkey ||
		be64_get(&reth->address) != entry->address + offset ||
		!is_part(entry, offset, length, qp->pmtu)) {
		drop(core, qp, packet);
		return;
	}
	replay_answer(&qp->responder.replay, entry, start, start + packets_of(length, qp->pmtu));
	core->ops->activate(core, qp);
}

static void repeat_atomic(struct rc_core *core, struct rc_qp *qp, const struct wire_packet *packet,
	struct replay_entry *entry)
{
	if (!entry->atomic) {
		drop(core, qp, packet);
		return;
	}
	replay_answer(&qp->responder.replay, entry, 0, 1);
	core->ops->activate(core, qp);
}

void duplicate_receive(struct rc_core *core, struct rc_qp *qp, const struct wire_packet *packet)
{
	struct replay_entry *entry;

	core->counters.duplicate_request++;
	if (!opcode_is(packet->info, IS_READ) && !opcode_is(packet->info, IS_ATOMIC)) {
		qp->responder.ack_pending = true;
		core->ops->activate(core, qp);
		return;
	}
	entry = replay_find(&qp->responder.replay, packet->psn);
	if (!entry)
		drop(core, qp, packet);
	else if (opcode_is(packet->info, IS_READ))
		repeat_read(core, qp, packet, entry);
	else
		repeat_atomic(core, qp, packet, entry);
}
