/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports over net_ring, with a real EAL: `loop` gets back what it sends; `east` and `west` are the
 * two ends of one wire.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mempool.h>

#include "address.h"
#include "eal.h"
#include "ethdev.h"
#include "log.h"
#include "unit.h"
#include "words.h"

#define RING_SIZE 64u
#define MBUFS 512u
#define SECOND 1000000000ull
#define ANSWERS 50u

static const uint8_t east_mac[6] = {2, 0, 0, 0, 0, 1};
static const uint8_t west_mac[6] = {2, 0, 0, 0, 0, 2};

/* What the wires are made of: made once, since EAL's ports cannot be made twice. */
struct wires {
	struct rte_ring *loop, *eastward, *westward;
	struct rte_mempool *pool; /* of the test itself */
};

static struct wires wires;

static void config_of(
	struct ethdev_config *config, const char *device, const uint8_t mac[6], const char *address)
{
	struct port_gid *gid = &config->network.addresses[0];

	memset(config, 0, sizeof(*config));
	strcpy(config->device, device);
	config->mbufs = MBUFS;
	config->has_mac = true;
	memcpy(config->mac, mac, 6);
	config->network.address_count = 1;
	CU_ASSERT_EQUAL_FATAL(address_parse(gid->gid, address), 0);
	gid->prefix_length = address_is_ipv4(gid->gid) ? 24 : 64;
}

static struct port *open_port(const char *device, const uint8_t mac[6], const char *address)
{
	struct ethdev_config config;
	struct port *port = NULL;

	config_of(&config, device, mac, address);
	CU_ASSERT_EQUAL_FATAL(ethdev_port_open(&config, &port), 0);
	return port;
}

static struct port *open_loop(void)
{
	return open_port("net_ring_loop", east_mac, "10.77.0.1");
}

static struct port_counters counters_of(const struct port *port)
{
	struct port_counters counters;

	port->ops->counters(port, &counters);
	return counters;
}

/* The pool of a port, by the name that pool.c gives it. */
static struct rte_mempool *pool_of(const char *device)
{
	char name[RTE_MEMPOOL_NAMESIZE];
	uint16_t id;

	CU_ASSERT_EQUAL_FATAL(rte_eth_dev_get_port_by_name(device, &id), 0);
	snprintf(name, sizeof(name), "uroce_mbuf_%u_0", id);
	return rte_mempool_lookup(name);
}

static const struct lcores none;

static void eal_is_adopted(void)
{
	char program[] = "test", argument[] = "--no-pci";
	char *argv[] = {program, argument, NULL};
	const struct lcores main_lcore = {1, {0}}, disabled = {1, {99}}, absent = {1, {100000}};

	CU_ASSERT(eal_is_running());
	CU_ASSERT_EQUAL(eal_start(1, argv, &none), 0);
	CU_ASSERT_EQUAL(eal_start(0, argv, &none), 0);
	CU_ASSERT_EQUAL(eal_start(2, argv, &none), -EINVAL);
	CU_ASSERT_EQUAL(eal_start(1, argv, &main_lcore), -EINVAL);
	CU_ASSERT_EQUAL(eal_start(1, argv, &disabled), -EINVAL);
	CU_ASSERT_EQUAL(eal_start(1, argv, &absent), -EINVAL);
	CU_ASSERT_EQUAL(eal_register_thread(), 0);
}

/* What the bridge gave last: the sink has no argument for it. */
static enum log_level seen_level;
static char seen_line[128];

static void see(enum log_level level, const char *line)
{
	seen_level = level;
	snprintf(seen_line, sizeof(seen_line), "%s", line);
}

/* EAL's levels, and ours. */
static void log_is_bridged(void)
{
	static const struct {
		uint32_t rte;
		enum log_level ours;
	} rows[] = {
		{RTE_LOG_EMERG, LOG_ERROR},
		{RTE_LOG_ERR, LOG_ERROR},
		{RTE_LOG_WARNING, LOG_WARNING},
		{RTE_LOG_NOTICE, LOG_INFO},
		{RTE_LOG_INFO, LOG_DEBUG},
	};

	log_set_sink(see);
	log_set_level(LOG_DEBUG);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		seen_line[0] = 0;
		rte_log(rows[i].rte, RTE_LOGTYPE_EAL, "a number: %u\n", i);
		CU_ASSERT_EQUAL(seen_level, rows[i].ours);
		CU_ASSERT_NSTRING_EQUAL(seen_line, "a number: ", 10);
	}
	rte_log(RTE_LOG_ERR, RTE_LOGTYPE_EAL, "two\nlines\n");
	CU_ASSERT_STRING_EQUAL(seen_line, "lines");
	log_set_level(LOG_NOTICE);
	log_set_sink(NULL);
}

