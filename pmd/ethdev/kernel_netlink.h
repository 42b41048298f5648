/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sockets to rtnetlink(7): one to ask by, one to be told by. The kernel answers a question before
 * sendto() returns, so that nothing here waits for anybody but the kernel's own locks.
 */
#ifndef UROCE_ETHDEV_KERNEL_NETLINK_H
#define UROCE_ETHDEV_KERNEL_NETLINK_H

#include <stddef.h>
#include <stdint.h>

#include "rtnl.h"

/* The kernel fills what the reader has room for, up to 32 KiB (af_netlink.c, max_recvmsg_len). */
#define NETLINK_BUFFER 32768u

struct kernel_netlink {
	uint8_t answer[NETLINK_BUFFER] RTNL_ALIGNED;
	uint8_t heard[NETLINK_BUFFER] RTNL_ALIGNED; /* whoever is told something may ask */
	uint8_t request[RTNL_REQUEST_MAX] RTNL_ALIGNED;
	int ask;
	int hear;
	uint32_t sequence;
};

typedef void netlink_each(void *context, const struct rtnl_message *message);

/* 0 or -errno. */
int netlink_open(struct kernel_netlink *netlink);
void netlink_close(struct kernel_netlink *netlink);

/* For a request that is about to be written into netlink->request. */
uint32_t netlink_sequence(struct kernel_netlink *netlink);
/* Sends the request; its one answer. 0, or what the kernel said, or -EPROTO. */
int netlink_ask(struct kernel_netlink *netlink, size_t length, struct rtnl_message *answer);
/* Sends the request, calls back for each of its answers. -EINTR: the list changed meanwhile. */
int netlink_list(struct kernel_netlink *netlink, size_t length, netlink_each *each, void *context);
/*
 * Calls back for each message that the groups have told of. 0: that is all; -EAGAIN: there may be
 * more; -ENOBUFS: some were lost.
 */
int netlink_hear(struct kernel_netlink *netlink, netlink_each *each, void *context);

#endif
