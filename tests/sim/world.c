/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends, wire, clock. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uroce/uroce.h>

#include "world.h"

#define GUARD 16u
#define START 1000000000ull

static void *need(void *memory)
{
	if (!memory) {
		fprintf(stderr, "sim: set-up failed\n");
		abort();
	}
	return memory;
}

uint32_t world_between(struct world *world, uint32_t low, uint32_t high)
{
	return low + (uint32_t)random_below(&world->random, (uint64_t)high - low + 1);
}

bool world_chance(struct world *world, uint32_t percent)
{
	return random_below(&world->random, 100) < percent;
}

void world_trace(const struct world *world, const char *format, ...)
{
	va_list arguments;

	if (!world->verbose)
		return;
	printf("%10.3f us  ", (double)(world->now - START) / 1000);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
}

static uint64_t read_clock(void *context)
{
	return ((struct world *)context)->now;
}

/* ---- faults ---- */

/* A third of the seeds runs on a clean wire, the others on one that is up to very bad. */
static void choose_faults(struct world *world)
{
	struct loop_faults faults = {0};
	struct loop_link link = {
		.rate = world_chance(world, 50) ? 0 : 1000000000ull * world_between(world, 1, 100),
		.delay = world_between(world, 0, 50000),
		.queue = world_chance(world, 30) ? world_between(world, 8, 200) : 0,
	};

	if (world_chance(world, 66)) {
		uint32_t scale = world_chance(world, 80) ? 20000 : 100000; /* 2 % or 10 % at most */

		faults.loss = world_between(world, 0, scale);
		faults.duplicate = world_between(world, 0, scale);
		faults.reorder = world_between(world, 0, scale);
		faults.corrupt = world_between(world, 0, scale);
		faults.corrupt_bits = 3;
		faults.reorder_by = world_between(world, 100, 100000);
	}
	world->loss = faults.loss;
	loop_set_faults(world->wire, LOOP_ANY, LOOP_ANY, &faults);
	loop_set_link(world->wire, LOOP_ANY, &link);
	world_trace(world, "faults: loss %u, duplicate %u, reorder %u, corrupt %u per million",
		faults.loss, faults.duplicate, faults.reorder, faults.corrupt);
}

/* ---- ends ---- */

static void open_device(struct world *world, struct end *end, const char *name)
{
	struct ibv_device *device = need(uroce_find_device(name));

	end->context = need(ibv_open_device(device));
	end->pd = need(ibv_alloc_pd(end->context));
	end->arena = need(malloc(WORLD_ARENA));
	for (uint32_t i = 0; i < WORLD_ARENA; i++)
		end->arena[i] = (uint8_t)(0xa0 + i % 7);
	end->mr = need(ibv_reg_mr(end->pd, end->arena, WORLD_ARENA,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			IBV_ACCESS_REMOTE_ATOMIC));
	oracle_watch(world->oracle, end->arena, WORLD_ARENA);
	end->cq = need(ibv_create_cq(end->context, 4096, NULL, NULL, 0));
	if (world_chance(world, 30)) {
		struct ibv_srq_init_attr init = {.attr = {.max_wr = 1024, .max_sge = 1}};

		end->srq = need(ibv_create_srq(end->pd, &init));
	}
}

static void open_end(struct world *world, uint32_t number)
{
	struct end *end = &world->end[number];
	struct loop_end_config attachment = {.mtu = 4200, .gid_count = 2};
	uint8_t six[16] = {0xfd, 0x99, [15] = (uint8_t)(number + 1)};
	struct engine_config config = {
		.mode = ENGINE_INLINE,
		.clock = read_clock,
		.clock_context = world,
		.seed = world->seed * WORLD_ENDS + number + 1,
		.region_size = 64u << 20,
		.tx_burst = world_between(world, 1, 32),
	};
	char name[16];

	snprintf(name, sizeof(name), "uroce%u", number);
	config.name = name;
	attachment.gids[0] = loop_gid4(0x0a000001 + number, 24);
	attachment.gids[1] = loop_gid6(six, 64);
	if (loop_add_end(world->wire, &attachment, &config.port) != 0 ||
		engine_create(&config, &end->engine) != 0)
		need(NULL);
	if (world_chance(world, 20))
		loop_set_tx_limit(world->wire, number, world_between(world, 1, 8));
	if (world_chance(world, 20))
		loop_set_alloc_limit(world->wire, number, world_between(world, 1, 8));
	open_device(world, end, name);
}

void world_open(struct world *world, uint64_t seed, bool verbose, const char *pcap)
{
	struct loop_config config = {
		.clock = read_clock,
		.clock_context = world,
		.seed = seed,
		.buffers = 2048,
		.room = 4400,
		.pcap = pcap,
		.pcap_nanoseconds = true,
	};

	memset(world, 0, sizeof(*world));
	world->seed = seed;
	world->verbose = verbose;
	world->now = START;
	random_seed(&world->random, seed);
	world->oracle = oracle_create();
	if (loop_create(&config, &world->wire) != 0)
		need(NULL);
	world->ends = world_between(world, 2, WORLD_ENDS);
	for (uint32_t i = 0; i < world->ends; i++)
		open_end(world, i);
	choose_faults(world);
}

static void close_end(struct end *end)
{
	if ((end->srq && ibv_destroy_srq(end->srq) != 0) || ibv_destroy_cq(end->cq) != 0 ||
		ibv_dereg_mr(end->mr) != 0 || ibv_dealloc_pd(end->pd) != 0 ||
		ibv_close_device(end->context) != 0 || engine_destroy(end->engine) != 0)
		need(NULL);
	free(end->arena);
}

void world_close(struct world *world)
{
	for (uint32_t i = 0; i < world->ends; i++)
		close_end(&world->end[i]);
	loop_destroy(world->wire);
	oracle_destroy(world->oracle);
}

/* ---- time ---- */

bool world_step(struct world *world)
{
	uint64_t next = loop_next_event(world->wire);
	unsigned int moved = 0;
	bool busy = false;

	for (uint32_t i = 0; i < world->ends; i++) {
		moved += engine_round(world->end[i].engine);
		busy |= engine_busy(world->end[i].engine);
	}
	if (moved)
		return true;
	if (busy) { /* waits for buffers, or has more than a round's budget: time goes on a little
		     */
		world->now += 1000;
		return true;
	}
	next = loop_next_event(world->wire);
	for (uint32_t i = 0; i < world->ends; i++) {
		uint64_t timer = engine_next_timer(world->end[i].engine);

		if (timer < next)
			next = timer;
	}
	if (next == UINT64_MAX)
		return false;
	if (next > world->now)
		world->now = next;
	return true;
}

/* ---- memory ---- */

uint8_t *world_take(struct world *world, struct end *end, uint32_t length)
{
	uint32_t start = (end->used + GUARD + 7) & ~7u;

	(void)world;
	if (start + length + GUARD > WORLD_ARENA)
		return NULL;
	end->used = start + length;
	return end->arena + start;
}