/* One frame goes out and comes back. */
static void loops(struct port *port)
{
	struct packet packet;

	CU_ASSERT_EQUAL_FATAL(port->ops->alloc(port, 0, &packet, 1), 1);
	packet.length = 60;
	CU_ASSERT_EQUAL_FATAL(port->ops->tx(port, 0, &packet, 1), 1);
	CU_ASSERT_EQUAL_FATAL(port->ops->rx(port, 0, &packet, 1), 1);
	CU_ASSERT_EQUAL(packet.length, 60);
	port->ops->release(port, 0, &packet, 1);
}

static void what_cannot_be_opened(void)
{
	struct ethdev_config config;
	struct port *port = NULL, *other;

	config_of(&config, "net_ring_nowhere", east_mac, "10.77.0.1");
	CU_ASSERT_EQUAL(ethdev_port_open(&config, &port), -ENODEV);
	strcpy(config.device, "31");
	CU_ASSERT_EQUAL(ethdev_port_open(&config, &port), -ENODEV);
	strcpy(config.device, "-1");
	CU_ASSERT_EQUAL(ethdev_port_open(&config, &port), -ENODEV);
	strcpy(config.device, "99999999999999999999");
	CU_ASSERT_EQUAL(ethdev_port_open(&config, &port), -ENODEV);
	config_of(&config, "net_ring_loop", east_mac, "10.77.0.1");
	config.mtu = 9601;
	CU_ASSERT_EQUAL(ethdev_port_open(&config, &port), -EINVAL);
	config.mtu = 575;
	CU_ASSERT_EQUAL(ethdev_port_open(&config, &port), -EINVAL);
	config.mtu = 0;
	config.queues = 2;
	CU_ASSERT_EQUAL(ethdev_port_open(&config, &port), -EINVAL);
	config.queues = 0;
	config.network.address_count = 0;
	CU_ASSERT_EQUAL(ethdev_port_open(&config, &port), -EINVAL);
	config.network.address_count = 1;
	config.mbufs = 1u << 20; /* does not fit -m 64 */
	CU_ASSERT_EQUAL(ethdev_port_open(&config, &port), -ENOMEM);
	CU_ASSERT_PTR_NULL(port);
	/* After all those the port is as it was. Twice at a time it is not given. */
	port = open_loop();
	config.mbufs = MBUFS;
	CU_ASSERT_EQUAL(ethdev_port_open(&config, &other), -EBUSY);
	loops(port); /* and the first is none the worse for it */
	port->ops->close(port);
	port = open_loop();
	port->ops->close(port);
}

/* An adopted EAL's application may have started the port itself. */
static void started_by_somebody_else(void)
{
	struct rte_eth_conf conf = {0};
	struct ethdev_config config;
	struct port *port;
	uint16_t id;

	CU_ASSERT_EQUAL_FATAL(rte_eth_dev_get_port_by_name("net_ring_loop", &id), 0);
	CU_ASSERT_EQUAL(rte_eth_dev_configure(id, 1, 1, &conf), 0);
	CU_ASSERT_EQUAL(rte_eth_rx_queue_setup(id, 0, 64, 0, NULL, wires.pool), 0);
	CU_ASSERT_EQUAL(rte_eth_tx_queue_setup(id, 0, 64, 0, NULL), 0);
	CU_ASSERT_EQUAL(rte_eth_dev_start(id), 0);
	config_of(&config, "net_ring_loop", east_mac, "10.77.0.1");
	CU_ASSERT_EQUAL(ethdev_port_open(&config, &port), -EBUSY);
	CU_ASSERT_EQUAL(rte_eth_dev_stop(id), 0);
	CU_ASSERT_EQUAL(ethdev_port_open(&config, &port), 0);
	port->ops->close(port);
}

/* Opens a net_vhost port, waiting for its peer on a socket in `folder`, with an MTU. */
static void open_vhost(const char *folder, unsigned int number, uint32_t wanted, uint32_t expected)
{
	struct ethdev_config config;
	struct port_info found;
	struct port *port;
	char name[32], arguments[128];
	uint16_t id, mtu;

	snprintf(name, sizeof(name), "net_vhost%u", number);
	snprintf(arguments, sizeof(arguments), "iface=%s/%u", folder, number);
	CU_ASSERT_EQUAL_FATAL(rte_eal_hotplug_add("vdev", name, arguments), 0);
	config_of(&config, name, east_mac, "10.77.0.1");
	config.mtu = wanted;
	CU_ASSERT_EQUAL_FATAL(ethdev_port_open(&config, &port), 0);
	port->ops->info(port, &found);
	CU_ASSERT_EQUAL(found.mtu, expected);
	CU_ASSERT_FALSE(found.up);
	CU_ASSERT_EQUAL(rte_eth_dev_get_port_by_name(name, &id), 0);
	CU_ASSERT_EQUAL(rte_eth_dev_get_mtu(id, &mtu), 0);
	CU_ASSERT_EQUAL(mtu, expected);
	port->ops->close(port);
	CU_ASSERT_EQUAL(rte_eal_hotplug_remove("vdev", name), 0);
}

