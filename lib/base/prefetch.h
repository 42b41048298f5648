/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cache lines asked for ahead. For a line that will be written, the compiler's own prefetch is no
 * help: without further flags it asks for a copy to read, and the store waits for the line all the
 * same. PREFETCHW is there on every x86-64 that matters, and nothing at all on the others.
 */
#ifndef UROCE_BASE_PREFETCH_H
#define UROCE_BASE_PREFETCH_H

static inline void prefetch_write(void *at)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*(char *)at));
#else
	__builtin_prefetch(at, 1);
#endif
}

#endif
