/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends and wire. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "pair.h"

#define FIRST_ADDRESS 0x0a000001u
#define PATIENCE_NS 5000000000ull

static uint64_t now_ns(void *context)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void *run_engine(void *argument)
{
	struct end *end = argument;

	while (!__atomic_load_n(&end->stop, __ATOMIC_RELAXED))
		engine_core_round(end->engine, 0);
	return NULL;
}

static void create_engine(struct pair *pair, unsigned int number)
{
	struct end *end = &pair->end[number];
	struct loop_end_config attachment = {.gid_count = 1};
	struct engine_config config = {
		.dedicated = pair->dedicated,
		.clock = now_ns,
		.region_size = 256u << 20,
	};
	char name[16];

	snprintf(name, sizeof(name), "uroce%u", number);
	config.name = name;
	attachment.gids[0] = loop_gid4(FIRST_ADDRESS + number, 24);
	CU_ASSERT_EQUAL_FATAL(loop_add_end(pair->wire, &attachment, &config.port), 0);
	CU_ASSERT_EQUAL_FATAL(engine_create(&config, &end->engine), 0);
	end->stop = false;
	if (pair->dedicated)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&end->thread, NULL, run_engine, end), 0);
	end->context = ibv_open_device(uroce_find_device(name));
	CU_ASSERT_PTR_NOT_NULL_FATAL(end->context);
}

