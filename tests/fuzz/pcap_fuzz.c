/* SPDX-License-Identifier: BSD-3-Clause */
/* Capture files: every record lies inside the file, and reading comes to an end. */
#include "fuzz.h"
#include "pcap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pcap_record record;
	struct pcap pcap;
	size_t records = 0;
	int more;

	if (pcap_open(&pcap, data, size) != 0)
		return 0;
	while ((more = pcap_read(&pcap, &record)) == 1) {
		FUZZ_CHECK(record.data > data && record.data <= data + size);
		FUZZ_CHECK(record.length <= (size_t)(data + size - record.data));
		FUZZ_CHECK(++records <= size / 16);
	}
	FUZZ_CHECK(more <= 0);
	return 0;
}
