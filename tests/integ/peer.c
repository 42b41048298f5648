/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peer ARGUMENT...: an engine of the arguments and one RC connection, for share_test.py, which runs
 * one on each side. It answers commands, one a line, on its standard input, and drives its engine
 * meanwhile:
 *
 *   gids                              the GID table, "-" for an empty entry
 *   open INDEX                        a QP at that GID: `qp QPN PSN RKEY ADDRESS GID`
 *   connect QPN PSN RKEY ADDRESS GID  to the other side's: `connected`, or the error
 *   traffic N                         N times: WRITE, READ back, compare: `done`, or what went
 * wrong event                             the next asynchronous event, or `none` quit
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <uroce/engine.h>
#include <uroce/uroce.h>

#define MESSAGE 20000u
#define MEMORY (3 * MESSAGE) /* what is written, what is read back, what the other side writes */
#define LINE 256

struct peer {
	struct uroce_engine *engine;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	uint8_t *memory;
	int index; /* of our GID */
	uint32_t psn;
	uint32_t rkey; /* the other side's */
	uint64_t address;
};

static void *need(void *pointer, const char *what)
{
	if (!pointer) {
		printf("no %s: %s\n", what, strerrorname_np(errno));
		exit(1);
	}
	return pointer;
}

static bool start(struct peer *peer, int argc, char **argv)
{
	peer->engine = uroce_engine_create(argc, argv);
	if (!peer->engine) {
		printf("%s\n", strerrorname_np(errno));
		return false;
	}
	peer->context = need(ibv_open_device(uroce_engine_device(peer->engine)), "context");
	peer->pd = need(ibv_alloc_pd(peer->context), "PD");
	peer->cq = need(ibv_create_cq(peer->context, 16, NULL, NULL, 0), "CQ");
	peer->memory = need(calloc(1, MEMORY), "memory");
	peer->mr = need(
		ibv_reg_mr(peer->pd, peer->memory, MEMORY,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ),
		"MR");
	fcntl(peer->context->async_fd, F_SETFL, O_NONBLOCK);
	printf("started %s\n", ibv_get_device_name(peer->context->device));
	return true;
}

/* ---- commands ---- */

static bool is_zero(const union ibv_gid *gid)
{
	static const union ibv_gid zero;

	return memcmp(gid, &zero, sizeof(zero)) == 0;
}

static void print_gids(struct peer *peer)
{
	char text[INET6_ADDRSTRLEN];
	union ibv_gid gid[16];
	int count = 0;

	for (int i = 0; i < 16; i++)
		if (ibv_query_gid(peer->context, 1, i, &gid[i]) == 0 && !is_zero(&gid[i]))
			count = i + 1;
	printf("gids");
	for (int i = 0; i < count; i++)
		printf(" %s",
			is_zero(&gid[i]) ? "-" : inet_ntop(AF_INET6, &gid[i], text, sizeof(text)));
	printf("\n");
}

static void open_qp(struct peer *peer)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = peer->cq,
		.recv_cq = peer->cq,
		.cap = {.max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};
	char text[INET6_ADDRSTRLEN];
	union ibv_gid gid;

	if (peer->qp)
		ibv_destroy_qp(peer->qp);
	peer->qp = need(ibv_create_qp(peer->pd, &init), "QP");
	if (ibv_modify_qp(peer->qp, &attr,
		    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ||
		ibv_query_gid(peer->context, 1, peer->index, &gid)) {
		printf("no QP\n");
		return;
	}
	peer->psn = peer->qp->qp_num & 0xffffff;
	printf("qp %u %u %u %" PRIu64 " %s\n", peer->qp->qp_num, peer->psn, peer->mr->rkey,
		(uint64_t)(uintptr_t)peer->memory, inet_ntop(AF_INET6, &gid, text, sizeof(text)));
}

