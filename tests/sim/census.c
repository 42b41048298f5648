/* SPDX-License-Identifier: BSD-3-Clause */
/* The engines' counters. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <uroce/uroce.h>

#include "census.h"

/* Retransmissions are not among them: an RNR NAK asks for some. */
static const char *const repairs[] = {"duplicate_request", "rcvd_seq_err", "sent_nak_seq",
	"completer_retry_err", "ack_timeout", "implied_nak_seq_err", "ghost_ack", "bad_response",
	"duplicate_response", "lost_resource", "drop_state", "drop_pkey", "drop_source",
	"drop_icrc", "drop_response", "drop_silent", "drop_no_qp", "invalid_sends", "invalid_recvs",
	"cq_overruns", "events_unheard", NULL};

static const char *const wanted[] = {"duplicate_request", "out_of_seq_request", "rcvd_rnr_err",
	"send_rnr_err", "rcvd_seq_err", "retry_exceeded_err", "completer_retry_err", "ack_timeout",
	"implied_nak_seq_err", "duplicate_response", "retransmitted_pkts", "rcvd_nak_inv_req",
	"rcvd_nak_access", "sent_nak_seq", "sent_nak_inv_req", "sent_nak_access", "drop_state",
	"drop_pkey", "drop_source", "drop_icrc", "held", "released", "flushed_held",
	"vanished_held", "promoted_modify", "promoted_packet", "promoted_notify",
	"promoted_timeout", "late_notify", "comm_est", "tx_refused", "looped_packets", "no_buffer",
	"drop_no_qp", "events", NULL};

static bool is_among(const char *const *names, const char *name)
{
	for (; *names; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

static bool is_peaceful(const struct traffic *traffic)
{
	for (uint32_t i = 0; i < traffic->pairs; i++)
		if (traffic->pair[i].broken)
			return false;
	return traffic->world->clean;
}

static void take_end(struct census *census, struct world *world, struct end *end, bool peaceful)
{
	unsigned int count = uroce_counter_count();
	uint64_t values[CENSUS_COUNTERS];

	if (count > CENSUS_COUNTERS || uroce_query_counters(end->context, values, count) != 0) {
		oracle_complain(world->oracle, "end %u: its counters do not tell", end->tap.end);
		return;
	}
	for (unsigned int i = 0; i < count; i++) {
		census->values[i] += values[i];
		if (peaceful && values[i] && is_among(repairs, uroce_counter_name(i)))
			oracle_complain(world->oracle, "end %u: %s is %" PRIu64 " on a clean wire",
				end->tap.end, uroce_counter_name(i), values[i]);
	}
}

void census_take(struct census *census, struct traffic *traffic)
{
	struct world *world = traffic->world;
	bool peaceful = is_peaceful(traffic);

	for (uint32_t i = 0; i < world->ends; i++)
		take_end(census, world, &world->end[i], peaceful);
}

unsigned int census_missing(const struct census *census)
{
	unsigned int missing = 0;

	for (unsigned int i = 0; i < uroce_counter_count(); i++)
		if (!census->values[i] && is_among(wanted, uroce_counter_name(i))) {
			printf("in no world: %s\n", uroce_counter_name(i));
			missing++;
		}
	return missing;
}
