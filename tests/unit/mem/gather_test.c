/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of buffers: any part of one, bounds, and nothing written before all of it is checked. */
#include <string.h>

#include "copy.h"
#include "edges.h"
#include "fixture.h"

static uint8_t source[4096];
static uint8_t target[4096];
static uint8_t packet[4096];

#define ENTRIES 32

struct list {
	struct mem_table *table;
	struct mem_sge sge[ENTRIES];
	unsigned int count;
	uint64_t length;
};

/* Elements of 0 to 40 bytes, apart from each other, in two regions. */
static void list_make(struct list *list, uint8_t *memory, unsigned int count, struct random *random)
{
	uint32_t keys[2];

	list->table = table_new(4);
	list->count = count;
	list->length = 0;
	keys[0] = region_new(list->table, PD, memory, 2048, LW);
	keys[1] = region_new(list->table, PD, memory + 2048, 2048, LW);
	for (unsigned int i = 0; i < count; i++) {
		uint64_t start = i * 128 + random_below(random, 64);

		list->sge[i].length = (uint32_t)random_below(random, 41);
		list->sge[i].address = (uintptr_t)memory + start;
		list->sge[i].lkey = list->sge[i].length ? keys[i >= 16] : 0xdead;
		list->length += list->sge[i].length;
	}
}

/* The byte at `offset` of the list, found byte by byte. */
static uint8_t *list_at(const struct list *list, uint64_t offset)
{
	for (unsigned int i = 0; i < list->count; i++) {
		if (offset < list->sge[i].length)
			return (uint8_t *)(uintptr_t)(list->sge[i].address + offset);
		offset -= list->sge[i].length;
	}
	return NULL;
}

