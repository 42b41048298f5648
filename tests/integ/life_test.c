/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uroce/engine.h in a process whose EAL runs: engines that come and go, the devices that they are,
 * what is refused and how it is said.
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#include <uroce/uroce.h>

#include "bench.h"
#include "capture.h"
#include "link.h"
#include "pattern.h"

#define EAST_PORT "--port net_ring_east --mac 02:00:00:00:00:01 "
#define ROUNDS 20

/* ---- what is refused ---- */

struct refusal {
	const char *arguments;
	int error;
	const char *words; /* of the line that says why */
};

static const struct refusal refusals[] = {
	{"", EINVAL, "there is no port"},
	{"--port net_ring_east", EINVAL, "no address"},
	{EAST_PORT "--address 10.0.0.300/24", EINVAL, "--address '10.0.0.300/24'"},
	{EAST_PORT "--address 10.0.0.1", EINVAL, "--address '10.0.0.1'"},
	{EAST_PORT "--address 10.0.0.1/33", EINVAL, "--address"},
	{EAST_PORT "--address 224.0.0.1/24", EINVAL, "224.0.0.1"},
	{EAST_PORT "--address 10.0.0.1/24 --address 10.0.0.1/24", EINVAL, "10.0.0.1"},
	{EAST_PORT "--address 10.0.0.1/24 --gateway 10.1.0.1", EINVAL, "10.1.0.1"},
	{EAST_PORT "--address 10.0.0.1/24 --route 10.1.0.0/16", EINVAL, "--route"},
	{EAST_PORT "--address 10.0.0.1/24 --bogus", EINVAL, "--bogus"},
	{EAST_PORT "--address 10.0.0.1/24 stray", EINVAL, "stray"},
	{EAST_PORT "--address 10.0.0.1/24 --mtu", EINVAL, "--mtu"},
	{EAST_PORT "--address 10.0.0.1/24 --mtu 575", EINVAL, "575"},
	{EAST_PORT "--address 10.0.0.1/24 --mtu 9601", EINVAL, "9601"},
	{EAST_PORT "--address 10.0.0.1/24 --cores 2", EINVAL, "queues"},
	{EAST_PORT "--address 10.0.0.1/24 --max-qp 0", EINVAL, "--max-qp"},
	{EAST_PORT "--address 10.0.0.1/24 --name a/b", EINVAL, "--name"},
	{EAST_PORT "--address 10.0.0.1/24 --mode sometimes", EINVAL, "--mode"},
	{EAST_PORT "--address 10.0.0.1/24 --lcore 1", EINVAL, "--mode dedicated"},
	{EAST_PORT "--address 10.0.0.1/24 --mode dedicated", EINVAL, "--lcore"},
	{EAST_PORT "--address 10.0.0.1/24 --mode dedicated --lcore 0", EINVAL, "main lcore"},
	{EAST_PORT "--address 10.0.0.1/24 --mode dedicated --lcore 7", EINVAL, "lcore 7"},
	{EAST_PORT "--address 10.0.0.1/24 --mbufs 16777216", ENOMEM, "--mbufs"},
	{"--port net_ring_east --mac 01:00:5e:00:00:01 --address 10.0.0.1/24", EINVAL, "--mac"},
	{"--port net_ring_nowhere --address 10.0.0.1/24", ENODEV, "net_ring_nowhere"},
	{"--port 31 --address 10.0.0.1/24", ENODEV, "31"},
	{EAST_PORT "--address '10.0.0.1/24", EINVAL, "quote"},
	{EAST_PORT "--address 10.0.0.1/24\\", EINVAL, "backslash"},
	{"-l 0 -- " EAST_PORT "--address 10.0.0.1/24", EINVAL, "EAL is running already"},
	{"--no-pci --vdev=net_null0 -- --port net_null0 --address 10.0.0.1/24", EINVAL,
		"EAL is running already"},
};

static unsigned int devices(void)
{
	int count = -1;
	struct ibv_device **list = ibv_get_device_list(&count);
	unsigned int ours = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(list);
	for (int i = 0; i < count; i++)
		ours += uroce_is_device(list[i]) != 0;
	ibv_free_device_list(list);
	return ours;
}

