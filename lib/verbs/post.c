/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posting: the fast path. No system call (but to wake an engine that sleeps, and at a thread's
 * first post), no lock, no memory. A chain goes in two steps, so that it reserves its slots at
 * once:
 *
 *  1. how many requests from the first on are fit to post; what stops it is the call's error;
 *  2. reserve that many slots, write each request into its slot and publish it, announce the QP.
 *
 * The front decides RESET, INIT, strict and full (EP-1, EP-2). Whether the gate is open is not its
 * business: what is posted in RTR lies in the queue until the engine lets it go.
 */
#include <string.h>

#include "front.h"

#define SEND_FLAGS                                                                                 \
	(IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE |               \
		IBV_SEND_IP_CSUM)
#define MESSAGE_MAX (1ull << 31) /* bytes (IBTA 9.4.1) */

_Static_assert(sizeof(struct ibv_sge) == sizeof(struct uroce_abi_sge) &&
		offsetof(struct ibv_sge, addr) == offsetof(struct uroce_abi_sge, address) &&
		offsetof(struct ibv_sge, length) == offsetof(struct uroce_abi_sge, length) &&
		offsetof(struct ibv_sge, lkey) == offsetof(struct uroce_abi_sge, lkey),
	"scatter/gather lists are copied as they are");
_Static_assert(sizeof(struct uroce_abi_send_wqe) == 64 && sizeof(struct uroce_abi_recv_wqe) == 64,
	"what follows a record starts at its slot's second line");

/* The operations of RC (man ibv_post_send, the table of opcodes). */
enum { KNOWN = 1, INLINES = 2, LOCAL = 4 };

static const uint8_t operations[] = {
	[IBV_WR_RDMA_WRITE] = KNOWN | INLINES,
	[IBV_WR_RDMA_WRITE_WITH_IMM] = KNOWN | INLINES,
	[IBV_WR_SEND] = KNOWN | INLINES,
	[IBV_WR_SEND_WITH_IMM] = KNOWN | INLINES,
	[IBV_WR_SEND_WITH_INV] = KNOWN | INLINES,
	[IBV_WR_RDMA_READ] = KNOWN,
	[IBV_WR_ATOMIC_CMP_AND_SWP] = KNOWN,
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = KNOWN,
	[IBV_WR_LOCAL_INV] = KNOWN | LOCAL,
	[IBV_WR_BIND_MW] = KNOWN | LOCAL,
};

static uint32_t operation(const struct ibv_send_wr *wr)
{
	uint32_t opcode = (uint32_t)wr->opcode;

	return opcode < sizeof(operations) ? operations[opcode] : 0;
}

/* ---- step 1: fit to post? ---- */

static uint64_t total_length(const struct ibv_sge *list, int count)
{
	uint64_t length = 0;

	for (int i = 0; i < count; i++)
		length += list[i].length;
	return length;
}

static bool bind_is_fit(const struct ibv_send_wr *wr, enum ibv_mw_type type)
{
	const struct ibv_mw_bind_info *info = &wr->bind_mw.bind_info;

	if (!wr->bind_mw.mw || wr->bind_mw.mw->type != type)
		return false;
	return info->mr || (info->length == 0 && info->addr == 0);
}

static bool send_is_fit(const struct qp *qp, const struct ibv_send_wr *wr, enum ibv_mw_type type)
{
	uint32_t kind = operation(wr);
	uint64_t length;

	if (!kind || (wr->send_flags & ~(uint32_t)SEND_FLAGS))
		return false;
	if (kind & LOCAL)
		return wr->opcode != IBV_WR_BIND_MW || bind_is_fit(wr, type);
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->max_send_sge)
		return false;
	length = total_length(wr->sg_list, wr->num_sge);
	if (!(wr->send_flags & IBV_SEND_INLINE))
		return length <= MESSAGE_MAX;
	return (kind & INLINES) && length <= qp->max_inline;
}

static uint32_t count_fit(
	const struct qp *qp, const struct ibv_send_wr *wr, enum ibv_mw_type type, int *error)
{
	uint32_t count = 0;

	*error = 0;
	for (; wr; wr = wr->next, count++)
		if (!send_is_fit(qp, wr, type)) {
			*error = EINVAL;
			break;
		}
	return count;
}

