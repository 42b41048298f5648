/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a fuzz target defines, for libFuzzer and for replay.c alike. The input lies in a block of
 * its own of exactly `size` bytes, so that a sanitizer sees a read beyond it.
 */
#ifndef UROCE_TESTS_FUZZ_H
#define UROCE_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A broken promise is a crash, in every build type. */
#define FUZZ_CHECK(condition)                                                                      \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#endif
