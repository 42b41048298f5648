/* SPDX-License-Identifier: BSD-3-Clause */
/* Bit fields across byte borders, of all member sizes, and arrays. */
#include <string.h>

#include "layout.h"
#include "unit.h"

struct sample {
	uint8_t three;
	uint16_t thirteen;
	uint64_t sixty_four;
	uint32_t twenty;
	uint8_t array[3];
	uint8_t four;
};

#define FIELD(member, bit, width) LAYOUT_FIELD(struct sample, member, #member, bit, width)

static const struct layout_field fields[] = {
	FIELD(three, 0, 3),
	FIELD(thirteen, 3, 13),
	FIELD(sixty_four, 16, 64),
	FIELD(twenty, 80, 20),
	FIELD(four, 100, 4),
	FIELD(array, 104, 24),
};

static const struct layout layout = LAYOUT("sample", 17, fields); /* the last byte is nobody's */

static const uint8_t wire[17] = {0xb5, 0xa5, 1, 2, 3, 4, 5, 6, 7, 8, 0xab, 0xcd, 0xef, 9, 8, 7, 0};

static void decode(void)
{
	struct sample sample;

	layout_decode(&layout, wire, &sample);
	CU_ASSERT_EQUAL(sample.three, 5);
	CU_ASSERT_EQUAL(sample.thirteen, 0x15a5);
	CU_ASSERT_EQUAL(sample.sixty_four, 0x0102030405060708);
	CU_ASSERT_EQUAL(sample.twenty, 0xabcde);
	CU_ASSERT_EQUAL(sample.four, 0xf);
	CU_ASSERT_EQUAL(memcmp(sample.array, "\x09\x08\x07", 3), 0);
}

static void encode(void)
{
	struct sample sample = {5, 0x15a5, 0x0102030405060708, 0xabcde, {9, 8, 7}, 0xf};
	uint8_t again[18];

	memset(again, 0xff, sizeof(again));
	layout_encode(&layout, again, &sample);
	CU_ASSERT_EQUAL(memcmp(again, wire, sizeof(wire)), 0);
	CU_ASSERT_EQUAL(again[17], 0xff);
}

static void get_and_set(void)
{
	struct sample sample = {0};

	for (unsigned int i = 0; i < layout.count; i++) {
		const struct layout_field *field = &layout.fields[i];

		if (!layout_is_number(field))
			continue;
		layout_set(field, &sample, 3);
		CU_ASSERT_EQUAL(layout_get(field, &sample), 3);
	}
	CU_ASSERT(sample.three == 3 && sample.thirteen == 3 && sample.sixty_four == 3);
	CU_ASSERT(sample.twenty == 3 && sample.four == 3 && sample.array[0] == 0);
	layout_set(&layout.fields[2], &sample, ~0ull);
	CU_ASSERT_EQUAL(sample.sixty_four, ~0ull);
	CU_ASSERT_EQUAL(sample.twenty, 3);
}

static void numbers(void)
{
	CU_ASSERT_TRUE(layout_is_number(&layout.fields[0]));
	CU_ASSERT_TRUE(layout_is_number(&layout.fields[2]));
	CU_ASSERT_FALSE(layout_is_number(&layout.fields[5]));
}

static const struct unit_case cases[] = {
	UNIT_CASE(decode),
	UNIT_CASE(encode),
	UNIT_CASE(get_and_set),
	UNIT_CASE(numbers),
};

UNIT_MAIN("wire-layout", cases)
