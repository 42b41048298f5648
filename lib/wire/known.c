/* SPDX-License-Identifier: BSD-3-Clause */
/* The CRC of what a sender's packets have in common, kept and used. */
#include "known.h"

/* The length in the IP header, folded into a seed; or out of it again. */
static uint32_t fold_length(uint32_t seed, const uint8_t *ip, uint8_t ip_version)
{
	if (ip_version == 4)
		return icrc_seed_for(seed, icrc_delta_ipv4,
			be16_get(&((const struct ipv4_header *)(const void *)ip)->total_length));
	return icrc_seed_for(seed, icrc_delta_ipv6,
		be16_get(&((const struct ipv6_header *)(const void *)ip)->payload_length));
}

bool wire_known_icrc_ok(const struct wire_known *known, const struct wire_packet *packet)
{
	const uint8_t *udp = (const uint8_t *)packet->bth - sizeof(struct udp_header);
	const uint8_t *end = packet->payload + packet->payload_length + packet->pad;
	uint32_t seed = fold_length(known->seed, packet->ip, packet->ip_version);

	return icrc_behind_seed(seed, udp, (uint32_t)(end - udp) - ICRC_SEED_UDP) == icrc_get(end);
}

#define KNOWN_IPV4 (sizeof(struct ipv4_header) + ICRC_SEED_UDP)

_Static_assert(KNOWN_IPV4 == 3 * sizeof(uint64_t), "IPv4 is compared by three words");
_Static_assert(sizeof(struct ipv6_header) + sizeof(struct udp_header) == 6 * sizeof(uint64_t),
	"IPv6 by six");

void wire_know(struct wire_known *known, const struct wire_packet *packet)
{
	memcpy(known->word, packet->ip, packet->ip_version == 4 ? KNOWN_IPV4 : sizeof(known->word));
	known->ip_version = packet->ip_version;
	known->seed = fold_length(
		icrc_seed(packet->ip, packet->ip_version), packet->ip, packet->ip_version);
}
