/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Latency, message rate, bandwidth: what this machine shows at this moment, both sides on shared
 * cores and a kernel port. Figures, not checks; docs/performance.md has the method.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <uroce/uroce.h>

#include "demo.h"

#define PINGS 2000u
#define RATE_SECONDS 1.0
#define BATCH 256u

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

/* 8 bytes there and back; every receive posts the next. */
static void latency(struct link *link)
{
	struct side *side = link->side;
	double *times = calloc(PINGS, sizeof(*times));
	struct ibv_wc wc;

	if (!times)
		die("no memory");
	for (uint32_t i = 0; i < PINGS; i++)
		if (i < DEMO_DEPTH - 1 && post_recv(link, i, 64, 8) != 0)
			die("ibv_post_recv failed");
	meet(side);
	for (uint32_t i = 0; i < PINGS; i++) {
		double start = seconds_now();

		if (side->active && post_send(link, IBV_WR_SEND, i, 0, 8, 0, i % 64 == 63) != 0)
			die("ibv_post_send failed");
		do
			must_complete(link, &wc);
		while (wc.opcode != IBV_WC_RECV);
		if (post_recv(link, i, 64, 8) != 0)
			die("ibv_post_recv failed");
		if (!side->active && post_send(link, IBV_WR_SEND, i, 0, 8, 0, i % 64 == 63) != 0)
			die("ibv_post_send failed");
		times[i] = (seconds_now() - start) / 2 * 1e6;
	}
	qsort(times, PINGS, sizeof(*times), compare);
	if (side->active)
		say(side, "latency of an 8-byte SEND, one way: %.1f us (median of %u)",
			times[PINGS / 2], PINGS);
	free(times);
	meet(side);
}

static uint64_t stream(struct link *link, uint32_t length, uint32_t batch, double seconds)
{
	double end = seconds_now() + seconds;
	uint64_t messages = 0;
	struct ibv_wc wc;

	do {
		for (uint32_t i = 0; i < batch; i++)
			if (post_send(link, IBV_WR_RDMA_WRITE, i, 0, length, 0, i + 1 == batch) !=
				0)
				die("ibv_post_send failed");
		must_complete(link, &wc);
		messages += batch;
	} while (seconds_now() < end);
	return messages;
}

static void rates(struct link *link)
{
	struct side *side = link->side;
	double start = seconds_now();
	uint64_t messages = stream(link, 8, BATCH, RATE_SECONDS);

	say(side, "8-byte WRITEs: %.2f million a second",
		(double)messages / (seconds_now() - start) / 1e6);
	start = seconds_now();
	messages = stream(link, DEMO_CHUNK, 16, RATE_SECONDS);
	say(side, "1 MiB WRITEs: %.1f Gbit/s",
		(double)messages * DEMO_CHUNK * 8 / (seconds_now() - start) / 1e9);
}

/* What the wire and the transport did in all of the demo; names as in `rdma statistic`. */
static void print_counters(struct side *side)
{
	static const char *const names[] = {"sent_pkts", "rcvd_pkts", "retransmitted_pkts",
		"ack_timeout", "rcvd_seq_err", "duplicate_request"};
	unsigned int count = uroce_counter_count();
	uint64_t *values = calloc(count, sizeof(*values));

	if (!values || uroce_query_counters(side->context, values, count) != 0)
		die("uroce_query_counters failed");
	for (unsigned int i = 0; i < count; i++)
		for (unsigned int j = 0; j < sizeof(names) / sizeof(names[0]); j++)
			if (strcmp(uroce_counter_name(i), names[j]) == 0)
				say(side, "counter %s: %" PRIu64, names[j], values[i]);
	free(values);
}

void show_speed(struct side *side)
{
	struct link link;

	say(side, "Figures of this moment, over a kernel port and shared cores");
	link_open(&link, side, REACH_RTS);
	latency(&link);
	if (side->active)
		rates(&link);
	link_close(&link);
	print_counters(side);
}