/* A device whose MTU ethdev knows, and sets; and a link that is down. */
static void device_with_an_mtu(void)
{
	char folder[] = "/tmp/ring_test.XXXXXX";

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
	open_vhost(folder, 0, 0, 1500);
	open_vhost(folder, 1, 4200, 4200);
	CU_ASSERT_EQUAL(rmdir(folder), 0);
}

static void info(void)
{
	struct ethdev_config config;
	struct port_info found;
	struct port *port;
	char number[8];
	uint16_t id;

	CU_ASSERT_EQUAL_FATAL(rte_eth_dev_get_port_by_name("net_ring_loop", &id), 0);
	snprintf(number, sizeof(number), "%u", id); /* by its number, too */
	config_of(&config, number, east_mac, "10.77.0.1");
	CU_ASSERT_EQUAL_FATAL(ethdev_port_open(&config, &port), 0);
	port->ops->info(port, &found);
	CU_ASSERT_STRING_EQUAL(found.name, "net_ring_loop");
	CU_ASSERT_EQUAL(memcmp(found.mac, east_mac, 6), 0);
	CU_ASSERT_EQUAL(found.mtu, 4200);
	CU_ASSERT_EQUAL(found.queues, 1);
	CU_ASSERT(found.up);
	CU_ASSERT_EQUAL(found.gid_count, 1);
	CU_ASSERT(address_equal(found.gids[0].gid, config.network.addresses[0].gid));
	CU_ASSERT_EQUAL(found.gids[0].prefix_length, 24);
	port->ops->close(port);
	config.mtu = 9600;
	CU_ASSERT_EQUAL_FATAL(ethdev_port_open(&config, &port), 0);
	port->ops->info(port, &found);
	CU_ASSERT_EQUAL(found.mtu, 9600);
	port->ops->close(port);
}

/* Sends n frames whose bytes follow from their number; returns how many the port took. */
static unsigned int send_frames(struct port *port, unsigned int n, uint32_t length)
{
	struct packet packets[PORT_BURST];
	unsigned int sent;

	CU_ASSERT_EQUAL_FATAL(port->ops->alloc(port, 0, packets, n), n);
	for (unsigned int i = 0; i < n; i++) {
		CU_ASSERT_FATAL(packets[i].room >= 4218);
		memset(packets[i].data, (int)i + 1, length);
		packets[i].length = length;
	}
	sent = port->ops->tx(port, 0, packets, n);
	port->ops->release(port, 0, packets + sent, n - sent);
	return sent;
}

static bool filled(const struct packet *packet, uint8_t byte, uint32_t length)
{
	if (packet->length != length ||
		rte_pktmbuf_pkt_len((struct rte_mbuf *)packet->handle) != length)
		return false;
	for (uint32_t i = 0; i < length; i++)
		if (packet->data[i] != byte)
			return false;
	return true;
}

static void frames_come_back(void)
{
	static const uint32_t lengths[] = {60, 1514, 4218};
	struct port *port = open_loop();
	struct rte_mempool *pool = pool_of("net_ring_loop");
	struct packet packets[PORT_BURST];
	struct port_counters counters;
	uint64_t bytes = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(pool);
	for (unsigned int row = 0; row < 3; row++) {
		CU_ASSERT_EQUAL(send_frames(port, PORT_BURST, lengths[row]), PORT_BURST);
		CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), PORT_BURST);
		CU_ASSERT_EQUAL_FATAL(port->ops->rx(port, 0, packets, PORT_BURST), PORT_BURST);
		for (unsigned int i = 0; i < PORT_BURST; i++)
			CU_ASSERT(filled(&packets[i], (uint8_t)(i + 1), lengths[row]));
		port->ops->release(port, 0, packets, PORT_BURST);
		CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), 0);
		bytes += (uint64_t)PORT_BURST * lengths[row];
	}
	CU_ASSERT_EQUAL(port->ops->rx(port, 0, packets, PORT_BURST), 0);
	counters = counters_of(port);
	CU_ASSERT_EQUAL(counters.rx_packets, 3 * PORT_BURST);
	CU_ASSERT_EQUAL(counters.tx_packets, 3 * PORT_BURST);
	CU_ASSERT_EQUAL(counters.rx_bytes, bytes);
	CU_ASSERT_EQUAL(counters.tx_bytes, bytes);
	CU_ASSERT_EQUAL(counters.tx_rejected + counters.rx_dropped + counters.no_buffer, 0);
	port->ops->close(port);
}

/* A part of a burst at a time: order and number are kept. */
static void small_bursts(void)
{
	struct port *port = open_loop();
	struct packet packets[PORT_BURST];

	CU_ASSERT_EQUAL(send_frames(port, 7, 100), 7);
	CU_ASSERT_EQUAL(port->ops->rx(port, 0, packets, 3), 3);
	CU_ASSERT(filled(&packets[2], 3, 100));
	CU_ASSERT_EQUAL(port->ops->rx(port, 0, packets + 3, 20), 4);
	CU_ASSERT(filled(&packets[3], 4, 100));
	port->ops->release(port, 0, packets, 7);
	CU_ASSERT_EQUAL(port->ops->alloc(port, 0, packets, 0), 0);
	CU_ASSERT_EQUAL(port->ops->tx(port, 0, packets, 0), 0);
	port->ops->close(port);
}

