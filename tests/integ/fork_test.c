/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fork() in the middle of a connection: what the child calls fails cleanly, and the parent, whose
 * engines share memory with the child, is unharmed.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <uroce/uroce.h>

#include "bench.h"
#include "link.h"
#include "pattern.h"

#define MESSAGE 5000u

struct scene {
	struct node nodes[2];
	struct ibv_comp_channel *channel;
	struct link link;
};

static void scene_open(struct scene *scene, enum mode east, enum mode west)
{
	node_open(&scene->nodes[0], EAST, east);
	node_open(&scene->nodes[1], WEST, west);
	scene->channel = ibv_create_comp_channel(scene->nodes[0].context);
	CU_ASSERT_PTR_NOT_NULL_FATAL(scene->channel);
	link_open(&scene->link, &scene->nodes[0], &scene->nodes[1], REACH_RTS);
}

static void scene_close(struct scene *scene)
{
	link_close(&scene->link);
	CU_ASSERT_EQUAL(ibv_destroy_comp_channel(scene->channel), 0);
	node_close(&scene->nodes[0]);
	node_close(&scene->nodes[1]);
}

static void exchange(struct scene *scene, uint32_t seed)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};

	for (int e = 0; e < 2; e++) {
		struct end *to = &scene->link.ends[e], *from = to->peer;

		pattern_fill(from->node->memory, MESSAGE, seed);
		pattern_clear(to->node->memory + MESSAGE, MESSAGE);
		CU_ASSERT_EQUAL_FATAL(end_recv(to, 0, MESSAGE, MESSAGE), 0);
		CU_ASSERT_EQUAL_FATAL(end_send(from, &wr, 0, MESSAGE, 0), 0);
		bench_complete(to->node->cq);
		bench_complete(from->node->cq);
		CU_ASSERT(pattern_matches(to->node->memory + MESSAGE, MESSAGE, seed));
	}
}

/* ---- the child: no assertions of CUnit, but a count and the lines on stderr ---- */

static int wrong;

static void expect(bool good, const char *what)
{
	if (good)
		return;
	wrong++;
	fprintf(stderr, "in the child: %s\n", what);
}

#define EXPECT(condition) expect(condition, #condition)

/* The parent's rings are shared memory: a round here would take its packets away. */
static void use_engine(struct node *node)
{
	unsigned int moved = 0;

	for (int i = 0; i < 1000; i++) {
		moved += uroce_engine_poll(node->engine);
		sched_yield();
	}
	EXPECT(moved == 0);
	EXPECT(uroce_engine_destroy(node->engine) == EIO);
	errno = 0;
	EXPECT(!uroce_engine_device(node->engine) && errno == ENODEV);
}

static void use_queues(struct end *end)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct uroce_hold hold;
	struct ibv_wc wc;

	EXPECT(end_send(end, &wr, 0, 8, 0) == EIO);
	EXPECT(end_recv(end, 0, 0, 8) == EIO);
	EXPECT(ibv_poll_cq(end->node->cq, 1, &wc) < 0);
	EXPECT(ibv_req_notify_cq(end->node->cq, 0) == EIO);
	EXPECT(end_modify(end, IBV_QPS_ERR) == EIO);
	EXPECT(ibv_query_qp(end->qp, &attr, IBV_QP_STATE, &init) == EIO);
	EXPECT(uroce_qp_query_hold(end->qp, &hold) == EIO);
	EXPECT(uroce_qp_notify(end->qp) == EIO);
	EXPECT(ibv_destroy_qp(end->qp) == EIO);
}

static void use_context(struct node *node)
{
	struct ibv_async_event event;
	struct ibv_port_attr port;
	struct ibv_device_attr device;
	uint64_t value;

	errno = 0;
	EXPECT(!ibv_alloc_pd(node->context) && errno == EIO);
	errno = 0;
	EXPECT(!ibv_create_cq(node->context, 1, NULL, NULL, 0) && errno == EIO);
	errno = 0;
	EXPECT(!ibv_reg_mr(node->pd, node->memory, 8, 0) && errno == EIO);
	errno = 0;
	EXPECT(ibv_get_async_event(node->context, &event) == -1 && errno == EIO);
	EXPECT(ibv_query_port(node->context, 1, &port) == EIO);
	EXPECT(ibv_query_device(node->context, &device) == 0 || errno == EIO);
	EXPECT(uroce_query_counters(node->context, &value, 1) == EIO);
	EXPECT(ibv_dereg_mr(node->mr) == EIO);
}

