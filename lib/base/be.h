/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Big-endian fields of packet headers. They are byte arrays, so that a header may lie at any
 * address and cannot be read without the conversion.
 */
#ifndef UROCE_BASE_BE_H
#define UROCE_BASE_BE_H

#include <stdint.h>
#include <string.h>

struct be16 {
	uint8_t byte[2];
};

struct be24 {
	uint8_t byte[3];
};

struct be32 {
	uint8_t byte[4];
};

struct be64 {
	uint8_t byte[8];
};

struct be128 {
	uint8_t byte[16];
};

static inline uint16_t be16_get(const struct be16 *field)
{
	uint16_t raw;

	memcpy(&raw, field, sizeof(raw));
	return __builtin_bswap16(raw);
}

static inline uint32_t be24_get(const struct be24 *field)
{
	return (uint32_t)field->byte[0] << 16 | (uint32_t)field->byte[1] << 8 | field->byte[2];
}

static inline uint32_t be32_get(const struct be32 *field)
{
	uint32_t raw;

	memcpy(&raw, field, sizeof(raw));
	return __builtin_bswap32(raw);
}

static inline uint64_t be64_get(const struct be64 *field)
{
	uint64_t raw;

	memcpy(&raw, field, sizeof(raw));
	return __builtin_bswap64(raw);
}

static inline void be16_put(struct be16 *field, uint16_t value)
{
	value = __builtin_bswap16(value);
	memcpy(field, &value, sizeof(value));
}

static inline void be24_put(struct be24 *field, uint32_t value)
{
	field->byte[0] = (uint8_t)(value >> 16);
	field->byte[1] = (uint8_t)(value >> 8);
	field->byte[2] = (uint8_t)value;
}

static inline void be32_put(struct be32 *field, uint32_t value)
{
	value = __builtin_bswap32(value);
	memcpy(field, &value, sizeof(value));
}

static inline void be64_put(struct be64 *field, uint64_t value)
{
	value = __builtin_bswap64(value);
	memcpy(field, &value, sizeof(value));
}

/*
 * Both halves by one store: who reads all of it at once soon after, as a CRC does, would wait for
 * two stores until they have reached the cache.
 */
static inline void be128_put(struct be128 *field, uint64_t high, uint64_t low)
{
	typedef uint64_t pair __attribute__((vector_size(16)));
	pair value = {__builtin_bswap64(high), __builtin_bswap64(low)};

	memcpy(field, &value, sizeof(value));
}

#endif
