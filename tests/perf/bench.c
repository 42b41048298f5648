/* SPDX-License-Identifier: BSD-3-Clause */
/* The bench program: one case a run. See bench.h. */
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"

#define PATIENCE 30u /* seconds beyond the measurement, then the run has failed */
#define ANY_DPDK (PORT_RING | PORT_MEMIF | PORT_AF_PACKET | PORT_AF_XDP)
#define NO_XDP (PORT_RING | PORT_MEMIF | PORT_AF_PACKET) /* an mbuf must fit a page there */
#define MIB (1u << 20)

#define SMALL(opcode_, qps_, depth_, batch_)                                                       \
	.mtu = 1024, .length = 8, .opcode = (opcode_), .qps = (qps_), .depth = (depth_),           \
	.batch = (batch_)
#define LARGE(opcode_, mtu_, depth_)                                                               \
	.mtu = (mtu_), .length = MIB, .opcode = (opcode_), .qps = 1, .depth = (depth_), .batch = 1

static const struct test tests[] = {
	{"write_8B_rate", "8-byte WRITEs, one QP", "Mmsg/s", run_stream, ANY_DPDK,
		SMALL(IBV_WR_RDMA_WRITE, 1, WINDOW, BURST)},
	{"send_8B_rate", "8-byte SENDs, one QP", "Mmsg/s", run_stream, ANY_DPDK,
		SMALL(IBV_WR_SEND, 1, WINDOW, BURST)},
	{"write_8B_rate_qp64", "8-byte WRITEs over 64 QPs", "Mmsg/s", run_stream, ANY_DPDK,
		SMALL(IBV_WR_RDMA_WRITE, 64, 16, 8)},
	{"write_8B_lat", "8-byte WRITE, one way, polled in memory", "us", run_latency, ANY_DPDK,
		SMALL(IBV_WR_RDMA_WRITE, 1, 64, 1)},
	{"send_8B_lat", "8-byte SEND, one way", "us", run_latency, ANY_DPDK,
		SMALL(IBV_WR_SEND, 1, 64, 1)},
	{"write_1MiB_bw_mtu1024", "1 MiB WRITEs", "Gbit/s", run_stream, ANY_DPDK,
		LARGE(IBV_WR_RDMA_WRITE, 1024, 8)},
	{"read_1MiB_bw_mtu1024", "1 MiB READs", "Gbit/s", run_stream, ANY_DPDK,
		LARGE(IBV_WR_RDMA_READ, 1024, 2)},
	{"send_1MiB_bw_mtu1024", "1 MiB SENDs", "Gbit/s", run_stream, ANY_DPDK,
		LARGE(IBV_WR_SEND, 1024, 8)},
	{"write_1MiB_bw_mtu2048", "1 MiB WRITEs", "Gbit/s", run_stream, ANY_DPDK,
		LARGE(IBV_WR_RDMA_WRITE, 2048, 8)},
	{"read_1MiB_bw_mtu2048", "1 MiB READs", "Gbit/s", run_stream, ANY_DPDK,
		LARGE(IBV_WR_RDMA_READ, 2048, 2)},
	{"send_1MiB_bw_mtu2048", "1 MiB SENDs", "Gbit/s", run_stream, ANY_DPDK,
		LARGE(IBV_WR_SEND, 2048, 8)},
	{"write_1MiB_bw_mtu4096", "1 MiB WRITEs", "Gbit/s", run_stream, NO_XDP,
		LARGE(IBV_WR_RDMA_WRITE, 4096, 8)},
	{"read_1MiB_bw_mtu4096", "1 MiB READs", "Gbit/s", run_stream, NO_XDP,
		LARGE(IBV_WR_RDMA_READ, 4096, 2)},
	{"send_1MiB_bw_mtu4096", "1 MiB SENDs", "Gbit/s", run_stream, NO_XDP,
		LARGE(IBV_WR_SEND, 4096, 8)},

	{"port_64B_rate", "floor: the raw port, 64-byte frames", "Mmsg/s", run_port_rate, ANY_DPDK,
		.mtu = 1024},
	{"port_64B_lat", "floor: the raw port, one way", "us", run_port_latency, ANY_DPDK,
		.mtu = 1024},
	{"port_bw_mtu1024", "floor: the raw port, frames of 1082 bytes", "Gbit/s", run_port_rate,
		ANY_DPDK, .mtu = 1024, .length = 1024},
	{"port_bw_mtu2048", "floor: the raw port, frames of 2106 bytes", "Gbit/s", run_port_rate,
		ANY_DPDK, .mtu = 2048, .length = 2048},
	{"port_bw_mtu4096", "floor: the raw port, frames of 4154 bytes", "Gbit/s", run_port_rate,
		NO_XDP, .mtu = 4096, .length = 4096},
	{"skeleton_8B", "floor: copy and ICRC, 8 bytes a packet", "Mmsg/s", run_skeleton, PORT_RING,
		.mtu = 1024, .length = 8},
	{"skeleton_mtu1024", "floor: copy and ICRC, 1024 bytes a packet", "Gbit/s", run_skeleton,
		PORT_RING, .mtu = 1024, .length = 1024},
	{"skeleton_mtu2048", "floor: copy and ICRC, 2048 bytes a packet", "Gbit/s", run_skeleton,
		PORT_RING, .mtu = 2048, .length = 2048},
	{"skeleton_mtu4096", "floor: copy and ICRC, 4096 bytes a packet", "Gbit/s", run_skeleton,
		PORT_RING, .mtu = 4096, .length = 4096},

	{"tcp_8B_rate", "peer: writev of 32 messages", "Mmsg/s", run_tcp_rate, PORT_TCP,
		.length = 8},
	{"tcp_8B_lat", "peer: ping-pong of two that never sleep, one way", "us", run_tcp_latency,
		PORT_TCP, .length = 8},
	{"tcp_1MiB_bw", "peer: iperf3", "Gbit/s", run_tcp_bandwidth, PORT_TCP, .length = MIB},
};

