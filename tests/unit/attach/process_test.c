/* SPDX-License-Identifier: BSD-3-Clause */
/* Fork: the child's contexts are dead and say EIO to everything, the parent's go on; the child can
 * open a device of an engine of its own. */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "world.h"

static struct world world;
static int failures; /* in the child */

#define EXPECT(condition)                                                                          \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "child, line %d: %s\n", __LINE__, #condition);             \
			failures++;                                                                \
		}                                                                                  \
	} while (0)

/* Every kind of call, on every kind of object. */
static void use_dead(void)
{
	struct ibv_send_wr send = {.opcode = IBV_WR_SEND}, *bad_send = NULL;
	struct ibv_recv_wr recv = {0}, *bad_recv = NULL;
	struct ibv_qp_init_attr init = world_qp_init(&world);
	struct ibv_ah_attr ah = {.port_num = 1, .is_global = 1};
	struct ibv_qp_attr attr = {0};
	struct ibv_async_event event;
	struct ibv_device_attr device;
	struct ibv_port_attr port;
	struct uroce_hold hold;
	union ibv_gid gid;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;
	__be16 pkey;

	EXPECT(ibv_post_send(world.qp, &send, &bad_send) == EIO && bad_send == &send);
	EXPECT(ibv_post_recv(world.qp, &recv, &bad_recv) == EIO && bad_recv == &recv);
	EXPECT(ibv_poll_cq(world.cq, 1, &wc) == -1 && errno == EIO);
	EXPECT(ibv_req_notify_cq(world.cq, 0) == EIO);
	EXPECT(ibv_get_cq_event(world.channel, &cq, &context) == -1 && errno == EIO);
	EXPECT(ibv_get_async_event(world.context, &event) == -1 && errno == EIO);
	EXPECT(ibv_query_device(world.context, &device) == EIO);
	EXPECT(ibv_query_port(world.context, 1, &port) == EIO);
	EXPECT(ibv_query_gid(world.context, 1, 0, &gid) == -1 && errno == EIO);
	EXPECT(ibv_query_pkey(world.context, 1, 0, &pkey) == -1 && errno == EIO);
	EXPECT(ibv_get_pkey_index(world.context, 1, 0xffff) == -1 && errno == EIO);
	EXPECT(!ibv_alloc_pd(world.context) && errno == EIO);
	EXPECT(!ibv_create_comp_channel(world.context) && errno == EIO);
	EXPECT(!ibv_create_cq(world.context, 1, NULL, NULL, 0) && errno == EIO);
	EXPECT(!ibv_create_qp(world.pd, &init) && errno == EIO);
	EXPECT(!ibv_create_ah(world.pd, &ah) && errno == EIO);
	EXPECT(!ibv_reg_mr(world.pd, world.buffer, 1, 0) && errno == EIO);
	EXPECT(!ibv_alloc_mw(world.pd, IBV_MW_TYPE_1) && errno == EIO);
	EXPECT(ibv_modify_qp(world.qp, &attr, IBV_QP_STATE) == EIO);
	EXPECT(ibv_query_qp(world.qp, &attr, IBV_QP_STATE, &init) == EIO);
	EXPECT(ibv_resize_cq(world.cq, 4) == EIO);
	EXPECT(uroce_qp_set_policy(world.qp, UROCE_POLICY_STRICT) == EIO);
	EXPECT(uroce_qp_query_hold(world.qp, &hold) == EIO);
	EXPECT(uroce_qp_notify(world.qp) == EIO);
	EXPECT(!uroce_alloc(world.context, 1) && errno == EIO);
	EXPECT(ibv_destroy_qp(world.qp) == EIO);
	EXPECT(ibv_destroy_cq(world.cq) == EIO);
	EXPECT(ibv_destroy_comp_channel(world.channel) == EIO);
	EXPECT(ibv_dealloc_pd(world.pd) == EIO);
	EXPECT(ibv_close_device(world.context) == 0);
}

/* What an own engine in the child can do. */
static void use_fresh(void)
{
	struct engine *engine = fake_create("child", false);
	struct ibv_context *context = ibv_open_device(uroce_find_device("child"));

	EXPECT(context != NULL);
	if (!context)
		return;
	EXPECT(ibv_dealloc_pd(ibv_alloc_pd(context)) == 0);
	EXPECT(ibv_close_device(context) == 0);
	fake_destroy(engine);
}

static void run_in_child(void (*run)(void))
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		failures = 0;
		run();
		_exit(failures);
	}
	CU_ASSERT(child > 0);
	CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
	CU_ASSERT_EQUAL(status, 0);
}

static void still_works(void)
{
	struct ibv_wc wc;

	CU_ASSERT_EQUAL(world_send(world.qp, 1), 0);
	world_complete(&world, 0);
	CU_ASSERT_EQUAL(ibv_poll_cq(world.cq, 1, &wc), 1);
}

static void dead_in_the_child(void)
{
	world_open(&world, false);
	CU_ASSERT_EQUAL(world_move(world.qp, IBV_QPS_RTS), 0);
	still_works();
	run_in_child(use_dead);
	still_works();
	world_close(&world);
}

static void fresh_in_the_child(void)
{
	world_open(&world, false);
	CU_ASSERT_EQUAL(world_move(world.qp, IBV_QPS_RTS), 0);
	still_works();
	run_in_child(use_fresh);
	still_works();
	world_close(&world);
}

static bool stop;

static void *query_on(void *argument)
{
	union ibv_gid gid;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		ibv_query_gid(world.context, 1, 0, &gid);
	return NULL;
}

static void nothing(void)
{
}

/* Forks in the middle of other threads' commands and threads' ends. */
static void under_load(void)
{
	pthread_t thread[3];

	world_open(&world, false);
	stop = false;
	for (unsigned int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, query_on, NULL);
	for (unsigned int i = 0; i < 20; i++) {
		run_in_child(use_fresh);
		run_in_child(nothing);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	world_close(&world);
}

static const struct unit_case cases[] = {
	UNIT_CASE(dead_in_the_child),
	UNIT_CASE(fresh_in_the_child),
	UNIT_CASE(under_load),
};

UNIT_MAIN("attach-process", cases)
