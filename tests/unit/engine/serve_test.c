/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that serve cores, with the system's clock: what wakes one that sleeps, by a port whose
 * descriptor the test has (so that nothing else can wake it), and by one that has none; how a
 * progress thread keeps away and takes over; how they end.
 */
#include "serve.h"

#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "build.h"
#include "doors.h"
#include "many.h"

#define SECOND 1000000000ull
#define PATIENCE (10 * SECOND)
#define THREADS 2u

struct fixture {
	struct many many;
	struct engine *engine;
	struct serve serve[THREADS];
	pthread_t thread[THREADS];
	uint32_t threads;
};

/* The port: the wire's, and what follows. Queue n's descriptor; how often arm() was called, how
 * deep it is armed, whether a command is posted when it is called. */
static struct port_ops ops;
static int descriptors[THREADS];
static uint32_t arms;
static int32_t armed;
static struct front *posts_when_armed;
static bool has_descriptor;

static uint64_t system_clock(void *context)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static int descriptor(struct port *port, uint16_t queue)
{
	return has_descriptor ? descriptors[queue] : -ENOTSUP;
}

static void arm(struct port *port, uint16_t queue, bool yes)
{
	struct uroce_abi_command command = {.head.op = UROCE_ABI_COUNTERS};
	uint64_t count;
	ssize_t ignored = read(descriptors[queue], &count, sizeof(count));

	(void)ignored;
	__atomic_fetch_add(&arms, yes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&armed, yes ? 1 : -1, __ATOMIC_RELAXED);
	if (!yes || !posts_when_armed)
		return;
	front_post(posts_when_armed, 0, &command);
	posts_when_armed = NULL;
}

