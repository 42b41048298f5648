/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames from the bursts into the rings of their queues. */
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_ether.h>

#include "capture_parts.h"

/* The head of a pcapng Enhanced Packet Block, which rte_pcapng_copy() puts before the frame. */
struct block_head {
	uint32_t type, length, interface;
	uint32_t time_high, time_low; /* ns since 1970 */
};

/* rte_pcapng (22.11) takes the start of its clock at the first packet, after the caller has read
 * the TSC for it: the difference wraps, and all times are centuries off. So they are written anew.
 */
static void stamp(struct rte_mbuf *copy, uint64_t time)
{
	struct block_head *head = rte_pktmbuf_mtod(copy, struct block_head *);

	head->time_high = (uint32_t)(time >> 32);
	head->time_low = (uint32_t)time;
}

static uint64_t time_of(const struct capture *capture, uint64_t cycles)
{
	unsigned __int128 passed = cycles - capture->start_cycles;

	return capture->start_time + (uint64_t)(passed * 1000000000u / rte_get_tsc_hz());
}

/* Copies as many as there is room for; into the ring they go later. */
static unsigned int copy(struct ethdev_port *ethdev, uint16_t queue, struct rte_mbuf **mbufs,
	unsigned int n, enum rte_pcapng_direction direction, struct rte_mbuf **copies)
{
	struct capture *capture = ethdev->capture;
	struct capture_queue *to = &capture->queues[queue];
	unsigned int room = rte_ring_free_count(to->ring);
	uint64_t cycles = rte_get_tsc_cycles();
	uint64_t time = time_of(capture, cycles);
	unsigned int copied = 0;

	while (copied < n && copied < room) {
		struct rte_mbuf *one = rte_pcapng_copy(ethdev->id, queue, mbufs[copied], to->pool,
			capture->length, cycles, direction);

		if (!one)
			break;
		stamp(one, time);
		one->hash.usr = 0;
		copies[copied++] = one;
	}
	tally(&to->dropped, n - copied);
	return copied;
}

/* There is room: the ring has one producer, which has looked. */
static void hand_over(
	struct ethdev_port *ethdev, uint16_t queue, struct rte_mbuf **copies, unsigned int n)
{
	rte_ring_sp_enqueue_bulk(
		ethdev->capture->queues[queue].ring, (void *const *)copies, n, NULL);
}

void capture_received(
	struct ethdev_port *ethdev, uint16_t queue, struct rte_mbuf **mbufs, unsigned int n)
{
	struct rte_mbuf *copies[PORT_BURST];

	n = copy(ethdev, queue, mbufs, n, RTE_PCAPNG_DIRECTION_IN, copies);
	hand_over(ethdev, queue, copies, n);
}

/* The frames are gone once they are sent, so they are copied before; of those that the device
 * leaves the copies are marked, and freed by the writer: a pool has one giver and one taker. */
uint16_t capture_send(
	struct ethdev_port *ethdev, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n)
{
	struct rte_mbuf *copies[PORT_BURST];
	unsigned int copied = copy(ethdev, queue, mbufs, n, RTE_PCAPNG_DIRECTION_OUT, copies);
	uint16_t sent = rte_eth_tx_burst(ethdev->id, queue, mbufs, n);

	for (unsigned int i = sent; i < copied; i++)
		copies[i]->hash.usr = CAPTURE_NOT_SENT;
	hand_over(ethdev, queue, copies, copied);
	return sent;
}
