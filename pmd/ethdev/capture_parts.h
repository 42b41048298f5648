/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inside of a capture. capture.c has the data path, capture_writer.c the thread that writes the
 * file, capture_control.c the rest.
 *
 * A ring and a pool per queue, each with one core at one end and the writer at the other: neither
 * side ever waits for the other, nor for a thread that was preempted amid its turn.
 *
 * Rings and pools are made at the first start and stay until the port is closed, since a core may
 * be amid a burst when a capture ends; what such a latecomer leaves in the ring is thrown away when
 * the next one begins.
 */
#ifndef UROCE_ETHDEV_CAPTURE_PARTS_H
#define UROCE_ETHDEV_CAPTURE_PARTS_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include <rte_mempool.h>
#include <rte_pcapng.h>
#include <rte_ring.h>

#include "capture.h"
#include "ethdev_port.h"

/* In the copy of a frame that was offered to the device: it didn't take it. */
#define CAPTURE_NOT_SENT 1u

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

/* Frames that the writer didn't keep up with, in this capture. */
static inline uint64_t capture_dropped(const struct capture *capture)
{
	uint64_t sum = 0;

	for (uint16_t q = 0; q < capture->ethdev->queue_count; q++)
		sum += __atomic_load_n(&capture->queues[q].dropped, __ATOMIC_RELAXED);
	return sum - capture->dropped_before;
}

/* Since 1970. */
static inline uint64_t capture_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The thread: until control says stop, and then until the rings are empty. */
void *capture_writer(void *capture);

#endif
