/* SPDX-License-Identifier: BSD-3-Clause */
/* One's complement sums of 16-bit words; 64 bits take more words than any frame has. */
#include "be.h"
#include "checksum.h"

uint64_t checksum_add(uint64_t sum, const void *data, size_t length)
{
	const uint8_t *byte = data;

	for (; length >= 2; length -= 2, byte += 2)
		sum += be16_get((const struct be16 *)byte);
	if (length)
		sum += (uint64_t)*byte << 8;
	return sum;
}

uint64_t checksum_pseudo_ipv6(const uint8_t source[16], const uint8_t destination[16],
	uint32_t length, uint8_t next_header)
{
	uint64_t sum = checksum_add(0, source, 16);

	return checksum_add(sum, destination, 16) + length + next_header;
}

uint16_t checksum_finish(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}
