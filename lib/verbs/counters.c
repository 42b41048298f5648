/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uroce/uroce.h: the engine's counters. The answer of COUNTERS is a row of numbers in a fixed
 * order; the names stand here, since a front may have no engine library beside it to ask.
 */
#include <string.h>

#include <uroce/uroce.h>

#include "front.h"

/* The groups of the answer, in its order: the transport's, the gate's, the gate's histogram,
 * packets dropped by the parser, the engine's own, the port's. A test compares them with the lists
 * of the engine. */
static const char *const transport_names[] = {"sent_pkts", "rcvd_pkts", "duplicate_request",
	"out_of_seq_request", "rcvd_rnr_err", "send_rnr_err", "rcvd_seq_err", "retry_exceeded_err",
	"retry_rnr_exceeded_err", "completer_retry_err", "send_err", "rdma_sends", "rdma_recvs",
	"sent_bytes", "rcvd_bytes", "ack_timeout", "implied_nak_seq_err", "ghost_ack",
	"bad_response", "duplicate_response", "lost_resource", "retransmitted_pkts",
	"rcvd_nak_inv_req", "rcvd_nak_access", "rcvd_nak_op", "sent_nak_seq", "sent_nak_inv_req",
	"sent_nak_access", "sent_nak_op", "cnp_rcvd", "drop_state", "drop_service", "drop_pkey",
	"drop_source", "drop_icrc", "drop_response", "drop_silent"};
static const char *const gate_names[] = {"held", "released", "flushed_held", "vanished_held",
	"promoted_modify", "promoted_packet", "promoted_rtu", "promoted_notify", "promoted_grace",
	"promoted_ack", "promoted_timeout", "late_rtu", "late_notify", "unarmed_first_packet",
	"hold_timeout", "hold_long", "comm_est"};
static const char *const parser_names[] = {"parse_ok", "parse_not_roce", "drop_runt",
	"drop_ip_header", "drop_fragment", "drop_udp_length", "drop_opcode", "drop_length",
	"drop_tver", "drop_pad", "drop_alignment", "drop_unexpected_payload", "drop_parse_icrc"};
static const char *const engine_names[] = {"rx_packets", "tx_packets", "tx_refused",
	"looped_packets", "no_buffer", "drop_no_qp", "handed_over", "handover_full",
	"announcements", "stale_announcements", "commands", "commands_failed", "invalid_sends",
	"invalid_recvs", "cq_overruns", "events", "events_kept", "events_unheard", "mac_changes",
	"link_downed", "refused_full", "refused_strict"};
static const char *const port_names[] = {"port_rx_packets", "port_rx_bytes", "port_rx_dropped",
	"port_tx_packets", "port_tx_bytes", "port_tx_rejected", "port_no_buffer", "port_arp_in",
	"port_arp_out", "port_nd_in", "port_nd_out", "port_echo", "port_unreachable",
	"port_other_dropped", "port_rx_linearised"};

static const struct group {
	const char *const *names; /* NULL: the histogram */
	unsigned int count;
} groups[] = {
	{transport_names, sizeof(transport_names) / sizeof(transport_names[0])},
	{gate_names, sizeof(gate_names) / sizeof(gate_names[0])},
	{NULL, UROCE_HOLD_BUCKETS},
	{parser_names, sizeof(parser_names) / sizeof(parser_names[0])},
	{engine_names, sizeof(engine_names) / sizeof(engine_names[0])},
	{port_names, sizeof(port_names) / sizeof(port_names[0])},
};
#define GROUPS (sizeof(groups) / sizeof(groups[0]))

/* Upper bounds of the histogram; the last bucket is open. */
static const uint64_t bounds_us[UROCE_HOLD_BUCKETS] = {
	1, 10, 50, 100, 500, 1000, 5000, 20000, 100000, 250000, 1000000, UINT64_MAX};

EXPORT unsigned int uroce_counter_count(void)
{
	unsigned int count = 0;

	for (unsigned int g = 0; g < GROUPS; g++)
		count += groups[g].names ? groups[g].count : 0;
	return count;
}

EXPORT const char *uroce_counter_name(unsigned int index)
{
	for (unsigned int g = 0; g < GROUPS; g++) {
		if (!groups[g].names)
			continue;
		if (index < groups[g].count)
			return groups[g].names[index];
		index -= groups[g].count;
	}
	return NULL;
}

static int read_counters(struct ibv_context *context, struct uroce_abi_command *read)
{
	if (!is_ours(context))
		return EOPNOTSUPP;
	read->head.op = UROCE_ABI_COUNTERS;
	return -command(to_context(context), read);
}

EXPORT int uroce_query_counters(struct ibv_context *context, uint64_t *values, unsigned int count)
{
	struct uroce_abi_command read = {0};
	const uint64_t *from = read.u.counters.value;
	unsigned int taken = 0;
	int error;

	if (is_ours(context) && count > uroce_counter_count())
		return EINVAL;
	error = read_counters(context, &read);
	for (unsigned int g = 0; g < GROUPS && !error; from += groups[g++].count)
		for (unsigned int i = 0; groups[g].names && i < groups[g].count; i++)
			if (taken < count)
				values[taken++] = from[i];
	return error;
}

EXPORT int uroce_query_hold_histogram(
	struct ibv_context *context, struct uroce_hold_histogram *histogram)
{
	struct uroce_abi_command read = {0};
	unsigned int before = groups[0].count + groups[1].count;
	int error = read_counters(context, &read);

	if (error)
		return error;
	memcpy(histogram->bound_us, bounds_us, sizeof(bounds_us));
	memcpy(histogram->count, read.u.counters.value + before, sizeof(histogram->count));
	return 0;
}
