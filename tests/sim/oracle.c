/* SPDX-License-Identifier: BSD-3-Clause */
/* The oracle: verbs' semantics, and nothing else. Here: making, complaining, the last look. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "oracle_parts.h"

void *oracle_need(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

void oracle_complain(struct oracle *oracle, const char *format, ...)
{
	va_list arguments;

	if (oracle->complaints++)
		return;
	va_start(arguments, format);
	vsnprintf(oracle->complaint, sizeof(oracle->complaint), format, arguments);
	va_end(arguments);
}

const char *oracle_complaint(const struct oracle *oracle)
{
	return oracle->complaints ? oracle->complaint : NULL;
}

uint32_t oracle_complaints(const struct oracle *oracle)
{
	return oracle->complaints;
}

uint64_t oracle_judged(const struct oracle *oracle)
{
	return oracle->judged;
}

struct oracle *oracle_create(void)
{
	return oracle_need(calloc(1, sizeof(struct oracle)));
}

struct oracle_flow *oracle_flow(
	struct oracle *oracle, uint32_t number, bool srq, const struct oracle_flow *share)
{
	struct oracle_flow *flow = oracle_need(calloc(1, sizeof(*flow)));

	flow->oracle = oracle;
	flow->number = number;
	flow->records = oracle_need(calloc(FLOW_MAX, sizeof(*flow->records)));
	flow->pool = share ? share->pool : pool_create();
	flow->pool->users++;
	flow->pool->srq = srq;
	flow->next = oracle->flows;
	oracle->flows = flow;
	return flow;
}

void oracle_gate(struct oracle_flow *flow, bool closed)
{
	flow->closed = closed;
}

bool oracle_closed(const struct oracle_flow *flow)
{
	return flow->closed;
}

void oracle_may_break(struct oracle_flow *flow, bool lossy)
{
	flow->may_break = true;
	flow->lossy |= lossy;
}

void oracle_finish(struct oracle *oracle)
{
	for (struct oracle_flow *flow = oracle->flows; flow; flow = flow->next) {
		send_finish(flow);
		recv_finish(flow);
	}
	memory_judge(oracle);
}

void oracle_destroy(struct oracle *oracle)
{
	while (oracle->flows) {
		struct oracle_flow *flow = oracle->flows;

		oracle->flows = flow->next;
		for (uint32_t i = 0; i < flow->posted; i++)
			free(flow->records[i].bytes);
		free(flow->records);
		free(flow->board_first);
		pool_release(flow->pool);
		free(flow);
	}
	for (uint32_t i = 0; i < oracle->arena_count; i++) {
		free(oracle->arenas[i].shadow);
		free(oracle->arenas[i].unknown);
	}
	free(oracle);
}
