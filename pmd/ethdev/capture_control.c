/* SPDX-License-Identifier: BSD-3-Clause */
/* A capture from its start to its end. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>

#include "capture_parts.h"
#include "log.h"

#define FRAMES 1024u /* of a queue, on their way to the file */

static bool open_queue(struct capture *capture, uint16_t q)
{
	struct capture_queue *queue = &capture->queues[q];
	struct ethdev_port *ethdev = capture->ethdev;
	int socket = rte_eth_dev_socket_id(ethdev->id);
	char name[RTE_MEMPOOL_NAMESIZE];

	snprintf(name, sizeof(name), "uroce_cap_%u_%u", ethdev->id, q);
	queue->ring = rte_ring_create(name, FRAMES, socket, RING_F_SP_ENQ | RING_F_SC_DEQ);
	queue->pool = rte_pktmbuf_pool_create_by_ops(name, FRAMES - 1, 0, 0,
		(uint16_t)rte_pcapng_mbuf_size(ethdev->device.room), socket, "ring_sp_sc");
	return queue->ring && queue->pool;
}

static void throw_away(struct capture *capture)
{
	struct rte_mbuf *mbuf;

	for (uint16_t q = 0; q < capture->ethdev->queue_count; q++)
		while (capture->queues[q].ring &&
			rte_ring_sc_dequeue(capture->queues[q].ring, (void **)&mbuf) == 0)
			rte_pktmbuf_free(mbuf);
}

static void free_capture(struct capture *capture)
{
	throw_away(capture);
	for (uint16_t q = 0; q < capture->ethdev->queue_count; q++) {
		rte_ring_free(capture->queues[q].ring);
		rte_mempool_free(capture->queues[q].pool);
	}
	free(capture);
}

static struct capture *make_capture(struct ethdev_port *ethdev)
{
	size_t size = sizeof(struct capture) + ethdev->queue_count * sizeof(struct capture_queue);
	struct capture *capture = aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN(size, 64));

	if (!capture)
		return NULL;
	memset(capture, 0, size);
	capture->ethdev = ethdev;
	for (uint16_t q = 0; q < ethdev->queue_count; q++) {
		if (open_queue(capture, q))
			continue;
		free_capture(capture);
		return NULL;
	}
	return capture;
}

/* A FIFO's reader that stalls would keep the writer, and whoever waits for it, for ever. */
#define PATIENCE 2 /* s */

static void join(struct capture *capture)
{
	struct timespec end;

	if (!capture->started)
		return;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += PATIENCE;
	if (pthread_timedjoin_np(capture->thread, NULL, &end) == ETIMEDOUT) {
		log_error("%s: the capture ends, nobody reads %s any more",
			capture->ethdev->device.name, capture->config.file);
		pthread_cancel(capture->thread); /* in write(2) */
		pthread_join(capture->thread, NULL);
		if (capture->file)
			rte_pcapng_close(capture->file);
	}
	capture->started = false;
}

static int failed(const struct capture *capture, int err)
{
	log_error("%s: no capture into %s: %s", capture->ethdev->device.name, capture->config.file,
		strerror(err));
	return -err;
}

/*
 * rte_pcapng knows only the ports that nobody owns at that moment, so the port is nobody's for as
 * long as the list is made. Another engine that takes it meanwhile gives it back, since it cannot
 * configure a device that runs.
 */
static rte_pcapng_t *write_head(const struct ethdev_port *ethdev, int fd)
{
	struct rte_eth_dev_owner owner;
	rte_pcapng_t *file;

	errno = 0;
	if (!ethdev->owner)
		return rte_pcapng_fdopen(fd, NULL, NULL, "uroce", NULL);
	if (rte_eth_dev_owner_get(ethdev->id, &owner))
		return NULL;
	rte_eth_dev_owner_unset(ethdev->id, ethdev->owner);
	file = rte_pcapng_fdopen(fd, NULL, NULL, "uroce", NULL);
	while (rte_eth_dev_owner_set(ethdev->id, &owner))
		sched_yield();
	return file;
}

static int open_file(struct capture *capture)
{
	int fd = open(
		capture->config.file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0600);
	int err;

	if (fd < 0)
		return failed(capture, errno);
	/* Only opening must not wait, for the reader of a FIFO; the writer may. */
	fcntl(fd, F_SETFL, O_WRONLY);
	capture->file = write_head(capture->ethdev, fd);
	if (!capture->file) {
		err = errno ? errno : EIO;
		close(fd);
		return failed(capture, err);
	}
	return 0;
}

static int start_writer(struct capture *capture)
{
	int err = rte_ctrl_thread_create(
		&capture->thread, "uroce-capture", NULL, capture_writer, capture);

	if (err) {
		rte_pcapng_close(capture->file);
		return failed(capture, -err);
	}
	capture->started = true;
	return 0;
}

static void prepare(struct capture *capture, const struct capture_config *config)
{
	uint32_t length = capture->ethdev->device.room;

	throw_away(capture);
	capture->config = *config;
	capture->length = config->snaplen && config->snaplen < length ? config->snaplen : length;
	capture->full = false;
	capture->packets = 0;
	capture->bytes = 0;
	capture->dropped_before += capture_dropped(capture);
	capture->start_time = capture_time();
	capture->start_cycles = rte_get_tsc_cycles();
	__atomic_store_n(&capture->stop, 0, __ATOMIC_RELAXED);
}

int ethdev_capture_start(struct port *port, const struct capture_config *config)
{
	struct ethdev_port *ethdev = to_ethdev(port);
	struct capture *capture = ethdev->capture;
	int err;

	if (__atomic_load_n(&ethdev->capturing, __ATOMIC_RELAXED))
		return failed(capture, EBUSY);
	if (!capture) {
		capture = make_capture(ethdev);
		if (!capture) {
			log_error("%s: no memory for a capture", ethdev->device.name);
			return -ENOMEM;
		}
		ethdev->capture = capture;
	}
	join(capture); /* it may have ended by itself */
	prepare(capture, config);
	err = open_file(capture);
	if (!err)
		err = start_writer(capture);
	/* Release: pairs with the acquire of the bursts, which then find the rings. */
	if (!err)
		__atomic_store_n(&ethdev->capturing, 1, __ATOMIC_RELEASE);
	return err;
}

int ethdev_capture_stop(struct port *port)
{
	struct ethdev_port *ethdev = to_ethdev(port);

	if (!ethdev->capture || !ethdev->capture->started)
		return -ENOENT;
	__atomic_store_n(&ethdev->capturing, 0, __ATOMIC_RELAXED);
	/* Release: pairs with the writer's acquire, which then sees what is in the rings. */
	__atomic_store_n(&ethdev->capture->stop, 1, __ATOMIC_RELEASE);
	join(ethdev->capture);
	return 0;
}

void ethdev_capture_counts(struct port *port, struct capture_counts *counts)
{
	const struct capture *capture = to_ethdev(port)->capture;

	*counts = (struct capture_counts){0};
	if (!capture)
		return;
	counts->packets = __atomic_load_n(&capture->packets, __ATOMIC_RELAXED);
	counts->bytes = __atomic_load_n(&capture->bytes, __ATOMIC_RELAXED);
	counts->dropped = capture_dropped(capture);
}

void capture_close(struct ethdev_port *ethdev)
{
	ethdev_capture_stop(&ethdev->port);
	if (ethdev->capture)
		free_capture(ethdev->capture);
	ethdev->capture = NULL;
}
