/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames taken apart. What decodes is rebuilt byte for byte, the two ways to
 * the ICRC agree, and every frame has a line that fits.
 */
#include <string.h>

#include "dump.h"
#include "fields.h"
#include "fuzz.h"

static void check_rebuilt(const uint8_t *data, size_t size, const struct wire_fields *fields)
{
	static uint8_t again[WIRE_FIELDS_FRAME];
	struct wire_packet packet;

	FUZZ_CHECK(wire_encode(fields, again, sizeof(again)) == (int)size);
	FUZZ_CHECK(memcmp(again, data, size) == 0);
	FUZZ_CHECK(wire_parse(data, (uint32_t)size, &packet) == WIRE_OK);
	FUZZ_CHECK(wire_fields_icrc(fields) == wire_icrc(&packet));
	FUZZ_CHECK(wire_icrc_ok(&packet) == (fields->icrc == wire_icrc(&packet)));
}

/* A shorter line is the start of the longer one. */
static void check_line(const uint8_t *data, size_t size)
{
	char line[DUMP_LINE];
	char start[80];
	enum wire_drop drop = wire_dump(data, (uint32_t)size, line, sizeof(line));

	FUZZ_CHECK(drop < WIRE_DROPS);
	FUZZ_CHECK(strlen(line) < sizeof(line) - 1);
	FUZZ_CHECK(wire_dump(data, (uint32_t)size, start, sizeof(start)) == drop);
	FUZZ_CHECK(strncmp(start, line, sizeof(start) - 1) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct wire_fields fields;

	if (wire_decode(data, (uint32_t)size, &fields) == 0)
		check_rebuilt(data, size, &fields);
	check_line(data, size);
	return 0;
}
