/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bench: what an application gets from uroce, and what the machine would give at most.
 *
 * Each run of the program measures one case. A case has two sides, the active one, which starts
 * things, and the passive one. Over net_ring they are two threads of one process, over the other
 * ports two processes; each is tied to a CPU of its own, and nothing else of ours runs. They share
 * a few words of memory, and meet there between the steps.
 *
 * What is measured lies in files by role: bench_stream.c and bench_latency.c are uroce through the
 * public API; floor_port.c and floor_skeleton.c are the bars it is held against; peer_tcp.c is the
 * kernel's TCP. bench.py runs them side by side.
 */
#ifndef UROCE_TESTS_PERF_BENCH_H
#define UROCE_TESTS_PERF_BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <infiniband/verbs.h>
#include <uroce/engine.h>

#define LINE 64
#define BURST 32u	       /* packets or requests at a time, everywhere */
#define WINDOW 256u	       /* packets, or 8-byte requests, in flight at most */
#define BUFFER_SIZE (1u << 20) /* what data is read from, and as much to write it to */
#define QPS_MAX 64u

enum role { ACTIVE, PASSIVE };

enum port_kind {
	PORT_RING = 1,
	PORT_MEMIF = 2,
	PORT_AF_PACKET = 4,
	PORT_AF_XDP = 8,
	PORT_TCP = 16, /* no DPDK: the kernel's stack over a veth pair */
};

/* ---- results ---- */

/* A figure as it is over many short windows of time: other load on the machine hits some of them.
 */
struct result {
	double median;
	double best;
	double p90; /* rates: reached by one window in ten; latencies: the 99th percentile */
	uint32_t samples;
	uint32_t window; /* packets (or 8-byte requests) in flight at most */
	uint32_t batch;	 /* requests a post */
	uint32_t signal_every;
	uint64_t retransmitted;
	bool uroce; /* the last three say something */
};

/* ---- the two sides ---- */

struct endpoint {
	union ibv_gid gid;
	uint64_t address;
	uint32_t rkey;
	uint32_t qp_num[QPS_MAX];
};

/* Seen by both sides. Words of different writers don't share a cache line. */
struct shared {
	struct {
		uint32_t arrived __attribute__((aligned(LINE))); /* how many times at meet() */
		pid_t pid;
		struct endpoint endpoint;
	} of[2];
	uint32_t stop __attribute__((aligned(LINE)));	/* by the side that measures time */
	uint32_t failed __attribute__((aligned(LINE))); /* enum status, or 0 */
	struct result result __attribute__((aligned(LINE)));
};

struct test;

struct side {
	enum role role;
	int cpu;
	const struct test *test;
	enum port_kind port;
	double seconds;
	bool realtime;
	struct shared *shared;
	uint32_t met;
	char device[64]; /* the DPDK port's name */
	/* bench_node.c */
	struct uroce_engine *engine; /* meet() drives it, if it is there */
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *out; /* BUFFER_SIZE bytes that go over, `in` behind them */
	uint8_t *in;
	struct ibv_qp *qps[QPS_MAX];
};

/* What one run measures. */
struct test {
	const char *name;
	const char *what;
	const char *unit;
	void (*run)(struct side *side);
	unsigned int ports;
	uint32_t mtu; /* path MTU */
	uint32_t length;
	enum ibv_wr_opcode opcode;
	uint32_t qps;
	uint32_t depth; /* requests outstanding at most, per QP */
	uint32_t batch; /* requests a post; the last of them is signaled */
};

/* ---- bench_side.c ---- */

enum status {
	STATUS_FAILED = 1,
	STATUS_STARVED = 75, /* other load took the CPUs: too little was measured */
	STATUS_SKIPPED = 77, /* this machine, or this user, cannot run the case */
};

/* Ends the program: the case has failed, or what the status says. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void quit(enum status status, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));
/*
 * Around what is measured: begin() waits for the other side, and with --realtime lets nothing else
 * on this CPU until end() (or for as long as the kernel's throttle of such threads allows).
 */
