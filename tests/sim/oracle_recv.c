/* SPDX-License-Identifier: BSD-3-Clause */
/* The oracle on receives and the messages that complete them. */
#include <stdlib.h>
#include <string.h>

#include "oracle_parts.h"

struct pool *pool_create(void)
{
	struct pool *pool = oracle_need(calloc(1, sizeof(*pool)));

	pool->receives = oracle_need(calloc(POOL_MAX, sizeof(*pool->receives)));
	return pool;
}

void pool_release(struct pool *pool)
{
	if (--pool->users)
		return;
	free(pool->receives);
	free(pool);
}

void oracle_recv_posted(struct oracle_flow *flow, uint64_t wr_id, uint8_t *buffer, uint32_t length)
{
	struct receive *receive = &flow->pool->receives[flow->pool->count++];

	if (flow->pool->count == POOL_MAX)
		abort();
	receive->wr_id = wr_id;
	receive->buffer = buffer;
	receive->length = length;
	receive->completed = false;
}

static struct receive *find_receive(struct oracle_flow *flow, uint64_t wr_id)
{
	struct pool *pool = flow->pool;

	for (uint32_t i = pool->done; i < pool->count; i++)
		if (pool->receives[i].wr_id == wr_id && !pool->receives[i].completed)
			return &pool->receives[i];
	return NULL;
}

/* Of an SRQ several QPs take, and each completes its own in its time. */
static void take(struct oracle_flow *flow, struct receive *receive)
{
	struct pool *pool = flow->pool;

	receive->completed = true;
	if (pool->users == 1 && receive != &pool->receives[pool->done])
		oracle_complain(flow->oracle, "flow %u: receive %llu overtook another",
			flow->number, (unsigned long long)receive->wr_id);
	while (pool->done < pool->count && pool->receives[pool->done].completed)
		pool->done++;
}

static struct record *next_message(struct oracle_flow *flow)
{
	while (flow->consumed < flow->posted) {
		struct record *record = &flow->records[flow->consumed++];

		if (takes_receive(record->request.opcode))
			return record;
	}
	return NULL;
}

/* The flags and the word that come with the message. */
static bool extras_right(const struct ibv_wc *wc, const struct oracle_request *request)
{
	bool immediate = request->opcode == IBV_WR_RDMA_WRITE_WITH_IMM ||
		request->opcode == IBV_WR_SEND_WITH_IMM;
	bool invalidate = request->opcode == IBV_WR_SEND_WITH_INV;

	if (immediate != ((wc->wc_flags & IBV_WC_WITH_IMM) != 0) ||
		invalidate != ((wc->wc_flags & IBV_WC_WITH_INV) != 0))
		return false;
	if (immediate)
		return wc->imm_data == request->imm_or_rkey;
	return !invalidate || wc->invalidated_rkey == request->imm_or_rkey;
}

static void judge_message(struct oracle_flow *flow, const struct ibv_wc *wc,
	const struct record *record, const struct receive *receive)
{
	const struct oracle_request *request = &record->request;
	bool write = request->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;

	if (wc->byte_len != request->length)
		oracle_complain(flow->oracle, "flow %u: message of %u bytes was received as %u",
			flow->number, request->length, wc->byte_len);
	else if (!extras_right(wc, request))
		oracle_complain(flow->oracle,
			"flow %u: the immediate or R_Key is not the one that was sent",
			flow->number);
	else if (wc->opcode != (write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV))
		oracle_complain(flow->oracle, "flow %u: the receive's opcode is %d", flow->number,
			(int)wc->opcode);
	else if (request->must_fail)
		oracle_complain(flow->oracle, "flow %u: a message arrived that had to be refused",
			flow->number);
	else if (!write)
		memory_expect(flow, receive->buffer, record->bytes, request->length, "a receive");
	else if (request->board)
		board_wrote(flow, (uint32_t)(record - flow->records));
	else
		memory_expect(flow, request->target, record->bytes, request->length,
			"a WRITE with immediate");
}

static void failed(struct oracle_flow *flow, const struct ibv_wc *wc, const struct receive *receive)
{
	if (!flow->may_break)
		oracle_complain(flow->oracle, "flow %u: a receive ended with '%s'", flow->number,
			ibv_wc_status_str(wc->status));
	/* A failed message may have reached a part of it. */
	memory_forget(flow, receive->buffer, receive->length);
}

bool oracle_recv_completed(struct oracle_flow *flow, const struct ibv_wc *wc)
{
	struct receive *receive = find_receive(flow, wc->wr_id);
	struct record *record;

	flow->oracle->judged++;
	if (!receive) {
		oracle_complain(flow->oracle,
			"flow %u: receive %llu completed twice, or was not posted", flow->number,
			(unsigned long long)wc->wr_id);
		return false;
	}
	take(flow, receive);
	if (wc->status != IBV_WC_SUCCESS) {
		failed(flow, wc, receive);
		return false;
	}
	if (flow->closed)
		oracle_complain(
			flow->oracle, "flow %u: a message passed a closed gate", flow->number);
	record = next_message(flow);
	if (!record) {
		oracle_complain(flow->oracle, "flow %u: a message was received that was not sent",
			flow->number);
		return false;
	}
	record->received = true;
	judge_message(flow, wc, record, receive);
	return record->request.solicited;
}

void oracle_recv_flushed(struct oracle_flow *flow)
{
	flow->recv_flushed = true;
}

static void forget_receives(struct oracle_flow *flow)
{
	for (uint32_t i = flow->pool->done; i < flow->pool->count; i++)
		if (!flow->pool->receives[i].completed)
			memory_forget(flow, flow->pool->receives[i].buffer,
				flow->pool->receives[i].length);
}

/* An SRQ's receives stay, but a message that was under way may have reached one of them. */
void oracle_recv_vanished(struct oracle_flow *flow)
{
	forget_receives(flow);
	if (!flow->pool->srq)
		flow->pool->done = flow->pool->count;
	flow->recv_flushed = false;
}

void recv_finish(struct oracle_flow *flow)
{
	for (uint32_t i = 0; i < flow->posted; i++) {
		const struct record *record = &flow->records[i];

		if (takes_receive(record->request.opcode) && record->status == IBV_WC_SUCCESS &&
			!record->vanished && !record->received && !flow->may_break)
			oracle_complain(flow->oracle,
				"flow %u: message %llu was acknowledged, but never received",
				flow->number, (unsigned long long)record->request.wr_id);
	}
	if (flow->recv_flushed && !flow->pool->srq && flow->pool->done < flow->pool->count)
		oracle_complain(flow->oracle, "flow %u: %u receives were not flushed", flow->number,
			flow->pool->count - flow->pool->done);
	/* A failed message may have reached a part of a receive that is still posted. */
	if (flow->failed || flow->vanished)
		forget_receives(flow);
}
