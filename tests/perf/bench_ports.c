/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EAL and the ports, with the arguments that each kind needs. No hugepages: they make no difference
 * that shows here, and not everybody has them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "bench.h"

#define WORDS_MAX 32
#define RING_SIZE 1024u	    /* packets on their way, of a raw port and of uroce's */
#define SKELETON_RING 512u  /* of the skeleton's */
#define PAGE_ROOM 3700u	    /* AF_XDP: an mbuf must fit a page */
#define SMALL_ROOM 2176u    /* of a frame up to 1900 bytes */
#define LARGE_ROOM 4736u    /* of path MTU 4096 */
#define SLOT_BYTES_MAX 8192 /* AF_PACKET */

struct words {
	int count;
	char text[WORDS_MAX][160];
};

static void add(struct words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct words *words, const char *format, ...)
{
	va_list arguments;

	if (words->count == WORDS_MAX - 1)
		die("too many arguments for EAL");
	va_start(arguments, format);
	vsnprintf(words->text[words->count++], sizeof(words->text[0]), format, arguments);
	va_end(arguments);
}

static void add_common(struct words *words)
{
	static const char *const common[] = {"bench", "--no-huge", "-m", "512", "--no-pci",
		"--no-shconf", "--no-telemetry", "--iova-mode=va", "--log-level=*:error"};

	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		add(words, "%s", common[i]);
}

/* AF_XDP is a matter of the kernel and of permissions; of the others it is known that they run. */
static void start_eal(struct words *words, enum port_kind port)
{
	char *argv[WORDS_MAX];

	for (int i = 0; i < words->count; i++)
		argv[i] = words->text[i];
	argv[words->count] = NULL;
	if (rte_eal_init(words->count, argv) < 0)
		quit(port == PORT_AF_XDP ? STATUS_SKIPPED : STATUS_FAILED, "EAL does not start: %s",
			rte_strerror(rte_errno));
}

uint32_t port_mtu(const struct side *side)
{
	if (side->test->mtu <= 1024)
		return 1500;
	return side->test->mtu <= 2048 ? 2200 : 4200;
}

/* A slot of the ring shared with the kernel holds a frame and AF_PACKET's header before it. */
static uint32_t slot_size(const struct side *side)
{
	if (side->test->mtu <= 1024)
		return 2048;
	return side->test->mtu <= 2048 ? 4096 : SLOT_BYTES_MAX;
}

uint32_t port_room(const struct side *side, uint32_t frame)
{
	uint32_t room = frame > 1900 ? LARGE_ROOM : SMALL_ROOM;

	if (side->port == PORT_AF_XDP)
		return PAGE_ROOM;
	if (side->port == PORT_AF_PACKET && room < slot_size(side) + RTE_PKTMBUF_HEADROOM)
		return slot_size(side) + 2 * RTE_PKTMBUF_HEADROOM;
	return room;
}

/* ---- net_ring: one process, whose main lcore is the active side's ---- */

static void make_ring_ports(const struct side *common)
{
	uint32_t size = common->test->run == run_skeleton ? SKELETON_RING : RING_SIZE;
	struct rte_ring *to[2];

	for (int role = 0; role < 2; role++)
		to[role] = rte_ring_create(role == ACTIVE ? "to_active" : "to_passive", size,
			SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	if (!to[ACTIVE] || !to[PASSIVE] ||
		rte_eth_from_rings("bench0", &to[ACTIVE], 1, &to[PASSIVE], 1, 0) < 0 ||
		rte_eth_from_rings("bench1", &to[PASSIVE], 1, &to[ACTIVE], 1, 0) < 0)
		die("no ports of net_ring: %s", rte_strerror(rte_errno));
}

void ports_prepare(const struct side *common, const int cpus[2])
{
	struct words words = {0};

	if (common->port != PORT_RING)
		return;
	add_common(&words);
	add(&words, "-l");
	add(&words, "%d,%d", cpus[ACTIVE], cpus[PASSIVE]);
	add(&words, "--main-lcore");
	add(&words, "%d", cpus[ACTIVE]);
	start_eal(&words, common->port);
	make_ring_ports(common);
}

/* ---- the others: a process each ---- */

/* The same on both sides: of the process that started the program. */
static void socket_path(const struct side *side, char *path, size_t size)
{
	snprintf(path, size, "/tmp/uroce-bench-%d.sock", (int)side->shared->of[ACTIVE].pid);
}

/* The server must be there first, or the client only looks again after seconds. */
static void add_memif(struct words *words, struct side *side)
{
	char path[64];

	socket_path(side, path, sizeof(path));
	add(words, "--vdev=net_memif0,role=%s,id=0,socket=%s,socket-abstract=no,bsize=%u,rsize=10",
		side->role == PASSIVE ? "server" : "client", path, slot_size(side));
}

/* As many slots as make 8 MiB. */
static void add_af_packet(struct words *words, const struct side *side)
{
	add(words,
		"--vdev=net_af_packet0,iface=%s,framesz=%u,framecnt=%u,blocksz=65536,"
		"qdisc_bypass=1",
		VETH_NAME, slot_size(side), (8u << 20) / slot_size(side));
}

static void add_af_xdp(struct words *words)
{
	add(words, "--vdev=net_af_xdp0,iface=%s,start_queue=0,queue_count=1,busy_budget=0",
		VETH_NAME);
}

static void add_port(struct words *words, struct side *side)
{
	if (side->port == PORT_MEMIF)
		add_memif(words, side);
	else if (side->port == PORT_AF_PACKET)
		add_af_packet(words, side);
	else
		add_af_xdp(words);
}

static const char *device_of(const struct side *side)
{
	switch (side->port) {
	case PORT_RING:
		return side->role == ACTIVE ? "net_ring_bench0" : "net_ring_bench1";
	case PORT_MEMIF:
		return "net_memif0";
	case PORT_AF_PACKET:
		return "net_af_packet0";
	default:
		return "net_af_xdp0";
	}
}

static void start_process(struct side *side)
{
	struct words words = {0};

	if (side->port != PORT_MEMIF)
		veth_open(side, port_mtu(side));
	if (side->port == PORT_MEMIF && side->role == ACTIVE)
		meet(side);
	add_common(&words);
	add(&words, "-l");
	add(&words, "%d", side->cpu);
	add_port(&words, side);
	start_eal(&words, side->port);
	if (side->port == PORT_MEMIF && side->role == PASSIVE)
		meet(side);
}

void port_open(struct side *side)
{
	if (side->port != PORT_RING)
		start_process(side);
	snprintf(side->device, sizeof(side->device), "%s", device_of(side));
}

void port_remove(struct side *side)
{
	char path[64];

	if (side->port != PORT_MEMIF || side->role != PASSIVE)
		return;
	socket_path(side, path, sizeof(path));
	unlink(path);
}
