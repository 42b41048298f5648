/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A key that is dropped while another core is inside a round: the answer, after which the program
 * may unmap the memory, waits for the end of that round, and for no other.
 */
#include <string.h>

#include "mem.h"
#include "quiescence.h"
#include "rig.h"
#include "worker.h"

#define CORES 3u
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

static _Alignas(64) uint8_t memory[4096];

struct fixture {
	struct rig rig;
	struct front *front;
	struct engine *engine;
	uint32_t key;
};

static void fixture_open(struct fixture *f)
{
	const struct engine_config config = {.cores = CORES};

	rig_open_with(&f->rig, NULL, &config);
	f->front = &f->rig.fronts[0];
	f->engine = f->rig.engines[0];
}

static struct worker *core(struct fixture *f, uint32_t number)
{
	return f->engine->workers[number];
}

static uint32_t alloc_window(struct fixture *f)
{
	struct uroce_abi_command command = {.head.op = UROCE_ABI_ALLOC_MW};

	command.u.mr.pd = f->front->pd;
	command.u.mr.type = IBV_MW_TYPE_1;
	CU_ASSERT_EQUAL_FATAL(front_command(f->front, &command), 0);
	return command.u.mr.key;
}

static struct uroce_abi_command drop(struct fixture *f, uint32_t op)
{
	struct uroce_abi_command command = {.head.op = op};

	f->key = op == UROCE_ABI_DEALLOC_MW
		? alloc_window(f)
		: front_reg_mr(f->front, memory, sizeof(memory), ACCESS);
	command.u.mr.key = f->key;
	command.u.mr.flags = IBV_REREG_MR_CHANGE_ACCESS;
	command.u.mr.access = ACCESS | IBV_ACCESS_REMOTE_READ;
	return command;
}

/* What a core would find that looks the key up now. */
static bool key_works(struct fixture *f)
{
	const struct engine_pd *pd = client_object(f->front->client, OBJECT_PD, f->front->pd);
	uint8_t *host;

	return mem_remote(f->engine->mem, pd->number, 0, f->key, (uintptr_t)memory, 8,
		       IBV_ACCESS_REMOTE_WRITE, &host) == MEM_OK;
}

static bool is_answered(struct fixture *f, uint32_t slot)
{
	return f->front->slots[slot].head.state == UROCE_ABI_DONE;
}

static void expect_success(struct fixture *f, uint32_t slot)
{
	struct uroce_abi_command command;

	CU_ASSERT_TRUE(is_answered(f, slot));
	CU_ASSERT_FATAL(front_done(f->front, slot, &command));
	CU_ASSERT_EQUAL(command.head.status, 0);
}

static const uint32_t drops[] = {UROCE_ABI_DEREG_MR, UROCE_ABI_REREG_MR, UROCE_ABI_DEALLOC_MW};

#define DROPS (sizeof(drops) / sizeof(drops[0]))

static void waits_for_a_core_inside(void)
{
	static struct fixture f;

	fixture_open(&f);
	for (unsigned int i = 0; i < DROPS; i++)
		for (uint32_t inside = 1; inside < CORES; inside++) {
			struct uroce_abi_command command = drop(&f, drops[i]);

			CU_ASSERT_EQUAL(key_works(&f), drops[i] != UROCE_ABI_DEALLOC_MW);
			CU_ASSERT_FATAL(worker_enter(core(&f, inside)));
			front_post(f.front, 0, &command);
			for (unsigned int n = 0; n < 20; n++)
				rig_round(&f.rig);
			CU_ASSERT_FALSE(is_answered(&f, 0));
			CU_ASSERT_FALSE(key_works(&f));
			worker_leave(core(&f, inside));
			CU_ASSERT_FALSE(is_answered(&f, 0));
			engine_core_round(f.engine, 0);
			expect_success(&f, 0);
		}
	rig_close(&f.rig);
}

/* Core 0's round alone answers it: the others are in none. */
static void waits_for_no_core_outside(void)
{
	static struct fixture f;

	fixture_open(&f);
	for (unsigned int i = 0; i < DROPS; i++) {
		struct uroce_abi_command command = drop(&f, drops[i]);

		front_post(f.front, 0, &command);
		engine_core_round(f.engine, 0);
		expect_success(&f, 0);
		CU_ASSERT_FALSE(key_works(&f));
	}
	rig_close(&f.rig);
}

/* A core that is always in a round, but in a later one by now, holds nobody up. */
static void waits_for_no_later_round(void)
{
	static struct fixture f;

	fixture_open(&f);
	for (unsigned int i = 0; i < DROPS; i++) {
		struct uroce_abi_command command = drop(&f, drops[i]);

		CU_ASSERT_FATAL(worker_enter(core(&f, 1)));
		front_post(f.front, 0, &command);
		engine_core_round(f.engine, 0);
		CU_ASSERT_FALSE(is_answered(&f, 0));
		worker_leave(core(&f, 1));
		CU_ASSERT_FATAL(worker_enter(core(&f, 1)));
		engine_core_round(f.engine, 0);
		expect_success(&f, 0);
		worker_leave(core(&f, 1));
	}
	rig_close(&f.rig);
}

