/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wrong arguments, over the real engine: each function answers in its man page's way (value, errno,
 * or NULL and errno), and the object is as it was. docs/errors.md has the table.
 */
#include <sys/mman.h>

#include "pair.h"

static struct pair pair;
static struct end *const end = &pair.end[0];
static struct end *const peer = &pair.end[1];

#define NULL_ERRNO(call, code)                                                                     \
	do {                                                                                       \
		errno = 0;                                                                         \
		CU_ASSERT_PTR_NULL(call);                                                          \
		CU_ASSERT_EQUAL(errno, code);                                                      \
	} while (0)

#define MINUS_ERRNO(call, code)                                                                    \
	do {                                                                                       \
		errno = 0;                                                                         \
		CU_ASSERT_EQUAL(call, -1);                                                         \
		CU_ASSERT_EQUAL(errno, code);                                                      \
	} while (0)

static void queries(void)
{
	struct ibv_port_attr port;
	struct ibv_device_attr device;
	struct ibv_gid_entry entry, entries[64];
	union ibv_gid gid;
	__be16 pkey;

	pair_open(&pair, false);
	CU_ASSERT_EQUAL(ibv_query_device(end->context, &device), 0);
	CU_ASSERT_EQUAL(ibv_query_port(end->context, 1, &port), 0);
	CU_ASSERT_EQUAL(ibv_query_port(end->context, 0, &port), EINVAL);
	CU_ASSERT_EQUAL(ibv_query_port(end->context, 2, &port), EINVAL);
	CU_ASSERT_EQUAL(ibv_query_port(end->context, 255, &port), EINVAL);
	CU_ASSERT_EQUAL(ibv_query_gid(end->context, 1, 0, &gid), 0);
	MINUS_ERRNO(ibv_query_gid(end->context, 1, port.gid_tbl_len, &gid), EINVAL);
	MINUS_ERRNO(ibv_query_gid(end->context, 1, -1, &gid), EINVAL);
	MINUS_ERRNO(ibv_query_gid(end->context, 2, 0, &gid), EINVAL);
	CU_ASSERT_EQUAL(ibv_query_gid_ex(end->context, 1, 0, &entry, 0), 0);
	CU_ASSERT_EQUAL(entry.gid_type, IBV_GID_TYPE_ROCE_V2);
	CU_ASSERT_EQUAL(ibv_query_gid_ex(end->context, 1, 1, &entry, 0), ENODATA);
	CU_ASSERT_EQUAL(
		ibv_query_gid_ex(end->context, 1, (uint32_t)port.gid_tbl_len, &entry, 0), EINVAL);
	CU_ASSERT_EQUAL(ibv_query_gid_ex(end->context, 1, 0, &entry, 4), EOPNOTSUPP);
	CU_ASSERT_EQUAL(ibv_query_gid_table(end->context, entries, 64, 0), 1);
	CU_ASSERT_EQUAL(ibv_query_gid_table(end->context, entries, 0, 0), -EINVAL);
	CU_ASSERT_EQUAL(ibv_query_pkey(end->context, 1, 0, &pkey), 0);
	MINUS_ERRNO(ibv_query_pkey(end->context, 1, port.pkey_tbl_len, &pkey), EINVAL);
	CU_ASSERT_EQUAL(ibv_get_pkey_index(end->context, 1, pkey), 0);
	MINUS_ERRNO(ibv_get_pkey_index(end->context, 1, 0x3412), EINVAL);
	pair_close(&pair);
}

