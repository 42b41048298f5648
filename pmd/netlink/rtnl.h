/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rtnetlink(7) as far as a port needs it that shares the kernel's addresses: questions into bytes,
 * bytes into facts. Pure: sockets are pmd/ethdev's. What comes from a socket is checked here,
 * lengths first, and a message that contradicts itself is none.
 */
#ifndef UROCE_NETLINK_RTNL_H
#define UROCE_NETLINK_RTNL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where messages lie: aligned as their header wants. */
#define RTNL_ALIGNED __attribute__((aligned(8)))
/* Bytes that the longest request takes. */
#define RTNL_REQUEST_MAX 128u

enum rtnl_kind {
	RTNL_OTHER,	/* nothing that a port asks or listens for */
	RTNL_MALFORMED, /* lengths that contradict each other; what follows in the buffer is lost */
	RTNL_DONE,	/* the end of a list; error: it is not whole */
	RTNL_ERROR,	/* the answer is an error; 0: what was asked for is done */
	RTNL_OVERRUN,	/* messages were lost */
	RTNL_ADDRESS,
	RTNL_ROUTE,
	RTNL_NEIGHBOUR,
	RTNL_LINK,
};

struct rtnl_address {
	uint32_t interface;
	uint8_t gid[16];
	uint8_t prefix_length; /* of the family */
	uint8_t scope;	       /* RT_SCOPE_* */
	uint32_t flags;	       /* IFA_F_* */
};

struct rtnl_route {
	uint8_t type;	    /* RTN_* */
	uint32_t interface; /* 0: none, or several */
	bool has_gateway;
	uint8_t gateway[16]; /* may be of the other family (RFC 5549) */
};

struct rtnl_neighbour {
	uint32_t interface;
	uint8_t address[16];
	uint16_t state; /* NUD_* */
	bool has_mac;
	uint8_t mac[6];
};

struct rtnl_link {
	uint32_t interface;
	bool has_mac;
	uint8_t mac[6];
};

struct rtnl_message {
	enum rtnl_kind kind;
	bool gone;	  /* an address, a route ... that is no longer there */
	bool interrupted; /* of a list that changed while it was read: NLM_F_DUMP_INTR */
	uint32_t sequence;
	int error; /* RTNL_DONE, RTNL_ERROR: 0 or -errno */
	union {
		struct rtnl_address address;
		struct rtnl_route route;
		struct rtnl_neighbour neighbour;
		struct rtnl_link link;
	};
};

/*
 * Takes the next message off the buffer, which is RTNL_ALIGNED. False: there is none left. After
 * RTNL_MALFORMED there is none left either.
 */
bool rtnl_next(const uint8_t **data, size_t *length, struct rtnl_message *message);

/* Each writes one request into RTNL_REQUEST_MAX aligned bytes, and returns its length. */

/* The interface's addresses of a family (AF_INET, AF_INET6): a list. A kernel without strict
 * checking (before 4.20) gives those of all interfaces. */
size_t rtnl_ask_addresses(void *buffer, uint32_t sequence, uint8_t family, uint32_t interface);
size_t rtnl_ask_link(void *buffer, uint32_t sequence, uint32_t interface);
/* What a packet from source to destination, both GIDs of one family, would take. An IPv6
 * destination of the link has to be asked for with its interface. */
size_t rtnl_ask_route(void *buffer, uint32_t sequence, const uint8_t source[16],
	const uint8_t destination[16], uint32_t interface);
size_t rtnl_ask_neighbour(
	void *buffer, uint32_t sequence, uint32_t interface, const uint8_t address[16]);
/*
 * "I am about to send to this neighbour": the kernel makes the entry if there is none, and
 * resolves or verifies it. Not for one that is NUD_PERMANENT or NUD_NOARP: since Linux 5.16 that
 * makes it an ordinary one (net/core/neighbour.c, NEIGH_UPDATE_F_USE).
 */
size_t rtnl_use_neighbour(
	void *buffer, uint32_t sequence, uint32_t interface, const uint8_t address[16]);

#endif