/* One line at the level of errors, which says what is wrong. */
static void refuse(const char *arguments, int error, const char *words)
{
	struct capture capture;
	struct uroce_engine *engine;
	int got;

	capture_begin(&capture);
	errno = 0;
	engine = uroce_engine_create_line(arguments);
	got = errno;
	capture_end(&capture);
	if (engine || got != error || capture_lines(&capture, "error") != 1 ||
		!strstr(capture.text, words))
		fprintf(stderr, "%s: %s: %s\n%s", arguments ? arguments : "NULL",
			engine ? "taken" : "refused", strerror(got), capture.text);
	CU_ASSERT_PTR_NULL_FATAL(engine);
	CU_ASSERT_EQUAL(got, error);
	CU_ASSERT_EQUAL(capture_lines(&capture, "error"), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(capture.text, words));
}

static void wrong_arguments(void)
{
	struct node node;

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
		refuse(refusals[i].arguments, refusals[i].error, refusals[i].words);
	refuse(NULL, EINVAL, "arguments");
	CU_ASSERT_EQUAL(devices(), 0);
	/* and after all that the port is as it was */
	node_open(&node, EAST, DEDICATED);
	node_close(&node);
}

static void no_arguments(void)
{
	char program[] = "test";
	char *const argv[] = {program, NULL};
	const struct {
		int argc;
		char *const *argv;
	} rows[] = {{0, argv}, {-1, argv}, {1, NULL}, {1, argv}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct capture capture;
		struct uroce_engine *engine;
		int got;

		capture_begin(&capture);
		engine = uroce_engine_create(rows[i].argc, rows[i].argv);
		got = errno;
		capture_end(&capture);
		CU_ASSERT_PTR_NULL(engine);
		CU_ASSERT_EQUAL(got, EINVAL);
		CU_ASSERT_EQUAL(capture_lines(&capture, "error"), 1);
	}
}

/* Ports, names and lcores have one owner each. */
static void taken_already(void)
{
	struct node node;

	node_open(&node, WEST, DEDICATED);
	refuse("--port net_ring_west --mac 02:00:00:00:00:03 --address 10.0.0.3/24", EBUSY,
		"net_ring_west");
	refuse(EAST_PORT "--address 10.0.0.1/24 --name uroce0", EEXIST, "uroce0");
	refuse(bench_arguments(EAST, DEDICATED), EBUSY, "lcore 1");
	CU_ASSERT_EQUAL(devices(), 1);
	node_close(&node);
	node_open(&node, EAST, DEDICATED);
	node_close(&node);
}

/* ---- engines that come and go ---- */

static unsigned int open_files(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned int count = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static size_t eal_memory(void)
{
	struct rte_malloc_socket_stats stats;
	size_t sum = 0;

	for (unsigned int i = 0; i < rte_socket_count(); i++)
		if (rte_malloc_get_socket_stats(rte_socket_id_by_idx(i), &stats) == 0)
			sum += stats.heap_allocsz_bytes;
	return sum;
}

static void say_hello(struct node *to, struct node *from)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
	struct link link;

	link_open(&link, to, from, REACH_RTS);
	pattern_fill(from->memory, 100, 1);
	CU_ASSERT_EQUAL_FATAL(end_recv(&link.ends[0], 0, 4096, 100), 0);
	CU_ASSERT_EQUAL_FATAL(end_send(&link.ends[1], &wr, 0, 100, 0), 0);
	bench_complete(to->cq);
	bench_complete(from->cq);
	CU_ASSERT(pattern_matches(to->memory + 4096, 100, 1));
	link_close(&link);
}

/* What the first rounds leave behind for good (pools that lend buffers to the other port) is not
 * counted: each round takes turns in the modes. */