/* The engine asks for more than a burst at a time; fewer would tell it that there are no more. */
static void large_bursts(void)
{
	struct port *port = open_loop();
	struct packet packets[3 * PORT_BURST + 1];
	unsigned int n = sizeof(packets) / sizeof(packets[0]);

	CU_ASSERT_EQUAL_FATAL(port->ops->alloc(port, 0, packets, n), n);
	for (unsigned int i = 0; i < n; i++) {
		memset(packets[i].data, (int)i + 1, 60);
		packets[i].length = 60;
	}
	/* up to what the ring takes, in the middle of a burst */
	CU_ASSERT_EQUAL(port->ops->tx(port, 0, packets, n), RING_SIZE - 1);
	CU_ASSERT_EQUAL(counters_of(port).tx_packets, RING_SIZE - 1);
	CU_ASSERT_EQUAL(counters_of(port).tx_bytes, 60 * (RING_SIZE - 1));
	CU_ASSERT_EQUAL(counters_of(port).no_buffer, 0);
	port->ops->release(port, 0, packets + RING_SIZE - 1, n - (RING_SIZE - 1));
	for (unsigned int i = 0, got = 1; i < RING_SIZE - 1; i += got) {
		got = port->ops->rx(port, 0, packets, PORT_BURST);
		CU_ASSERT_FATAL(got > 0);
		for (unsigned int j = 0; j < got; j++)
			CU_ASSERT(filled(&packets[j], (uint8_t)(i + j + 1), 60));
		port->ops->release(port, 0, packets, got);
	}
	port->ops->close(port);
}

/* A sender may begin a frame further on in its buffer. */
static void data_may_move(void)
{
	struct port *port = open_loop();
	struct packet packet;

	CU_ASSERT_EQUAL_FATAL(port->ops->alloc(port, 0, &packet, 1), 1);
	memset(packet.data, 1, 100);
	memset(packet.data + 40, 2, 60);
	packet.data += 40;
	packet.length = 60;
	CU_ASSERT_EQUAL(port->ops->tx(port, 0, &packet, 1), 1);
	CU_ASSERT_EQUAL_FATAL(port->ops->rx(port, 0, &packet, 1), 1);
	CU_ASSERT(filled(&packet, 2, 60));
	port->ops->release(port, 0, &packet, 1);
	port->ops->close(port);
}

/* A full ring: the rest stays the caller's, and is counted. */
static void full_ring(void)
{
	struct port *port = open_loop();
	struct rte_mempool *pool = pool_of("net_ring_loop");
	struct port_counters counters;
	unsigned int sent = 0;

	for (unsigned int i = 0; i < 4; i++)
		sent += send_frames(port, PORT_BURST, 60);
	CU_ASSERT_EQUAL(sent, RING_SIZE - 1);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), RING_SIZE - 1);
	counters = counters_of(port);
	CU_ASSERT_EQUAL(counters.tx_packets, RING_SIZE - 1);
	CU_ASSERT_EQUAL(counters.tx_rejected, 4 * PORT_BURST - (RING_SIZE - 1));
	CU_ASSERT_EQUAL(counters.tx_bytes, 60 * (RING_SIZE - 1));
	port->ops->close(port); /* drains the ring, and frees the pool */
	CU_ASSERT_EQUAL(rte_ring_count(wires.loop), 0);
	CU_ASSERT_PTR_NULL(pool_of("net_ring_loop"));
}

static void empty_pool(void)
{
	struct port *port = open_loop();
	struct packet *packets = calloc(MBUFS + PORT_BURST, sizeof(*packets));
	unsigned int taken = 0, n;

	CU_ASSERT_PTR_NOT_NULL_FATAL(packets);
	do {
		n = port->ops->alloc(port, 0, packets + taken, 20);
		taken += n;
	} while (n == 20);
	CU_ASSERT_EQUAL(taken, MBUFS); /* to the last one, though bulks of 20 don't divide it */
	CU_ASSERT_EQUAL(port->ops->alloc(port, 0, packets + taken, 1), 0);
	CU_ASSERT_EQUAL(counters_of(port).no_buffer, 2);
	port->ops->release(port, 0, packets, taken);
	CU_ASSERT_EQUAL(port->ops->alloc(port, 0, packets, PORT_BURST), PORT_BURST);
	port->ops->release(port, 0, packets, PORT_BURST);
	port->ops->close(port);
	free(packets);
}

/* A chain of parts of the given lengths, filled with 1, 2, ... */
static struct rte_mbuf *chain_of(const uint16_t *lengths, unsigned int parts)
{
	struct rte_mbuf *head = NULL;

