/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chains of equal requests, made once and posted again and again. wr_id is the number of the QP
 * among the test's. Of a send chain the last one is signaled. What fits goes inline, as programs
 * that care for small messages do it.
 */
#include "bench.h"

#define INLINE_LENGTH 16u

void chain_make(struct chain *chain, struct side *side, uint32_t qp, uint32_t count)
{
	const struct test *test = side->test;
	bool read = test->opcode == IBV_WR_RDMA_READ;
	uint64_t there = peer_of(side)->address + (read ? 0 : BUFFER_SIZE);

	chain->qp = side->qps[qp];
	chain->sge = (struct ibv_sge){
		.addr = (uintptr_t)(read ? side->in : side->out) + (uint64_t)qp * test->length,
		.length = test->length,
		.lkey = side->mr->lkey,
	};
	for (uint32_t i = 0; i < count; i++) {
		bool last = i + 1 == count;

		chain->wr[i] = (struct ibv_send_wr){
			.wr_id = qp,
			.next = last ? NULL : &chain->wr[i + 1],
			.sg_list = &chain->sge,
			.num_sge = 1,
			.opcode = test->opcode,
			.send_flags = (last ? IBV_SEND_SIGNALED : 0) |
				(!read && test->length <= INLINE_LENGTH ? IBV_SEND_INLINE : 0),
			.wr.rdma = {.remote_addr = there + (uint64_t)qp * test->length,
				.rkey = peer_of(side)->rkey},
		};
	}
}

void chain_post(struct chain *chain)
{
	struct ibv_send_wr *bad;
	int error = ibv_post_send(chain->qp, chain->wr, &bad);

	if (error)
		die("ibv_post_send failed: %d", error);
}

void receives_make(struct receives *receives, struct side *side, uint32_t qp)
{
	const struct test *test = side->test;

	receives->qp = side->qps[qp];
	receives->sge = (struct ibv_sge){
		.addr = (uintptr_t)side->in + (uint64_t)qp * test->length,
		.length = test->length,
		.lkey = side->mr->lkey,
	};
	for (uint32_t i = 0; i < BURST; i++)
		receives->wr[i] = (struct ibv_recv_wr){
			.wr_id = qp,
			.next = i + 1 == BURST ? NULL : &receives->wr[i + 1],
			.sg_list = &receives->sge,
			.num_sge = 1,
		};
}

void receives_post(struct receives *receives, uint32_t count)
{
	struct ibv_recv_wr *bad, *next = receives->wr[count - 1].next;
	int error;

	receives->wr[count - 1].next = NULL;
	error = ibv_post_recv(receives->qp, receives->wr, &bad);
	receives->wr[count - 1].next = next;
	if (error)
		die("ibv_post_recv failed: %d", error);
}
