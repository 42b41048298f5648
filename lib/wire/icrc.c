/* SPDX-License-Identifier: BSD-3-Clause */
/* The invariant CRC: what is masked, and ISA-L's CRC-32 over it. */
#include <string.h>

#include <isa-l/crc.h>

#include "icrc.h"

#define LRH_STAND_IN 8u
#define PREFIX_MAX                                                                                 \
	(LRH_STAND_IN + sizeof(struct ipv6_header) + sizeof(struct udp_header) + ICRC_BTH_PREFIX)

uint32_t icrc_extend(uint32_t icrc, const void *bytes, uint32_t length)
{
	/* The reflected form of 0x04C11DB7; ISA-L inverts before and after, as zlib does. */
	return crc32_gzip_refl(icrc, bytes, length);
}

static uint32_t mask_ipv4(uint8_t *to, const uint8_t *ip)
{
	struct ipv4_header header;

	memcpy(&header, ip, sizeof(header));
	header.tos = 0xff;
	header.ttl = 0xff;
	be16_put(&header.checksum, 0xffff);
	memcpy(to, &header, sizeof(header));
	return sizeof(header);
}

static uint32_t mask_ipv6(uint8_t *to, const uint8_t *ip)
{
	struct ipv6_header header;

	memcpy(&header, ip, sizeof(header));
	be32_put(&header.version_class_flow, be32_get(&header.version_class_flow) | 0x0fffffff);
	header.hop_limit = 0xff;
	memcpy(to, &header, sizeof(header));
	return sizeof(header);
}

uint32_t icrc_prefix(
	const uint8_t *ip, uint8_t ip_version, const struct udp_header *udp, const struct bth *bth)
{
	uint8_t prefix[PREFIX_MAX];
	struct udp_header masked_udp = *udp;
	struct bth masked_bth = *bth;
	uint32_t at = LRH_STAND_IN;

	memset(prefix, 0xff, LRH_STAND_IN);
	at += ip_version == 4 ? mask_ipv4(prefix + at, ip) : mask_ipv6(prefix + at, ip);
	be16_put(&masked_udp.checksum, 0xffff);
	memcpy(prefix + at, &masked_udp, sizeof(masked_udp));
	at += sizeof(masked_udp);
	masked_bth.congestion = 0xff;
	memcpy(prefix + at, &masked_bth, ICRC_BTH_PREFIX);
	return icrc_extend(0, prefix, at + ICRC_BTH_PREFIX);
}
