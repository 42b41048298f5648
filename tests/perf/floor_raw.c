/* SPDX-License-Identifier: BSD-3-Clause */
/* A DPDK port without anything of uroce's, as the floors use it. */
#include <string.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>

#include "floor.h"

#define POOL_CACHE 256u
#define LINK_TRIES 300

/* The two sides of net_ring share a pool: what one sends the other frees. */
static struct rte_mempool *make_pool(const struct side *side, const struct raw_config *config)
{
	static const char name[] = "floor";
	struct rte_mempool *pool = NULL;

	if (side->port != PORT_RING || side->role == PASSIVE)
		pool = rte_pktmbuf_pool_create(name, config->mbufs, POOL_CACHE, 0,
			(uint16_t)port_room(side, config->frame), SOCKET_ID_ANY);
	else
		pool = rte_mempool_lookup(name);
	if (!pool)
		die("no pool: %s", rte_strerror(rte_errno));
	return pool;
}

static void start_port(const struct raw *raw, uint16_t descriptors)
{
	struct rte_eth_conf conf;
	uint16_t rx = descriptors, tx = descriptors;

	memset(&conf, 0, sizeof(conf));
	if (rte_eth_dev_configure(raw->port, 1, 1, &conf) != 0 ||
		rte_eth_dev_adjust_nb_rx_tx_desc(raw->port, &rx, &tx) != 0 ||
		rte_eth_rx_queue_setup(raw->port, 0, rx, SOCKET_ID_ANY, NULL, raw->pool) != 0 ||
		rte_eth_tx_queue_setup(raw->port, 0, tx, SOCKET_ID_ANY, NULL) != 0 ||
		rte_eth_dev_start(raw->port) != 0)
		die("the port cannot be started");
}

static void wait_for_link(const struct raw *raw)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	struct rte_eth_link link;

	for (int i = 0; i < LINK_TRIES; i++) {
		memset(&link, 0, sizeof(link));
		rte_eth_link_get_nowait(raw->port, &link);
		if (link.link_status)
			return;
		nanosleep(&pause, NULL);
	}
	die("the port's link does not come up");
}

/* The passive side first: net_memif's client looks for its server once. */
void raw_open(struct raw *raw, struct side *side, const struct raw_config *config)
{
	port_open(side);
	if (side->role == ACTIVE)
		meet(side);
	if (rte_eth_dev_get_port_by_name(side->device, &raw->port) != 0)
		die("there is no port %s", side->device);
	raw->pool = make_pool(side, config);
	raw->hz = (double)rte_get_tsc_hz();
	start_port(raw, config->descriptors);
	if (side->role == PASSIVE)
		meet(side);
	wait_for_link(raw);
	meet(side);
}

/* Nobody polls while a port stops: net_memif's peer would read what has been unmapped. */
void raw_close(struct raw *raw, struct side *side)
{
	meet(side);
	if (side->role == ACTIVE)
		meet(side);
	rte_eth_dev_stop(raw->port);
	if (side->role == PASSIVE)
		meet(side);
	meet(side); /* a veth pair goes with the first process that ends */
	port_remove(side);
}
