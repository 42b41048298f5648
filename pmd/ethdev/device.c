/* SPDX-License-Identifier: BSD-3-Clause */
/* The drivers' differences as a table, and the sizes that follow. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_ethdev.h>
#include <rte_kvargs.h>
#include <rte_mbuf.h>

#include "device.h"
#include "kernel.h"
#include "log.h"

/*
 * net_af_packet reports a maximum of 1518 bytes and carries what its slots hold; net_memif refuses
 * to be configured for more than 1500 and sends more in chained buffers; net_ring and net_null hand
 * buffers over. net_af_packet closes its sockets when it stops.
 */
static const struct driver drivers[] = {
	{"net_af_packet", MTU_INTERFACE, true, false, true, WAKE_PACKET_SOCKET},
	{"net_af_xdp", MTU_INTERFACE, false, true, false, WAKE_XDP_SOCKET},
	{"net_pcap", MTU_INTERFACE, false, false, false, WAKE_NONE},
	{"net_tap", MTU_INTERFACE, false, false, false, WAKE_INTERRUPT},
	{"net_memif", MTU_BUFFER, false, false, false, WAKE_NONE},
	{"net_null", MTU_BUFFER, false, false, false, WAKE_NONE},
	{"net_ring", MTU_BUFFER, false, false, false, WAKE_NONE},
};

static const struct driver any_driver = {"any", MTU_DEVICE, false, false, false, WAKE_INTERRUPT};

#define BUFFER_MTU_DEFAULT 4200u /* holds every packet of path MTU 4096, with room */
#define BUFFER_MTU_MAX 9600u
#define MTU_MIN 576u /* RFC 791: every host takes it; below it path MTU 512 would not fit */

/*
 * tpacket_v2 puts 66 bytes before a received frame: its header and a sockaddr_ll, aligned, with the
 * Ethernet header before a multiple of 16 (packet_mmap: tp_net, tp_mac).
 */
#define AF_PACKET_OVERHEAD (66u + 14u)
#define AF_PACKET_FRAME_SIZE 2048u /* the driver's default */

/* AF_XDP: the kernel keeps these bytes of a buffer before each frame (XDP_PACKET_HEADROOM), and
 * drops what does not fit behind them. */
#define XDP_HEADROOM 256u
/* What else of a page is not the frame's: rte_mempool's header, the mbuf, its headroom, and the
 * cache line by which rte_mempool may make an object longer, to spread them over memory channels.
 * (The driver's own max_mtu forgets the last.) */
#define PAGE_OVERHEAD                                                                              \
	(RTE_CACHE_LINE_ROUNDUP(sizeof(struct rte_mempool_objhdr)) + sizeof(struct rte_mbuf) +     \
		RTE_PKTMBUF_HEADROOM + RTE_CACHE_LINE_SIZE + XDP_HEADROOM)

static const struct driver *driver_of(const char *name)
{
	for (unsigned int i = 0; i < RTE_DIM(drivers); i++)
		if (strcmp(drivers[i].name, name) == 0)
			return &drivers[i];
	return &any_driver;
}

/* A name, or a decimal number as testpmd takes it. */
static int find_id(const char *name, uint16_t *id)
{
	char *end;
	unsigned long number;

	if (rte_eth_dev_get_port_by_name(name, id) == 0)
		return 0;
	number = strtoul(name, &end, 10);
	if (*name < '0' || *name > '9' || *end || number >= RTE_MAX_ETHPORTS)
		return -ENODEV;
	*id = (uint16_t)number;
	return rte_eth_dev_is_valid_port(*id) ? 0 : -ENODEV;
}

static void log_devices(const char *name)
{
	char known[256] = "", one[RTE_ETH_NAME_MAX_LEN];
	uint16_t id;

	RTE_ETH_FOREACH_DEV(id)
	{
		size_t used = strlen(known);

		if (rte_eth_dev_get_name_by_port(id, one) == 0)
			snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "", one);
	}
	log_error("there is no DPDK port %s; there is: %s", name,
		*known ? known : "none (name one to EAL with --vdev or --allow)");
}

static int frame_size_of(const char *key, const char *value, void *result)
{
	char *end;
	unsigned long size = strtoul(value, &end, 0);

	if (*end || size <= AF_PACKET_OVERHEAD || size > UINT16_MAX)
		return -EINVAL;
	*(uint32_t *)result = (uint32_t)size;
	return 0;
}