/* ---- step 2: into the slot ---- */

static uint32_t copy_inline(uint8_t *to, const struct ibv_sge *list, int count)
{
	uint32_t length = 0;

	for (int i = 0; i < count; i++) {
		if (list[i].length == 0) /* its address may be anything */
			continue;
		memcpy(to + length, (const void *)(uintptr_t)list[i].addr, list[i].length);
		length += list[i].length;
	}
	return length;
}

/* The list may be NULL if it is empty. */
static void copy_sges(void *to, const struct ibv_sge *list, int count)
{
	if (count)
		memcpy(to, list, (size_t)count * sizeof(*list));
}

static void write_bind(struct uroce_abi_send_wqe *wqe, const struct ibv_send_wr *wr)
{
	const struct ibv_mw_bind_info *info = &wr->bind_mw.bind_info;

	wqe->wr.bind.address = info->addr;
	wqe->wr.bind.length = info->length;
	wqe->wr.bind.window = wr->bind_mw.mw->rkey;
	wqe->wr.bind.new_rkey = wr->bind_mw.rkey;
	wqe->wr.bind.lkey = info->mr ? info->mr->lkey : 0;
	wqe->wr.bind.access = info->mw_access_flags & ~UROCE_ABI_BIND_TYPE1;
	if (wr->bind_mw.mw->type == IBV_MW_TYPE_1)
		wqe->wr.bind.access |= UROCE_ABI_BIND_TYPE1;
}

static void write_remote(struct uroce_abi_send_wqe *wqe, const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
		wqe->wr.remote.address = wr->wr.rdma.remote_addr;
		wqe->wr.remote.rkey = wr->wr.rdma.rkey;
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		wqe->wr.remote.address = wr->wr.atomic.remote_addr;
		wqe->wr.remote.compare_add = wr->wr.atomic.compare_add;
		wqe->wr.remote.swap = wr->wr.atomic.swap;
		wqe->wr.remote.rkey = wr->wr.atomic.rkey;
		break;
	case IBV_WR_BIND_MW:
		write_bind(wqe, wr);
		break;
	default:
		break;
	}
}

static void write_send(
	const struct qp *qp, struct uroce_abi_send_wqe *wqe, const struct ibv_send_wr *wr)
{
	uint8_t *behind = (uint8_t *)(wqe + 1);

	wqe->opcode = (uint8_t)wr->opcode;
	wqe->flags = (uint8_t)(wr->send_flags | qp->always);
	wqe->wr_id = wr->wr_id;
	wqe->imm_or_rkey = wr->imm_data;
	wqe->sge_count = 0;
	wqe->inline_length = 0;
	write_remote(wqe, wr);
	if (operation(wr) & LOCAL)
		return;
	if (wr->send_flags & IBV_SEND_INLINE) {
		wqe->inline_length = copy_inline(behind, wr->sg_list, wr->num_sge);
		return;
	}
	wqe->sge_count = (uint16_t)wr->num_sge;
	copy_sges(behind, wr->sg_list, wr->num_sge);
}

/* ---- send ---- */

