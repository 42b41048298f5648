/* SPDX-License-Identifier: BSD-3-Clause */
/* The hash map: its error values, runs of colliding keys, and a long walk beside a plain array. */
#include <errno.h>
#include <stdint.h>

#include "hash.h"
#include "random.h"
#include "unit.h"

static void errors(void)
{
	struct hash hash;

	CU_ASSERT_EQUAL_FATAL(hash_init(&hash, 4), 0);
	CU_ASSERT_EQUAL(hash_put(&hash, 0, 1), -EINVAL);
	CU_ASSERT_EQUAL(hash_put(&hash, 1, HASH_NONE), -EINVAL);
	CU_ASSERT_EQUAL(hash_put(&hash, 1, 10), 0);
	CU_ASSERT_EQUAL(hash_put(&hash, 1, 11), -EEXIST);
	CU_ASSERT_EQUAL(hash_get(&hash, 1), 10);
	CU_ASSERT_EQUAL(hash_remove(&hash, 2), -ENOENT);
	CU_ASSERT_EQUAL(hash_remove(&hash, 0), -ENOENT);
	CU_ASSERT_EQUAL(hash_remove(&hash, 1), 0);
	CU_ASSERT_EQUAL(hash_remove(&hash, 1), -ENOENT);
	CU_ASSERT_EQUAL(hash_get(&hash, 1), HASH_NONE);
	hash_fini(&hash);
}

/* Finds `count` keys that share the home slot `home`. */
static void keys_of_home(const struct hash *hash, uint32_t home, uint32_t *keys, uint32_t count)
{
	uint32_t key = 0;

	for (uint32_t found = 0; found < count;)
		if (hash_home(hash, ++key) == home)
			keys[found++] = key;
}

/*
 * A packet may name key 0: it is absent from an empty map, a used one, and one whose first slot,
 * where the search for 0 begins, was used before.
 */