/* What was refused waits for nobody; nor do other commands behind one that waits. */
static void only_what_was_dropped(void)
{
	struct uroce_abi_command nop = {.head.op = UROCE_ABI_NOP}, first, second;
	struct uroce_abi_command registration = {.head.op = UROCE_ABI_REG_MR};
	static struct fixture f;

	fixture_open(&f);
	first = drop(&f, UROCE_ABI_DEREG_MR);
	second = drop(&f, UROCE_ABI_DEREG_MR);
	registration.u.mr.pd = f.front->pd;
	registration.u.mr.access = ACCESS;
	registration.u.mr.address = registration.u.mr.iova = (uintptr_t)memory;
	registration.u.mr.length = sizeof(memory);
	CU_ASSERT_FATAL(worker_enter(core(&f, 1)));
	front_post(f.front, 0, &first);
	front_post(f.front, 1, &second);
	front_post(f.front, 2, &nop);
	first.u.mr.key ^= 0x80;
	front_post(f.front, 3, &first);
	engine_core_round(f.engine, 0);
	expect_success(&f, 2);
	CU_ASSERT_TRUE(is_answered(&f, 3));
	CU_ASSERT_FATAL(front_done(f.front, 3, &nop));
	CU_ASSERT_NOT_EQUAL(nop.head.status, 0);
	CU_ASSERT_FALSE(is_answered(&f, 0));
	CU_ASSERT_FALSE(is_answered(&f, 1));
	/* Registering goes on, too, by other keys than those that may still be in use. */
	CU_ASSERT_FALSE(key_works(&f));
	front_post(f.front, 2, &registration);
	engine_core_round(f.engine, 0);
	CU_ASSERT_FATAL(front_done(f.front, 2, &registration));
	CU_ASSERT_NOT_EQUAL(registration.u.mr.key >> 8, first.u.mr.key >> 8);
	CU_ASSERT_NOT_EQUAL(registration.u.mr.key >> 8, second.u.mr.key >> 8);
	f.key = registration.u.mr.key;
	CU_ASSERT_TRUE(key_works(&f));
	worker_leave(core(&f, 1));
	engine_core_round(f.engine, 0);
	expect_success(&f, 0);
	expect_success(&f, 1);
	rig_close(&f.rig);
}

/* The client goes while its command waits. */
static void the_client_goes(void)
{
	struct uroce_abi_command command;
	static struct fixture f;

	fixture_open(&f);
	command = drop(&f, UROCE_ABI_DEREG_MR);
	CU_ASSERT_FATAL(worker_enter(core(&f, 2)));
	front_post(f.front, 0, &command);
	engine_core_round(f.engine, 0);
	CU_ASSERT_FALSE(list_empty(&core(&f, 0)->pending));
	worker_leave(core(&f, 2));
	front_detach(f.front);
	CU_ASSERT_TRUE(list_empty(&core(&f, 0)->pending));
	rig_round(&f.rig);
	rig_close(&f.rig);
}

/* ---- the functions alone ---- */

static void until_all_have_left(void)
{
	struct quiescence quiescence;
	static struct fixture f;

	fixture_open(&f);
	for (uint32_t self = 0; self < CORES; self++) {
		uint32_t a = (self + 1) % CORES, b = (self + 2) % CORES;

		CU_ASSERT_FATAL(worker_enter(core(&f, self)));
		quiescence_begin(&quiescence, f.engine, core(&f, self));
		CU_ASSERT_TRUE(quiescence_over(&quiescence, f.engine));
		CU_ASSERT_FATAL(worker_enter(core(&f, a)));
		CU_ASSERT_FATAL(worker_enter(core(&f, b)));
		/* Who has come since doesn't count. */
		CU_ASSERT_TRUE(quiescence_over(&quiescence, f.engine));
		quiescence_begin(&quiescence, f.engine, core(&f, self));
		CU_ASSERT_FALSE(quiescence_over(&quiescence, f.engine));
		worker_leave(core(&f, b));
		CU_ASSERT_FALSE(quiescence_over(&quiescence, f.engine));
		CU_ASSERT_FATAL(worker_enter(core(&f, b)));
		worker_leave(core(&f, a));
		CU_ASSERT_TRUE(quiescence_over(&quiescence, f.engine));
		worker_leave(core(&f, b));
		worker_leave(core(&f, self));
	}
	rig_close(&f.rig);
}

/* The count of rounds comes round. */
static void after_four_billion_rounds(void)
{
	struct quiescence quiescence;
	static struct fixture f;

	fixture_open(&f);
	core(&f, 1)->rounds = UINT32_MAX;
	CU_ASSERT_FATAL(worker_enter(core(&f, 1)));
	quiescence_begin(&quiescence, f.engine, core(&f, 0));
	CU_ASSERT_FALSE(quiescence_over(&quiescence, f.engine));
	worker_leave(core(&f, 1));
	CU_ASSERT_EQUAL(core(&f, 1)->rounds, 0);
	CU_ASSERT_TRUE(quiescence_over(&quiescence, f.engine));
	rig_close(&f.rig);
}

/* Seen between the two steps of worker_leave(), and asleep since: it is not waited for. */
static void amid_leaving(void)
{
	struct quiescence quiescence;
	static struct fixture f;
	struct worker *other;

	fixture_open(&f);
	other = core(&f, 1);
	CU_ASSERT_FATAL(worker_enter(other));
	other->rounds++;
	quiescence_begin(&quiescence, f.engine, core(&f, 0));
	CU_ASSERT_FALSE(quiescence_over(&quiescence, f.engine));
	other->token = 0;
	CU_ASSERT_TRUE(quiescence_over(&quiescence, f.engine));
	/* Once over, it stays so. */
	CU_ASSERT_FATAL(worker_enter(other));
	CU_ASSERT_TRUE(quiescence_over(&quiescence, f.engine));
	worker_leave(other);
	rig_close(&f.rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(waits_for_a_core_inside),
	UNIT_CASE(waits_for_no_core_outside),
	UNIT_CASE(waits_for_no_later_round),
	UNIT_CASE(only_what_was_dropped),
	UNIT_CASE(the_client_goes),
	UNIT_CASE(until_all_have_left),
	UNIT_CASE(after_four_billion_rounds),
	UNIT_CASE(amid_leaving),
};

UNIT_MAIN("engine-quiescence", cases)
