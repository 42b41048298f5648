/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * silent ARGUMENT...: an engine of the arguments and one RC connection, for silent_test.py, which
 * runs one on each side. It answers commands, one a line, on its standard input. Between them, and
 * in `idle`, it does nothing at all: whoever drives its engine then, it is not this program.
 *
 *   open                              a QP: `qp QPN PSN RKEY ADDRESS GID`
 *   connect QPN PSN RKEY ADDRESS GID  to the other side's: `connected`, or the error
 *   idle MS                           sleeps: `cpu PERCENT wakes COUNT last NUMBER`: of a CPU that
 *                                     the process has used meanwhile; how often one of its threads
 *                                     has slept; what the last WRITE has left here
 *   write COUNT US MS                 numbers from 1, 8 bytes each, every so many us, for which it
 *                                     waits so many ms at most: `wrote COUNT median US p99 US`
 *   poll MS                           drives the engine: `polled`
 *   quit
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <infiniband/verbs.h>
#include <uroce/engine.h>

#define LINE 256
#define WRITES_MAX 10000u
#define SECOND 1000000000ull

struct side {
	struct uroce_engine *engine;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	uint64_t words[2]; /* what we write, what the other side writes */
	uint32_t rkey;	   /* the other side's */
	uint64_t address;
	uint64_t took[WRITES_MAX];
};

static uint64_t now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * SECOND + (uint64_t)at.tv_nsec;
}

static void sleep_until(uint64_t time)
{
	struct timespec at = {(time_t)(time / SECOND), (long)(time % SECOND)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

/* ---- the connection ---- */

static void *need(void *pointer, const char *what)
{
	if (!pointer) {
		printf("no %s: %s\n", what, strerrorname_np(errno));
		exit(1);
	}
	return pointer;
}

static bool start(struct side *side, int argc, char **argv)
{
	side->engine = uroce_engine_create(argc, argv);
	if (!side->engine) {
		printf("%s\n", strerrorname_np(errno));
		return false;
	}
	side->context = need(ibv_open_device(uroce_engine_device(side->engine)), "context");
	side->pd = need(ibv_alloc_pd(side->context), "PD");
	side->cq = need(ibv_create_cq(side->context, 16, NULL, NULL, 0), "CQ");
	side->mr = need(ibv_reg_mr(side->pd, side->words, sizeof(side->words),
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
		"MR");
	printf("started\n");
	return true;
}

static void open_qp(struct side *side)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = side->cq,
		.recv_cq = side->cq,
		.cap = {.max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	char text[INET6_ADDRSTRLEN];
	union ibv_gid gid;

	side->qp = need(ibv_create_qp(side->pd, &init), "QP");
	if (ibv_modify_qp(side->qp, &attr,
		    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ||
		ibv_query_gid(side->context, 1, 0, &gid)) {
		printf("no QP\n");
		return;
	}
	printf("qp %u %u %u %" PRIu64 " %s\n", side->qp->qp_num, side->qp->qp_num & 0xffffff,
		side->mr->rkey, (uint64_t)(uintptr_t)&side->words[1],
		inet_ntop(AF_INET6, &gid, text, sizeof(text)));
}

/* Ack time-out 4.096 us x 2^17 = 0.54 s: no retry hides that nobody has answered in time. */
static int to_rts(struct side *side, uint32_t qpn, uint32_t psn, const union ibv_gid *gid)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qpn,
		.rq_psn = psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 5,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = *gid, .hop_limit = 64}},
	};
	int error = ibv_modify_qp(side->qp, &attr,
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);

	if (error)
		return error;
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
		.sq_psn = side->qp->qp_num & 0xffffff,
		.timeout = 17,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1};
	return ibv_modify_qp(side->qp, &attr,
		IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

static void connect_qp(struct side *side, const char *line)
{
	char text[INET6_ADDRSTRLEN] = "";
	union ibv_gid gid;
	uint32_t qpn, psn;
	int error;

	if (sscanf(line, "connect %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu64 " %45s", &qpn, &psn,
		    &side->rkey, &side->address, text) != 5 ||
		inet_pton(AF_INET6, text, &gid) != 1) {
		printf("what?\n");
		return;
	}
	error = to_rts(side, qpn, psn, &gid);
	printf("%s\n", error ? strerrorname_np(error) : "connected");
}

/* ---- silence ---- */

static uint64_t ns_of(struct timeval time)
{
	return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_usec * 1000;
}

/* Of all threads, EAL's too. */
static void be_idle(struct side *side, unsigned int ms)
{
	struct rusage before, after;
	uint64_t begin = now(), used;

	getrusage(RUSAGE_SELF, &before);
	sleep_until(begin + ms * 1000000ull);
	getrusage(RUSAGE_SELF, &after);
	used = ns_of(after.ru_utime) + ns_of(after.ru_stime) - ns_of(before.ru_utime) -
		ns_of(before.ru_stime);
	printf("cpu %.2f wakes %ld last %" PRIu64 "\n",
		100.0 * (double)used / (double)(now() - begin), after.ru_nvcsw - before.ru_nvcsw,
		__atomic_load_n(&side->words[1], __ATOMIC_RELAXED));
}

/* ---- writing ---- */

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* From post to completion, in ns; 0: there was none in time. */
static uint64_t write_word(struct side *side, uint64_t limit)
{
	struct ibv_sge sge = {(uintptr_t)&side->words[0], sizeof(uint64_t), side->mr->lkey};
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = {.remote_addr = side->address, .rkey = side->rkey},
	};
	uint64_t begin = now();
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	if (ibv_post_send(side->qp, &wr, &bad))
		return 0;
	while (ibv_poll_cq(side->cq, 1, &wc) == 0)
		if (now() - begin > limit)
			return 0;
	return wc.status == IBV_WC_SUCCESS ? now() - begin : 0;
}

