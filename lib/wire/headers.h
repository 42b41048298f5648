/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every header of a RoCEv2 packet as it lies on the wire, in the order it travels:
 * Ethernet [802.1Q] { IPv4 | IPv6 } UDP BTH [extension headers] payload pad ICRC.
 */
#ifndef UROCE_WIRE_HEADERS_H
#define UROCE_WIRE_HEADERS_H

#include "be.h"

#define ROCE_UDP_PORT 4791 /* annex A17.4.5 */
#define ICRC_LENGTH 4u
#define GRH_LENGTH 40u

enum ether_type {
	ETHER_IPV4 = 0x0800,
	ETHER_ARP = 0x0806,
	ETHER_VLAN = 0x8100,
	ETHER_IPV6 = 0x86dd
};

struct ether_header {
	uint8_t destination[6];
	uint8_t source[6];
	struct be16 type;
};

struct vlan_header {
	struct be16 tci; /* PCP 3, DEI 1, VID 12 */
	struct be16 type;
};

struct ipv4_header {
	uint8_t version_ihl;
	uint8_t tos; /* DSCP 6, ECN 2 */
	struct be16 total_length;
	struct be16 id;
	struct be16 fragment; /* flags 3, offset 13 */
	uint8_t ttl;
	uint8_t protocol;
	struct be16 checksum;
	uint8_t source[4];
	uint8_t destination[4];
};

#define IPV4_DF 0x4000

struct ipv6_header {
	struct be32 version_class_flow; /* version 4, traffic class 8, flow label 20 */
	struct be16 payload_length;
	uint8_t next_header;
	uint8_t hop_limit;
	uint8_t source[16];
	uint8_t destination[16];
};

struct udp_header {
	struct be16 source_port;
	struct be16 destination_port;
	struct be16 length;
	struct be16 checksum;
};

struct bth { /* 9.2 */
	uint8_t opcode;
	uint8_t flags; /* SE 1, MigReq 1, PadCnt 2, TVer 4 */
	struct be16 pkey;
	uint8_t congestion; /* FECN 1, BECN 1, reserved 6: masked in the ICRC */
	struct be24 destination_qp;
	uint8_t ack_request; /* AckReq 1, reserved 7 */
	struct be24 psn;
};

#define BTH_SOLICITED 0x80
#define BTH_MIGREQ 0x40
#define BTH_PAD_SHIFT 4
#define BTH_PAD_MASK 0x30
#define BTH_TVER_MASK 0x0f
#define BTH_FECN 0x80
#define BTH_BECN 0x40
#define BTH_RESERVED_MASK 0x3f /* beside FECN and BECN */
#define BTH_ACK_REQUEST 0x80

struct deth { /* 9.3.1 */
	struct be32 qkey;
	uint8_t reserved;
	struct be24 source_qp;
};

struct reth { /* 9.3.3 */
	struct be64 address;
	struct be32 rkey;
	struct be32 length;
};

struct atomic_eth { /* 9.3.4 */
	struct be64 address;
	struct be32 rkey;
	struct be64 swap_or_add;
	struct be64 compare;
};

struct aeth { /* 9.3.5 */
	uint8_t syndrome;
	struct be24 msn;
};

struct atomic_ack_eth { /* 9.5.3 */
	struct be64 original;
};

struct immdt { /* 9.2.6 */
	struct be32 data;
};

struct ieth { /* 9.2.7 */
	struct be32 rkey;
};

#define CNP_RESERVED_LENGTH 16u /* behind a CNP's BTH: sent as zero, not looked at (A17.9.3) */

_Static_assert(sizeof(struct ether_header) == 14, "Ethernet");
_Static_assert(sizeof(struct ipv4_header) == 20, "IPv4");
_Static_assert(sizeof(struct ipv6_header) == 40, "IPv6");
_Static_assert(sizeof(struct udp_header) == 8, "UDP");
_Static_assert(sizeof(struct bth) == 12, "BTH");
_Static_assert(sizeof(struct reth) == 16, "RETH");
_Static_assert(sizeof(struct atomic_eth) == 28, "AtomicETH");

/* AETH syndromes (9.7.5.1.1, tables 42 to 45). Bits 6 and 5 are the kind, bit 7 is reserved. */
enum aeth_kind { AETH_ACK = 0x00, AETH_RNR_NAK = 0x20, AETH_RESERVED = 0x40, AETH_NAK = 0x60 };
#define AETH_KIND_MASK 0x60
#define AETH_RESERVED_BIT 0x80
#define AETH_VALUE_MASK 0x1f
#define AETH_CREDITS_INVALID 0x1f /* end-to-end credits are not used */

enum aeth_nak {
	NAK_PSN_SEQUENCE_ERROR = 0x60,
	NAK_INVALID_REQUEST = 0x61,
	NAK_REMOTE_ACCESS_ERROR = 0x62,
	NAK_REMOTE_OPERATIONAL_ERROR = 0x63,
	NAK_INVALID_RD_REQUEST = 0x64,
};

#endif
