/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of next hops: see hops.h. */
#include <errno.h>
#include <linux/neighbour.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "hops.h"

#define NONE UINT32_MAX
#define INDEX_BITS 12
#define INDEX_MASK (HOPS_MAX - 1)
#define NEVER UINT64_MAX

_Static_assert(HOPS_MAX == 1u << INDEX_BITS, "an id holds an index and a generation");

#define HAS_MAC (NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE)

int hops_init(struct hops *hops, uint32_t capacity, struct hops_io *io)
{
	memset(hops, 0, sizeof(*hops));
	hops->entries = calloc(capacity, sizeof(*hops->entries));
	hops->buckets = malloc(capacity * sizeof(*hops->buckets));
	if (!hops->entries || !hops->buckets) {
		hops_fini(hops);
		return -ENOMEM;
	}
	memset(hops->buckets, 0xff, capacity * sizeof(*hops->buckets));
	hops->capacity = capacity;
	hops->io = io;
	return 0;
}

void hops_fini(struct hops *hops)
{
	free(hops->entries);
	free(hops->buckets);
	hops->entries = NULL;
	hops->buckets = NULL;
}

/* ---- the table ---- */

/* FNV-1a. The keys are chosen by our own QPs: nobody else can make chains long. */
static uint32_t *bucket_of(
	struct hops *hops, const uint8_t source[16], const uint8_t destination[16])
{
	uint32_t hash = 2166136261u;

	for (unsigned int i = 0; i < 16; i++)
		hash = (hash ^ source[i]) * 16777619u;
	for (unsigned int i = 0; i < 16; i++)
		hash = (hash ^ destination[i]) * 16777619u;
	return &hops->buckets[hash % hops->capacity];
}

static struct hop *find(struct hops *hops, const uint8_t source[16], const uint8_t destination[16])
{
	uint32_t at = *bucket_of(hops, source, destination);

	while (at != NONE) {
		struct hop *hop = &hops->entries[at];

		if (address_equal(hop->destination, destination) &&
			address_equal(hop->source, source))
			return hop;
		at = hop->chain;
	}
	return NULL;
}

static uint32_t index_of(const struct hops *hops, const struct hop *hop)
{
	return (uint32_t)(hop - hops->entries);
}

static void unlink_hop(struct hops *hops, struct hop *hop)
{
	uint32_t *at = bucket_of(hops, hop->source, hop->destination);

	while (*at != index_of(hops, hop))
		at = &hops->entries[*at].chain;
	*at = hop->chain;
}

/* Whoever has its id learns by the epoch that it is another one. */
static struct hop *give_up_oldest(struct hops *hops)
{
	struct hop *oldest = &hops->entries[0];

	for (uint32_t i = 1; i < hops->used; i++)
		if (hops->entries[i].asked < oldest->asked)
			oldest = &hops->entries[i];
	unlink_hop(hops, oldest);
	if (oldest->reroute)
		hops->reroutes--;
	hops->changes++;
	return oldest;
}

static struct hop *take(struct hops *hops)
{
	return hops->used < hops->capacity ? &hops->entries[hops->used++] : give_up_oldest(hops);
}

static struct hop *add(struct hops *hops, const uint8_t source[16], const uint8_t destination[16])
{
	struct hop *hop = take(hops);
	uint32_t *bucket = bucket_of(hops, source, destination);

	*hop = (struct hop){.state = HOP_IDLE, .generation = hop->generation + 1, .chain = *bucket};
	memcpy(hop->source, source, sizeof(hop->source));
	memcpy(hop->destination, destination, sizeof(hop->destination));
	*bucket = index_of(hops, hop);
	return hop;
}

static struct hop *by_id(struct hops *hops, uint32_t id)
{
	uint32_t index = id & INDEX_MASK;
	struct hop *hop = index < hops->used ? &hops->entries[index] : NULL;

	return hop && (hop->generation ^ id >> INDEX_BITS) << INDEX_BITS == 0 ? hop : NULL;
}

/* ---- what becomes of an entry ---- */