static void gather_any_part(void)
{
	struct random random;
	unsigned int wrong = 0;

	random_seed(&random, 5);
	for (int i = 0; i < 4096; i++)
		source[i] = (uint8_t)random_next(&random);
	for (int run = 0; run < 3000; run++) {
		struct list list;
		uint64_t offset, length;

		list_make(&list, source, (unsigned int)random_below(&random, 33), &random);
		offset = random_below(&random, list.length + 1);
		length = random_below(&random, list.length - offset + 1);
		memset(packet, 0, sizeof(packet));
		CU_ASSERT_EQUAL(mem_length(list.sge, list.count), list.length);
		CU_ASSERT_EQUAL(mem_check(list.table, PD, list.sge, list.count, LW), MEM_OK);
		CU_ASSERT_EQUAL(mem_gather(list.table, PD, list.sge, list.count, offset, packet,
					(uint32_t)length),
			MEM_OK);
		for (uint64_t i = 0; i < length; i++)
			wrong += packet[i] != *list_at(&list, offset + i);
		wrong += packet[length] != 0;
		/* one byte more than there is */
		CU_ASSERT_EQUAL(mem_gather(list.table, PD, list.sge, list.count, offset, packet,
					(uint32_t)(list.length - offset + 1)),
			MEM_BAD_RANGE);
		mem_table_destroy(list.table);
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

static void scatter_any_part(void)
{
	struct random random;
	unsigned int wrong = 0;

	random_seed(&random, 6);
	for (int i = 0; i < 4096; i++)
		packet[i] = (uint8_t)(random_next(&random) | 1);
	for (int run = 0; run < 3000; run++) {
		struct list list;
		uint64_t offset, length, written = 0;

		list_make(&list, target, (unsigned int)random_below(&random, 33), &random);
		offset = random_below(&random, list.length + 1);
		length = random_below(&random, list.length - offset + 1);
		memset(target, 0, sizeof(target));
		/* one byte more than there is: nothing is written */
		CU_ASSERT_EQUAL(mem_scatter(list.table, PD, list.sge, list.count, offset, packet,
					(uint32_t)(list.length - offset + 1)),
			MEM_BAD_RANGE);
		for (int i = 0; i < 4096; i++)
			wrong += target[i] != 0;
		CU_ASSERT_EQUAL(mem_scatter(list.table, PD, list.sge, list.count, offset, packet,
					(uint32_t)length),
			MEM_OK);
		for (uint64_t i = 0; i < length; i++)
			wrong += packet[i] != *list_at(&list, offset + i);
		for (int i = 0; i < 4096; i++)
			written += target[i] != 0;
		wrong += written != length;
		mem_table_destroy(list.table);
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

/* The third of four elements is bad; the part that does not touch it passes. */
struct fault_row {
	uint32_t pd;
	uint32_t access;
	uint64_t shift; /* of its address */
	bool stale;
	enum mem_status gather;
	enum mem_status scatter;
};

static void faults_before_the_first_byte(void)
{
	static const struct fault_row rows[] = {
		{PD, LW, 0, false, MEM_OK, MEM_OK},
		{PD, 0, 0, false, MEM_OK, MEM_BAD_ACCESS},
		{PD + 1, LW, 0, false, MEM_BAD_PD, MEM_BAD_PD},
		{PD, LW, 1, false, MEM_BAD_RANGE, MEM_BAD_RANGE},
		{PD, LW, (uint64_t)-1, false, MEM_BAD_RANGE, MEM_BAD_RANGE},
		{PD, LW, 0, true, MEM_BAD_KEY, MEM_BAD_KEY},
	};

	for (unsigned int r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		const struct fault_row *row = &rows[r];
		struct mem_table *table = table_new(4);
		uint32_t good = region_new(table, PD, target, 4096, LW);
		uint32_t bad = region_new(table, row->pd, target + 512, 16, row->access);
		struct mem_sge sge[4];
		uint32_t written = 0;

		for (uint64_t i = 0; i < 4; i++)
			sge[i] = (struct mem_sge){(uintptr_t)target + i * 256, 16, good};
		sge[2].lkey = row->stale ? bad ^ 1 : bad;
		sge[2].address += row->shift;
		memset(target, 0, sizeof(target));
		memset(packet, 1, sizeof(packet));
		CU_ASSERT_EQUAL(mem_scatter(table, PD, sge, 4, 0, packet, 64), row->scatter);
		for (int i = 0; i < 4096; i++)
			written += target[i];
		CU_ASSERT_EQUAL(written, row->scatter == MEM_OK ? 64 : 0);
		CU_ASSERT_EQUAL(mem_gather(table, PD, sge, 4, 0, packet, 64), row->gather);
		CU_ASSERT_EQUAL(mem_check(table, PD, sge, 4, 0), row->gather);
		CU_ASSERT_EQUAL(mem_check(table, PD, sge, 4, LW), row->scatter);
		CU_ASSERT_EQUAL(mem_scatter(table, PD, sge, 4, 0, packet, 32), MEM_OK);
		CU_ASSERT_EQUAL(mem_scatter(table, PD, sge, 4, 48, packet, 16), MEM_OK);
		CU_ASSERT_EQUAL(mem_gather(table, PD, sge, 2, 0, packet, 32), MEM_OK);
		mem_table_destroy(table);
	}
}

/* Nothing to copy: no element is looked at, the list may be empty, the offset anything. */
static void zero_length(void)
{
	struct mem_table *table = table_new(4);
	struct mem_sge bad[2] = {{UINT64_MAX, 0, 0}, {UINT64_MAX, UINT32_MAX, 0xffffffff}};

	CU_ASSERT_EQUAL(mem_gather(table, PD, NULL, 0, 0, packet, 0), MEM_OK);
	CU_ASSERT_EQUAL(mem_scatter(table, PD, NULL, 0, 0, packet, 0), MEM_OK);
	CU_ASSERT_EQUAL(mem_gather(table, PD, bad, 2, UINT64_MAX, packet, 0), MEM_OK);
	CU_ASSERT_EQUAL(mem_scatter(table, PD, bad, 2, 7, packet, 0), MEM_OK);
	CU_ASSERT_EQUAL(mem_check(table, PD, NULL, 0, LW), MEM_OK);
	CU_ASSERT_EQUAL(mem_check(table, PD, bad, 1, LW), MEM_OK);
	CU_ASSERT_EQUAL(mem_check(table, PD, bad, 2, LW), MEM_BAD_KEY);
	/* beyond the list */
	CU_ASSERT_EQUAL(mem_gather(table, PD, NULL, 0, 0, packet, 1), MEM_BAD_RANGE);
	CU_ASSERT_EQUAL(mem_scatter(table, PD, NULL, 0, 0, packet, 1), MEM_BAD_RANGE);
	CU_ASSERT_EQUAL(mem_gather(table, PD, bad, 1, 0, packet, 1), MEM_BAD_RANGE);
	CU_ASSERT_EQUAL(mem_gather(table, PD, bad, 2, UINT64_MAX, packet, 1), MEM_BAD_RANGE);
	mem_table_destroy(table);
}

static void lengths_do_not_wrap(void)
{
	struct mem_sge sge[ENTRIES];

	for (int i = 0; i < ENTRIES; i++)
		sge[i] = (struct mem_sge){0, UINT32_MAX, 0};
	CU_ASSERT_EQUAL(mem_length(sge, 0), 0);
	CU_ASSERT_EQUAL(mem_length(sge, 2), UINT64_C(0x1fffffffe));
	CU_ASSERT_EQUAL(mem_length(sge, 32), UINT64_C(0x1fffffffe0));
}

/* The same edges as single accesses, where a list element can say them. */
static void ranges(void)
{
	for (unsigned int i = 0; i < EDGES; i++) {
		const struct edge *edge = &edges[i];
		struct mem_sge sge = {edge->address, (uint32_t)edge->length, 0};
		struct mem_table *table = table_new(2);
		enum mem_status status = edge->inside ? MEM_OK : MEM_BAD_RANGE;

		if (edge->length <= sizeof(packet) && edge->size <= sizeof(source)) {
			CU_ASSERT_EQUAL_FATAL(mem_register(table, PD, source, edge->size,
						      edge->base, LW, &sge.lkey),
				0);
			CU_ASSERT_EQUAL(mem_check(table, PD, &sge, 1, LW), status);
			CU_ASSERT_EQUAL(
				mem_gather(table, PD, &sge, 1, 0, packet, sge.length), status);
			CU_ASSERT_EQUAL(
				mem_scatter(table, PD, &sge, 1, 0, packet, sge.length), status);
		}
		mem_table_destroy(table);
	}
}

/* An offset into an element that ends beyond 2^64 must not come out at address 0. */
static void offset_does_not_wrap(void)
{
	struct mem_table *table = table_new(4);
	struct mem_sge sge = {UINT64_MAX - 15, 64, 0};
	uint32_t key = 0;

	CU_ASSERT_EQUAL_FATAL(mem_register(table, PD, source, 4096, 0, LW, &key), 0);
	sge.lkey = key;
	for (uint64_t offset = 0; offset < 64; offset++) {
		CU_ASSERT_EQUAL(mem_gather(table, PD, &sge, 1, offset, packet, 1), MEM_BAD_RANGE);
		CU_ASSERT_EQUAL(mem_scatter(table, PD, &sge, 1, offset, packet, 1), MEM_BAD_RANGE);
	}
	/* the bytes below 2^64 are there, those above are not */
	CU_ASSERT_EQUAL_FATAL(
		mem_register(table, PD, source, 4096, UINT64_MAX - 4095, LW, &sge.lkey), 0);
	for (uint64_t offset = 0; offset < 64; offset++)
		CU_ASSERT_EQUAL(mem_gather(table, PD, &sge, 1, offset, packet, 1),
			offset < 16 ? MEM_OK : MEM_BAD_RANGE);
	CU_ASSERT_EQUAL(mem_check(table, PD, &sge, 1, 0), MEM_BAD_RANGE);
	mem_table_destroy(table);
}

static const struct unit_case cases[] = {
	UNIT_CASE(gather_any_part),
	UNIT_CASE(scatter_any_part),
	UNIT_CASE(faults_before_the_first_byte),
	UNIT_CASE(zero_length),
	UNIT_CASE(lengths_do_not_wrap),
	UNIT_CASE(ranges),
	UNIT_CASE(offset_does_not_wrap),
};

UNIT_MAIN("mem-gather", cases)
