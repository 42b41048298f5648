/* SPDX-License-Identifier: BSD-3-Clause */
/* A count that every child raises. */
#include "forks.h"

#include <pthread.h>

/* Static because fork() is: pthread_atfork() hands its functions nothing. EAL is the process's,
 * too. Written by the only thread of a child, and by whoever starts EAL, one at a time. */
static struct {
	uint32_t count;
	uint32_t eal; /* the count when EAL was found running */
	bool has_eal;
} forks;

static void in_child(void)
{
	forks.count++;
}

static void watch(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

void forks_watch(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch);
}

uint32_t forks_count(void)
{
	return forks.count;
}

void forks_keep_eal(void)
{
	forks.has_eal = true;
	forks.eal = forks.count;
}

bool forks_lost_eal(void)
{
	return forks.has_eal && forks.eal != forks.count;
}
