/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the table of next hops asks the kernel.
 *
 * A neighbour is made to be resolved by RTM_NEWNEIGH with NTF_USE, which sends nothing but the
 * kernel's own solicitation. Without CAP_NET_ADMIN that is refused; then a datagram of no bytes
 * goes to the neighbour's discard port, to which it may answer with an ICMP error.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "address.h"
#include "kernel_rules.h"
#include "list.h"

static struct kernel_rules *to_kernel(struct hops_io *io)
{
	return container_of(io, struct kernel_rules, io);
}

/* As port.h has them. */
static int refusal(int err)
{
	switch (err) {
	case -EINVAL:
	case -ENOBUFS:
	case -ENOMEM:
		return err;
	default:
		return -ENETUNREACH;
	}
}

static int leaves_elsewhere(struct kernel_rules *kernel, const uint8_t destination[16])
{
	char text[ADDRESS_TEXT];

	if (log_limited(&kernel->log, kernel->now))
		log_notice("packets to %s do not leave by %s, say the kernel's routes (ip route "
			   "get)",
			address_format(text, destination), kernel->interface);
	return -ENETUNREACH;
}

static int ask_route(struct hops_io *io, const uint8_t source[16], const uint8_t destination[16],
	uint8_t next[16])
{
	struct kernel_rules *kernel = to_kernel(io);
	struct kernel_netlink *netlink = &kernel->netlink;
	struct rtnl_message answer;
	int err = netlink_ask(netlink,
		rtnl_ask_route(netlink->request, netlink_sequence(netlink), source, destination,
			kernel->index),
		&answer);

	if (err)
		return refusal(err);
	if (answer.kind != RTNL_ROUTE)
		return -ENETUNREACH;
	if (answer.route.type == RTN_BROADCAST || answer.route.type == RTN_MULTICAST)
		return -EINVAL;
	if (answer.route.type != RTN_UNICAST || answer.route.interface != kernel->index)
		return leaves_elsewhere(kernel, destination);
	memcpy(next, answer.route.has_gateway ? answer.route.gateway : destination, ADDRESS_LENGTH);
	return 0;
}

static int ask_neighbour(
	struct hops_io *io, const uint8_t next[16], struct rtnl_neighbour *neighbour)
{
	struct kernel_rules *kernel = to_kernel(io);
	struct kernel_netlink *netlink = &kernel->netlink;
	struct rtnl_message answer;
	int err = netlink_ask(netlink,
		rtnl_ask_neighbour(
			netlink->request, netlink_sequence(netlink), kernel->index, next),
		&answer);

	if (!err && answer.kind != RTNL_NEIGHBOUR)
		err = -EPROTO;
	if (!err)
		*neighbour = answer.neighbour;
	return err;
}

static void use_neighbour(struct hops_io *io, const uint8_t source[16], const uint8_t next[16])
{
	struct kernel_rules *kernel = to_kernel(io);
	struct kernel_netlink *netlink = &kernel->netlink;
	struct rtnl_message answer;
	int err = netlink_ask(netlink,
		rtnl_use_neighbour(
			netlink->request, netlink_sequence(netlink), kernel->index, next),
		&answer);

	if (err == -EPERM)
		udp_nudge(source, next, kernel->index);
}

const struct hops_io kernel_questions = {
	.route = ask_route,
	.look = ask_neighbour,
	.use = use_neighbour,
};
