/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory windows of both types (IBTA 10.6.7.2; man ibv_alloc_mw, ibv_bind_mw). */
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "fixture.h"

static uint8_t buffer[4096] __attribute__((aligned(64)));

#define START ((uintptr_t)buffer)
#define ALL (LW | RW | RR | RA | MB)

/* A bind of the whole buffer that would succeed, as PD and QP of the fixture. */
static struct mem_bind bind_of(uint32_t window, uint32_t lkey)
{
	return (struct mem_bind){
		.window = window,
		.new_rkey = window,
		.lkey = lkey,
		.address = START,
		.length = sizeof(buffer),
		.access = RW,
		.pd = PD,
		.qp_num = QP,
	};
}

/* What a remote write of the first bytes meets. */
static enum mem_status write_by(struct mem_table *table, uint32_t rkey)
{
	uint8_t *host;

	return mem_remote(table, PD, QP, rkey, START, 8, RW, &host);
}

static void allocation(void)
{
	struct mem_table *table = table_new(4);
	uint8_t *host;
	uint32_t rkey = 0;

	CU_ASSERT_EQUAL(mem_window_alloc(table, PD, 0, &rkey), -EINVAL);
	CU_ASSERT_EQUAL(mem_window_alloc(table, PD, 3, &rkey), -EINVAL);
	CU_ASSERT_EQUAL(rkey, 0);
	for (int type = 1; type <= 2; type++) {
		rkey = window_new(table, PD, type);
		/* created unbound: it grants nothing, to anyone */
		CU_ASSERT_EQUAL(mem_remote(table, PD, QP, rkey, 0, 1, RR, &host), MEM_BAD_KEY);
		CU_ASSERT_EQUAL(mem_remote(table, 99, QP, rkey, 0, 1, RR, &host), MEM_BAD_KEY);
		/* an R_Key is no L_Key */
		CU_ASSERT_EQUAL(mem_local(table, PD, rkey, 0, 1, 0, &host), MEM_BAD_KEY);
		CU_ASSERT_EQUAL(mem_window_dealloc(table, rkey), 0);
		CU_ASSERT_EQUAL(mem_window_dealloc(table, rkey), -EINVAL);
	}
	mem_table_destroy(table);
}

/* Whatever low byte a program remembers, the index leads to the key that the window has now. */
static void current_key(void)
{
	struct mem_table *table = table_new(8);
	uint32_t lkey = region_new(table, PD, buffer, sizeof(buffer), ALL);
	uint32_t first = window_new(table, PD, 2);
	struct mem_bind bind = bind_of(first, lkey);
	uint32_t rkey;

	CU_ASSERT_EQUAL(mem_window_key(table, first), first);
	bind.new_rkey = first ^ 1;
	CU_ASSERT_EQUAL(mem_window_bind(table, &bind, 2, &rkey), MEM_OK);
	CU_ASSERT_EQUAL(rkey, first ^ 1);
	CU_ASSERT_EQUAL(mem_window_key(table, first), rkey);
	CU_ASSERT_EQUAL(mem_window_key(table, first ^ 0xff), rkey);
	CU_ASSERT_EQUAL(mem_window_dealloc(table, mem_window_key(table, first)), 0);
	CU_ASSERT_EQUAL(mem_window_key(table, rkey), 0);
	CU_ASSERT_EQUAL(mem_window_key(table, lkey), 0); /* a region */
	CU_ASSERT_EQUAL(mem_window_key(table, 0), 0);
	CU_ASSERT_EQUAL(mem_window_key(table, UINT32_MAX), 0);
	mem_table_destroy(table);
}

struct domain_row {
	uint32_t window_pd;
	uint32_t region_pd;
	uint32_t bind_pd;
	enum mem_status bind;
};

