/* SPDX-License-Identifier: BSD-3-Clause */
/* udp(7), socket(7). */
#include <errno.h>
#include <linux/filter.h>
#include <linux/udp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "address.h"
#include "kernel_udp.h"
#include "log.h"

#define ROCE_PORT 4791
#define DISCARD_PORT 9

union any_address {
	struct sockaddr base;
	struct sockaddr_in ipv4;
	struct sockaddr_in6 ipv6;
};

static socklen_t set_address(
	union any_address *any, const uint8_t gid[16], uint16_t port, unsigned int index)
{
	memset(any, 0, sizeof(*any));
	if (address_is_ipv4(gid)) {
		any->ipv4.sin_family = AF_INET;
		any->ipv4.sin_port = htons(port);
		memcpy(&any->ipv4.sin_addr, address_ipv4(gid), sizeof(any->ipv4.sin_addr));
		return sizeof(any->ipv4);
	}
	any->ipv6.sin6_family = AF_INET6;
	any->ipv6.sin6_port = htons(port);
	memcpy(&any->ipv6.sin6_addr, gid, sizeof(any->ipv6.sin6_addr));
	if (address_is_link_local(gid))
		any->ipv6.sin6_scope_id = index;
	return sizeof(any->ipv6);
}

/* A filter that takes 0 bytes of everything, and what else keeps the socket empty and quiet. */
static int throw_away(int fd, const uint8_t gid[16])
{
	struct sock_filter take_nothing = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog filter = {.len = 1, .filter = &take_nothing};
	int yes = 1, least = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)))
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least));
	/* RoCE's checksum is 0: with IPv6 the kernel would find fault with that before the filter.
	 */
	if (!address_is_ipv4(gid))
		setsockopt(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, &yes, sizeof(yes));
	return 0;
}

/* Bound to the address. The filter is there before a datagram can be. */
static int open_bound(const uint8_t gid[16], uint16_t port, unsigned int index)
{
	union any_address any;
	socklen_t length = set_address(&any, gid, port, index);
	int fd = socket(any.base.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int err;

	if (fd < 0)
		return -errno;
	err = throw_away(fd, gid);
	if (!err && bind(fd, &any.base, length))
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

static bool is_held(const struct held_addresses *held, const uint8_t gid[16])
{
	for (uint16_t i = 0; i < held->count; i++)
		if (address_equal(held->held[i].gid, gid))
			return true;
	return false;
}

static void let_go(struct held_addresses *held, const struct gids_list *list)
{
	uint16_t kept = 0;

	for (uint16_t i = 0; i < held->count; i++) {
		if (gids_list_has(list, held->held[i].gid))
			held->held[kept++] = held->held[i];
		else
			close(held->held[i].fd);
	}
	held->count = kept;
}

static int hold(struct held_addresses *held, const uint8_t gid[16])
{
	char text[ADDRESS_TEXT];
	int fd = open_bound(gid, ROCE_PORT, held->index);

	if (fd == -EADDRINUSE)
		log_error(
			"UDP port 4791 of %s is taken: by the kernel's Soft-RoCE (rdma link show; "
			"rmmod rdma_rxe), or by another engine that shares this address",
			address_format(text, gid));
	else if (fd < 0)
		log_error("UDP port 4791 of %s cannot be held: %s", address_format(text, gid),
			strerror(-fd));
	if (fd < 0)
		return fd;
	memcpy(held->held[held->count].gid, gid, ADDRESS_LENGTH);
	held->held[held->count++].fd = fd;
	return 0;
}

int held_update(struct held_addresses *held, struct gids_list *list)
{
	int result = 0;
	uint16_t kept = 0;

	let_go(held, list);
	for (uint16_t i = 0; i < list->count; i++) {
		int err = is_held(held, list->gid[i].gid) ? 0 : hold(held, list->gid[i].gid);

		if (err)
			result = err;
		else
			list->gid[kept++] = list->gid[i];
	}
	list->count = kept;
	return result;
}

void udp_nudge(const uint8_t source[16], const uint8_t next[16], unsigned int index)
{
	union any_address any;
	socklen_t length = set_address(&any, next, DISCARD_PORT, index);
	int fd = -1;

	/* A next hop of the other family gets its datagram from whatever source the kernel takes.
	 */
	if (address_is_ipv4(source) == address_is_ipv4(next))
		fd = open_bound(source, 0, index);
	if (fd < 0)
		fd = socket(any.base.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	sendto(fd, "", 0, MSG_DONTWAIT | MSG_NOSIGNAL, &any.base, length);
	close(fd);
}
