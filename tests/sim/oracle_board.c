/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A flow's board: a piece of the peer's memory that many of its requests WRITE and READ, so that
 * their order shows. What a byte may be follows from the order of the posts: WRITEs take effect one
 * after the other, and a READ's data are read after all earlier WRITEs, but perhaps after later
 * ones, too, unless a fence stands between (IBTA 10.8.3.3; man ibv_post_send, IBV_SEND_FENCE).
 */
#include <stdlib.h>
#include <string.h>

#include "oracle_parts.h"

void oracle_board(struct oracle_flow *flow, const uint8_t *board, uint32_t length)
{
	flow->board = board;
	flow->board_length = length;
	flow->board_first = oracle_need(malloc(length));
	memcpy(flow->board_first, board, length);
}

/* The byte that this request puts there, or -1. */
static int put_by(const struct record *record, const uint8_t *at)
{
	const struct oracle_request *request = &record->request;

	if (!request->board || !is_write(request->opcode) || at < request->target ||
		at >= request->target + request->length)
		return -1;
	return record->bytes[at - request->target];
}

/* What the byte held when all requests before `index` had taken effect. */
static uint8_t before(const struct oracle_flow *flow, uint32_t index, const uint8_t *at)
{
	while (index-- > 0) {
		int value = put_by(&flow->records[index], at);

		if (value >= 0)
			return (uint8_t)value;
	}
	return flow->board_first[at - flow->board];
}

/* A request from `first` on puts this value there. fence: look no further than the next one. */
static bool put_later(const struct oracle_flow *flow, uint32_t first, const uint8_t *at,
	uint8_t value, bool fence)
{
	for (uint32_t i = first; i < flow->posted; i++) {
		if (fence && flow->records[i].request.fence)
			return false;
		if (put_by(&flow->records[i], at) == value)
			return true;
	}
	return false;
}

/* By now later WRITEs may have gone over it. */
void board_wrote(struct oracle_flow *flow, uint32_t index)
{
	const struct record *record = &flow->records[index];
	const uint8_t *at = record->request.target;

	for (uint32_t i = 0; i < record->request.length; i++)
		if (!put_later(flow, index, at + i, at[i], false)) {
			oracle_complain(flow->oracle,
				"flow %u: WRITE %llu completed, but its byte %u is not there",
				flow->number, (unsigned long long)record->request.wr_id, i);
			return;
		}
}

/* The last look: all in the order of the posts. */
void board_finish(struct oracle_flow *flow)
{
	for (uint32_t i = 0; i < flow->posted; i++) {
		const struct record *record = &flow->records[i];
		const struct oracle_request *request = &record->request;

		if (!request->board || !is_write(request->opcode))
			continue;
		if (record->status == IBV_WC_SUCCESS && !record->vanished)
			memory_passes(flow, request->target, record->bytes, request->length);
		else
			memory_forget(flow, request->target, request->length);
	}
}

void board_read(struct oracle_flow *flow, uint32_t index)
{
	const struct oracle_request *request = &flow->records[index].request;
	const uint8_t *got = request->target;

	for (uint32_t i = 0; i < request->length; i++) {
		const uint8_t *at = request->source + i;

		if (got[i] != before(flow, index, at) &&
			!put_later(flow, index + 1, at, got[i], true)) {
			oracle_complain(flow->oracle,
				"flow %u: READ %llu got what was not there at its time, byte %u",
				flow->number, (unsigned long long)request->wr_id, i);
			break;
		}
	}
	oracle_wrote(flow->oracle, got, request->length);
}
