/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table and its state machine. Timers: one per entry. INCOMPLETE and PROBE: the next
 * solicitation, or the end of the attempt. REACHABLE: the beginning of a probe. Others: none.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "list.h"
#include "neighbours.h"

#define NONE UINT32_MAX
#define INDEX_BITS 12u
#define INDEX_MASK ((1u << INDEX_BITS) - 1)
#define BUCKETS 1024u /* a power of two */

_Static_assert(NEIGHBOURS_MAX <= INDEX_MASK + 1, "an index fits an id");

/* What a timer's function is given. */
struct run {
	struct neighbours *neighbours;
	void *context;
};

static void timer_due(struct timer *timer, uint64_t now, void *context);

int neighbours_init(
	struct neighbours *neighbours, uint32_t capacity, uint64_t seed, neighbour_solicit *solicit)
{
	memset(neighbours, 0, sizeof(*neighbours));
	neighbours->entries = calloc(capacity, sizeof(*neighbours->entries));
	neighbours->buckets = malloc(BUCKETS * sizeof(*neighbours->buckets));
	if (!neighbours->entries || !neighbours->buckets || timers_init(&neighbours->timers) ||
		timers_reserve(&neighbours->timers, capacity)) {
		neighbours_fini(neighbours);
		return -ENOMEM;
	}
	memset(neighbours->buckets, 0xff, BUCKETS * sizeof(*neighbours->buckets)); /* NONE */
	for (uint32_t i = 0; i < capacity; i++) {
		timer_init(&neighbours->entries[i].timer, timer_due);
		neighbours->entries[i].next = i + 1 < capacity ? i + 1 : NONE;
	}
	neighbours->capacity = capacity;
	neighbours->free = capacity ? 0 : NONE;
	neighbours->solicit = solicit;
	random_seed(&neighbours->random, seed);
	return 0;
}

void neighbours_fini(struct neighbours *neighbours)
{
	timers_fini(&neighbours->timers); /* touches the timers that are pending */
	free(neighbours->entries);
	free(neighbours->buckets);
}

/* Entries are made for our own QPs only, so the hash need not withstand chosen addresses. */
static uint32_t *bucket_of(struct neighbours *neighbours, const uint8_t address[16], uint16_t vlan)
{
	uint64_t low;

	memcpy(&low, address + 8, sizeof(low));
	low = (low ^ vlan) * 0x9e3779b97f4a7c15ull;
	return &neighbours->buckets[low >> 32 & (BUCKETS - 1)];
}

struct neighbour *neighbours_find(
	struct neighbours *neighbours, const uint8_t address[16], uint16_t vlan)
{
	uint32_t i = *bucket_of(neighbours, address, vlan);

	while (i != NONE) {
		struct neighbour *neighbour = &neighbours->entries[i];

		if (neighbour->vlan == vlan && address_equal(neighbour->address, address))
			return neighbour;
		i = neighbour->next;
	}
	return NULL;
}

static uint32_t index_of(const struct neighbours *neighbours, const struct neighbour *neighbour)
{
	return (uint32_t)(neighbour - neighbours->entries);
}

static uint32_t id_of(const struct neighbours *neighbours, const struct neighbour *neighbour)
{
	return neighbour->generation << INDEX_BITS | index_of(neighbours, neighbour);
}

/* The entry that is missed least, or NULL. */
static struct neighbour *victim(struct neighbours *neighbours)
{
	struct neighbour *best = NULL;
	bool best_dead = false;

	for (uint32_t i = 0; i < neighbours->capacity; i++) {
		struct neighbour *neighbour = &neighbours->entries[i];
		bool dead = neighbour->state == NEIGHBOUR_UNREACHABLE;

		if (neighbour->state == NEIGHBOUR_PERMANENT || neighbour->state == NEIGHBOUR_FREE)
			continue;
		if (!best || dead > best_dead ||
			(dead == best_dead && neighbour->asked < best->asked)) {
			best = neighbour;
			best_dead = dead;
		}
	}
	return best;
}

