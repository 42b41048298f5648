/* SPDX-License-Identifier: BSD-3-Clause */
/* Capture files: a header of 24 bytes, then records of 16 bytes and a frame each. */
#include <errno.h>
#include <string.h>

#include "pcap.h"

#define MAGIC_MICROSECONDS 0xa1b2c3d4u
#define MAGIC_NANOSECONDS 0xa1b23c4du
#define FILE_HEADER 24u
#define FILE_LINK 20u
#define RECORD_HEADER 16u
#define LINK_MASK 0xffffu /* above: whether frames end with an FCS */

static uint32_t word(const struct pcap *pcap, const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return pcap->swapped ? __builtin_bswap32(value) : value;
}

static bool is_magic(struct pcap *pcap, uint32_t magic)
{
	pcap->in_nanoseconds = magic == MAGIC_NANOSECONDS;
	return magic == MAGIC_MICROSECONDS || magic == MAGIC_NANOSECONDS;
}

int pcap_open(struct pcap *pcap, const uint8_t *bytes, size_t length)
{
	if (length < FILE_HEADER)
		return -EINVAL;
	pcap->swapped = false;
	if (!is_magic(pcap, word(pcap, bytes))) {
		pcap->swapped = true;
		if (!is_magic(pcap, word(pcap, bytes)))
			return -EINVAL;
	}
	pcap->link = word(pcap, bytes + FILE_LINK) & LINK_MASK;
	pcap->next = bytes + FILE_HEADER;
	pcap->left = length - FILE_HEADER;
	return 0;
}

int pcap_read(struct pcap *pcap, struct pcap_record *record)
{
	const uint8_t *header = pcap->next;
	uint64_t fraction;

	if (pcap->left == 0)
		return 0;
	if (pcap->left < RECORD_HEADER)
		return -EBADMSG;
	fraction = word(pcap, header + 4);
	record->time_ns = word(pcap, header) * 1000000000ull +
		(pcap->in_nanoseconds ? fraction : fraction * 1000);
	record->length = word(pcap, header + 8);
	record->original_length = word(pcap, header + 12);
	record->data = header + RECORD_HEADER;
	if (record->length > pcap->left - RECORD_HEADER)
		return -EBADMSG;
	pcap->next = record->data + record->length;
	pcap->left -= RECORD_HEADER + record->length;
	return 1;
}
