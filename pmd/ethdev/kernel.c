/* SPDX-License-Identifier: BSD-3-Clause */
/* netdevice(7), getifaddrs(3) and packet(7). */
#include <errno.h>
#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "address.h"
#include "kernel.h"

static void name_request(struct ifreq *request, const char *interface)
{
	memset(request, 0, sizeof(*request));
	strncpy(request->ifr_name, interface, sizeof(request->ifr_name) - 1);
}

int kernel_mtu(const char *interface)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request;
	int result;

	if (fd < 0)
		return -errno;
	name_request(&request, interface);
	result = ioctl(fd, SIOCGIFMTU, &request) ? -errno : request.ifr_mtu;
	close(fd);
	return result;
}

bool kernel_link_is_up(int fd, const char *interface)
{
	struct ifreq request;

	name_request(&request, interface);
	if (ioctl(fd, SIOCGIFFLAGS, &request))
		return false;
	return (request.ifr_flags & (IFF_UP | IFF_RUNNING)) == (IFF_UP | IFF_RUNNING);
}

static bool is_address(const struct sockaddr *socket_address, const uint8_t gid[16])
{
	struct sockaddr_in6 ipv6;
	struct sockaddr_in ipv4;
	uint8_t mapped[16];

	if (!socket_address)
		return false;
	if (socket_address->sa_family == AF_INET) {
		memcpy(&ipv4, socket_address, sizeof(ipv4));
		address_from_ipv4(mapped, (const uint8_t *)&ipv4.sin_addr);
		return address_equal(mapped, gid);
	}
	if (socket_address->sa_family != AF_INET6)
		return false;
	memcpy(&ipv6, socket_address, sizeof(ipv6));
	return address_equal(ipv6.sin6_addr.s6_addr, gid);
}

bool kernel_has_address(const uint8_t gid[16], char interface[IF_NAMESIZE])
{
	struct ifaddrs *list;
	bool found = false;

	if (getifaddrs(&list))
		return false;
	for (struct ifaddrs *at = list; at && !found; at = at->ifa_next) {
		found = is_address(at->ifa_addr, gid);
		if (found) {
			memset(interface, 0, IF_NAMESIZE);
			strncpy(interface, at->ifa_name, IF_NAMESIZE - 1);
		}
	}
	freeifaddrs(list);
	return found;
}

int kernel_filter_open(unsigned int index)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_ifindex = (int)index};
	/* Protocol 0, here and in bind(): no frame is queued to this socket. */
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err;

	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

int kernel_filter_add(int fd, unsigned int index, const uint8_t mac[6])
{
	struct packet_mreq request = {
		.mr_ifindex = (int)index,
		.mr_type = mac_is_multicast(mac) ? PACKET_MR_MULTICAST : PACKET_MR_UNICAST,
		.mr_alen = ETH_ALEN,
	};

	memcpy(request.mr_address, mac, ETH_ALEN);
	if (setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, sizeof(request)))
		return -errno;
	return 0;
}
