/* SPDX-License-Identifier: BSD-3-Clause */
/* The checks of local and remote accesses: rights, ranges, domains, alignment. */
#include "edges.h"
#include "fixture.h"

static uint8_t buffer[256] __attribute__((aligned(64)));

struct operation {
	uint32_t needs; /* bits of the region: man ibv_reg_mr; windows: man ibv_bind_mw, C10-73, -74
			 */
	bool remote;
	bool bind;
	uint32_t access;
};

static const struct operation operations[] = {
	{0, false, false, 0},
	{LW, false, false, LW},
	{RR, true, false, RR},
	{RW, true, false, RW},
	{RA, true, false, RA},
	{MB, false, true, 0},
	{MB, false, true, RR},
	{MB | LW, false, true, RW},
	{MB | LW, false, true, RA},
	{RR | RW, true, false, RR | RW},
	{MB | LW, false, true, RR | RW | RA},
};

static enum mem_status run(struct mem_table *table, uint32_t key, const struct operation *operation)
{
	uint8_t *host = NULL;
	enum mem_status status;

	if (operation->bind) {
		struct mem_bind bind = {
			.window = window_new(table, PD, 1),
			.lkey = key,
			.address = (uintptr_t)buffer,
			.length = 8,
			.access = operation->access,
			.pd = PD,
		};

		status = mem_window_bind(table, &bind, 1, &bind.window);
		CU_ASSERT_EQUAL(mem_window_dealloc(table, bind.window), 0);
		mem_reclaim(table);
		return status;
	}
	if (operation->remote)
		status = mem_remote(
			table, PD, QP, key, (uintptr_t)buffer, 8, operation->access, &host);
	else
		status = mem_local(table, PD, key, (uintptr_t)buffer, 8, operation->access, &host);
	CU_ASSERT_PTR_EQUAL(host, status == MEM_OK ? buffer : NULL);
	return status;
}

/* All sets of access bits x all operations. */
static void rights(void)
{
	struct mem_table *table = table_new(8);

	for (uint32_t access = 0; access < 32; access++) {
		uint32_t key;

		if ((access & (RW | RA)) && !(access & LW))
			continue; /* can't be registered */
		key = region_new(table, PD, buffer, sizeof(buffer), access);
		for (unsigned int i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
			bool allowed = (access & operations[i].needs) == operations[i].needs;

			CU_ASSERT_EQUAL(
				run(table, key, &operations[i]), allowed ? MEM_OK : MEM_BAD_ACCESS);
		}
		CU_ASSERT_EQUAL(mem_deregister(table, key), 0);
		mem_reclaim(table);
	}
	mem_table_destroy(table);
}

/* A remote access that asks for no right is a mistake of the caller, not a free pass. */
static void remote_access_needs_a_right(void)
{
	struct mem_table *table = table_new(2);
	uint32_t key = region_new(table, PD, buffer, 8, LW | RW | RR | RA | MB);
	uint8_t *host;

	CU_ASSERT_EQUAL(
		mem_remote(table, PD, QP, key, (uintptr_t)buffer, 8, 0, &host), MEM_BAD_ACCESS);
	CU_ASSERT_EQUAL(
		mem_remote(table, PD, QP, key, (uintptr_t)buffer, 8, LW, &host), MEM_BAD_ACCESS);
	mem_table_destroy(table);
}

/* Both kinds of access to one region, and to a window of just that range in a region of all. */
static void ranges(void)
{
	uint8_t *const base = (uint8_t *)1;

	for (unsigned int i = 0; i < EDGES; i++) {
		const struct edge *edge = &edges[i];
		enum mem_status expected = edge->inside ? MEM_OK : MEM_BAD_RANGE;
		struct mem_table *table = table_new(8);
		uint8_t *host = NULL;
		uint32_t key = 0;

		CU_ASSERT_EQUAL_FATAL(
			mem_register(table, PD, base, edge->size, edge->base, LW | RW | RR, &key),
			0);
		CU_ASSERT_EQUAL(mem_local(table, PD, key, edge->address, edge->length, LW, &host),
			expected);
		if (edge->inside)
			CU_ASSERT_EQUAL((uintptr_t)host, 1 + edge->address - edge->base);
		host = NULL;
		CU_ASSERT_EQUAL(
			mem_remote(table, PD, QP, key, edge->address, edge->length, RW, &host),
			expected);
		if (edge->inside)
			CU_ASSERT_EQUAL((uintptr_t)host, 1 + edge->address - edge->base);
		mem_table_destroy(table);
	}
}

