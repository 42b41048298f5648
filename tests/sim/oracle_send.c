/* SPDX-License-Identifier: BSD-3-Clause */
/* The oracle on requests: order, statuses, effects. */
#include <stdlib.h>
#include <string.h>

#include "oracle_parts.h"

void oracle_posted(struct oracle_flow *flow, const struct oracle_request *request)
{
	struct record *record = &flow->records[flow->posted++];

	if (flow->posted == FLOW_MAX)
		abort();
	record->request = *request;
	if (request->bytes) {
		record->bytes = oracle_need(malloc(request->length + 1));
		memcpy(record->bytes, request->bytes, request->length);
	}
}

static void run_atomic(struct oracle_flow *flow, const struct oracle_request *request)
{
	uint64_t original = flow->word_value;

	memory_expect(
		flow, request->target, (const uint8_t *)&original, sizeof(original), "an atomic");
	if (request->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		flow->word_value += request->compare_add;
	else if (original == request->compare_add)
		flow->word_value = request->swap;
	/* Later ones may have run already: the word itself is looked at in the end. */
	memory_forget(flow, request->word, sizeof(original));
}

static void run_write(struct oracle_flow *flow, uint32_t index)
{
	const struct record *record = &flow->records[index];

	if (record->request.board)
		board_wrote(flow, index);
	else
		memory_expect(flow, record->request.target, record->bytes, record->request.length,
			"a WRITE");
}

static void succeeded(struct oracle_flow *flow, uint32_t index)
{
	struct record *record = &flow->records[index];
	const struct oracle_request *request = &record->request;

	flow->oracle->judged++;
	record->status = IBV_WC_SUCCESS;
	if (request->must_fail)
		oracle_complain(flow->oracle, "flow %u: request %llu had to end with '%s'",
			flow->number, (unsigned long long)request->wr_id,
			ibv_wc_status_str(request->must_fail));
	else if (is_write(request->opcode))
		run_write(flow, index);
	else if (request->opcode == IBV_WR_RDMA_READ && request->board)
		board_read(flow, index);
	else if (request->opcode == IBV_WR_RDMA_READ)
		memory_expect(flow, request->target, request->source, request->length, "a READ");
	else if (is_atomic(request->opcode))
		run_atomic(flow, request);
}

/* It may have been executed, as a whole or in part. */
static void forget_effects(struct oracle_flow *flow, const struct oracle_request *request)
{
	if (is_write(request->opcode) || request->opcode == IBV_WR_RDMA_READ)
		memory_forget(flow, request->target, request->length);
	if (is_atomic(request->opcode)) {
		memory_forget(flow, request->target, sizeof(uint64_t));
		memory_forget(flow, request->word, sizeof(uint64_t));
	}
}

static void judge_first_failure(
	struct oracle_flow *flow, const struct oracle_request *request, enum ibv_wc_status status)
{
	if (request->must_fail && status != request->must_fail && !flow->lossy)
		oracle_complain(flow->oracle, "flow %u: request %llu ended with '%s', not '%s'",
			flow->number, (unsigned long long)request->wr_id, ibv_wc_status_str(status),
			ibv_wc_status_str(request->must_fail));
	if (!request->must_fail && !flow->may_break)
		oracle_complain(flow->oracle, "flow %u: request %llu ended with '%s'", flow->number,
			(unsigned long long)request->wr_id, ibv_wc_status_str(status));
}

static void ended_badly(struct oracle_flow *flow, struct record *record, enum ibv_wc_status status)
{
	flow->oracle->judged++;
	record->status = status;
	flow->statuses |= 1u << status;
	if (!flow->failed)
		judge_first_failure(flow, &record->request, status);
	else if (status != IBV_WC_WR_FLUSH_ERR)
		oracle_complain(flow->oracle, "flow %u: '%s' after the first failure, not a flush",
			flow->number, ibv_wc_status_str(status));
	flow->failed = true;
	if (!record->request.must_fail)
		forget_effects(flow, &record->request);
}

static enum ibv_wc_opcode completion_of(enum ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return IBV_WC_COMP_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IBV_WC_FETCH_ADD;
	case IBV_WR_LOCAL_INV:
		return IBV_WC_LOCAL_INV;
	case IBV_WR_BIND_MW:
		return IBV_WC_BIND_MW;
	default:
		return IBV_WC_SEND;
	}
}