/* The framesz that the device was made with. */
static uint32_t read_frame_size(const struct device *device)
{
	const struct rte_devargs *devargs = rte_dev_devargs(device->info.device);
	struct rte_kvargs *arguments;
	uint32_t size = AF_PACKET_FRAME_SIZE;

	if (!devargs || !devargs->args)
		return size;
	arguments = rte_kvargs_parse(devargs->args, NULL);
	if (!arguments)
		return size;
	rte_kvargs_process(arguments, "framesz", frame_size_of, &size);
	rte_kvargs_free(arguments);
	return size;
}

int device_find(struct device *device, const char *name)
{
	memset(device, 0, sizeof(*device));
	if (find_id(name, &device->id) || rte_eth_dev_info_get(device->id, &device->info) ||
		rte_eth_dev_get_name_by_port(device->id, device->name)) {
		log_devices(name);
		return -ENODEV;
	}
	device->driver = driver_of(device->info.driver_name);
	if (device->info.if_index)
		if_indextoname(device->info.if_index, device->interface);
	if (device->driver->has_frame_size)
		device->frame_size = read_frame_size(device);
	return 0;
}

/* The largest MTU of which a frame, with all around it, fits a page. */
static uint32_t page_limit(void)
{
	return (uint32_t)((uint64_t)sysconf(_SC_PAGESIZE) - PAGE_OVERHEAD - DEVICE_L2);
}

/* The largest MTU that the kernel's interface and the slots shared with it let through. */
static int interface_limit(const struct device *device, uint32_t *limit)
{
	int mtu = kernel_mtu(device->interface);

	if (mtu < 0) {
		log_error("the MTU of interface %s is unknown: %s", device->interface,
			strerror(-mtu));
		return -EINVAL;
	}
	*limit = (uint32_t)mtu;
	if (device->driver->page_bound && *limit > page_limit())
		*limit = page_limit();
	if (device->driver->has_frame_size && *limit > device->frame_size - AF_PACKET_OVERHEAD) {
		*limit = device->frame_size - AF_PACKET_OVERHEAD;
		/* the driver's default block would be too small for such a slot */
		log_notice("%s carries %u of the %d bytes that %s could: give it framesz=%u,"
			   "blocksz=65536",
			device->name, *limit, mtu, device->interface,
			rte_align32pow2((uint32_t)mtu + AF_PACKET_OVERHEAD));
	}
	return 0;
}

/* `normal` is what the device carries unless more is wanted, `limit` what it can. */
static int limits(const struct device *device, uint32_t *normal, uint32_t *limit)
{
	uint16_t mtu = 0;
	int err = 0;

	switch (device->driver->mtu_source) {
	case MTU_INTERFACE:
		if (*device->interface) {
			err = interface_limit(device, limit);
			*normal = *limit;
			break;
		}
		__attribute__((fallthrough)); /* net_pcap on files has no interface */
	case MTU_BUFFER:
		*normal = BUFFER_MTU_DEFAULT;
		*limit = BUFFER_MTU_MAX;
		break;
	case MTU_DEVICE:
		err = rte_eth_dev_get_mtu(device->id, &mtu);
		*normal = mtu;
		*limit = device->info.max_mtu;
		break;
	}
	return err;
}

int device_decide_mtu(struct device *device, uint32_t wanted)
{
	uint32_t normal = 0, limit = 0;
	int err = limits(device, &normal, &limit);

	if (err)
		return err;
	device->mtu = wanted ? wanted : normal;
	if (device->mtu > limit || device->mtu < MTU_MIN) {
		log_error("%s cannot carry an MTU of %u: %u to %u (its interface's MTU, framesz, "
			  "or the device limit it)",
			device->name, device->mtu, MTU_MIN, limit);
		return -EINVAL;
	}
	device->room = device->mtu + DEVICE_L2;
	if (device->room < device->frame_size)
		device->room = device->frame_size; /* the driver insists on a slot's size */
	if (device->driver->page_bound)
		device->room += XDP_HEADROOM;
	/* Some NICs cut buffers to multiples of 1 KiB. A page leaves no room for that. */
	device->room = RTE_ALIGN(device->room, device->driver->page_bound ? 64u : 1024u);
	if (device->room < RTE_MBUF_DEFAULT_DATAROOM)
		device->room = RTE_MBUF_DEFAULT_DATAROOM;
	return 0;
}