static void write_words(struct side *side, unsigned int count, unsigned int us, unsigned int ms)
{
	uint64_t begin = now();
	unsigned int done = 0;

	while (done < count && done < WRITES_MAX) {
		sleep_until(begin + done * us * 1000ull);
		side->words[0] = done + 1;
		side->took[done] = write_word(side, ms * 1000000ull);
		if (side->took[done] == 0)
			break;
		done++;
	}
	qsort(side->took, done, sizeof(side->took[0]), compare);
	printf("wrote %u median %.1f p99 %.1f\n", done,
		done ? (double)side->took[done / 2] / 1e3 : 0,
		done ? (double)side->took[done * 99 / 100] / 1e3 : 0);
}

/* ---- commands ---- */

static void drive(struct side *side, unsigned int ms)
{
	uint64_t end = now() + ms * 1000000ull;

	while (now() < end)
		uroce_engine_poll(side->engine);
	printf("polled\n");
}

/* False: the end. */
static bool obey(struct side *side)
{
	unsigned int count, us, ms;
	char line[LINE];

	if (!fgets(line, sizeof(line), stdin) || strcmp(line, "quit\n") == 0)
		return false;
	if (strcmp(line, "open\n") == 0)
		open_qp(side);
	else if (strncmp(line, "connect ", 8) == 0)
		connect_qp(side, line);
	else if (sscanf(line, "idle %u", &ms) == 1)
		be_idle(side, ms);
	else if (sscanf(line, "write %u %u %u", &count, &us, &ms) == 3)
		write_words(side, count, us, ms);
	else if (sscanf(line, "poll %u", &ms) == 1)
		drive(side, ms);
	else
		printf("what?\n");
	return true;
}

static int stop(struct side *side)
{
	int error = 0;

	if (side->qp)
		error |= ibv_destroy_qp(side->qp);
	error |= ibv_dereg_mr(side->mr);
	error |= ibv_destroy_cq(side->cq);
	error |= ibv_dealloc_pd(side->pd);
	error |= ibv_close_device(side->context);
	error |= uroce_engine_destroy(side->engine);
	return error != 0;
}

int main(int argc, char **argv)
{
	struct side *side = calloc(1, sizeof(*side));
	int status;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!side || !start(side, argc, argv))
		return 1;
	while (obey(side))
		;
	status = stop(side);
	free(side);
	return status;
}
