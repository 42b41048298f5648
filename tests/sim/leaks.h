/* SPDX-License-Identifier: BSD-3-Clause */
/* What an engine with one client has in use, so that it can be seen that all comes back. */
#ifndef UROCE_TESTS_LEAKS_H
#define UROCE_TESTS_LEAKS_H

#include <stdint.h>

struct engine;

/* Bytes of one: two announcements for each of 65,536 QPs, of 4 bytes, in a block of a power of two.
 */
#define LEAKS_RING (2u << 20)

struct leaks {
	uint64_t region; /* bytes of the client's */
	uint32_t rings;	 /* send rings among them: a core's is made at the first post to it */
	uint32_t keys;
	uint32_t qps;
	uint32_t timers;  /* that exist */
	uint32_t pending; /* that run */
	uint32_t waiting; /* QPs that want to send */
};

void leaks_count(struct engine *engine, struct leaks *leaks);
/* The name of something that is more than it was, or NULL. */
const char *leaks_compare(const struct leaks *before, const struct leaks *after);

#endif
