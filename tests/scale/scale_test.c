/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scale_test [QPS [MRS [LOOPS]]]: very many of everything in one engine, all of it used, and all of
 * it given back, again and again. Prints what one of each takes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

#define LENGTH 8u	    /* bytes of a QP's message and of a region */
#define QP_MEMORY_MAX 2048  /* bytes of the engine's a QP, queues apart */
#define QP_QUEUES (2 * 128) /* the transport's own: two requests under way */

/* From the command line, before the first case. */
static struct {
	uint32_t qps, mrs, loops;
} size = {20000, 1000000, 3};

static struct host host;

/* ---- queue pairs: each to its neighbour, 0 to 1, 2 to 3 ... ---- */

static uint64_t word_of(uint64_t n, uint32_t loop)
{
	return (n + 1) * 0x9e3779b97f4a7c15ull + loop;
}

static uint8_t *place(uint64_t n)
{
	return host.memory + LENGTH * n;
}

static void make_qps(struct ibv_qp **qps)
{
	for (uint32_t i = 0; i < size.qps; i++)
		qps[i] = host_create_qp(&host);
	for (uint32_t i = 0; i < size.qps; i++)
		host_connect(&host, qps[i], qps[i ^ 1]->qp_num);
}

/* The message of QP n lies at n, and is to come to its peer's place in the other half. */
static void write_over_all(struct ibv_qp **qps, uint32_t loop)
{
	for (uint32_t i = 0; i < size.qps; i++) {
		uint64_t word = word_of(i, loop);

		memcpy(place(i), &word, LENGTH);
	}
	memset(place(size.qps), 0, (uint64_t)LENGTH * size.qps);
	for (uint32_t i = 0; i < size.qps; i++)
		CU_ASSERT_EQUAL_FATAL(
			host_write(&host, qps[i], (uint64_t)LENGTH * i,
				LENGTH * ((uint64_t)size.qps + (i ^ 1)), LENGTH, host.mr->rkey),
			0);
	for (uint32_t i = 0; i < size.qps; i++)
		CU_ASSERT_EQUAL_FATAL(host_complete(&host).status, IBV_WC_SUCCESS);
}

static void check_data(uint32_t loop)
{
	for (uint32_t i = 0; i < size.qps; i++) {
		uint64_t word = word_of(i ^ 1, loop);

		CU_ASSERT_EQUAL_FATAL(memcmp(place((uint64_t)size.qps + i), &word, LENGTH), 0);
	}
}

static void destroy_qps(struct ibv_qp **qps)
{
	for (uint32_t i = 0; i < size.qps; i++)
		CU_ASSERT_EQUAL_FATAL(ibv_destroy_qp(qps[i]), 0);
}

static void loop_of_qps(struct ibv_qp **qps, uint32_t loop)
{
	double start = host_cpu(), made, written;
	struct use before, after;
	uint64_t memory;

	host_use(&host, &before);
	make_qps(qps);
	made = host_cpu();
	host_use(&host, &after);
	CU_ASSERT_EQUAL(after.qps, before.qps + size.qps);
	memory = use_per_qp(&before, &after, size.qps, qps[0]);
	CU_ASSERT(memory <= QP_MEMORY_MAX + QP_QUEUES);
	write_over_all(qps, loop);
	written = host_cpu();
	check_data(loop);
	destroy_qps(qps);
	printf("a QP: %.2f us to set up, %.2f a WRITE, %.2f to destroy; %lu bytes, region %lu\n",
		(made - start) / size.qps * 1e6, (written - made) / size.qps * 1e6,
		(host_cpu() - written) / size.qps * 1e6, (unsigned long)memory,
		(unsigned long)((after.region - before.region) / size.qps));
}

/* The first loop leaves tables behind that have grown for good. */
static void qps_on(uint32_t cores)
{
	struct ibv_qp **qps = calloc(size.qps, sizeof(struct ibv_qp *));
	struct use first, now;

	CU_ASSERT_PTR_NOT_NULL_FATAL(qps);
	host_open(&host, cores, 2ull * LENGTH * size.qps, size.qps);
	for (uint32_t loop = 0; loop < size.loops; loop++) {
		loop_of_qps(qps, loop);
		host_use(&host, &now);
		if (loop == 0)
			first = now;
		use_not_grown(&first, &now);
	}
	/* nothing is lost within a host, however much is posted at once */
	CU_ASSERT_EQUAL(host_counter(&host, "handover_full"), 0);
	host_close(&host);
	free(qps);
}

static void qps_on_one_core(void)
{
	qps_on(1);
}

static void qps_on_four_cores(void)
{
	qps_on(4);
}

/* ---- memory regions: the n-th is the n-th word of the memory ---- */

