/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a port must offer. The engine and the network meet here and nowhere else: pmd/ethdev puts a
 * DPDK port behind it, pmd/loop a wire in memory.
 *
 * A port's data path (rx, tx, alloc, release, other) is called per burst, by one core per queue;
 * what one queue gave may be sent or released by another. service() is called by the core of queue
 * 0; the rest of control (route, neighbour, info, counters) by any core at any time, so that a port
 * with several queues keeps them apart by itself. Time is ns, monotonic, handed in.
 */
#ifndef UROCE_ENGINE_PORT_H
#define UROCE_ENGINE_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "packet.h"

struct port;

#define PORT_BURST 32u
#define PORT_GIDS_MAX 16u
#define PORT_NAME_MAX 32u

struct port_gid {
	uint8_t gid[16];       /* IPv4 addresses in their v4-mapped form */
	uint8_t prefix_length; /* of the family: 0 to 32 or 0 to 128 */
	bool has_vlan;
	uint16_t vlan_id;
};

struct port_info {
	char name[PORT_NAME_MAX];
	uint8_t mac[6];
	uint16_t queues;
	uint32_t mtu; /* L3 bytes that a frame may carry (1500, 4200, 9000 ...) */
	bool up;
	uint32_t speed_mbps; /* 0: unknown */
	uint16_t gid_count;  /* IPv4-mapped entries first */
	struct port_gid gids[PORT_GIDS_MAX];
};

struct port_counters {
	uint64_t rx_packets, rx_bytes, rx_dropped;
	uint64_t tx_packets, tx_bytes, tx_rejected;
	uint64_t no_buffer;
	uint64_t arp_in, arp_out, nd_in, nd_out, echo, unreachable, other_dropped;
	uint64_t rx_linearised; /* frames that came in pieces, and were copied */
};

struct port_ops {
	/* Up to `count` frames. They stay the caller's until release(). */
	unsigned int (*rx)(
		struct port *port, uint16_t queue, struct packet *packets, unsigned int count);
	/* Buffers for transmit: data, room, handle set. May give fewer. */
	unsigned int (*alloc)(
		struct port *port, uint16_t queue, struct packet *packets, unsigned int count);
	/* Sends the first n (data, length), returns n; the others stay the caller's. */
	unsigned int (*tx)(
		struct port *port, uint16_t queue, struct packet *packets, unsigned int count);
	/* Gives back what rx or alloc gave. */
	void (*release)(
		struct port *port, uint16_t queue, struct packet *packets, unsigned int count);
	/*
	 * Frames that are not RoCE (ARP, neighbour discovery, echo, the rest): the port looks at
	 * them and answers. The frames stay the caller's.
	 */
	void (*other)(struct port *port, uint16_t queue, const struct packet *packets,
		unsigned int count, uint64_t now);
	/*
	 * Finds the next hop from a source GID (which must be in the table) to a destination.
	 * *neighbour names it until the port is closed, or neighbour() says -ESTALE. 0, -EINVAL
	 * (not a source of ours, families differ, multicast), -ENETUNREACH (no route), -ENOBUFS
	 * (too many neighbours).
	 */
	int (*route)(struct port *port, const uint8_t source[16], const uint8_t destination[16],
		uint32_t *neighbour);
	/*
	 * The next hop's MAC. 0; -EINPROGRESS: asked, ask again (a solicitation is under way,
	 * service() repeats it); -EHOSTUNREACH: nobody answered. A later call starts a new attempt.
	 * -ESTALE: of more neighbours than there is room for, this one was given up (the epoch
	 * told): route again.
	 */
	int (*neighbour)(struct port *port, uint32_t neighbour, uint64_t now, uint8_t mac[6]);
	/* Housekeeping: repeats, ageing, link state. Returns when it wants to run next (ns). Called
	 * when that time has come, and after a neighbour() that gave -EINPROGRESS. */
	uint64_t (*service)(struct port *port, uint64_t now);
	/*
	 * Where a core that sleeps hears of frames for this queue: a descriptor for poll(2), the
	 * port's own. -ENOTSUP: there is none, who sleeps looks again every so often. May be NULL,
	 * which says the same.
	 */
	int (*descriptor)(struct port *port, uint16_t queue);
	/* Before the core sleeps by the descriptor (true; it looks at rx once more afterwards) and
	 * after it has (false). May be NULL. */
	void (*arm)(struct port *port, uint16_t queue, bool armed);
	/* The table may have changed when `epoch` has. */
	void (*info)(const struct port *port, struct port_info *info);
	void (*counters)(const struct port *port, struct port_counters *counters);
	/* Frees the port; no burst is under way. */
	void (*close)(struct port *port);
};

struct port {
	const struct port_ops *ops;
	/* Atomic, release by the port, acquire by the cores: counts changes of neighbours' MACs, of
	 * the link, and of addresses. A core that sees a new value refreshes what it keeps. */
	uint32_t epoch;
};

#endif