	for (unsigned int i = 0; i < parts; i++) {
		struct rte_mbuf *part = rte_pktmbuf_alloc(wires.pool);

		CU_ASSERT_PTR_NOT_NULL_FATAL(part);
		memset(rte_pktmbuf_append(part, lengths[i]), (int)i + 1, lengths[i]);
		if (i > 0) {
			CU_ASSERT_EQUAL_FATAL(rte_pktmbuf_chain(head, part), 0);
		} else {
			head = part;
		}
	}
	return head;
}

static void chains_become_whole(void)
{
	static const uint16_t lengths[] = {100, 1000, 1};
	struct port *port = open_loop();
	struct packet packet;

	CU_ASSERT_EQUAL_FATAL(rte_ring_enqueue(wires.loop, chain_of(lengths, 3)), 0);
	CU_ASSERT_EQUAL_FATAL(port->ops->rx(port, 0, &packet, 1), 1);
	CU_ASSERT_EQUAL(packet.length, 1101);
	CU_ASSERT_EQUAL(rte_pktmbuf_pkt_len((struct rte_mbuf *)packet.handle), 1101);
	CU_ASSERT_EQUAL(counters_of(port).rx_linearised, 1);
	CU_ASSERT(packet.data[0] == 1 && packet.data[99] == 1 && packet.data[100] == 2 &&
		packet.data[1099] == 2 && packet.data[1100] == 3);
	port->ops->release(port, 0, &packet, 1);
	CU_ASSERT(rte_mempool_full(wires.pool));
	CU_ASSERT_EQUAL(counters_of(port).rx_dropped, 0);
	port->ops->close(port);
}

/* Longer than any buffer of ours: dropped, counted, and given back; what follows comes in. */
static void chains_that_are_too_long(void)
{
	static const uint16_t lengths[] = {1900, 1900, 1900};
	struct port *port = open_loop();
	struct packet packet;

	CU_ASSERT_EQUAL_FATAL(rte_ring_enqueue(wires.loop, chain_of(lengths, 3)), 0);
	CU_ASSERT_EQUAL_FATAL(rte_ring_enqueue(wires.loop, chain_of(lengths, 1)), 0);
	CU_ASSERT_EQUAL_FATAL(port->ops->rx(port, 0, &packet, 1), 0);
	CU_ASSERT_EQUAL(counters_of(port).rx_dropped, 1);
	CU_ASSERT_EQUAL_FATAL(port->ops->rx(port, 0, &packet, 1), 1);
	CU_ASSERT_EQUAL(packet.length, 1900);
	port->ops->release(port, 0, &packet, 1);
	CU_ASSERT(rte_mempool_full(wires.pool));
	port->ops->close(port);
}

/* A driver that took the tag off: it is put back, in front of the type. */
static void tags_are_put_back(void)
{
	static const uint16_t lengths[] = {30, 30};
	struct port *port = open_loop();
	struct packet packet;

	for (unsigned int parts = 1; parts <= 2; parts++) {
		struct rte_mbuf *mbuf = chain_of(lengths, parts);

		mbuf->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
		mbuf->vlan_tci = 0x6005;
		CU_ASSERT_EQUAL_FATAL(rte_ring_enqueue(wires.loop, mbuf), 0);
		CU_ASSERT_EQUAL_FATAL(port->ops->rx(port, 0, &packet, 1), 1);
		CU_ASSERT_EQUAL(packet.length, 30 * parts + 4);
		CU_ASSERT_EQUAL(memcmp(packet.data + 10, "\1\1\x81\x00\x60\x05\1\1", 8), 0);
		port->ops->release(port, 0, &packet, 1);
	}
	port->ops->close(port);
}

/* Too short for a tag to be put back into: dropped, counted, given back. */
static void tags_without_a_place(void)
{
	static const uint16_t length = 11;
	struct port *port = open_loop();
	struct rte_mbuf *mbuf = chain_of(&length, 1);
	struct packet packet;

	mbuf->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
	CU_ASSERT_EQUAL_FATAL(rte_ring_enqueue(wires.loop, mbuf), 0);
	CU_ASSERT_EQUAL(port->ops->rx(port, 0, &packet, 1), 0);
	CU_ASSERT_EQUAL(counters_of(port).rx_dropped, 1);
	CU_ASSERT(rte_mempool_full(wires.pool));
	port->ops->close(port);
}

/* One turn of a port's core: receive, look, do what is due. */
static void turn(struct port *port, uint64_t now)
{
	struct packet packets[PORT_BURST];
	unsigned int n = port->ops->rx(port, 0, packets, PORT_BURST);

	port->ops->other(port, 0, packets, n, now);
	port->ops->release(port, 0, packets, n);
	port->ops->service(port, now);
}

static void gid_of(uint8_t gid[16], const char *text)
{
	CU_ASSERT_EQUAL_FATAL(address_parse(gid, text), 0);
}

