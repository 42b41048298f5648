/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The neighbour table: next hops and their MACs, for ARP and for neighbour discovery alike.
 *
 * 1. An entry is made by neighbours_open() alone, that is, because one of our own QPs wants the
 *    next hop. Nothing that arrives from the link makes one, so a stranger cannot fill the table.
 * 2. neighbours_ask() gives the MAC, or starts an attempt: SOLICITATIONS solicitations 1 s apart
 *    (RFC 4861 10: RETRANS_TIMER, MAX_MULTICAST_SOLICIT), then the entry is unreachable.
 * 3. A solicited answer makes the entry reachable for a random time about 30 s (RFC 4861 6.3.2).
 *    Then it is probed: three times at its MAC, three times by a solicitation to all, 1 s apart.
 *    The MAC stays in use meanwhile. RFC 4861's STALE and DELAY fall together with PROBE, since
 *    the transport keeps the MACs it has been given and shows no sign of use.
 * 4. What a neighbour says without being asked may change the MAC of an entry that exists, and is
 *    checked by a probe at once; MACs change at most once a second (Linux's locktime).
 * 5. An entry is named by an id of index and generation. A full table gives up the entry that
 *    nobody has asked for longest, unreachable ones first; its id is stale from then on.
 */
#ifndef UROCE_NET_NEIGHBOURS_H
#define UROCE_NET_NEIGHBOURS_H

#include <stdbool.h>
#include <stdint.h>

#include "log.h"
#include "random.h"
#include "timer.h"

#define NEIGHBOUR_SECOND 1000000000ull
#define NEIGHBOUR_SOLICITATIONS 3u
#define NEIGHBOUR_RETRANSMIT NEIGHBOUR_SECOND
#define NEIGHBOUR_REACHABLE_TIME (30 * NEIGHBOUR_SECOND)
#define NEIGHBOUR_LOCK_TIME NEIGHBOUR_SECOND
/* How long after its first report a failure is reported to others before a new attempt. */
#define NEIGHBOUR_HOLD_DOWN NEIGHBOUR_SECOND

enum neighbour_state {
	NEIGHBOUR_FREE,
	NEIGHBOUR_IDLE,	       /* opened; nobody has asked for the MAC */
	NEIGHBOUR_INCOMPLETE,  /* being solicited; no MAC */
	NEIGHBOUR_REACHABLE,   /* answered not long ago */
	NEIGHBOUR_PROBE,       /* the MAC is in use and being verified */
	NEIGHBOUR_UNREACHABLE, /* nobody answered */
	NEIGHBOUR_PERMANENT,   /* never solicited: one of our own addresses */
};

struct neighbour {
	struct timer timer;
	uint8_t address[16];
	uint8_t source[16]; /* the address of ours that solicits */
	uint16_t vlan;
	uint8_t mac[6];
	enum neighbour_state state;
	uint32_t solicited; /* solicitations of this attempt */
	uint32_t generation;
	uint32_t next;	  /* of the hash chain, or of the free list */
	uint64_t changed; /* when the MAC was set last */
	uint64_t asked;	  /* when somebody wanted it last */
	uint64_t told;	  /* UNREACHABLE: when that was reported first */
	bool has_told;
};

struct neighbours;

/* Sends a solicitation, to the known MAC or to all. */
typedef void neighbour_solicit(struct neighbours *neighbours, const struct neighbour *neighbour,
	bool to_all, void *context);

struct neighbours {
	struct neighbour *entries;
	uint32_t *buckets;
	uint32_t capacity;
	uint32_t free; /* first of the free list */
	uint32_t count;
	struct timers timers;
	struct random random;
	neighbour_solicit *solicit;
	uint64_t changes;     /* MACs that came, changed or went: see struct port's epoch */
	uint64_t unreachable; /* attempts that failed */
	struct log_limit log;
};

/* Capacity up to NEIGHBOURS_MAX. 0 or -ENOMEM. */
int neighbours_init(struct neighbours *neighbours, uint32_t capacity, uint64_t seed,
	neighbour_solicit *solicit);
void neighbours_fini(struct neighbours *neighbours);

#define NEIGHBOURS_MAX 4096u

/* Finds or makes the entry of a next hop. 0, or -ENOBUFS if the table is full of permanent ones. */
int neighbours_open(struct neighbours *neighbours, const uint8_t address[16], uint16_t vlan,
	const uint8_t source[16], uint64_t now, uint32_t *id);
/* The same with a MAC that stays. */
int neighbours_open_permanent(struct neighbours *neighbours, const uint8_t address[16],
	uint16_t vlan, const uint8_t mac[6], uint32_t *id);
/* NULL if there is none. */
struct neighbour *neighbours_find(
	struct neighbours *neighbours, const uint8_t address[16], uint16_t vlan);

/*
 * 0 and the MAC; -EINPROGRESS; -EHOSTUNREACH, to everyone who asks within NEIGHBOUR_HOLD_DOWN of
 * the first who was told; -ESTALE: the entry was given up, open the address again.
 */
int neighbours_ask(
	struct neighbours *neighbours, uint32_t id, uint64_t now, uint8_t mac[6], void *context);

/* Does an answer to a solicitation of ours have to be expected? */
static inline bool neighbour_solicited(const struct neighbour *neighbour)
{
	return neighbour->state == NEIGHBOUR_INCOMPLETE || neighbour->state == NEIGHBOUR_PROBE;
}

static inline bool neighbour_has_mac(const struct neighbour *neighbour)
{
	return neighbour->state == NEIGHBOUR_REACHABLE || neighbour->state == NEIGHBOUR_PROBE ||
		neighbour->state == NEIGHBOUR_PERMANENT;
}

/* An answer came that says it was solicited. If none was, it is taken as heard. */
void neighbours_answered(struct neighbours *neighbours, struct neighbour *neighbour,
	const uint8_t mac[6], uint64_t now, void *context);
/* The neighbour gave its MAC without being asked. */
void neighbours_heard(struct neighbours *neighbours, struct neighbour *neighbour,
	const uint8_t mac[6], uint64_t now, void *context);
/* Something casts doubt on the MAC without replacing it. */
void neighbours_doubt(
	struct neighbours *neighbours, struct neighbour *neighbour, uint64_t now, void *context);

/* Repeats and ageing. Returns when the next is due. */
uint64_t neighbours_run(struct neighbours *neighbours, uint64_t now, void *context);

#endif