static void ask_kernel(struct hops *hops, struct hop *hop, uint64_t now)
{
	hop->state = HOP_ASKED;
	hop->started = now;
	hop->look = now + HOPS_LOOK;
	hops->io->use(hops->io, hop->source, hop->next);
}

static void fail(struct hops *hops, struct hop *hop, const char *what, uint64_t now)
{
	char to[ADDRESS_TEXT], next[ADDRESS_TEXT];

	if (hop->state == HOP_FAILED)
		return;
	hop->state = HOP_FAILED;
	hop->has_told = false;
	hop->has_mac = false;
	hops->unreachable++;
	hops->changes++;
	if (log_limited(&hops->log, now))
		log_warning("%s, the next hop to %s, %s", address_format(next, hop->next),
			address_format(to, hop->destination), what);
}

static void set_mac(struct hops *hops, struct hop *hop, const uint8_t mac[6])
{
	if (!hop->has_mac || !mac_equal(hop->mac, mac))
		hops->changes++;
	memcpy(hop->mac, mac, sizeof(hop->mac));
	hop->has_mac = true;
}

/*
 * What the kernel knows, into the entry. A MAC that fails is that of a verification, for which the
 * kernel asks that MAC alone (ucast_solicit): now it is to ask everybody.
 */
static void learn(
	struct hops *hops, struct hop *hop, const struct rtnl_neighbour *neighbour, uint64_t now)
{
	if (neighbour->state & HAS_MAC && neighbour->has_mac) {
		set_mac(hops, hop, neighbour->mac);
		if (neighbour->state & NUD_STALE)
			hops->io->use(hops->io, hop->source, hop->next);
		hop->state = HOP_KNOWN;
	} else if (neighbour->state & NUD_FAILED && hop->state == HOP_ASKED) {
		fail(hops, hop, "is unreachable, says the kernel", now);
	} else if (hop->state == HOP_KNOWN) {
		ask_kernel(hops, hop, now);
	}
}

/* Somebody wants the MAC of an entry that is at rest. An old failure of the kernel's is no answer:
 * it is asked anew. */
static void begin(struct hops *hops, struct hop *hop, uint64_t now)
{
	struct rtnl_neighbour neighbour;

	hop->state = HOP_IDLE;
	if (hops->io->look(hops->io, hop->next, &neighbour) == 0)
		learn(hops, hop, &neighbour, now);
	if (hop->state == HOP_IDLE)
		ask_kernel(hops, hop, now);
}

/* An attempt of the kernel's of which nothing has been heard. */
static void look_again(struct hops *hops, struct hop *hop, uint64_t now)
{
	struct rtnl_neighbour neighbour;

	if (now - hop->started >= HOPS_PATIENCE) {
		fail(hops, hop, "is unknown to the kernel", now);
		return;
	}
	hop->look = now + HOPS_LOOK;
	if (hops->io->look(hops->io, hop->next, &neighbour) == 0)
		learn(hops, hop, &neighbour, now);
	else
		hops->io->use(hops->io, hop->source, hop->next);
}

/* The MAC of another next hop is none of this one's. */
static void set_next(struct hop *hop, const uint8_t next[16])
{
	if (!address_equal(hop->next, next))
		hop->has_mac = false;
	memcpy(hop->next, next, sizeof(hop->next));
}

static void route_again(struct hops *hops, struct hop *hop, uint64_t now)
{
	uint8_t next[16];
	int error = hops->io->route(hops->io, hop->source, hop->destination, next);

	hop->reroute = false;
	hops->reroutes--;
	hop->no_route = error != 0;
	if (error) {
		fail(hops, hop, "is no longer on this interface: the routes have changed", now);
		return;
	}
	if (address_equal(next, hop->next) && hop->state != HOP_FAILED)
		return;
	set_next(hop, next);
	if (hop->state != HOP_IDLE)
		begin(hops, hop, now);
}

/* ---- calls ---- */

