/* SPDX-License-Identifier: BSD-3-Clause */
/* Management datagrams: any 256 bytes come back as they were, and have a line that fits. */
#include <string.h>

#include "dump.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t again[MAD_LENGTH];
	char line[DUMP_LINE];
	struct text text = text_start(line, sizeof(line));
	struct mad mad;

	if (mad_decode(data, (uint32_t)size, &mad) != 0) {
		FUZZ_CHECK(size != MAD_LENGTH);
		return 0;
	}
	mad_encode(&mad, again);
	FUZZ_CHECK(memcmp(again, data, MAD_LENGTH) == 0);
	dump_mad(&text, &mad);
	FUZZ_CHECK(text.left > 1);
	return 0;
}
