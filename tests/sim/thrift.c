/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters that tell of repairs, where there was nothing to repair. */
#include <inttypes.h>
#include <string.h>

#include <uroce/uroce.h>

#include "thrift.h"

/* Retransmissions are not among them: an RNR NAK asks for some. */
static const char *const repairs[] = {"duplicate_request", "rcvd_seq_err", "sent_nak_seq",
	"completer_retry_err", "ack_timeout", "implied_nak_seq_err", "ghost_ack", "bad_response",
	"duplicate_response", "lost_resource", "drop_state", "drop_pkey", "drop_source",
	"drop_icrc", "drop_response", "drop_silent", "drop_no_qp", "invalid_sends", "invalid_recvs",
	"cq_overruns", "events_unheard"};

static bool is_repair(const char *name)
{
	for (unsigned int i = 0; i < sizeof(repairs) / sizeof(repairs[0]); i++)
		if (strcmp(name, repairs[i]) == 0)
			return true;
	return false;
}

static void judge_end(struct world *world, const struct end *end)
{
	unsigned int count = uroce_counter_count();
	uint64_t values[256];

	if (count > 256 || uroce_query_counters(end->context, values, count) != 0) {
		oracle_complain(world->oracle, "end %u: its counters do not tell", end->tap.end);
		return;
	}
	for (unsigned int i = 0; i < count; i++)
		if (values[i] && is_repair(uroce_counter_name(i)))
			oracle_complain(world->oracle, "end %u: %s is %" PRIu64 " on a clean wire",
				end->tap.end, uroce_counter_name(i), values[i]);
}

void thrift_judge(struct traffic *traffic)
{
	struct world *world = traffic->world;

	if (!world->clean)
		return;
	for (uint32_t i = 0; i < traffic->pairs; i++)
		if (traffic->pair[i].broken)
			return;
	for (uint32_t i = 0; i < world->ends; i++)
		judge_end(world, &world->end[i]);
}
