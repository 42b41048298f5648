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

bool rc_transmit(struct rc_core *core, struct rc_qp *qp, unsigned int budget)
{
	bool more = false;

	if (qp->state != IBV_QPS_ERR) {
		more = respond_transmit(core, qp, &budget);
		more |= requester_transmit(core, qp, &budget);
	}
	if (qp->state == IBV_QPS_ERR)
		more = flush_run(core, qp, &budget);
	return more;
}
