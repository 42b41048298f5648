/* SPDX-License-Identifier: BSD-3-Clause */
/* From a device as EAL found it to one that runs, and back. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include "address.h"
#include "ethdev_port.h"
#include "isolate.h"
#include "kernel.h"
#include "log.h"
#include "steering.h"
#include "share.h"

#define DESCRIPTORS 1024u
#define MBUFS_SPARE 1024u /* in the core's cache, in bursts, in the outbox */
#define DRAIN_BURSTS 4096u

static int failed(const struct ethdev_port *ethdev, const char *what, int err)
{
	log_error("%s: %s: %s", ethdev->device.name, what, rte_strerror(-err));
	return err;
}

static int configure(struct ethdev_port *ethdev)
{
	const struct rte_eth_dev_info *info = &ethdev->device.info;
	uint16_t n = ethdev->queue_count;
	struct rte_eth_conf conf = {0};
	int err;

	if (n > info->max_rx_queues || n > info->max_tx_queues) {
		log_error("%s has %u receive and %u send queues, not %u", ethdev->device.name,
			info->max_rx_queues, info->max_tx_queues, n);
		return -EINVAL;
	}
	/* Where ethdev doesn't know the MTU it refuses one above what the driver reports. */
	if (ethdev->device.driver->mtu_source == MTU_DEVICE)
		conf.rxmode.mtu = ethdev->device.mtu;
	/* All that we send is from one pool and has one reference. */
	conf.txmode.offloads = info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
	if (n > 1) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf =
			info->flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP);
	}
	conf.intr_conf.rxq = ethdev->interrupts;
	err = rte_eth_dev_configure(ethdev->id, n, n, &conf);
	if (err == -EBUSY)
		log_error("%s has been started by somebody else: stop it first, uroce sets it up",
			ethdev->device.name);
	else if (err && !ethdev->interrupts)
		failed(ethdev, "the device cannot be configured", err);
	return err;
}

static int open_pool(struct ethdev_port *ethdev, uint32_t wanted, uint16_t rx, uint16_t tx)
{
	uint32_t needed = ethdev->queue_count * ((uint32_t)rx + tx) + MBUFS_SPARE;

	/* rte_mempool uses its memory best with 2^n - 1 objects. */
	ethdev->pool = pool_open(ethdev->id, wanted ? wanted : rte_align32pow2(needed) - 1,
		ethdev->device.room, rte_eth_dev_socket_id(ethdev->id));
	return ethdev->pool ? 0 : -ENOMEM;
}

static int setup_queues(struct ethdev_port *ethdev, const struct ethdev_config *config)
{
	int socket = rte_eth_dev_socket_id(ethdev->id);
	uint16_t rx = DESCRIPTORS, tx = DESCRIPTORS;
	struct sockets before;
	int err = rte_eth_dev_adjust_nb_rx_tx_desc(ethdev->id, &rx, &tx);

	if (err)
		return failed(ethdev, "the number of descriptors is refused", err);
	err = open_pool(ethdev, config->mbufs, rx, tx);
	for (uint16_t i = 0; !err && i < ethdev->queue_count; i++) {
		descriptors_before_queue(ethdev, &before);
		err = rte_eth_rx_queue_setup(
			ethdev->id, i, rx, (unsigned int)socket, NULL, ethdev->pool);
		descriptors_after_queue(ethdev, i, &before);
		if (!err)
			err = rte_eth_tx_queue_setup(ethdev->id, i, tx, (unsigned int)socket, NULL);
		if (err)
			failed(ethdev, "a queue cannot be set up", err);
	}
	return err;
}

/* The groups whose frames must come in: one a solicited-node group, and all nodes (RFC 4861 7.2.1).
 */
static unsigned int groups(
	const struct net_config *network, const uint8_t own_mac[6], struct rte_ether_addr *macs)
{
	unsigned int n = 0;
	uint8_t address[16], group[16];

	for (uint16_t i = 0; i < network->address_count; i++) {
		if (address_is_ipv4(network->addresses[i].gid))
			continue;
		address_solicited_node(group, network->addresses[i].gid);
		address_multicast_mac(macs[n++].addr_bytes, group);
	}
	if (network->link_local) {
		address_link_local(address, own_mac);
		address_solicited_node(group, address);
		address_multicast_mac(macs[n++].addr_bytes, group);
	}
	if (n > 0)
		address_multicast_mac(macs[n++].addr_bytes, address_all_nodes);
	return n;
}

#define GROUPS_MAX (PORT_GIDS_MAX + 2)

/* Through the kernel, where an interface of its stands behind the device. */
static int filter_by_kernel(struct ethdev_port *ethdev, const struct ethdev_config *config,
	const struct rte_ether_addr *macs, unsigned int n)
{
	unsigned int index = ethdev->device.info.if_index;
	int err = 0;

	ethdev->filter = kernel_filter_open(index);
	if (ethdev->filter < 0) {
		err = ethdev->filter;
		return failed(ethdev, "no packet socket", err);
	}
	if (config->has_mac)
		err = kernel_filter_add(ethdev->filter, index, ethdev->mac);
	for (unsigned int i = 0; !err && i < n; i++)
		err = kernel_filter_add(ethdev->filter, index, macs[i].addr_bytes);
	return err ? failed(ethdev, "the interface does not take a MAC in", err) : 0;
}

/* A virtual device without any filter takes everything in; a NIC that refuses all three is deaf. */
static int filter_by_device(struct ethdev_port *ethdev, const struct ethdev_config *config,
	struct rte_ether_addr *macs, unsigned int n)
{
	struct rte_ether_addr own;
	int err = 0;