/* Of the QP, and of all of the client's, which the engine shows. */
static void count_refusal(uint64_t *of_qp, uint64_t *of_client)
{
	__atomic_fetch_add(of_qp, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(of_client, 1, __ATOMIC_RELAXED);
}

/* The first request not taken stays in *wr. */
static int post_chain(struct qp *qp, struct ibv_send_wr **wr, enum ibv_mw_type type)
{
	struct sendring_front *ring;
	uint32_t fit, taken, position;
	int error;

	fit = count_fit(qp, *wr, type, &error);
	if (fit == 0)
		return error;
	ring = attach_ring(qp->attach, qp->core);
	if (!ring)
		return ENOMEM;
	taken = wq_reserve(&qp->sq, fit, &position);
	for (uint32_t i = 0; i < taken; i++, *wr = (*wr)->next) {
		if (!*wr) /* count_fit() has seen as many */
			__builtin_unreachable();
		write_send(qp, wq_slot(&qp->sq, position + i), *wr);
		wq_publish(&qp->sq, position + i);
	}
	if (taken < fit) {
		count_refusal(&qp->refused_full, &qp->attach->header->front.refused_full);
		error = ENOMEM;
	}
	if (taken && sendring_announce(ring, qp->sq.ring, qp->base.handle))
		attach_wake(qp->attach, qp->core);
	return error;
}

/* Out of line: RESET, INIT, strict in RTR, or the connection is dead. */
static __attribute__((noinline)) int refuse(struct qp *qp, uint32_t refusal)
{
	if (attach_dead(qp->attach))
		return EIO;
	if (refusal == REFUSE_STRICT)
		count_refusal(&qp->refused_strict, &qp->attach->header->front.refused_strict);
	return EINVAL;
}

static int post_send(struct qp *qp, struct ibv_send_wr **wr, enum ibv_mw_type type)
{
	uint32_t refusal = __atomic_load_n(&qp->send_refusal, __ATOMIC_RELAXED);

	if (attach_dead(qp->attach) || __builtin_expect(refusal != REFUSE_NOT, 0))
		return refuse(qp, refusal);
	return post_chain(qp, wr, type);
}

int verbs_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	int error = post_send(to_qp(qp), &wr, IBV_MW_TYPE_2);

	if (error)
		*bad_wr = wr;
	return error;
}

int post_bind(struct qp *qp, struct ibv_send_wr *wr)
{
	return post_send(qp, &wr, IBV_MW_TYPE_1);
}

/* ---- receive ---- */

static uint32_t count_fit_recv(const struct ibv_recv_wr *wr, uint32_t max_sge, int *error)
{
	uint32_t count = 0;

	*error = 0;
	for (; wr; wr = wr->next, count++)
		if (wr->num_sge < 0 || (uint32_t)wr->num_sge > max_sge) {
			*error = EINVAL;
			break;
		}
	return count;
}

static int post_recv_chain(
	struct wq_front *wq, uint32_t max_sge, struct ibv_recv_wr **wr, uint32_t *taken)
{
	uint32_t fit, position;
	int error;

	fit = count_fit_recv(*wr, max_sge, &error);
	*taken = fit ? wq_reserve(wq, fit, &position) : 0;
	for (uint32_t i = 0; i < *taken; i++, *wr = (*wr)->next) {
		struct uroce_abi_recv_wqe *wqe = wq_slot(wq, position + i);

		wqe->wr_id = (*wr)->wr_id;
		wqe->sge_count = (uint32_t)(*wr)->num_sge;
		copy_sges(wqe + 1, (*wr)->sg_list, (*wr)->num_sge);
		wq_publish(wq, position + i);
	}
	return *taken < fit ? ENOMEM : error;
}

/* The engine looks at a receive queue when a packet wants one, so only a QP in ERR, which has to
 * flush what is posted, asks to be told. */
static void announce_recv(struct qp *qp)
{
	struct sendring_front *ring;

	if (!wq_announce_recv(&qp->rq))
		return;
	ring = attach_ring(qp->attach, qp->core);
	if (ring && sendring_announce(ring, qp->rq.ring, qp->base.handle | SENDRING_RECV))
		attach_wake(qp->attach, qp->core);
}

static int post_recv(struct qp *qp, struct ibv_recv_wr **wr)
{
	uint32_t taken;
	int error;

	if (attach_dead(qp->attach))
		return EIO;
	if (!qp->has_rq || __atomic_load_n(&qp->recv_refusal, __ATOMIC_RELAXED) != REFUSE_NOT)
		return EINVAL;
	error = post_recv_chain(&qp->rq, qp->max_recv_sge, wr, &taken);
	if (taken)
		announce_recv(qp);
	return error;
}

int verbs_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	int error = post_recv(to_qp(qp), &wr);

	if (error)
		*bad_wr = wr;
	return error;
}

int verbs_post_srq_recv(struct ibv_srq *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct srq *srq = to_srq(ibv);
	uint32_t taken;
	int error = EIO;

	if (!attach_dead(srq->attach))
		error = post_recv_chain(&srq->wq, srq->max_sge, &wr, &taken);
	if (error)
		*bad_wr = wr;
	return error;
}
