/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reaching the installed libibverbs. dlvsym(RTLD_NEXT) isn't enough: it finds nothing when only a
 * plug-in has loaded the library, as UCX and libfabric do; a handle finds it always.
 */
#include <dlfcn.h>
#include <stddef.h>

#include "fallthrough.h"

#define REAL_LIBRARY "libibverbs.so.1"

static const struct {
	const char *name;
	const char *version;
} real_names[REAL_COUNT] = {
#define X(name, version) {#name, version},
	REAL_FUNCTIONS(X)
#undef X
};

/* A cache; each slot is written with the same value by whoever comes first. */
static struct {
	void *library;
	void *function[REAL_COUNT];
} real;

static void *library(void)
{
	void *handle = __atomic_load_n(&real.library, __ATOMIC_ACQUIRE);

	if (!handle) {
		handle = dlopen(REAL_LIBRARY, RTLD_LAZY | RTLD_NODELETE);
		__atomic_store_n(&real.library, handle, __ATOMIC_RELEASE);
	}
	return handle;
}

void (*real_find(enum real_function which))(void)
{
	void *found = __atomic_load_n(&real.function[which], __ATOMIC_ACQUIRE);
	void (*function)(void);

	if (!found && library()) {
		found = dlvsym(library(), real_names[which].name, real_names[which].version);
		__atomic_store_n(&real.function[which], found, __ATOMIC_RELEASE);
	}
	/* POSIX guarantees the round trip that ISO C doesn't. */
	__builtin_memcpy(&function, &found, sizeof(function));
	return function;
}
