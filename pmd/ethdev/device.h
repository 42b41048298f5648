/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What has to be known of a DPDK device before it is set up: which it is, how large a frame it
 * carries, how large a buffer it wants. Drivers differ most here.
 */
#ifndef UROCE_ETHDEV_DEVICE_H
#define UROCE_ETHDEV_DEVICE_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>

#include "descriptor.h"

struct ethdev_config;

/* Where a driver's frame size comes from. */
enum mtu_source {
	MTU_DEVICE,    /* ethdev knows it and sets it */
	MTU_INTERFACE, /* the kernel's interface behind the driver has it; ethdev does not know it
			*/
	MTU_BUFFER,    /* none: what fits a buffer is carried */
};

struct driver {
	const char *name;
	enum mtu_source mtu_source;
	bool has_frame_size; /* argument framesz: the slots of a ring shared with the kernel */
	bool page_bound;     /* a buffer, its header included, must fit a page */
	bool stop_is_final;  /* after rte_eth_dev_stop() the device must be probed anew */
	enum wake wake;	     /* of a core that sleeps */
};

struct device {
	uint16_t id;
	struct rte_eth_dev_info info;
	const struct driver *driver;
	char name[RTE_ETH_NAME_MAX_LEN];
	char interface[IF_NAMESIZE]; /* the kernel's, or "" */
	uint32_t frame_size;	     /* has_frame_size: the slot */
	uint32_t mtu;
	uint32_t room; /* bytes of a frame that a buffer must hold */
};

/* Finds the device. 0 or -ENODEV. */
int device_find(struct device *device, const char *name);
/* Decides `mtu` and `room`. 0 or -EINVAL, and a line that says what to do. */
int device_decide_mtu(struct device *device, uint32_t wanted);

/* Layer 2 around an MTU: Ethernet header and one tag. The FCS is not in a buffer. */
#define DEVICE_L2 18u

#endif