#define TESTS (sizeof(tests) / sizeof(tests[0]))

static const struct {
	const char *name;
	enum port_kind kind;
} ports[] = {
	{"ring", PORT_RING},
	{"memif", PORT_MEMIF},
	{"af_packet", PORT_AF_PACKET},
	{"af_xdp", PORT_AF_XDP},
	{"tcp", PORT_TCP},
};

#define PORTS (sizeof(ports) / sizeof(ports[0]))

struct options {
	const struct test *test;
	const char *port;
	enum port_kind kind;
	double seconds;
	int cpus[2];
	bool realtime;
	bool json;
};

/* ---- the command line ---- */

static int usage(void)
{
	printf("usage: bench --case NAME [--port PORT] [--seconds S] [--cpus A,B] [--realtime] "
	       "[--json]\n"
	       "       bench --list | --help\n"
	       "\n"
	       "Measures one case with its two sides on CPUs A and B (0,1), for S seconds (0.5).\n"
	       "ring runs both sides in one process; the other ports run two, af_packet, af_xdp "
	       "and\n"
	       "tcp in network namespaces of their own (as root). A rate is the median of its 10 "
	       "ms\n"
	       "windows, a latency that of all round trips, halved. --realtime (as root) keeps "
	       "other\n"
	       "work off the two CPUs meanwhile. --list prints NAME UNIT PORTS.\n"
	       "\n"
	       "Ports:");
	for (size_t i = 0; i < PORTS; i++)
		printf(" %s", ports[i].name);
	printf("\nCases:\n");
	for (size_t i = 0; i < TESTS; i++)
		printf("  %-22s %s (%s)\n", tests[i].name, tests[i].what, tests[i].unit);
	return 0;
}

static int list(void)
{
	for (size_t i = 0; i < TESTS; i++) {
		printf("%s %s ", tests[i].name, tests[i].unit);
		for (size_t j = 0, n = 0; j < PORTS; j++)
			if (tests[i].ports & ports[j].kind)
				printf("%s%s", n++ ? "," : "", ports[j].name);
		putchar('\n');
	}
	return 0;
}

static bool take_case(struct options *options, const char *name)
{
	for (size_t i = 0; i < TESTS; i++)
		if (strcmp(tests[i].name, name) == 0)
			options->test = &tests[i];
	return options->test != NULL;
}

static bool take_port(struct options *options, const char *name)
{
	for (size_t i = 0; i < PORTS; i++)
		if (strcmp(ports[i].name, name) == 0) {
			options->port = ports[i].name;
			options->kind = ports[i].kind;
			return true;
		}
	return false;
}

static bool take_option(struct options *options, int choice)
{
	char end;

	switch (choice) {
	case 'c':
		return take_case(options, optarg);
	case 'p':
		return take_port(options, optarg);
	case 's':
		options->seconds = strtod(optarg, NULL);
		return options->seconds >= 0.1 && options->seconds <= 60;
	case 'u':
		return sscanf(optarg, "%d,%d%c", &options->cpus[0], &options->cpus[1], &end) == 2 &&
			options->cpus[0] >= 0 && options->cpus[1] >= 0 &&
			options->cpus[0] != options->cpus[1];
	case 'r':
		options->realtime = true;
		return true;
	case 'j':
		options->json = true;
		return true;
	default:
		return false;
	}
}

