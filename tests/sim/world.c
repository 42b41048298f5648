/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends, wire, clock. */
#include <inttypes.h>
#include <poll.h>
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
	world->clean = faults.corrupt_bits == 0 && link.queue == 0;
	loop_set_faults(world->wire, LOOP_ANY, LOOP_ANY, &faults);
	loop_set_link(world->wire, LOOP_ANY, &link);
	world_trace(world, "faults: loss %u, duplicate %u, reorder %u, corrupt %u per million",
		faults.loss, faults.duplicate, faults.reorder, faults.corrupt);
}

/* ---- ends ---- */

/* What every end of a world costs; it is there after this, and nothing more may be in the end. */
static void warm_up(struct end *end)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.cap = {.max_send_wr = 1},
	};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};
	struct ibv_send_wr *bad;
	struct ibv_qp *qp = need(ibv_create_qp(end->pd, &init));

	if (ibv_modify_qp(qp, &attr, mask) != 0)
		need(NULL);
	attr.qp_state = IBV_QPS_ERR;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE) != 0 || ibv_post_send(qp, &wr, &bad) != 0 ||
		ibv_destroy_qp(qp) != 0)
		need(NULL);
	leaks_count(end->engine, &end->before);
}

void world_provide(struct world *world, struct end *end, uint32_t completions, uint32_t receives)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = receives, .max_sge = 1}};

	if (receives && world_chance(world, 30))
		end->srq = need(ibv_create_srq(end->pd, &init));
	if (world_chance(world, 30))
		end->channel = need(ibv_create_comp_channel(end->context));
	end->lazy = world_chance(world, 30);
	end->cq = need(ibv_create_cq(end->context, (int)completions, NULL, end->channel, 0));
	warm_up(end);
}

static void open_device(struct world *world, struct end *end, const char *name)
{
	struct ibv_device *device = need(uroce_find_device(name));

	end->context = need(ibv_open_device(device));
	end->pd = need(ibv_alloc_pd(end->context));
	end->arena = need(malloc(WORLD_ARENA));
	for (uint32_t i = 0; i < WORLD_ARENA; i++)
		end->arena[i] = (uint8_t)(0xa0 + i % 7);
	end->mr = need(ibv_reg_mr(end->pd, end->arena, WORLD_REGION,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND));
	oracle_watch(world->oracle, end->arena, WORLD_ARENA);
}

static void open_tap(struct world *world, struct end *end, uint32_t number, struct port *port)
{
	end->tap = (struct tap){
		.random = &world->random,
		.end = number,
		.tx_limit = world_chance(world, 20) ? world_between(world, 1, 8) : UINT32_MAX,
		.forge = !world->clean && world_chance(world, 30) ? 3 : 0,
	};
	tap_open(&end->tap, port);
	if (world_chance(world, 20))
		loop_set_alloc_limit(world->wire, number, world_between(world, 1, 8));
}

static void open_end(struct world *world, uint32_t number)
{
	struct end *end = &world->end[number];
	struct loop_end_config attachment = {.mtu = 4200, .gid_count = 2};
	uint8_t six[16] = {0xfd, 0x99, [15] = (uint8_t)(number + 1)};
	struct engine_config config = {
		.clock = read_clock,
		.clock_context = world,
		.seed = world->seed * WORLD_ENDS + number + 1,
		.region_size = 64u << 20,
		.tx_burst = world_between(world, 1, 32),
		.port = &end->tap.port,
		.cores = world_chance(world, 40) ? world_between(world, 2, 4) : 1,
	};
	struct port *port;
	char name[16];

	snprintf(name, sizeof(name), "uroce%u", number);
	config.name = name;
	end->cores = config.cores;
	attachment.queues = (uint16_t)config.cores;
	attachment.gids[0] = loop_gid4(0x0a000001 + number, 24);
	attachment.gids[1] = loop_gid6(six, 64);
	if (loop_add_end(world->wire, &attachment, &port) != 0)
		need(NULL);
	open_tap(world, end, number, port);
	if (engine_create(&config, &end->engine) != 0)
		need(NULL);
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
	choose_faults(world);
	for (uint32_t i = 0; i < world->ends; i++)
		open_end(world, i);
}

static void close_end(struct world *world, struct end *end)
{
	struct leaks after;
	const char *leak;

	leaks_count(end->engine, &after);
	leak = leaks_compare(&end->before, &after);
	if (leak)
		oracle_complain(world->oracle, "end %u: has lost %s", end->tap.end, leak);
	if ((end->srq && ibv_destroy_srq(end->srq) != 0) || ibv_destroy_cq(end->cq) != 0 ||
		(end->channel && ibv_destroy_comp_channel(end->channel) != 0) ||
		ibv_dereg_mr(end->mr) != 0 || ibv_dealloc_pd(end->pd) != 0 ||
		ibv_close_device(end->context) != 0 || engine_destroy(end->engine) != 0)
		oracle_complain(world->oracle, "end %u: does not close", end->tap.end);
}

void world_close(struct world *world)
{
	struct loop_counters counters;

	for (uint32_t i = 0; i < world->ends; i++)
		close_end(world, &world->end[i]);
	loop_count(world->wire, LOOP_ANY, LOOP_ANY, &counters);
	if (loop_buffers_used(world->wire))
		oracle_complain(world->oracle, "%u buffers of the ports were not given back",
			loop_buffers_used(world->wire));
	if (counters.misused || counters.oversized || counters.no_destination)
		oracle_complain(world->oracle, "buffers or frames were not as ports want them");
}

void world_free(struct world *world)
{
	for (uint32_t i = 0; i < world->ends; i++)
		free(world->end[i].arena);
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

bool world_quiet(struct world *world)
{
	for (uint32_t i = 0; i < world->ends; i++)
		if (engine_busy(world->end[i].engine))
			return false;
	return loop_next_event(world->wire) == UINT64_MAX;
}

bool world_readable(int fd)
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};

	return poll(&wait, 1, 0) == 1;
}

/* ---- memory ---- */

uint8_t *world_take(struct world *world, struct end *end, uint32_t length)
{
	uint32_t start = (end->used + GUARD + 7) & ~7u;

	(void)world;
	if (start + length + GUARD > WORLD_REGION)
		return NULL;
	end->used = start + length;
	return end->arena + start;
}
