/* SPDX-License-Identifier: BSD-3-Clause */
/* Which cores may still be using what has been unlinked. */
#include "quiescence.h"

#include "state.h"

/*
 * Adding nothing to the token reads it by a read-modify-write: the full barrier between unlinking
 * and looking. It pairs with the exchange in worker_enter(): a core that is not seen inside a round
 * sees in its next one that the thing is gone.
 */
static bool is_inside(struct worker *worker)
{
	return __atomic_fetch_add(&worker->token, 0, __ATOMIC_SEQ_CST) != 0;
}

/* Acquire: pairs with the release in worker_leave(): all that the round did has been done. */
static uint32_t rounds_of(const struct worker *worker)
{
	return __atomic_load_n(&worker->rounds, __ATOMIC_ACQUIRE);
}

void quiescence_begin(
	struct quiescence *quiescence, struct engine *engine, const struct worker *self)
{
	quiescence->waiting = 0;
	for_each_worker(other, engine)
	{
		if (other != self && is_inside(other))
			quiescence->waiting |= 1u << other->number;
		/* In this order. A count of before the barrier may be that of an older round: the
		 * one that the core was seen in would pass for a later one, though it had begun
		 * before the thing was seen to be gone. */
		quiescence->rounds[other->number] = rounds_of(other);
	}
}

/*
 * The round in which the core was seen has ended: it is in none, or in a later one. The count alone
 * would not do: it is raised before the token is given back, so the one noted may be that of a
 * round that has not begun, and a core that goes to sleep then would be waited for until it is
 * woken. Acquire: pairs with the releases in worker_leave().
 */
static bool has_left(const struct worker *worker, uint32_t noted)
{
	return __atomic_load_n(&worker->token, __ATOMIC_ACQUIRE) == 0 || rounds_of(worker) != noted;
}

bool quiescence_over(struct quiescence *quiescence, struct engine *engine)
{
	for_each_worker(other, engine) if (has_left(other, quiescence->rounds[other->number]))
		quiescence->waiting &= ~(1u << other->number);
	return quiescence->waiting == 0;
}