int hops_open(struct hops *hops, const uint8_t source[16], const uint8_t destination[16],
	uint64_t now, uint32_t *id)
{
	struct hop *hop = find(hops, source, destination);
	uint8_t next[16];
	int error = hops->io->route(hops->io, source, destination, next);

	if (error)
		return error;
	if (!hop)
		hop = add(hops, source, destination);
	else if (!address_equal(hop->next, next) || hop->no_route)
		hop->state = HOP_IDLE;
	hop->no_route = false;
	set_next(hop, next);
	hop->asked = now;
	*id = hop->generation << INDEX_BITS | index_of(hops, hop);
	return 0;
}

/* Each who asks within the hold-down of the first who was told is told the same. */
static bool is_told(struct hop *hop, uint64_t now)
{
	if (!hop->has_told) {
		hop->has_told = true;
		hop->told = now;
	}
	return now - hop->told < HOPS_HOLD_DOWN;
}

int hops_ask(struct hops *hops, uint32_t id, uint64_t now, uint8_t mac[6])
{
	struct hop *hop = by_id(hops, id);

	if (!hop)
		return -ESTALE;
	hop->asked = now;
	if (hop->state == HOP_FAILED && is_told(hop, now))
		return -EHOSTUNREACH;
	if (hop->state == HOP_FAILED) { /* perhaps there is another way by now */
		if (!hop->reroute)
			hops->reroutes++;
		hop->reroute = true;
		hop->state = HOP_IDLE;
		route_again(hops, hop, now);
		if (hop->state == HOP_FAILED)
			return -EHOSTUNREACH;
	}
	if (hop->state == HOP_IDLE)
		begin(hops, hop, now);
	if (!hop->has_mac)
		return -EINPROGRESS;
	memcpy(mac, hop->mac, sizeof(hop->mac));
	return 0;
}

/* A neighbour is told of by its interface; that it is ours has been seen to. */
void hops_heard(struct hops *hops, const struct rtnl_neighbour *neighbour, bool gone, uint64_t now)
{
	struct rtnl_neighbour none = *neighbour;

	if (gone)
		none.state = NUD_NONE;
	for (uint32_t i = 0; i < hops->used; i++) {
		struct hop *hop = &hops->entries[i];

		if (hop->state != HOP_IDLE && address_equal(hop->next, neighbour->address))
			learn(hops, hop, &none, now);
	}
}

void hops_reroute(struct hops *hops)
{
	for (uint32_t i = 0; i < hops->used; i++)
		hops->entries[i].reroute = true;
	hops->reroutes = hops->used;
}

void hops_resync(struct hops *hops, uint64_t now)
{
	hops_reroute(hops);
	for (uint32_t i = 0; i < hops->used; i++) {
		struct hop *hop = &hops->entries[i];

		if (hop->state != HOP_KNOWN && hop->state != HOP_ASKED)
			continue;
		if (hop->state == HOP_KNOWN)
			hop->started = now;
		hop->state = HOP_ASKED;
		hop->look = now;
	}
}

/* Returns how many questions there are left. */
static uint32_t reroute_some(struct hops *hops, uint64_t now)
{
	uint32_t left = HOPS_QUESTIONS;

	while (left && hops->reroutes) {
		struct hop *hop = &hops->entries[hops->reroute_next++ % hops->used];

		if (!hop->reroute)
			continue;
		route_again(hops, hop, now);
		left--;
	}
	return left;
}

/* When to listen for the answer to an attempt, and to look for it. */
static uint64_t due(const struct hop *hop, uint64_t now)
{
	uint64_t listen = now + (now - hop->started < HOPS_EAGER_TIME ? HOPS_EAGER : HOPS_LATER);

	return hop->look < listen ? hop->look : listen;
}

uint64_t hops_run(struct hops *hops, uint64_t now)
{
	uint32_t questions = reroute_some(hops, now);
	uint64_t next = hops->reroutes ? now : NEVER;

	for (uint32_t i = 0; i < hops->used; i++) {
		struct hop *hop = &hops->entries[i];

		if (hop->state == HOP_ASKED && now >= hop->look && questions) {
			look_again(hops, hop, now);
			questions--;
		}
		if (hop->state == HOP_ASKED && due(hop, now) < next)
			next = due(hop, now);
	}
	return next;
}