void begin(struct side *side);
void end(struct side *side);
/* Both sides arrive here before either goes on. Who waits drives its engine. */
void meet(struct side *side);
static inline struct endpoint *peer_of(struct side *side)
{
	return &side->shared->of[!side->role].endpoint;
}
/* The time is over, for the other side too. */
static inline void stop(struct side *side)
{
	__atomic_store_n(&side->shared->stop, 1, __ATOMIC_RELEASE);
}
static inline bool stopped(const struct side *side)
{
	return __atomic_load_n(&side->shared->stop, __ATOMIC_ACQUIRE) != 0;
}
/* Runs `run` for both sides: in two threads (ring), or two processes. Returns an exit status. */
int run_sides(const struct side *common, const int cpus[2], void (*run)(struct side *side));

/* ---- bench_windows.c ---- */

#define WINDOWS_MAX 4096u
#define SAMPLES_MAX 200000u

/* Takes a running total from time to time and keeps its rate for each 10 ms. */
struct windows {
	double rates[WINDOWS_MAX]; /* a second */
	uint32_t count;
	double hz;	/* ticks a second */
	uint64_t width; /* ticks */
	uint64_t start; /* of the window that is open; 0: none yet */
	uint64_t total; /* at its start */
};

struct windows *windows_new(double hz);
/* `total` units are done at `now` (ticks). */
void windows_add(struct windows *windows, uint64_t now, uint64_t total);
/* Into the side's result; `scale` is a unit in the result's unit. Frees it. */
void windows_report(struct windows *windows, struct side *side, double scale);

struct samples {
	uint64_t *ticks;
	uint32_t count;
};

struct samples *samples_new(void);
static inline bool samples_full(const struct samples *samples)
{
	return samples->count == SAMPLES_MAX;
}
static inline void samples_add(struct samples *samples, uint64_t ticks)
{
	samples->ticks[samples->count++] = ticks;
}
/* Round trips, into the side's result as us one way. Frees them. */
void samples_report(struct samples *samples, struct side *side, double hz);

/* ---- bench_ports.c, bench_veth.c ---- */

/* Ring: EAL and both ports, once. Else nothing. */
void ports_prepare(const struct side *common, const int cpus[2]);
/* EAL (unless it runs) and this side's port: side->device. */
void port_open(struct side *side);
/* Bytes of layer 3 that a frame of the test may have. */
uint32_t port_mtu(const struct side *side);
/* What AF_PACKET or AF_XDP want of an mbuf, or what the frame needs: bytes, with the headroom. */
uint32_t port_room(const struct side *side, uint32_t frame);
/* Removes what port_open() has left in the file system. */
void port_remove(struct side *side);

/* This side's end of a veth pair, in a network namespace of its own that ends with the process; its
 * address is 10.99.0.1 or .2. */
#define VETH_NAME "bench"
void veth_open(struct side *side, uint32_t mtu);

/* ---- uroce ---- */

/* bench_node.c */
void node_open(struct side *side);
void node_close(struct side *side);
/* Fails the case if the completion is no success. */
void check_completion(const struct ibv_wc *wc);
/* Polls, and fails the case if that fails. */
int poll_completions(struct side *side, int count, struct ibv_wc *wc);
uint64_t node_counter(struct side *side, const char *name);

/* bench_verify.c: one more message of the test's kind per QP carries a pattern, which is compared
 * where it arrives. */
void verify(struct side *side);

/* bench_chain.c: chains of equal requests, made once. */
struct chain {
	struct ibv_send_wr wr[BURST];
	struct ibv_sge sge;
	struct ibv_qp *qp;
};

void chain_make(struct chain *chain, struct side *side, uint32_t qp, uint32_t count);
void chain_post(struct chain *chain);

struct receives {
	struct ibv_recv_wr wr[BURST];
	struct ibv_sge sge;
	struct ibv_qp *qp;
};

void receives_make(struct receives *receives, struct side *side, uint32_t qp);
/* 1 to BURST of them. */
void receives_post(struct receives *receives, uint32_t count);

/* The measurements. */
void run_stream(struct side *side);  /* bench_stream.c: rate, bandwidth */
void run_latency(struct side *side); /* bench_latency.c */

/* ---- the floors and the peer ---- */

void run_port_rate(struct side *side); /* floor_port.c */
void run_port_latency(struct side *side);
void run_skeleton(struct side *side); /* floor_skeleton.c */

void run_tcp_latency(struct side *side); /* peer_tcp.c */
void run_tcp_rate(struct side *side);
void run_tcp_bandwidth(struct side *side);

#endif
