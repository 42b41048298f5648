/* SPDX-License-Identifier: BSD-3-Clause */
/* The network rules behind the port's control calls, and the frames that they send. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

#include "ethdev_port.h"
#include "kernel.h"
#include "log.h"
#include "random.h"

/*
 * The outbox's side of the sink, under the lock: the frame is written in its place behind those
 * that wait. pmd/net knows its frames' lengths before it writes them.
 */
static uint8_t *outbox_begin(struct net_sink *sink, uint32_t length)
{
	struct control *control = container_of(sink, struct control, outbox_sink);
	struct rte_mbuf *mbuf;

	if (control->waiting == OUTBOX_SIZE) {
		control->outbox_full++;
		return NULL;
	}
	mbuf = rte_pktmbuf_alloc(control->port->pool);
	if (!mbuf) {
		control->outbox_no_buffer++;
		return NULL;
	}
	control->outbox[control->waiting] = mbuf;
	return (uint8_t *)rte_pktmbuf_append(mbuf, (uint16_t)length);
}

static void outbox_end(struct net_sink *sink, uint32_t length)
{
	struct control *control = container_of(sink, struct control, outbox_sink);

	__atomic_store_n(&control->waiting, control->waiting + 1, __ATOMIC_RELAXED);
}

unsigned int control_take(struct control *control, struct rte_mbuf *mbufs[OUTBOX_SIZE])
{
	unsigned int n;

	if (pthread_mutex_trylock(&control->lock))
		return 0; /* the next round will do */
	n = control->waiting;
	for (unsigned int i = 0; i < n; i++)
		mbufs[i] = control->outbox[i];
	__atomic_store_n(&control->waiting, 0, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&control->lock);
	return n;
}

static uint8_t *answer_begin(struct net_sink *sink, uint32_t length)
{
	struct answers *answers = container_of(sink, struct answers, sink);
	struct ethdev_port *ethdev = answers->port;
	struct rte_mbuf *mbuf;
	char *data;

	if (answers->count == ANSWERS_MAX) {
		ethdev_send_mbufs(ethdev, answers->queue, answers->mbufs, ANSWERS_MAX);
		answers->count = 0;
	}
	mbuf = rte_pktmbuf_alloc(ethdev->pool);
	if (!mbuf) {
		tally(&ethdev->queues[answers->queue].counters.no_buffer, 1);
		return NULL;
	}
	data = rte_pktmbuf_append(mbuf, (uint16_t)length);
	if (!data) {
		rte_pktmbuf_free(mbuf);
		return NULL;
	}
	answers->mbufs[answers->count] = mbuf;
	return (uint8_t *)data;
}

static void answer_end(struct net_sink *sink, uint32_t length)
{
	container_of(sink, struct answers, sink)->count++;
}

static void enter(struct control *control, uint64_t now)
{
	pthread_mutex_lock(&control->lock);
	if (now > control->now)
		control->now = now;
}

