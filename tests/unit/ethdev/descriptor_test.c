/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a core that sleeps is woken by, driver by driver, with the real drivers on interfaces of
 * the kernel in a network namespace of the test's own; as root.
 *
 * Frames come from a raw socket at the other end. IPv6 is off there, so that nobody else sends:
 * what wakes is what the test has sent.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include "address.h"
#include "ethdev.h"
#include "unit.h"

#define QUIET 50       /* ms in which nothing may wake */
#define PATIENCE 20000 /* ms; only ever used up by a failure */
#define QUEUES_MAX 2u

/* The decoys look like the driver's sockets, and have lower numbers. */
static int decoys[2];

struct subject {
	const char *device, *interface; /* frames are sent into the latter */
	uint16_t queues;
	bool heard; /* it has descriptors */
	struct port
		*port; /* net_af_xdp cannot be set up twice: open from its first use to the end */
};

static struct subject subjects[] = {
	{"net_af_packet0", "theirs0", 1, true, NULL},
	{"net_af_packet1", "theirs1", 2, true, NULL},
	{"net_af_xdp0", "theirs2", 1, true, NULL},
	{"net_tap0", "tap0", 1, true, NULL},
	{"net_null0", NULL, 1, false, NULL},
};

#define SUBJECTS (sizeof(subjects) / sizeof(subjects[0]))

/* ---- the namespace ---- */

static void skip(const char *why)
{
	printf("skipped: %s\n", why);
	exit(77);
}

static int run(const char *format, ...)
{
	char command[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	return system(command);
}

static void silence_ipv6(void)
{
	int fd = open("/proc/sys/net/ipv6/conf/default/disable_ipv6", O_WRONLY);

	if (fd < 0)
		return; /* a kernel without IPv6 */
	if (write(fd, "1", 1) != 1)
		skip("IPv6 cannot be switched off");
	close(fd);
}

static void make_interfaces(void)
{
	if (geteuid() != 0)
		skip("needs root, to make a network namespace");
	if (unshare(CLONE_NEWNET))
		skip("network namespaces cannot be made here");
	silence_ipv6();
	run("ip link set lo up");
	for (int i = 0; i < 3; i++) {
		if (run("ip link add ours%d type veth peer name theirs%d", i, i))
			skip("there is no veth here");
		run("ip link set ours%d up", i);
		run("ip link set theirs%d up", i);
	}
}

static unsigned int index_of(const char *interface)
{
	unsigned int index = if_nametoindex(interface);

	CU_ASSERT_NOT_EQUAL_FATAL(index, 0);
	return index;
}

/* Like those of net_af_packet, in the place of a descriptor that has been kept free for it. */
static int make_decoy(int place, const char *interface)
{
	struct tpacket_req ring = {
		.tp_block_size = 65536, .tp_frame_size = 2048, .tp_block_nr = 1, .tp_frame_nr = 32};
	struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	int version = TPACKET_V2, fd;

	close(place);
	fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
	address.sll_ifindex = (int)if_nametoindex(interface);
	if (fd != place || setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) ||
		setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &ring, sizeof(ring)) ||
		bind(fd, (struct sockaddr *)&address, sizeof(address)))
		skip("no decoy");
	return fd;
}

static void start_eal(void)
{
	char *argv[] = {strdup("test"), strdup("--no-huge"), strdup("-m"), strdup("256"),
		strdup("--no-pci"), strdup("--no-shconf"), strdup("--no-telemetry"),
		strdup("--log-level=*:error"),
		strdup("--vdev=net_af_packet0,iface=ours0,blocksz=65536,framecnt=64"),
		strdup("--vdev=net_af_packet1,iface=ours1,blocksz=65536,framecnt=64,qpairs=2"),
		strdup("--vdev=net_af_xdp0,iface=ours2,busy_budget=0"),
		strdup("--vdev=net_tap0,iface=tap0"), strdup("--vdev=net_null0,no-rx=1"), NULL};

	for (unsigned int i = 0; i < 2; i++)
		decoys[i] = open("/dev/null", O_RDONLY);
	if (rte_eal_init(sizeof(argv) / sizeof(argv[0]) - 1, argv) < 0) {
		printf("skipped: EAL does not start: %s\n", rte_strerror(rte_errno));
		exit(77);
	}
	for (int i = 0; i < 2; i++)
		make_decoy(decoys[i], i ? "ours1" : "ours0");
}

/* ---- a port ---- */