/* PD of window, region and binding QP (C10-72), for both types. */
static void domains_of_a_bind(void)
{
	static const struct domain_row rows[] = {
		{1, 1, 1, MEM_OK},
		{1, 1, 2, MEM_BAD_PD},
		{1, 2, 1, MEM_BAD_PD},
		{1, 2, 2, MEM_BAD_PD},
		{2, 1, 1, MEM_BAD_PD},
		{2, 1, 2, MEM_BAD_PD},
		{2, 2, 1, MEM_BAD_PD},
		{2, 2, 2, MEM_OK},
	};

	for (unsigned int i = 0; i < 16; i++) {
		const struct domain_row *row = &rows[i / 2];
		int type = 1 + i % 2;
		struct mem_table *table = table_new(4);
		uint32_t lkey = region_new(table, row->region_pd, buffer, sizeof(buffer), ALL);
		struct mem_bind bind = bind_of(window_new(table, row->window_pd, type), lkey);
		uint32_t rkey = 0;

		bind.pd = row->bind_pd;
		CU_ASSERT_EQUAL(mem_window_bind(table, &bind, type, &rkey), row->bind);
		CU_ASSERT_EQUAL(rkey != 0, row->bind == MEM_OK);
		mem_table_destroy(table);
	}
}

struct user_row {
	int type;
	uint32_t pd;
	uint32_t qp_num;
	enum mem_status access;
};

/* Who may use a window that QP of PD bound: type 1 the PD, type 2 that QP alone. */
static void users_of_a_window(void)
{
	static const struct user_row rows[] = {
		{1, PD, QP, MEM_OK},
		{1, PD, QP + 1, MEM_OK},
		{1, PD + 1, QP, MEM_BAD_PD},
		{1, PD + 1, QP + 1, MEM_BAD_PD},
		{2, PD, QP, MEM_OK},
		{2, PD, QP + 1, MEM_BAD_PD},
		{2, PD, 0, MEM_BAD_PD},
		{2, PD + 1, QP, MEM_BAD_PD},
		{2, PD + 1, QP + 1, MEM_BAD_PD},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct user_row *row = &rows[i];
		struct mem_table *table = table_new(4);
		uint32_t lkey = region_new(table, PD, buffer, sizeof(buffer), ALL);
		struct mem_bind bind = bind_of(window_new(table, PD, row->type), lkey);
		uint8_t *host;
		uint32_t rkey;

		CU_ASSERT_EQUAL(mem_window_bind(table, &bind, row->type, &rkey), MEM_OK);
		CU_ASSERT_EQUAL(mem_remote(table, row->pd, row->qp_num, rkey, START, 1, RW, &host),
			row->access);
		mem_table_destroy(table);
	}
}

/* The window's own right counts; the region needs no remote right at all. */
static void rights_of_a_window(void)
{
	static const uint32_t remote[] = {RR, RW, RA};
	struct mem_table *table = table_new(8);
	uint8_t *host;
	uint32_t rkey;

	for (uint32_t access = 0; access < 16; access += 2) {
		for (int full = 0; full < 2; full++) {
			uint32_t lkey =
				region_new(table, PD, buffer, sizeof(buffer), full ? ALL : LW | MB);
			struct mem_bind bind = bind_of(window_new(table, PD, 2), lkey);

			bind.access = access;
			CU_ASSERT_EQUAL(mem_window_bind(table, &bind, 2, &rkey), MEM_OK);
			for (int i = 0; i < 3; i++)
				CU_ASSERT_EQUAL(
					mem_remote(table, PD, QP, rkey, START, 8, remote[i], &host),
					access & remote[i] ? MEM_OK : MEM_BAD_ACCESS);
			CU_ASSERT_EQUAL(mem_window_dealloc(table, rkey), 0);
			CU_ASSERT_EQUAL(mem_deregister(table, lkey), 0);
			mem_reclaim(table);
		}
	}
	mem_table_destroy(table);
}

