/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The writing half of the map; hash_get() is inline in the header. A free slot has key 0 and the
 * value HASH_NONE, so that a look-up of key 0, which a packet can ask for, finds nothing.
 */
#include <errno.h>
#include <stdlib.h>

#include "hash.h"

static const struct hash_slot free_slot = {0, HASH_NONE};

int hash_init(struct hash *hash, uint32_t capacity)
{
	uint64_t size = 2;

	/* Strictly more than twice: a probe always meets a free slot. */
	while (size <= 2 * (uint64_t)capacity)
		size *= 2;
	if (size - 1 > UINT32_MAX)
		return -ENOMEM;
	hash->slots = calloc(size, sizeof(*hash->slots));
	if (!hash->slots)
		return -ENOMEM;
	for (uint64_t i = 0; i < size; i++)
		hash->slots[i] = free_slot;
	hash->mask = (uint32_t)(size - 1);
	hash->count = 0;
	return 0;
}

void hash_fini(struct hash *hash)
{
	free(hash->slots);
	hash->slots = NULL;
	hash->mask = 0;
	hash->count = 0;
}

/* The slot that holds the key, or the free one where its probe ends. */
static uint32_t find(const struct hash *hash, uint32_t key)
{
	uint32_t i = hash_home(hash, key);

	while (hash->slots[i].key != key && hash->slots[i].key != 0)
		i = (i + 1) & hash->mask;
	return i;
}

int hash_put(struct hash *hash, uint32_t key, uint32_t value)
{
	uint32_t i;

	/* HASH_NONE as a value could not be told from an absent key. */
	if (key == 0 || value == HASH_NONE)
		return -EINVAL;
	i = find(hash, key);
	if (hash->slots[i].key == key)
		return -EEXIST;
	if (2 * ((uint64_t)hash->count + 1) > hash->mask)
		return -ENOSPC;
	hash->slots[i].key = key;
	hash->slots[i].value = value;
	hash->count++;
	return 0;
}

/*
 * Closes the gap at `hole`: every later entry of the run whose probe would have passed the hole
 * moves into it (Knuth, The Art of Computer Programming 3, 6.4, algorithm R), so that no
 * tombstones are left and a look-up stays as short as if the key had never been there.
 */
static void shift_back(struct hash *hash, uint32_t hole)
{
	for (uint32_t i = (hole + 1) & hash->mask; hash->slots[i].key != 0;
		i = (i + 1) & hash->mask) {
		uint32_t from_home = (i - hash_home(hash, hash->slots[i].key)) & hash->mask;
		uint32_t from_hole = (i - hole) & hash->mask;

		if (from_home >= from_hole) {
			hash->slots[hole] = hash->slots[i];
			hole = i;
		}
	}
	hash->slots[hole] = free_slot;
}

int hash_remove(struct hash *hash, uint32_t key)
{
	uint32_t i;

	if (key == 0)
		return -ENOENT;
	i = find(hash, key);
	if (hash->slots[i].key != key)
		return -ENOENT;
	shift_back(hash, i);
	hash->count--;
	return 0;
}
