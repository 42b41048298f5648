/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel says, checked and taken apart. */
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>

#include "address.h"
#include "rtnl.h"

#define ERRNO_MAX 4095 /* Linux, include/linux/err.h: MAX_ERRNO */
#define TYPES_MAX 32u  /* above each attribute that is looked at */

/* The attributes of one message by type; of several of a type the last. */
struct attributes {
	const struct nlattr *of[TYPES_MAX];
};

static const void *payload(const struct nlmsghdr *header)
{
	return (const uint8_t *)header + NLMSG_HDRLEN;
}

/* False if the message is shorter than its fixed part, or an attribute longer than the rest. */
static bool collect(const struct nlmsghdr *header, size_t fixed, struct attributes *attributes)
{
	const uint8_t *end = (const uint8_t *)header + header->nlmsg_len;
	const uint8_t *tail = (const uint8_t *)header + MNL_ALIGN(header->nlmsg_len);
	const struct nlattr *attr;

	memset(attributes, 0, sizeof(*attributes));
	if (header->nlmsg_len < NLMSG_HDRLEN + fixed)
		return false;
	/* mnl_attr_for_each() with the qualifiers kept */
	for (attr = mnl_nlmsg_get_payload_offset(header, fixed);
		mnl_attr_ok(attr, (int)(tail - (const uint8_t *)attr));
		attr = mnl_attr_next(attr)) {
		uint16_t type = mnl_attr_get_type(attr);

		if (type < TYPES_MAX)
			attributes->of[type] = attr;
	}
	/* The walk ends at the message's end or before an attribute that is wrong. */
	return (const uint8_t *)attr + sizeof(*attr) > end;
}

static bool get_u32(const struct attributes *attributes, unsigned int type, uint32_t *value)
{
	const struct nlattr *attr = attributes->of[type];

	if (!attr)
		return true;
	if (mnl_attr_get_payload_len(attr) != sizeof(*value))
		return false;
	*value = mnl_attr_get_u32(attr);
	return true;
}

/* An address of the family as a GID. An IPv4 address in IPv6 clothes would be taken for IPv4's. */
static bool to_gid(uint8_t gid[16], uint8_t family, const uint8_t *bytes, size_t length)
{
	if (family == AF_INET && length == 4) {
		address_from_ipv4(gid, bytes);
		return true;
	}
	if (family != AF_INET6 || length != ADDRESS_LENGTH)
		return false;
	memcpy(gid, bytes, ADDRESS_LENGTH);
	return !address_is_ipv4(gid);
}

static bool get_gid(
	const struct attributes *attributes, unsigned int type, uint8_t family, uint8_t gid[16])
{
	const struct nlattr *attr = attributes->of[type];

	return attr &&
		to_gid(gid, family, mnl_attr_get_payload(attr), mnl_attr_get_payload_len(attr));
}

/* Ethernet's have 6 bytes; of others there is none. */
static bool get_mac(const struct attributes *attributes, unsigned int type, uint8_t mac[6])
{
	const struct nlattr *attr = attributes->of[type];

	if (!attr || mnl_attr_get_payload_len(attr) != 6)
		return false;
	memcpy(mac, mnl_attr_get_payload(attr), 6);
	return true;
}

static bool is_ip(uint8_t family)
{
	return family == AF_INET || family == AF_INET6;
}

static enum rtnl_kind read_address(const struct nlmsghdr *header, struct rtnl_address *address)
{
	const struct ifaddrmsg *fixed = payload(header);
	struct attributes attributes;
	unsigned int type;

	if (!collect(header, sizeof(*fixed), &attributes))
		return RTNL_MALFORMED;
	if (!is_ip(fixed->ifa_family))
		return RTNL_OTHER;
	address->interface = fixed->ifa_index;
	address->prefix_length = fixed->ifa_prefixlen;
	address->scope = fixed->ifa_scope;
	address->flags = fixed->ifa_flags;
	/* Of a point-to-point link, IFA_ADDRESS is the other end's. */
	type = attributes.of[IFA_LOCAL] ? IFA_LOCAL : IFA_ADDRESS;
	if (!get_gid(&attributes, type, fixed->ifa_family, address->gid) ||
		!get_u32(&attributes, IFA_FLAGS, &address->flags) ||
		address->prefix_length > address_bits_max(address->gid))
		return RTNL_MALFORMED;
	return RTNL_ADDRESS;
}

/* RTA_GATEWAY is of the route's family; RTA_VIA names its own before the address. */
static bool read_gateway(
	const struct attributes *attributes, uint8_t family, struct rtnl_route *route)
{
	const struct nlattr *attr = attributes->of[RTA_VIA];
	const uint8_t *bytes;
	uint16_t via;

	route->has_gateway = attr || attributes->of[RTA_GATEWAY];
	if (!route->has_gateway)
		return true;
	if (!attr)
		return get_gid(attributes, RTA_GATEWAY, family, route->gateway);
	if (mnl_attr_get_payload_len(attr) < sizeof(via))
		return false;
	bytes = mnl_attr_get_payload(attr);
	memcpy(&via, bytes, sizeof(via));
	return via <= UINT8_MAX &&
		to_gid(route->gateway, (uint8_t)via, bytes + sizeof(via),
			mnl_attr_get_payload_len(attr) - sizeof(via));
}

