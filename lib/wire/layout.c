/* SPDX-License-Identifier: BSD-3-Clause */
/* Bit fields to and from host order, by table. */
#include <string.h>

#include "layout.h"

static uint64_t get_bits(const uint8_t *wire, uint32_t bit, uint32_t width)
{
	uint64_t value = 0;

	for (uint32_t end = bit + width; bit < end; bit++)
		value = value << 1 | (wire[bit / 8] >> (7 - bit % 8) & 1);
	return value;
}

static void put_bits(uint8_t *wire, uint32_t bit, uint32_t width, uint64_t value)
{
	for (uint32_t left = width; left > 0; left--, bit++)
		wire[bit / 8] |= (uint8_t)((value >> (left - 1) & 1) << (7 - bit % 8));
}

uint64_t layout_get(const struct layout_field *field, const void *object)
{
	const uint8_t *member = (const uint8_t *)object + field->offset;

	switch (field->size) {
	case 1:
		return *member;
	case 2:
		return *(const uint16_t *)(const void *)member;
	case 4:
		return *(const uint32_t *)(const void *)member;
	default:
		return *(const uint64_t *)(const void *)member;
	}
}

void layout_set(const struct layout_field *field, void *object, uint64_t value)
{
	uint8_t *member = (uint8_t *)object + field->offset;

	switch (field->size) {
	case 1:
		*member = (uint8_t)value;
		break;
	case 2:
		*(uint16_t *)(void *)member = (uint16_t)value;
		break;
	case 4:
		*(uint32_t *)(void *)member = (uint32_t)value;
		break;
	default:
		*(uint64_t *)(void *)member = value;
		break;
	}
}

void layout_decode(const struct layout *layout, const uint8_t *wire, void *object)
{
	for (unsigned int i = 0; i < layout->count; i++) {
		const struct layout_field *field = &layout->fields[i];

		if (layout_is_number(field))
			layout_set(field, object, get_bits(wire, field->bit, field->width));
		else
			memcpy((uint8_t *)object + field->offset, wire + field->bit / 8,
				field->size);
	}
}

void layout_encode(const struct layout *layout, uint8_t *wire, const void *object)
{
	memset(wire, 0, layout->length);
	for (unsigned int i = 0; i < layout->count; i++) {
		const struct layout_field *field = &layout->fields[i];

		if (layout_is_number(field))
			put_bits(wire, field->bit, field->width, layout_get(field, object));
		else
			memcpy(wire + field->bit / 8, (const uint8_t *)object + field->offset,
				field->size);
	}
}