/* Only remote rights and zero based can be asked for. */
static void rights_of_a_bind(void)
{
	struct mem_table *table = table_new(4);
	uint32_t lkey = region_new(table, PD, buffer, sizeof(buffer), ALL);
	struct mem_bind bind = bind_of(window_new(table, PD, 1), lkey);

	for (uint32_t bit = 0; bit < 32; bit++) {
		bool known = bit == 1 || bit == 2 || bit == 3 || bit == 5;

		bind.access = 1u << bit;
		CU_ASSERT_EQUAL(mem_window_bind(table, &bind, 1, &bind.window),
			known ? MEM_OK : MEM_BAD_ACCESS);
	}
	mem_table_destroy(table);
}

/* The table chooses the key where the bind brings none. */
static void rebind_type_1(void)
{
	struct mem_table *table = table_new(4);
	uint32_t lkey = region_new(table, PD, buffer, sizeof(buffer), ALL);
	struct mem_bind bind = bind_of(window_new(table, PD, 1), lkey);
	uint32_t rkey = 0;

	bind.new_rkey = 0;
	for (int i = 0; i < 1000; i++) {
		CU_ASSERT_EQUAL(mem_window_bind(table, &bind, 1, &rkey), MEM_OK);
		CU_ASSERT_EQUAL(rkey >> 8, bind.window >> 8);
		CU_ASSERT_NOT_EQUAL(rkey, bind.window);
		CU_ASSERT_EQUAL(write_by(table, bind.window), MEM_BAD_KEY);
		CU_ASSERT_EQUAL(write_by(table, rkey), MEM_OK);
		CU_ASSERT_EQUAL(mem_deregister(table, lkey), -EBUSY);
		bind.window = rkey;
	}
	/* a bind that fails leaves the binding and its key */
	bind.length = sizeof(buffer) + 1;
	CU_ASSERT_EQUAL(mem_window_bind(table, &bind, 1, &rkey), MEM_BAD_RANGE);
	CU_ASSERT_EQUAL(rkey, bind.window);
	CU_ASSERT_EQUAL(write_by(table, rkey), MEM_OK);
	/* length 0 unbinds, whatever the rest says, and changes the key */
	bind.length = 0;
	bind.lkey = 0;
	bind.access = 0xffff;
	bind.address = UINT64_MAX;
	CU_ASSERT_EQUAL(mem_window_bind(table, &bind, 1, &rkey), MEM_OK);
	CU_ASSERT_NOT_EQUAL(rkey, bind.window);
	CU_ASSERT_EQUAL(write_by(table, rkey), MEM_BAD_KEY);
	CU_ASSERT_EQUAL(write_by(table, bind.window), MEM_BAD_KEY);
	CU_ASSERT_EQUAL(mem_deregister(table, lkey), 0);
	CU_ASSERT_EQUAL(mem_window_dealloc(table, rkey), 0);
	CU_ASSERT_EQUAL(mem_count(table), 0);
	mem_table_destroy(table);
}

/* man ibv_bind_mw: the program knows the new key when the call returns, so the front chooses it. */
static void chosen_key_of_type_1(void)
{
	struct mem_table *table = table_new(4);
	uint32_t lkey = region_new(table, PD, buffer, sizeof(buffer), ALL);
	struct mem_bind bind = bind_of(window_new(table, PD, 1), lkey);
	uint32_t rkey = 0, old;

	for (uint32_t byte = 0; byte < 256; byte++) {
		old = bind.window;
		bind.new_rkey = (old & ~0xffu) | byte;
		CU_ASSERT_EQUAL(mem_window_bind(table, &bind, 1, &rkey), MEM_OK);
		CU_ASSERT_EQUAL(rkey, bind.new_rkey);
		CU_ASSERT_EQUAL(write_by(table, rkey), MEM_OK);
		if (old != rkey)
			CU_ASSERT_EQUAL(write_by(table, old), MEM_BAD_KEY);
		bind.window = rkey;
	}
	/* unbound under a chosen key too */
	bind.new_rkey = bind.window ^ 0x55;
	bind.length = 0;
	CU_ASSERT_EQUAL(mem_window_bind(table, &bind, 1, &rkey), MEM_OK);
	CU_ASSERT_EQUAL(rkey, bind.new_rkey);
	CU_ASSERT_EQUAL(write_by(table, rkey), MEM_BAD_KEY);
	CU_ASSERT_EQUAL(write_by(table, bind.window), MEM_BAD_KEY);
	CU_ASSERT_EQUAL(mem_deregister(table, lkey), 0);
	mem_table_destroy(table);
}