static void resolve(const char *east_address, const char *west_address, uint64_t in)
{
	struct port *east = open_port("net_ring_east", east_mac, east_address);
	struct port *west = open_port("net_ring_west", west_mac, west_address);
	uint32_t before = east->epoch, id;
	uint8_t from[16], to[16], mac[6];
	uint64_t now = 10 * SECOND;

	gid_of(from, east_address);
	gid_of(to, west_address);
	CU_ASSERT_EQUAL(east->ops->route(east, from, to, &id), 0);
	CU_ASSERT_EQUAL(east->ops->neighbour(east, id, now, mac), -EINPROGRESS);
	/* Nothing has been sent by the asking thread: it owns no queue. */
	CU_ASSERT_EQUAL(rte_ring_count(wires.westward), 0);
	CU_ASSERT_EQUAL(rte_ring_count(wires.eastward), 0);
	CU_ASSERT_EQUAL(east->ops->service(east, now), now); /* wants rx to run at once */
	for (unsigned int i = 0; i < 3; i++) {
		turn(east, now);
		turn(west, now);
	}
	CU_ASSERT_EQUAL(east->ops->neighbour(east, id, now, mac), 0);
	CU_ASSERT(mac_equal(mac, west_mac));
	CU_ASSERT(__atomic_load_n(&east->epoch, __ATOMIC_ACQUIRE) != before);
	CU_ASSERT(east->ops->service(east, now) > now);
	/*
	 * One question, one answer, and for each address a probe: to all, or to a group of one, of
	 * which the listener says so before.
	 */
	CU_ASSERT_EQUAL(counters_of(east).arp_in + counters_of(east).nd_in, in);
	CU_ASSERT_EQUAL(counters_of(east).arp_out, in == 2 ? 2 : 0);
	CU_ASSERT_EQUAL(counters_of(east).nd_out, in == 2 ? 0 : 3);
	CU_ASSERT_EQUAL(counters_of(west).arp_in + counters_of(west).nd_in, in);
	/* The other end has answered, and learned nothing. */
	CU_ASSERT_EQUAL(west->epoch, 0);
	west->ops->close(west);
	east->ops->close(east);
}

static void neighbours_by_arp(void)
{
	resolve("10.77.0.1", "10.77.0.2", 2);
}

static void neighbours_by_discovery(void)
{
	resolve("fd00::1", "fd00::2", 1);
}

/* Takes what nobody received off a wire; returns how many frames. */
static unsigned int clear(struct rte_ring *wire)
{
	void *mbuf;
	unsigned int n = 0;

	for (; rte_ring_dequeue(wire, &mbuf) == 0; n++)
		rte_pktmbuf_free(mbuf);
	return n;
}

/* More answers than a burst: they go out in parts. */
static void many_answers(void)
{
	static const uint8_t request[] = "\xff\xff\xff\xff\xff\xff\x02\0\0\0\0\2\x08\x06"
					 "\0\1\x08\0\6\4\0\1\x02\0\0\0\0\2\x0a\x4d\0\2"
					 "\0\0\0\0\0\0\x0a\x4d\0\1";
	struct port *east = open_port("net_ring_east", east_mac, "10.77.0.1");
	struct packet packets[ANSWERS];
	uint8_t frame[sizeof(request) - 1];

	memcpy(frame, request, sizeof(frame));
	for (unsigned int i = 0; i < ANSWERS; i++) {
		packets[i].data = frame;
		packets[i].length = sizeof(frame);
	}
	east->ops->other(east, 0, packets, ANSWERS, SECOND);
	CU_ASSERT_EQUAL(counters_of(east).arp_in, ANSWERS);
	CU_ASSERT_EQUAL(counters_of(east).arp_out, ANSWERS);
	CU_ASSERT_EQUAL(counters_of(east).tx_packets, ANSWERS);
	CU_ASSERT_EQUAL(counters_of(east).tx_bytes, ANSWERS * 60);
	CU_ASSERT_EQUAL(clear(wires.westward), ANSWERS);
	packets[0].length = 13; /* ends inside the first header */
	east->ops->other(east, 0, packets, 1, SECOND);
	CU_ASSERT_EQUAL(counters_of(east).other_dropped, 1);
	east->ops->close(east);
	CU_ASSERT_PTR_NULL(pool_of("net_ring_east"));
}

static void unreachable(void)
{
	struct port *east = open_port("net_ring_east", east_mac, "10.77.0.1");
	uint8_t from[16], to[16], mac[6];
	uint64_t now = 10 * SECOND;
	uint32_t id;

	gid_of(from, "10.77.0.1");
	gid_of(to, "10.77.0.9");
	CU_ASSERT_EQUAL(east->ops->route(east, from, to, &id), 0);
	CU_ASSERT_EQUAL(east->ops->neighbour(east, id, now, mac), -EINPROGRESS);
	for (unsigned int i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(east->ops->neighbour(east, id, now, mac), -EINPROGRESS);
		now += SECOND;
		turn(east, now);
	}
	CU_ASSERT_EQUAL(east->ops->neighbour(east, id, now, mac), -EHOSTUNREACH);
	CU_ASSERT_EQUAL(counters_of(east).unreachable, 1);
	CU_ASSERT(counters_of(east).arp_out >= 3);
	gid_of(to, "10.78.0.9");
	CU_ASSERT_EQUAL(east->ops->route(east, from, to, &id), -ENETUNREACH);
	gid_of(to, "224.0.0.9");
	CU_ASSERT_EQUAL(east->ops->route(east, from, to, &id), -EINVAL);
	CU_ASSERT_EQUAL(clear(wires.westward), counters_of(east).tx_packets);
	east->ops->close(east);
}

