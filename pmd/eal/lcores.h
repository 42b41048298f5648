/* SPDX-License-Identifier: BSD-3-Clause */
/* The EAL lcores of an engine: one for each core that has a thread of its own, in their order. */
#ifndef UROCE_EAL_LCORES_H
#define UROCE_EAL_LCORES_H

#include <stdbool.h>

#include "core.h"

#define LCORE_MAX 1023u

struct lcores {
	uint32_t count;
	unsigned int id[CORES_MAX];
};

static inline bool lcores_have(const struct lcores *lcores, unsigned int id)
{
	for (uint32_t i = 0; i < lcores->count; i++)
		if (lcores->id[i] == id)
			return true;
	return false;
}

#endif
