/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inside of a port.
 *
 * Who may do what. A queue belongs to one core: rx, tx, alloc, release and other() of that queue
 * run there. The network rules (rules.h) are shared by other() of all queues and by route,
 * neighbour and service, and stand under a mutex. What control calls have to say cannot be sent by
 * the thread that makes them, since no queue is its own: it goes into the outbox, which rx of queue
 * 0 empties, if it gets the mutex at once. No RoCE packet ever waits for it. (A mutex and no
 * spinlock: whoever holds it may be preempted, and on a machine of few cores spinning only keeps
 * it from going on.)
 */
#ifndef UROCE_ETHDEV_ETHDEV_PORT_H
#define UROCE_ETHDEV_ETHDEV_PORT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h> /* container_of() */
#include <rte_mbuf.h>

#include "descriptor.h"
#include "device.h"
#include "ethdev.h"
#include "port.h"
#include "rules.h"

#define OUTBOX_SIZE 256u /* what is beyond is repeated by its timer */
#define ANSWERS_MAX PORT_BURST
#define LINK_INTERVAL 200000000ull /* ns between two looks at the link */

/* Each is written by the queue's core and read by others: relaxed, they order nothing. */
struct queue_counters {
	uint64_t rx_packets, rx_bytes, rx_dropped, rx_linearised;
	uint64_t tx_packets, tx_bytes, tx_rejected;
	uint64_t no_buffer;
};

/* Answers of one burst on their way into mbufs. */
struct answers {
	struct net_sink sink;
	struct ethdev_port *port;
	uint16_t queue;
	unsigned int count;
	struct rte_mbuf *mbufs[ANSWERS_MAX];
};

struct queue {
	struct queue_counters counters;
	/* What a sleeper wakes by: set once, before the port is anybody's. */
	enum wake wake;
	int descriptor;
	bool counts; /* it is an eventfd: readable until its count is read */
} __rte_cache_aligned;

/* What control calls and other() share. */
struct control {
	pthread_mutex_t lock;
	struct rules *rules;
	struct net_sink outbox_sink;
	struct rte_mbuf *outbox[OUTBOX_SIZE];
	uint32_t waiting; /* in the outbox. Written under the lock; relaxed, a hint, without it */
	struct ethdev_port *port;
	uint64_t published; /* the rules' changes that the epoch has told of */
	uint64_t link_due;
	uint64_t now; /* the latest time that anybody handed in */
	uint64_t outbox_full, outbox_no_buffer;
};

struct ethdev_port {
	struct port port;
	uint16_t id;
	uint16_t queue_count;
	struct rte_mempool *pool;
	struct queue *queues;
	struct control *control;
	struct capture *capture; /* from the first one on */
	uint32_t capturing;	 /* atomic; 1: bursts go there, too */

	/* Not on the data path. */
	struct device device;
	uint64_t owner;
	uint8_t mac[6];
	uint32_t speed_mbps; /* relaxed atomic, as `up` is: each is one word that orders nothing */
	bool up;
	bool started;
	bool steered;	 /* each queue gets its core's frames: see steering.h */
	bool isolated;	 /* it gives us RoCE, and the kernel the rest: see isolate.h */
	bool interrupts; /* the device is configured with rx interrupts */
	int filter;	 /* the kernel's: see kernel_filter_open(); or -1 */
};

static inline struct ethdev_port *to_ethdev(struct port *port)
{
	return container_of(port, struct ethdev_port, port);
}

static inline const struct ethdev_port *to_const_ethdev(const struct port *port)
{
	_Static_assert(offsetof(struct ethdev_port, port) == 0, "the port comes first");
	return (const struct ethdev_port *)port;
}

static inline void tally(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

/* pool.c */

/* A pool for `count` mbufs with `room` bytes of frame each, or NULL with a line. */
struct rte_mempool *pool_open(uint16_t id, unsigned int count, uint32_t room, int socket);
/* Frees it if all mbufs are back. Those that a peer still holds keep it for the next pool_open().
 */
void pool_close(struct rte_mempool *pool);

/* setup.c */

/* Configures and starts the device. 0 or -errno with a line. */
int ethdev_start(struct ethdev_port *ethdev, const struct ethdev_config *config);
void ethdev_stop(struct ethdev_port *ethdev);
/* Is the link up, and how fast is it? */
bool ethdev_link(struct ethdev_port *ethdev, uint32_t *speed_mbps);

/* burst.c */

unsigned int ethdev_rx(
	struct port *port, uint16_t queue, struct packet *packets, unsigned int count);
unsigned int ethdev_alloc(
	struct port *port, uint16_t queue, struct packet *packets, unsigned int count);
unsigned int ethdev_tx(
	struct port *port, uint16_t queue, struct packet *packets, unsigned int count);
void ethdev_release(struct port *port, uint16_t queue, struct packet *packets, unsigned int count);
/* Sends all or frees the rest. */
void ethdev_send_mbufs(
	struct ethdev_port *ethdev, uint16_t queue, struct rte_mbuf **mbufs, unsigned int count);

/* control.c */

/* Takes the waiting frames out of the outbox, unless somebody is at it. Returns how many. */
unsigned int control_take(struct control *control, struct rte_mbuf *mbufs[OUTBOX_SIZE]);
int control_open(struct ethdev_port *ethdev, const struct ethdev_config *config);
void control_close(struct ethdev_port *ethdev);
void ethdev_other(struct port *port, uint16_t queue, const struct packet *packets,
	unsigned int count, uint64_t now);
int ethdev_route(struct port *port, const uint8_t source[16], const uint8_t destination[16],
	uint32_t *neighbour);
int ethdev_neighbour(struct port *port, uint32_t neighbour, uint64_t now, uint8_t mac[6]);
uint64_t ethdev_service(struct port *port, uint64_t now);
void ethdev_info(const struct port *port, struct port_info *info);
void ethdev_counters(const struct port *port, struct port_counters *counters);

#endif
