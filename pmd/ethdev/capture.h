/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets into a file (pcapng), both directions, as they cross the port: frames between addresses
 * of the engine's own never do, and are not in it.
 *
 * The data path copies frames into a ring of its queue; a thread writes them. What the thread does
 * not keep up with is dropped and counted: the data path neither waits nor frees. When nothing is
 * captured there is one branch a burst.
 */
#ifndef UROCE_ETHDEV_CAPTURE_H
#define UROCE_ETHDEV_CAPTURE_H

#include <stdint.h>

struct ethdev_port;
struct port;
struct rte_mbuf;

#define CAPTURE_FILE_MAX 256u

struct capture_config {
	char file[CAPTURE_FILE_MAX]; /* "": no capture */
	uint32_t snaplen;	     /* bytes of a frame that are kept; 0: all */
	uint64_t packets, bytes;     /* of the file: it ends with them; 0: no limit */
};

struct capture_counts {
	uint64_t packets, bytes; /* written */
	uint64_t dropped;	 /* the thread didn't keep up */
};

/* ---- control: one thread at a time ---- */

/*
 * Begins a file. 0; -EBUSY (there is a capture), -ENOMEM, or why the file cannot be opened, with
 * one log line each. A file that cannot be written to any more, such as on a full disk, ends the
 * capture with a line; nothing else does.
 */
int ethdev_capture_start(struct port *port, const struct capture_config *config);
/* Ends it, when all that was captured is in the file. 0, or -ENOENT: there is none. */
int ethdev_capture_stop(struct port *port);
/* Of the latest capture. */
void ethdev_capture_counts(struct port *port, struct capture_counts *counts);
/* Before the port is freed: ends the capture, and gives everything back. */
void capture_close(struct ethdev_port *ethdev);

/* ---- the data path: the queue's core, only if ethdev->capturing ---- */

void capture_received(
	struct ethdev_port *ethdev, uint16_t queue, struct rte_mbuf **mbufs, unsigned int n);
/* Sends, and captures what the device took. Returns how many. */
uint16_t capture_send(
	struct ethdev_port *ethdev, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n);

#endif
