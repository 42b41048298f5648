/* SPDX-License-Identifier: BSD-3-Clause */
/* From the rings into the file, by a thread of its own. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_ethdev.h>

#include "capture_parts.h"
#include "log.h"

#define IDLE_NS 500000l /* the writer's nap when there is nothing to write */

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
	rte_pktmbuf_free_bulk(frames, to_write);
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
		if (frames[i]->hash.usr == CAPTURE_NOT_SENT)
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

static void end_file(struct capture *capture)
{
	if (!capture->full)
		rte_pcapng_write_stats(capture->file, capture->ethdev->id, NULL,
			capture->start_time, capture_time(), capture->packets,
			capture_dropped(capture));
	rte_pcapng_close(capture->file);
	capture->file = NULL;
	if (capture->full)
		return;
	log_notice("%s: captured into %s (packets: %llu, bytes: %llu, dropped: %llu)",
		capture->ethdev->device.name, capture->config.file,
		(unsigned long long)capture->packets, (unsigned long long)capture->bytes,
		(unsigned long long)capture_dropped(capture));
}

/* A reader that goes away, a limit of the file's size: EPIPE and EFBIG instead. */
static void make_errors_of_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	sigaddset(&set, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

void *capture_writer(void *context)
{
	static const struct timespec nap = {.tv_nsec = IDLE_NS};
	struct capture *capture = context;
	bool stop = false, anything = false;

	make_errors_of_signals();
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
