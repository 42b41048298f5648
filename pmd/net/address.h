/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses of the network layer. An address is a GID: IPv6 as it is, IPv4 in its v4-mapped form
 * (::ffff:a.b.c.d, RFC 4291 2.5.5.2). A VLAN is its id, 1 to 4094; 0 means untagged, as in a
 * priority tag (IEEE 802.1Q 9.6).
 */
#ifndef UROCE_NET_ADDRESS_H
#define UROCE_NET_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ADDRESS_LENGTH 16u
#define ADDRESS_TEXT 46u /* INET6_ADDRSTRLEN */
#define IPV4_BITS 32u
#define IPV6_BITS 128u
#define VLAN_NONE 0u
#define VLAN_ID_MAX 4094u

bool address_is_ipv4(const uint8_t address[16]);

/* The four bytes of an IPv4 address inside its mapped form. */
static inline const uint8_t *address_ipv4(const uint8_t address[16])
{
	return address + 12;
}

void address_from_ipv4(uint8_t address[16], const uint8_t ipv4[4]);

static inline bool address_equal(const uint8_t a[16], const uint8_t b[16])
{
	return memcmp(a, b, ADDRESS_LENGTH) == 0;
}

/* How long a prefix of the address's family may be. */
static inline unsigned int address_bits_max(const uint8_t address[16])
{
	return address_is_ipv4(address) ? IPV4_BITS : IPV6_BITS;
}

/* A prefix length of the address's own family as one of 128 bits. */
static inline unsigned int address_bits(const uint8_t address[16], unsigned int prefix_length)
{
	return prefix_length + IPV6_BITS - address_bits_max(address);
}

/* Do the first `bits` (of 128) agree? */
bool address_in_prefix(const uint8_t address[16], const uint8_t prefix[16], unsigned int bits);
/* Are all bits from the given one on zero, or all one? */
bool address_tail_is(const uint8_t address[16], unsigned int bits, bool ones);

/*
 * May the address name one interface of the link: not unspecified, loopback, multicast, reserved
 * or broadcast (RFC 1122 3.2.1.3, RFC 4291 2.4).
 */
bool address_is_unicast(const uint8_t address[16]);
bool address_is_link_local(const uint8_t address[16]); /* IPv6's fe80::/10 */
bool address_is_multicast(const uint8_t address[16]);
bool address_is_unspecified(const uint8_t address[16]); /* :: */

/* 0, or -EINVAL: neither IPv4 nor IPv6, or an IPv4 address in IPv6 clothes. */
int address_parse(uint8_t address[16], const char *text);
/* Writes at most ADDRESS_TEXT bytes; returns text. */
const char *address_format(char text[ADDRESS_TEXT], const uint8_t address[16]);

/* fe80::/64 with the MAC as modified EUI-64 (RFC 4291 appendix A). */
void address_link_local(uint8_t address[16], const uint8_t mac[6]);
/* ff02::1:ffXX:XXXX (RFC 4291 2.7.1). */
void address_solicited_node(uint8_t group[16], const uint8_t address[16]);
/* 33:33 and the group's last four bytes (RFC 2464 7). */
void address_multicast_mac(uint8_t mac[6], const uint8_t group[16]);

extern const uint8_t address_all_nodes[16]; /* ff02::1 */
extern const uint8_t address_unspecified[16];
extern const uint8_t mac_broadcast[6];

static inline bool mac_equal(const uint8_t a[6], const uint8_t b[6])
{
	return memcmp(a, b, 6) == 0;
}

static inline bool mac_is_multicast(const uint8_t mac[6])
{
	return mac[0] & 1;
}

/* Can it be the address of one station? */
bool mac_is_unicast(const uint8_t mac[6]);

#endif
