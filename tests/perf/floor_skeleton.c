/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The skeleton of a reliable transport: RoCEv2 packets with a real header, cut from a buffer of 1
 * MiB, with payload copied and ICRC computed on both sides, PSNs that are checked, a window of 256
 * packets and an ACK every 32. No queues of requests, no completions, no timers, no keys: what
 * remains is what moving the data costs.
 */
#include <stdlib.h>
#include <string.h>

#include <isa-l.h>
#include <rte_ethdev.h>
#include <rte_prefetch.h>

#include "floor.h"

#define MBUFS 4095u
#define DESCRIPTORS 512u
#define HEADER 54u /* Ethernet, IPv4, UDP, BTH */
#define ICRC 4u
#define LENGTH_AT 16u /* of the IPv4 header */
#define PSN_AT 50u
#define ACK_PAYLOAD 4u
#define ACK_EVERY 32u
#define AHEAD 4u /* packets that are prefetched */

/* ---- packets ---- */

/* The fields that routers change count as ones, and 8 bytes of ones stand for a local route header
 * (IBTA A17.3.3). */
static uint32_t icrc(const uint8_t *frame, uint32_t payload)
{
	uint8_t masked[48];

	memset(masked, 0xff, 8);
	memcpy(masked + 8, frame + 14, 40);
	masked[9] = 0xff;		/* TOS */
	masked[16] = 0xff;		/* TTL */
	masked[18] = masked[19] = 0xff; /* IPv4 checksum */
	masked[34] = masked[35] = 0xff; /* UDP checksum */
	masked[40] = 0xff;		/* BTH, FECN and BECN */
	return crc32_gzip_refl(crc32_gzip_refl(0, masked, sizeof(masked)), frame + HEADER, payload);
}

static void put_icrc(uint8_t *frame, uint32_t payload)
{
	uint32_t crc = icrc(frame, payload);

	memcpy(frame + HEADER + payload, &crc, sizeof(crc));
}

static void check_icrc(const uint8_t *frame, uint32_t payload)
{
	uint32_t crc = icrc(frame, payload);

	if (memcmp(frame + HEADER + payload, &crc, sizeof(crc)) != 0)
		die("skeleton: wrong ICRC");
}

static void put_header(uint8_t *frame, uint32_t payload, uint32_t psn)
{
	static const uint8_t header[HEADER] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45};
	uint16_t length = (uint16_t)(payload + HEADER - 14 + ICRC);

	memcpy(frame, header, sizeof(header));
	memcpy(frame + LENGTH_AT, &length, sizeof(length));
	memcpy(frame + PSN_AT, &psn, sizeof(psn));
}

static uint32_t psn_of(const uint8_t *frame)
{
	uint32_t psn;

	memcpy(&psn, frame + PSN_AT, sizeof(psn));
	return psn;
}

static void set_length(struct rte_mbuf *mbuf, uint32_t payload)
{
	mbuf->data_len = (uint16_t)(HEADER + payload + ICRC);
	mbuf->pkt_len = HEADER + payload + ICRC;
}

/* Where the next packet's payload is in the buffer. */
static uint32_t advance(uint32_t at, uint32_t payload)
{
	return at + 2 * payload > BUFFER_SIZE ? 0 : at + payload;
}

/* ---- the sender ---- */

struct sender {
	const struct raw *raw;
	const uint8_t *buffer;
	uint32_t payload;
	uint32_t at;
	uint32_t psn;
	uint32_t acked;
};

static void take_acks(struct sender *sender)
{
	struct rte_mbuf *mbufs[BURST];
	uint16_t n = rte_eth_rx_burst(sender->raw->port, 0, mbufs, BURST);

	if (n == 0)
		return;
	for (uint16_t i = 0; i < n; i++) {
		const uint8_t *frame = rte_pktmbuf_mtod(mbufs[i], const uint8_t *);

		check_icrc(frame, ACK_PAYLOAD);
		sender->acked = psn_of(frame);
	}
	rte_pktmbuf_free_bulk(mbufs, n);
}

static void build(struct sender *sender, struct rte_mbuf *mbuf)
{
	uint8_t *frame = rte_pktmbuf_mtod(mbuf, uint8_t *);

	put_header(frame, sender->payload, sender->psn++);
	memcpy(frame + HEADER, sender->buffer + sender->at, sender->payload);
	sender->at = advance(sender->at, sender->payload);
	put_icrc(frame, sender->payload);
	set_length(mbuf, sender->payload);
}