static void memory(void)
{
	uint8_t *hole = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;

	pair_open(&pair, false);
	NULL_ERRNO(ibv_reg_mr(end->pd, end->buffer, 16, IBV_ACCESS_REMOTE_WRITE), EINVAL);
	NULL_ERRNO(ibv_reg_mr(end->pd, end->buffer, 16, IBV_ACCESS_REMOTE_ATOMIC), EINVAL);
	NULL_ERRNO(ibv_reg_mr(end->pd, end->buffer, 16, 1 << 12), EOPNOTSUPP);
	NULL_ERRNO(ibv_reg_mr(end->pd, end->buffer, 16, IBV_ACCESS_ON_DEMAND), EOPNOTSUPP);
	NULL_ERRNO(ibv_reg_mr(end->pd, end->buffer, 0, 0), EINVAL);
	NULL_ERRNO(ibv_reg_mr_iova(end->pd, end->buffer, 16, UINT64_MAX - 8, 0), EINVAL);
	NULL_ERRNO(ibv_reg_mr(end->pd, hole, 4096, IBV_ACCESS_LOCAL_WRITE), EFAULT);
	munmap(hole, 4096);
	NULL_ERRNO(ibv_reg_mr(end->pd, hole, 4096, 0), EFAULT);
	NULL_ERRNO(ibv_alloc_mw(end->pd, (enum ibv_mw_type)3), EINVAL);
	mr = ibv_reg_mr(end->pd, end->buffer, 16, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(mr);
	CU_ASSERT_EQUAL(ibv_rereg_mr(mr, 1 << 6, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	CU_ASSERT_EQUAL(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, peer->pd, NULL, 0, 0),
		IBV_REREG_MR_ERR_INPUT);
	CU_ASSERT_EQUAL(
		ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, end->buffer, 64, 0), 0);
	CU_ASSERT_EQUAL(ibv_dereg_mr(mr), 0);
	pair_close(&pair);
}

static void queues(void)
{
	struct ibv_device_attr limit;
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_srq_attr attr = {.srq_limit = 5};
	struct ibv_srq *srq;

	pair_open(&pair, false);
	ibv_query_device(end->context, &limit);
	NULL_ERRNO(ibv_create_cq(end->context, 0, NULL, NULL, 0), EINVAL);
	NULL_ERRNO(ibv_create_cq(end->context, limit.max_cqe + 1, NULL, NULL, 0), EINVAL);
	NULL_ERRNO(ibv_create_cq(end->context, 1, NULL, NULL, 1), EINVAL);
	NULL_ERRNO(ibv_create_cq(end->context, 1, NULL, peer->channel, 0), EINVAL);
	CU_ASSERT_EQUAL(ibv_resize_cq(end->cq, 0), EINVAL);
	CU_ASSERT_EQUAL(ibv_resize_cq(end->cq, limit.max_cqe + 1), EINVAL);
	CU_ASSERT_EQUAL(ibv_resize_cq(end->cq, 300), 0);
	CU_ASSERT(end->cq->cqe >= 300);
	init.attr.max_wr = (uint32_t)limit.max_srq_wr + 1;
	NULL_ERRNO(ibv_create_srq(end->pd, &init), EINVAL);
	init.attr.max_wr = 4;
	init.attr.max_sge = (uint32_t)limit.max_srq_sge + 1;
	NULL_ERRNO(ibv_create_srq(end->pd, &init), EINVAL);
	init.attr.max_sge = 1;
	srq = ibv_create_srq(end->pd, &init);
	CU_ASSERT_PTR_NOT_NULL_FATAL(srq);
	CU_ASSERT_EQUAL(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), EINVAL);
	CU_ASSERT_EQUAL(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EOPNOTSUPP);
	CU_ASSERT_EQUAL(ibv_query_srq(srq, &attr), 0);
	CU_ASSERT_EQUAL(attr.srq_limit, 0);
	CU_ASSERT_EQUAL(ibv_destroy_srq(srq), 0);
	pair_close(&pair);
}

static struct ibv_qp_init_attr usual(void)
{
	return (struct ibv_qp_init_attr){.send_cq = end->cq,
		.recv_cq = end->cq,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC};
}

