/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random control calls, binds and accesses on a small table, each beside a model that is as plain
 * as can be: an array of records, 128-bit arithmetic, no keys but those it was told.
 */
#include <errno.h>

#include "fixture.h"

#define CAPACITY 24
#define STEPS 400000

struct record {
	uint32_t key; /* 0: none */
	int kind;     /* 0: region, else the window's type */
	uint32_t pd;
	uint32_t access;
	uint64_t iova, length, host;
	struct record *region; /* of a bound window */
	uint32_t qp_num;
};

struct model {
	struct mem_table *table;
	struct random random;
	struct record records[CAPACITY];
	unsigned int waiting; /* unlinked since the last reclaim */
	unsigned int wrong;
	unsigned int passed; /* accesses and binds that were allowed: the test must not be empty */
};

typedef unsigned __int128 wide;

static uint64_t below(struct model *model, uint64_t bound)
{
	return random_below(&model->random, bound);
}

/* Few values, so that things meet; some near 2^64. */
static uint64_t address(struct model *model)
{
	static const uint64_t bases[] = {0, 0x1000, 0x1000, 0x1000, UINT64_MAX - 127};

	return bases[below(model, 5)] + below(model, 128);
}

static uint64_t some_length(struct model *model)
{
	return below(model, 20) == 0 ? UINT64_MAX - below(model, 0x1100) : below(model, 100);
}

static uint32_t pd(struct model *model)
{
	return below(model, 8) == 0;
}

static bool inside(const struct record *record, uint64_t at, uint64_t length)
{
	return at >= record->iova && (wide)at + length <= (wide)record->iova + record->length;
}

static struct record *by_key(struct model *model, uint32_t key)
{
	for (int i = 0; i < CAPACITY; i++)
		if (model->records[i].key == key && key != 0)
			return &model->records[i];
	return NULL;
}

/* Mostly a live one of that kind (-1: any); else one that was never given, or is of another kind.
 */
static uint32_t some_key(struct model *model, int kind)
{
	for (int i = 0; i < 40; i++) {
		const struct record *record = &model->records[below(model, CAPACITY)];

		if (record->key != 0 && (kind < 0 || record->kind == kind))
			return below(model, 20) == 0 ? record->key ^ 1u << below(model, 32)
						     : record->key;
	}
	return (uint32_t)random_next(&model->random);
}

static unsigned int bound_to(const struct model *model, const struct record *region)
{
	unsigned int count = 0;

	for (int i = 0; i < CAPACITY; i++)
		count += model->records[i].key != 0 && model->records[i].region == region;
	return count;
}

static unsigned int live(const struct model *model)
{
	unsigned int count = 0;

	for (int i = 0; i < CAPACITY; i++)
		count += model->records[i].key != 0;
	return count;
}

static void expect(struct model *model, int64_t got, int64_t wanted)
{
	model->wrong += got != wanted;
}

/* A new key: no other live entry has its index. */
static void adopt(struct model *model, struct record *record, uint32_t key)
{
	for (int i = 0; i < CAPACITY; i++)
		if (&model->records[i] != record && model->records[i].key != 0)
			model->wrong += model->records[i].key >> 8 == key >> 8;
	model->wrong += key >> 8 == 0 || key >> 8 > CAPACITY;
	record->key = key;
}

static struct record *vacant(struct model *model)
{
	for (int i = 0; i < CAPACITY; i++)
		if (model->records[i].key == 0)
			return &model->records[i];
	return NULL;
}

static int region_error(const struct record *record)
{
	if (record->access >= 32)
		return -EOPNOTSUPP;
	if ((record->access & (RW | RA)) && !(record->access & LW))
		return -EINVAL;
	if ((wide)record->iova + record->length > (wide)1 << 64)
		return -EINVAL;
	return (wide)record->host + record->length > (wide)1 << 64 ? -EINVAL : 0;
}

static struct record random_region(struct model *model)
{
	return (struct record){
		.pd = pd(model),
		.access = (uint32_t)below(model, 34) | (below(model, 2) ? LW | MB : 0),
		.iova = address(model),
		.length = some_length(model),
		.host = 0x10000 + below(model, 8),
	};
}

static bool full(const struct model *model)
{
	return live(model) + model->waiting == CAPACITY;
}

static void step_register(struct model *model)
{
	struct record record = random_region(model);
	int wanted = region_error(&record);
	uint32_t key = 0;

	if (!wanted && full(model))
		wanted = -ENOMEM;
	expect(model,
		mem_register(model->table, record.pd, (uint8_t *)(uintptr_t)record.host,
			record.length, record.iova, record.access, &key),
		wanted);
	if (!wanted) {
		struct record *slot = vacant(model);

		*slot = record;
		adopt(model, slot, key);
	}
}

