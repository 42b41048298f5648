/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Instructions by phase: callgrind collects while the phase that is wanted runs, and nothing else.
 * Beside the phases stands a port around another port, whose own work is nobody's phase, and which
 * tells where receiving ends and answering begins.
 */
#ifndef UROCE_TESTS_PERF_METER_H
#define UROCE_TESTS_PERF_METER_H

#include <stdbool.h>

#include "port.h"

enum phase {
	PHASE_NONE,
	PHASE_POST,	/* ibv_post_send */
	PHASE_SEND,	/* the requester's round: requests out */
	PHASE_RECEIVE,	/* the responder's round: requests in, placed */
	PHASE_ANSWER,	/* its next one: ACKs out */
	PHASE_COMPLETE, /* the requester's ibv_poll_cq: the round that takes the ACK, completions */
	PHASE_REAP,	/* the responder's ibv_poll_cq */
	PHASE_REFILL,	/* ibv_post_recv */
	PHASE_IDLE,	/* a round without work */
	PHASES,
};

struct meter {
	enum phase wanted;
	enum phase now;
	bool collecting;
};

extern const char *const phase_names[PHASES];

/* What follows belongs to this phase. */
void meter_enter(struct meter *meter, enum phase phase);
/* Writes what was collected for `messages` messages, and starts anew with the next wanted phase. */
void meter_dump(
	struct meter *meter, const char *operation, unsigned int batch, unsigned int messages);

struct metered_port {
	struct port port;
	struct port *inner;
	struct meter *meter;
};

void metered_port_init(struct metered_port *metered, struct port *inner, struct meter *meter);

#endif