static void create_objects(struct end *end)
{
	end->pd = ibv_alloc_pd(end->context);
	CU_ASSERT_PTR_NOT_NULL_FATAL(end->pd);
	end->channel = ibv_create_comp_channel(end->context);
	CU_ASSERT_PTR_NOT_NULL_FATAL(end->channel);
	end->cq = ibv_create_cq(end->context, 256, end, end->channel, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(end->cq);
	end->qp = end_create_qp(end, end->cq, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(end->qp);
	end->buffer = calloc(1, PAIR_BUFFER);
	end->mr = ibv_reg_mr(end->pd, end->buffer, PAIR_BUFFER, PAIR_FLAGS | IBV_ACCESS_MW_BIND);
	CU_ASSERT_PTR_NOT_NULL_FATAL(end->mr);
	CU_ASSERT_EQUAL_FATAL(ibv_query_gid(end->context, 1, 0, &end->gid), 0);
}

void pair_open(struct pair *pair, bool dedicated)
{
	struct loop_config config = {.clock = now_ns};

	memset(pair, 0, sizeof(*pair));
	pair->dedicated = dedicated;
	CU_ASSERT_EQUAL_FATAL(loop_create(&config, &pair->wire), 0);
	for (unsigned int i = 0; i < 2; i++) {
		create_engine(pair, i);
		create_objects(&pair->end[i]);
	}
}

static void close_end(struct pair *pair, struct end *end)
{
	CU_ASSERT_EQUAL(ibv_destroy_qp(end->qp), 0);
	CU_ASSERT_EQUAL(ibv_destroy_cq(end->cq), 0);
	CU_ASSERT_EQUAL(ibv_destroy_comp_channel(end->channel), 0);
	CU_ASSERT_EQUAL(ibv_dereg_mr(end->mr), 0);
	CU_ASSERT_EQUAL(ibv_dealloc_pd(end->pd), 0);
	CU_ASSERT_EQUAL(engine_destroy(end->engine), -EBUSY); /* its device is open */
	CU_ASSERT_EQUAL(ibv_close_device(end->context), 0);
	__atomic_store_n(&end->stop, true, __ATOMIC_RELAXED);
	if (pair->dedicated)
		pthread_join(end->thread, NULL);
	free(end->buffer);
}

void pair_close(struct pair *pair)
{
	if (!pair->dedicated)
		pair_drive(pair);
	for (unsigned int i = 0; i < 2; i++)
		close_end(pair, &pair->end[i]);
	for (unsigned int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(engine_destroy(pair->end[i].engine), 0);
	CU_ASSERT_EQUAL(loop_buffers_used(pair->wire), 0);
	loop_destroy(pair->wire);
}

void pair_drive(struct pair *pair)
{
	while (engine_round(pair->end[0].engine) + engine_round(pair->end[1].engine) > 0)
		continue;
}

/* ---- queue pairs ---- */

struct ibv_qp *end_create_qp(const struct end *end, struct ibv_cq *cq, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.cap = {.max_send_wr = PAIR_DEPTH,
			.max_recv_wr = PAIR_DEPTH,
			.max_send_sge = 2,
			.max_recv_sge = 2,
			.max_inline_data = PAIR_INLINE},
		.qp_type = IBV_QPT_RC,
	};

	return ibv_create_qp(end->pd, &init);
}

int end_to_init(const struct end *end, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = PAIR_FLAGS};

	return ibv_modify_qp(
		qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

struct ibv_qp_attr end_rtr_attr(const struct end *peer, const struct ibv_qp *peer_qp)
{
	return (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer_qp->qp_num,
		.rq_psn = 0x123456,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.ah_attr = {.is_global = 1,
			.port_num = 1,
			.grh = {.dgid = peer->gid, .sgid_index = 0, .hop_limit = 64}},
	};
}

struct ibv_qp_attr end_rts_attr(void)
{
	return (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.sq_psn = 0x123456,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 4,
	};
}

int end_to_rtr(struct ibv_qp *qp, const struct end *peer, const struct ibv_qp *peer_qp)
{
	struct ibv_qp_attr attr = end_rtr_attr(peer, peer_qp);

	return ibv_modify_qp(qp, &attr, PAIR_RTR_MASK);
}

int end_to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = end_rts_attr();

	return ibv_modify_qp(qp, &attr, PAIR_RTS_MASK);
}

int qp_move(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

enum ibv_qp_state qp_state(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CU_ASSERT_EQUAL(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

void pair_connect(struct pair *pair)
{
	struct end *end = pair->end;

	for (unsigned int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL_FATAL(end_to_init(&end[i], end[i].qp), 0);
	for (unsigned int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL_FATAL(end_to_rtr(end[i].qp, &end[!i], end[!i].qp), 0);
	for (unsigned int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL_FATAL(end_to_rts(end[i].qp), 0);
}

/* ---- requests ---- */

int qp_post(struct ibv_qp *qp, const struct ibv_send_wr *wr)
{
	struct ibv_send_wr copy = *wr;
	struct ibv_send_wr *bad = NULL;
	int error = ibv_post_send(qp, &copy, &bad);

	CU_ASSERT_PTR_EQUAL(bad, error ? &copy : NULL);
	return error;
}

int end_send(const struct end *end, uint64_t id, uint32_t offset, uint32_t length)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)(end->buffer + offset), .length = length, .lkey = end->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED};

	return qp_post(end->qp, &wr);
}

int end_recv(const struct end *end, uint64_t id, uint32_t offset, uint32_t length)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)(end->buffer + offset), .length = length, .lkey = end->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;

	return ibv_post_recv(end->qp, &wr, &bad);
}

bool pair_poll(struct pair *pair, unsigned int end, struct ibv_wc *wc)
{
	uint64_t deadline = now_ns(NULL) + PATIENCE_NS;

	while (now_ns(NULL) < deadline) {
		if (ibv_poll_cq(pair->end[end].cq, 1, wc) == 1)
			return true;
		engine_round(pair->end[!end].engine);
	}
	return false;
}

void pair_expect(struct pair *pair, unsigned int end, uint64_t id, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc = {.status = IBV_WC_GENERAL_ERR};

	CU_ASSERT(pair_poll(pair, end, &wc));
	CU_ASSERT_EQUAL(wc.status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(wc.wr_id, id);
	CU_ASSERT_EQUAL(wc.opcode, opcode);
	CU_ASSERT_EQUAL(wc.qp_num, pair->end[end].qp->qp_num);
}

bool pair_quiet(struct pair *pair, unsigned int end)
{
	struct ibv_wc wc;

	pair_drive(pair);
	return ibv_poll_cq(pair->end[end].cq, 1, &wc) == 0;
}
