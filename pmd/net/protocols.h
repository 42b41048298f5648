/* SPDX-License-Identifier: BSD-3-Clause */
/* The headers of the small protocols that a RoCE port has to answer, as they lie on the wire. */
#ifndef UROCE_NET_PROTOCOLS_H
#define UROCE_NET_PROTOCOLS_H

#include "be.h"

enum ip_protocol { IP_HOP_BY_HOP = 0, IP_ICMP = 1, IP_ICMPV6 = 58 };

struct arp_packet { /* RFC 826, for Ethernet and IPv4 */
	struct be16 hardware;
	struct be16 protocol;
	uint8_t hardware_length;
	uint8_t protocol_length;
	struct be16 operation;
	uint8_t sender_mac[6];
	uint8_t sender[4];
	uint8_t target_mac[6];
	uint8_t target[4];
};

#define ARP_HARDWARE_ETHERNET 1
enum arp_operation { ARP_REQUEST = 1, ARP_REPLY = 2 };

struct icmp_header { /* RFC 792, RFC 4443: the same first four bytes */
	uint8_t type;
	uint8_t code;
	struct be16 checksum;
};

enum icmp_type { ICMP_ECHO_REPLY = 0, ICMP_ECHO_REQUEST = 8 };
enum icmpv6_type {
	ICMPV6_ECHO_REQUEST = 128,
	ICMPV6_ECHO_REPLY = 129,
	ICMPV6_MLD_QUERY = 130,
	ICMPV6_MLD_REPORT = 131,
	ICMPV6_SOLICITATION = 135,
	ICMPV6_ADVERTISEMENT = 136,
};

struct icmp_echo {
	struct icmp_header header;
	struct be16 id;
	struct be16 sequence;
};

struct nd_message { /* RFC 4861 4.3 and 4.4: solicitation and advertisement */
	struct icmp_header header;
	struct be32 flags; /* zero in a solicitation */
	uint8_t target[16];
};

#define ND_ROUTER 0x80000000u
#define ND_SOLICITED 0x40000000u
#define ND_OVERRIDE 0x20000000u
#define ND_HOP_LIMIT 255 /* a packet that was forwarded cannot have it */

struct nd_option { /* RFC 4861 4.6; length counts 8 bytes */
	uint8_t type;
	uint8_t length;
	uint8_t mac[6];
};

struct mld_message { /* RFC 2710 3 */
	struct icmp_header header;
	struct be16 delay; /* ms, of a query */
	struct be16 reserved;
	uint8_t group[16];
};

enum nd_option_type { ND_SOURCE_MAC = 1, ND_TARGET_MAC = 2 };

#define IPV4_MORE_FRAGMENTS 0x2000
#define IPV4_FRAGMENT_MASK 0x3fff /* more fragments, and the offset */

_Static_assert(sizeof(struct arp_packet) == 28, "ARP");
_Static_assert(sizeof(struct icmp_echo) == 8, "echo");
_Static_assert(sizeof(struct nd_message) == 24, "neighbour discovery");
_Static_assert(sizeof(struct mld_message) == 24, "listener discovery");
_Static_assert(sizeof(struct nd_option) == 8, "link-layer address option");

#endif
