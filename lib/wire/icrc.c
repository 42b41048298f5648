/* SPDX-License-Identifier: BSD-3-Clause */
/* The invariant CRC: what is masked, and ISA-L's CRC-32 over it. */
#include <string.h>

#include <isa-l/crc.h>

#include "icrc.h"

#define LRH_STAND_IN 8u
#define IP_MAX sizeof(struct ipv6_header)

#define WIDE 256u

/*
 * For so many bytes and more ISA-L 2.30 uses 512-bit registers and returns with their upper halves
 * in use; on processors where that matters, each switch back to SSE code then costs some 350 ns.
 */
#if defined(__x86_64__)
static void __attribute__((target("avx"))) clear_upper_halves(void)
{
	__builtin_ia32_vzeroupper();
}

static void leave_avx(void)
{
	if (__builtin_cpu_supports("avx"))
		clear_upper_halves();
}
#else
static void leave_avx(void)
{
}
#endif

uint32_t icrc_extend(uint32_t icrc, const void *bytes, uint32_t length)
{
	/* The reflected form of 0x04C11DB7; ISA-L inverts before and after, as zlib does. */
	icrc = crc32_gzip_refl(icrc, bytes, length);
	if (length >= WIDE)
		leave_avx();
	return icrc;
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

/* Returns the length of the IP header; its masked form is behind the ones at `to`. */
static uint32_t mask_ip(uint8_t *to, const uint8_t *ip, uint8_t ip_version)
{
	memset(to, 0xff, LRH_STAND_IN);
	to += LRH_STAND_IN;
	return ip_version == 4 ? mask_ipv4(to, ip) : mask_ipv6(to, ip);
}

uint32_t icrc_seed(const uint8_t *ip, uint8_t ip_version)
{
	uint8_t masked[LRH_STAND_IN + IP_MAX + ICRC_SEED_UDP];
	uint32_t ip_length = mask_ip(masked, ip, ip_version);

	memcpy(masked + LRH_STAND_IN + ip_length, ip + ip_length, ICRC_SEED_UDP);
	return icrc_extend(0, masked, LRH_STAND_IN + ip_length + ICRC_SEED_UDP);
}

uint32_t icrc_packet(const uint8_t *ip, uint8_t ip_version, uint32_t length)
{
	uint32_t seed_length = ICRC_SEED_UDP +
		(ip_version == 4 ? sizeof(struct ipv4_header) : sizeof(struct ipv6_header));

	return icrc_behind_seed(
		icrc_seed(ip, ip_version), ip + seed_length - ICRC_SEED_UDP, length - seed_length);
}
