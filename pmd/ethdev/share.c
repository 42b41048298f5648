/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sharing needs a device that leaves to the kernel what is the kernel's. net_af_packet and net_pcap
 * do: they see copies. net_af_xdp takes all of its queue's frames away, unless an XDP program of
 * our own takes RoCE only. net_tap is the other end of the kernel's interface, and not that
 * interface: a frame from the kernel's own address would arrive there, from outside. Other devices
 * with an interface of the kernel's are bifurcated NICs, which have to be told what is ours.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_kvargs.h>

#include "ethdev_port.h"
#include "log.h"
#include "share.h"

/* What a port of net_af_xdp lacks, as meson.build found. */
#ifdef XDP_PROGRAM
#define XDP_ADVICE "Give it xdp_prog=" XDP_PROGRAM
#else
#define XDP_ADVICE                                                                                 \
	"The program that leaves them there, roce_xdp.o, was not built with this library, for "    \
	"want of clang: build it, and give it xdp_prog=PATH"
#endif

static bool device_has_argument(const struct device *device, const char *key)
{
	const struct rte_devargs *devargs = rte_dev_devargs(device->info.device);
	struct rte_kvargs *arguments;
	bool found;

	if (!devargs || !devargs->args)
		return false;
	arguments = rte_kvargs_parse(devargs->args, NULL);
	if (!arguments)
		return false;
	found = rte_kvargs_count(arguments, key) > 0;
	rte_kvargs_free(arguments);
	return found;
}

static int refuse(const struct device *device, const char *why)
{
	log_error("%s cannot share the kernel's addresses: %s", device->name, why);
	return -EINVAL;
}

int share_check(const struct ethdev_port *ethdev, const struct ethdev_config *config)
{
	const struct device *device = &ethdev->device;
	const char *driver = device->driver->name;

	if (!*device->interface)
		return refuse(device, "there is no interface of the kernel's behind it");
	if (strcmp(driver, "net_tap") == 0)
		return refuse(device,
			"the kernel is at the other end of it. Give the port addresses of its own, "
			"or use net_af_packet on the interface that has the address");
	if (strcmp(driver, "net_af_xdp") == 0 && !device_has_argument(device, "xdp_prog"))
		return refuse(device,
			"without a program it takes all frames of its queue away from the kernel, "
			"ARP too. " XDP_ADVICE);
	return 0;
}

bool share_by_isolation(const struct device *device, const struct ethdev_config *config)
{
	return config->address_mode == ADDRESS_KERNEL && device->driver->mtu_source == MTU_DEVICE;
}
