/* SPDX-License-Identifier: BSD-3-Clause */
/* Engines, their threads, the actors, and what must be back when these are done. */
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include <uroce/uroce.h>

#include "load_port.h"
#include "state.h"

#define FIRST_ADDRESS 0x0a000001u
#define ACTORS_MAX 16u
#define PATIENCE 60.0 /* seconds */

static uint64_t now_ns(void *context)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void sleep_us(uint32_t us)
{
	const struct timespec time = {
		.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};

	nanosleep(&time, NULL);
}

/* ---- threads of the engines ---- */

static void *run_rounds(void *argument)
{
	struct load_thread *thread = argument;

	while (!__atomic_load_n(&thread->stop, __ATOMIC_RELAXED))
		if (engine_core_round(thread->engine, thread->core) == 0)
			sched_yield();
	return NULL;
}

static void *run_serve(void *argument)
{
	serve_run(&((struct load_thread *)argument)->serve);
	return NULL;
}

static void start_rounds(struct load_end *end, uint32_t core)
{
	struct load_thread *thread = &end->threads[end->thread_count++];

	*thread = (struct load_thread){.engine = end->engine, .core = core};
	stress_require(
		pthread_create(&thread->thread, NULL, run_rounds, thread) == 0, "thread of a core");
}

static void start_serve(struct load_end *end, struct serve how)
{
	struct load_thread *thread = &end->threads[end->thread_count++];

	*thread = (struct load_thread){.engine = end->engine, .serve = how};
	thread->serve.engine = end->engine;
	stress_require(serve_init(&thread->serve) == 0, "descriptor");
	stress_require(
		pthread_create(&thread->thread, NULL, run_serve, thread) == 0, "serving thread");
}

#define IDLE 20000u /* ns until a thread sleeps */

static void start_threads(struct load_end *end, enum load_driver driver)
{
	uint32_t driven = driver == LOAD_PROGRESS ? 0 : 1;

	for (uint32_t core = 0; core < LOAD_CORES && driver <= LOAD_SERVED; core++)
		if (driver == LOAD_ROUNDS)
			start_rounds(end, core);
		else
			start_serve(end, (struct serve){.first = core, .count = 1, .idle = IDLE});
	if (driver <= LOAD_SERVED)
		return;
	if (driven)
		start_serve(end, (struct serve){.count = 1, .idle = IDLE});
	start_serve(end,
		(struct serve){.first = driven,
			.count = LOAD_CORES - driven,
			.idle = IDLE,
			.progress = true});
}

static void stop_threads(struct load_end *end)
{
	for (uint32_t i = 0; i < end->thread_count; i++) {
		struct load_thread *thread = &end->threads[i];

		if (thread->serve.engine)
			serve_stop(&thread->serve);
		__atomic_store_n(&thread->stop, true, __ATOMIC_RELAXED);
		pthread_join(thread->thread, NULL);
		if (thread->serve.engine)
			serve_fini(&thread->serve);
	}
}

/* ---- ends ---- */

static void *listen_to_events(void *argument)
{
	struct load_end *end = argument;
	struct pollfd at = {.fd = end->context->async_fd, .events = POLLIN};
	struct ibv_async_event event;

	while (!__atomic_load_n(&end->stop, __ATOMIC_RELAXED)) {
		if (poll(&at, 1, 5) != 1 || ibv_get_async_event(end->context, &event) != 0)
			continue;
		if (event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED)
			__atomic_fetch_add(&end->limits, 1, __ATOMIC_RELAXED);
		ibv_ack_async_event(&event);
	}
	return NULL;
}

static uint32_t dedicated(enum load_driver driver)
{
	if (driver == LOAD_PROGRESS)
		return 0;
	return driver == LOAD_MIXED ? 1 : LOAD_CORES;
}

static void create_engine(struct load *load, unsigned int number, enum load_driver driver)
{
	static const char *const names[] = {"uroce0", "uroce1"};
	struct load_end *end = &load->end[number];
	struct loop_end_config attachment = {.gid_count = 1, .queues = LOAD_CORES};
	struct engine_config config = {
		.name = names[number],
		.cores = LOAD_CORES,
		.dedicated = dedicated(driver),
		.clock = now_ns,
		.region_size = 1ull << 30,
	};

	attachment.gids[0] = loop_gid4(FIRST_ADDRESS + number, 24);
	stress_require(loop_add_end(load->wire, &attachment, &end->port) == 0, "port");
	stress_require(load_port_open(number, end->port) == 0, "descriptors of a port");
	config.port = end->port;
	stress_require(engine_create(&config, &end->engine) == 0, "engine");
	start_threads(end, driver);
}

static void count(struct load_end *end, struct leaks *leaks)
{
	engine_pause(end->engine);
	leaks_count(end->engine, leaks);
	engine_resume(end->engine);
}

static void open_end(struct load_end *end, const char *name)
{
	end->context = ibv_open_device(uroce_find_device(name));
	stress_require(end->context, "context");
	fcntl(end->context->async_fd, F_SETFL, O_NONBLOCK);
	end->pd = ibv_alloc_pd(end->context);
	stress_require(end->pd, "protection domain");
	stress_require(ibv_query_gid(end->context, 1, 0, &end->gid) == 0, "address");
	stress_require(pthread_create(&end->listener, NULL, listen_to_events, end) == 0,
		"thread for events");
	count(end, &end->before);
}