static void again_and_again(void)
{
	static const enum mode modes[][2] = {
		{DEDICATED, INLINE}, {INLINE, DEDICATED}, {MIXED, INLINE}, {INLINE, MIXED}};
	struct node east, west;
	unsigned int files = 0;
	size_t memory = 0;

	for (int round = 0; round < ROUNDS; round++) {
		node_open(&east, EAST, modes[round % 4][0]);
		node_open(&west, WEST, modes[round % 4][1]);
		say_hello(&east, &west);
		CU_ASSERT_EQUAL(devices(), 2);
		node_close(&west);
		node_close(&east);
		CU_ASSERT_EQUAL(devices(), 0);
		if (round == 7) {
			files = open_files();
			memory = eal_memory();
		}
	}
	CU_ASSERT_EQUAL(open_files(), files);
	CU_ASSERT(eal_memory() <= memory);
}

static void busy_with(struct node *node)
{
	struct capture capture;
	int error;

	capture_begin(&capture);
	error = uroce_engine_destroy(node->engine);
	capture_end(&capture);
	CU_ASSERT_EQUAL(error, EBUSY);
	CU_ASSERT_EQUAL(capture_lines(&capture, "error"), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(capture.text, "contexts are open"));
}

/* A refused destroy has changed nothing: the engine works as before. */
static void busy_in(enum mode mode)
{
	struct node east, west;

	node_open(&east, EAST, mode);
	node_open(&west, WEST, mode == INLINE ? DEDICATED : INLINE);
	busy_with(&east);
	say_hello(&east, &west);
	busy_with(&east);
	say_hello(&west, &east);
	node_close(&east);
	node_close(&west);
}

static void destroyed_while_open(void)
{
	busy_in(INLINE);
	busy_in(DEDICATED);
	busy_in(MIXED);
	CU_ASSERT_EQUAL(uroce_engine_destroy(NULL), EINVAL);
}

/* ---- devices ---- */

static void device_of_an_engine(void)
{
	struct uroce_engine *engine =
		uroce_engine_create_line(EAST_PORT "--address 10.0.0.1/24 --name front");
	struct ibv_device *device = uroce_engine_device(engine);
	struct ibv_device_attr attr;
	struct ibv_context *context;

	CU_ASSERT_PTR_NOT_NULL_FATAL(engine);
	CU_ASSERT_PTR_NOT_NULL_FATAL(device);
	CU_ASSERT_STRING_EQUAL(ibv_get_device_name(device), "front");
	CU_ASSERT_PTR_EQUAL(uroce_find_device("front"), device);
	CU_ASSERT_PTR_NULL(uroce_find_device("uroce0"));
	CU_ASSERT_EQUAL(devices(), 1);
	context = ibv_open_device(device);
	CU_ASSERT_PTR_NOT_NULL_FATAL(context);
	CU_ASSERT_EQUAL(ibv_query_device(context, &attr), 0);
	CU_ASSERT_EQUAL(attr.node_guid, ibv_get_device_guid(device));
	CU_ASSERT_EQUAL(ibv_close_device(context), 0);
	CU_ASSERT_EQUAL(uroce_engine_destroy(engine), 0);
	CU_ASSERT_EQUAL(devices(), 0);
	CU_ASSERT_PTR_NULL(uroce_find_device("front"));
	CU_ASSERT_PTR_NULL(ibv_open_device(device));
	CU_ASSERT_EQUAL(errno, ENODEV);
}

static void names_in_order(void)
{
	struct node east, west;

	node_open(&east, EAST, INLINE);
	node_open(&west, WEST, INLINE);
	CU_ASSERT_STRING_EQUAL(ibv_get_device_name(east.context->device), "uroce0");
	CU_ASSERT_STRING_EQUAL(ibv_get_device_name(west.context->device), "uroce1");
	node_close(&east);
	/* the first that is free */
	node_open(&east, EAST, INLINE);
	CU_ASSERT_STRING_EQUAL(ibv_get_device_name(east.context->device), "uroce0");
	CU_ASSERT_NOT_EQUAL(ibv_get_device_guid(east.context->device),
		ibv_get_device_guid(west.context->device));
	node_close(&east);
	node_close(&west);
}

