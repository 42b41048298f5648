/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A reader of an entry while a window is bound and invalidated by others: every number of changes
 * between every two of its loads. What it returns must be the window of one moment.
 */
#include <stdint.h>
#include <string.h>

static void between_loads(void);

#define FIELD_GET(field) (between_loads(), __atomic_load_n(&(field), __ATOMIC_ACQUIRE))

#include "entry.h"
#include "fixture.h"

#define HALF 2048

static uint8_t buffer[2 * HALF];

/* The writer's side: the window goes through these states, round and round. */
struct writer {
	struct mem_table *table;
	uint32_t lkey;
	uint32_t window; /* its present key */
	uint32_t state;
	uint32_t loads;	  /* of the read in progress */
	uint32_t at_load; /* before this one */
	uint32_t changes; /* so many happen */
};

static struct writer writer;

struct state {
	uint8_t byte; /* of the key */
	bool bound;
	uint32_t half;
	uint32_t qp_num;
	uint8_t access;
};

static const struct state states[] = {
	{1, true, 0, 10, RW},
	{1, false, 0, 0, 0},
	{1, true, 1, 11, RR}, /* the same key, all else different */
	{1, false, 0, 0, 0},
	{2, true, 1, 12, RW | RR},
	{2, false, 0, 0, 0},
};

#define STATES (sizeof(states) / sizeof(states[0]))

static uint32_t key_of(uint32_t state)
{
	return (writer.window & ~0xffu) | states[state].byte;
}

static void change(void)
{
	uint32_t next = (writer.state + 1) % STATES;
	const struct state *to = &states[next];
	struct mem_bind bind = {
		.window = writer.window,
		.new_rkey = key_of(next),
		.lkey = writer.lkey,
		.address = (uintptr_t)buffer + to->half * HALF,
		.length = HALF - to->half,
		.access = to->access,
		.pd = PD,
		.qp_num = to->qp_num,
	};
	enum mem_status status;

	if (to->bound)
		status = mem_window_bind(writer.table, &bind, 2, &writer.window);
	else
		status = mem_invalidate(
			writer.table, writer.window, PD, states[writer.state].qp_num);
	CU_ASSERT_EQUAL_FATAL(status, MEM_OK);
	writer.state = next;
}

static void between_loads(void)
{
	if (++writer.loads != writer.at_load)
		return;
	for (uint32_t i = 0; i < writer.changes; i++)
		change();
}

static bool is_state(const struct mem_view *view, const struct state *state)
{
	if (view->bound != state->bound || view->access != state->access)
		return false;
	if (view->qp_num != state->qp_num || view->pd != PD || view->kind != MEM_WINDOW_2)
		return false;
	if (!state->bound)
		return view->length == 0 && !view->host && view->iova == 0;
	return view->length == HALF - state->half && view->host == buffer + state->half * HALF &&
		view->iova == (uintptr_t)view->host;
}

/* A state of that key that the window was in while it was read. */
static bool was_in(const struct mem_view *view, uint32_t first, uint32_t changes, uint32_t key)
{
	for (uint32_t i = 0; i <= changes; i++) {
		uint32_t state = (first + i) % STATES;

		if (key_of(state) == key && is_state(view, &states[state]))
			return true;
	}
	return false;
}

static void read_once(uint32_t first, uint32_t at_load, uint32_t changes)
{
	const struct mem_entry *entry = entry_at(writer.table, writer.window);
	struct mem_view view;
	uint32_t key;
	bool found;

	while (writer.state != first)
		change();
	key = writer.window;
	writer.loads = 0;
	writer.at_load = at_load;
	writer.changes = changes;
	memset(&view, 0xa5, sizeof(view));
	found = entry_read(entry, key, &view);
	writer.at_load = 0;
	/* Not found only if its key was another one, or none, at some time. */
	CU_ASSERT(found ? was_in(&view, first, changes, key) : changes > 0);
}

static void any_change_between_any_loads(void)
{
	writer = (struct writer){.table = table_new(4)};
	writer.lkey = region_new(writer.table, PD, buffer, sizeof(buffer), LW | MB);
	writer.window = window_new(writer.table, PD, 2);
	writer.state = STATES - 1;
	change();
	for (uint32_t first = 0; first < STATES; first++)
		for (uint32_t at_load = 1; at_load <= 12; at_load++)
			for (uint32_t changes = 0; changes <= 2 * STATES; changes++)
				read_once(first, at_load, changes);
	/* ten loads without a change: the word, eight fields, the word */
	read_once(0, 0, 0);
	CU_ASSERT_EQUAL(writer.loads, 10);
	mem_table_destroy(writer.table);
}

static const struct unit_case cases[] = {
	UNIT_CASE(any_change_between_any_loads),
};

UNIT_MAIN("mem-entry", cases)
