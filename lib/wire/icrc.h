/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The invariant CRC of RoCEv2 (IBTA vol. 1, 7.8.1, annex A17.3.3): Ethernet's CRC-32 over
 *   8 bytes of ones, in the place of InfiniBand's LRH,
 *   the IP header with ones for what a router may change: TOS, TTL and checksum of IPv4, traffic
 *     class, flow label and hop limit of IPv6,
 *   the UDP header with ones for the checksum,
 *   BTH with ones for byte 4 (FECN, BECN), all that follows, payload and pad,
 * sent least significant byte first.
 *
 * All values here are CRCs as zlib and ISA-L hand them out and take them back: inverted at both
 * ends, so that the CRC of nothing is 0 and a value can be extended by further bytes.
 */
#ifndef UROCE_WIRE_ICRC_H
#define UROCE_WIRE_ICRC_H

#include <stdint.h>

#include "headers.h"

/*
 * The part of the headers whose CRC a path can keep: the 8 bytes of ones, IP, UDP and the first
 * ICRC_BTH_PREFIX bytes of the BTH, which end just before AckReq and PSN.
 */
#define ICRC_BTH_PREFIX 8u

uint32_t icrc_extend(uint32_t icrc, const void *bytes, uint32_t length);
/* `ip` is an IPv4 header without options, or an IPv6 header. */
uint32_t icrc_prefix(
	const uint8_t *ip, uint8_t ip_version, const struct udp_header *udp, const struct bth *bth);

static inline uint32_t icrc_get(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
		(uint32_t)at[3] << 24;
}

static inline void icrc_put(uint8_t *at, uint32_t icrc)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(icrc >> (8 * i));
}

/*
 * CRC is linear: if one byte of the prefix changes from a to b, the CRC of the prefix changes by
 * exclusive or with an amount that depends on a ^ b and on how many bytes follow, and on nothing
 * else. One table per byte that varies between the packets of a path; made by icrc_delta.py.
 */
struct icrc_delta {
	uint32_t by[256];
};

extern const struct icrc_delta icrc_delta_ipv4_length[2]; /* high byte, low byte */
extern const struct icrc_delta icrc_delta_ipv6_length[2];
extern const struct icrc_delta icrc_delta_udp_length[2];
extern const struct icrc_delta icrc_delta_opcode;
extern const struct icrc_delta icrc_delta_flags;

/* For a 16-bit field that was 0. */
static inline uint32_t icrc_delta16(const struct icrc_delta delta[2], uint16_t value)
{
	return delta[0].by[value >> 8] ^ delta[1].by[value & 0xff];
}

#endif
