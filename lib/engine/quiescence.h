/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Quiescent points. What one core has unlinked, another may still be using, until the round that it
 * was in has ended; a core that is in no round uses nothing. A command that drops a key stays
 * pending until every other core has been seen outside a round, or in a later one, and is answered
 * then: what the key led to may be unmapped.
 */
#ifndef UROCE_ENGINE_QUIESCENCE_H
#define UROCE_ENGINE_QUIESCENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core.h"

struct engine;
struct worker;

struct quiescence {
	uint32_t waiting; /* bit n: core n was in the round that followed rounds[n] others */
	uint32_t rounds[CORES_MAX];
};

/* After something was unlinked, from a round of `self`. */
void quiescence_begin(
	struct quiescence *quiescence, struct engine *engine, const struct worker *self);
/* Nobody uses it any more. */
bool quiescence_over(struct quiescence *quiescence, struct engine *engine);

#endif