/* Whoever holds its id sees a change, asks, gets -ESTALE, and opens the address again. */
static void give_up(struct neighbours *neighbours, struct neighbour *neighbour)
{
	uint32_t index = index_of(neighbours, neighbour);
	uint32_t *link = bucket_of(neighbours, neighbour->address, neighbour->vlan);

	while (*link != index)
		link = &neighbours->entries[*link].next;
	*link = neighbour->next;
	timer_cancel(&neighbours->timers, &neighbour->timer);
	neighbour->state = NEIGHBOUR_FREE;
	neighbour->generation++;
	neighbour->next = neighbours->free;
	neighbours->free = index;
	neighbours->count--;
	neighbours->changes++;
}

static struct neighbour *take(
	struct neighbours *neighbours, const uint8_t address[16], uint16_t vlan)
{
	uint32_t *bucket = bucket_of(neighbours, address, vlan);
	struct neighbour *neighbour;

	if (neighbours->free == NONE) {
		neighbour = victim(neighbours);
		if (!neighbour)
			return NULL;
		give_up(neighbours, neighbour);
	}
	neighbour = &neighbours->entries[neighbours->free];
	neighbours->free = neighbour->next;
	neighbours->count++;
	memcpy(neighbour->address, address, 16);
	neighbour->vlan = vlan;
	neighbour->next = *bucket;
	*bucket = index_of(neighbours, neighbour);
	return neighbour;
}

int neighbours_open(struct neighbours *neighbours, const uint8_t address[16], uint16_t vlan,
	const uint8_t source[16], uint64_t now, uint32_t *id)
{
	struct neighbour *neighbour = neighbours_find(neighbours, address, vlan);

	if (!neighbour) {
		neighbour = take(neighbours, address, vlan);
		if (!neighbour)
			return -ENOBUFS;
		neighbour->state = NEIGHBOUR_IDLE;
		memcpy(neighbour->source, source, 16);
	}
	neighbour->asked = now;
	*id = id_of(neighbours, neighbour);
	return 0;
}

int neighbours_open_permanent(struct neighbours *neighbours, const uint8_t address[16],
	uint16_t vlan, const uint8_t mac[6], uint32_t *id)
{
	struct neighbour *neighbour = neighbours_find(neighbours, address, vlan);

	if (!neighbour) {
		neighbour = take(neighbours, address, vlan);
		if (!neighbour)
			return -ENOBUFS;
		neighbour->state = NEIGHBOUR_PERMANENT;
		memcpy(neighbour->mac, mac, 6);
	}
	*id = id_of(neighbours, neighbour);
	return 0;
}

/* Sends one of an attempt's solicitations and waits for the answer. */
static void solicit(
	struct neighbours *neighbours, struct neighbour *neighbour, uint64_t now, void *context)
{
	bool to_all = neighbour->state == NEIGHBOUR_INCOMPLETE ||
		neighbour->solicited >= NEIGHBOUR_SOLICITATIONS;

	neighbour->solicited++;
	timer_set(&neighbours->timers, &neighbour->timer, now + NEIGHBOUR_RETRANSMIT);
	neighbours->solicit(neighbours, neighbour, to_all, context);
}

static void begin(struct neighbours *neighbours, struct neighbour *neighbour,
	enum neighbour_state state, uint64_t now, void *context)
{
	neighbour->state = state;
	neighbour->solicited = 0;
	solicit(neighbours, neighbour, now, context);
}

static int report_unreachable(struct neighbour *neighbour, uint64_t now)
{
	if (!neighbour->has_told) {
		neighbour->has_told = true;
		neighbour->told = now;
	}
	return -EHOSTUNREACH;
}

static bool failure_is_fresh(const struct neighbour *neighbour, uint64_t now)
{
	return !neighbour->has_told || now - neighbour->told < NEIGHBOUR_HOLD_DOWN;
}

int neighbours_ask(
	struct neighbours *neighbours, uint32_t id, uint64_t now, uint8_t mac[6], void *context)
{
	struct neighbour *neighbour = &neighbours->entries[id & INDEX_MASK];

	if ((id & INDEX_MASK) >= neighbours->capacity || neighbour->state == NEIGHBOUR_FREE ||
		id_of(neighbours, neighbour) != id)
		return -ESTALE;
	neighbour->asked = now;
	if (neighbour_has_mac(neighbour)) {
		memcpy(mac, neighbour->mac, 6);
		return 0;
	}
	if (neighbour->state == NEIGHBOUR_UNREACHABLE && failure_is_fresh(neighbour, now))
		return report_unreachable(neighbour, now);
	if (neighbour->state != NEIGHBOUR_INCOMPLETE)
		begin(neighbours, neighbour, NEIGHBOUR_INCOMPLETE, now, context);
	return -EINPROGRESS;
}