static enum rtnl_kind read_route(const struct nlmsghdr *header, struct rtnl_route *route)
{
	const struct rtmsg *fixed = payload(header);
	struct attributes attributes;

	if (!collect(header, sizeof(*fixed), &attributes))
		return RTNL_MALFORMED;
	if (!is_ip(fixed->rtm_family))
		return RTNL_OTHER;
	route->type = fixed->rtm_type;
	if (!get_u32(&attributes, RTA_OIF, &route->interface) ||
		!read_gateway(&attributes, fixed->rtm_family, route))
		return RTNL_MALFORMED;
	return RTNL_ROUTE;
}

static enum rtnl_kind read_neighbour(
	const struct nlmsghdr *header, struct rtnl_neighbour *neighbour)
{
	const struct ndmsg *fixed = payload(header);
	struct attributes attributes;

	if (!collect(header, sizeof(*fixed), &attributes))
		return RTNL_MALFORMED;
	if (!is_ip(fixed->ndm_family)) /* a bridge's, too, are told to this group */
		return RTNL_OTHER;
	neighbour->interface = (uint32_t)fixed->ndm_ifindex;
	neighbour->state = fixed->ndm_state;
	neighbour->has_mac = get_mac(&attributes, NDA_LLADDR, neighbour->mac);
	if (!get_gid(&attributes, NDA_DST, fixed->ndm_family, neighbour->address))
		return RTNL_MALFORMED;
	return RTNL_NEIGHBOUR;
}

static enum rtnl_kind read_link(const struct nlmsghdr *header, struct rtnl_link *link)
{
	const struct ifinfomsg *fixed = payload(header);
	struct attributes attributes;

	if (!collect(header, sizeof(*fixed), &attributes))
		return RTNL_MALFORMED;
	if (fixed->ifi_family != AF_UNSPEC) /* a bridge's port, IPv6's settings */
		return RTNL_OTHER;
	link->interface = (uint32_t)fixed->ifi_index;
	link->has_mac = get_mac(&attributes, IFLA_ADDRESS, link->mac);
	return RTNL_LINK;
}

/* The number comes first in both; after NLMSG_DONE old kernels leave it out. */
static enum rtnl_kind read_end(const struct nlmsghdr *header, struct rtnl_message *message)
{
	bool done = header->nlmsg_type == NLMSG_DONE;
	size_t length = header->nlmsg_len - NLMSG_HDRLEN;

	if (done && length == 0)
		return RTNL_DONE;
	if (length < (done ? sizeof(message->error) : sizeof(struct nlmsgerr)))
		return RTNL_MALFORMED;
	memcpy(&message->error, payload(header), sizeof(message->error));
	if (message->error > 0 || message->error < -ERRNO_MAX)
		return RTNL_MALFORMED;
	return done ? RTNL_DONE : RTNL_ERROR;
}

static enum rtnl_kind read_message(const struct nlmsghdr *header, struct rtnl_message *message)
{
	switch (header->nlmsg_type) {
	case NLMSG_DONE:
	case NLMSG_ERROR:
		return read_end(header, message);
	case NLMSG_OVERRUN:
		return RTNL_OVERRUN;
	case RTM_NEWADDR:
	case RTM_DELADDR:
		message->gone = header->nlmsg_type == RTM_DELADDR;
		return read_address(header, &message->address);
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
		message->gone = header->nlmsg_type == RTM_DELROUTE;
		return read_route(header, &message->route);
	case RTM_NEWNEIGH:
	case RTM_DELNEIGH:
		message->gone = header->nlmsg_type == RTM_DELNEIGH;
		return read_neighbour(header, &message->neighbour);
	case RTM_NEWLINK:
	case RTM_DELLINK:
		message->gone = header->nlmsg_type == RTM_DELLINK;
		return read_link(header, &message->link);
	default:
		return RTNL_OTHER;
	}
}

/* Not mnl_nlmsg_ok(): it takes a length of 2 GiB and more for a negative one, which is in order. */
static bool is_whole(const struct nlmsghdr *header, size_t length)
{
	return length >= sizeof(*header) && header->nlmsg_len >= sizeof(*header) &&
		header->nlmsg_len <= length;
}

bool rtnl_next(const uint8_t **data, size_t *length, struct rtnl_message *message)
{
	const struct nlmsghdr *header = (const void *)*data;
	size_t step;

	memset(message, 0, sizeof(*message));
	if (*length == 0)
		return false;
	if (is_whole(header, *length)) {
		message->sequence = header->nlmsg_seq;
		message->interrupted = header->nlmsg_flags & NLM_F_DUMP_INTR;
		message->kind = read_message(header, message);
	} else {
		message->kind = RTNL_MALFORMED;
	}
	step = message->kind == RTNL_MALFORMED ? *length : NLMSG_ALIGN(header->nlmsg_len);
	if (step > *length)
		step = *length;
	*data += step;
	*length -= step;
	return true;
}