static void key_zero_is_absent(void)
{
	struct hash hash;
	uint32_t keys[2];

	CU_ASSERT_EQUAL_FATAL(hash_init(&hash, 8), 0);
	CU_ASSERT_EQUAL(hash_get(&hash, 0), HASH_NONE);
	CU_ASSERT_EQUAL(hash_home(&hash, 0), 0);
	keys_of_home(&hash, 0, keys, 2);
	for (unsigned int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(hash_put(&hash, keys[i], 5), 0);
	CU_ASSERT_EQUAL(hash_get(&hash, 0), HASH_NONE);
	for (unsigned int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(hash_remove(&hash, keys[i]), 0);
	CU_ASSERT_EQUAL(hash_get(&hash, 0), HASH_NONE);
	hash_fini(&hash);
}

/* The promised capacity fits, the load stays below 1/2, and a full map says so and still works. */
static void capacity(void)
{
	static const uint32_t capacities[] = {0, 1, 2, 3, 4, 5, 100, 127, 128, 1000};

	for (unsigned int row = 0; row < sizeof(capacities) / sizeof(capacities[0]); row++) {
		struct hash hash;
		uint32_t n = 0;

		CU_ASSERT_EQUAL_FATAL(hash_init(&hash, capacities[row]), 0);
		while (hash_put(&hash, n + 1, n) == 0)
			n++;
		CU_ASSERT(n >= capacities[row]);
		CU_ASSERT_EQUAL(hash.count, n);
		CU_ASSERT(2 * (uint64_t)n < (uint64_t)hash.mask + 1);
		CU_ASSERT_EQUAL(hash_put(&hash, n + 1, n), -ENOSPC);
		CU_ASSERT_EQUAL(hash_get(&hash, n + 1), HASH_NONE);
		if (n > 0) {
			CU_ASSERT_EQUAL(hash_put(&hash, 1, 7), -EEXIST);
			CU_ASSERT_EQUAL(hash_remove(&hash, 1), 0);
			CU_ASSERT_EQUAL(hash_put(&hash, n + 1, n), 0);
			CU_ASSERT_EQUAL(hash_get(&hash, n + 1), n);
		}
		hash_fini(&hash);
	}
}

static void capacity_too_large(void)
{
	struct hash hash;

	CU_ASSERT_EQUAL(hash_init(&hash, 0x80000000u), -ENOMEM);
	CU_ASSERT_EQUAL(hash_init(&hash, UINT32_MAX), -ENOMEM);
}

/*
 * Two runs of four keys each, the first beginning in the last slot so that it goes round the end
 * of the table; whichever key is removed, the other seven are still found.
 */
static void removal_closes_the_gap(void)
{
	struct hash hash;
	uint32_t keys[8];

	for (unsigned int gone = 0; gone < 8; gone++) {
		CU_ASSERT_EQUAL_FATAL(hash_init(&hash, 8), 0);
		keys_of_home(&hash, hash.mask, keys, 4);
		keys_of_home(&hash, 1, keys + 4, 4);
		for (unsigned int i = 0; i < 8; i++)
			CU_ASSERT_EQUAL(hash_put(&hash, keys[i], i), 0);
		CU_ASSERT_EQUAL(hash_remove(&hash, keys[gone]), 0);
		for (unsigned int i = 0; i < 8; i++)
			CU_ASSERT_EQUAL(hash_get(&hash, keys[i]), i == gone ? HASH_NONE : i);
		hash_fini(&hash);
	}
}

#define MODEL_ENTRIES 24u
#define MODEL_KEYS 60u
#define MODEL_STEPS 200000u

/* The model: an array that is searched from end to end. */
struct model {
	struct hash_slot entries[MODEL_ENTRIES];
	uint32_t count;
};

static struct hash_slot *model_find(struct model *model, uint32_t key)
{
	for (uint32_t i = 0; i < model->count; i++)
		if (model->entries[i].key == key)
			return &model->entries[i];
	return NULL;
}

static void model_put(struct model *model, struct hash *hash, uint32_t key, uint32_t value)
{
	if (model_find(model, key)) {
		CU_ASSERT_EQUAL(hash_put(hash, key, value), -EEXIST);
		return;
	}
	if (model->count == MODEL_ENTRIES)
		return;
	CU_ASSERT_EQUAL(hash_put(hash, key, value), 0);
	model->entries[model->count].key = key;
	model->entries[model->count++].value = value;
}

static void model_remove(struct model *model, struct hash *hash, uint32_t key)
{
	struct hash_slot *entry = model_find(model, key);

	CU_ASSERT_EQUAL(hash_remove(hash, key), entry ? 0 : -ENOENT);
	if (entry)
		*entry = model->entries[--model->count];
}

/* Returns how many keys the two disagree about. */
static unsigned int model_compare(struct model *model, const struct hash *hash)
{
	unsigned int wrong = model->count != hash->count;

	for (uint32_t key = 1; key <= MODEL_KEYS; key++) {
		struct hash_slot *entry = model_find(model, key);

		wrong += hash_get(hash, key) != (entry ? entry->value : HASH_NONE);
	}
	return wrong;
}

static void random_walk_beside_a_model(void)
{
	struct model model = {.count = 0};
	struct random random;
	struct hash hash;
	unsigned int wrong = 0;

	random_seed(&random, 1);
	CU_ASSERT_EQUAL_FATAL(hash_init(&hash, MODEL_ENTRIES), 0);
	for (uint32_t step = 0; step < MODEL_STEPS; step++) {
		uint32_t key = 1 + (uint32_t)random_below(&random, MODEL_KEYS);

		if (random_below(&random, 2))
			model_put(&model, &hash, key, step);
		else
			model_remove(&model, &hash, key);
		wrong += model_compare(&model, &hash);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	hash_fini(&hash);
}

static const struct unit_case cases[] = {
	UNIT_CASE(errors),
	UNIT_CASE(key_zero_is_absent),
	UNIT_CASE(capacity),
	UNIT_CASE(capacity_too_large),
	UNIT_CASE(removal_closes_the_gap),
	UNIT_CASE(random_walk_beside_a_model),
};

UNIT_MAIN("base-hash", cases)