/* One field of the usual request is wrong at a time. */
static void create_qp(void)
{
	struct ibv_device_attr limit;
	struct ibv_qp_init_attr init;
	static const enum ibv_qp_type types[] = {
		IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV, IBV_QPT_RAW_PACKET, IBV_QPT_DRIVER};

	pair_open(&pair, false);
	ibv_query_device(end->context, &limit);
#define WRONG(field, value, code)                                                                  \
	init = usual();                                                                            \
	init.field = value;                                                                        \
	NULL_ERRNO(ibv_create_qp(end->pd, &init), code)
	WRONG(cap.max_send_wr, (uint32_t)limit.max_qp_wr + 1, EINVAL);
	WRONG(cap.max_recv_wr, (uint32_t)limit.max_qp_wr + 1, EINVAL);
	WRONG(cap.max_send_wr, UINT32_MAX, EINVAL);
	WRONG(cap.max_send_sge, (uint32_t)limit.max_sge + 1, EINVAL);
	WRONG(cap.max_recv_sge, (uint32_t)limit.max_sge + 1, EINVAL);
	WRONG(cap.max_inline_data, 1u << 20, EINVAL);
	WRONG(send_cq, NULL, EINVAL);
	WRONG(recv_cq, NULL, EINVAL);
	WRONG(send_cq, peer->cq, EINVAL);
	WRONG(recv_cq, peer->cq, EINVAL);
	for (unsigned int i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		WRONG(qp_type, types[i], EOPNOTSUPP);
	}
#undef WRONG
	init = usual();
	CU_ASSERT_EQUAL(ibv_destroy_qp(ibv_create_qp(end->pd, &init)), 0);
	pair_close(&pair);
}