/* Binding a window to [address, length) of a region, for both types, zero based or not. */
static void bind_ranges(void)
{
	for (unsigned int i = 0; i < EDGES * 4; i++) {
		const struct edge *edge = &edges[i / 4];
		int type = 1 + i % 2;
		uint32_t zero_based = i & 2 ? ZB : 0;
		struct mem_table *table = table_new(8);
		struct mem_bind bind = {
			.window = window_new(table, PD, type),
			.address = edge->address,
			.length = edge->length,
			.access = RR | zero_based,
			.pd = PD,
			.qp_num = QP,
		};
		uint64_t start = zero_based ? 0 : edge->address;
		uint8_t *host = NULL;
		uint32_t rkey = 0;

		bind.new_rkey = bind.window;
		CU_ASSERT_EQUAL_FATAL(mem_register(table, PD, (uint8_t *)1, edge->size, edge->base,
					      MB, &bind.lkey),
			0);
		CU_ASSERT_EQUAL(mem_window_bind(table, &bind, type, &rkey),
			edge->inside ? MEM_OK : MEM_BAD_RANGE);
		if (edge->inside) {
			CU_ASSERT_EQUAL(
				mem_remote(table, PD, QP, rkey, start, edge->length, RR, &host),
				MEM_OK);
			CU_ASSERT_EQUAL((uintptr_t)host, 1 + edge->address - edge->base);
		}
		mem_table_destroy(table);
	}
}

/* An access by the key of a window of exactly the edge's entry. */
static void window_ranges(void)
{
	for (unsigned int i = 0; i < EDGES; i++) {
		const struct edge *edge = &edges[i];
		struct mem_table *table = table_new(8);
		struct mem_bind bind = {
			.window = window_new(table, PD, 2),
			.address = edge->base,
			.length = edge->size,
			.access = RR,
			.pd = PD,
			.qp_num = QP,
		};
		/* The widest region that holds the entry: all but byte 0, or all but the last one.
		 */
		uint64_t all = edge->base > 0;
		uint8_t *host = NULL;
		uint32_t rkey = 0;

		bind.new_rkey = bind.window;
		CU_ASSERT_EQUAL_FATAL(
			mem_register(table, PD, (uint8_t *)1, MAX, all, MB, &bind.lkey), 0);
		if (edge->size > 0) {
			CU_ASSERT_EQUAL_FATAL(mem_window_bind(table, &bind, 2, &rkey), MEM_OK);
			CU_ASSERT_EQUAL(mem_remote(table, PD, QP, rkey, edge->address, edge->length,
						RR, &host),
				edge->inside ? MEM_OK : MEM_BAD_RANGE);
			if (edge->inside)
				CU_ASSERT_EQUAL((uintptr_t)host, 1 + edge->address - all);
		}
		mem_table_destroy(table);
	}
}

/* No look-up for a remote access of no bytes (C9-88), whatever the key, address and right. */
static void remote_zero_length(void)
{
	struct mem_table *table = table_new(2);
	uint32_t key = region_new(table, PD, buffer, 8, 0);
	static const uint32_t keys[] = {0, 1, UINT32_MAX, 0x100};
	uint8_t *host;

	for (int i = 0; i < 5; i++) {
		host = buffer;
		CU_ASSERT_EQUAL(
			mem_remote(table, 99, 99, i < 4 ? keys[i] : key, UINT64_MAX, 0, RA, &host),
			MEM_OK);
		CU_ASSERT_PTR_NULL(host);
	}
	mem_table_destroy(table);
}

/* A region of no bytes: only accesses of no bytes pass, at its own address. */
static void zero_length_region(void)
{
	struct mem_table *table = table_new(2);
	uint32_t key = region_new(table, PD, buffer, 0, LW | RW);
	uint8_t *host;

	CU_ASSERT_EQUAL(mem_local(table, PD, key, (uintptr_t)buffer, 0, LW, &host), MEM_OK);
	CU_ASSERT_EQUAL(mem_local(table, PD, key, (uintptr_t)buffer, 1, LW, &host), MEM_BAD_RANGE);
	CU_ASSERT_EQUAL(mem_local(table, PD, key, 0, 0, LW, &host), MEM_BAD_RANGE);
	CU_ASSERT_EQUAL(
		mem_remote(table, PD, QP, key, (uintptr_t)buffer, 1, RW, &host), MEM_BAD_RANGE);
	mem_table_destroy(table);
}

