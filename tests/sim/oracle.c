/* SPDX-License-Identifier: BSD-3-Clause */
/* The oracle: verbs' semantics, and nothing else. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

struct arena {
	uint8_t *memory;
	uint8_t *shadow;  /* what must be there */
	uint8_t *unknown; /* 1: a failed request may or may not have changed this byte */
	uint32_t length;
};

struct record {
	struct oracle_request request;
	uint8_t *bytes;
	bool completed;
	bool received; /* its message has completed a receive */
	enum ibv_wc_status status;
};

struct receive {
	uint64_t wr_id;
	uint8_t *buffer;
	uint32_t length;
	bool completed;
};

/* The receives of a QP, or of an SRQ that several flows end in. */
struct pool {
	struct receive *receives;
	uint32_t count;
};

struct oracle_flow {
	struct oracle *oracle;
	uint32_t number;
	struct record *records;
	uint32_t posted;
	uint32_t done;	   /* up to here all have come to their end */
	uint32_t consumed; /* the next request whose message may take a receive */
	struct pool *pool;
	bool owns_pool;
	uint64_t word_value; /* atomics: what the word holds after all that are done */
	bool closed;
	bool may_break;
	bool lossy;
	bool failed;
	struct oracle_flow *next;
};

struct oracle {
	struct arena arenas[ORACLE_ARENAS];
	uint32_t arena_count;
	struct oracle_flow *flows;
	uint32_t complaints;
	uint64_t judged;
	char complaint[256];
};