/* INIT to RTR with one field wrong at a time, then right. */
static void modify_qp(void)
{
	struct ibv_qp_attr attr;

	pair_open(&pair, false);
	CU_ASSERT_EQUAL(end_to_rtr(end->qp, peer, peer->qp), EINVAL); /* from RESET */
	CU_ASSERT_EQUAL(end_to_rts(end->qp), EINVAL);
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_INIT, .port_num = 2};
	CU_ASSERT_EQUAL(
		ibv_modify_qp(end->qp, &attr,
			IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		EINVAL);
	attr.port_num = 1;
	attr.pkey_index = 1;
	CU_ASSERT_EQUAL(
		ibv_modify_qp(end->qp, &attr,
			IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		EINVAL);
	CU_ASSERT_EQUAL(end_to_init(end, end->qp), 0);
#define WRONG(field, value, code)                                                                  \
	attr = end_rtr_attr(peer, peer->qp);                                                       \
	attr.field = value;                                                                        \
	CU_ASSERT_EQUAL(ibv_modify_qp(end->qp, &attr, PAIR_RTR_MASK), code)
	WRONG(path_mtu, 0, EINVAL);
	WRONG(path_mtu, 6, EINVAL);
	WRONG(ah_attr.is_global, 0, EINVAL);
	WRONG(ah_attr.port_num, 2, EINVAL);
	WRONG(ah_attr.grh.sgid_index, 1, EINVAL);     /* empty */
	WRONG(ah_attr.grh.sgid_index, 200, EINVAL);   /* beyond the table */
	WRONG(ah_attr.grh.dgid.raw[0], 0xff, EINVAL); /* multicast */
	WRONG(min_rnr_timer, 32, EINVAL);
	WRONG(max_dest_rd_atomic, 255, EINVAL);
#undef WRONG
	attr = end_rtr_attr(peer, peer->qp);
	for (unsigned int bit = 0; bit < 31; bit++) { /* each attribute is required */
		int mask = PAIR_RTR_MASK & ~(1 << bit);

		if (mask != PAIR_RTR_MASK)
			CU_ASSERT_EQUAL(ibv_modify_qp(end->qp, &attr, mask), EINVAL);
	}
	CU_ASSERT_EQUAL(ibv_modify_qp(end->qp, &attr, PAIR_RTR_MASK | IBV_QP_QKEY), EINVAL);
	CU_ASSERT_EQUAL(qp_state(end->qp), IBV_QPS_INIT);
	CU_ASSERT_EQUAL(end->qp->state, IBV_QPS_INIT);
	CU_ASSERT_EQUAL(end_to_rtr(end->qp, peer, peer->qp), 0);
	CU_ASSERT_EQUAL(end_to_rtr(end->qp, peer, peer->qp), EINVAL);
	attr = end_rts_attr();
	attr.max_rd_atomic = 255;
	CU_ASSERT_EQUAL(ibv_modify_qp(end->qp, &attr, PAIR_RTS_MASK), EINVAL);
	CU_ASSERT_EQUAL(end_to_rts(end->qp), 0);
	pair_close(&pair);
}

/* Nobody answers for that address: the QP stays in INIT, and another path may be tried. */
static void unreachable(void)
{
	struct ibv_qp_attr attr;

	pair_open(&pair, false);
	CU_ASSERT_EQUAL(end_to_init(end, end->qp), 0);
	loop_set_neighbour(pair.wire, 0, LOOP_NEIGHBOUR_NEVER, 1000000);
	attr = end_rtr_attr(peer, peer->qp);
	CU_ASSERT_EQUAL(ibv_modify_qp(end->qp, &attr, PAIR_RTR_MASK), EHOSTUNREACH);
	CU_ASSERT_EQUAL(qp_state(end->qp), IBV_QPS_INIT);
	attr.ah_attr.grh.dgid.raw[12] = 203; /* not in our network, and no gateway */
	CU_ASSERT_EQUAL(ibv_modify_qp(end->qp, &attr, PAIR_RTR_MASK), ENETUNREACH);
	loop_set_neighbour(pair.wire, 0, LOOP_NEIGHBOUR_DELAYED, 1000000);
	CU_ASSERT_EQUAL(end_to_rtr(end->qp, peer, peer->qp), 0);
	pair_close(&pair);
}

static void address_handles(void)
{
	struct ibv_ah_attr attr = {
		.port_num = 1, .is_global = 1, .grh = {.sgid_index = 0, .hop_limit = 64}};
	struct ibv_ah *ah;

	pair_open(&pair, false);
	attr.grh.dgid = peer->gid;
	ah = ibv_create_ah(end->pd, &attr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(ah);
	CU_ASSERT_EQUAL(ibv_dealloc_pd(end->pd), EBUSY);
	CU_ASSERT_EQUAL(ibv_destroy_ah(ah), 0);
	attr.is_global = 0;
	NULL_ERRNO(ibv_create_ah(end->pd, &attr), EINVAL);
	attr.is_global = 1;
	attr.port_num = 2;
	NULL_ERRNO(ibv_create_ah(end->pd, &attr), EINVAL);
	attr.port_num = 1;
	attr.grh.sgid_index = 1;
	NULL_ERRNO(ibv_create_ah(end->pd, &attr), EINVAL);
	pair_close(&pair);
}

/* What is posted wrongly, in the state that takes posts. */
static void posts(void)
{
	struct ibv_sge sge[3] = {{.addr = (uintptr_t)&pair, .length = PAIR_INLINE + 1}};
	struct ibv_send_wr wr = {.sg_list = sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	struct ibv_recv_wr recv = {.sg_list = sge, .num_sge = 3};
	struct ibv_recv_wr *bad;

	pair_open(&pair, false);
	CU_ASSERT_EQUAL(qp_post(end->qp, &wr), EINVAL); /* RESET */
	CU_ASSERT_EQUAL(ibv_post_recv(end->qp, &recv, &bad), EINVAL);
	CU_ASSERT_EQUAL(end_to_init(end, end->qp), 0);
	CU_ASSERT_EQUAL(qp_post(end->qp, &wr), EINVAL);		      /* INIT */
	CU_ASSERT_EQUAL(ibv_post_recv(end->qp, &recv, &bad), EINVAL); /* SGEs */
	CU_ASSERT_EQUAL(end_to_init(peer, peer->qp), 0);
	CU_ASSERT_EQUAL(end_to_rtr(end->qp, peer, peer->qp), 0);
	CU_ASSERT_EQUAL(end_to_rts(end->qp), 0);
	wr.num_sge = 3;
	CU_ASSERT_EQUAL(qp_post(end->qp, &wr), EINVAL);
	wr.num_sge = 1;
	wr.send_flags = IBV_SEND_INLINE;
	CU_ASSERT_EQUAL(qp_post(end->qp, &wr), EINVAL);
	wr.send_flags = 0;
	wr.opcode = IBV_WR_TSO;
	CU_ASSERT_EQUAL(qp_post(end->qp, &wr), EINVAL);
	pair_close(&pair);
}

static const struct unit_case cases[] = {
	UNIT_CASE(queries),
	UNIT_CASE(memory),
	UNIT_CASE(queues),
	UNIT_CASE(create_qp),
	UNIT_CASE(modify_qp),
	UNIT_CASE(unreachable),
	UNIT_CASE(address_handles),
	UNIT_CASE(posts),
};

UNIT_MAIN("verbs-wrong", cases)
