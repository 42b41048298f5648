/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data path: an mbuf is a packet's handle and buffer, nothing is copied. Only a frame that
 * arrives in pieces, or whose tag the driver took off, is put together first.
 */
#include <errno.h>

#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "capture.h"
#include "ethdev_port.h"
#include "prefetch.h"

static inline void to_packet(struct packet *packet, struct rte_mbuf *mbuf)
{
	packet->handle = mbuf;
	packet->data = rte_pktmbuf_mtod(mbuf, uint8_t *);
	packet->length = mbuf->data_len;
	packet->room = 0;
}

static inline bool is_whole(const struct rte_mbuf *mbuf)
{
	return mbuf->nb_segs == 1 && !(mbuf->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED);
}

/* Copies a chain into one buffer of ours. NULL if there is none or it is too small. */
static struct rte_mbuf *linearise(
	struct ethdev_port *ethdev, struct queue_counters *counters, struct rte_mbuf *chain)
{
	struct rte_mbuf *whole = rte_pktmbuf_alloc(ethdev->pool);
	uint32_t at = 0;

	if (!whole) {
		tally(&counters->no_buffer, 1);
		return NULL;
	}
	if (chain->pkt_len > rte_pktmbuf_tailroom(whole)) {
		rte_pktmbuf_free(whole);
		return NULL;
	}
	for (const struct rte_mbuf *part = chain; part; part = part->next) {
		memcpy(rte_pktmbuf_mtod_offset(whole, uint8_t *, at),
			rte_pktmbuf_mtod(part, const uint8_t *), part->data_len);
		at += part->data_len;
	}
	whole->data_len = (uint16_t)at;
	whole->pkt_len = at;
	whole->vlan_tci = chain->vlan_tci;
	whole->ol_flags = chain->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED;
	tally(&counters->rx_linearised, 1);
	return whole;
}

/* An odd mbuf becomes a whole one, or is dropped: NULL. */
static struct rte_mbuf *make_whole(
	struct ethdev_port *ethdev, struct queue_counters *counters, struct rte_mbuf *mbuf)
{
	struct rte_mbuf *whole = mbuf;

	if (mbuf->nb_segs > 1) {
		whole = linearise(ethdev, counters, mbuf);
		rte_pktmbuf_free(mbuf);
	}
	if (whole && (whole->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) && rte_vlan_insert(&whole)) {
		rte_pktmbuf_free(whole);
		whole = NULL;
	}
	if (!whole)
		tally(&counters->rx_dropped, 1);
	return whole;
}

/* Acquire: pairs with the release of ethdev_capture_start(). */
static inline bool is_captured(const struct ethdev_port *ethdev)
{
	return unlikely(__atomic_load_n(&ethdev->capturing, __ATOMIC_ACQUIRE));
}

static inline uint16_t send_burst(
	struct ethdev_port *ethdev, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n)
{
	if (is_captured(ethdev))
		return capture_send(ethdev, queue, mbufs, n);
	return rte_eth_tx_burst(ethdev->id, queue, mbufs, n);
}

void ethdev_send_mbufs(
	struct ethdev_port *ethdev, uint16_t queue, struct rte_mbuf **mbufs, unsigned int n)
{
	struct queue_counters *counters = &ethdev->queues[queue].counters;
	uint64_t bytes = 0;
	uint16_t sent;

	for (unsigned int i = 0; i < n; i++)
		bytes += mbufs[i]->pkt_len;
	sent = send_burst(ethdev, queue, mbufs, (uint16_t)n);
	for (unsigned int i = sent; i < n; i++)
		bytes -= mbufs[i]->pkt_len;
	rte_pktmbuf_free_bulk(mbufs + sent, n - sent);
	tally(&counters->tx_packets, sent);
	tally(&counters->tx_bytes, bytes);
	tally(&counters->tx_rejected, n - sent);
}

/* The words of control calls go out from here: see ethdev_port.h. */
static void empty_outbox(struct ethdev_port *ethdev)
{
	struct rte_mbuf *mbufs[OUTBOX_SIZE];
	unsigned int n = control_take(ethdev->control, mbufs);

	for (unsigned int at = 0; at < n; at += PORT_BURST)
		ethdev_send_mbufs(ethdev, 0, mbufs + at, n - at < PORT_BURST ? n - at : PORT_BURST);
}

unsigned int ethdev_rx(struct port *port, uint16_t queue, struct packet *packets, unsigned int room)
{
	struct ethdev_port *ethdev = to_ethdev(port);
	struct queue_counters *counters = &ethdev->queues[queue].counters;
	struct rte_mbuf *mbufs[PORT_BURST];
	unsigned int taken = 0;
	uint64_t bytes = 0;
	uint16_t n;

	if (queue == 0 && unlikely(__atomic_load_n(&ethdev->control->waiting, __ATOMIC_RELAXED)))
		empty_outbox(ethdev);
	n = rte_eth_rx_burst(
		ethdev->id, queue, mbufs, (uint16_t)(room < PORT_BURST ? room : PORT_BURST));
	if (n == 0)
		return 0;
	if (is_captured(ethdev))
		capture_received(ethdev, queue, mbufs, n);
	/* A software port's mbufs were written by another core just now. */
	for (uint16_t i = 0; i < n; i++)
		rte_prefetch0(mbufs[i]);
	for (uint16_t i = 0; i < n; i++) {
		struct rte_mbuf *mbuf = mbufs[i];

		if (unlikely(!is_whole(mbuf)))
			mbuf = make_whole(ethdev, counters, mbuf);
		if (unlikely(!mbuf))
			continue;
		to_packet(&packets[taken++], mbuf);
		bytes += mbuf->data_len;
	}
	tally(&counters->rx_packets, taken);
	tally(&counters->rx_bytes, bytes);
	return taken;
}

