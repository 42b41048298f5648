/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One process: an application that has EAL, lcores, ports and a pool of its own and uses them
 * (hub.h), and three engines behind its switch, driven in three ways. They talk to each other and
 * to themselves, they come and go while others work on, and the process forks.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <uroce/uroce.h>

#include "exchange.h"
#include "hub.h"
#include "pattern.h"

#define ENGINES 3u
#define ROUNDS 6u
#define FORKS 12u
#define SOME_FRAMES 100u
#define CHANCES 40u
#define IN (NODE_MEMORY / 2)

enum { ONE, TWO, WIDE };

static const char *const arguments[ENGINES] = {
	[ONE] = "--port net_ring_one --address 10.1.0.1/24 --mac 02:00:00:00:01:01 --mode inline",
	[TWO] = "--port net_ring_two --address 10.1.0.2/24 --mac 02:00:00:00:01:02 "
		"--mode dedicated --lcore 1 --sleep 50",
	[WIDE] = "--port net_ring_wide --address 10.1.0.3/24 --mac 02:00:00:00:01:03 "
		 "--mode mixed --lcore 2 --cores 2",
};

static struct node nodes[ENGINES];

static void open_all(void)
{
	for (uint32_t i = 0; i < ENGINES; i++)
		node_open_line(&nodes[i], arguments[i]);
}

static void close_all(void)
{
	for (uint32_t i = 0; i < ENGINES; i++)
		node_close(&nodes[i]);
}

/* Two connections, so that both cores of an engine of two have one. */
static void talk(struct node *a, struct node *b, uint32_t seed)
{
	struct link links[2];

	for (int i = 0; i < 2; i++)
		link_open(&links[i], a, b, REACH_RTS);
	for (int i = 0; i < 2; i++)
		for (int e = 0; e < 2; e++)
			CU_ASSERT_EQUAL(
				exchange(&links[i].ends[e], 0, IN, seed + 10 * (uint32_t)(i + e)),
				0);
	for (int i = 0; i < 2; i++)
		link_close(&links[i]);
}

/* ---- each with each ---- */

static void all_talk(uint32_t seed)
{
	for (uint32_t i = 0; i < ENGINES; i++)
		for (uint32_t j = i; j < ENGINES; j++)
			talk(&nodes[i], &nodes[j], seed + 100 * i + 1000 * j);
}

/* The application is in between. Which queue of the wide port a connection's frames come to is
 * chance: connections are made until both have had some. */
static void each_with_each_and_itself(void)
{
	uint32_t round = 0;

	open_all();
	do
		all_talk(++round);
	while ((hub_wide(0) < SOME_FRAMES || hub_wide(1) < SOME_FRAMES) && round < CHANCES);
	CU_ASSERT(hub_wide(0) >= SOME_FRAMES);
	CU_ASSERT(hub_wide(1) >= SOME_FRAMES);
	close_all();
}

static void made_anew(void)
{
	open_all();
	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct node *gone = &nodes[round % ENGINES];

		node_close(gone);
		node_open_line(gone, arguments[round % ENGINES]);
		all_talk(round);
	}
	close_all();
}

/* ---- engines that go while others work on ---- */

/* Connections between the others, and of each with itself: a stream a connection. */
static void others_work_on(uint32_t gone)
{
	struct node *a = &nodes[(gone + 1) % ENGINES], *b = &nodes[(gone + 2) % ENGINES];
	struct stream streams[4];

	stream_open(&streams[0], 0, a, b);
	stream_open(&streams[1], 1, b, a);
	stream_open(&streams[2], 2, a, a);
	stream_open(&streams[3], 3, b, b);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		node_close(&nodes[gone]);
		for (int i = 0; i < 4; i++)
			stream_flows(&streams[i]);
		node_open_line(&nodes[gone], arguments[gone]);
		talk(&nodes[gone], a, round);
	}
	for (int i = 0; i < 4; i++)
		stream_close(&streams[i]);
}

static void one_goes_the_others_work_on(void)
{
	open_all();
	for (uint32_t gone = 0; gone < ENGINES; gone++)
		others_work_on(gone);
	close_all();
}

/* ---- fork ---- */

/* The number of calls that did something else than to fail with EIO. */
static int child_calls(void)
{
	int wrong = 0;

	for (uint32_t i = 0; i < ENGINES; i++) {
		struct ibv_port_attr port;
		struct ibv_wc wc;

		wrong += ibv_poll_cq(nodes[i].cq, 1, &wc) >= 0;
		wrong += ibv_query_port(nodes[i].context, 1, &port) != EIO;
		wrong += ibv_alloc_pd(nodes[i].context) != NULL || errno != EIO;
		wrong += ibv_dereg_mr(nodes[i].mr) != EIO;
		wrong += uroce_engine_poll(nodes[i].engine) != 0;
		wrong += uroce_engine_destroy(nodes[i].engine) != EIO;
	}
	return wrong;
}

/* In a child: calls, then the end in one of the ways that there are. */
static void child(uint32_t n)
{
	int wrong = n % 3 ? child_calls() : 0;

	if (wrong)
		_exit(wrong);
	if (n % 2)
		exit(0);
	execl("/bin/true", "true", (char *)NULL);
	_exit(99);
}

static void fork_once(uint32_t n)
{
	int status = -1;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		child(n);
	CU_ASSERT_FATAL(pid > 0);
	CU_ASSERT(bench_until(waitpid(pid, &status, WNOHANG) == pid));
	CU_ASSERT(WIFEXITED(status));
	CU_ASSERT_EQUAL(WEXITSTATUS(status), 0);
}

/* Threads post, poll and drive at whatever moment the fork comes. */
static void fork_while_traffic_runs(void)
{
	struct stream streams[4];

	open_all();
	stream_open(&streams[0], 0, &nodes[ONE], &nodes[WIDE]);
	stream_open(&streams[1], 1, &nodes[WIDE], &nodes[TWO]);
	stream_open(&streams[2], 2, &nodes[WIDE], &nodes[WIDE]);
	stream_open(&streams[3], 3, &nodes[ONE], &nodes[ONE]);
	for (uint32_t n = 0; n < FORKS; n++) {
		fork_once(n);
		stream_flows(&streams[n % 4]);
	}
	for (int i = 0; i < 4; i++)
		stream_close(&streams[i]);
	all_talk(3);
	close_all();
}

static const struct unit_case cases[] = {
	UNIT_CASE(each_with_each_and_itself),
	UNIT_CASE(made_anew),
	UNIT_CASE(one_goes_the_others_work_on),
	UNIT_CASE(fork_while_traffic_runs),
};

int main(int argc, char **argv)
{
	int status;

	bench_start();
	hub_start(3);
	status = unit_run("integ-process", cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
	hub_stop();
	return status;
}
