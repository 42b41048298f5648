/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a core that sleeps hears of frames: for each queue a descriptor for poll(2). It is the
 * driver's, and who closes it.
 *
 * Drivers differ in what they have. Those with rx interrupts give an eventfd that ethdev knows of
 * (net_virtio, net_virtio_user, NICs under VFIO), or the tap device itself (net_tap). In 22.11
 * net_af_packet and net_af_xdp have none, but read a socket's ring: the socket, which they keep to
 * themselves, is readable while the ring holds a frame, and is found among the process's
 * descriptors. net_memif has an eventfd and always masks its interrupts; net_ring, net_null and
 * net_pcap have nothing.
 */
#ifndef UROCE_ETHDEV_DESCRIPTOR_H
#define UROCE_ETHDEV_DESCRIPTOR_H

#include <stdbool.h>
#include <stdint.h>

struct ethdev_port;
struct port;

/* What a driver wakes a sleeper by. */
enum wake {
	WAKE_NONE,
	WAKE_INTERRUPT,	    /* ethdev's rx interrupts, if it takes them */
	WAKE_PACKET_SOCKET, /* packet(7), made when the device is probed */
	WAKE_XDP_SOCKET,    /* AF_XDP, made when the queue is set up */
};

#define SOCKETS_MAX 256u

/* Some of the process's descriptors. */
struct sockets {
	unsigned int count;
	int fd[SOCKETS_MAX];
};

/* Before rte_eth_rx_queue_setup(), and after it: what is new then is that queue's. */
void descriptors_before_queue(const struct ethdev_port *ethdev, struct sockets *before);
void descriptors_after_queue(
	struct ethdev_port *ethdev, uint16_t queue, const struct sockets *before);
/* The device has started: finds the others. A queue without a descriptor is no error. */
void descriptors_find(struct ethdev_port *ethdev);

/* For struct port_ops. */
int ethdev_descriptor(struct port *port, uint16_t queue);
void ethdev_arm(struct port *port, uint16_t queue, bool armed);

#endif