static void fixture_open(struct fixture *f, uint32_t cores)
{
	many_open(&f->many, cores, cores, 64);
	many_connect(&f->many);
	f->engine = f->many.rig.engines[0];
	f->engine->clock = system_clock;
	f->threads = 0;
	ops = *f->engine->port->ops;
	ops.descriptor = descriptor;
	ops.arm = arm;
	f->engine->port->ops = &ops;
	arms = 0;
	armed = 0;
	has_descriptor = true;
	posts_when_armed = NULL;
	for (uint32_t i = 0; i < THREADS; i++)
		descriptors[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

static void *serve(void *argument)
{
	serve_run(argument);
	return NULL;
}

static struct serve *start(struct fixture *f, const struct serve *how)
{
	struct serve *serving = &f->serve[f->threads];

	*serving = *how;
	serving->engine = f->engine;
	CU_ASSERT_EQUAL_FATAL(serve_init(serving), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&f->thread[f->threads++], NULL, serve, serving), 0);
	return serving;
}

static void stop(struct fixture *f)
{
	for (; f->threads > 0; f->threads--) {
		serve_stop(&f->serve[f->threads - 1]);
		pthread_join(f->thread[f->threads - 1], NULL);
		serve_fini(&f->serve[f->threads - 1]);
	}
	CU_ASSERT_EQUAL(armed, 0);
	for (uint32_t i = 0; i < f->many.cores; i++) {
		CU_ASSERT_FALSE(sleep_asleep(f->engine->workers[i]));
		CU_ASSERT_EQUAL(f->many.a->header->core[i].asleep, 0);
	}
}

static void fixture_close(struct fixture *f)
{
	stop(f);
	for (uint32_t i = 0; i < THREADS; i++)
		close(descriptors[i]);
	many_close(&f->many);
}

/* ---- what the thread does, seen from outside ---- */

#define AWAIT(condition)                                                                           \
	do {                                                                                       \
		uint64_t deadline = system_clock(NULL) + PATIENCE;                                 \
                                                                                                   \
		while (!(condition) && system_clock(NULL) < deadline)                              \
			sched_yield();                                                             \
		CU_ASSERT_FATAL(condition);                                                        \
	} while (0)

static void sleep_ms(unsigned int ms)
{
	const struct timespec time = {.tv_nsec = ms * 1000000l};

	nanosleep(&time, NULL);
}

static bool all_asleep(struct fixture *f)
{
	for (uint32_t i = 0; i < f->many.cores; i++)
		if (!sleep_asleep(f->engine->workers[i]))
			return false;
	return true;
}

/* Of all cores. Taking their tokens wakes nobody. */
static struct engine_counters counters(struct fixture *f)
{
	struct engine_counters sum = {0};

	engine_pause(f->engine);
	for (uint32_t i = 0; i < f->many.cores; i++) {
		sum.announcements += f->engine->workers[i]->counters.announcements;
		sum.rx_packets += f->engine->workers[i]->counters.rx_packets;
		sum.handed_over += f->engine->workers[i]->counters.handed_over;
	}
	engine_resume(f->engine);
	return sum;
}

static uint64_t retransmitted(struct fixture *f, uint32_t core)
{
	uint64_t count;

	engine_pause(f->engine);
	count = f->engine->workers[core]->core.counters.retransmitted_pkts;
	engine_resume(f->engine);
	return count;
}

/* ---- what others do ---- */

static void wake(struct fixture *f, uint32_t core)
{
	if (sendring_wakes(f->many.a->header, core))
		uroce_engine_door.wake(f->many.a->client, core);
}

static void post(struct fixture *f, uint32_t n)
{
	const struct uroce_abi_send_wqe wqe = {
		.opcode = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE};

	CU_ASSERT(front_send(f->many.a, &f->many.qp_a[n], &wqe, NULL, 0, 0));
	wake(f, many_core(&f->many, n));
}

static bool is_answered(struct fixture *f)
{
	return __atomic_load_n(&f->many.a->slots[0].head.state, __ATOMIC_ACQUIRE) == UROCE_ABI_DONE;
}

static void post_command(struct fixture *f, uint32_t op, uint32_t object)
{
	struct uroce_abi_command command = {.head = {.op = op, .object = object}};

	front_post(f->many.a, 0, &command);
}

static void take_answer(struct fixture *f)
{
	struct uroce_abi_command command;

	AWAIT(is_answered(f));
	CU_ASSERT(front_done(f->many.a, 0, &command));
	CU_ASSERT_EQUAL(command.head.status, 0);
}

/* From end B, for nobody there. The descriptor tells of it if there is one. */
static void send_frame(struct fixture *f, uint16_t queue)
{
	const struct wire_bth bth = {.opcode = OPCODE_RC_SEND_ONLY};
	struct wire_path_attr attr = {
		.destination_mac = {2, 0, 0, 0, 0, 1},
		.source_mac = {2, 0, 0, 0, 0, 2},
		.hop_limit = 64,
		.udp_source_port = 0xc000 + queue,
		.pkey = 0xffff,
		.destination_qp = f->many.qp_a[0].qp_num ^ 0x800000,
	};
	struct port_gid source = loop_gid4(RIG_ADDRESS + 1, 24);
	struct port_gid destination = loop_gid4(RIG_ADDRESS, 24);
	struct port *port = f->many.rig.ports[1];
	const uint64_t one = 1;
	struct wire_path path;
	struct packet packet;

	memcpy(attr.source, source.gid, 16);
	memcpy(attr.destination, destination.gid, 16);
	CU_ASSERT_EQUAL_FATAL(wire_path_init(&path, &attr), 0);
	CU_ASSERT_EQUAL_FATAL(port->ops->alloc(port, 0, &packet, 1), 1);
	wire_start(packet.data, &path, &bth);
	packet.length = wire_finish(packet.data, &path, &bth);
	CU_ASSERT_EQUAL(port->ops->tx(port, 0, &packet, 1), 1);
	if (has_descriptor)
		CU_ASSERT_EQUAL(write(descriptors[queue], &one, sizeof(one)), sizeof(one));
}

/* ---- cases ---- */

static const struct serve one_core = {.count = 1}, both = {.count = 2},
			  second = {.first = 1, .count = 1};

/* Each of these, several times over, with the thread asleep before each. */
static void woken(struct fixture *f)
{
	for (uint32_t i = 0; i < 20; i++) {
		struct engine_counters before = counters(f);
		uint32_t n = i % f->many.cores;

		AWAIT(all_asleep(f));
		post(f, n);
		AWAIT(counters(f).announcements == before.announcements + 1);
		AWAIT(all_asleep(f));
		post_command(f, UROCE_ABI_QUERY_QP, f->many.qp_a[n].handle);
		wake(f, 0);
		take_answer(f);
		AWAIT(all_asleep(f));
		post_command(f, UROCE_ABI_QUERY_PORT, 0); /* for core 0 while no other works */
		wake(f, 0);
		take_answer(f);
		AWAIT(all_asleep(f));
		before = counters(f);
		send_frame(f, (uint16_t)n);
		AWAIT(counters(f).rx_packets == before.rx_packets + 1);
	}
}

static void one_thread_one_core(void)
{
	static struct fixture f;

	fixture_open(&f, 1);
	start(&f, &one_core);
	woken(&f);
	fixture_close(&f);
}

static void one_thread_two_cores(void)
{
	static struct fixture f;

	fixture_open(&f, 2);
	start(&f, &both);
	woken(&f);
	fixture_close(&f);
}

/* One core's frames and commands are the other's, too. */
static void two_threads(void)
{
	static struct fixture f;

	fixture_open(&f, 2);
	start(&f, &one_core);
	start(&f, &second);
	woken(&f);
	CU_ASSERT(counters(&f).handed_over > 0);
	fixture_close(&f);
}

/* Retransmission, 67 ms after the peer, whom nobody drives, hasn't answered: nobody wakes it. */
static void by_a_timer(void)
{
	static struct fixture f;

	for (uint32_t cores = 1; cores <= 2; cores++) {
		fixture_open(&f, cores);
		start(&f, cores == 1 ? &one_core : &both);
		AWAIT(all_asleep(&f));
		post(&f, cores - 1);
		AWAIT(retransmitted(&f, cores - 1) >= 2);
		fixture_close(&f);
	}
}

/* It looks every so often. */
static void a_port_without_descriptor(void)
{
	const struct serve how = {.count = 2, .nap = 2000000};
	static struct fixture f;

	fixture_open(&f, 2);
	has_descriptor = false;
	start(&f, &how);
	woken(&f);
	fixture_close(&f);
}

static void who_never_sleeps(void)
{
	const struct serve how = {.count = 1, .idle = SERVE_NEVER};
	static struct fixture f;

	fixture_open(&f, 1);
	start(&f, &how);
	post(&f, 0);
	AWAIT(counters(&f).announcements == 1);
	sleep_ms(20);
	CU_ASSERT_FALSE(all_asleep(&f));
	CU_ASSERT_EQUAL(__atomic_load_n(&arms, __ATOMIC_RELAXED), 0);
	fixture_close(&f);
}

/* It sleeps only after so much time without work. */
static void after_an_idle_time(void)
{
	const struct serve how = {.count = 1, .idle = SECOND / 5};
	static struct fixture f;
	uint64_t from;

	fixture_open(&f, 1);
	from = system_clock(NULL);
	start(&f, &how);
	AWAIT(all_asleep(&f));
	CU_ASSERT(system_clock(NULL) - from >= SECOND / 5);
	fixture_close(&f);
}

/*
 * As it lies down a command comes that is run while no core is in a round. The thread has both
 * cores: it must not wait for itself.
 */
static void a_command_for_all_cores_as_it_lies_down(void)
{
	static struct fixture f;

	fixture_open(&f, 2);
	posts_when_armed = f.many.a;
	start(&f, &both);
	take_answer(&f);
	AWAIT(all_asleep(&f));
	fixture_close(&f);
}

static void clients_while_it_sleeps(void)
{
	struct front other;
	static struct fixture f;

	fixture_open(&f, 2);
	start(&f, &both);
	for (unsigned int i = 0; i < 20; i++) {
		struct uroce_abi_command command = {.head.op = UROCE_ABI_NOP};

		AWAIT(all_asleep(&f));
		CU_ASSERT_EQUAL_FATAL(
			uroce_engine_door.attach(f.engine, &other.client, &other.view), 0);
		other.header = region_header(&other.view);
		other.slots = region_at(&other.view, other.header->commands,
			UROCE_ABI_COMMANDS * sizeof(*other.slots));
		front_post(&other, 0, &command);
		if (sendring_wakes(other.header, 0))
			uroce_engine_door.wake(other.client, 0);
		AWAIT(__atomic_load_n(&other.slots[0].head.state, __ATOMIC_ACQUIRE) ==
			UROCE_ABI_DONE);
		uroce_engine_door.detach(other.client);
	}
	fixture_close(&f);
}

/* ---- a progress thread ---- */

/* Others have driven just now: for a nap of ten minutes it is away, and nobody answers. */
static void keeps_away(void)
{
	const struct serve how = {.count = 2, .progress = true, .nap = 600 * SECOND};
	static struct fixture f;

	fixture_open(&f, 2);
	CU_ASSERT_FALSE(engine_is_served(f.engine));
	engine_take_over(f.engine); /* nobody is there to hear it */
	engine_round(f.engine);
	start(&f, &how);
	CU_ASSERT_TRUE(engine_is_served(f.engine));
	post_command(&f, UROCE_ABI_NOP, 0);
	wake(&f, 0);
	sleep_ms(50);
	CU_ASSERT_FALSE(is_answered(&f));
	engine_round(f.engine); /* who drives answers by himself */
	take_answer(&f);
	/* At once, when they say that they are going to wait. */
	post_command(&f, UROCE_ABI_QUERY_QP, f.many.qp_a[1].handle);
	engine_take_over(f.engine);
	take_answer(&f);
	AWAIT(all_asleep(&f));
	woken(&f);
	stop(&f);
	CU_ASSERT_FALSE(engine_is_served(f.engine));
	fixture_close(&f);
}

/* They stop driving and say nothing. */
static void takes_over_by_itself(void)
{
	const struct serve how = {.count = 1, .progress = true};
	static struct fixture f;

	fixture_open(&f, 1);
	start(&f, &how);
	for (unsigned int i = 0; i < 20; i++) {
		for (unsigned int n = 0; n < 1000; n++)
			engine_round(f.engine);
		post_command(&f, UROCE_ABI_NOP, 0);
		wake(&f, 0);
		take_answer(&f);
	}
	fixture_close(&f);
}

/* Driven while it sleeps: what the round has changed, it hears of. */
static void driven_while_it_sleeps(void)
{
	const struct serve how = {.count = 2, .progress = true};
	static struct fixture f;

	fixture_open(&f, 2);
	start(&f, &how);
	AWAIT(all_asleep(&f));
	post(&f, 1);
	AWAIT(all_asleep(&f));
	engine_round(f.engine);
	AWAIT(retransmitted(&f, 1) >= 1);
	fixture_close(&f);
}

/* ---- the end ---- */

static void stopped_whatever_it_does(void)
{
	static const struct {
		struct serve how;
		bool sleeps;
		bool driven;
	} rows[] = {
		{{.count = 2}, true, false},
		{{.count = 2, .idle = SERVE_NEVER}, false, false},
		{{.count = 2, .progress = true}, true, false},
		{{.count = 2, .progress = true, .nap = 600 * SECOND}, false, true},
	};
	static struct fixture f;

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fixture_open(&f, 2);
		for (unsigned int again = 0; again < 10; again++) {
			if (rows[i].driven)
				engine_round(f.engine);
			start(&f, &rows[i].how);
			if (rows[i].sleeps && again % 2)
				AWAIT(all_asleep(&f));
			stop(&f);
		}
		fixture_close(&f);
	}
}

static const struct unit_case cases[] = {
	UNIT_CASE(one_thread_one_core),
	UNIT_CASE(one_thread_two_cores),
	UNIT_CASE(two_threads),
	UNIT_CASE(by_a_timer),
	UNIT_CASE(a_port_without_descriptor),
	UNIT_CASE(who_never_sleeps),
	UNIT_CASE(after_an_idle_time),
	UNIT_CASE(a_command_for_all_cores_as_it_lies_down),
	UNIT_CASE(clients_while_it_sleeps),
	UNIT_CASE(keeps_away),
	UNIT_CASE(takes_over_by_itself),
	UNIT_CASE(driven_while_it_sleeps),
	UNIT_CASE(stopped_whatever_it_does),
};

UNIT_MAIN("engine-serve", cases)
