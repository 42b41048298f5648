/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What all packets of one sender have in common: addresses, ports, and whatever else of the IP
 * header the ICRC covers, but for the length. Who has seen a packet and found it right knows that
 * part's CRC, and checks the next one's addresses by a few comparisons and its ICRC by one pass
 * over what follows.
 */
#ifndef UROCE_WIRE_KNOWN_H
#define UROCE_WIRE_KNOWN_H

#include <endian.h>
#include <string.h>

#include "icrc.h"
#include "parse.h"

struct wire_known {
	uint64_t word[6];   /* from the IP header on, as it lies */
	uint32_t seed;	    /* for a length of 0 */
	uint8_t ip_version; /* 0: nothing is known */
};

/* In network order: what the ICRC masks, and the lengths, are no part of it. */
#define KNOWN_IPV4_0 0xff000000ffffffffull /* not TOS, total length */
#define KNOWN_IPV4_1 0x00ff0000ffffffffull /* not TTL, checksum */
#define KNOWN_IPV6_0 0x000000000000ff00ull /* the next header alone; parsed: the version */
#define KNOWN_IPV6_5 0xffffffff00000000ull /* UDP's ports, not its length and checksum */

static inline uint64_t known_differs(
	const struct wire_known *known, const uint8_t *ip, unsigned int i, uint64_t mask)
{
	uint64_t word;

	memcpy(&word, ip + 8 * i, sizeof(word));
	return (word ^ known->word[i]) & htobe64(mask);
}

/* Is it as what is known, so that its addresses are, too? */
static inline bool wire_known_is(const struct wire_known *known, const struct wire_packet *packet)
{
	const uint8_t *ip = packet->ip;

	if (packet->ip_version != known->ip_version)
		return false;
	if (packet->ip_version == 4)
		return (known_differs(known, ip, 0, KNOWN_IPV4_0) |
			       known_differs(known, ip, 1, KNOWN_IPV4_1) |
			       known_differs(known, ip, 2, UINT64_MAX)) == 0;
	return (known_differs(known, ip, 0, KNOWN_IPV6_0) |
		       known_differs(known, ip, 1, UINT64_MAX) |
		       known_differs(known, ip, 2, UINT64_MAX) |
		       known_differs(known, ip, 3, UINT64_MAX) |
		       known_differs(known, ip, 4, UINT64_MAX) |
		       known_differs(known, ip, 5, KNOWN_IPV6_5)) == 0;
}

/* The ICRC of a packet that wire_known_is(). */
bool wire_known_icrc_ok(const struct wire_known *known, const struct wire_packet *packet);
/* From now on this packet's sender is known. */
void wire_know(struct wire_known *known, const struct wire_packet *packet);

static inline void wire_forget(struct wire_known *known)
{
	known->ip_version = 0;
}

#endif
