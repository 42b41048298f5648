/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines of QPs that have something to send. */
#include "scheduler.h"

#include "object.h"
#include "state.h"

/* QPs a round and line: bounds what a round costs. */
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

/* A QP is out of the line while it has its turn, so that being activated meanwhile puts it back. */
static void turn(struct worker *worker, struct outlet *outlet)
{
	struct engine_qp *qp = container_of(list_first(&outlet->line), struct engine_qp, active);

	scheduler_remove(qp);
	if (rc_transmit(&worker->core, qp->rc, worker->budget))
		scheduler_add(qp);
}

static bool may_send(const struct rc_core *core)
{
	return core->free_count && core->out_count < core->out_room;
}

void scheduler_send(struct worker *worker, struct outlet *outlet)
{
	struct rc_core *core = &worker->core;
	uint32_t turns = outlet->length < TURNS ? outlet->length : TURNS;

	core->out = outlet->out;
	core->out_count = outlet->count;
	core->out_room = outlet->room;
	for (; turns && outlet->length && may_send(core); turns--)
		turn(worker, outlet);
	outlet->count = core->out_count;
}

void scheduler_flush(struct worker *worker)
{
	struct outlet *outlet = &worker->flushing;
	uint32_t turns = outlet->length < TURNS ? outlet->length : TURNS;

	worker->core.out_count = 0;
	worker->core.out_room = 0;
	for (; turns && outlet->length; turns--)
		turn(worker, outlet);
}
