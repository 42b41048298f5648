/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 8-byte messages from one end to the other, step by step, under callgrind: for each operation,
 * batch size and phase a dump of the instructions that phase took. instructions.py runs this and
 * reads the dumps.
 */
#include <string.h>

#include <valgrind/callgrind.h>

#include "ends.h"

#define BATCH_MAX 32u
#define WARMUP 3u
#define ROUNDS 8u /* batches that count */
#define IDLE_ROUNDS 16u
#define IDLE_QPS 20000u
#define STEP 1000u /* ns: a batch */

struct operation {
	const char *name;
	enum ibv_wr_opcode opcode;
};

static const struct operation operations[] = {
	{"write", IBV_WR_RDMA_WRITE},
	{"send", IBV_WR_SEND},
};

static const unsigned int batches[] = {BATCH_MAX, 1};

static bool is_send(const struct operation *operation)
{
	return operation->opcode == IBV_WR_SEND;
}

static void refill(struct ends *ends, unsigned int batch)
{
	struct end *end = &ends->end[RESPONDER];
	struct ibv_sge sges[BATCH_MAX];
	struct ibv_recv_wr wrs[BATCH_MAX], *bad;

	for (unsigned int i = 0; i < batch; i++) {
		sges[i] = (struct ibv_sge){(uintptr_t)&end->memory[i], MESSAGE, end->mr->lkey};
		wrs[i] = (struct ibv_recv_wr){.wr_id = i, .sg_list = &sges[i], .num_sge = 1};
		wrs[i].next = i + 1 < batch ? &wrs[i + 1] : NULL;
	}
	meter_enter(&ends->meter, PHASE_REFILL);
	must(ibv_post_recv(end->qp, wrs, &bad) == 0, "ibv_post_recv");
	meter_enter(&ends->meter, PHASE_NONE);
}

static void post(struct ends *ends, const struct operation *operation, unsigned int batch)
{
	struct end *end = &ends->end[REQUESTER], *peer = &ends->end[RESPONDER];
	struct ibv_sge sges[BATCH_MAX];
	struct ibv_send_wr wrs[BATCH_MAX], *bad;

	for (unsigned int i = 0; i < batch; i++) {
		sges[i] = (struct ibv_sge){(uintptr_t)&end->memory[i], MESSAGE, end->mr->lkey};
		wrs[i] = (struct ibv_send_wr){
			.wr_id = i,
			.sg_list = &sges[i],
			.num_sge = 1,
			.opcode = operation->opcode,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = {(uintptr_t)&peer->memory[i], peer->mr->rkey},
		};
		wrs[i].next = i + 1 < batch ? &wrs[i + 1] : NULL;
		end->memory[i]++;
	}
	meter_enter(&ends->meter, PHASE_POST);
	must(ibv_post_send(end->qp, wrs, &bad) == 0, "ibv_post_send");
	meter_enter(&ends->meter, PHASE_NONE);
}

static void drive(struct ends *ends, unsigned int end, enum phase phase)
{
	meter_enter(&ends->meter, phase);
	engine_round(ends->end[end].engine);
	meter_enter(&ends->meter, PHASE_NONE);
}

static void poll(struct ends *ends, unsigned int end, enum phase phase, unsigned int batch)
{
	struct ibv_wc wcs[BATCH_MAX];
	int polled;

	meter_enter(&ends->meter, phase);
	polled = ibv_poll_cq(ends->end[end].cq, (int)batch, wcs);
	meter_enter(&ends->meter, PHASE_NONE);
	must(polled == (int)batch, "as many completions as requests");
	for (unsigned int i = 0; i < batch; i++)
		must(wcs[i].status == IBV_WC_SUCCESS && wcs[i].wr_id == i, "success, in order");
}

static void exchange(struct ends *ends, const struct operation *operation, unsigned int batch)
{
	ends->now += STEP;
	if (is_send(operation))
		refill(ends, batch);
	post(ends, operation, batch);
	drive(ends, REQUESTER, PHASE_SEND);
	drive(ends, RESPONDER, PHASE_RECEIVE);
	must(memcmp(ends->end[RESPONDER].memory, ends->end[REQUESTER].memory, batch * MESSAGE) == 0,
		"the bytes arrive");
	drive(ends, RESPONDER, PHASE_ANSWER);
	if (is_send(operation))
		poll(ends, RESPONDER, PHASE_REAP, batch);
	poll(ends, REQUESTER, PHASE_COMPLETE, batch);
}

/* One phase is collected at a time: the exchanges are repeated for each. */
static void measure(
	struct ends *ends, const struct operation *operation, unsigned int batch, enum phase phase)
{
	for (unsigned int i = 0; i < WARMUP; i++)
		exchange(ends, operation, batch);
	ends->meter.wanted = phase;
	for (unsigned int i = 0; i < ROUNDS; i++)
		exchange(ends, operation, batch);
	meter_dump(&ends->meter, operation->name, batch, ROUNDS * batch);
	ends->meter.wanted = PHASES;
}

static void measure_all(struct ends *ends)
{
	for (unsigned int i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		for (unsigned int j = 0; j < sizeof(batches) / sizeof(batches[0]); j++)
			for (enum phase phase = PHASE_POST; phase <= PHASE_REFILL; phase++)
				if (phase < PHASE_REAP || is_send(&operations[i]))
					measure(ends, &operations[i], batches[j], phase);
}

static void measure_idle(struct ends *ends, unsigned int qps)
{
	for (unsigned int i = 0; i < WARMUP; i++)
		drive(ends, REQUESTER, PHASE_IDLE);
	ends->meter.wanted = PHASE_IDLE;
	for (unsigned int i = 0; i < IDLE_ROUNDS; i++) {
		ends->now += STEP;
		drive(ends, REQUESTER, PHASE_IDLE);
	}
	meter_dump(&ends->meter, "round", qps, IDLE_ROUNDS);
	ends->meter.wanted = PHASES;
}

int main(void)
{
	static struct ends ends = {.meter = {.wanted = PHASES}};

	ends_open(&ends);
	CALLGRIND_START_INSTRUMENTATION;
	measure_all(&ends);
	measure_idle(&ends, 0);
	for (unsigned int i = 0; i < IDLE_QPS; i++)
		ends_add_idle(&ends);
	measure_idle(&ends, IDLE_QPS);
	return 0;
}
