/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines of QPs that have something to send. */
#include "scheduler.h"

#include "object.h"
#include "state.h"

/* QPs a round and outlet: what a round costs stays bounded when nothing can be sent. */
#define TURNS 64u

void scheduler_init(struct outlet *outlet, struct packet *out, uint32_t room)
{
	*outlet = (struct outlet){.out = out, .room = room};
	list_init(&outlet->line);
}

void scheduler_add(struct engine_qp *qp)
{
	if (list_linked(&qp->active))
		return;
	list_append(&qp->outlet->line, &qp->active);
	qp->outlet->length++;
}

void scheduler_remove(struct engine_qp *qp)
{
	if (!list_linked(&qp->active))
		return;
	list_remove(&qp->active);
	qp->outlet->length--;
}

void scheduler_move(struct engine_qp *qp, struct outlet *outlet)
{
	bool waits = list_linked(&qp->active);

	scheduler_remove(qp);
	qp->outlet = outlet;
	if (waits)
		scheduler_add(qp);
}

/*
 * A QP is out of the line while it has its turn, so that being activated meanwhile puts it back.
 * QPs that only flush need no packet, so a full outlet doesn't end the round.
 */
void scheduler_run(struct worker *worker, struct outlet *outlet)
{
	struct rc_core *core = &worker->core;
	uint32_t turns = outlet->length < TURNS ? outlet->length : TURNS;

	core->out = outlet->out;
	core->out_count = outlet->count;
	core->out_room = outlet->room;
	for (; turns && outlet->length; turns--) {
		struct engine_qp *qp =
			container_of(list_first(&outlet->line), struct engine_qp, active);

		scheduler_remove(qp);
		if (rc_transmit(core, qp->rc, worker->budget))
			scheduler_add(qp);
	}
	outlet->count = core->out_count;
}