/* Changes under the lock are told by the epoch: release, pairs with the acquire of the cores. */
static void leave(struct control *control)
{
	uint64_t changes = control->net.neighbours.changes;

	if (changes != control->published) {
		control->published = changes;
		__atomic_fetch_add(&control->port->port.epoch, 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&control->lock);
}

void ethdev_other(struct port *port, uint16_t queue, const struct packet *packets,
	unsigned int count, uint64_t now)
{
	struct ethdev_port *ethdev = to_ethdev(port);
	struct control *control = ethdev->control;
	struct answers answers = {
		.sink = {.begin = answer_begin, .end = answer_end},
		.port = ethdev,
		.queue = queue,
	};

	enter(control, now);
	for (unsigned int i = 0; i < count; i++)
		net_input(&control->net, &answers.sink, packets[i].data, packets[i].length, now);
	leave(control);
	if (answers.count)
		ethdev_send_mbufs(ethdev, queue, answers.mbufs, answers.count);
}

int ethdev_route(struct port *port, const uint8_t source[16], const uint8_t destination[16],
	uint32_t *neighbour)
{
	struct control *control = to_ethdev(port)->control;
	int err;

	enter(control, 0);
	err = net_route(&control->net, source, destination, control->now, neighbour);
	leave(control);
	return err;
}

int ethdev_neighbour(struct port *port, uint32_t neighbour, uint64_t now, uint8_t mac[6])
{
	struct control *control = to_ethdev(port)->control;
	int err;

	enter(control, now);
	err = net_neighbour(&control->net, &control->outbox_sink, neighbour, now, mac);
	leave(control);
	return err;
}

/* Looks at the link; what is new is logged and told by the epoch. */
static void watch_link(struct ethdev_port *ethdev, uint64_t now)
{
	uint32_t speed = ethdev->speed_mbps;
	bool up = ethdev_link(ethdev, &speed);

	ethdev->control->link_due = now + LINK_INTERVAL;
	__atomic_store_n(&ethdev->speed_mbps, speed, __ATOMIC_RELAXED);
	if (up == ethdev->up)
		return;
	log_notice("%s: link is %s", ethdev->device.name, up ? "up" : "down");
	__atomic_store_n(&ethdev->up, up, __ATOMIC_RELAXED);
	__atomic_fetch_add(&ethdev->port.epoch, 1, __ATOMIC_RELEASE);
	if (up)
		net_link_up(&ethdev->control->net, now);
}

uint64_t ethdev_service(struct port *port, uint64_t now)
{
	struct ethdev_port *ethdev = to_ethdev(port);
	struct control *control = ethdev->control;
	uint64_t next;

	enter(control, now);
	if (now >= control->link_due)
		watch_link(ethdev, now);
	next = net_service(&control->net, &control->outbox_sink, now);
	if (control->link_due < next)
		next = control->link_due;
	/* Whoever sleeps until then must not sleep over what the next rx will send. */
	if (control->waiting)
		next = now;
	leave(control);
	return next;
}

void ethdev_info(const struct port *port, struct port_info *info)
{
	const struct ethdev_port *ethdev = to_const_ethdev(port);
	const struct net *net = &ethdev->control->net;

	memset(info, 0, sizeof(*info));
	snprintf(info->name, sizeof(info->name), "%.31s", ethdev->device.name);
	memcpy(info->mac, ethdev->mac, sizeof(info->mac));
	info->queues = ethdev->queue_count;
	info->mtu = ethdev->device.mtu;
	info->up = __atomic_load_n(&ethdev->up, __ATOMIC_RELAXED);
	info->speed_mbps = __atomic_load_n(&ethdev->speed_mbps, __ATOMIC_RELAXED);
	info->gid_count = net->address_count; /* fixed since net_init() */
	memcpy(info->gids, net->addresses, sizeof(info->gids));
}

static void add_queue(struct port_counters *sum, const struct queue_counters *queue)
{
	sum->rx_packets += __atomic_load_n(&queue->rx_packets, __ATOMIC_RELAXED);
	sum->rx_bytes += __atomic_load_n(&queue->rx_bytes, __ATOMIC_RELAXED);
	sum->rx_dropped += __atomic_load_n(&queue->rx_dropped, __ATOMIC_RELAXED);
	sum->rx_linearised += __atomic_load_n(&queue->rx_linearised, __ATOMIC_RELAXED);
	sum->tx_packets += __atomic_load_n(&queue->tx_packets, __ATOMIC_RELAXED);
	sum->tx_bytes += __atomic_load_n(&queue->tx_bytes, __ATOMIC_RELAXED);
	sum->tx_rejected += __atomic_load_n(&queue->tx_rejected, __ATOMIC_RELAXED);
	sum->no_buffer += __atomic_load_n(&queue->no_buffer, __ATOMIC_RELAXED);
}

static void add_net(struct port_counters *sum, struct control *control)
{
	const struct net_counters *net = &control->net.counters;

	pthread_mutex_lock(&control->lock);
	sum->arp_in = net->arp_in;
	sum->arp_out = net->arp_out;
	sum->nd_in = net->nd_in;
	sum->nd_out = net->nd_out;
	sum->echo = net->echo;
	sum->unreachable = control->net.neighbours.unreachable;
	for (unsigned int i = NET_OK + 1; i < NET_DROPS; i++)
		sum->other_dropped += net->drops[i];
	sum->no_buffer += control->outbox_no_buffer;
	pthread_mutex_unlock(&control->lock);
}

void ethdev_counters(const struct port *port, struct port_counters *counters)
{
	const struct ethdev_port *ethdev = to_const_ethdev(port);
	struct rte_eth_stats stats;

	memset(counters, 0, sizeof(*counters));
	for (uint16_t i = 0; i < ethdev->queue_count; i++)
		add_queue(counters, &ethdev->queues[i].counters);
	add_net(counters, ethdev->control);
	if (rte_eth_stats_get(ethdev->id, &stats) == 0) {
		counters->rx_dropped += stats.imissed + stats.ierrors;
		counters->no_buffer += stats.rx_nombuf;
	}
}

int control_open(struct ethdev_port *ethdev, const struct ethdev_config *config)
{
	struct control *control = calloc(1, sizeof(*control));
	uint64_t seed;
	int err;

	if (!control)
		return -ENOMEM;
	pthread_mutex_init(&control->lock, NULL);
	control->port = ethdev;
	control->outbox_sink.begin = outbox_begin;
	control->outbox_sink.end = outbox_end;
	err = random_system(&seed, sizeof(seed));
	/* Time 0: the first service() announces the addresses. */
	if (!err)
		err = net_init(
			&control->net, &config->network, ethdev->mac, ethdev->device.mtu, seed, 0);
	if (err) {
		pthread_mutex_destroy(&control->lock);
		free(control);
		return err;
	}
	ethdev->control = control;
	return 0;
}

void control_close(struct ethdev_port *ethdev)
{
	struct control *control = ethdev->control;

	if (!control)
		return;
	rte_pktmbuf_free_bulk(control->outbox, control->waiting);
	net_fini(&control->net);
	pthread_mutex_destroy(&control->lock);
	free(control);
	ethdev->control = NULL;
}
