/* SPDX-License-Identifier: BSD-3-Clause */
/* Data that can be recognised: each seed has its own, and no byte is that of untouched memory. */
#ifndef UROCE_TESTS_PATTERN_H
#define UROCE_TESTS_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void pattern_fill(uint8_t *memory, size_t length, uint32_t seed);
bool pattern_matches(const uint8_t *memory, size_t length, uint32_t seed);
/* Memory that nobody may have written to since pattern_clear(). */
void pattern_clear(uint8_t *memory, size_t length);
bool pattern_is_clear(const uint8_t *memory, size_t length);

#endif