static void complain(struct oracle *oracle, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void complain(struct oracle *oracle, const char *format, ...)
{
	va_list arguments;

	if (oracle->complaints++)
		return;
	va_start(arguments, format);
	vsnprintf(oracle->complaint, sizeof(oracle->complaint), format, arguments);
	va_end(arguments);
}

static void *need(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

/* ---- memory ---- */

static struct arena *arena_of(struct oracle *oracle, const uint8_t *at)
{
	for (uint32_t i = 0; i < oracle->arena_count; i++)
		if (at >= oracle->arenas[i].memory &&
			at < oracle->arenas[i].memory + oracle->arenas[i].length)
			return &oracle->arenas[i];
	abort();
}

void oracle_watch(struct oracle *oracle, uint8_t *memory, uint32_t length)
{
	struct arena *arena = &oracle->arenas[oracle->arena_count++];

	arena->memory = memory;
	arena->length = length;
	arena->shadow = need(malloc(length));
	arena->unknown = need(calloc(1, length));
	memcpy(arena->shadow, memory, length);
}

void oracle_wrote(struct oracle *oracle, const uint8_t *at, uint32_t length)
{
	struct arena *arena = arena_of(oracle, at);

	memcpy(arena->shadow + (at - arena->memory), at, length);
}

/* These bytes must be there from now on. */
static void expect(struct oracle_flow *flow, const uint8_t *at, const uint8_t *bytes,
	uint32_t length, const char *what)
{
	struct arena *arena;

	if (length == 0)
		return;
	arena = arena_of(flow->oracle, at);
	memcpy(arena->shadow + (at - arena->memory), bytes, length);
	memset(arena->unknown + (at - arena->memory), 0, length);
	if (memcmp(at, bytes, length) != 0)
		complain(flow->oracle, "flow %u: %s completed, but its %u bytes are not there",
			flow->number, what, length);
}

static void forget(struct oracle_flow *flow, const uint8_t *at, uint32_t length)
{
	struct arena *arena;

	if (length == 0 || !at)
		return;
	arena = arena_of(flow->oracle, at);
	memset(arena->unknown + (at - arena->memory), 1, length);
}

/* ---- requests ---- */

static bool takes_receive(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
		opcode == IBV_WR_SEND_WITH_INV || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static bool is_atomic(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static bool is_write(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

#define FLOW_MAX 4096u

static struct pool *make_pool(void)
{
	struct pool *pool = need(calloc(1, sizeof(*pool)));

	pool->receives = need(calloc(FLOW_MAX, sizeof(*pool->receives)));
	return pool;
}

struct oracle_flow *oracle_flow(
	struct oracle *oracle, uint32_t number, const struct oracle_flow *share)
{
	struct oracle_flow *flow = need(calloc(1, sizeof(*flow)));

	flow->oracle = oracle;
	flow->number = number;
	flow->records = need(calloc(FLOW_MAX, sizeof(*flow->records)));
	flow->pool = share ? share->pool : make_pool();
	flow->owns_pool = !share;
	flow->next = oracle->flows;
	oracle->flows = flow;
	return flow;
}

void oracle_posted(struct oracle_flow *flow, const struct oracle_request *request)
{
	struct record *record = &flow->records[flow->posted++];

	if (flow->posted == FLOW_MAX)
		abort();
	record->request = *request;
	if (request->bytes) {
		record->bytes = need(malloc(request->length + 1));
		memcpy(record->bytes, request->bytes, request->length);
	}
}

void oracle_recv_posted(struct oracle_flow *flow, uint64_t wr_id, uint8_t *buffer, uint32_t length)
{
	struct receive *receive = &flow->pool->receives[flow->pool->count++];

	if (flow->pool->count == FLOW_MAX)
		abort();
	receive->wr_id = wr_id;
	receive->buffer = buffer;
	receive->length = length;
}

static void run_atomic(struct oracle_flow *flow, const struct oracle_request *request)
{
	uint64_t original = flow->word_value;

	expect(flow, request->target, (const uint8_t *)&original, sizeof(original), "an atomic");
	if (request->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		flow->word_value += request->compare_add;
	else if (original == request->compare_add)
		flow->word_value = request->swap;
	/* Later ones may have run already: the word itself is looked at in the end. */
	forget(flow, request->word, sizeof(original));
}

static void succeeded(struct oracle_flow *flow, struct record *record)
{
	const struct oracle_request *request = &record->request;

	flow->oracle->judged++;
	record->status = IBV_WC_SUCCESS;
	if (request->must_fail)
		complain(flow->oracle, "flow %u: request %llu with a wrong R_Key succeeded",
			flow->number, (unsigned long long)request->wr_id);
	if (is_write(request->opcode))
		expect(flow, request->target, record->bytes, request->length, "a WRITE");
	else if (request->opcode == IBV_WR_RDMA_READ)
		expect(flow, request->target, request->source, request->length, "a READ");
	else if (is_atomic(request->opcode))
		run_atomic(flow, request);
}

static void ended_badly(struct oracle_flow *flow, struct record *record, enum ibv_wc_status status)
{
	const struct oracle_request *request = &record->request;

	flow->oracle->judged++;
	record->status = status;
	if (request->must_fail && !flow->failed && status != IBV_WC_REM_ACCESS_ERR && !flow->lossy)
		complain(flow->oracle, "flow %u: a wrong R_Key ended with %s", flow->number,
			ibv_wc_status_str(status));
	if (!request->must_fail && !flow->failed && !flow->may_break)
		complain(flow->oracle, "flow %u: request %llu ended with %s", flow->number,
			(unsigned long long)request->wr_id, ibv_wc_status_str(status));
	if (flow->failed && status != IBV_WC_WR_FLUSH_ERR)
		complain(flow->oracle, "flow %u: %s after the first failure, not a flush",
			flow->number, ibv_wc_status_str(status));
	flow->failed = true;
	/* It may have been executed, as a whole or in part. */
	if (is_write(request->opcode) || request->opcode == IBV_WR_RDMA_READ)
		forget(flow, request->target, request->length);
	if (is_atomic(request->opcode)) {
		forget(flow, request->target, sizeof(uint64_t));
		forget(flow, request->word, sizeof(uint64_t));
	}
}

void oracle_send_completed(struct oracle_flow *flow, const struct ibv_wc *wc)
{
	if (flow->closed && wc->status != IBV_WC_WR_FLUSH_ERR)
		complain(flow->oracle, "flow %u: a request completed behind a closed gate",
			flow->number);
	while (flow->done < flow->posted) {
		struct record *record = &flow->records[flow->done++];

		if (record->request.wr_id == wc->wr_id) {
			record->completed = true;
			if (wc->status == IBV_WC_SUCCESS)
				succeeded(flow, record);
			else
				ended_badly(flow, record, wc->status);
			if (wc->status == IBV_WC_SUCCESS && !record->request.signaled)
				complain(flow->oracle, "flow %u: an unsignaled request completed",
					flow->number);
			if (wc->status == IBV_WC_SUCCESS && flow->failed)
				complain(flow->oracle, "flow %u: success after a failure",
					flow->number);
			return;
		}
		if (record->request.signaled || flow->failed) {
			complain(flow->oracle, "flow %u: request %llu has no completion, %llu has",
				flow->number, (unsigned long long)record->request.wr_id,
				(unsigned long long)wc->wr_id);
			return;
		}
		succeeded(flow, record);
	}
	complain(flow->oracle, "flow %u: completion of %llu, which was not posted or has completed",
		flow->number, (unsigned long long)wc->wr_id);
}

/* ---- receives ---- */

static struct receive *find_receive(struct oracle_flow *flow, uint64_t wr_id)
{
	for (uint32_t i = 0; i < flow->pool->count; i++)
		if (flow->pool->receives[i].wr_id == wr_id && !flow->pool->receives[i].completed)
			return &flow->pool->receives[i];
	return NULL;
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

static void judge_message(struct oracle_flow *flow, const struct ibv_wc *wc,
	const struct record *record, const struct receive *receive)
{
	const struct oracle_request *request = &record->request;
	bool write = request->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	bool immediate = write || request->opcode == IBV_WR_SEND_WITH_IMM;

	if (wc->byte_len != request->length)
		complain(flow->oracle, "flow %u: message of %u bytes was received as %u",
			flow->number, request->length, wc->byte_len);
	else if (immediate != ((wc->wc_flags & IBV_WC_WITH_IMM) != 0) ||
		(immediate && wc->imm_data != request->imm_or_rkey))
		complain(flow->oracle, "flow %u: the immediate is not the one that was sent",
			flow->number);
	else if (wc->opcode != (write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV))
		complain(flow->oracle, "flow %u: the receive's opcode is %d", flow->number,
			(int)wc->opcode);
	else if (!write)
		expect(flow, receive->buffer, record->bytes, request->length, "a receive");
	else
		expect(flow, request->target, record->bytes, request->length,
			"a WRITE with immediate");
}

void oracle_recv_completed(struct oracle_flow *flow, const struct ibv_wc *wc)
{
	struct receive *receive = find_receive(flow, wc->wr_id);
	struct record *record;

	flow->oracle->judged++;
	if (!receive) {
		complain(flow->oracle, "flow %u: receive %llu completed twice, or was not posted",
			flow->number, (unsigned long long)wc->wr_id);
		return;
	}
	receive->completed = true;
	if (wc->status != IBV_WC_SUCCESS) {
		if (!flow->may_break)
			complain(flow->oracle, "flow %u: a receive ended with %s", flow->number,
				ibv_wc_status_str(wc->status));
		forget(flow, receive->buffer, receive->length);
		return;
	}
	if (flow->closed)
		complain(flow->oracle, "flow %u: a message passed a closed gate", flow->number);
	record = next_message(flow);
	if (!record) {
		complain(flow->oracle, "flow %u: a message was received that was not sent",
			flow->number);
		return;
	}
	record->received = true;
	judge_message(flow, wc, record, receive);
}

/* ---- the rest ---- */

void oracle_gate(struct oracle_flow *flow, bool closed)
{
	flow->closed = closed;
}

void oracle_may_break(struct oracle_flow *flow, bool lossy)
{
	flow->may_break = true;
	flow->lossy |= lossy;
}

/* Unsignaled requests that succeed never tell; those that fail do. */
bool oracle_settled(const struct oracle_flow *flow)
{
	for (uint32_t i = flow->done; i < flow->posted; i++)
		if (flow->records[i].request.signaled)
			return false;
	return true;
}

uint32_t oracle_outstanding(const struct oracle_flow *flow)
{
	return flow->posted - flow->done;
}

/* A word of atomics: what all that succeeded made of it, unless one that failed may have run. */
static void judge_word(struct oracle_flow *flow)
{
	const uint8_t *word = NULL;
	uint64_t value;

	for (uint32_t i = 0; i < flow->posted; i++)
		if (is_atomic(flow->records[i].request.opcode)) {
			word = flow->records[i].request.word;
			if (flow->records[i].status != IBV_WC_SUCCESS)
				return;
		}
	if (!word)
		return;
	memcpy(&value, word, sizeof(value));
	if (value != flow->word_value)
		complain(flow->oracle, "flow %u: the word of its atomics is %llu, not %llu",
			flow->number, (unsigned long long)value,
			(unsigned long long)flow->word_value);
}

static void finish_flow(struct oracle_flow *flow)
{
	if (!oracle_settled(flow))
		complain(flow->oracle, "flow %u: %u of %u requests never completed", flow->number,
			flow->posted - flow->done, flow->posted);
	else
		while (flow->done < flow->posted)
			succeeded(flow, &flow->records[flow->done++]);
	for (uint32_t i = 0; i < flow->posted; i++) {
		const struct record *record = &flow->records[i];

		if (takes_receive(record->request.opcode) && record->status == IBV_WC_SUCCESS &&
			!record->received && !flow->may_break)
			complain(flow->oracle,
				"flow %u: message %llu was acknowledged, but never received",
				flow->number, (unsigned long long)record->request.wr_id);
	}
	/* A failed message may have reached a part of a receive that is still posted. */
	if (flow->failed)
		for (uint32_t i = 0; i < flow->pool->count; i++)
			if (!flow->pool->receives[i].completed)
				forget(flow, flow->pool->receives[i].buffer,
					flow->pool->receives[i].length);
	judge_word(flow);
}

static void judge_arena(struct oracle *oracle, const struct arena *arena, uint32_t number)
{
	for (uint32_t i = 0; i < arena->length; i++)
		if (!arena->unknown[i] && arena->memory[i] != arena->shadow[i]) {
			complain(oracle, "arena %u: byte %u is 0x%02x, must be 0x%02x", number, i,
				arena->memory[i], arena->shadow[i]);
			return;
		}
}

void oracle_finish(struct oracle *oracle)
{
	for (struct oracle_flow *flow = oracle->flows; flow; flow = flow->next)
		finish_flow(flow);
	for (uint32_t i = 0; i < oracle->arena_count; i++)
		judge_arena(oracle, &oracle->arenas[i], i);
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
	return need(calloc(1, sizeof(struct oracle)));
}

void oracle_destroy(struct oracle *oracle)
{
	while (oracle->flows) {
		struct oracle_flow *flow = oracle->flows;

		oracle->flows = flow->next;
		for (uint32_t i = 0; i < flow->posted; i++)
			free(flow->records[i].bytes);
		free(flow->records);
		if (flow->owns_pool) {
			free(flow->pool->receives);
			free(flow->pool);
		}
		free(flow);
	}
	for (uint32_t i = 0; i < oracle->arena_count; i++) {
		free(oracle->arenas[i].shadow);
		free(oracle->arenas[i].unknown);
	}
	free(oracle);
}
