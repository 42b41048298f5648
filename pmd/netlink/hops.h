/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Next hops where the kernel resolves them: a table of (source, destination) pairs, each with its
 * next hop and that one's MAC.
 *
 * 1. hops_open() asks the kernel for the route and makes the entry. Only our own QPs do so.
 * 2. hops_ask() gives the MAC. Where it isn't known, the kernel is told that the neighbour is going
 *    to be used, which makes it solicit; its answer is heard, or looked for once a second.
 * 3. Our frames don't pass through the kernel, so that it doesn't see that a neighbour is in use:
 *    of its own accord it would leave the entry STALE for ever, whatever MAC is true by then. So
 *    each entry that is heard to be STALE (or gone) is used again, and the kernel verifies it. The
 *    MAC stays in use meanwhile, as with a port's own addresses (pmd/net/neighbours.h).
 * 4. When routes have changed each entry is routed anew, a few at a time.
 * 5. An entry is named by an id of index and generation. A full table gives up the entry that
 *    nobody has asked for longest; its id is stale from then on.
 *
 * Pure: the kernel is behind struct hops_io, time is handed in. One owner at a time.
 */
#ifndef UROCE_NETLINK_HOPS_H
#define UROCE_NETLINK_HOPS_H

#include <stdbool.h>
#include <stdint.h>

#include "log.h"
#include "rtnl.h"

#define HOPS_MAX 4096u
#define HOPS_SECOND 1000000000ull
/* How often a neighbour that is being resolved is looked for, and until when. The kernel itself
 * gives up after 3 s, by default, and says so. */
#define HOPS_LOOK HOPS_SECOND
#define HOPS_PATIENCE (10 * HOPS_SECOND)
/* How long a failure is told before a new attempt, as NEIGHBOUR_HOLD_DOWN. */
#define HOPS_HOLD_DOWN HOPS_SECOND
/* How soon the kernel's answer is listened for: at first it comes at once, or not for long. */
#define HOPS_EAGER 100000ull
#define HOPS_EAGER_TIME (20 * 1000000ull)
#define HOPS_LATER 5000000ull
/* Questions to the kernel by one hops_run(). */
#define HOPS_QUESTIONS 32u

struct hops_io {
	/* The next hop from source to destination. 0 or -errno. */
	int (*route)(struct hops_io *io, const uint8_t source[16], const uint8_t destination[16],
		uint8_t next[16]);
	/* What the kernel knows of it. 0 or -errno. */
	int (*look)(struct hops_io *io, const uint8_t next[16], struct rtnl_neighbour *neighbour);
	/* Makes the kernel resolve or verify it. */
	void (*use)(struct hops_io *io, const uint8_t source[16], const uint8_t next[16]);
};

enum hop_state {
	HOP_FREE,
	HOP_IDLE,   /* opened; nobody has asked for the MAC */
	HOP_ASKED,  /* the kernel is at it; if there is a MAC, it is the old one and in use */
	HOP_KNOWN,  /* has a MAC */
	HOP_FAILED, /* nobody answered, or there is no route */
};

struct hop {
	uint8_t source[16];
	uint8_t destination[16];
	uint8_t next[16];
	uint8_t mac[6];
	bool has_mac;
	bool has_told; /* HOP_FAILED: somebody has been */
	bool no_route; /* HOP_FAILED: for want of one */
	bool reroute;
	enum hop_state state;
	uint32_t generation;
	uint32_t chain;	  /* of the hash bucket */
	uint64_t asked;	  /* when somebody wanted it last */
	uint64_t started; /* HOP_ASKED: the attempt */
	uint64_t look;	  /* HOP_ASKED: when to look for it */
	uint64_t told;	  /* HOP_FAILED: when, first */
};

struct hops {
	struct hop *entries;
	uint32_t *buckets;
	uint32_t capacity;
	uint32_t used; /* entries from here on have never been */
	uint32_t reroutes;
	uint32_t reroute_next;
	struct hops_io *io;
	uint64_t changes;     /* MACs that came, changed or went */
	uint64_t unreachable; /* attempts that failed */
	struct log_limit log;
};

/* 0 or -ENOMEM. */
int hops_init(struct hops *hops, uint32_t capacity, struct hops_io *io);
void hops_fini(struct hops *hops);

/* 0, or what io->route() gave. */
int hops_open(struct hops *hops, const uint8_t source[16], const uint8_t destination[16],
	uint64_t now, uint32_t *id);
/* As neighbour() in port.h. */
int hops_ask(struct hops *hops, uint32_t id, uint64_t now, uint8_t mac[6]);
/* The kernel tells of a neighbour. */
void hops_heard(struct hops *hops, const struct rtnl_neighbour *neighbour, bool gone, uint64_t now);
/* Routes have changed. */
void hops_reroute(struct hops *hops);
/* What the kernel has told was lost: routes and neighbours are asked for again. */
void hops_resync(struct hops *hops, uint64_t now);
/* Returns when it wants to run next. */
uint64_t hops_run(struct hops *hops, uint64_t now);

#endif