void load_open(struct load *load, enum load_driver driver, uint64_t rounds, double seconds)
{
	struct loop_config config = {.clock = now_ns};

	memset(load, 0, sizeof(*load));
	load->rounds = rounds;
	load->deadline = seconds > 0 ? stress_seconds() + seconds : 0;
	stress_require(loop_create(&config, &load->wire) == 0, "wire");
	for (unsigned int i = 0; i < 2; i++)
		create_engine(load, i, driver);
	open_end(&load->end[0], "uroce0");
	open_end(&load->end[1], "uroce1");
}

/* A ring whose thread has ended is freed by its core, soon. */
static void require_no_leak(struct load_end *end)
{
	double until = stress_seconds() + PATIENCE;
	const char *more;
	struct leaks now;

	do {
		engine_round(end->engine);
		count(end, &now);
		more = leaks_compare(&end->before, &now);
	} while (more && stress_seconds() < until);
	if (more)
		printf("left over: %s\n", more);
	stress_require(!more, "end without leftovers");
}

static void close_end(struct load_end *end)
{
	require_no_leak(end);
	__atomic_store_n(&end->stop, true, __ATOMIC_RELAXED);
	pthread_join(end->listener, NULL);
	stress_require(ibv_dealloc_pd(end->pd) == 0, "free protection domain");
	stress_require(engine_destroy(end->engine) == -EBUSY, "refusal while a context is open");
	stress_require(ibv_close_device(end->context) == 0, "closed context");
	stop_threads(end);
}

void load_close(struct load *load)
{
	struct loop_counters counters;

	for (unsigned int i = 0; i < 2; i++)
		close_end(&load->end[i]);
	for (unsigned int i = 0; i < 2; i++) {
		stress_require(engine_destroy(load->end[i].engine) == 0, "destroyed engine");
		load_port_close(i);
	}
	loop_count(load->wire, LOOP_ANY, LOOP_ANY, &counters);
	stress_require(counters.misused == 0, "buffers in their owners' hands");
	stress_require(loop_buffers_used(load->wire) == 0, "buffers all back");
	loop_destroy(load->wire);
}

/* ---- actors ---- */

bool load_goes_on(struct actor *actor, uint64_t round)
{
	struct load *load = actor->load;

	if (round >= load->rounds)
		return false;
	if (load->deadline != 0 && stress_seconds() >= load->deadline)
		return false;
	__atomic_fetch_add(&load->done, 1, __ATOMIC_RELAXED);
	return true;
}

uint32_t load_random(struct actor *actor, uint32_t below)
{
	return (uint32_t)(((uint64_t)stress_random(&actor->seed) * below) >> 32);
}

void load_linger(struct actor *actor, uint32_t us)
{
	uint64_t until = now_ns(NULL) + load_random(actor, us * 1000 + 1);

	while (now_ns(NULL) < until)
		continue;
}

static void change_mac(struct load *load, uint32_t end, uint32_t number)
{
	uint8_t mac[6] = {2, 0, (uint8_t)(number >> 16), (uint8_t)(number >> 8), (uint8_t)number,
		(uint8_t)(end + 1)};

	loop_set_mac(load->wire, end, mac);
}

struct disturber {
	struct load *load;
	bool stop;
};

/* The link is down for less than the transport's patience, most of the time. */
static void *disturb_link(void *argument)
{
	struct disturber *disturber = argument;
	struct load *load = disturber->load;
	uint32_t seed = 77;

	for (uint32_t i = 1; !__atomic_load_n(&disturber->stop, __ATOMIC_RELAXED); i++) {
		uint32_t end = stress_random(&seed) & 1;

		if (stress_random(&seed) % 4 == 0) {
			loop_set_up(load->wire, end, false);
			sleep_us(stress_random(&seed) % 2000);
			loop_set_up(load->wire, end, true);
		} else {
			change_mac(load, end, i);
		}
		sleep_us(stress_random(&seed) % 5000);
	}
	return NULL;
}

static void run_actors(struct load *load, actor_fn *const *functions, uint32_t count)
{
	struct actor actors[ACTORS_MAX];

	for (uint32_t i = 0; i < count; i++) {
		actors[i] = (struct actor){.load = load, .number = i, .seed = 1234567 * (i + 1)};
		stress_require(
			pthread_create(&actors[i].thread, NULL, functions[i], &actors[i]) == 0,
			"actor");
	}
	for (uint32_t i = 0; i < count; i++)
		pthread_join(actors[i].thread, NULL);
}

void load_run(struct load *load, actor_fn *const *actors, uint32_t count, bool disturb)
{
	struct disturber disturber = {.load = load};
	pthread_t thread;

	if (disturb)
		stress_require(pthread_create(&thread, NULL, disturb_link, &disturber) == 0,
			"thread that disturbs");
	run_actors(load, actors, count);
	if (!disturb)
		return;
	__atomic_store_n(&disturber.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}