static void reg_all(struct ibv_mr **mrs)
{
	for (uint32_t i = 0; i < size.mrs; i++) {
		mrs[i] = ibv_reg_mr(host.pd, place(i), LENGTH,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
		CU_ASSERT_PTR_NOT_NULL_FATAL(mrs[i]);
	}
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void all_differ(struct ibv_mr **mrs)
{
	uint32_t *keys = calloc(size.mrs, sizeof(*keys));

	CU_ASSERT_PTR_NOT_NULL_FATAL(keys);
	for (uint32_t i = 0; i < size.mrs; i++)
		keys[i] = mrs[i]->rkey;
	qsort(keys, size.mrs, sizeof(*keys), by_value);
	for (uint32_t i = 0; i + 1 < size.mrs; i++)
		CU_ASSERT_NOT_EQUAL_FATAL(keys[i], keys[i + 1]);
	free(keys);
}

/* Which ones are written to: the first, the last, and one in the middle. */
#define TRIED 3u

static uint32_t tried(uint32_t n)
{
	return n == 0 ? 0 : n == 1 ? size.mrs / 2 : size.mrs - 1;
}

/* A connection for each try, since a refusal breaks it. The source is the word behind all regions.
 */
static void write_to(uint32_t n, uint32_t rkey, enum ibv_wc_status status)
{
	struct ibv_qp *qps[2] = {host_create_qp(&host), host_create_qp(&host)};
	uint64_t word = word_of(n, rkey), zero = 0;

	for (uint32_t i = 0; i < 2; i++)
		host_connect(&host, qps[i], qps[i ^ 1]->qp_num);
	memcpy(place(size.mrs), &word, LENGTH);
	memset(place(n), 0, LENGTH);
	CU_ASSERT_EQUAL_FATAL(host_write(&host, qps[0], (uint64_t)LENGTH * size.mrs,
				      (uint64_t)LENGTH * n, LENGTH, rkey),
		0);
	CU_ASSERT_EQUAL(host_complete(&host).status, status);
	CU_ASSERT_EQUAL(memcmp(place(n), status == IBV_WC_SUCCESS ? &word : &zero, LENGTH), 0);
	for (uint32_t i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(ibv_destroy_qp(qps[i]), 0);
}

/* From the front, from the back, or from the middle outwards. */
static uint32_t nth_to_go(uint32_t n, uint32_t loop)
{
	if (loop % 3 == 0)
		return n;
	if (loop % 3 == 1)
		return size.mrs - 1 - n;
	return n % 2 ? size.mrs / 2 - 1 - n / 2 : size.mrs / 2 + n / 2;
}

static void dereg_all(struct ibv_mr **mrs, uint32_t loop)
{
	for (uint32_t i = 0; i < size.mrs; i++)
		CU_ASSERT_EQUAL_FATAL(ibv_dereg_mr(mrs[nth_to_go(i, loop)]), 0);
}

static void loop_of_mrs(struct ibv_mr **mrs, uint32_t loop)
{
	double start = host_cpu(), made, used;
	struct use before, after;
	uint32_t keys[TRIED];

	host_use(&host, &before);
	reg_all(mrs);
	made = host_cpu();
	host_use(&host, &after);
	CU_ASSERT_EQUAL(after.keys, before.keys + size.mrs);
	all_differ(mrs);
	for (uint32_t i = 0; i < TRIED; i++) {
		keys[i] = mrs[tried(i)]->rkey;
		write_to(tried(i), keys[i], IBV_WC_SUCCESS);
	}
	used = host_cpu();
	dereg_all(mrs, loop);
	printf("an MR: %.2f us to register, %.2f to drop; %lu bytes\n",
		(made - start) / size.mrs * 1e6, (host_cpu() - used) / size.mrs * 1e6,
		(unsigned long)((after.heap - before.heap) / size.mrs));
	for (uint32_t i = 0; i < TRIED; i++)
		write_to(tried(i), keys[i], IBV_WC_REM_ACCESS_ERR);
}

static void mrs_on(uint32_t cores)
{
	struct ibv_mr **mrs = calloc(size.mrs, sizeof(struct ibv_mr *));
	struct use first, now;

	CU_ASSERT_PTR_NOT_NULL_FATAL(mrs);
	host_open(&host, cores, (uint64_t)LENGTH * (size.mrs + 1), 16);
	for (uint32_t loop = 0; loop < size.loops; loop++) {
		loop_of_mrs(mrs, loop);
		host_use(&host, &now);
		if (loop == 0)
			first = now;
		use_not_grown(&first, &now);
	}
	host_close(&host);
	free(mrs);
}

static void mrs_on_one_core(void)
{
	mrs_on(1);
}

static const struct unit_case cases[] = {
	UNIT_CASE(qps_on_one_core),
	UNIT_CASE(qps_on_four_cores),
	UNIT_CASE(mrs_on_one_core),
};

static uint32_t number(int argc, char **argv, int n, uint32_t usual)
{
	return argc > n ? (uint32_t)strtoul(argv[n], NULL, 0) : usual;
}

int main(int argc, char **argv)
{
	size.qps = number(argc, argv, 1, size.qps) & ~1u;
	size.mrs = number(argc, argv, 2, size.mrs);
	size.loops = number(argc, argv, 3, size.loops);
	if (size.qps < 2 || size.mrs < TRIED || size.loops < 1) {
		fprintf(stderr, "usage: %s [QPS [MRS [LOOPS]]]\n", argv[0]);
		return 2;
	}
	return unit_run("scale", cases, sizeof(cases) / sizeof(cases[0]), 1, argv);
}