/* From one region to another: each counts what is bound to it. */
static void rebind_to_another_region(void)
{
	struct mem_table *table = table_new(4);
	uint32_t first = region_new(table, PD, buffer, sizeof(buffer), ALL);
	uint32_t second = region_new(table, PD, buffer, sizeof(buffer), ALL);
	struct mem_bind bind = bind_of(window_new(table, PD, 1), first);

	CU_ASSERT_EQUAL(mem_window_bind(table, &bind, 1, &bind.window), MEM_OK);
	bind.lkey = second;
	CU_ASSERT_EQUAL(mem_window_bind(table, &bind, 1, &bind.window), MEM_OK);
	CU_ASSERT_EQUAL(mem_deregister(table, first), 0);
	CU_ASSERT_EQUAL(mem_deregister(table, second), -EBUSY);
	bind.lkey = first;
	CU_ASSERT_EQUAL(mem_window_bind(table, &bind, 1, &bind.window), MEM_BAD_KEY);
	CU_ASSERT_EQUAL(write_by(table, bind.window), MEM_OK);
	CU_ASSERT_EQUAL(mem_deregister(table, second), -EBUSY);
	mem_table_destroy(table);
}

static void bind_type_2(void)
{
	struct mem_table *table = table_new(4);
	uint32_t lkey = region_new(table, PD, buffer, sizeof(buffer), ALL);
	struct mem_bind bind = bind_of(window_new(table, PD, 2), lkey);
	uint32_t rkey = 0;

	/* the consumer's byte, any of them, the present one too */
	for (uint32_t byte = 0; byte < 256; byte++) {
		bind.new_rkey = (bind.window & ~0xffu) | byte;
		CU_ASSERT_EQUAL(mem_window_bind(table, &bind, 2, &rkey), MEM_OK);
		CU_ASSERT_EQUAL(rkey, bind.new_rkey);
		CU_ASSERT_EQUAL(write_by(table, rkey), MEM_OK);
		if (rkey != bind.window)
			CU_ASSERT_EQUAL(write_by(table, bind.window), MEM_BAD_KEY);
		bind.window = rkey;
		/* o10-37.2.30: not while it is bound, not even by the same QP */
		CU_ASSERT_EQUAL(mem_window_bind(table, &bind, 2, &rkey), MEM_BAD_ACCESS);
		CU_ASSERT_EQUAL(write_by(table, rkey), MEM_OK);
		CU_ASSERT_EQUAL(mem_deregister(table, lkey), -EBUSY);
		CU_ASSERT_EQUAL(mem_invalidate(table, rkey, PD, QP), MEM_OK);
		CU_ASSERT_EQUAL(write_by(table, rkey), MEM_BAD_KEY);
	}
	/* the index isn't the consumer's */
	bind.new_rkey = bind.window + 0x100;
	CU_ASSERT_EQUAL(mem_window_bind(table, &bind, 2, &rkey), MEM_BAD_KEY);
	/* o10-37.2.40: no length 0 */
	bind.new_rkey = bind.window;
	bind.length = 0;
	CU_ASSERT_EQUAL(mem_window_bind(table, &bind, 2, &rkey), MEM_BAD_RANGE);
	CU_ASSERT_EQUAL(mem_deregister(table, lkey), 0);
	mem_table_destroy(table);
}

