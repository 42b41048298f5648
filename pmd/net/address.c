/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of addresses, prefixes, text, and the multicast addresses made from them. */
#include <arpa/inet.h>
#include <errno.h>

#include "address.h"

_Static_assert(ADDRESS_TEXT >= INET6_ADDRSTRLEN, "the longest text fits");

const uint8_t address_all_nodes[16] = {0xff, 0x02, [15] = 1};
const uint8_t address_unspecified[16];
const uint8_t mac_broadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

static const uint8_t mapped_prefix[12] = {[10] = 0xff, [11] = 0xff};
static const uint8_t loopback[16] = {[15] = 1};

bool address_is_ipv4(const uint8_t address[16])
{
	return memcmp(address, mapped_prefix, sizeof(mapped_prefix)) == 0;
}

void address_from_ipv4(uint8_t address[16], const uint8_t ipv4[4])
{
	memcpy(address, mapped_prefix, sizeof(mapped_prefix));
	memcpy(address + sizeof(mapped_prefix), ipv4, 4);
}

/* The bits of the byte that a prefix of `bits` covers only in part. */
static uint8_t partial_mask(unsigned int bits)
{
	return (uint8_t)(0xff00u >> bits % 8);
}

bool address_in_prefix(const uint8_t address[16], const uint8_t prefix[16], unsigned int bits)
{
	unsigned int whole = bits / 8;

	if (memcmp(address, prefix, whole) != 0)
		return false;
	return bits % 8 == 0 || ((address[whole] ^ prefix[whole]) & partial_mask(bits)) == 0;
}

bool address_tail_is(const uint8_t address[16], unsigned int bits, bool ones)
{
	uint8_t invert = ones ? 0xff : 0;

	for (unsigned int i = bits / 8; i < ADDRESS_LENGTH; i++) {
		uint8_t ignored = i == bits / 8 && bits % 8 ? partial_mask(bits) : 0;

		if ((address[i] ^ invert) & ~ignored & 0xff)
			return false;
	}
	return true;
}

/* 0/8 is "this network", 127/8 loopback, 224/4 multicast, 240/4 reserved, and broadcast. */
static bool ipv4_is_unicast(const uint8_t ipv4[4])
{
	return ipv4[0] != 0 && ipv4[0] != 127 && ipv4[0] < 224;
}

bool address_is_unspecified(const uint8_t address[16])
{
	return address_equal(address, address_unspecified);
}

bool address_is_multicast(const uint8_t address[16])
{
	if (address_is_ipv4(address))
		return address[12] >= 224 && address[12] < 240;
	return address[0] == 0xff;
}

bool address_is_unicast(const uint8_t address[16])
{
	if (address_is_ipv4(address))
		return ipv4_is_unicast(address_ipv4(address));
	return address[0] != 0xff && !address_is_unspecified(address) &&
		!address_equal(address, loopback);
}

bool address_is_link_local(const uint8_t address[16])
{
	return address[0] == 0xfe && (address[1] & 0xc0) == 0x80;
}

int address_parse(uint8_t address[16], const char *text)
{
	uint8_t ipv4[4];

	if (inet_pton(AF_INET, text, ipv4) == 1) {
		address_from_ipv4(address, ipv4);
		return 0;
	}
	/* A mapped address written as IPv6 would make the meaning of a prefix length a guess. */
	if (inet_pton(AF_INET6, text, address) != 1 || address_is_ipv4(address))
		return -EINVAL;
	return 0;
}

const char *address_format(char text[ADDRESS_TEXT], const uint8_t address[16])
{
	if (address_is_ipv4(address))
		return inet_ntop(AF_INET, address_ipv4(address), text, ADDRESS_TEXT);
	return inet_ntop(AF_INET6, address, text, ADDRESS_TEXT);
}

void address_link_local(uint8_t address[16], const uint8_t mac[6])
{
	const uint8_t built[16] = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, mac[0] ^ 2, mac[1], mac[2], 0xff,
		0xfe, mac[3], mac[4], mac[5]};

	memcpy(address, built, sizeof(built));
}

void address_solicited_node(uint8_t group[16], const uint8_t address[16])
{
	const uint8_t built[16] = {0xff, 0x02, [11] = 1, [12] = 0xff, [13] = address[13],
		[14] = address[14], [15] = address[15]};

	memcpy(group, built, sizeof(built));
}

void address_multicast_mac(uint8_t mac[6], const uint8_t group[16])
{
	mac[0] = 0x33;
	mac[1] = 0x33;
	memcpy(mac + 2, group + 12, 4);
}

bool mac_is_unicast(const uint8_t mac[6])
{
	static const uint8_t zero[6];

	return !mac_is_multicast(mac) && !mac_equal(mac, zero);
}