static void step_reregister(struct model *model)
{
	uint32_t key = some_key(model, 0), old = key;
	struct record *record = by_key(model, key);
	struct record change = random_region(model), result;
	int flags = (int)below(model, 9), wanted = 0;

	if (flags == 0 || flags == 8 || !record || record->kind != 0) {
		wanted = -EINVAL;
	} else if (bound_to(model, record)) {
		wanted = -EBUSY;
	} else {
		result = *record;
		if (flags & 1) {
			result.iova = change.iova;
			result.length = change.length;
			result.host = change.host;
		}
		if (flags & 2)
			result.pd = change.pd;
		if (flags & 4)
			result.access = change.access;
		wanted = region_error(&result);
	}
	expect(model,
		mem_reregister(model->table, &key, flags, change.pd,
			(uint8_t *)(uintptr_t)change.host, change.length, change.iova,
			change.access),
		wanted);
	expect(model, key != old, wanted == 0);
	if (!wanted) {
		*record = result;
		adopt(model, record, key);
	}
}

static void step_deregister(struct model *model)
{
	uint32_t key = some_key(model, 0);
	struct record *record = by_key(model, key);
	int wanted = !record || record->kind != 0 ? -EINVAL : bound_to(model, record) ? -EBUSY : 0;

	expect(model, mem_deregister(model->table, key), wanted);
	if (!wanted) {
		record->key = 0;
		model->waiting++;
	}
}

static void step_alloc(struct model *model)
{
	struct record record = {.kind = 1 + (int)below(model, 2), .pd = pd(model)};
	int wanted = full(model) ? -ENOMEM : 0;
	uint32_t key = 0;

	expect(model, mem_window_alloc(model->table, record.pd, record.kind, &key), wanted);
	if (!wanted) {
		struct record *slot = vacant(model);

		*slot = record;
		adopt(model, slot, key);
	}
}

static void step_dealloc(struct model *model)
{
	uint32_t key = some_key(model, 1 + (int)below(model, 2));
	struct record *record = by_key(model, key);
	int wanted = record && record->kind != 0 ? 0 : -EINVAL;

	expect(model, mem_window_dealloc(model->table, key), wanted);
	if (!wanted) {
		record->key = 0;
		model->waiting++;
	}
}

/* IBTA 10.6.7.2.2 and .3, in the order of the header's list. */
static enum mem_status bind_status(struct model *model, const struct mem_bind *bind, int type)
{
	const struct record *window = by_key(model, bind->window);
	const struct record *region = by_key(model, bind->lkey);

	if (!window || window->kind != type)
		return MEM_BAD_KEY;
	if (window->pd != bind->pd)
		return MEM_BAD_PD;
	if (type == 2 && window->region)
		return MEM_BAD_ACCESS;
	if (type == 2 && bind->new_rkey / 256 != bind->window / 256)
		return MEM_BAD_KEY;
	if (bind->length == 0)
		return type == 2 ? MEM_BAD_RANGE : MEM_OK;
	if (!region || region->kind != 0)
		return MEM_BAD_KEY;
	if (region->pd != bind->pd)
		return MEM_BAD_PD;
	if (bind->access & (LW | MB))
		return MEM_BAD_ACCESS;
	if (!(region->access & MB))
		return MEM_BAD_ACCESS;
	if ((bind->access & (RW | RA)) && !(region->access & LW))
		return MEM_BAD_ACCESS;
	return inside(region, bind->address, bind->length) ? MEM_OK : MEM_BAD_RANGE;
}

static void step_bind(struct model *model)
{
	int type = 1 + (int)below(model, 2);
	struct mem_bind bind = {
		.window = some_key(model, type),
		.lkey = some_key(model, 0),
		.address = address(model),
		.length = below(model, 4) ? below(model, 8) : some_length(model),
		.access = (uint32_t)below(model, 32) * 2 & ~(below(model, 4) ? MB : 0u),
		.pd = pd(model),
		.qp_num = (uint32_t)below(model, 3) * 4096,
	};
	struct record *window = by_key(model, bind.window);
	struct record *region = by_key(model, bind.lkey);
	enum mem_status wanted;
	uint32_t rkey = 0;

	bind.new_rkey = (bind.window & ~0xffu) + (uint32_t)below(model, 260);
	/* into the region, so that many succeed */
	if (region && below(model, 2))
		bind.address = region->iova + below(model, region->length | 1);
	wanted = bind_status(model, &bind, type);
	expect(model, mem_window_bind(model->table, &bind, type, &rkey), wanted);
	if (wanted != MEM_OK)
		return;
	if (bind.new_rkey / 256 == bind.window / 256)
		expect(model, rkey, bind.new_rkey);
	else
		expect(model, rkey != bind.window, true);
	adopt(model, window, rkey);
	window->region = bind.length ? region : NULL;
	window->length = bind.length;
	window->access = bind.access & (RW | RR | RA);
	window->qp_num = bind.qp_num;
	if (bind.length) {
		window->iova = bind.access & ZB ? 0 : bind.address;
		window->host = region->host + (bind.address - region->iova);
		model->passed++;
	}
}

