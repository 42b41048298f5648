/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which QP may send next. QPs that have something to send wait in a line; each gets a budget of
 * packets a turn and goes to the line's end if it has more. Who finds no buffer keeps its place.
 *
 * There is one line per way out, so that a port that takes nothing doesn't hold up what is looped,
 * nor the other way round; and one for QPs in ERR, which flush and need no packets.
 */
#ifndef UROCE_ENGINE_SCHEDULER_H
#define UROCE_ENGINE_SCHEDULER_H

#include <stdint.h>

#include "list.h"
#include "packet.h"

struct engine_qp;
struct worker;

struct outlet {
	struct list line; /* struct engine_qp, by active */
	uint32_t length;
	struct packet *out; /* packets made and not yet gone */
	uint32_t count;
	uint32_t room;
};

void scheduler_init(struct outlet *outlet, struct packet *out, uint32_t room);
/* Puts the QP into its outlet's line if it isn't there. */
void scheduler_add(struct engine_qp *qp);
/* Takes it out of the line if it is there. */
void scheduler_remove(struct engine_qp *qp);
/* The QP's packets go another way from now on. */
void scheduler_move(struct engine_qp *qp, struct outlet *outlet);
/* A turn for those that are in the line now, as far as buffers and room go. */
void scheduler_send(struct worker *worker, struct outlet *outlet);
/* The same for the line that sends nothing. */
void scheduler_flush(struct worker *worker);

#endif