/* What goes over the outbox's capacity is dropped and counted, never blocks. */
static void outbox_overflow(void)
{
	struct port *east = open_port("net_ring_east", east_mac, "10.77.0.1");
	uint8_t from[16], to[16], mac[6];
	struct rte_mempool *pool = pool_of("net_ring_east");
	struct packet packet;
	uint32_t id;

	gid_of(from, "10.77.0.1");
	gid_of(to, "10.77.0.9");
	for (unsigned int i = 10; i < 250; i++) {
		to[15] = (uint8_t)i;
		CU_ASSERT_EQUAL(east->ops->route(east, from, to, &id), 0);
		CU_ASSERT_EQUAL(east->ops->neighbour(east, id, SECOND, mac), -EINPROGRESS);
	}
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), 240);
	east->ops->service(east, 2 * SECOND); /* asks all of them again, and probes its address */
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), 256);
	CU_ASSERT_EQUAL(counters_of(east).other_dropped, 240 + 240 + 1 - 256);
	CU_ASSERT_EQUAL(counters_of(east).arp_out, 256);
	/* They go out at once; the wire takes 63 of them. */
	CU_ASSERT_EQUAL(east->ops->rx(east, 0, &packet, 1), 0);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), RING_SIZE - 1);
	CU_ASSERT_EQUAL(counters_of(east).tx_packets, RING_SIZE - 1);
	CU_ASSERT_EQUAL(counters_of(east).tx_rejected, 256 - (RING_SIZE - 1));
	CU_ASSERT_EQUAL(clear(wires.westward), RING_SIZE - 1);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), 0);
	/* What still waits when the port closes goes back, too. */
	east->ops->service(east, 3 * SECOND);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), 241);
	east->ops->close(east);
	CU_ASSERT_PTR_NULL(pool_of("net_ring_east"));
}

/* What a control thread does while the core of queue 0 is at work. */
struct asker {
	struct port *port;
	bool stop, resolved; /* atomic, relaxed: flags that order nothing */
};

static void *ask_always(void *context)
{
	struct asker *asker = context;
	struct port *port = asker->port;
	struct port_counters counters;
	struct port_info found;
	uint8_t from[16], to[16], mac[6];
	uint32_t id;

	if (eal_register_thread())
		return NULL;
	address_parse(from, "10.77.0.1");
	address_parse(to, "10.77.0.2");
	for (unsigned int i = 0; !__atomic_load_n(&asker->stop, __ATOMIC_RELAXED); i++) {
		to[15] = (uint8_t)(2 + i % 200);
		if (port->ops->route(port, from, to, &id) == 0 &&
			port->ops->neighbour(port, id, SECOND, mac) == 0)
			__atomic_store_n(&asker->resolved, true, __ATOMIC_RELAXED);
		port->ops->counters(port, &counters);
		port->ops->info(port, &found);
	}
	return NULL;
}