/* Wrong keys in a bind: a window of the other type, regions and windows mixed up, stale ones. */
static void keys_of_a_bind(void)
{
	struct mem_table *table = table_new(8);
	uint32_t lkey = region_new(table, PD, buffer, sizeof(buffer), ALL);
	uint32_t windows[2] = {window_new(table, PD, 1), window_new(table, PD, 2)};
	struct mem_bind bind;
	uint32_t rkey = 0;

	for (int type = 1; type <= 2; type++) {
		bind = bind_of(windows[2 - type], lkey);
		CU_ASSERT_EQUAL(mem_window_bind(table, &bind, type, &rkey), MEM_BAD_KEY);
		bind = bind_of(lkey, lkey);
		CU_ASSERT_EQUAL(mem_window_bind(table, &bind, type, &rkey), MEM_BAD_KEY);
		bind = bind_of(windows[type - 1] ^ 1, lkey);
		CU_ASSERT_EQUAL(mem_window_bind(table, &bind, type, &rkey), MEM_BAD_KEY);
		bind = bind_of(0, lkey);
		CU_ASSERT_EQUAL(mem_window_bind(table, &bind, type, &rkey), MEM_BAD_KEY);
		bind = bind_of(windows[type - 1], windows[2 - type]);
		CU_ASSERT_EQUAL(mem_window_bind(table, &bind, type, &rkey), MEM_BAD_KEY);
		bind = bind_of(windows[type - 1], windows[type - 1]);
		CU_ASSERT_EQUAL(mem_window_bind(table, &bind, type, &rkey), MEM_BAD_KEY);
		bind = bind_of(windows[type - 1], 0);
		CU_ASSERT_EQUAL(mem_window_bind(table, &bind, type, &rkey), MEM_BAD_KEY);
		bind = bind_of(windows[type - 1], lkey ^ 1);
		CU_ASSERT_EQUAL(mem_window_bind(table, &bind, type, &rkey), MEM_BAD_KEY);
	}
	CU_ASSERT_EQUAL(rkey, 0);
	mem_table_destroy(table);
}

struct invalidate_row {
	int kind; /* 0: a region, else the type of window */
	bool bound;
	uint32_t pd;
	uint32_t qp_num;
	enum mem_status status;
};

static void invalidation(void)
{
	static const struct invalidate_row rows[] = {
		{2, true, PD, QP, MEM_OK},
		{2, true, PD, QP + 1, MEM_BAD_PD},
		{2, true, PD + 1, QP, MEM_BAD_PD},
		{2, false, PD, QP, MEM_OK}, /* free already */
		{2, false, PD, QP + 1, MEM_OK},
		{2, false, PD + 1, QP, MEM_BAD_PD},
		{1, true, PD, QP, MEM_BAD_ACCESS}, /* o10-37.2.26 */
		{1, false, PD, QP, MEM_BAD_ACCESS},
		{0, true, PD, QP, MEM_BAD_ACCESS},
		{0, true, PD + 1, QP, MEM_BAD_PD},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct invalidate_row *row = &rows[i];
		struct mem_table *table = table_new(4);
		uint32_t lkey = region_new(table, PD, buffer, sizeof(buffer), ALL);
		uint32_t key = row->kind ? window_new(table, PD, row->kind) : lkey;
		struct mem_bind bind = bind_of(key, lkey);
		bool stays = row->status != MEM_OK && row->bound;

		if (row->kind && row->bound)
			CU_ASSERT_EQUAL(mem_window_bind(table, &bind, row->kind, &key), MEM_OK);
		CU_ASSERT_EQUAL(mem_invalidate(table, key, row->pd, row->qp_num), row->status);
		CU_ASSERT_EQUAL(write_by(table, key), stays ? MEM_OK : MEM_BAD_KEY);
		CU_ASSERT_EQUAL(mem_deregister(table, lkey), stays && row->kind ? -EBUSY : 0);
		mem_table_destroy(table);
	}
}

