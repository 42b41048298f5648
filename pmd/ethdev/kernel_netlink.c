/* SPDX-License-Identifier: BSD-3-Clause */
/* netlink(7), rtnetlink(7). */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernel_netlink.h"

#define HEAR_DATAGRAMS 32u    /* by one netlink_hear() */
#define STALE_DATAGRAMS 64u   /* answers to earlier questions, before the one that is wanted */
#define LIST_DATAGRAMS 65536u /* of 32 KiB: no list is that long */
#define HEAR_BYTES (1u << 20)

static const int groups[] = {RTNLGRP_LINK, RTNLGRP_NEIGH, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR,
	RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE};

static int open_socket(void)
{
	struct sockaddr_nl address = {.nl_family = AF_NETLINK};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	int err;

	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static int join(int fd)
{
	int bytes = HEAR_BYTES;

	/* The first needs CAP_NET_ADMIN, the second gives what the system allows. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (setsockopt(
			    fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &groups[i], sizeof(groups[i])))
			return -errno;
	return 0;
}

int netlink_open(struct kernel_netlink *netlink)
{
	int yes = 1, err;

	netlink->sequence = 0;
	netlink->hear = -1;
	netlink->ask = open_socket();
	if (netlink->ask < 0)
		return netlink->ask;
	/* Linux 4.20: lists of one interface. Without it they are longer, and sifted by us. */
	setsockopt(netlink->ask, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &yes, sizeof(yes));
	netlink->hear = open_socket();
	err = netlink->hear < 0 ? netlink->hear : join(netlink->hear);
	if (err)
		netlink_close(netlink);
	return err;
}

void netlink_close(struct kernel_netlink *netlink)
{
	if (netlink->ask >= 0)
		close(netlink->ask);
	if (netlink->hear >= 0)
		close(netlink->hear);
	netlink->ask = netlink->hear = -1;
}

uint32_t netlink_sequence(struct kernel_netlink *netlink)
{
	return ++netlink->sequence;
}

/*
 * One datagram into the buffer. Its length; 0: from somebody who is not the kernel, to be left
 * alone; or -errno: -EAGAIN, there is none; -ENOBUFS, some were lost or this one is cut off.
 */
static int receive(int fd, uint8_t buffer[NETLINK_BUFFER])
{
	struct sockaddr_nl from = {0};
	socklen_t from_length = sizeof(from);
	ssize_t length;

	do {
		length = recvfrom(fd, buffer, NETLINK_BUFFER, MSG_DONTWAIT | MSG_TRUNC,
			(struct sockaddr *)&from, &from_length);
	} while (length < 0 && errno == EINTR);
	if (length < 0)
		return -errno;
	if (length > (ssize_t)NETLINK_BUFFER)
		return -ENOBUFS;
	/* Any process may send to a netlink socket whose port it guesses: its port is not 0. */
	if (from_length < sizeof(from) || from.nl_pid != 0)
		return 0;
	return (int)length;
}

static int send_request(struct kernel_netlink *netlink, size_t length)
{
	struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	ssize_t sent;

	do {
		sent = sendto(netlink->ask, netlink->request, length, 0,
			(const struct sockaddr *)&kernel, sizeof(kernel));
	} while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

int netlink_ask(struct kernel_netlink *netlink, size_t length, struct rtnl_message *answer)
{
	int err = send_request(netlink, length);

	for (unsigned int i = 0; !err && i < STALE_DATAGRAMS; i++) {
		const uint8_t *data = netlink->answer;
		int received = receive(netlink->ask, netlink->answer);
		size_t left = received > 0 ? (size_t)received : 0;

		if (received < 0)
			return received;
		while (rtnl_next(&data, &left, answer)) {
			if (answer->sequence != netlink->sequence)
				continue;
			return answer->kind == RTNL_MALFORMED ? -EPROTO : answer->error;
		}
	}
	return err ? err : -EPROTO;
}

/* One datagram of a list. 1: it goes on; 0: that was its end; or -errno. */
static int read_part(struct kernel_netlink *netlink, size_t length, bool *interrupted,
	netlink_each *each, void *context)
{
	const uint8_t *data = netlink->answer;
	struct rtnl_message message;

	while (rtnl_next(&data, &length, &message)) {
		if (message.sequence != netlink->sequence)
			continue;
		*interrupted |= message.interrupted;
		if (message.kind == RTNL_DONE || message.kind == RTNL_ERROR)
			return message.error;
		if (message.kind == RTNL_MALFORMED)
			return -EPROTO;
		each(context, &message);
	}
	return 1;
}

int netlink_list(struct kernel_netlink *netlink, size_t length, netlink_each *each, void *context)
{
	int result = send_request(netlink, length);
	bool interrupted = false;

	if (result)
		return result;
	for (unsigned int i = 0; i < LIST_DATAGRAMS; i++) {
		int received = receive(netlink->ask, netlink->answer);

		if (received < 0)
			return received;
		result = read_part(netlink, (size_t)received, &interrupted, each, context);
		if (result <= 0)
			return result ? result : interrupted ? -EINTR : 0;
	}
	return -EPROTO;
}

int netlink_hear(struct kernel_netlink *netlink, netlink_each *each, void *context)
{
	for (unsigned int i = 0; i < HEAR_DATAGRAMS; i++) {
		const uint8_t *data = netlink->heard;
		struct rtnl_message message;
		int received = receive(netlink->hear, netlink->heard);
		size_t left = received > 0 ? (size_t)received : 0;

		if (received == -EAGAIN)
			return 0;
		if (received < 0)
			return -ENOBUFS;
		while (rtnl_next(&data, &left, &message)) {
			if (message.kind == RTNL_OVERRUN || message.kind == RTNL_MALFORMED)
				return -ENOBUFS;
			each(context, &message);
		}
	}
	return -EAGAIN;
}