/* Who has a core of its own is not driven. Without a progress thread, which would be the faster. */
static void poll_by_mode(void)
{
	struct uroce_engine *inline_one =
		uroce_engine_create_line(EAST_PORT "--address 10.0.0.1/24 --progress off");
	struct uroce_engine *dedicated = uroce_engine_create_line(bench_arguments(WEST, DEDICATED));

	CU_ASSERT_PTR_NOT_NULL_FATAL(inline_one);
	CU_ASSERT_PTR_NOT_NULL_FATAL(dedicated);
	CU_ASSERT_EQUAL(uroce_engine_poll(dedicated), 0);
	/* the announcement of the other one's address comes in */
	CU_ASSERT(bench_until(uroce_engine_poll(inline_one) > 0));
	CU_ASSERT_EQUAL(uroce_engine_destroy(dedicated), 0);
	CU_ASSERT_EQUAL(uroce_engine_destroy(inline_one), 0);
}

/* ---- several contexts on one device ---- */

/* Each has its own objects; they reach each other like any two hosts, and no further. */
static void contexts_in(enum mode mode)
{
	struct node first, second, peer;
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad;
	struct ibv_sge foreign;
	struct link link;

	node_open(&first, EAST, mode);
	node_open(&peer, WEST, mode == INLINE ? DEDICATED : INLINE);
	node_open_again(&second, first.engine);
	CU_ASSERT_PTR_NOT_EQUAL(first.context, second.context);
	say_hello(&first, &peer);
	say_hello(&peer, &second);
	say_hello(&first, &second);
	/* a key of one context is none of the other's */
	link_open(&link, &peer, &second, REACH_RTS);
	foreign = (struct ibv_sge){(uintptr_t)first.memory, 8, first.mr->lkey};
	wr.sg_list = &foreign;
	wr.num_sge = 1;
	CU_ASSERT_EQUAL_FATAL(ibv_post_send(link.ends[1].qp, &wr, &bad), 0);
	CU_ASSERT_EQUAL(bench_any_completion(second.cq).status, IBV_WC_LOC_PROT_ERR);
	link_close(&link);
	/* the first goes, the second works on */
	busy_with(&first);
	node_close_again(&first);
	busy_with(&second);
	say_hello(&second, &peer);
	node_close(&second);
	node_close(&peer);
}

static void several_contexts(void)
{
	contexts_in(INLINE);
	contexts_in(DEDICATED);
	contexts_in(MIXED);
}

/* What a program leaves open when it closes the device vanishes with it. */
static void closed_with_objects(void)
{
	static void *left_behind[3]; /* so that nobody takes them for a leak of ours */
	struct node east, west;
	struct ibv_context *context;
	struct ibv_pd *pd;

	node_open(&east, EAST, DEDICATED);
	node_open(&west, WEST, INLINE);
	context = ibv_open_device(uroce_engine_device(east.engine));
	CU_ASSERT_PTR_NOT_NULL_FATAL(context);
	pd = ibv_alloc_pd(context);
	CU_ASSERT_PTR_NOT_NULL_FATAL(pd);
	left_behind[0] = pd;
	left_behind[1] = ibv_reg_mr(pd, west.memory, 4096, IBV_ACCESS_LOCAL_WRITE);
	left_behind[2] = ibv_create_cq(context, 8, NULL, NULL, 0);
	CU_ASSERT(left_behind[1] && left_behind[2]);
	CU_ASSERT_EQUAL(ibv_close_device(context), 0);
	say_hello(&east, &west);
	node_close(&east);
	node_close(&west);
}

static const struct unit_case cases[] = {
	UNIT_CASE(wrong_arguments),
	UNIT_CASE(no_arguments),
	UNIT_CASE(taken_already),
	UNIT_CASE(again_and_again),
	UNIT_CASE(destroyed_while_open),
	UNIT_CASE(device_of_an_engine),
	UNIT_CASE(names_in_order),
	UNIT_CASE(poll_by_mode),
	UNIT_CASE(several_contexts),
	UNIT_CASE(closed_with_objects),
};

int main(int argc, char **argv)
{
	bench_start();
	return unit_run("integ-life", cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
