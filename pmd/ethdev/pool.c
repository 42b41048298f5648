/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mbuf pool of a port. net_ring and its like hand our mbufs to another port of the process, so
 * a pool may outlive the port that made it: it is found again by its name.
 */
#include <errno.h>
#include <stdio.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>

#include "ethdev.h"
#include "ethdev_port.h"
#include "log.h"

#define POOL_CACHE 256u
#define POOL_NAMES 16u /* pools of one port that may be waiting for their mbufs */

static bool fits(const struct rte_mempool *pool, unsigned int count, uint32_t room)
{
	return pool->size == count &&
		rte_pktmbuf_data_room_size((struct rte_mempool *)(uintptr_t)pool) ==
		room + RTE_PKTMBUF_HEADROOM;
}

/*
 * A cache holds up to one and a half times its size (rte_mempool.c, CALC_CACHE_FLUSHTHRESH), and
 * nobody else gets at what is in there: half of the mbufs are kept out of all of them together.
 */
static unsigned int cache_size(unsigned int count)
{
	unsigned int caches = rte_lcore_count() + ETHDEV_CACHED_THREADS;
	unsigned int size = count / (3 * caches);

	return size < POOL_CACHE ? size : POOL_CACHE;
}

/*
 * rte_pktmbuf_pool_create(), but that mbufs lie one behind the other whatever the size of a page
 * is, unless IOVAs are physical: net_af_xdp hands the pool to the kernel as one piece of so many
 * mbufs, and those that gaps had pushed beyond its end would be lost when they are sent.
 */
static struct rte_mempool *make(const char *name, unsigned int count, uint16_t data, int socket)
{
	struct rte_pktmbuf_pool_private private = {.mbuf_data_room_size = data};
	unsigned int flags = rte_eal_iova_mode() == RTE_IOVA_VA ? RTE_MEMPOOL_F_NO_IOVA_CONTIG : 0;
	struct rte_mempool *pool =
		rte_mempool_create_empty(name, count, (unsigned int)sizeof(struct rte_mbuf) + data,
			cache_size(count), sizeof(private), socket, flags);

	if (!pool)
		return NULL;
	if (rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), NULL) == 0) {
		rte_pktmbuf_pool_init(pool, &private);
		if (rte_mempool_populate_default(pool) > 0) {
			rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
			return pool;
		}
	}
	rte_mempool_free(pool);
	rte_errno = ENOMEM;
	return NULL;
}

static struct rte_mempool *create(const char *name, unsigned int count, uint32_t room, int socket)
{
	struct rte_mempool *pool =
		make(name, count, (uint16_t)(room + RTE_PKTMBUF_HEADROOM), socket);

	if (!pool)
		log_error("no memory for %u buffers of %u bytes (%s): give EAL more (-m MB, or "
			  "hugepages), or ask for fewer with --mbufs",
			count, room, rte_strerror(rte_errno));
	return pool;
}

struct rte_mempool *pool_open(uint16_t id, unsigned int count, uint32_t room, int socket)
{
	char name[RTE_MEMPOOL_NAMESIZE];

	for (unsigned int i = 0; i < POOL_NAMES; i++) {
		struct rte_mempool *pool;

		snprintf(name, sizeof(name), "uroce_mbuf_%u_%u", id, i);
		pool = rte_mempool_lookup(name);
		if (!pool)
			return create(name, count, room, socket);
		if (fits(pool, count, room))
			return pool;
		if (rte_mempool_full(pool)) {
			rte_mempool_free(pool);
			return create(name, count, room, socket);
		}
	}
	log_error("%u pools of port %u wait for buffers that other ports hold", POOL_NAMES, id);
	return NULL;
}

void pool_close(struct rte_mempool *pool)
{
	if (!pool)
		return;
	if (rte_mempool_full(pool))
		rte_mempool_free(pool);
	else
		log_info("%u buffers of %s are held by other ports: the pool stays",
			rte_mempool_in_use_count(pool), pool->name);
}
