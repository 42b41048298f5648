/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A frame in: parse, find the QP by its number, hand it over. What isn't RoCE goes back to the
 * port, which answers for its addresses; what is for a QP of another core goes to that core; what
 * is wrong is dropped and counted by its reason.
 */
#include "rx.h"

#include "sleep.h"
#include "state.h"
#include "trace.h"

/* What becomes of a burst's buffers. */
struct burst {
	struct worker *worker;
	struct packet done[PORT_BURST]; /* to be released */
	struct packet others[PORT_BURST];
	uint32_t done_count;
	uint32_t other_count;
	uint32_t given; /* bit n: core n has got some */
};

static void to_qp(struct worker *worker, const struct wire_packet *packet)
{
	struct engine_qp *qp = qp_table_find(&worker->qps, packet->destination_qp);

	if (qp) {
		rc_receive(&worker->core, qp->rc, packet);
	} else {
		worker->counters.drop_no_qp++;
		TRACE_DROP(packet->destination_qp, packet->psn, "drop_no_qp");
	}
}

/* False: it stays ours. */
static bool give(struct burst *burst, const struct packet *frame, uint32_t core)
{
	struct worker *worker = burst->worker;

	if (core >= worker->engine->cores.count) {
		worker->counters.drop_no_qp++;
		TRACE_DROP_FRAME(frame->data, frame->length, "drop_no_qp");
		return false;
	}
	if (!handover_put(worker->engine->workers[core]->inbound[worker->number], frame)) {
		worker->counters.handover_full++;
		TRACE_DROP_FRAME(frame->data, frame->length, "handover_full");
		return false;
	}
	worker->counters.handed_over++;
	burst->given |= 1u << core;
	return true;
}

static void take_frame(struct burst *burst, const struct packet *frame)
{
	struct worker *worker = burst->worker;
	struct wire_packet packet;
	enum wire_drop drop = wire_parse(frame->data, frame->length, &packet);
	uint32_t core;

	if (drop == WIRE_OK) {
		core = core_of(&worker->engine->cores, packet.destination_qp);
		if (core == worker->number)
			to_qp(worker, &packet);
		else if (give(burst, frame, core))
			return;
	} else {
		worker->drops[drop]++;
		if (drop != WIRE_NOT_ROCE)
			TRACE_DROP_FRAME(frame->data, frame->length, engine_drop_names[drop]);
	}
	if (drop == WIRE_NOT_ROCE)
		burst->others[burst->other_count++] = *frame;
	burst->done[burst->done_count++] = *frame;
}

/* After the last frame: who was given some looks, even if it sleeps. */
static void wake_given(const struct burst *burst)
{
	for (uint32_t given = burst->given; given; given &= given - 1)
		sleep_wake(burst->worker->engine->workers[__builtin_ctz(given)]);
}

/* Frames come out of another core's cache or of memory: some are asked for ahead, with both lines
 * that headers and a small payload take. */
#define AHEAD 4u

static inline void prefetch(const struct packet *frame)
{
	__builtin_prefetch(frame->data);
	__builtin_prefetch(frame->data + 64);
}

static void take_burst(struct burst *burst, const struct packet *frames, uint32_t count)
{
	struct worker *worker = burst->worker;
	struct port *port = worker->engine->port;

	burst->done_count = 0;
	burst->other_count = 0;
	burst->given = 0;
	for (uint32_t i = 0; i < AHEAD && i < count; i++)
		prefetch(&frames[i]);
	for (uint32_t i = 0; i < count; i++) {
		if (i + AHEAD < count)
			prefetch(&frames[i + AHEAD]);
		take_frame(burst, &frames[i]);
	}
	if (burst->other_count)
		port->ops->other(
			port, worker->queue, burst->others, burst->other_count, worker->core.now);
	port->ops->release(port, worker->queue, burst->done, burst->done_count);
	if (burst->given)
		wake_given(burst);
}

void rx_take(struct worker *worker, const struct packet *frames, uint32_t count)
{
	struct burst burst;

	burst.worker = worker;
	for (uint32_t at = 0; at < count; at += PORT_BURST)
		take_burst(&burst, frames + at, count - at < PORT_BURST ? count - at : PORT_BURST);
}

unsigned int rx_run(struct worker *worker)
{
	struct port *port = worker->engine->port;
	struct packet frames[PORT_BURST];
	unsigned int count = port->ops->rx(port, worker->queue, frames, PORT_BURST);

	if (count == 0)
		return 0;
	rx_take(worker, frames, count);
	worker->counters.rx_packets += count;
	return count;
}

static unsigned int take_inbound(struct worker *worker, struct handover *inbound)
{
	struct packet frames[PORT_BURST];
	uint32_t count = handover_take(inbound, frames, PORT_BURST);

	if (count)
		rx_take(worker, frames, count);
	return count;
}

unsigned int rx_inbound(struct worker *worker)
{
	uint32_t cores = worker->engine->cores.count;
	unsigned int count = 0;

	for (uint32_t i = 0; i < cores && cores > 1; i++)
		if (worker->inbound[i])
			count += take_inbound(worker, worker->inbound[i]);
	return count;
}

bool rx_waits(const struct worker *worker)
{
	for (uint32_t i = 0; i < worker->engine->cores.count; i++)
		if (worker->inbound[i] && !handover_empty(worker->inbound[i]))
			return true;
	return false;
}