/* The pool gives all or nothing; when it runs low, single ones are still to be had. */
static unsigned int alloc_some(
	struct rte_mempool *pool, struct rte_mbuf **mbufs, unsigned int wanted)
{
	unsigned int n = 0;

	while (n < wanted && (mbufs[n] = rte_pktmbuf_alloc(pool)))
		n++;
	return n;
}

/*
 * rte_pktmbuf_alloc_bulk(), but that both lines of each mbuf are asked for before the first one is
 * reset. They were last written by the core that freed them; without that, each reset waits for two
 * of its own.
 */
static int alloc_bulk(struct rte_mempool *pool, struct rte_mbuf **mbufs, unsigned int n)
{
	if (unlikely(rte_mempool_get_bulk(pool, (void **)mbufs, n)))
		return -ENOENT;
	for (unsigned int i = 0; i < n; i++) {
		prefetch_write(mbufs[i]);
		prefetch_write((uint8_t *)mbufs[i] + RTE_CACHE_LINE_SIZE);
	}
	for (unsigned int i = 0; i < n; i++)
		rte_pktmbuf_reset(mbufs[i]);
	return 0;
}

static unsigned int alloc_burst(
	struct ethdev_port *ethdev, uint16_t queue, struct packet *packets, unsigned int n)
{
	struct rte_mbuf *mbufs[PORT_BURST];

	if (unlikely(alloc_bulk(ethdev->pool, mbufs, n))) {
		tally(&ethdev->queues[queue].counters.no_buffer, 1);
		n = alloc_some(ethdev->pool, mbufs, n);
	}
	for (unsigned int i = 0; i < n; i++) {
		to_packet(&packets[i], mbufs[i]);
		packets[i].room = rte_pktmbuf_tailroom(mbufs[i]);
	}
	return n;
}

static unsigned int tx_burst(
	struct ethdev_port *ethdev, uint16_t queue, struct packet *packets, unsigned int n)
{
	struct queue_counters *counters = &ethdev->queues[queue].counters;
	struct rte_mbuf *mbufs[PORT_BURST];
	uint64_t bytes = 0;
	uint16_t sent;

	for (unsigned int i = 0; i < n; i++) {
		struct rte_mbuf *mbuf = packets[i].handle;

		mbuf->data_off = (uint16_t)(packets[i].data - (uint8_t *)mbuf->buf_addr);
		mbuf->data_len = (uint16_t)packets[i].length;
		mbuf->pkt_len = packets[i].length;
		mbufs[i] = mbuf;
	}
	sent = send_burst(ethdev, queue, mbufs, (uint16_t)n);
	/* The mbufs that were sent are gone: the lengths are those of the packets. */
	for (unsigned int i = 0; i < sent; i++)
		bytes += packets[i].length;
	tally(&counters->tx_packets, sent);
	tally(&counters->tx_bytes, bytes);
	tally(&counters->tx_rejected, n - sent);
	return sent;
}

typedef unsigned int burst_fn(
	struct ethdev_port *ethdev, uint16_t queue, struct packet *packets, unsigned int n);

/* Bursts until one comes out short: fewer than were wanted means that there is no more room. */
static __rte_always_inline unsigned int in_bursts(burst_fn *burst, struct port *port,
	uint16_t queue, struct packet *packets, unsigned int wanted)
{
	unsigned int done = 0;

	while (done < wanted) {
		unsigned int part = RTE_MIN(wanted - done, PORT_BURST);
		unsigned int n = burst(to_ethdev(port), queue, packets + done, part);

		done += n;
		if (n < part)
			break;
	}
	return done;
}

unsigned int ethdev_alloc(
	struct port *port, uint16_t queue, struct packet *packets, unsigned int wanted)
{
	return in_bursts(alloc_burst, port, queue, packets, wanted);
}

unsigned int ethdev_tx(
	struct port *port, uint16_t queue, struct packet *packets, unsigned int wanted)
{
	return in_bursts(tx_burst, port, queue, packets, wanted);
}

void ethdev_release(struct port *port, uint16_t queue, struct packet *packets, unsigned int n)
{
	struct rte_mbuf *mbufs[PORT_BURST];

	for (unsigned int done = 0; done < n;) {
		unsigned int part = n - done < PORT_BURST ? n - done : PORT_BURST;

		for (unsigned int i = 0; i < part; i++)
			mbufs[i] = packets[done + i].handle;
		rte_pktmbuf_free_bulk(mbufs, part);
		done += part;
	}
}