	memcpy(own.addr_bytes, ethdev->mac, sizeof(own.addr_bytes));
	if (config->has_mac)
		err = rte_eth_dev_default_mac_addr_set(ethdev->id, &own);
	if (!err && n > 0 && rte_eth_dev_set_mc_addr_list(ethdev->id, macs, n))
		err = rte_eth_allmulticast_enable(ethdev->id);
	if (err)
		err = rte_eth_promiscuous_enable(ethdev->id);
	if (err == -ENOTSUP && ethdev->device.driver->mtu_source == MTU_BUFFER)
		return 0;
	return err ? failed(ethdev, "neither a filter nor promiscuous mode can be set", err) : 0;
}

static int set_filters(struct ethdev_port *ethdev, const struct ethdev_config *config)
{
	struct rte_ether_addr macs[GROUPS_MAX];
	unsigned int n = 0;

	/* The kernel joins the groups of its own addresses. */
	if (config->address_mode == ADDRESS_OWN)
		n = groups(&config->network, ethdev->mac, macs);
	if (ethdev->device.driver->mtu_source == MTU_INTERFACE && *ethdev->device.interface)
		return filter_by_kernel(ethdev, config, macs, n);
	return filter_by_device(ethdev, config, macs, n);
}

bool ethdev_link(struct ethdev_port *ethdev, uint32_t *speed_mbps)
{
	struct rte_eth_link link = {0};

	if (rte_eth_link_get_nowait(ethdev->id, &link))
		return false;
	if (link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN)
		*speed_mbps = link.link_speed;
	/* The drivers of a kernel's interface say "up" from start to stop. */
	if (ethdev->filter >= 0)
		return kernel_link_is_up(ethdev->filter, ethdev->device.interface);
	return link.link_status == RTE_ETH_LINK_UP;
}

static int bring_up(struct ethdev_port *ethdev, const struct ethdev_config *config)
{
	int err = configure(ethdev);

	if (!err)
		err = setup_queues(ethdev, config);
	if (err)
		return err;
	err = rte_eth_dev_start(ethdev->id);
	if (err && !ethdev->interrupts)
		failed(ethdev, "the device does not start", err);
	return err;
}

/* Several queues: to each the frames of its core's QPs, if the device can do that. */
static void steer(struct ethdev_port *ethdev)
{
	if (ethdev->queue_count == 1)
		return;
	ethdev->steered = steering_start(ethdev->id, ethdev->queue_count);
	log_info("%s: %s", ethdev->device.name,
		ethdev->steered ? "frames are steered to their QP's core"
				: "no rule by QP numbers: cores hand frames over");
}

int ethdev_start(struct ethdev_port *ethdev, const struct ethdev_config *config)
{
	int err;

	ethdev->isolated = share_by_isolation(&ethdev->device, config);
	err = ethdev->isolated ? isolate_begin(ethdev->id, ethdev->device.name) : 0;
	if (err)
		return err;
	ethdev->interrupts = ethdev->device.driver->wake == WAKE_INTERRUPT;
	err = bring_up(ethdev, config);
	if (err && err != -EBUSY && ethdev->interrupts) {
		/* not every driver takes rx interrupts on every bus */
		ethdev->interrupts = false;
		err = bring_up(ethdev, config);
	}
	if (err)
		return err;
	ethdev->started = true;
	descriptors_find(ethdev);
	steer(ethdev);
	if (!ethdev->isolated)
		return set_filters(ethdev, config);
	if (ethdev->steered)
		return 0;
	return isolate_roce(ethdev->id, ethdev->device.name, ethdev->queue_count);
}

/* What lies in the device's queues goes back to its pool. */
static void drain(struct ethdev_port *ethdev)
{
	struct rte_mbuf *mbufs[PORT_BURST];

	for (uint16_t queue = 0; queue < ethdev->queue_count; queue++) {
		uint16_t n = PORT_BURST;

		for (unsigned int i = 0; n > 0 && i < DRAIN_BURSTS; i++) {
			n = rte_eth_rx_burst(ethdev->id, queue, mbufs, PORT_BURST);
			rte_pktmbuf_free_bulk(mbufs, n);
		}
		rte_eth_tx_done_cleanup(ethdev->id, queue, 0);
	}
}

/* A driver that cannot be started twice is probed anew, so that the port can be opened again. */
static void probe_anew(const struct device *device)
{
	const struct rte_devargs *devargs = rte_dev_devargs(device->info.device);
	char text[1024];
	int err;

	if (!devargs)
		return;
	snprintf(text, sizeof(text), "%s,%s", devargs->name, devargs->args ? devargs->args : "");
	err = rte_dev_remove(device->info.device);
	if (!err)
		err = rte_dev_probe(text);
	if (err)
		log_warning("%s cannot be opened again: %s", device->name, rte_strerror(-err));
}

void ethdev_stop(struct ethdev_port *ethdev)
{
	if (ethdev->filter >= 0)
		close(ethdev->filter);
	ethdev->filter = -1;
	if (!ethdev->started)
		return;
	if (ethdev->steered)
		steering_stop(ethdev->id);
	if (ethdev->isolated)
		isolate_end(ethdev->id);
	drain(ethdev);
	rte_eth_dev_stop(ethdev->id);
	ethdev->started = false;
	if (ethdev->device.driver->stop_is_final)
		probe_anew(&ethdev->device);
}