static void open_port(struct subject *subject)
{
	struct ethdev_config config = {.mbufs = 8191, .queues = subject->queues};
	struct port_gid *gid = &config.network.addresses[0];

	strcpy(config.device, subject->device);
	config.has_mac = true;
	memcpy(config.mac, "\2\0\0\0\0\1", 6);
	config.network.address_count = 1;
	CU_ASSERT_EQUAL_FATAL(address_parse(gid->gid, "10.0.0.1"), 0);
	gid->prefix_length = 24;
	CU_ASSERT_EQUAL_FATAL(ethdev_port_open(&config, &subject->port), 0);
}

/* Takes what is there. */
static unsigned int take(struct port *port, uint16_t queue)
{
	struct packet packets[PORT_BURST];
	unsigned int n = port->ops->rx(port, queue, packets, PORT_BURST);

	port->ops->release(port, queue, packets, n);
	return n;
}

/* Also of what others have sent: the kernel announces an interface. */
static void drain(struct port *port, uint16_t queue)
{
	for (int idle = 0; idle < 10; idle++) {
		while (take(port, queue) > 0)
			idle = 0;
		usleep(1000);
	}
}

/* Open, and nothing in its queues. */
static struct port *port_of(struct subject *subject)
{
	if (!subject->port)
		open_port(subject);
	for (uint16_t queue = 0; queue < subject->queues; queue++)
		drain(subject->port, queue);
	return subject->port;
}

static void close_ports(void)
{
	for (size_t i = 0; i < SUBJECTS; i++)
		if (subjects[i].port)
			subjects[i].port->ops->close(subjects[i].port);
}

static int descriptor(struct port *port, uint16_t queue)
{
	int fd = port->ops->descriptor(port, queue);

	CU_ASSERT_FATAL(fd >= 0);
	return fd;
}

/* net_tap has a signal for each frame, which may end a poll(). */
static short wait_for(int fd, int ms)
{
	struct pollfd at = {.fd = fd, .events = POLLIN};
	int n;

	do
		n = poll(&at, 1, ms);
	while (n < 0 && errno == EINTR);
	return n == 1 ? at.revents : 0;
}

/* A frame that must be there. net_tap finds it when its signal has been handled, by whatever
 * thread that was. */
static void take_one(struct port *port, uint16_t queue)
{
	unsigned int n = 0;

	for (int ms = 0; n == 0 && ms < PATIENCE; ms++) {
		n = take(port, queue);
		if (n == 0)
			usleep(1000);
	}
	CU_ASSERT_EQUAL(n, 1);
}

/* ---- frames ---- */

struct flow {
	struct ethhdr ethernet;
	uint8_t ip[20];
	uint16_t udp[4];
	uint8_t rest[18];
} __attribute__((packed));

/* UDP from a port of one's choice: fanout's hash takes the flow. The port looks at no frame here,
 * the kernel neither. */
static void send_flow(const char *interface, uint16_t source_port)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_halen = 6};
	struct flow frame = {
		.ethernet = {.h_dest = {2, 0, 0, 0, 0, 1},
			.h_source = {2, 0, 0, 0, 0, 2},
			.h_proto = htons(ETH_P_IP)},
		.ip = {0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1},
		.udp = {htons(source_port), htons(9), htons(26), 0},
	};
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	address.sll_ifindex = (int)index_of(interface);
	CU_ASSERT_EQUAL(
		sendto(fd, &frame, sizeof(frame), 0, (struct sockaddr *)&address, sizeof(address)),
		sizeof(frame));
	close(fd);
}

static void *send_later(void *subject)
{
	usleep(20000);
	send_flow(((const struct subject *)subject)->interface, 1000);
	return NULL;
}

/* ---- cases ---- */

/* Every subject that is heard, with one queue. */
static void each(void (*check)(const struct subject *subject, struct port *port))
{
	for (size_t i = 0; i < SUBJECTS; i++)
		if (subjects[i].heard && subjects[i].queues == 1)
			check(&subjects[i], port_of(&subjects[i]));
}

static void who_has_one(void)
{
	for (size_t i = 0; i < SUBJECTS; i++) {
		struct port *port = port_of(&subjects[i]);

		for (uint16_t queue = 0; queue < subjects[i].queues; queue++) {
			int fd = port->ops->descriptor(port, queue);

			CU_ASSERT_EQUAL(fd >= 0, subjects[i].heard);
			CU_ASSERT(fd != decoys[0] && fd != decoys[1]);
			if (!subjects[i].heard)
				CU_ASSERT_EQUAL(fd, -ENOTSUP);
			port->ops->arm(port, queue, true);
			port->ops->arm(port, queue, false);
		}
		CU_ASSERT_EQUAL(port->ops->descriptor(port, subjects[i].queues), -ENOTSUP);
	}
}

