/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Send rings, the engine's side.
 *
 * In process, an rte_ring is used as it is. Its consumer trusts the size and mask that lie in the
 * ring's own memory, so where the client is another process the engine takes the entries itself:
 * by the geometry and the position that it keeps, from the producer's tail only.
 */
#include <errno.h>
#include <stdlib.h>

#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "sendring.h"

#define ENTRY ((unsigned int)sizeof(uint32_t))
#define WORDS (SENDRING_MAX / 64u)

_Static_assert(WORDS <= 32, "one word says which words are used");

/* A ring holds two announcements for each QP of the quota, and rte_ring leaves one entry unused. */
#define QUOTA_MAX (RTE_RING_SZ_MASK / 4u)

struct sendring {
	struct rte_ring *ring;
	uroce_abi_ref ref;
	uint32_t taken; /* hostile: our consumer position */
	bool leaving;	/* its thread has left */
};

struct sendring_set {
	uint64_t attached[WORDS];
	uint32_t used; /* bit n: attached[n] is not 0 */
	uint32_t next; /* the ring to look at first */
	uint32_t size; /* entries a ring, a power of two */
	bool hostile;
	struct sendring rings[SENDRING_MAX];
};

static uint64_t ring_bytes(const struct sendring_set *set)
{
	return sizeof(struct rte_ring) + (uint64_t)set->size * ENTRY;
}

int sendring_set_create(
	struct region *region, uint32_t quota, bool hostile, struct sendring_set **created)
{
	struct sendring_set *set;

	if (quota > QUOTA_MAX)
		return -ENOMEM;
	set = calloc(1, sizeof(*set));
	if (!set)
		return -ENOMEM;
	set->size = (uint32_t)rte_align32pow2(2 * quota + 2);
	set->hostile = hostile;
	*created = set;
	return 0;
}

static bool is_attached(const struct sendring_set *set, uint32_t bit)
{
	return set->attached[bit / 64] >> (bit % 64) & 1;
}

static void drop(struct region *region, struct sendring_set *set, uint32_t bit)
{
	set->attached[bit / 64] &= ~(1ull << (bit % 64));
	if (set->attached[bit / 64] == 0)
		set->used &= ~(1u << (bit / 64));
	region_free(region, set->rings[bit].ref, ring_bytes(set));
	set->rings[bit] = (struct sendring){0};
}

void sendring_set_destroy(struct region *region, struct sendring_set *set)
{
	if (!set)
		return;
	for (uint32_t bit = 0; bit < SENDRING_MAX; bit++)
		if (is_attached(set, bit))
			drop(region, set, bit);
	free(set);
}

/* Acquire: pairs with the release store of the tail in rte_ring's enqueue. */
static uint32_t announced(const struct sendring *sub)
{
	return __atomic_load_n(&sub->ring->prod.tail, __ATOMIC_ACQUIRE);
}

static uint32_t position(const struct sendring_set *set, const struct sendring *sub)
{
	return set->hostile ? sub->taken : __atomic_load_n(&sub->ring->cons.tail, __ATOMIC_RELAXED);
}

static bool is_empty(const struct sendring_set *set, const struct sendring *sub)
{
	return announced(sub) == position(set, sub);
}

/* Rings whose threads have left and whose announcements were taken. */
static void sweep(struct region *region, struct sendring_set *set)
{
	for (uint32_t bit = 0; bit < SENDRING_MAX; bit++)
		if (set->rings[bit].leaving && is_empty(set, &set->rings[bit]))
			drop(region, set, bit);
}

static int free_bit(const struct sendring_set *set, uint32_t *bit)
{
	for (uint32_t word = 0; word < WORDS; word++) {
		if (set->attached[word] == UINT64_MAX)
			continue;
		*bit = word * 64 + (uint32_t)__builtin_ctzll(~set->attached[word]);
		return 0;
	}
	return -EAGAIN;
}

int sendring_attach(
	struct region *region, struct sendring_set *set, uroce_abi_ref *ref, uint32_t *bit)
{
	struct sendring *sub;
	int error;

	sweep(region, set);
	error = free_bit(set, bit);
	if (error)
		return error;
	sub = &set->rings[*bit];
	sub->ref = region_alloc(region, ring_bytes(set));
	if (!sub->ref)
		return -ENOMEM;
	region_sparse(region, sub->ref, ring_bytes(set));
	sub->ring = region_at(region_engine_view(region), sub->ref, ring_bytes(set));
	error = rte_ring_init(sub->ring, "send", set->size, RING_F_SP_ENQ | RING_F_SC_DEQ);
	if (error) {
		drop(region, set, *bit);
		return error;
	}
	set->attached[*bit / 64] |= 1ull << (*bit % 64);
	set->used |= 1u << (*bit / 64);
	*ref = sub->ref;
	return 0;
}

