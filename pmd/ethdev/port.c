/* SPDX-License-Identifier: BSD-3-Clause */
/* A port's life: found, claimed, checked against the kernel, set up, and given back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_memzone.h>

#include "address.h"
#include "capture.h"
#include "ethdev_port.h"
#include "kernel.h"
#include "log.h"
#include "share.h"

static void port_close(struct port *port);

static const struct port_ops ops = {
	.rx = ethdev_rx,
	.alloc = ethdev_alloc,
	.tx = ethdev_tx,
	.release = ethdev_release,
	.other = ethdev_other,
	.route = ethdev_route,
	.neighbour = ethdev_neighbour,
	.service = ethdev_service,
	.descriptor = ethdev_descriptor,
	.arm = ethdev_arm,
	.info = ethdev_info,
	.counters = ethdev_counters,
	.close = port_close,
};

/* Two engines must not share a device; ethdev keeps the owner. */
static int claim(struct ethdev_port *ethdev)
{
	struct rte_eth_dev_owner owner = {.name = "uroce"};
	int err = rte_eth_dev_owner_new(&owner.id);

	if (err)
		return err;
	if (rte_eth_dev_owner_set(ethdev->id, &owner)) {
		rte_eth_dev_owner_delete(owner.id);
		rte_eth_dev_owner_get(ethdev->id, &owner);
		log_error("%s is used by %s already", ethdev->device.name,
			*owner.name ? owner.name : "somebody else");
		return -EBUSY;
	}
	ethdev->owner = owner.id;
	return 0;
}

static void give_back(struct ethdev_port *ethdev)
{
	if (!ethdev->owner)
		return;
	rte_eth_dev_owner_unset(ethdev->id, ethdev->owner);
	rte_eth_dev_owner_delete(ethdev->owner);
	ethdev->owner = 0;
}

static int check_kernel_address(const struct ethdev_port *ethdev, const uint8_t gid[16])
{
	char text[ADDRESS_TEXT], interface[IF_NAMESIZE];

	if (!kernel_has_address(gid, interface))
		return 0;
	log_error("address %s is the kernel's (on %s), which answers for it on %s too: give %s "
		  "another one",
		address_format(text, gid), interface, ethdev->device.interface,
		ethdev->device.name);
	return -EADDRINUSE;
}

/* Only a device with an interface of the kernel's behind it shares a link with the kernel. */
static int check_kernel(const struct ethdev_port *ethdev, const struct net_config *network)
{
	uint8_t link_local[16];
	int err = 0;

	if (!*ethdev->device.interface)
		return 0;
	for (uint16_t i = 0; !err && i < network->address_count; i++)
		err = check_kernel_address(ethdev, network->addresses[i].gid);
	if (!err && network->link_local) {
		address_link_local(link_local, ethdev->mac);
		err = check_kernel_address(ethdev, link_local);
	}
	return err;
}

static int read_mac(struct ethdev_port *ethdev, const struct ethdev_config *config)
{
	struct rte_ether_addr address;
	int err;

	if (config->has_mac) {
		memcpy(ethdev->mac, config->mac, sizeof(ethdev->mac));
		return 0;
	}
	err = rte_eth_macaddr_get(ethdev->id, &address);
	if (!err)
		memcpy(ethdev->mac, address.addr_bytes, sizeof(ethdev->mac));
	if (!err && mac_is_unicast(ethdev->mac))
		return 0;
	log_error("%s has no MAC address: give it one with --mac", ethdev->device.name);
	return -EINVAL;
}

static int set_up(struct ethdev_port *ethdev, const struct ethdev_config *config)
{
	int err = device_decide_mtu(&ethdev->device, config->mtu);

	if (!err)
		err = read_mac(ethdev, config);
	if (!err)
		err = config->address_mode == ADDRESS_KERNEL
			? share_check(ethdev, config)
			: check_kernel(ethdev, &config->network);
	if (!err)
		err = control_open(ethdev, config);
	if (!err)
		err = ethdev_start(ethdev, config);
	if (!err)
		ethdev->up = ethdev_link(ethdev, &ethdev->speed_mbps);
	if (!err && rte_memzone_lookup(ETHDEV_SHOWN))
		give_back(ethdev);
	if (!err && *config->capture.file) /* it does without, if it must: there is a line */
		ethdev_capture_start(&ethdev->port, &config->capture);
	return err;
}

int ethdev_port_open(const struct ethdev_config *config, struct port **port)
{
	struct ethdev_port *ethdev = calloc(1, sizeof(*ethdev));
	uint16_t n = config->queues ? config->queues : 1;
	int err;

	if (!ethdev)
		return -ENOMEM;
	ethdev->port.ops = &ops;
	ethdev->filter = -1;
	ethdev->queue_count = n;
	err = device_find(&ethdev->device, config->device);
	if (err) {
		free(ethdev);
		return err;
	}
	ethdev->id = ethdev->device.id;
	ethdev->queues = rte_zmalloc("uroce_queues", n * sizeof(struct queue), RTE_CACHE_LINE_SIZE);
	err = ethdev->queues ? claim(ethdev) : -ENOMEM;
	if (!err)
		err = set_up(ethdev, config);
	if (err) {
		port_close(&ethdev->port);
		return err;
	}
	*port = &ethdev->port;
	log_info("%s: MTU %u, %u buffers of %u bytes", ethdev->device.name, ethdev->device.mtu,
		ethdev->pool->size, ethdev->device.room);
	return 0;
}

/* Takes one that is open in part, too. */
static void port_close(struct port *port)
{
	struct ethdev_port *ethdev = to_ethdev(port);

	control_close(ethdev);
	give_back(ethdev); /* first: to stop may be to probe anew, and then the device is another
			      one */
	ethdev_stop(ethdev);
	capture_close(ethdev);
	pool_close(ethdev->pool);
	rte_free(ethdev->queues);
	free(ethdev);
}
