/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * QPs as an outsider sees them. The engine stands still for a walk over so many places of its
 * tables, so that even a million of QPs stops nobody for long; a QP that comes or goes between two
 * walks is seen or not.
 */
#include <errno.h>
#include <string.h>

#include "counters.h"
#include "state.h"

#define PLACES_PER_WALK 4096u

static void describe(const struct engine_qp *qp, struct engine_qp_info *info)
{
	static const char *const states[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
	static const char *const causes[] = {
		"modify", "packet", "rtu", "notify", "grace", "ack", "timeout"};
	struct rc_core *core = &qp->worker->core;
	struct rc_hold_info hold;

	rc_hold_query(core, qp->rc, &hold);
	*info = (struct engine_qp_info){
		.qp_num = qp->qp_num,
		.core = qp->worker->number,
		.state = states[rc_qp_state(qp->rc)],
		.shown = states[rc_qp_shown_state(qp->rc)],
		.cause = hold.cause < 0 ? "none" : causes[hold.cause],
		.closed = hold.closed,
		.armed = hold.armed,
		.strict = hold.strict,
		.held_now = hold.held_now,
		.held_ns = hold.held_since ? core->now - hold.held_since : 0,
	};
}

/* Places are numbered through the cores' tables in turn: 0 of each, 1 of each ... NULL: empty. */
static const struct engine_qp *at_place(const struct engine *engine, uint64_t place)
{
	const struct qp_table *qps = &engine->workers[place % engine->cores.count]->qps;
	uint64_t index = place / engine->cores.count;

	return index < qps->used ? qps->slots[index].qp : NULL;
}

static uint64_t places(const struct engine *engine)
{
	uint64_t most = 0;

	for_each_worker(each, engine) if (each->qps.used > most) most = each->qps.used;
	return most * engine->cores.count;
}

unsigned int engine_qps(
	struct engine *engine, uint64_t *place, struct engine_qp_info *infos, unsigned int room)
{
	unsigned int count = 0;
	uint64_t at = *place, end;

	engine_pause(engine);
	end = places(engine);
	for (unsigned int i = 0; i < PLACES_PER_WALK && at < end && count < room; i++) {
		const struct engine_qp *qp = at_place(engine, at++);

		if (qp)
			describe(qp, &infos[count++]);
	}
	engine_resume(engine);
	*place = at < end ? at : ENGINE_QPS_END;
	return count;
}

static const struct engine_qp *find(const struct engine *engine, uint32_t qp_num)
{
	uint32_t core = core_of(&engine->cores, qp_num);

	if (core >= engine->cores.count)
		return NULL;
	return qp_table_find(&engine->workers[core]->qps, qp_num);
}

int engine_qp(struct engine *engine, uint32_t qp_num, struct engine_qp_info *info,
	engine_tell *tell, void *context)
{
	struct rc_hold_counters counters;
	const uint64_t *values = (const uint64_t *)&counters;
	const struct engine_qp *qp;

	engine_pause(engine);
	qp = find(engine, qp_num);
	if (qp) {
		describe(qp, info);
		counters = *rc_qp_hold_counters(qp->rc);
	}
	engine_resume(engine);
	for (unsigned int i = 0; qp && i < sizeof(counters) / sizeof(*values); i++)
		tell(context, rc_hold_counter_names[i], values[i]);
	return qp ? 0 : -ENOENT;
}
