/* SPDX-License-Identifier: BSD-3-Clause */
/* Engine, device, and what it uses. */
#include "host.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <uroce/uroce.h>

#include "state.h"

#define ADDRESS 0x0a000001u
#define PATIENCE 60000000000u /* ns; only ever used up by a failure */
/* malloc() takes what its threads' caches hold for used, and gives a rest that is too small for a
 * block of its own along with another. */
#define HEAP_SLACK (64u << 10)
/* Keys are random, so that the first loop need not have touched all of their table. */
#define RESIDENT_SLACK (2u << 20)

static uint64_t now_ns(void *context)
{
	struct timespec now;

	(void)context;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

double host_cpu(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

static void create_engine(struct host *host, uint32_t cores)
{
	struct loop_config wire = {.clock = now_ns};
	struct loop_end_config end = {.gid_count = 1, .queues = (uint16_t)cores};
	struct engine_config config = {.name = "uroce0", .cores = cores, .clock = now_ns};

	end.gids[0] = loop_gid4(ADDRESS, 24);
	CU_ASSERT_EQUAL_FATAL(loop_create(&wire, &host->wire), 0);
	CU_ASSERT_EQUAL_FATAL(loop_add_end(host->wire, &end, &config.port), 0);
	CU_ASSERT_EQUAL_FATAL(engine_create(&config, &host->engine), 0);
}

void host_open(struct host *host, uint32_t cores, uint64_t memory, uint32_t cqe)
{
	create_engine(host, cores);
	host->context = ibv_open_device(uroce_find_device("uroce0"));
	CU_ASSERT_PTR_NOT_NULL_FATAL(host->context);
	host->pd = ibv_alloc_pd(host->context);
	CU_ASSERT_PTR_NOT_NULL_FATAL(host->pd);
	host->cq = ibv_create_cq(host->context, (int)cqe, NULL, NULL, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(host->cq);
	host->size = memory;
	host->memory = calloc(1, memory);
	CU_ASSERT_PTR_NOT_NULL_FATAL(host->memory);
	host->mr = ibv_reg_mr(
		host->pd, host->memory, memory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	CU_ASSERT_PTR_NOT_NULL_FATAL(host->mr);
	CU_ASSERT_EQUAL_FATAL(ibv_query_gid(host->context, 1, 0, &host->gid), 0);
}

void host_close(struct host *host)
{
	CU_ASSERT_EQUAL(ibv_dereg_mr(host->mr), 0);
	CU_ASSERT_EQUAL(ibv_destroy_cq(host->cq), 0);
	CU_ASSERT_EQUAL(ibv_dealloc_pd(host->pd), 0);
	CU_ASSERT_EQUAL(ibv_close_device(host->context), 0);
	CU_ASSERT_EQUAL(engine_destroy(host->engine), 0);
	CU_ASSERT_EQUAL(loop_buffers_used(host->wire), 0);
	loop_destroy(host->wire);
	free(host->memory);
}

/* ---- what is in use ---- */

static uint64_t resident(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	CU_ASSERT_EQUAL(fscanf(file, "%*u %lu", &pages), 1);
	fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void host_use(const struct host *host, struct use *use)
{
	const struct client *client =
		container_of(list_first(&host->engine->clients), struct client, node);
	struct mallinfo2 heap = mallinfo2();

	*use = (struct use){
		.heap = heap.uordblks + heap.hblkhd,
		.resident = resident(),
		.region = region_used(client->region),
		.keys = mem_count(host->engine->mem),
		.qps = host->engine->qp_count,
	};
	for_each_worker(worker, host->engine) use->timers += worker->core.timers.reserved;
}

/* The front's own part lies in a block that begins with what the program is given. A sanitizer's
 * malloc() counts nothing. */
uint64_t use_per_qp(
	const struct use *before, const struct use *after, uint32_t qps, struct ibv_qp *qp)
{
	return after->heap == before->heap
		? 0
		: (after->heap - before->heap) / qps - malloc_usable_size(qp);
}

void use_not_grown(const struct use *before, const struct use *after)
{
	CU_ASSERT_EQUAL(after->region, before->region);
	CU_ASSERT_EQUAL(after->keys, before->keys);
	CU_ASSERT_EQUAL(after->qps, before->qps);
	CU_ASSERT_EQUAL(after->timers, before->timers);
	CU_ASSERT(after->heap <= before->heap + HEAP_SLACK);
	CU_ASSERT(after->resident <= before->resident + RESIDENT_SLACK);
	if (after->heap > before->heap + HEAP_SLACK ||
		after->resident > before->resident + RESIDENT_SLACK)
		fprintf(stderr, "heap %lu, was %lu; resident %lu, was %lu\n",
			(unsigned long)after->heap, (unsigned long)before->heap,
			(unsigned long)after->resident, (unsigned long)before->resident);
}

uint64_t host_counter(const struct host *host, const char *name)
{
	unsigned int count = uroce_counter_count(), i = 0;
	uint64_t *values = calloc(count, sizeof(*values)), value;

	CU_ASSERT_PTR_NOT_NULL_FATAL(values);
	CU_ASSERT_EQUAL_FATAL(uroce_query_counters(host->context, values, count), 0);
	while (i < count && strcmp(uroce_counter_name(i), name) != 0)
		i++;
	CU_ASSERT_FATAL(i < count);
	value = values[i];
	free(values);
	return value;
}

/* ---- queue pairs ---- */

struct ibv_qp *host_create_qp(struct host *host)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = host->cq,
		.recv_cq = host->cq,
		.cap = {.max_send_wr = 2, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
	};
	struct ibv_qp *qp = ibv_create_qp(host->pd, &init);

	CU_ASSERT_PTR_NOT_NULL_FATAL(qp);
	return qp;
}

static void to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE};

	CU_ASSERT_EQUAL_FATAL(
		ibv_modify_qp(qp, &attr,
			IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		0);
}

static void to_rtr(const struct host *host, struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer,
		.rq_psn = 0xfffff0,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 5,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 64}},
	};

	attr.ah_attr.grh.dgid = host->gid;
	CU_ASSERT_EQUAL_FATAL(
		ibv_modify_qp(qp, &attr,
			IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
		0);
}

/* Ack time-out 4.096 us x 2^18 = 1.07 s, 7 retries: a busy machine must not break a connection. */
static void to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = 0xfffff0,
		.timeout = 18,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};

	CU_ASSERT_EQUAL_FATAL(
		ibv_modify_qp(qp, &attr,
			IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC),
		0);
}

void host_connect(struct host *host, struct ibv_qp *qp, uint32_t peer)
{
	to_init(qp);
	to_rtr(host, qp, peer);
	to_rts(qp);
}

int host_write(const struct host *host, struct ibv_qp *qp, uint64_t from, uint64_t to,
	uint32_t length, uint32_t rkey)
{
	struct ibv_sge sge = {(uintptr_t)host->memory + from, length, host->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = from,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = (uintptr_t)host->memory + to, .rkey = rkey}};
	struct ibv_send_wr *bad;

	return ibv_post_send(qp, &wr, &bad);
}

struct ibv_wc host_complete(struct host *host)
{
	uint64_t end = now_ns(NULL) + PATIENCE;
	struct ibv_wc wc = {0};
	int polled = 0;

	while ((polled = ibv_poll_cq(host->cq, 1, &wc)) == 0 && now_ns(NULL) < end)
		continue;
	CU_ASSERT_EQUAL_FATAL(polled, 1);
	return wc;
}