int sendring_detach(struct region *region, struct sendring_set *set, uint32_t bit)
{
	if (bit >= SENDRING_MAX || !is_attached(set, bit) || set->rings[bit].leaving)
		return -EINVAL;
	set->rings[bit].leaving = true;
	sweep(region, set);
	return 0;
}

/*
 * The tail is the client's word. More than a ring holds cannot be: the entries are dropped, the
 * position follows, and what the client loses was its own.
 */
static uint32_t take_hostile(const struct sendring_set *set, struct sendring *sub,
	uint32_t *announcements, uint32_t count)
{
	const uint32_t *entries = (const uint32_t *)(const void *)&sub->ring[1];
	uint32_t tail = announced(sub);
	uint32_t available = tail - sub->taken;

	if (available >= set->size) {
		sub->taken = tail;
		available = 0;
	}
	if (count > available)
		count = available;
	for (uint32_t i = 0; i < count; i++)
		announcements[i] = __atomic_load_n(
			&entries[(sub->taken + i) & (set->size - 1)], __ATOMIC_RELAXED);
	sub->taken += count;
	/* Release: pairs with the acquire of this tail in rte_ring's enqueue. */
	__atomic_store_n(&sub->ring->cons.tail, sub->taken, __ATOMIC_RELEASE);
	return count;
}

static uint32_t take_one(
	struct sendring_set *set, struct sendring *sub, uint32_t *announcements, uint32_t count)
{
	if (is_empty(set, sub))
		return 0;
	if (set->hostile)
		return take_hostile(set, sub, announcements, count);
	return rte_ring_sc_dequeue_burst_elem(sub->ring, announcements, ENTRY, count, NULL);
}

/* The attached ring at or behind `from`, in a circle; SENDRING_MAX if there is none. */
static uint32_t next_ring(const struct sendring_set *set, uint32_t from)
{
	uint32_t word = from / 64;
	uint64_t bits = set->attached[word] & (UINT64_MAX << (from % 64));

	if (!bits) {
		uint32_t behind = set->used & ~((2u << word) - 1);

		if (!set->used)
			return SENDRING_MAX;
		word = (uint32_t)__builtin_ctz(behind ? behind : set->used);
		bits = set->attached[word];
	}
	return word * 64 + (uint32_t)__builtin_ctzll(bits);
}

uint32_t sendring_take(struct sendring_set *set, uint32_t *announcements, uint32_t count)
{
	uint32_t first = next_ring(set, set->next);
	uint32_t bit = first;
	uint32_t taken = 0;

	if (first == SENDRING_MAX || count == 0)
		return 0;
	do {
		taken += take_one(set, &set->rings[bit], announcements + taken, count - taken);
		bit = next_ring(set, (bit + 1) % SENDRING_MAX);
	} while (taken < count && bit != first);
	set->next = bit;
	return taken;
}

uint32_t sendring_count(const struct sendring_set *set)
{
	uint32_t count = 0;

	for (uint32_t word = 0; word < WORDS; word++)
		count += (uint32_t)__builtin_popcountll(set->attached[word]);
	return count;
}

bool sendring_empty(const struct sendring_set *set)
{
	for (uint32_t word = 0; word < WORDS; word++)
		for (uint64_t bits = set->attached[word]; bits; bits &= bits - 1) {
			uint32_t bit = word * 64 + (uint32_t)__builtin_ctzll(bits);

			if (!is_empty(set, &set->rings[bit]))
				return false;
		}
	return true;
}

/* Full barrier between the two; pairs with the exchange in sendring_announce(). */
void sendring_taken(struct uroce_abi_ring *queue)
{
	__atomic_exchange_n(&queue->flag.word, 0, __ATOMIC_SEQ_CST);
}

/* Full barrier; pairs with the read-modify-write in sendring_wakes(). */
void sendring_sleep(struct uroce_abi_header *header, uint32_t core)
{
	__atomic_exchange_n(&header->core[core].asleep, 1, __ATOMIC_SEQ_CST);
}

void sendring_awake(struct uroce_abi_header *header, uint32_t core)
{
	__atomic_store_n(&header->core[core].asleep, 0, __ATOMIC_RELAXED);
}
