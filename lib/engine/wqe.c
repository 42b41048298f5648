/* SPDX-License-Identifier: BSD-3-Clause */
/* Work requests: the client's words, checked. */
#include "wqe.h"

#include <string.h>

#include "limit.h"

_Static_assert(sizeof(struct mem_sge) == sizeof(struct uroce_abi_sge), "the same bytes");
_Static_assert(offsetof(struct mem_sge, address) == offsetof(struct uroce_abi_sge, address) &&
		offsetof(struct mem_sge, length) == offsetof(struct uroce_abi_sge, length) &&
		offsetof(struct mem_sge, lkey) == offsetof(struct uroce_abi_sge, lkey),
	"SGEs are handed over as they lie");

#define FLAGS (IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE)
#define IGNORED IBV_SEND_IP_CSUM /* means nothing to an RC QP */
#define ATOMIC_LENGTH 8u

/* What kinds of request there are, by opcode. */
enum wqe_kind {
	KIND_NONE,   /* not an RC request of verbs, or one that we don't have */
	KIND_DATA,   /* gathers: SEND, WRITE */
	KIND_READ,   /* scatters */
	KIND_ATOMIC, /* scatters 8 bytes */
	KIND_INVALIDATE,
	KIND_BIND,
};

static enum wqe_kind kind_of(uint8_t opcode)
{
	static const uint8_t kinds[] = {
		[IBV_WR_RDMA_WRITE] = KIND_DATA,
		[IBV_WR_RDMA_WRITE_WITH_IMM] = KIND_DATA,
		[IBV_WR_SEND] = KIND_DATA,
		[IBV_WR_SEND_WITH_IMM] = KIND_DATA,
		[IBV_WR_RDMA_READ] = KIND_READ,
		[IBV_WR_ATOMIC_CMP_AND_SWP] = KIND_ATOMIC,
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = KIND_ATOMIC,
		[IBV_WR_LOCAL_INV] = KIND_INVALIDATE,
		[IBV_WR_BIND_MW] = KIND_BIND,
		[IBV_WR_SEND_WITH_INV] = KIND_DATA,
	};

	return opcode < sizeof(kinds) ? (enum wqe_kind)kinds[opcode] : KIND_NONE;
}

static enum ibv_wc_status take_length(uint64_t length, uint32_t *into)
{
	if (length > LIMIT_MESSAGE)
		return IBV_WC_LOC_LEN_ERR; /* 11.6.2: too long for the port */
	*into = (uint32_t)length;
	return IBV_WC_SUCCESS;
}

static enum ibv_wc_status take_data(const struct uroce_abi_send_wqe *wqe, const void *tail,
	const struct wqe_limits *limits, struct rc_send *send)
{
	if (wqe->flags & IBV_SEND_INLINE) {
		if (wqe->inline_length > limits->max_inline || wqe->sge_count != 0)
			return IBV_WC_LOC_QP_OP_ERR;
		send->length = wqe->inline_length;
		return IBV_WC_SUCCESS;
	}
	if (wqe->sge_count > limits->max_sge)
		return IBV_WC_LOC_QP_OP_ERR;
	send->sge_count = wqe->sge_count;
	return take_length(mem_length(tail, wqe->sge_count), &send->length);
}

/* What comes back has no place in the queue: man ibv_post_send, IBV_SEND_INLINE. */
static enum ibv_wc_status take_read(const struct uroce_abi_send_wqe *wqe, const void *tail,
	const struct wqe_limits *limits, struct rc_send *send)
{
	if (wqe->flags & IBV_SEND_INLINE)
		return IBV_WC_LOC_QP_OP_ERR;
	return take_data(wqe, tail, limits, send);
}

static enum ibv_wc_status take_atomic(const struct uroce_abi_send_wqe *wqe, const void *tail,
	const struct wqe_limits *limits, struct rc_send *send)
{
	enum ibv_wc_status status = take_read(wqe, tail, limits, send);

	if (status == IBV_WC_SUCCESS && send->length != ATOMIC_LENGTH)
		return IBV_WC_LOC_QP_OP_ERR;
	send->compare_add = wqe->wr.remote.compare_add;
	send->swap = wqe->wr.remote.swap;
	return status;
}

/* Every value of a bind is judged by lib/mem, against the window and the region. */
static enum ibv_wc_status take_bind(const struct uroce_abi_send_wqe *wqe, struct rc_send *send)
{
	send->bind_type1 = (wqe->wr.bind.access & UROCE_ABI_BIND_TYPE1) != 0;
	send->bind = (struct mem_bind){
		.window = wqe->wr.bind.window,
		.new_rkey = wqe->wr.bind.new_rkey,
		.lkey = wqe->wr.bind.lkey,
		.address = wqe->wr.bind.address,
		.length = wqe->wr.bind.length,
		.access = wqe->wr.bind.access & ~UROCE_ABI_BIND_TYPE1,
	};
	return IBV_WC_SUCCESS;
}

static enum ibv_wc_status take_by_kind(const struct uroce_abi_send_wqe *wqe, const void *tail,
	const struct wqe_limits *limits, struct rc_send *send)
{
	switch (kind_of(wqe->opcode)) {
	case KIND_DATA:
		return take_data(wqe, tail, limits, send);
	case KIND_READ:
		return take_read(wqe, tail, limits, send);
	case KIND_ATOMIC:
		return take_atomic(wqe, tail, limits, send);
	case KIND_INVALIDATE:
		return IBV_WC_SUCCESS;
	case KIND_BIND:
		return take_bind(wqe, send);
	default:
		return IBV_WC_LOC_QP_OP_ERR;
	}
}

bool wqe_send(const struct uroce_abi_send_wqe *wqe, const void *tail,
	const struct wqe_limits *limits, struct rc_send *send)
{
	bool known = kind_of(wqe->opcode) != KIND_NONE;

	send->wr_id = wqe->wr_id;
	/* Its completion needs an opcode that has one. */
	send->opcode = known ? (enum ibv_wr_opcode)wqe->opcode : IBV_WR_SEND;
	send->flags = wqe->flags & FLAGS;
	send->imm_or_rkey = wqe->imm_or_rkey;
	send->remote_address = wqe->wr.remote.address;
	send->remote_rkey = wqe->wr.remote.rkey;
	send->status = wqe->flags & ~(FLAGS | IGNORED) ? IBV_WC_LOC_QP_OP_ERR
						       : take_by_kind(wqe, tail, limits, send);
	if (send->status == IBV_WC_SUCCESS)
		return true;
	send->sge_count = 0;
	send->length = 0;
	return false;
}

/* No message is longer than 2^31 bytes, so no receive needs to be. */
bool wqe_recv(const struct uroce_abi_recv_wqe *wqe, uint32_t max_sge, struct rc_recv *recv)
{
	uint64_t length;

	recv->wr_id = wqe->wr_id;
	recv->sge_count = 0;
	recv->length = 0;
	if (wqe->sge_count > max_sge)
		return false;
	length = mem_length(recv->sge, wqe->sge_count);
	recv->sge_count = (uint16_t)wqe->sge_count;
	recv->length = length < LIMIT_MESSAGE ? (uint32_t)length : LIMIT_MESSAGE;
	return true;
}
