/* SPDX-License-Identifier: BSD-3-Clause */
/* What most tests of the front start with: a fake engine, its device opened, one object of each. */
#ifndef UROCE_TESTS_VERBS_WORLD_H
#define UROCE_TESTS_VERBS_WORLD_H

#include <errno.h>
#include <string.h>

#include <infiniband/verbs.h>
#include <uroce/uroce.h>

#include "fake.h"
#include "unit.h"

#define WORLD_DEPTH 8u

struct world {
	struct engine *engine;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	uint8_t buffer[4096];
};

/* What a QP of these tests is created with. */
static inline struct ibv_qp_init_attr world_qp_init(const struct world *world)
{
	return (struct ibv_qp_init_attr){
		.send_cq = world->cq,
		.recv_cq = world->cq,
		.cap = {.max_send_wr = WORLD_DEPTH,
			.max_recv_wr = WORLD_DEPTH,
			.max_send_sge = FAKE_MAX_SGE,
			.max_recv_sge = FAKE_MAX_SGE,
			.max_inline_data = FAKE_MAX_INLINE},
		.qp_type = IBV_QPT_RC,
	};
}

static inline void world_open(struct world *world, bool dedicated)
{
	struct ibv_qp_init_attr init;

	memset(world, 0, sizeof(*world));
	world->engine = fake_create("uroce0", dedicated);
	world->context = ibv_open_device(uroce_find_device("uroce0"));
	CU_ASSERT_PTR_NOT_NULL_FATAL(world->context);
	world->pd = ibv_alloc_pd(world->context);
	CU_ASSERT_PTR_NOT_NULL_FATAL(world->pd);
	world->channel = ibv_create_comp_channel(world->context);
	CU_ASSERT_PTR_NOT_NULL_FATAL(world->channel);
	world->cq = ibv_create_cq(world->context, 64, &world->cq, world->channel, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(world->cq);
	init = world_qp_init(world);
	world->qp = ibv_create_qp(world->pd, &init);
	CU_ASSERT_PTR_NOT_NULL_FATAL(world->qp);
}

static inline void world_close(struct world *world)
{
	CU_ASSERT_EQUAL(ibv_destroy_qp(world->qp), 0);
	CU_ASSERT_EQUAL(ibv_destroy_cq(world->cq), 0);
	CU_ASSERT_EQUAL(ibv_destroy_comp_channel(world->channel), 0);
	CU_ASSERT_EQUAL(ibv_dealloc_pd(world->pd), 0);
	CU_ASSERT_EQUAL(fake_objects(world->engine), 0);
	CU_ASSERT_EQUAL(ibv_close_device(world->context), 0);
	CU_ASSERT_EQUAL(fake_clients(world->engine), 0);
	fake_destroy(world->engine);
}

static inline int world_move(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

/* One request without data. */
static inline int world_send(struct ibv_qp *qp, uint64_t id)
{
	struct ibv_send_wr wr = {.wr_id = id, .opcode = IBV_WR_SEND};
	struct ibv_send_wr *bad = NULL;
	int error = ibv_post_send(qp, &wr, &bad);

	CU_ASSERT_PTR_EQUAL(bad, error ? &wr : NULL);
	return error;
}

static inline int world_recv(struct ibv_qp *qp, uint64_t id)
{
	struct ibv_recv_wr wr = {.wr_id = id};
	struct ibv_recv_wr *bad = NULL;
	int error = ibv_post_recv(qp, &wr, &bad);

	CU_ASSERT_PTR_EQUAL(bad, error ? &wr : NULL);
	return error;
}

/* The engine takes one send and completes it. */
static inline void world_complete(struct world *world, uint32_t solicited)
{
	struct uroce_abi_cqe cqe = {.wr_id = 77, .solicited = (uint8_t)solicited};
	struct fake_send send;

	CU_ASSERT_FATAL(fake_take_send(world->engine, world->qp->handle, &send));
	fake_complete_send(world->engine, world->qp->handle, &cqe);
}

/* The pointer is NULL and errno is this. */
#define ASSERT_NULL_ERRNO(call, code)                                                              \
	do {                                                                                       \
		errno = 0;                                                                         \
		CU_ASSERT_PTR_NULL(call);                                                          \
		CU_ASSERT_EQUAL(errno, code);                                                      \
	} while (0)

/* -1 and errno. */
#define ASSERT_MINUS_ERRNO(call, code)                                                             \
	do {                                                                                       \
		errno = 0;                                                                         \
		CU_ASSERT_EQUAL(call, -1);                                                         \
		CU_ASSERT_EQUAL(errno, code);                                                      \
	} while (0)

#endif
