/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring and a pool per queue, each with one core at one end and the writer at the other: neither
 * side ever waits for the other, nor for a thread that was preempted amid its turn.
 *
 * Rings and pools are made at the first start and stay until the port is closed, since a core may
 * be amid a burst when a capture ends; what such a latecomer leaves in the ring is thrown away when
 * the next one begins.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_lcore.h>
#include <rte_mempool.h>
#include <rte_pcapng.h>
#include <rte_ring.h>

#include "capture.h"
#include "ethdev_port.h"
#include "log.h"

#define FRAMES 1024u	/* of a queue, on their way to the file */
#define IDLE_NS 500000l /* the writer's nap when there is nothing to write */
#define MARK_NOT_SENT 1u

struct capture_queue {
	struct rte_ring *ring;
	struct rte_mempool *pool;
	uint64_t dropped; /* by the queue's core; relaxed, orders nothing */
} __rte_cache_aligned;

struct capture {
	struct ethdev_port *ethdev;
	struct capture_config config;
	uint32_t length; /* bytes of a frame that are copied */
	rte_pcapng_t *file;
	pthread_t thread;
	bool started;	  /* the thread: to be joined */
	bool full;	  /* the file cannot be written to: said already */
	uint32_t stop;	  /* atomic; written by control */
	uint64_t packets; /* these two: written by the thread; relaxed */
	uint64_t bytes;
	uint64_t dropped_before; /* of earlier captures */
	uint64_t start_time;	 /* ns since 1970, and the TSC then */
	uint64_t start_cycles;
	struct capture_queue queues[];
};

/* ---- the data path ---- */

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
		copies[i]->hash.usr = MARK_NOT_SENT;
	hand_over(ethdev, queue, copies, copied);
	return sent;
}

/* ---- the writer ---- */

/* How many of n may still be written. */
static unsigned int allowed(const struct capture *capture, unsigned int n)
{
	uint64_t rest = capture->config.packets - capture->packets;

	if (capture->config.bytes && capture->bytes >= capture->config.bytes)
		return 0;
	return capture->config.packets && rest < n ? (unsigned int)rest : n;
}

/* Writes and frees. False: the file is at its end, with a line if that is an error. */
static bool write_frames(struct capture *capture, struct rte_mbuf **frames, unsigned int n)
{
	unsigned int to_write = allowed(capture, n);
	ssize_t bytes;

	rte_pktmbuf_free_bulk(frames + to_write, n - to_write);
	if (to_write == 0)
		return n == 0;
	bytes = rte_pcapng_write_packets(capture->file, frames, (uint16_t)to_write);
	if (bytes < 0) {
		log_error("%s: the capture ends, %s cannot be written to any more: %s",
			capture->ethdev->device.name, capture->config.file, strerror(errno));
		capture->full = true;
		return false;
	}
	__atomic_store_n(&capture->packets, capture->packets + to_write, __ATOMIC_RELAXED);
	__atomic_store_n(&capture->bytes, capture->bytes + (uint64_t)bytes, __ATOMIC_RELAXED);
	return allowed(capture, 1) == 1;
}

/* What is in a queue's ring now, without what was not sent. */
static unsigned int take(struct capture_queue *from, struct rte_mbuf *frames[PORT_BURST])
{
	unsigned int taken =
		rte_ring_sc_dequeue_burst(from->ring, (void **)frames, PORT_BURST, NULL);
	unsigned int kept = 0;

	for (unsigned int i = 0; i < taken; i++) {
		if (frames[i]->hash.usr == MARK_NOT_SENT)
			rte_pktmbuf_free(frames[i]);
		else
			frames[kept++] = frames[i];
	}
	return kept;
}

/* One turn over all queues. False: the file is at its end. */
static bool write_all(struct capture *capture, bool *anything)
{
	struct rte_mbuf *frames[PORT_BURST];

	*anything = false;
	for (uint16_t q = 0; q < capture->ethdev->queue_count; q++) {
		unsigned int n = take(&capture->queues[q], frames);

		if (n == 0)
			continue;
		*anything = true;
		if (!write_frames(capture, frames, n))
			return false;
	}
	return true;
}

static uint64_t dropped(const struct capture *capture)
{
	uint64_t sum = 0;

	for (uint16_t q = 0; q < capture->ethdev->queue_count; q++)
		sum += __atomic_load_n(&capture->queues[q].dropped, __ATOMIC_RELAXED);
	return sum - capture->dropped_before;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void end_file(struct capture *capture)
{
	if (!capture->full)
		rte_pcapng_write_stats(capture->file, capture->ethdev->id, NULL,
			capture->start_time, now_ns(), capture->packets, dropped(capture));
	rte_pcapng_close(capture->file);
	if (capture->full)
		return;
	log_notice("%s: captured into %s (packets: %llu, bytes: %llu, dropped: %llu)",
		capture->ethdev->device.name, capture->config.file,
		(unsigned long long)capture->packets, (unsigned long long)capture->bytes,
		(unsigned long long)dropped(capture));
}

/* Until control says stop, and then until the rings are empty. */
static void *writer(void *context)
{
	static const struct timespec nap = {.tv_nsec = IDLE_NS};
	struct capture *capture = context;
	bool stop = false, anything = false;

	while (!stop || anything) {
		stop = __atomic_load_n(&capture->stop, __ATOMIC_ACQUIRE);
		if (!write_all(capture, &anything))
			break;
		if (!anything && !stop)
			nanosleep(&nap, NULL);
	}
	__atomic_store_n(&capture->ethdev->capturing, 0, __ATOMIC_RELAXED);
	end_file(capture);
	return NULL;
}

/* ---- control ---- */

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

static void join(struct capture *capture)
{
	if (capture->started)
		pthread_join(capture->thread, NULL);
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
	int err = rte_ctrl_thread_create(&capture->thread, "uroce-capture", NULL, writer, capture);

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
	capture->dropped_before += dropped(capture);
	capture->start_time = now_ns();
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
	counts->dropped = dropped(capture);
}

void capture_close(struct ethdev_port *ethdev)
{
	ethdev_capture_stop(&ethdev->port);
	if (ethdev->capture)
		free_capture(ethdev->capture);
	ethdev->capture = NULL;
}