static void completed(struct oracle_flow *flow, uint32_t index, const struct ibv_wc *wc)
{
	struct record *record = &flow->records[index];

	if (wc->status != IBV_WC_SUCCESS) {
		ended_badly(flow, record, wc->status);
		return;
	}
	succeeded(flow, index);
	if (wc->opcode != completion_of(record->request.opcode))
		oracle_complain(flow->oracle, "flow %u: request %llu completed as opcode %d",
			flow->number, (unsigned long long)wc->wr_id, (int)wc->opcode);
	if (!record->request.signaled)
		oracle_complain(
			flow->oracle, "flow %u: an unsignaled request completed", flow->number);
	if (flow->failed)
		oracle_complain(flow->oracle, "flow %u: success after a failure", flow->number);
}

void oracle_send_completed(struct oracle_flow *flow, const struct ibv_wc *wc)
{
	if (flow->closed && wc->status != IBV_WC_WR_FLUSH_ERR)
		oracle_complain(flow->oracle, "flow %u: a request completed behind a closed gate",
			flow->number);
	while (flow->done < flow->posted) {
		uint32_t index = flow->done++;
		const struct record *record = &flow->records[index];

		if (record->request.wr_id == wc->wr_id) {
			completed(flow, index, wc);
			return;
		}
		if (record->request.signaled || flow->failed) {
			oracle_complain(flow->oracle,
				"flow %u: request %llu has no completion, %llu has", flow->number,
				(unsigned long long)record->request.wr_id,
				(unsigned long long)wc->wr_id);
			return;
		}
		succeeded(flow, index);
	}
	oracle_complain(flow->oracle,
		"flow %u: completion of %llu, which was not posted or has completed", flow->number,
		(unsigned long long)wc->wr_id);
}

void oracle_vanished(struct oracle_flow *flow)
{
	for (; flow->done < flow->posted; flow->done++) {
		struct record *record = &flow->records[flow->done];

		record->vanished = true;
		flow->vanished = true;
		if (!record->request.must_fail)
			forget_effects(flow, &record->request);
	}
}

/* Unsignaled requests that succeed never tell; those that fail do. */
bool oracle_settled(const struct oracle_flow *flow)
{
	for (uint32_t i = flow->done; i < flow->posted; i++)
		if (flow->records[i].request.signaled || flow->failed)
			return false;
	return true;
}

uint32_t oracle_outstanding(const struct oracle_flow *flow)
{
	return flow->posted - flow->done;
}

bool oracle_saw(const struct oracle_flow *flow, enum ibv_wc_status status)
{
	return flow->statuses >> status & 1;
}

/* A word of atomics: what all that succeeded made of it, unless one that failed may have run. */
static void judge_word(struct oracle_flow *flow)
{
	const uint8_t *word = NULL;
	uint64_t value;

	for (uint32_t i = 0; i < flow->posted; i++) {
		const struct record *record = &flow->records[i];

		if (!is_atomic(record->request.opcode) || record->request.must_fail)
			continue;
		word = record->request.word;
		if (record->vanished || record->status != IBV_WC_SUCCESS)
			return;
	}
	if (!word)
		return;
	memcpy(&value, word, sizeof(value));
	if (value != flow->word_value)
		oracle_complain(flow->oracle, "flow %u: the word of its atomics is %llu, not %llu",
			flow->number, (unsigned long long)value,
			(unsigned long long)flow->word_value);
}

void send_finish(struct oracle_flow *flow)
{
	if (!oracle_settled(flow)) {
		oracle_complain(flow->oracle, "flow %u: %u of %u requests never completed",
			flow->number, flow->posted - flow->done, flow->posted);
		return;
	}
	while (flow->done < flow->posted)
		succeeded(flow, flow->done++);
	judge_word(flow);
	board_finish(flow);
}
