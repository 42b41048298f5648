/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The demo: two processes, two network namespaces, one connection after the other. What is shown is
 * written with libibverbs' calls alone; the few uroce_ calls look at the gate.
 *
 * The active side connects the TCP socket and sends first; the passive side answers. Both run the
 * same list of shows in step: the socket carries what ibv_rc_pingpong would exchange, and words
 * that keep the two in step.
 */
#ifndef UROCE_DEMO_H
#define UROCE_DEMO_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#define DEMO_FILE_SIZE (64u << 20)
#define DEMO_CHUNK (1u << 20)
#define DEMO_DEPTH 1024u
#define DEMO_HELD 1000u

/* What each side tells the other about a QP. */
struct endpoint {
	uint32_t qp_num;
	uint32_t psn;
	uint32_t rkey;
	uint32_t reserved;
	uint64_t address;
	union ibv_gid gid;
};

struct side {
	bool active;
	int socket;
	const char *folder; /* holds `file`, 64 MiB; gets by-send, by-write, by-read */
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	uint8_t *memory; /* two files' worth */
	struct ibv_cq
		*idle; /* polled to keep the engine running while we wait for the other side */
	uint32_t passed, failed;
};

/* A QP with its CQ, connected to the other side's of the same show. */
struct link {
	struct side *side;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct endpoint own;
	struct endpoint peer;
};

/* How far link_open() brings the QP. */
enum reach {
	REACH_RTS,
	REACH_RTR_ARMED,  /* with the RTS attributes: it holds what is posted */
	REACH_RTR_STRICT, /* strict: a post is an error */
};

/* ---- side.c ---- */
/* Each prints a line `ok ...` or `FAILED ...`, counts it, and returns `good`. */
bool check(struct side *side, bool good, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void say(const struct side *side, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Ends the process: something went wrong that no check stands for. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void side_open(struct side *side);
void side_close(struct side *side);
/* One round of the engine, if this thread has to drive it. */
void side_drive(struct side *side);
double seconds_now(void);

/* ---- socket.c ---- */
int socket_connect(const char *address, const char *port);
int socket_accept(const char *address, const char *port);
void socket_swap(int socket, const void *own, void *peer, uint32_t length);
/* Both sides arrive here before either goes on. */
void meet(struct side *side);

/* ---- link.c ---- */
void link_open(struct link *link, struct side *side, enum reach reach);
void link_close(struct link *link);
int link_to_rts(struct link *link);
enum ibv_qp_state link_state(struct link *link);
/* offset: into the side's memory. */
int post_recv(struct link *link, uint64_t id, uint64_t offset, uint32_t length);
int post_send(struct link *link, enum ibv_wr_opcode opcode, uint64_t id, uint64_t offset,
	uint32_t length, uint64_t remote_offset, bool signaled);
/* Waits for the next completion; false after `seconds`. */
bool next_completion(struct link *link, struct ibv_wc *wc, double seconds);
/* The next completion, which must be a success. */
void must_complete(struct link *link, struct ibv_wc *wc);

/* ---- the shows ---- */
void show_file(struct side *side);    /* file.c: SEND, WRITE, READ */
void show_atomics(struct side *side); /* atomics.c */
void show_answer(struct side *side);  /* early.c: the answer from the handler, in RTR */
void show_thousand(struct side *side);
void show_strict(struct side *side);
void show_speed(struct side *side); /* speed.c */

#endif
