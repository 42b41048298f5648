/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The port's control calls: the lock, the frames that are sent from there, the link. Behind them
 * are the network rules, see rules.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

#include "ethdev_port.h"
#include "kernel.h"
#include "log.h"
#include "rules.h"

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
	uint64_t changes = control->rules->ops->changes(control->rules);

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
	struct rules *rules = control->rules;
	struct answers answers = {
		.sink = {.begin = answer_begin, .end = answer_end},
		.port = ethdev,
		.queue = queue,
	};

	if (!rules->ops->input)
		return;
	enter(control, now);
	for (unsigned int i = 0; i < count; i++)
		rules->ops->input(rules, &answers.sink, packets[i].data, packets[i].length, now);
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
	err = control->rules->ops->route(
		control->rules, source, destination, control->now, neighbour);
	leave(control);
	return err;
}

int ethdev_neighbour(struct port *port, uint32_t neighbour, uint64_t now, uint8_t mac[6])
{
	struct control *control = to_ethdev(port)->control;
	int err;

	enter(control, now);
	err = control->rules->ops->neighbour(
		control->rules, &control->outbox_sink, neighbour, now, mac);
	leave(control);
	return err;
}

/* Looks at the link; what is new is logged and told by the epoch. */
static void watch_link(struct ethdev_port *ethdev, uint64_t now)
{
	struct rules *rules = ethdev->control->rules;
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
		rules->ops->link_up(rules, now);
}

uint64_t ethdev_service(struct port *port, uint64_t now)
{
	struct ethdev_port *ethdev = to_ethdev(port);
	struct control *control = ethdev->control;
	struct rules *rules = control->rules;
	uint64_t next;

	enter(control, now);
	if (now >= control->link_due)
		watch_link(ethdev, now);
	next = rules->ops->service(rules, &control->outbox_sink, now);
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
	struct control *control = ethdev->control;

	memset(info, 0, sizeof(*info));
	snprintf(info->name, sizeof(info->name), "%.31s", ethdev->device.name);
	info->queues = ethdev->queue_count;
	info->mtu = ethdev->device.mtu;
	info->up = __atomic_load_n(&ethdev->up, __ATOMIC_RELAXED);
	info->speed_mbps = __atomic_load_n(&ethdev->speed_mbps, __ATOMIC_RELAXED);
	pthread_mutex_lock(&control->lock);
	control->rules->ops->addresses(control->rules, info);
	pthread_mutex_unlock(&control->lock);
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

static void add_rules(struct port_counters *sum, struct control *control)
{
	pthread_mutex_lock(&control->lock);
	control->rules->ops->counters(control->rules, sum);
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
	add_rules(counters, ethdev->control);
	if (rte_eth_stats_get(ethdev->id, &stats) == 0) {
		counters->rx_dropped += stats.imissed + stats.ierrors;
		counters->no_buffer += stats.rx_nombuf;
	}
}

static int open_rules(
	struct ethdev_port *ethdev, const struct ethdev_config *config, struct rules **rules)
{
	const struct rules_port port = {
		.interface = ethdev->device.interface,
		.index = ethdev->device.info.if_index,
		.mac = ethdev->mac,
		.mtu = ethdev->device.mtu,
	};

	if (config->address_mode == ADDRESS_KERNEL)
		return kernel_rules_open(&port, &config->network, rules);
	return own_rules_open(&port, &config->network, rules);
}

int control_open(struct ethdev_port *ethdev, const struct ethdev_config *config)
{
	struct control *control = calloc(1, sizeof(*control));
	int err;

	if (!control)
		return -ENOMEM;
	err = open_rules(ethdev, config, &control->rules);
	if (err) {
		free(control);
		return err;
	}
	pthread_mutex_init(&control->lock, NULL);
	control->port = ethdev;
	control->outbox_sink.begin = outbox_begin;
	control->outbox_sink.end = outbox_end;
	ethdev->control = control;
	return 0;
}

void control_close(struct ethdev_port *ethdev)
{
	struct control *control = ethdev->control;

	if (!control)
		return;
	rte_pktmbuf_free_bulk(control->outbox, control->waiting);
	control->rules->ops->close(control->rules);
	pthread_mutex_destroy(&control->lock);
	free(control);
	ethdev->control = NULL;
}
