/* SPDX-License-Identifier: BSD-3-Clause */
/* One core's share of the transport: set-up, and the two calls that move a QP's work along. */
#include <string.h>

#include "parts.h"
#include "requester.h"

const char *const rc_counter_names[sizeof(struct rc_counters) / 8] = {
#define X(name) #name,
	RC_COUNTERS(X)
#undef X
};

const char *const rc_hold_counter_names[sizeof(struct rc_hold_counters) / 8] = {
#define X(name) #name,
	RC_HOLD_COUNTERS(X)
#undef X
};

int rc_core_init(
	struct rc_core *core, const struct rc_ops *ops, struct mem_table *mem, uint64_t seed)
{
	memset(core, 0, sizeof(*core));
	core->ops = ops;
	core->mem = mem;
	random_seed(&core->random, seed);
	return timers_init(&core->timers);
}

void rc_core_fini(struct rc_core *core)
{
	timers_fini(&core->timers);
}

void rc_posted(struct rc_core *core, struct rc_qp *qp)
{
	if (qp->state == IBV_QPS_RTR)
		hold_posted(core, qp); /* parked: costs nothing until the gate opens */
	else if (qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_ERR)
		core->ops->activate(core, qp);
}

/* How many packets can be made in this turn. */
static unsigned int packets_possible(const struct rc_core *core, unsigned int budget)
{
	uint32_t room = core->out_room - core->out_count;

	if (room > core->free_count)
		room = core->free_count;
	return budget < room ? budget : room;
}

/*
 * Answers and requests share the budget and the buffers, so that a long answer doesn't keep the
 * QP's own requests from going out, nor they it; what one side leaves is the other's.
 */
static bool transmit(struct rc_core *core, struct rc_qp *qp, unsigned int *budget)
{
	unsigned int possible = packets_possible(core, *budget);
	unsigned int answers = possible - possible / 2;
	bool more;

	*budget -= answers;
	respond_transmit(core, qp, &answers);
	*budget += answers;
	more = requester_transmit(core, qp, budget);
	return respond_transmit(core, qp, budget) || more;
}

bool rc_transmit(struct rc_core *core, struct rc_qp *qp, unsigned int budget)
{
	bool more = false;

	if (qp->state != IBV_QPS_ERR)
		more = transmit(core, qp, &budget);
	if (qp->state == IBV_QPS_ERR)
		more = flush_run(core, qp, &budget);
	return more;
}
