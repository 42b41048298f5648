/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that come and go, hundreds of them, one after the other and at once: that poll, and are
 * thereby known to EAL; that post and leave. EAL has RTE_MAX_LCORE ids for all threads; they and
 * the send rings come back, and what the threads had cached is not missed.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include <rte_lcore.h>

#include "exchange.h"
#include "pattern.h"

#define IN_TURN 300u
#define AT_ONCE 140u
#define PACKETS 10u
#define POSTERS 64u
#define IN (NODE_MEMORY / 2)

static const enum mode modes[][2] = {{INLINE, DEDICATED}, {INLINE, INLINE}, {MIXED, INLINE}};
#define MODES (sizeof(modes) / sizeof(modes[0]))

struct scene {
	struct node nodes[2];
	struct link link;
	uint32_t go; /* atomic */
	uint32_t wrong;
};

static void scene_open(struct scene *scene, const enum mode mode[2])
{
	memset(scene, 0, sizeof(*scene));
	node_open(&scene->nodes[0], EAST, mode[0]);
	node_open(&scene->nodes[1], WEST, mode[1]);
	link_open(&scene->link, &scene->nodes[0], &scene->nodes[1], REACH_RTS);
}

static void scene_close(struct scene *scene)
{
	CU_ASSERT_EQUAL(scene->wrong, 0);
	link_close(&scene->link);
	node_close(&scene->nodes[0]);
	node_close(&scene->nodes[1]);
}

static void in_all_modes(void (*run)(struct scene *scene))
{
	struct scene scene;

	for (size_t i = 0; i < MODES; i++) {
		scene_open(&scene, modes[i]);
		run(&scene);
		scene_close(&scene);
	}
}

/* Ids of threads that EAL didn't start. */
static unsigned int registered(void)
{
	unsigned int count = 0;

	for (unsigned int id = 0; id < RTE_MAX_LCORE; id++)
		count += rte_lcore_has_role(id, ROLE_NON_EAL) != 0;
	return count;
}

/* Each is given its number, and is waited for. */
static void run_threads(struct scene *scene, uint32_t count, uint32_t at_once, void *(*run)(void *))
{
	pthread_t threads[AT_ONCE];

	for (uint32_t done = 0; done < count; done += at_once) {
		for (uint32_t i = 0; i < at_once; i++)
			CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, run, scene), 0);
		for (uint32_t i = 0; i < at_once; i++)
			CU_ASSERT_EQUAL_FATAL(pthread_join(threads[i], NULL), 0);
	}
}

/* ---- threads that poll ---- */

static void *exchange_once(void *argument)
{
	struct scene *scene = argument;
	uint32_t n = scene->go++;

	scene->wrong += exchange(&scene->link.ends[n % 2], 0, IN, n);
	return NULL;
}

static void one_after_the_other(struct scene *scene)
{
	unsigned int before = registered();

	run_threads(scene, IN_TURN, 1, exchange_once);
	CU_ASSERT_EQUAL(scene->go, IN_TURN);
	CU_ASSERT_EQUAL(registered(), before);
}

static void pollers_in_turn(void)
{
	in_all_modes(one_after_the_other);
}

/* Has driven an engine until so many packets have passed through this very thread's hands. The
 * completions are the stream's, which has a CQ of its own. */
static void *poll_some(void *argument)
{
	struct scene *scene = argument;
	double end = bench_now() + BENCH_PATIENCE;
	uint32_t moved = 0;
	struct ibv_wc wc;

	while (moved < PACKETS && bench_now() < end) {
		for (int n = 0; n < 2; n++)
			moved += uroce_engine_poll(scene->nodes[n].engine);
		sched_yield();
	}
	for (int n = 0; n < 2; n++)
		if (moved < PACKETS || ibv_poll_cq(scene->nodes[n].cq, 1, &wc) != 0)
			__atomic_fetch_add(&scene->wrong, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* They have all polled before one of them ends, so that there are more than ids. */
static pthread_barrier_t all_here;

static void *poll_together(void *scene)
{
	poll_some(scene);
	pthread_barrier_wait(&all_here);
	return NULL;
}

/* Traffic goes on meanwhile, and afterwards. */
static void all_at_once(struct scene *scene)
{
	struct stream stream;
	unsigned int before;

	stream_open(&stream, 0, &scene->nodes[0], &scene->nodes[1]);
	stream_flows(&stream); /* its thread is known to EAL */
	before = registered();
	CU_ASSERT_EQUAL_FATAL(pthread_barrier_init(&all_here, NULL, AT_ONCE), 0);
	run_threads(scene, AT_ONCE, AT_ONCE, poll_together);
	pthread_barrier_destroy(&all_here);
	CU_ASSERT_EQUAL(registered(), before);
	stream_flows(&stream);
	stream_close(&stream);
	for (int e = 0; e < 2; e++)
		CU_ASSERT_EQUAL(exchange(&scene->link.ends[e], 0, IN, 9), 0);
	for (int n = 0; n < 2; n++)
		CU_ASSERT_EQUAL(bench_counter(scene->nodes[n].context, "no_buffer"), 0);
}

static void pollers_at_once(void)
{
	in_all_modes(all_at_once);
}

/* ---- threads that post and leave ---- */

/* A WRITE of the thread's number to its place; nobody but the main thread polls. */
static void *post_one(void *argument)
{
	struct scene *scene = argument;
	uint32_t n = __atomic_fetch_add(&scene->go, 1, __ATOMIC_RELAXED);
	struct end *from = &scene->link.ends[n % 2];
	struct ibv_send_wr wr = {
		.wr_id = n, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED};
	uint64_t word = n + 1, at = 8 * (uint64_t)n;

	memcpy(from->node->memory + at, &word, sizeof(word));
	if (end_send(from, &wr, at, sizeof(word), IN + at))
		__atomic_fetch_add(&scene->wrong, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void take_writes(struct scene *scene, uint32_t count)
{
	uint32_t got[2] = {0, 0};

	for (uint32_t n = 0; n < count; n++)
		got[n % 2]++;
	for (int e = 0; e < 2; e++)
		for (uint32_t i = 0; i < got[e]; i++)
			bench_complete(scene->nodes[e].cq);
	for (uint32_t n = 0; n < count; n++) {
		uint64_t word = n + 1, at = IN + 8 * (uint64_t)n;

		CU_ASSERT_EQUAL(
			memcmp(scene->link.ends[n % 2].peer->node->memory + at, &word, 8), 0);
	}
}

/* Half of them a QP's depth at most: nobody polls until they are gone. */
static void post_in(struct scene *scene, uint32_t at_once)
{
	for (uint32_t round = 0; round < IN_TURN / POSTERS; round++) {
		scene->go = 0;
		memset(scene->nodes[0].memory + IN, 0, 8 * POSTERS);
		memset(scene->nodes[1].memory + IN, 0, 8 * POSTERS);
		run_threads(scene, POSTERS, at_once, post_one);
		take_writes(scene, POSTERS);
	}
}

static void post_one_after_the_other(struct scene *scene)
{
	post_in(scene, 1);
}

static void posters_in_turn(void)
{
	in_all_modes(post_one_after_the_other);
}

static void post_at_once(struct scene *scene)
{
	post_in(scene, POSTERS);
}

static void posters_at_once(void)
{
	in_all_modes(post_at_once);
}

static const struct unit_case cases[] = {
	UNIT_CASE(pollers_in_turn),
	UNIT_CASE(pollers_at_once),
	UNIT_CASE(posters_in_turn),
	UNIT_CASE(posters_at_once),
};

int main(int argc, char **argv)
{
	bench_start();
	return unit_run("integ-threads", cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