/* Under the thread sanitizer this shows that control calls and the data path keep apart. */
static void control_from_another_thread(void)
{
	struct asker asker = {.port = open_port("net_ring_east", east_mac, "10.77.0.1")};
	struct port *west = open_port("net_ring_west", west_mac, "10.77.0.2");
	bool resolved = false;
	pthread_t thread;

	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, ask_always, &asker), 0);
	for (unsigned int i = 0; i < 20000 || (!resolved && i < 20000000); i++) {
		turn(asker.port, SECOND + i * 1000000ull);
		turn(west, SECOND + i * 1000000ull);
		resolved = __atomic_load_n(&asker.resolved, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&asker.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	CU_ASSERT(resolved);
	clear(wires.westward);
	clear(wires.eastward);
	west->ops->close(west);
	asker.port->ops->close(asker.port);
	CU_ASSERT_PTR_NULL(pool_of("net_ring_east"));
}

static void echo(void)
{
	/* An echo request for 10.77.0.1 from 10.77.0.2, as echo_test.c has it the other way. */
	static const uint8_t request[] = "\x02\0\0\0\0\1\x02\0\0\0\0\2\x08\0"
					 "\x45\0\0\x1f\x11\x11\x40\0\x40\x01\x15\x31\x0a\x4d\0\2"
					 "\x0a\x4d\0\1\x08\0\x21\x68\x12\x34\0\1"
					 "abc";
	struct port *east = open_port("net_ring_east", east_mac, "10.77.0.1");
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(wires.pool), *reply = NULL;

	CU_ASSERT_PTR_NOT_NULL_FATAL(mbuf);
	memcpy(rte_pktmbuf_append(mbuf, sizeof(request) - 1), request, sizeof(request) - 1);
	CU_ASSERT_EQUAL_FATAL(rte_ring_enqueue(wires.eastward, mbuf), 0);
	turn(east, 0);
	CU_ASSERT_EQUAL_FATAL(rte_ring_dequeue(wires.westward, (void **)&reply), 0);
	CU_ASSERT_EQUAL(reply->data_len, 60);
	CU_ASSERT_EQUAL(memcmp(rte_pktmbuf_mtod(reply, uint8_t *), request + 6, 6), 0);
	CU_ASSERT_EQUAL(*rte_pktmbuf_mtod_offset(reply, uint8_t *, 34), 0); /* echo reply */
	CU_ASSERT_EQUAL(memcmp(rte_pktmbuf_mtod_offset(reply, char *, 42), "abc", 3), 0);
	CU_ASSERT_EQUAL(counters_of(east).echo, 1);
	CU_ASSERT_EQUAL(counters_of(east).tx_packets, 1);
	rte_pktmbuf_free(reply);
	east->ops->close(east);
}

/* A frame that is still in a peer's hands when its port closes keeps the pool. */
static void buffers_outlive_their_port(void)
{
	struct port *east = open_port("net_ring_east", east_mac, "10.77.0.1");
	struct port *west = open_port("net_ring_west", west_mac, "10.77.0.2");
	struct packet packets[PORT_BURST];

	CU_ASSERT_EQUAL(send_frames(east, 3, 77), 3);
	east->ops->close(east);
	CU_ASSERT_PTR_NOT_NULL(pool_of("net_ring_east"));
	CU_ASSERT_EQUAL_FATAL(west->ops->rx(west, 0, packets, PORT_BURST), 3);
	CU_ASSERT(filled(&packets[2], 3, 77));
	east = open_port("net_ring_east", east_mac, "10.77.0.1"); /* with the same pool */
	west->ops->release(west, 0, packets, 3);
	CU_ASSERT_EQUAL(send_frames(east, 1, 77), 1);
	west->ops->close(west);
	east->ops->close(east);
	CU_ASSERT_PTR_NULL(pool_of("net_ring_east"));
}

static const struct unit_case cases[] = {
	UNIT_CASE(eal_is_adopted),
	UNIT_CASE(log_is_bridged),
	UNIT_CASE(what_cannot_be_opened),
	UNIT_CASE(started_by_somebody_else),
	UNIT_CASE(device_with_an_mtu),
	UNIT_CASE(info),
	UNIT_CASE(frames_come_back),
	UNIT_CASE(small_bursts),
	UNIT_CASE(large_bursts),
	UNIT_CASE(data_may_move),
	UNIT_CASE(full_ring),
	UNIT_CASE(empty_pool),
	UNIT_CASE(chains_become_whole),
	UNIT_CASE(chains_that_are_too_long),
	UNIT_CASE(tags_are_put_back),
	UNIT_CASE(tags_without_a_place),
	UNIT_CASE(neighbours_by_arp),
	UNIT_CASE(neighbours_by_discovery),
	UNIT_CASE(many_answers),
	UNIT_CASE(unreachable),
	UNIT_CASE(outbox_overflow),
	UNIT_CASE(control_from_another_thread),
	UNIT_CASE(echo),
	UNIT_CASE(buffers_outlive_their_port),
};

static struct rte_ring *ring(const char *name)
{
	return rte_ring_create(name, RING_SIZE, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
}

static int make_wires(void)
{
	wires.loop = ring("loop");
	wires.eastward = ring("eastward");
	wires.westward = ring("westward");
	wires.pool = rte_pktmbuf_pool_create("test", 63, 0, 0, 2048, SOCKET_ID_ANY);
	if (!wires.loop || !wires.eastward || !wires.westward || !wires.pool)
		return -1;
	if (rte_eth_from_rings("loop", &wires.loop, 1, &wires.loop, 1, 0) < 0 ||
		rte_eth_from_rings("east", &wires.eastward, 1, &wires.westward, 1, 0) < 0)
		return -1;
	return rte_eth_from_rings("west", &wires.westward, 1, &wires.eastward, 1, 0) < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct words eal;
	cpu_set_t before, after;
	int err;

	words_init(&eal);
	err = words_split(&eal, "test -l 0 --no-huge -m 64 --no-shconf --no-telemetry");
	sched_getaffinity(0, sizeof(before), &before);
	if (!err && eal_is_running())
		return 1;
	if (!err)
		err = eal_start(eal.count, eal.word, &none);
	words_fini(&eal); /* EAL keeps no word of it */
	sched_getaffinity(0, sizeof(after), &after);
	if (err || !CPU_EQUAL(&before, &after) || make_wires())
		return 1;
	return unit_run("ethdev-ring", cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
