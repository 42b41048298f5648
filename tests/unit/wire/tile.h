/* SPDX-License-Identifier: BSD-3-Clause */
/* A layout's fields cover each bit of the header exactly once, and each has a member of its own. */
#ifndef UROCE_TESTS_WIRE_TILE_H
#define UROCE_TESTS_WIRE_TILE_H

#include <string.h>

#include "layout.h"
#include "unit.h"

static inline void check_tiles(const struct layout *layout)
{
	uint8_t bits[8 * 256] = {0};
	uint32_t next = 0;

	CU_ASSERT_FATAL(layout->length <= 256);
	for (unsigned int i = 0; i < layout->count; i++) {
		const struct layout_field *field = &layout->fields[i];

		CU_ASSERT_EQUAL(field->bit, next);
		next = field->bit + field->width;
		CU_ASSERT_FATAL(next <= 8u * layout->length);
		CU_ASSERT(field->width <= 8 * field->size);
		if (!layout_is_number(field)) {
			CU_ASSERT_EQUAL(field->bit % 8, 0);
			CU_ASSERT_EQUAL(field->width, 8 * field->size);
		}
		for (uint32_t bit = field->bit; bit < next; bit++)
			bits[bit]++;
		for (unsigned int other = 0; other < i; other++)
			CU_ASSERT(layout->fields[other].offset + layout->fields[other].size <=
					field->offset ||
				field->offset + field->size <= layout->fields[other].offset);
	}
	for (uint32_t bit = 0; bit < 8u * layout->length; bit++)
		CU_ASSERT_EQUAL(bits[bit], 1);
}

#endif
