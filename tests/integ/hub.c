/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports, and the loop of the switch. */
#include "hub.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_launch.h>
#include <rte_mbuf.h>

#define PORTS 3u
#define WIDE 2u /* which of them */
#define QUEUES 2u
#define RING 2048u
#define BURST 32u
#define POOL 4095u
#define TRIES 2000u /* for a full ring, whose engine may be gone */
#define UDP_SOURCE 34u

struct hub_port {
	uint16_t id;
	uint16_t queues;
	struct rte_ether_addr mac; /* of the engine behind it, as last seen */
};

/* The application's, as it would be: its lcore's function has no other way to see it. */
static struct {
	struct hub_port port[PORTS];
	struct rte_mempool *pool;
	unsigned int lcore;
	uint32_t stop;	       /* atomic */
	uint64_t wide[QUEUES]; /* atomic */
} hub;

static void give_up(const char *what)
{
	printf("skipped: %s: %s\n", what, rte_strerror(rte_errno));
	exit(77);
}

/* ---- ports ---- */

static void set_up(struct hub_port *port)
{
	struct rte_eth_conf conf = {0};

	if (rte_eth_dev_configure(port->id, port->queues, port->queues, &conf))
		give_up("configure");
	for (uint16_t i = 0; i < port->queues; i++)
		if (rte_eth_rx_queue_setup(port->id, i, BURST, SOCKET_ID_ANY, NULL, hub.pool) ||
			rte_eth_tx_queue_setup(port->id, i, BURST, SOCKET_ID_ANY, NULL))
			give_up("queue");
	if (rte_eth_dev_start(port->id))
		give_up("start");
}

/* Two ports over the same rings, the engine's and ours. */
static void make_port(unsigned int n, const char *name, uint16_t queues)
{
	struct rte_ring *in[QUEUES], *out[QUEUES];
	char ours[32];
	int id;

	for (uint16_t i = 0; i < queues; i++) {
		char ring[32];

		snprintf(ring, sizeof(ring), "%s_in%u", name, i);
		in[i] = rte_ring_create(ring, RING, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
		snprintf(ring, sizeof(ring), "%s_out%u", name, i);
		out[i] = rte_ring_create(ring, RING, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
		if (!in[i] || !out[i])
			give_up("ring");
	}
	snprintf(ours, sizeof(ours), "hub_%s", name);
	id = rte_eth_from_rings(ours, in, queues, out, queues, SOCKET_ID_ANY);
	if (id < 0 || rte_eth_from_rings(name, out, queues, in, queues, SOCKET_ID_ANY) < 0)
		give_up("port");
	hub.port[n] = (struct hub_port){.id = (uint16_t)id, .queues = queues};
	set_up(&hub.port[n]);
}

/* ---- the switch ---- */

/* What a NIC's RSS would do; anything else than IPv4 and UDP goes to the first queue. */
static uint16_t queue_of(const struct hub_port *port, const struct rte_mbuf *frame)
{
	const uint8_t *byte = rte_pktmbuf_mtod(frame, const uint8_t *);
	uint32_t source = (uint32_t)byte[UDP_SOURCE] << 8 | byte[UDP_SOURCE + 1];

	if (port->queues == 1 || byte[12] != 8 || byte[13] != 0 || byte[23] != 17)
		return 0;
	return (uint16_t)(source * 2654435761u >> 16) % port->queues;
}

static void send_to(const struct hub_port *port, struct rte_mbuf *frame)
{
	uint16_t queue = queue_of(port, frame);

	for (unsigned int i = 0; i < TRIES; i++) {
		if (rte_eth_tx_burst(port->id, queue, &frame, 1) == 1) {
			if (port == &hub.port[WIDE])
				__atomic_fetch_add(&hub.wide[queue], 1, __ATOMIC_RELAXED);
			return;
		}
		sched_yield();
	}
	rte_pktmbuf_free(frame);
}

static const struct hub_port *find(const struct rte_ether_addr *mac)
{
	for (unsigned int i = 0; i < PORTS; i++)
		if (rte_is_same_ether_addr(&hub.port[i].mac, mac))
			return &hub.port[i];
	return NULL;
}

/* Copies of our own pool: the engine's buffers go to one receiver at most. */
static void flood(const struct hub_port *from, struct rte_mbuf *frame)
{
	for (unsigned int i = 0; i < PORTS; i++) {
		struct rte_mbuf *copy;

		if (&hub.port[i] == from)
			continue;
		copy = rte_pktmbuf_copy(frame, hub.pool, 0, UINT32_MAX);
		if (copy)
			send_to(&hub.port[i], copy);
	}
	rte_pktmbuf_free(frame);
}

static void take(struct hub_port *from, struct rte_mbuf *frame)
{
	const struct rte_ether_hdr *header = rte_pktmbuf_mtod(frame, struct rte_ether_hdr *);
	const struct hub_port *to = find(&header->dst_addr);

	rte_ether_addr_copy(&header->src_addr, &from->mac);
	if (to)
		send_to(to, frame);
	else
		flood(from, frame);
}

static unsigned int round_of_port(struct hub_port *port)
{
	struct rte_mbuf *frames[BURST];
	unsigned int count = 0;

	for (uint16_t queue = 0; queue < port->queues; queue++) {
		uint16_t n = rte_eth_rx_burst(port->id, queue, frames, BURST);

		for (uint16_t i = 0; i < n; i++)
			take(port, frames[i]);
		count += n;
	}
	return count;
}

static int run(void *argument)
{
	(void)argument;
	while (!__atomic_load_n(&hub.stop, __ATOMIC_RELAXED)) {
		unsigned int moved = 0;

		for (unsigned int i = 0; i < PORTS; i++)
			moved += round_of_port(&hub.port[i]);
		if (moved == 0)
			sched_yield();
	}
	return 0;
}

void hub_start(unsigned int lcore)
{
	hub.pool = rte_pktmbuf_pool_create(
		"hub", POOL, 32, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (!hub.pool)
		give_up("pool");
	make_port(0, "one", 1);
	make_port(1, "two", 1);
	make_port(WIDE, "wide", 2);
	hub.lcore = lcore;
	if (rte_eal_remote_launch(run, NULL, lcore))
		give_up("lcore");
}

void hub_stop(void)
{
	__atomic_store_n(&hub.stop, 1, __ATOMIC_RELAXED);
	rte_eal_wait_lcore(hub.lcore);
}

uint64_t hub_wide(unsigned int queue)
{
	return __atomic_load_n(&hub.wide[queue], __ATOMIC_RELAXED);
}
