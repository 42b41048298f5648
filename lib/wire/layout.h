/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Formats as data. A header is a list of bit fields, each with its place on the wire (bits counted
 * from the header's first, most significant bit, as the standards draw them) and its place in a
 * struct in host order. One pair of functions reads and writes them all, and a test can walk them.
 * For the control path and tools; the data path has headers.h.
 */
#ifndef UROCE_WIRE_LAYOUT_H
#define UROCE_WIRE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct layout_field {
	const char *name;
	uint16_t bit;	 /* on the wire */
	uint16_t width;	 /* bits */
	uint16_t offset; /* in the struct */
	uint16_t size;	 /* bytes of the member there */
};

struct layout {
	const char *name;
	uint16_t length; /* bytes on the wire */
	uint16_t count;
	const struct layout_field *fields;
};

/* A row for `member`, an unsigned integer of 1, 2, 4 or 8 bytes, or an array of bytes. */
#define LAYOUT_FIELD(type, member, name, bit, width)                                               \
	{                                                                                          \
		name, bit, width, offsetof(type, member), sizeof(((type *)0)->member)              \
	}

#define LAYOUT(name, length, fields)                                                               \
	{                                                                                          \
		name, length, sizeof(fields) / sizeof((fields)[0]), fields                         \
	}

/* Arrays of bytes start at a byte and go as they are; all else is a number. */
static inline bool layout_is_number(const struct layout_field *field)
{
	return field->width <= 64 &&
		(field->size == 1 || field->size == 2 || field->size == 4 || field->size == 8);
}

/* A number's value in the struct; bits beyond its width are cut off on the way to the wire. */
uint64_t layout_get(const struct layout_field *field, const void *object);
void layout_set(const struct layout_field *field, void *object, uint64_t value);

void layout_decode(const struct layout *layout, const uint8_t *wire, void *object);
/* Writes layout->length bytes; bits that no field names become zero. */
void layout_encode(const struct layout *layout, uint8_t *wire, const void *object);

#endif
