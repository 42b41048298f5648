/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel's TCP over a veth pair, in the same setting: one process on each of the two CPUs.
 * Latency is a ping-pong of two that never sleep, rate is writev(2) of 32 messages at a time,
 * bandwidth is iperf3 with 1 MiB a write.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define VETH_MTU 9000u
#define TCP_PORT 7471
#define TAKE 65536u
#define MESSAGES 32u
#define STRIDE 64u

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint64_t ns_now(void)
{
	return (uint64_t)(seconds_now() * 1e9);
}

/* ---- the connection ---- */

static int passive_socket(struct side *side)
{
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(TCP_PORT)};
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	int fd;

	if (bind(listener, (const struct sockaddr *)&own, sizeof(own)) != 0 ||
		listen(listener, 1) != 0)
		die("TCP: cannot listen");
	meet(side);
	fd = accept(listener, NULL, NULL);
	close(listener);
	return fd;
}

static int active_socket(struct side *side)
{
	struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(TCP_PORT)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	meet(side);
	inet_pton(AF_INET, "10.99.0.2", &peer.sin_addr);
	if (connect(fd, (const struct sockaddr *)&peer, sizeof(peer)) != 0)
		die("TCP: cannot connect");
	return fd;
}

static int tcp_open(struct side *side)
{
	int one = 1;
	int fd;

	veth_open(side, VETH_MTU);
	fd = side->role == ACTIVE ? active_socket(side) : passive_socket(side);
	if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) != 0)
		die("TCP: no connection");
	return fd;
}

static void send_all(int fd, const void *data, size_t length)
{
	while (length > 0) {
		ssize_t n = send(fd, data, length, MSG_NOSIGNAL);

		if (n <= 0)
			die("TCP: send failed");
		data = (const uint8_t *)data + n;
		length -= (size_t)n;
	}
}

/* Without sleeping. False: the other side has closed. */
static bool take_all(int fd, void *data, size_t length)
{
	while (length > 0) {
		ssize_t n = recv(fd, data, length, MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN)
			continue;
		if (n <= 0)
			return false;
		data = (uint8_t *)data + n;
		length -= (size_t)n;
	}
	return true;
}

/* ---- latency ---- */

static void ping(int fd, struct side *side)
{
	struct samples *samples = samples_new();
	uint64_t start = ns_now(), now;
	uint64_t end = start + (uint64_t)(side->seconds * 1e9);
	uint64_t message = 0;

	while (start < end && !samples_full(samples)) {
		send_all(fd, &message, sizeof(message));
		if (!take_all(fd, &message, sizeof(message)))
			die("TCP: the other side has gone");
		now = ns_now();
		samples_add(samples, now - start);
		start = now;
	}
	samples_report(samples, side, 1e9);
}

static void pong(int fd)
{
	uint64_t message;

	while (take_all(fd, &message, sizeof(message)))
		send_all(fd, &message, sizeof(message));
}

void run_tcp_latency(struct side *side)
{
	int fd = tcp_open(side);

	begin(side);
	if (side->role == ACTIVE)
		ping(fd, side);
	else
		pong(fd);
	end(side);
	close(fd);
}

/* ---- rate ---- */

static void write_all(int fd, const struct side *side)
{
	static uint8_t messages[MESSAGES * STRIDE];
	double end = seconds_now() + side->seconds;
	struct iovec parts[MESSAGES];
	size_t total = (size_t)MESSAGES * side->test->length;

	for (uint32_t i = 0; i < MESSAGES; i++)
		parts[i] = (struct iovec){messages + (size_t)i * STRIDE, side->test->length};
	while (seconds_now() < end) {
		ssize_t n = writev(fd, parts, MESSAGES);

		if (n < 0)
			die("TCP: writev failed");
		send_all(fd, messages, total - (size_t)n);
	}
}

static void read_all(int fd, struct side *side)
{
	struct windows *windows = windows_new(1e9);
	static uint8_t buffer[TAKE];
	uint64_t bytes = 0;
	ssize_t n;

	while ((n = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT)) != 0) {
		if (n < 0 && errno == EAGAIN)
			continue;
		if (n < 0)
			die("TCP: recv failed");
		bytes += (uint64_t)n;
		windows_add(windows, ns_now(), bytes / side->test->length);
	}
	windows_report(windows, side, 1e-6);
}

void run_tcp_rate(struct side *side)
{
	int fd = tcp_open(side);

	begin(side);
	if (side->role == ACTIVE)
		write_all(fd, side);
	else
		read_all(fd, side);
	end(side);
	close(fd);
}

/* ---- bandwidth ---- */

/* The number behind `"key":` after `section` in iperf3's report. */
static double number_in(const char *report, const char *section, const char *key)
{
	const char *at = strstr(report, section);

	at = at ? strstr(at, key) : NULL;
	at = at ? strchr(at, ':') : NULL;
	return at ? strtod(at + 1, NULL) : 0;
}

static void iperf3_client(struct side *side)
{
	static char report[1 << 20];
	struct result *result = &side->shared->result;
	char line[128];
	size_t length;
	FILE *in;

	snprintf(line, sizeof(line), "iperf3 -J -c 10.99.0.2 -p %d -l 1M -t %d", TCP_PORT,
		side->seconds < 1 ? 1 : (int)side->seconds);
	in = popen(line, "r");
	if (!in)
		die("iperf3 does not start");
	length = fread(report, 1, sizeof(report) - 1, in);
	report[length] = '\0';
	result->median = number_in(report, "\"sum_received\"", "\"bits_per_second\"") / 1e9;
	result->best = result->p90 = result->median;
	result->samples = 1;
	if (pclose(in) != 0 || result->median <= 0)
		die("iperf3 failed");
}

static void iperf3_server(struct side *side)
{
	char port[16];
	const struct timespec pause = {.tv_nsec = 100000000};
	pid_t server = fork();
	int status;

	snprintf(port, sizeof(port), "%d", TCP_PORT);
	if (server == 0) {
		if (!freopen("/dev/null", "w", stdout))
			_exit(1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execlp("iperf3", "iperf3", "-s", "-1", "-p", port, (char *)NULL);
		_exit(1);
	}
	nanosleep(&pause, NULL); /* until it listens */
	meet(side);
	if (waitpid(server, &status, 0) != server || status != 0)
		die("the iperf3 server failed");
}

void run_tcp_bandwidth(struct side *side)
{
	veth_open(side, VETH_MTU);
	begin(side);
	if (side->role == PASSIVE) {
		iperf3_server(side);
	} else {
		meet(side);
		iperf3_client(side);
	}
	end(side);
}
