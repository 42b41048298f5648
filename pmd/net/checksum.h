/* SPDX-License-Identifier: BSD-3-Clause */
/* The Internet checksum (RFC 1071), summed over several parts. */
#ifndef UROCE_NET_CHECKSUM_H
#define UROCE_NET_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Adds bytes to a sum that began as 0. Only the last part may have an odd length. */
uint64_t checksum_add(uint64_t sum, const void *data, size_t length);
/* The sum of IPv6's pseudo-header (RFC 8200 8.1). */
uint64_t checksum_pseudo_ipv6(const uint8_t source[16], const uint8_t destination[16],
	uint32_t length, uint8_t next_header);
/* The value for a checksum field; over data that holds a right checksum it is 0. */
uint16_t checksum_finish(uint64_t sum);

#endif