static void look_for_devices(void)
{
	int count = -1;
	struct ibv_device **list = ibv_get_device_list(&count);

	EXPECT(list != NULL);
	for (int i = 0; list && i < count; i++)
		EXPECT(!uroce_is_device(list[i]));
	ibv_free_device_list(list);
	EXPECT(!uroce_find_device("uroce0"));
}

static void make_an_engine(void)
{
	errno = 0;
	EXPECT(!uroce_engine_create_line(
		"--port net_ring_east --mac 02:00:00:00:00:09 --address 10.0.0.9/24"));
	EXPECT(errno == ENOTSUP);
}

static int child(struct scene *scene)
{
	struct ibv_cq *cq;
	void *context;

	for (int i = 0; i < 2; i++) {
		use_queues(&scene->link.ends[i]);
		use_context(&scene->nodes[i]);
		use_engine(&scene->nodes[i]);
	}
	errno = 0;
	EXPECT(ibv_get_cq_event(scene->channel, &cq, &context) == -1 && errno == EIO);
	look_for_devices();
	make_an_engine();
	for (int i = 0; i < 2; i++)
		EXPECT(ibv_close_device(scene->nodes[i].context) == 0);
	return wrong;
}

/* ---- the parent ---- */

static int status_of(pid_t pid)
{
	int status = -1;

	CU_ASSERT(bench_until(waitpid(pid, &status, WNOHANG) == pid));
	CU_ASSERT_FATAL(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* The child acts while the parent's engines run; both ends of the connection go on. */
static void fork_in(enum mode east, enum mode west)
{
	struct scene scene;
	pid_t pid;

	scene_open(&scene, east, west);
	exchange(&scene, 1);
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(child(&scene));
	CU_ASSERT_FATAL(pid > 0);
	for (uint32_t seed = 2; seed < 6; seed++)
		exchange(&scene, seed);
	CU_ASSERT_EQUAL(status_of(pid), 0);
	exchange(&scene, 7);
	scene_close(&scene);
}

static void inline_engine_first(void)
{
	fork_in(INLINE, DEDICATED);
}

static void dedicated_engine_first(void)
{
	fork_in(DEDICATED, INLINE);
}

static void engine_of_two_cores_first(void)
{
	fork_in(MIXED, INLINE);
}

/* The usual reason for a fork. exec closes all that is ours. */
static void exec_in(enum mode east, enum mode west)
{
	struct scene scene;
	pid_t pid;

	scene_open(&scene, east, west);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c",
			"for file in /proc/self/fd/*; do "
			"case $(readlink $file) in *memfd:uroce*|*eventfd*) exit 9;; esac; done",
			(char *)NULL);
		_exit(8);
	}
	CU_ASSERT_FATAL(pid > 0);
	exchange(&scene, 1);
	CU_ASSERT_EQUAL(status_of(pid), 0);
	scene_close(&scene);
}

static void exec_in_the_child(void)
{
	exec_in(INLINE, DEDICATED);
	exec_in(MIXED, INLINE);
}

/* exit() runs what libraries have for it, in a process that none of their threads is in. */
static void exit_in_the_child(void)
{
	struct scene scene;
	pid_t pid;

	scene_open(&scene, MIXED, INLINE);
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		exit(7);
	CU_ASSERT_FATAL(pid > 0);
	exchange(&scene, 1);
	CU_ASSERT_EQUAL(status_of(pid), 7);
	exchange(&scene, 2);
	scene_close(&scene);
}

static const struct unit_case cases[] = {
	UNIT_CASE(inline_engine_first),
	UNIT_CASE(dedicated_engine_first),
	UNIT_CASE(engine_of_two_cores_first),
	UNIT_CASE(exec_in_the_child),
	UNIT_CASE(exit_in_the_child),
};

int main(int argc, char **argv)
{
	bench_start();
	return unit_run("integ-fork", cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
