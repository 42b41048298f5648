/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A packet arrives for a QP. What has nothing to do with the message is checked here, the cheap
 * before the dear: state, service, P_Key, addresses, ICRC. A packet whose source is not the QP's
 * path is dropped silently and counted, always (EP-16); nothing is learned from it.
 */
#include <string.h>

#include "parts.h"

static bool receives(enum ibv_qp_state state)
{
	return state == IBV_QPS_RTR || state == IBV_QPS_RTS || state == IBV_QPS_SQD;
}

/* Their source is our destination and the other way round. */
static bool path_matches(const struct rc_qp *qp, const struct wire_packet *packet)
{
	const uint8_t *ip = qp->path.header + qp->path.ip_offset;
	bool four = qp->path.ip_version == 4;
	unsigned int length = four ? 4 : 16;
	const uint8_t *own = ip +
		(four ? offsetof(struct ipv4_header, source)
		      : offsetof(struct ipv6_header, source));

	return packet->ip_version == qp->path.ip_version &&
		memcmp(packet->source, own + length, length) == 0 &&
		memcmp(packet->destination, own, length) == 0;
}

/*
 * Addresses and ICRC. A packet that looks as the peer's last one has the peer's addresses. What is
 * kept of it is arithmetic alone: it is of the path that the QP was given, and goes with it.
 */
static bool comes_from_peer(
	struct rc_core *core, struct rc_qp *qp, const struct wire_packet *packet)
{
	bool known = wire_known_is(&qp->known, packet);

	if (!known && !path_matches(qp, packet)) {
		RC_DROP(core, qp, packet, drop_source);
		return false;
	}
	if (!(known ? wire_known_icrc_ok(&qp->known, packet) : wire_icrc_ok(packet))) {
		RC_DROP(core, qp, packet, drop_icrc);
		return false;
	}
	if (!known)
		wire_know(&qp->known, packet);
	return true;
}

void rc_receive(struct rc_core *core, struct rc_qp *qp, const struct wire_packet *packet)
{
	struct rc_counters *counters = &core->counters;

	if (!receives(qp->state)) {
		RC_DROP(core, qp, packet, drop_state);
		return;
	}
	if (packet->info->service != SERVICE_RC && packet->info->service != SERVICE_CNP) {
		RC_DROP(core, qp, packet, drop_service);
		return;
	}
	if (!wire_pkey_ok(packet->pkey, qp->pkey)) {
		RC_DROP(core, qp, packet, drop_pkey);
		return;
	}
	if (!comes_from_peer(core, qp, packet))
		return;
	counters->rcvd_pkts++;
	counters->rcvd_bytes += packet->payload_length;
	if (packet->info->service == SERVICE_CNP)
		counters->cnp_rcvd++;
	else if (opcode_is(packet->info, IS_REQUEST))
		responder_receive(core, qp, packet);
	else
		completer_receive(core, qp, packet);
}