/* man ibv_dealloc_mw: unbinds if it was bound. The region is free after the last of them. */
static void dealloc_while_bound(void)
{
	struct mem_table *table = table_new(8);
	uint32_t lkey = region_new(table, PD, buffer, sizeof(buffer), ALL);
	uint32_t key = lkey;
	uint32_t windows[4];

	for (int i = 0; i < 4; i++) {
		struct mem_bind bind = bind_of(window_new(table, PD, 1 + i % 2), lkey);

		CU_ASSERT_EQUAL(mem_window_bind(table, &bind, 1 + i % 2, &windows[i]), MEM_OK);
	}
	for (int i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(mem_deregister(table, lkey), -EBUSY);
		CU_ASSERT_EQUAL(mem_reregister(table, &key, 4, 0, NULL, 0, 0, LW), -EBUSY);
		CU_ASSERT_EQUAL(key, lkey);
		CU_ASSERT_EQUAL(write_by(table, windows[i]), MEM_OK);
		CU_ASSERT_EQUAL(mem_window_dealloc(table, windows[i]), 0);
		CU_ASSERT_EQUAL(write_by(table, windows[i]), MEM_BAD_KEY);
	}
	CU_ASSERT_EQUAL(mem_reregister(table, &key, 4, 0, NULL, 0, 0, LW), 0);
	CU_ASSERT_EQUAL(mem_deregister(table, key), 0);
	mem_table_destroy(table);
}

/* A QP's end frees its type 2 windows, no others: not those of a QP number of the same bucket. */
static void release_by_qp(void)
{
	static const uint32_t qps[] = {QP, QP + 1, QP + 4096, QP ^ 0x800000, 1};
	struct mem_table *table = table_new(64);
	uint32_t lkey = region_new(table, PD, buffer, sizeof(buffer), ALL);
	uint32_t windows[20], type_1;
	uint8_t *host;
	struct mem_bind bind = bind_of(window_new(table, PD, 1), lkey);

	CU_ASSERT_EQUAL(mem_window_bind(table, &bind, 1, &type_1), MEM_OK);
	for (int i = 0; i < 20; i++) {
		bind = bind_of(window_new(table, PD, 2), lkey);
		bind.qp_num = qps[i % 5];
		CU_ASSERT_EQUAL(mem_window_bind(table, &bind, 2, &windows[i]), MEM_OK);
	}
	for (int q = 0; q < 5; q++) {
		mem_windows_release(table, qps[q]);
		mem_windows_release(table, qps[q]);
		for (int i = 0; i < 20; i++)
			CU_ASSERT_EQUAL(
				mem_remote(table, PD, qps[i % 5], windows[i], START, 8, RW, &host),
				i % 5 <= q ? MEM_BAD_KEY : MEM_OK);
		CU_ASSERT_EQUAL(mem_deregister(table, lkey), -EBUSY);
	}
	/* still there, under the same key, for another QP */
	bind = bind_of(windows[0], lkey);
	bind.qp_num = 99;
	CU_ASSERT_EQUAL(mem_window_bind(table, &bind, 2, &windows[0]), MEM_OK);
	mem_windows_release(table, 99);
	CU_ASSERT_EQUAL(write_by(table, type_1), MEM_OK);
	CU_ASSERT_EQUAL(mem_window_dealloc(table, type_1), 0);
	CU_ASSERT_EQUAL(mem_deregister(table, lkey), 0);
	CU_ASSERT_EQUAL(mem_count(table), 20);
	mem_table_destroy(table);
}

/*
 * One thread binds a window again and again: under an even key to the first half of the buffer, to
 * be written, under an odd one to the second half, to be read. This one reads by both keys, and
 * must never get by one what belongs to the other, nor a mixture. (A change in the middle of a read
 * is rare here; entry_test.c puts one between any two loads.)
 */
struct race {
	struct mem_table *table;
	uint32_t lkey;
	uint32_t window;
	uint32_t failures;
	int stop;
};

#define HALF (sizeof(buffer) / 2)
#define TURNS 400000

static uint32_t race_key(const struct race *race, uint32_t odd)
{
	return (race->window & ~0xffu) | odd;
}

