/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * u32 -> u32 map with open addressing (linear probing, backward-shift deletion). Key 0 is not
 * allowed. Written by one owner.
 */
#ifndef UROCE_BASE_HASH_H
#define UROCE_BASE_HASH_H

#include <stdint.h>

#define HASH_NONE UINT32_MAX

struct hash_slot {
	uint32_t key; /* 0: free */
	uint32_t value;
};

struct hash {
	struct hash_slot *slots;
	uint32_t mask;
	uint32_t count;
};

/* Room for at least `capacity` entries at a load below 1/2. 0 or -ENOMEM. */
int hash_init(struct hash *hash, uint32_t capacity);
void hash_fini(struct hash *hash);
/* 0, -EEXIST, -ENOSPC (never grows), -EINVAL for key 0. */
int hash_put(struct hash *hash, uint32_t key, uint32_t value);
/* 0 or -ENOENT. */
int hash_remove(struct hash *hash, uint32_t key);

static inline uint32_t hash_home(const struct hash *hash, uint32_t key)
{
	return (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> 32) & hash->mask;
}

static inline uint32_t hash_get(const struct hash *hash, uint32_t key)
{
	for (uint32_t i = hash_home(hash, key);; i = (i + 1) & hash->mask) {
		if (hash->slots[i].key == key)
			return hash->slots[i].value;
		if (hash->slots[i].key == 0)
			return HASH_NONE;
	}
}

#endif