static void step_invalidate(struct model *model)
{
	uint32_t key = some_key(model, below(model, 4) ? 2 : -1), of = pd(model);
	uint32_t qp_num = (uint32_t)below(model, 3) * 4096;
	struct record *window = by_key(model, key);
	enum mem_status wanted = MEM_OK;

	if (!window)
		wanted = MEM_BAD_KEY;
	else if (window->pd != of)
		wanted = MEM_BAD_PD;
	else if (window->kind != 2)
		wanted = MEM_BAD_ACCESS;
	else if (window->region && window->qp_num != qp_num)
		wanted = MEM_BAD_PD;
	expect(model, mem_invalidate(model->table, key, of, qp_num), wanted);
	if (wanted == MEM_OK)
		window->region = NULL;
}

static void step_release(struct model *model)
{
	uint32_t qp_num = (uint32_t)below(model, 3) * 4096;

	mem_windows_release(model->table, qp_num);
	for (int i = 0; i < CAPACITY; i++)
		if (model->records[i].kind == 2 && model->records[i].qp_num == qp_num)
			model->records[i].region = NULL;
}

static enum mem_status access_status(
	const struct record *record, uint64_t at, uint64_t length, uint32_t access)
{
	if ((record->access & access) != access)
		return MEM_BAD_ACCESS;
	return inside(record, at, length) ? MEM_OK : MEM_BAD_RANGE;
}

static void step_local(struct model *model)
{
	uint32_t key = some_key(model, below(model, 8) ? 0 : -1), of = pd(model);
	struct record *record = by_key(model, key);
	uint64_t at = address(model), length = 1 + below(model, 40);
	uint32_t access = below(model, 2) ? LW : 0;
	enum mem_status wanted = MEM_BAD_KEY;
	uint8_t *host = NULL;

	if (record && record->kind == 0)
		wanted = record->pd != of ? MEM_BAD_PD : access_status(record, at, length, access);
	expect(model, mem_local(model->table, of, key, at, length, access, &host), wanted);
	if (wanted == MEM_OK) {
		expect(model, (intptr_t)host, (int64_t)(record->host + (at - record->iova)));
		model->passed++;
	}
}

static void step_remote(struct model *model)
{
	static const uint32_t rights[] = {RR, RW, RA};
	uint32_t key = some_key(model, (int)below(model, 4) - 1), of = pd(model);
	uint32_t qp_num = (uint32_t)below(model, 3) * 4096, access = rights[below(model, 3)];
	struct record *record = by_key(model, key);
	uint64_t at = address(model), length = below(model, 12), host_at = 0;
	enum mem_status wanted;
	uint8_t *host = NULL;

	if (record && below(model, 2))
		at = record->iova + below(model, 16);
	if (length == 0)
		wanted = MEM_OK;
	else if (!record || (record->kind != 0 && !record->region))
		wanted = MEM_BAD_KEY;
	else if (record->pd != of || (record->kind == 2 && record->qp_num != qp_num))
		wanted = MEM_BAD_PD;
	else
		wanted = access_status(record, at, length, access);
	if (wanted == MEM_OK && length > 0) {
		host_at = record->host + (at - record->iova);
		if (access == RA && (at % 8 != 0 || host_at % 8 != 0))
			wanted = MEM_BAD_ALIGNMENT;
	}
	expect(model, mem_remote(model->table, of, qp_num, key, at, length, access, &host), wanted);
	if (wanted == MEM_OK) {
		expect(model, (intptr_t)host, (int64_t)host_at);
		model->passed += length > 0;
	}
}

static void step_reclaim(struct model *model)
{
	bool used[2] = {false, false};

	mem_reclaim(model->table);
	model->waiting = 0;
	for (int i = 0; i < CAPACITY; i++)
		if (model->records[i].key != 0)
			used[model->records[i].pd] = true;
	expect(model, mem_pd_used(model->table, 0), used[0]);
	expect(model, mem_pd_used(model->table, 1), used[1]);
	expect(model, mem_count(model->table), live(model));
}

static void step(struct model *model)
{
	static void (*const steps[])(struct model *) = {
		step_register,
		step_register,
		step_reregister,
		step_deregister,
		step_alloc,
		step_alloc,
		step_dealloc,
		step_bind,
		step_bind,
		step_bind,
		step_bind,
		step_invalidate,
		step_release,
		step_local,
		step_local,
		step_remote,
		step_remote,
		step_remote,
		step_remote,
		step_reclaim,
	};

	steps[below(model, sizeof(steps) / sizeof(steps[0]))](model);
}

static void beside_a_model(void)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct model model = {.table = table_new(CAPACITY)};

		random_seed(&model.random, seed);
		for (int i = 0; i < STEPS / 4 && model.wrong == 0; i++) {
			step(&model);
			if (model.wrong != 0)
				printf("seed %d, step %d\n", (int)seed, i);
		}
		CU_ASSERT_EQUAL(model.wrong, 0);
		CU_ASSERT(model.passed > 1000);
		mem_table_destroy(model.table);
	}
}

static const struct unit_case cases[] = {
	UNIT_CASE(beside_a_model),
};

UNIT_MAIN("mem-model", cases)
