/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The descriptors that drivers wake by: found, armed, and kept from waking without a cause.
 *
 * A socket's ring is level-triggered: poll(2) says POLLIN while the newest frame is still the
 * ring's (packet_poll(), xsk_poll()), so that a frame between the last look and the sleep ends the
 * sleep at once. An interrupt is not, and needs the look after arming that struct port_ops asks
 * for.
 *
 * When the interface goes down the kernel leaves ENETDOWN in the socket, and poll(2) says POLLERR
 * until somebody has read it: arming reads it. It is left once, so that a link that is down lets
 * the core sleep.
 */
#include <dirent.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "descriptor.h"
#include "ethdev_port.h"
#include "log.h"

/* ---- the process's descriptors ---- */

static bool has_domain(int fd, int domain)
{
	socklen_t size = sizeof(domain);
	int found;

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &found, &size) == 0 && found == domain;
}

/* Bound to the interface, and with a ring of the version that the driver asks for: the sockets of
 * our own filter have none. */
static bool is_ring_of(int fd, unsigned int interface)
{
	struct sockaddr_ll address = {0};
	socklen_t size = sizeof(address);
	int version;

	if (getsockname(fd, (struct sockaddr *)&address, &size) ||
		address.sll_ifindex != (int)interface)
		return false;
	size = sizeof(version);
	return getsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, &size) == 0 &&
		version == TPACKET_V2;
}

/* The name of an entry of /proc/self/fd, or -1. */
static int number(const char *name)
{
	char *end;
	long value = strtol(name, &end, 10);

	return *name == '\0' || *end != '\0' ? -1 : (int)value;
}

/* The sockets of a domain; none where /proc is not mounted. interface: 0 takes any. */
static void collect(struct sockets *sockets, int domain, unsigned int interface)
{
	DIR *table = opendir("/proc/self/fd");
	struct dirent *entry;

	sockets->count = 0;
	if (!table)
		return;
	while ((entry = readdir(table)) && sockets->count < SOCKETS_MAX) {
		int fd = number(entry->d_name);

		if (fd >= 0 && has_domain(fd, domain) && (!interface || is_ring_of(fd, interface)))
			sockets->fd[sockets->count++] = fd;
	}
	closedir(table);
}

static bool contains(const struct sockets *sockets, int fd)
{
	for (unsigned int i = 0; i < sockets->count; i++)
		if (sockets->fd[i] == fd)
			return true;
	return false;
}

/* ---- finding ---- */

static bool has_counter(int fd)
{
	static const char eventfd[] = "anon_inode:[eventfd]";
	char link[32], target[sizeof(eventfd)];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return readlink(link, target, sizeof(target)) == sizeof(eventfd) - 1 &&
		memcmp(target, eventfd, sizeof(eventfd) - 1) == 0;
}

static void keep(struct ethdev_port *ethdev, uint16_t queue, enum wake wake, int fd)
{
	ethdev->queues[queue].wake = wake;
	ethdev->queues[queue].descriptor = fd;
	ethdev->queues[queue].counts = has_counter(fd);
	log_debug("%s: queue %u wakes by descriptor %d", ethdev->device.name, queue, fd);
}

void descriptors_before_queue(const struct ethdev_port *ethdev, struct sockets *before)
{
	before->count = 0;
	if (ethdev->device.driver->wake == WAKE_XDP_SOCKET)
		collect(before, AF_XDP, 0);
}

/* Two that are new are one too many: somebody else makes sockets at the same time. */
void descriptors_after_queue(
	struct ethdev_port *ethdev, uint16_t queue, const struct sockets *before)
{
	struct sockets after;
	unsigned int made = 0;
	int fd = -1;

	if (ethdev->device.driver->wake != WAKE_XDP_SOCKET)
		return;
	collect(&after, AF_XDP, 0);
	for (unsigned int i = 0; i < after.count; i++)
		if (!contains(before, after.fd[i])) {
			fd = after.fd[i];
			made++;
		}
	if (made == 1 && before->count < SOCKETS_MAX)
		keep(ethdev, queue, WAKE_XDP_SOCKET, fd);
}

/*
 * A queue's socket stands first in what the driver keeps of it (struct pkt_rx_queue); it counts
 * only if it is one of those that were found. A single one needs no such confirmation.
 */
static void find_packet_sockets(struct ethdev_port *ethdev)
{
	struct sockets sockets;

	collect(&sockets, AF_PACKET, ethdev->device.info.if_index);
	for (uint16_t i = 0; i < ethdev->queue_count; i++) {
		int fd;

		memcpy(&fd, rte_eth_fp_ops[ethdev->id].rxq.data[i], sizeof(fd));
		if (contains(&sockets, fd))
			keep(ethdev, i, WAKE_PACKET_SOCKET, fd);
		else if (sockets.count == 1 && ethdev->queue_count == 1)
			keep(ethdev, i, WAKE_PACKET_SOCKET, sockets.fd[0]);
	}
}

/*
 * net_tap has a descriptor, the device itself, and nothing to enable: -ENOTSUP. A driver that has
 * the operation and refuses has no interrupts.
 */
static void find_interrupts(struct ethdev_port *ethdev)
{
	for (uint16_t i = 0; i < ethdev->queue_count; i++) {
		int fd = rte_eth_dev_rx_intr_ctl_q_get_fd(ethdev->id, i);
		int err = fd < 0 ? -ENOTSUP : rte_eth_dev_rx_intr_enable(ethdev->id, i);

		if (!err)
			rte_eth_dev_rx_intr_disable(ethdev->id, i);
		if (fd >= 0 && (!err || err == -ENOTSUP))
			keep(ethdev, i, WAKE_INTERRUPT, fd);
	}
}

void descriptors_find(struct ethdev_port *ethdev)
{
	if (ethdev->device.driver->wake == WAKE_PACKET_SOCKET)
		find_packet_sockets(ethdev);
	if (ethdev->interrupts)
		find_interrupts(ethdev);
}

/* ---- use ---- */

int ethdev_descriptor(struct port *port, uint16_t queue)
{
	const struct ethdev_port *ethdev = to_ethdev(port);

	if (queue >= ethdev->queue_count || ethdev->queues[queue].wake == WAKE_NONE)
		return -ENOTSUP;
	return ethdev->queues[queue].descriptor;
}

static void clear_error(int fd)
{
	socklen_t size = sizeof(int);
	int error;

	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
}

/* Not every driver has made its eventfd non-blocking. */
static void clear_count(int fd)
{
	struct pollfd at = {.fd = fd, .events = POLLIN};
	uint64_t count;

	if (poll(&at, 1, 0) == 1 && at.revents & POLLIN)
		(void)!read(fd, &count, sizeof(count));
}

void ethdev_arm(struct port *port, uint16_t queue, bool armed)
{
	struct ethdev_port *ethdev = to_ethdev(port);
	const struct queue *at = &ethdev->queues[queue];

	switch (at->wake) {
	case WAKE_NONE:
		break;
	case WAKE_INTERRUPT:
		if (armed) {
			rte_eth_dev_rx_intr_enable(ethdev->id, queue);
		} else {
			rte_eth_dev_rx_intr_disable(ethdev->id, queue);
			if (at->counts)
				clear_count(at->descriptor);
		}
		break;
	case WAKE_PACKET_SOCKET:
	case WAKE_XDP_SOCKET:
		if (armed)
			clear_error(at->descriptor);
		break;
	}
}
