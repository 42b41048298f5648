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

#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "headers.h"

uint32_t icrc_extend(uint32_t icrc, const void *bytes, uint32_t length);

/*
 * The ICRC of a packet: `length` bytes from its IP header (IPv4 without options, or IPv6) to its
 * pad; UDP and BTH are there.
 */
uint32_t icrc_packet(const uint8_t *ip, uint8_t ip_version, uint32_t length);

/*
 * The part whose CRC a path can keep: the 8 bytes of ones, the IP header, and UDP's ports. Behind
 * it, UDP's length and checksum and the BTH make 16 bytes at least, from which on ISA-L is fast.
 */
#define ICRC_SEED_UDP 4u
uint32_t icrc_seed(const uint8_t *ip, uint8_t ip_version);

static inline uint32_t icrc_get(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
		(uint32_t)at[3] << 24;
}

static inline void icrc_put(uint8_t *at, uint32_t icrc)
{
	icrc = htole32(icrc);
	memcpy(at, &icrc, sizeof(icrc));
}

/*
 * CRC is linear: if one byte of the seed's part changes from a to b, the seed changes by exclusive
 * or with an amount that depends on a ^ b and on how many bytes follow, and on nothing else. So the
 * length in the IP header, which varies between the packets of a path, is folded into a seed that
 * was made for length 0. One table for each of its bytes, high and low; made by icrc_delta.py.
 */
struct icrc_delta {
	uint32_t by[256];
};

extern const struct icrc_delta icrc_delta_ipv4[2];
extern const struct icrc_delta icrc_delta_ipv6[2];

static inline uint32_t icrc_seed_for(
	uint32_t seed, const struct icrc_delta delta[2], uint16_t ip_length)
{
	return seed ^ delta[0].by[ip_length >> 8] ^ delta[1].by[ip_length & 0xff];
}

/*
 * What is masked behind the seed's part needs no copy either. A change of the first four bytes
 * there is the same as a change of the seed itself, and a change of the byte with FECN and BECN the
 * same as one that a table knows. So the seed takes the masks, and the CRC runs over the packet as
 * it is.
 */
extern const struct icrc_delta icrc_delta_congestion;

/* checksum: UDP's as its two bytes lie, the first one lowest. congestion: byte 4 of the BTH. */
static inline uint32_t icrc_seed_masks(uint32_t seed, uint16_t checksum, uint8_t congestion)
{
	return seed ^ (uint32_t)(uint16_t)~checksum << 16 ^
		icrc_delta_congestion.by[(uint8_t)~congestion];
}

/* `length` bytes from UDP's length to the pad, whose path has this seed with the length folded in.
 */
static inline uint32_t icrc_behind_seed(uint32_t seed, const uint8_t *udp, uint32_t length)
{
	return icrc_extend(icrc_seed_masks(seed, (uint16_t)(udp[6] | udp[7] << 8), udp[12]),
		udp + ICRC_SEED_UDP, length);
}

#endif