/* Ack time-out 4.096 us x 2^16 = 0.27 s, 7 retries: longer than the MAC of a peer is wrong. */
static int to_rts(struct peer *peer, uint32_t qpn, uint32_t psn, const union ibv_gid *gid)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qpn,
		.rq_psn = psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 5,
		.ah_attr = {.is_global = 1,
			.port_num = 1,
			.grh = {.dgid = *gid, .hop_limit = 64, .sgid_index = (uint8_t)peer->index}},
	};
	int error = ibv_modify_qp(peer->qp, &attr,
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);

	if (error)
		return error;
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
		.sq_psn = peer->psn,
		.timeout = 16,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1};
	return ibv_modify_qp(peer->qp, &attr,
		IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

/* The next number of a line's words, as the other side printed it. */
static uint64_t number(char **words)
{
	const char *word = strsep(words, " \n");

	return word ? strtoull(word, NULL, 10) : 0;
}

static void connect_qp(struct peer *peer, char *words)
{
	uint32_t qpn = (uint32_t)number(&words), psn = (uint32_t)number(&words);
	const char *text;
	union ibv_gid gid;
	int error;

	peer->rkey = (uint32_t)number(&words);
	peer->address = number(&words);
	text = strsep(&words, " \n");
	if (!text || inet_pton(AF_INET6, text, &gid) != 1) {
		printf("what?\n");
		return;
	}
	error = to_rts(peer, qpn, psn, &gid);
	printf("%s\n", error ? strerrorname_np(error) : "connected");
}

/* One request, from post to completion; its status. */
static enum ibv_wc_status move_over(struct peer *peer, enum ibv_wr_opcode opcode, uint64_t offset)
{
	struct ibv_sge sge = {(uintptr_t)peer->memory + offset, MESSAGE, peer->mr->lkey};
	struct ibv_send_wr wr = {
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = {.remote_addr = peer->address + 2 * MESSAGE, .rkey = peer->rkey},
	};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	if (ibv_post_send(peer->qp, &wr, &bad))
		return IBV_WC_GENERAL_ERR;
	while (ibv_poll_cq(peer->cq, 1, &wc) == 0)
		;
	return wc.status;
}

static void traffic(struct peer *peer, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		enum ibv_wc_status status;

		memset(peer->memory, (int)(i * 7 + 1), MESSAGE);
		peer->memory[i % MESSAGE] ^= 0x55;
		memset(peer->memory + MESSAGE, 0, MESSAGE);
		status = move_over(peer, IBV_WR_RDMA_WRITE, 0);
		if (!status)
			status = move_over(peer, IBV_WR_RDMA_READ, MESSAGE);
		if (status) {
			printf("%s\n", ibv_wc_status_str(status));
			return;
		}
		if (memcmp(peer->memory, peer->memory + MESSAGE, MESSAGE) != 0) {
			printf("other bytes came back\n");
			return;
		}
	}
	printf("done\n");
}

static void print_event(struct peer *peer)
{
	struct ibv_async_event event;

	if (ibv_get_async_event(peer->context, &event)) {
		printf("none\n");
		return;
	}
	printf("event %s\n", ibv_event_type_str(event.event_type));
	ibv_ack_async_event(&event);
}

#define COUNTERS 256u

static void print_counter(struct peer *peer, const char *name)
{
	unsigned int count = uroce_counter_count();
	uint64_t values[COUNTERS];

	if (count > COUNTERS || uroce_query_counters(peer->context, values, count))
		count = 0;
	for (unsigned int i = 0; i < count; i++)
		if (name && strcmp(uroce_counter_name(i), name) == 0) {
			printf("%" PRIu64 "\n", values[i]);
			return;
		}
	printf("no such counter\n");
}

/* False: the end. */
static bool obey(struct peer *peer)
{
	char line[LINE], *words = line;
	const char *command;

	if (!fgets(line, sizeof(line), stdin))
		return false;
	command = strsep(&words, " \n");
	if (strcmp(command, "quit") == 0)
		return false;
	if (strcmp(command, "gids") == 0) {
		print_gids(peer);
	} else if (strcmp(command, "open") == 0) {
		peer->index = (int)number(&words);
		open_qp(peer);
	} else if (strcmp(command, "connect") == 0) {
		connect_qp(peer, words);
	} else if (strcmp(command, "traffic") == 0) {
		traffic(peer, (unsigned int)number(&words));
	} else if (strcmp(command, "counter") == 0) {
		print_counter(peer, strsep(&words, "\n"));
	} else if (strcmp(command, "event") == 0) {
		print_event(peer);
	} else {
		printf("what?\n");
	}
	return true;
}

static int stop(struct peer *peer)
{
	int error = 0;

	if (peer->qp)
		error |= ibv_destroy_qp(peer->qp);
	error |= ibv_dereg_mr(peer->mr);
	error |= ibv_destroy_cq(peer->cq);
	error |= ibv_dealloc_pd(peer->pd);
	error |= ibv_close_device(peer->context);
	error |= uroce_engine_destroy(peer->engine);
	free(peer->memory);
	return error != 0;
}

int main(int argc, char **argv)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	struct peer peer = {0};
	struct ibv_wc wc;

	setvbuf(stdin, NULL, _IONBF, 0); /* poll() must see every line that is there */
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!start(&peer, argc, argv))
		return 1;
	do {
		while (poll(&input, 1, 0) == 0) {
			ibv_poll_cq(peer.cq, 1, &wc);
			usleep(50);
		}
	} while (obey(&peer));
	return stop(&peer);
}