static void check_wake(const struct subject *subject, struct port *port)
{
	int fd = descriptor(port, 0);
	pthread_t sender;

	port->ops->arm(port, 0, true);
	CU_ASSERT_EQUAL(take(port, 0), 0);
	CU_ASSERT_EQUAL(wait_for(fd, QUIET), 0);
	CU_ASSERT_EQUAL_FATAL(
		pthread_create(&sender, NULL, send_later, (void *)(uintptr_t)subject), 0);
	CU_ASSERT(wait_for(fd, PATIENCE) & POLLIN);
	port->ops->arm(port, 0, false);
	pthread_join(sender, NULL);
	take_one(port, 0);
}

static void wakes(void)
{
	each(check_wake);
}

/* A frame between the last look and arming: all these drivers' descriptors tell. */
static void check_not_lost(const struct subject *subject, struct port *port)
{
	int fd = descriptor(port, 0);

	send_flow(subject->interface, 1000);
	port->ops->arm(port, 0, true);
	CU_ASSERT_EQUAL(wait_for(fd, PATIENCE), POLLIN);
	take_one(port, 0);
	port->ops->arm(port, 0, false);
}

static void is_not_lost(void)
{
	each(check_not_lost);
}

/* Taken frames do not wake, however many they were. */
static void check_sleeps_again(const struct subject *subject, struct port *port)
{
	int fd = descriptor(port, 0);

	for (unsigned int i = 0; i < 200; i++) {
		for (unsigned int n = 0; n <= i % 3; n++)
			send_flow(subject->interface, 1000);
		port->ops->arm(port, 0, true);
		CU_ASSERT(wait_for(fd, PATIENCE) & POLLIN);
		port->ops->arm(port, 0, false);
		for (unsigned int n = 0; n <= i % 3;)
			n += take(port, 0);
		CU_ASSERT_EQUAL(wait_for(fd, 0), 0);
	}
	port->ops->arm(port, 0, true);
	CU_ASSERT_EQUAL(wait_for(fd, QUIET), 0);
	port->ops->arm(port, 0, false);
}

static void sleeps_again(void)
{
	each(check_sleeps_again);
}

/* Each queue's descriptor wakes for that queue's frames: fanout spreads the flows. */
static void queues_are_told_apart(void)
{
	struct subject *subject = &subjects[1];
	struct port *port = port_of(subject);
	unsigned int taken[QUEUES_MAX] = {0};

	CU_ASSERT_NOT_EQUAL(descriptor(port, 0), descriptor(port, 1));
	for (uint16_t flow = 0; flow < 64; flow++) {
		struct pollfd at[QUEUES_MAX] = {
			{.fd = descriptor(port, 0), .events = POLLIN},
			{.fd = descriptor(port, 1), .events = POLLIN},
		};

		send_flow(subject->interface, (uint16_t)(1000 + flow));
		CU_ASSERT_EQUAL(poll(at, QUEUES_MAX, PATIENCE), 1);
		for (uint16_t queue = 0; queue < QUEUES_MAX; queue++) {
			unsigned int n = take(port, queue);

			CU_ASSERT_EQUAL(n, at[queue].revents == POLLIN);
			taken[queue] += n;
		}
	}
	CU_ASSERT(taken[0] > 0 && taken[1] > 0);
}

/* The kernel tells of a link that goes down as an error, once it is cleared the core may sleep. */
static void an_error_does_not_spin(void)
{
	struct subject *subject = &subjects[0];
	struct port *port = port_of(subject);
	int fd = descriptor(port, 0);

	CU_ASSERT_EQUAL(run("ip link set ours0 down"), 0);
	CU_ASSERT(wait_for(fd, PATIENCE) & POLLERR);
	CU_ASSERT(wait_for(fd, PATIENCE) & POLLERR);
	drain(port, 0);
	port->ops->arm(port, 0, true);
	CU_ASSERT_EQUAL(wait_for(fd, QUIET), 0);
	port->ops->arm(port, 0, false);
	CU_ASSERT_EQUAL(run("ip link set ours0 up"), 0);
	port->ops->arm(port, 0, true);
	drain(port, 0);
	CU_ASSERT_EQUAL(wait_for(fd, QUIET), 0);
	send_flow(subject->interface, 1000);
	CU_ASSERT_EQUAL(wait_for(fd, PATIENCE), POLLIN);
	port->ops->arm(port, 0, false);
	take_one(port, 0);
}

static const struct unit_case cases[] = {
	UNIT_CASE(who_has_one),
	UNIT_CASE(wakes),
	UNIT_CASE(is_not_lost),
	UNIT_CASE(sleeps_again),
	UNIT_CASE(queues_are_told_apart),
	UNIT_CASE(an_error_does_not_spin),
};

int main(int argc, char **argv)
{
	int status;

	make_interfaces();
	start_eal();
	status = unit_run("ethdev-descriptor", cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
	close_ports();
	return status;
}