static void *rebinder(void *argument)
{
	struct race *race = argument;
	struct mem_bind bind = bind_of(race->window, race->lkey);

	for (uint32_t i = 0; i < TURNS; i++) {
		uint32_t odd = i % 2;

		bind.new_rkey = race_key(race, odd);
		bind.address = START + odd * HALF;
		bind.length = HALF - odd * 64;
		bind.access = (odd ? RR : RW) | ZB;
		race->failures += mem_window_bind(race->table, &bind, 2, &bind.window) != MEM_OK;
		if (i % 16 == 0) /* should both run on one core */
			sched_yield();
		race->failures += mem_invalidate(race->table, bind.window, PD, QP) != MEM_OK;
	}
	__atomic_store_n(&race->stop, 1, __ATOMIC_RELEASE);
	return NULL;
}

static bool allowed(const struct race *race, uint32_t odd, uint64_t length, uint32_t access,
	const uint8_t *where)
{
	uint8_t *host = NULL;

	return mem_remote(race->table, PD, QP, race_key(race, odd), 0, length, access, &host) ==
		MEM_OK &&
		(!where || host == where);
}

static void readers_see_one_binding(void)
{
	struct race race = {.table = table_new(4)};
	uint64_t wrong = 0, right = 0, rounds = 0;
	pthread_t thread;

	race.lkey = region_new(race.table, PD, buffer, sizeof(buffer), ALL);
	race.window = window_new(race.table, PD, 2);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, rebinder, &race), 0);
	while (!__atomic_load_n(&race.stop, __ATOMIC_ACQUIRE)) {
		if (++rounds % 256 == 0)
			sched_yield();
		right += allowed(&race, 0, HALF, RW, buffer);
		right += allowed(&race, 1, HALF - 64, RR, buffer + HALF);
		wrong += allowed(&race, 0, 1, RW, buffer + HALF);
		wrong += allowed(&race, 1, 1, RR, buffer);
		wrong += allowed(&race, 0, 1, RR, NULL);
		wrong += allowed(&race, 1, 1, RW, NULL);
		wrong += allowed(&race, 1, HALF, RR, NULL);
	}
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT(right > 0);
	CU_ASSERT_EQUAL(race.failures, 0);
	CU_ASSERT_EQUAL(mem_deregister(race.table, race.lkey), 0);
	mem_table_destroy(race.table);
}

/* Two cores bind different windows of one region: the count comes out even. */
static void binds_on_two_cores(void)
{
	struct race races[2];
	struct mem_table *table = table_new(4);
	uint32_t lkey = region_new(table, PD, buffer, sizeof(buffer), ALL);
	pthread_t threads[2];

	for (int i = 0; i < 2; i++) {
		races[i] = (struct race){table, lkey, window_new(table, PD, 2), 0, 0};
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, rebinder, &races[i]), 0);
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		CU_ASSERT_EQUAL(races[i].failures, 0);
	}
	CU_ASSERT_EQUAL(mem_deregister(table, lkey), 0);
	mem_table_destroy(table);
}

static const struct unit_case cases[] = {
	UNIT_CASE(allocation),
	UNIT_CASE(current_key),
	UNIT_CASE(domains_of_a_bind),
	UNIT_CASE(users_of_a_window),
	UNIT_CASE(rights_of_a_window),
	UNIT_CASE(rights_of_a_bind),
	UNIT_CASE(rebind_type_1),
	UNIT_CASE(chosen_key_of_type_1),
	UNIT_CASE(rebind_to_another_region),
	UNIT_CASE(bind_type_2),
	UNIT_CASE(keys_of_a_bind),
	UNIT_CASE(invalidation),
	UNIT_CASE(dealloc_while_bound),
	UNIT_CASE(release_by_qp),
	UNIT_CASE(readers_see_one_binding),
	UNIT_CASE(binds_on_two_cores),
};

UNIT_MAIN("mem-window", cases)