struct alignment_row {
	uint64_t iova; /* of the region; the buffer itself is aligned to 64, moved by `shift` */
	unsigned int shift;
	uint64_t address;
	enum mem_status status;
};

/* Atomics need an address that is a multiple of 8; so must be the word that it stands for. */
static void alignment(void)
{
	static const struct alignment_row rows[] = {
		{0x1000, 0, 0x1000, MEM_OK},
		{0x1000, 0, 0x1008, MEM_OK},
		{0x1000, 0, 0x1001, MEM_BAD_ALIGNMENT},
		{0x1000, 0, 0x1002, MEM_BAD_ALIGNMENT},
		{0x1000, 0, 0x1004, MEM_BAD_ALIGNMENT},
		{0x1000, 0, 0x1007, MEM_BAD_ALIGNMENT},
		{0x1004, 4, 0x1004, MEM_BAD_ALIGNMENT},
		{0x1004, 4, 0x1008, MEM_OK},
		{0x1004, 0, 0x1004, MEM_BAD_ALIGNMENT}, /* the word would be aligned */
		{0x1004, 0, 0x1008, MEM_BAD_ALIGNMENT}, /* the address is */
		{0x1000, 0, 0x1038, MEM_OK},
		{0x1000, 0, 0x1039, MEM_BAD_RANGE}, /* the range comes first */
		{0x1000, 0, 0x1040, MEM_BAD_RANGE},
	};
	uint8_t *host;

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct mem_table *table = table_new(2);
		uint32_t key = 0;

		CU_ASSERT_EQUAL_FATAL(mem_register(table, PD, buffer + rows[i].shift, 64,
					      rows[i].iova, LW | RW | RA, &key),
			0);
		CU_ASSERT_EQUAL(mem_remote(table, PD, QP, key, rows[i].address, 8, RA, &host),
			rows[i].status);
		/* no other access asks for it */
		CU_ASSERT_EQUAL(mem_remote(table, PD, QP, key, rows[i].address, 8, RW, &host),
			rows[i].status == MEM_BAD_RANGE ? MEM_BAD_RANGE : MEM_OK);
		mem_table_destroy(table);
	}
}

/* Several things wrong at once: key, PD, right, range, alignment, in this order. */
static void order_of_checks(void)
{
	struct mem_table *table = table_new(2);
	uint32_t key = region_new(table, PD, buffer, 64, LW | RA);
	uint64_t beyond = (uintptr_t)buffer + 61;
	uint8_t *host;

	CU_ASSERT_EQUAL(mem_remote(table, 99, QP, key ^ 1, beyond, 8, RR, &host), MEM_BAD_KEY);
	CU_ASSERT_EQUAL(mem_remote(table, 99, QP, key, beyond, 8, RR, &host), MEM_BAD_PD);
	CU_ASSERT_EQUAL(mem_remote(table, PD, QP, key, beyond, 8, RR, &host), MEM_BAD_ACCESS);
	CU_ASSERT_EQUAL(mem_remote(table, PD, QP, key, beyond, 8, RA, &host), MEM_BAD_RANGE);
	CU_ASSERT_EQUAL(
		mem_remote(table, PD, QP, key, beyond - 8, 8, RA, &host), MEM_BAD_ALIGNMENT);
	CU_ASSERT_EQUAL(mem_local(table, 99, key ^ 1, beyond, 8, MB, &host), MEM_BAD_KEY);
	CU_ASSERT_EQUAL(mem_local(table, 99, key, beyond, 8, MB, &host), MEM_BAD_PD);
	CU_ASSERT_EQUAL(mem_local(table, PD, key, beyond, 8, MB, &host), MEM_BAD_ACCESS);
	CU_ASSERT_EQUAL(mem_local(table, PD, key, beyond, 8, LW, &host), MEM_BAD_RANGE);
	mem_table_destroy(table);
}

static const struct unit_case cases[] = {
	UNIT_CASE(rights),
	UNIT_CASE(remote_access_needs_a_right),
	UNIT_CASE(ranges),
	UNIT_CASE(bind_ranges),
	UNIT_CASE(window_ranges),
	UNIT_CASE(remote_zero_length),
	UNIT_CASE(zero_length_region),
	UNIT_CASE(alignment),
	UNIT_CASE(order_of_checks),
};

UNIT_MAIN("mem-check", cases)
