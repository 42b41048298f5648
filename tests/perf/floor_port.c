/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The raw port. Rate: one side sends as fast as the port takes it and writes a header of 60 bytes
 * into each frame, the other reads the first 8 bytes of each and frees it. Ping-pong: a frame there
 * and the same frame back.
 */
#include <string.h>

#include <rte_ethdev.h>

#include "floor.h"

#define MBUFS 16383u
#define DESCRIPTORS 1024u
#define HEADER 60u
#define SMALL_FRAME 64u
#define AROUND_PAYLOAD 58u /* Ethernet, IPv4, UDP, BTH, ICRC */
#define REPLY_SECONDS 0.05 /* then the frame counts as lost: kernel ports drop some */
#define NUMBER_AT 48u	   /* where a ping carries its number */

static uint32_t frame_of(const struct test *test)
{
	return test->length ? test->length + AROUND_PAYLOAD : SMALL_FRAME;
}

static void fill(struct rte_mbuf *mbuf, uint32_t frame)
{
	static const uint8_t ethernet[14] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00};
	uint8_t *data = rte_pktmbuf_mtod(mbuf, uint8_t *);

	mbuf->data_len = (uint16_t)frame;
	mbuf->pkt_len = frame;
	memcpy(data, ethernet, sizeof(ethernet));
	memset(data + sizeof(ethernet), 0, HEADER - sizeof(ethernet));
	data[14] = 0x45; /* IPv4, five words */
	data[23] = 17;	 /* UDP */
}

/* Some drivers take sent mbufs back only when they are called. */
static void reclaim(const struct raw *raw)
{
	struct rte_mbuf *none = NULL;

	rte_eth_tx_burst(raw->port, 0, &none, 0);
	rte_eth_tx_done_cleanup(raw->port, 0, 0);
	rte_pause();
}

/* ---- rate ---- */

static void push(const struct raw *raw, struct rte_mbuf **mbufs, uint64_t end)
{
	uint16_t sent = rte_eth_tx_burst(raw->port, 0, mbufs, BURST);

	while (sent < BURST) {
		uint16_t n;

		for (int i = 0; i < 8; i++)
			rte_pause();
		n = rte_eth_tx_burst(raw->port, 0, mbufs + sent, (uint16_t)(BURST - sent));
		sent = (uint16_t)(sent + n);
		if (n == 0 && rte_rdtsc() > end)
			break;
	}
	rte_pktmbuf_free_bulk(mbufs + sent, BURST - sent);
}

static void send_all(const struct raw *raw, struct side *side)
{
	uint64_t end = rte_rdtsc() + (uint64_t)(side->seconds * raw->hz);
	uint32_t frame = frame_of(side->test);
	struct rte_mbuf *mbufs[BURST];

	while (rte_rdtsc() < end) {
		if (rte_pktmbuf_alloc_bulk(raw->pool, mbufs, BURST) != 0) {
			reclaim(raw);
			continue;
		}
		for (uint32_t i = 0; i < BURST; i++)
			fill(mbufs[i], frame);
		push(raw, mbufs, end);
	}
	stop(side);
}

static void receive_all(const struct raw *raw, struct side *side)
{
	struct windows *windows = windows_new(raw->hz);
	struct rte_mbuf *mbufs[BURST];
	uint64_t frames = 0, bytes = 0;
	volatile uint64_t seen; /* the reads are not to be left out */

	while (!stopped(side)) {
		uint16_t n = rte_eth_rx_burst(raw->port, 0, mbufs, BURST);
		uint64_t sum = 0, now;

		if (n == 0)
			continue;
		now = rte_rdtsc();
		windows_add(windows, now, frames);
		for (uint16_t i = 0; i < n; i++) {
			sum += *rte_pktmbuf_mtod(mbufs[i], const uint64_t *);
			bytes += mbufs[i]->pkt_len;
		}
		seen = sum;
		rte_pktmbuf_free_bulk(mbufs, n);
		frames += n;
	}
	(void)seen;
	if (frames == 0)
		die("nothing arrived");
	windows_report(
		windows, side, side->test->length ? (double)bytes / (double)frames * 8e-9 : 1e-6);
}

void run_port_rate(struct side *side)
{
	const struct raw_config config = {frame_of(side->test), MBUFS, DESCRIPTORS};
	struct raw raw;

	raw_open(&raw, side, &config);
	begin(side);
	if (side->role == ACTIVE)
		send_all(&raw, side);
	else
		receive_all(&raw, side);
	end(side);
	raw_close(&raw, side);
}

/* ---- ping-pong ---- */

static bool is_reply(const struct rte_mbuf *mbuf, uint64_t number)
{
	return memcmp(rte_pktmbuf_mtod_offset(mbuf, const uint8_t *, NUMBER_AT), &number,
		       sizeof(number)) == 0;
}

static bool wait_reply(const struct raw *raw, uint64_t number, uint64_t deadline)
{
	struct rte_mbuf *mbufs[BURST];
	bool found = false;

	while (!found && rte_rdtsc() < deadline) {
		uint16_t n = rte_eth_rx_burst(raw->port, 0, mbufs, BURST);

		for (uint16_t i = 0; i < n; i++)
			found |= is_reply(mbufs[i], number);
		rte_pktmbuf_free_bulk(mbufs, n);
	}
	return found;
}

static bool send_number(const struct raw *raw, uint64_t number, uint64_t end)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(raw->pool);

	if (!mbuf) {
		reclaim(raw);
		return false;
	}
	fill(mbuf, SMALL_FRAME);
	memcpy(rte_pktmbuf_mtod_offset(mbuf, uint8_t *, NUMBER_AT), &number, sizeof(number));
	while (rte_eth_tx_burst(raw->port, 0, &mbuf, 1) == 0)
		if (rte_rdtsc() > end) {
			rte_pktmbuf_free(mbuf);
			return false;
		}
	return true;
}

static void ping(const struct raw *raw, struct side *side)
{
	uint64_t end = rte_rdtsc() + (uint64_t)(side->seconds * raw->hz);
	struct samples *samples = samples_new();
	uint64_t start;

	for (uint64_t number = 1; !samples_full(samples) && (start = rte_rdtsc()) < end; number++)
		if (send_number(raw, number, end) &&
			wait_reply(raw, number, start + (uint64_t)(REPLY_SECONDS * raw->hz)))
			samples_add(samples, rte_rdtsc() - start);
	stop(side);
	samples_report(samples, side, raw->hz);
}

static void pong(const struct raw *raw, struct side *side)
{
	struct rte_mbuf *mbufs[BURST];

	while (!stopped(side)) {
		uint16_t n = rte_eth_rx_burst(raw->port, 0, mbufs, BURST), sent = 0;

		while (sent < n && !stopped(side))
			sent = (uint16_t)(sent +
				rte_eth_tx_burst(raw->port, 0, mbufs + sent, (uint16_t)(n - sent)));
	}
}

void run_port_latency(struct side *side)
{
	const struct raw_config config = {SMALL_FRAME, MBUFS, DESCRIPTORS};
	struct raw raw;

	raw_open(&raw, side, &config);
	begin(side);
	if (side->role == ACTIVE)
		ping(&raw, side);
	else
		pong(&raw, side);
	end(side);
	raw_close(&raw, side);
}