static void set_mac(struct neighbours *neighbours, struct neighbour *neighbour,
	const uint8_t mac[6], uint64_t now)
{
	if (neighbour_has_mac(neighbour) && mac_equal(neighbour->mac, mac))
		return;
	memcpy(neighbour->mac, mac, 6);
	neighbour->changed = now;
	neighbours->changes++;
}

/* Half to one and a half of the time, so that neighbours do not fall due together. */
static uint64_t reachable_time(struct neighbours *neighbours)
{
	return NEIGHBOUR_REACHABLE_TIME / 2 +
		random_below(&neighbours->random, NEIGHBOUR_REACHABLE_TIME);
}

static bool mac_is_locked(const struct neighbour *neighbour, const uint8_t mac[6], uint64_t now)
{
	return neighbour_has_mac(neighbour) && !mac_equal(neighbour->mac, mac) &&
		now - neighbour->changed < NEIGHBOUR_LOCK_TIME;
}

void neighbours_answered(struct neighbours *neighbours, struct neighbour *neighbour,
	const uint8_t mac[6], uint64_t now, void *context)
{
	if (!neighbour_solicited(neighbour)) {
		neighbours_heard(neighbours, neighbour, mac, now, context);
		return;
	}
	if (mac_is_locked(neighbour, mac, now))
		return;
	set_mac(neighbours, neighbour, mac, now);
	neighbour->state = NEIGHBOUR_REACHABLE;
	timer_set(&neighbours->timers, &neighbour->timer, now + reachable_time(neighbours));
}

void neighbours_heard(struct neighbours *neighbours, struct neighbour *neighbour,
	const uint8_t mac[6], uint64_t now, void *context)
{
	if (neighbour->state == NEIGHBOUR_PERMANENT || mac_is_locked(neighbour, mac, now))
		return;
	if (neighbour_has_mac(neighbour) && mac_equal(neighbour->mac, mac))
		return;
	set_mac(neighbours, neighbour, mac, now);
	begin(neighbours, neighbour, NEIGHBOUR_PROBE, now, context);
}

void neighbours_doubt(
	struct neighbours *neighbours, struct neighbour *neighbour, uint64_t now, void *context)
{
	if (neighbour->state == NEIGHBOUR_REACHABLE)
		begin(neighbours, neighbour, NEIGHBOUR_PROBE, now, context);
}

static void fail(struct neighbours *neighbours, struct neighbour *neighbour, uint64_t now)
{
	char text[ADDRESS_TEXT];

	if (neighbour->state == NEIGHBOUR_PROBE)
		neighbours->changes++; /* its MAC was in use */
	neighbour->state = NEIGHBOUR_UNREACHABLE;
	neighbour->has_told = false;
	neighbours->unreachable++;
	if (!log_limited(&neighbours->log, now))
		return;
	if (neighbour->vlan)
		log_warning("neighbour %s on VLAN %u is unreachable: no answer to %u solicitations",
			address_format(text, neighbour->address), neighbour->vlan,
			neighbour->solicited);
	else
		log_warning("neighbour %s is unreachable: no answer to %u solicitations",
			address_format(text, neighbour->address), neighbour->solicited);
}

static void timer_due(struct timer *timer, uint64_t now, void *context)
{
	struct neighbour *neighbour = container_of(timer, struct neighbour, timer);
	struct run *run = context;
	uint32_t limit = NEIGHBOUR_SOLICITATIONS;

	if (neighbour->state == NEIGHBOUR_REACHABLE) {
		begin(run->neighbours, neighbour, NEIGHBOUR_PROBE, now, run->context);
		return;
	}
	if (neighbour->state == NEIGHBOUR_PROBE)
		limit *= 2; /* at the MAC, then to all */
	if (neighbour->solicited < limit)
		solicit(run->neighbours, neighbour, now, run->context);
	else
		fail(run->neighbours, neighbour, now);
}

uint64_t neighbours_run(struct neighbours *neighbours, uint64_t now, void *context)
{
	struct run run = {neighbours, context};

	timers_run(&neighbours->timers, now, &run);
	return timers_next(&neighbours->timers);
}
