/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions to the kernel, as bytes. libmnl pads and counts. */
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>

#include "address.h"
#include "rtnl.h"

static uint8_t family_of(const uint8_t address[16])
{
	return address_is_ipv4(address) ? AF_INET : AF_INET6;
}

static struct nlmsghdr *begin(void *buffer, uint16_t type, uint16_t flags, uint32_t sequence)
{
	struct nlmsghdr *header;

	memset(buffer, 0, RTNL_REQUEST_MAX);
	header = mnl_nlmsg_put_header(buffer);
	header->nlmsg_type = type;
	header->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	header->nlmsg_seq = sequence;
	return header;
}

static void put_address(struct nlmsghdr *header, uint16_t type, const uint8_t address[16])
{
	if (address_is_ipv4(address))
		mnl_attr_put(header, type, 4, address_ipv4(address));
	else
		mnl_attr_put(header, type, ADDRESS_LENGTH, address);
}

size_t rtnl_ask_addresses(void *buffer, uint32_t sequence, uint8_t family, uint32_t interface)
{
	struct nlmsghdr *header = begin(buffer, RTM_GETADDR, NLM_F_DUMP, sequence);
	struct ifaddrmsg *ask = mnl_nlmsg_put_extra_header(header, sizeof(*ask));

	ask->ifa_family = family;
	ask->ifa_index = interface;
	return header->nlmsg_len;
}

size_t rtnl_ask_link(void *buffer, uint32_t sequence, uint32_t interface)
{
	struct nlmsghdr *header = begin(buffer, RTM_GETLINK, 0, sequence);
	struct ifinfomsg *ask = mnl_nlmsg_put_extra_header(header, sizeof(*ask));

	ask->ifi_index = (int)interface;
	return header->nlmsg_len;
}

size_t rtnl_ask_route(void *buffer, uint32_t sequence, const uint8_t source[16],
	const uint8_t destination[16], uint32_t interface)
{
	struct nlmsghdr *header = begin(buffer, RTM_GETROUTE, 0, sequence);
	struct rtmsg *ask = mnl_nlmsg_put_extra_header(header, sizeof(*ask));

	ask->rtm_family = family_of(destination);
	ask->rtm_dst_len = ask->rtm_src_len = (unsigned char)address_bits_max(destination);
	put_address(header, RTA_DST, destination);
	put_address(header, RTA_SRC, source);
	if (address_is_link_local(destination))
		mnl_attr_put_u32(header, RTA_OIF, interface);
	return header->nlmsg_len;
}

static size_t about_neighbour(
	struct nlmsghdr *header, uint8_t flags, uint32_t interface, const uint8_t address[16])
{
	struct ndmsg *about = mnl_nlmsg_put_extra_header(header, sizeof(*about));

	about->ndm_family = family_of(address);
	about->ndm_ifindex = (int)interface;
	about->ndm_flags = flags;
	put_address(header, NDA_DST, address);
	return header->nlmsg_len;
}

size_t rtnl_ask_neighbour(
	void *buffer, uint32_t sequence, uint32_t interface, const uint8_t address[16])
{
	return about_neighbour(begin(buffer, RTM_GETNEIGH, 0, sequence), 0, interface, address);
}

size_t rtnl_use_neighbour(
	void *buffer, uint32_t sequence, uint32_t interface, const uint8_t address[16])
{
	struct nlmsghdr *header = begin(buffer, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_ACK, sequence);

	return about_neighbour(header, NTF_USE, interface, address);
}
