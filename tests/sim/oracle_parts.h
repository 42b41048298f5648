/* SPDX-License-Identifier: BSD-3-Clause */
/* The oracle's own structures, shared by its files. */
#ifndef UROCE_TESTS_ORACLE_PARTS_H
#define UROCE_TESTS_ORACLE_PARTS_H

#include "oracle.h"

#define FLOW_MAX 4096u
#define POOL_MAX 16384u

struct arena {
	uint8_t *memory;
	uint8_t *shadow;  /* what must be there */
	uint8_t *unknown; /* 1: a failed request may or may not have changed this byte */
	uint32_t length;
};

struct record {
	struct oracle_request request;
	uint8_t *bytes;
	bool received; /* its message has completed a receive */
	bool vanished;
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
	uint32_t users; /* flows */
	bool srq;
	uint32_t done; /* before here all have completed */
};

struct oracle_flow {
	struct oracle *oracle;
	uint32_t number;
	struct record *records;
	uint32_t posted;
	uint32_t done;	   /* up to here all have come to their end */
	uint32_t consumed; /* the next request whose message may take a receive */
	struct pool *pool;
	uint64_t word_value; /* atomics: what the word holds after all that are done */
	const uint8_t *board;
	uint8_t *board_first; /* what it held before the first WRITE */
	uint32_t board_length;
	uint32_t statuses; /* bit: enum ibv_wc_status that a request ended with */
	bool closed;
	bool may_break;
	bool lossy;
	bool failed;
	bool vanished; /* with requests that had not completed */
	bool recv_flushed;
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

/* aborts for want of memory */
void *oracle_need(void *memory);

static inline bool takes_receive(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
		opcode == IBV_WR_SEND_WITH_INV || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static inline bool is_atomic(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static inline bool is_write(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/* oracle_memory.c: these bytes must be there from now on; these may be anything from now on. */
void memory_expect(struct oracle_flow *flow, const uint8_t *at, const uint8_t *bytes,
	uint32_t length, const char *what);
void memory_forget(struct oracle_flow *flow, const uint8_t *at, uint32_t length);
/* As expect, but without a look: later requests may have changed them again. */
void memory_passes(
	struct oracle_flow *flow, const uint8_t *at, const uint8_t *bytes, uint32_t length);
void memory_judge(struct oracle *oracle);

/* oracle_board.c: of a request that has succeeded. */
void board_wrote(struct oracle_flow *flow, uint32_t index);
void board_read(struct oracle_flow *flow, uint32_t index);
void board_finish(struct oracle_flow *flow);

/* oracle_send.c: what remained without completion has succeeded silently. */
void send_finish(struct oracle_flow *flow);

/* oracle_recv.c */
struct pool *pool_create(void);
void pool_release(struct pool *pool);
void recv_finish(struct oracle_flow *flow);

#endif