static void push(const struct sender *sender, struct rte_mbuf **mbufs, uint64_t end)
{
	uint16_t sent = 0;

	while (sent < BURST && rte_rdtsc() < end)
		sent = (uint16_t)(sent +
			rte_eth_tx_burst(
				sender->raw->port, 0, mbufs + sent, (uint16_t)(BURST - sent)));
	rte_pktmbuf_free_bulk(mbufs + sent, BURST - sent);
}

static void send_all(struct sender *sender, const struct side *side)
{
	uint64_t end = rte_rdtsc() + (uint64_t)(side->seconds * sender->raw->hz);
	struct rte_mbuf *mbufs[BURST];

	while (rte_rdtsc() < end) {
		take_acks(sender);
		if (sender->psn - sender->acked > WINDOW - BURST) {
			rte_pause();
			continue;
		}
		if (rte_pktmbuf_alloc_bulk(sender->raw->pool, mbufs, BURST) != 0)
			continue;
		for (uint32_t i = 0; i < BURST; i++)
			build(sender, mbufs[i]);
		push(sender, mbufs, end);
	}
}

/* ---- the receiver ---- */

struct receiver {
	const struct raw *raw;
	uint8_t *buffer;
	uint32_t at;
	uint32_t psn;
	uint32_t acked;
};

static void take(struct receiver *receiver, const struct rte_mbuf *mbuf)
{
	const uint8_t *frame = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	uint32_t payload = mbuf->pkt_len - HEADER - ICRC;

	if (psn_of(frame) != receiver->psn++)
		die("skeleton: a packet is missing");
	check_icrc(frame, payload);
	memcpy(receiver->buffer + receiver->at, frame + HEADER, payload);
	receiver->at = advance(receiver->at, payload);
}

static void take_burst(struct receiver *receiver, struct rte_mbuf **mbufs, uint16_t n)
{
	for (uint16_t i = 0; i < n && i < AHEAD; i++)
		rte_prefetch0(rte_pktmbuf_mtod(mbufs[i], const void *));
	for (uint16_t i = 0; i < n; i++) {
		if (i + AHEAD < n)
			rte_prefetch0(rte_pktmbuf_mtod(mbufs[i + AHEAD], const void *));
		take(receiver, mbufs[i]);
	}
	rte_pktmbuf_free_bulk(mbufs, n);
}

/* The PSN field of an ACK is how many packets have arrived. */
static bool acknowledge(struct receiver *receiver)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(receiver->raw->pool);
	uint8_t *frame;

	if (!mbuf)
		return false;
	frame = rte_pktmbuf_mtod(mbuf, uint8_t *);
	set_length(mbuf, ACK_PAYLOAD);
	memset(frame, 0, HEADER + ACK_PAYLOAD + ICRC);
	memcpy(frame + PSN_AT, &receiver->psn, sizeof(receiver->psn));
	put_icrc(frame, ACK_PAYLOAD);
	if (rte_eth_tx_burst(receiver->raw->port, 0, &mbuf, 1) == 1)
		return true;
	rte_pktmbuf_free(mbuf);
	return false;
}

static void receive_all(struct receiver *receiver, struct side *side)
{
	struct windows *windows = windows_new(receiver->raw->hz);
	struct rte_mbuf *mbufs[BURST];
	uint64_t packets = 0;
	uint32_t payload = side->test->length;

	while (!stopped(side)) {
		uint16_t n = rte_eth_rx_burst(receiver->raw->port, 0, mbufs, BURST);

		if (n == 0)
			continue;
		take_burst(receiver, mbufs, n);
		packets += n;
		while (receiver->psn - receiver->acked >= ACK_EVERY && acknowledge(receiver))
			receiver->acked = receiver->psn;
		windows_add(windows, rte_rdtsc(), packets);
	}
	windows_report(windows, side, payload <= LINE ? 1e-6 : (double)payload * 8e-9);
}

/* ---- both ---- */

static uint8_t *make_buffer(int content)
{
	uint8_t *buffer = aligned_alloc(4096, BUFFER_SIZE);

	if (!buffer)
		die("no memory");
	memset(buffer, content, BUFFER_SIZE);
	return buffer;
}

void run_skeleton(struct side *side)
{
	uint32_t payload = side->test->length;
	const struct raw_config config = {HEADER + payload + ICRC, MBUFS, DESCRIPTORS};
	struct raw raw;
	struct sender sender = {.raw = &raw, .payload = payload};
	struct receiver receiver = {.raw = &raw};
	uint8_t *buffer = make_buffer(7);

	raw_open(&raw, side, &config);
	sender.buffer = buffer;
	receiver.buffer = buffer;
	begin(side);
	if (side->role == ACTIVE) {
		send_all(&sender, side);
		stop(side);
	} else {
		receive_all(&receiver, side);
	}
	end(side);
	raw_close(&raw, side);
	free(buffer);
}
