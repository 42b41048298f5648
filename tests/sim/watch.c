/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets on the wire, for the oracle. */
#include <inttypes.h>

#include "psn.h"
#include "watch.h"

#define AETH_RNR 0x20 /* IBTA 9.7.5.2.1: bits 6 and 5 of the syndrome are 01 */
#define AETH_KIND 0xe0

void watch_time(struct traffic *traffic, struct half *half)
{
	if (half->pair->held_until > traffic->world->now || half != &half->pair->half[1])
		return;
	half->pair->held_until = UINT64_MAX;
	oracle_gate(half->flow, false);
}

/* The half of this end whose peer has this number. */
static struct half *sender_of(struct traffic *traffic, uint32_t end, uint32_t destination)
{
	for (uint32_t i = 0; i < traffic->pairs; i++)
		for (uint32_t j = 0; j < 2; j++) {
			struct half *half = &traffic->pair[i].half[j];

			if (half->end->tap.end == end && half->peer->qp &&
				half->peer->qp->qp_num == destination)
				return half;
		}
	return NULL;
}

static void request_sent(struct traffic *traffic, struct half *half, uint32_t psn)
{
	struct world *world = traffic->world;

	watch_time(traffic, half);
	if (oracle_closed(half->flow))
		oracle_complain(world->oracle, "flow %u: PSN 0x%06x left through a closed gate",
			half->number, psn);
	if (world->clean && psn == half->silent_psn && world->now >= half->silent_from &&
		world->now < half->silent_until)
		oracle_complain(world->oracle,
			"flow %u: PSN 0x%06x was sent again %" PRIu64
			" ns too early after an RNR NAK",
			half->number, psn, half->silent_until - world->now);
	if (psn_cmp(psn, half->newest) <= 0)
		return; /* perhaps it waited for the port */
	half->newest = psn;
	if (half->state == HALF_DRAINING && half->drained == half->drained_due)
		oracle_complain(world->oracle, "flow %u: PSN 0x%06x left a queue that has drained",
			half->number, psn);
}

static bool is_rnr_nak(const struct wire_packet *packet)
{
	return packet->opcode == OPCODE_RC_ACK &&
		(wire_aeth(packet)->syndrome & AETH_KIND) == AETH_RNR;
}

static void sent(void *context, uint32_t end, const struct wire_packet *packet)
{
	struct traffic *traffic = context;
	struct half *half = sender_of(traffic, end, packet->destination_qp);

	if (half && opcode_is(packet->info, IS_REQUEST))
		request_sent(traffic, half, packet->psn);
	/* such a request proves that the peer is up (EP-5) */
	if (half && is_rnr_nak(packet) && packet->psn == half->peer->psn)
		half->pair->proved = true;
}

/* A copy of the NAK that comes during the silence does not prolong it. */
static void rnr_received(struct traffic *traffic, struct half *half, uint32_t psn)
{
	uint64_t now = traffic->world->now;

	if (now < half->silent_until)
		return;
	half->silent_psn = psn;
	half->silent_until = now + half->peer->rnr_ns;
	/* A core that gets its frames through another one hears of it a round later. */
	half->silent_from = half->end->cores > 1 ? now + 1 : now;
}

static void received(void *context, uint32_t end, const struct wire_packet *packet)
{
	struct traffic *traffic = context;
	struct half *half = NULL;

	for (uint32_t i = 0; i < traffic->pairs && !half; i++)
		for (uint32_t j = 0; j < 2; j++) {
			struct half *any = &traffic->pair[i].half[j];

			if (any->end->tap.end == end && any->qp &&
				any->qp->qp_num == packet->destination_qp)
				half = any;
		}
	if (!half || half->state == HALF_GONE)
		return;
	if (is_rnr_nak(packet))
		rnr_received(traffic, half, packet->psn);
	else if (opcode_is(packet->info, IS_REQUEST) && packet->psn == half->peer->psn &&
		half->state == HALF_LIVE)
		oracle_gate(half->flow, false);
}

void watch_open(struct traffic *traffic)
{
	for (uint32_t i = 0; i < traffic->world->ends; i++) {
		struct tap *tap = &traffic->world->end[i].tap;

		tap->context = traffic;
		tap->sent = sent;
		tap->received = received;
	}
}
