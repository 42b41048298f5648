/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any DPDK Ethernet device as a port of the engine. Its addresses are its own, with the network
 * rules of pmd/net, or those of the kernel's interface behind the device. EAL must be running.
 */
#ifndef UROCE_ETHDEV_ETHDEV_H
#define UROCE_ETHDEV_ETHDEV_H

#include <stdbool.h>
#include <stdint.h>

#include "capture.h"
#include "net.h"
#include "port.h"

/*
 * While there is a memory zone of this name, devices have no owner once they run: dpdk-dumpcap and
 * its like see only those that nobody owns. Who has started EAL for itself alone may say so; in an
 * application's EAL the owner keeps our devices out of its loops.
 */
#define ETHDEV_SHOWN "uroce_shown"

/*
 * So many threads at a time, besides EAL's lcores, may have caches in front of the mbuf pools. A
 * pool keeps more mbufs than all caches together can hold, however many threads drive engines.
 */
#define ETHDEV_CACHED_THREADS 8u

#define ETHDEV_NAME_MAX 64u /* RTE_ETH_NAME_MAX_LEN */

enum address_mode {
	ADDRESS_OWN, /* the port answers for its addresses itself; the kernel must not have them */
	ADDRESS_KERNEL, /* the kernel does; network.addresses limits which of its are shared */
};

struct ethdev_config {
	char device[ETHDEV_NAME_MAX]; /* the ethdev port's name, or its number */
	uint16_t queues;	      /* 0: one */
	uint32_t mtu;		      /* bytes of layer 3; 0: what the device carries */
	uint32_t mbufs;		      /* 0: by the number of descriptors */
	bool has_mac;		      /* else the device's own */
	uint8_t mac[6];
	enum address_mode address_mode;
	struct net_config network;
	struct capture_config capture;
};

/*
 * Sets the device up and starts it. 0; one log line and -ENODEV (no such device), -EBUSY (somebody
 * else uses it), -EADDRINUSE (the kernel has one of the addresses on that link; or, where
 * they are the kernel's, somebody has UDP port 4791), -EADDRNOTAVAIL (the kernel does not have one
 * that it should), -EINVAL (addresses, routes, MTU, queues), -ENOMEM, or what the driver gave.
 */
int ethdev_port_open(const struct ethdev_config *config, struct port **port);

#endif