static bool take_options(struct options *options, int argc, char **argv)
{
	static const struct option names[] = {
		{"case", required_argument, NULL, 'c'},
		{"port", required_argument, NULL, 'p'},
		{"seconds", required_argument, NULL, 's'},
		{"cpus", required_argument, NULL, 'u'},
		{"realtime", no_argument, NULL, 'r'},
		{"json", no_argument, NULL, 'j'},
		{NULL, 0, NULL, 0},
	};
	int choice;

	*options = (struct options){.seconds = 0.5, .cpus = {0, 1}};
	while ((choice = getopt_long(argc, argv, "", names, NULL)) != -1)
		if (!take_option(options, choice))
			return false;
	if (!options->test || optind != argc)
		return false;
	if (!options->port)
		take_port(options, options->test->ports == PORT_TCP ? "tcp" : "ring");
	return (options->test->ports & options->kind) != 0;
}

static int refuse(const struct options *options)
{
	if (!options->test)
		fputs("bench: name a case with --case; --help lists them\n", stderr);
	else if (options->port && !(options->test->ports & options->kind))
		fprintf(stderr, "bench: %s does not run on %s\n", options->test->name,
			options->port);
	else
		fputs("bench: wrong arguments; --help explains them\n", stderr);
	return 2;
}

/* ---- the run ---- */

static struct shared *map_shared(void)
{
	struct shared *shared = mmap(
		NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		die("no memory");
	shared->of[ACTIVE].pid = getpid();
	return shared;
}

static void check_cpus(const int cpus[2])
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return; /* more CPUs than the set holds: EAL will say */
	for (int i = 0; i < 2; i++)
		if (cpus[i] >= CPU_SETSIZE || !CPU_ISSET(cpus[i], &set))
			die("CPU %d is not to be had: name two with --cpus A,B", cpus[i]);
}

static void run_side(struct side *side)
{
	alarm((unsigned int)side->seconds + PATIENCE);
	side->test->run(side);
}

static void print_text(const struct options *options, const struct result *result)
{
	bool latency = strcmp(options->test->unit, "us") == 0;

	printf("%s %s: %.3f %s (%s %.3f, %s %.3f, of %u %s)", options->test->name, options->port,
		result->median, options->test->unit, latency ? "least" : "best window",
		result->best, latency ? "p99" : "p90", result->p90, result->samples,
		latency ? "round trips" : "windows of 10 ms");
	if (result->uroce)
		printf("; window %u, batch %u, retransmitted %lu", result->window, result->batch,
			(unsigned long)result->retransmitted);
	putchar('\n');
}

static void print_json(const struct options *options, const struct result *result)
{
	printf("{\"name\": \"%s\", \"port\": \"%s\", \"unit\": \"%s\", \"value\": %.4f, "
	       "\"best\": %.4f, \"tail\": %.4f, \"samples\": %u",
		options->test->name, options->port, options->test->unit, result->median,
		result->best, result->p90, result->samples);
	if (result->uroce)
		printf(", \"mode\": \"inline\", \"window\": %u, \"batch\": %u, \"signal_every\": "
		       "%u, \"retransmitted\": %lu",
			result->window, result->batch, result->signal_every,
			(unsigned long)result->retransmitted);
	printf("}\n");
}

int main(int argc, char **argv)
{
	struct options options;
	struct side common;
	int status;

	if (argc == 2 && strcmp(argv[1], "--help") == 0)
		return usage();
	if (argc == 2 && strcmp(argv[1], "--list") == 0)
		return list();
	if (!take_options(&options, argc, argv))
		return refuse(&options);
	check_cpus(options.cpus);
	common = (struct side){
		.test = options.test,
		.port = options.kind,
		.seconds = options.seconds,
		.realtime = options.realtime,
		.shared = map_shared(),
	};
	setenv("UROCE_LOG", "warning", 0);
	setenv("LIBXDP_SKIP_DISPATCHER", "1", 0); /* it needs a bpffs, and one program is enough */
	ports_prepare(&common, options.cpus);
	status = run_sides(&common, options.cpus, run_side);
	if (status != 0)
		return status;
	if (options.json)
		print_json(&options, &common.shared->result);
	else
		print_text(&options, &common.shared->result);
	return 0;
}
