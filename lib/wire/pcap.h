/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads capture files of the classic pcap format (draft-ietf-opsawg-pcap) from memory: both byte
 * orders, time stamps in microseconds or nanoseconds. The file may be cut or hostile; nothing
 * behind its end is looked at.
 */
#ifndef UROCE_WIRE_PCAP_H
#define UROCE_WIRE_PCAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PCAP_LINK_ETHERNET 1u

struct pcap {
	const uint8_t *next;
	size_t left;
	bool swapped; /* the file's byte order isn't ours */
	bool in_nanoseconds;
	uint32_t link; /* PCAP_LINK_... */
};

struct pcap_record {
	uint64_t time_ns; /* since 1970 */
	const uint8_t *data;
	uint32_t length;	  /* bytes that were kept */
	uint32_t original_length; /* bytes that were on the wire */
};

/* Returns 0, or -EINVAL if this is not the start of a pcap file. */
int pcap_open(struct pcap *pcap, const uint8_t *bytes, size_t length);
/* Returns 1 and a record, 0 at the end, -EBADMSG if the file ends within a record. */
int pcap_read(struct pcap *pcap, struct pcap_record *record);

#endif
