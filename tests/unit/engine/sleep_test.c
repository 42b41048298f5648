/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A core that sleeps: the words that say so, its own and those of each client's header, the
 * descriptor, the port's arming, and who comes while it sleeps.
 */
#include "sleep.h"

#include <poll.h>

#include "doors.h"
#include "many.h"
#include "worker.h"

struct fixture {
	struct many many;
	struct port_ops ops; /* the wire's, with arm() */
	struct engine *engine;
};

#define QUEUES 3u

/* What arm() was called with: by queue. */
static int armed[QUEUES];

static void arm(struct port *port, uint16_t queue, bool yes)
{
	CU_ASSERT_FATAL(queue < QUEUES);
	armed[queue] += yes ? 1 : -1;
}

static void fixture_open(struct fixture *f)
{
	many_open(&f->many, QUEUES, 3, 64);
	f->engine = f->many.rig.engines[0];
	f->ops = *f->engine->port->ops;
	f->ops.arm = arm;
	f->engine->port->ops = &f->ops;
	for (uint32_t i = 0; i < QUEUES; i++) {
		armed[i] = 0;
		CU_ASSERT_EQUAL_FATAL(sleep_init(f->engine->workers[i]), 0);
	}
}

static struct worker *core(struct fixture *f, uint32_t number)
{
	return f->engine->workers[number];
}

static bool readable(const struct worker *worker)
{
	struct pollfd at = {.fd = worker->sleep.wake, .events = POLLIN};

	return poll(&at, 1, 0) == 1;
}

static uint32_t word(const struct front *front, uint32_t number)
{
	return front->header->core[number].asleep;
}

/* As a post does. */
static bool post_wakes(struct front *front, uint32_t number)
{
	bool wakes = sendring_wakes(front->header, number);

	if (wakes)
		uroce_engine_door.wake(front->client, number);
	return wakes;
}

static void one_core_and_no_other(void)
{
	static struct fixture f;
	struct front second;

	fixture_open(&f);
	front_attach(&f.many.rig, 0, &second);
	for (uint32_t n = 0; n < QUEUES; n++) {
		sleep_begin(core(&f, n));
		for (uint32_t i = 0; i < QUEUES; i++) {
			CU_ASSERT_EQUAL(sleep_asleep(core(&f, i)), i == n);
			CU_ASSERT_EQUAL(word(f.many.a, i), i == n);
			CU_ASSERT_EQUAL(word(&second, i), i == n);
			CU_ASSERT_EQUAL(armed[i], i == n);
			CU_ASSERT_FALSE(readable(core(&f, i)));
		}
		sleep_end(core(&f, n));
		CU_ASSERT_FALSE(sleep_asleep(core(&f, n)));
		CU_ASSERT_EQUAL(word(f.many.a, n), 0);
		CU_ASSERT_EQUAL(word(&second, n), 0);
		CU_ASSERT_EQUAL(armed[n], 0);
	}
	front_detach(&second);
	many_close(&f.many);
}

/* The first wakes, the others needn't; of several clients, too. */
static void woken_once(void)
{
	static struct fixture f;
	struct front second;

	fixture_open(&f);
	front_attach(&f.many.rig, 0, &second);
	CU_ASSERT_FALSE(post_wakes(f.many.a, 1));
	sleep_wake(core(&f, 1)); /* awake: nothing */
	CU_ASSERT_FALSE(readable(core(&f, 1)));
	sleep_begin(core(&f, 1));
	CU_ASSERT_FALSE(post_wakes(f.many.a, 0));
	CU_ASSERT_FALSE(readable(core(&f, 1)));
	CU_ASSERT_TRUE(post_wakes(f.many.a, 1));
	CU_ASSERT_TRUE(readable(core(&f, 1)));
	CU_ASSERT_FALSE(sleep_asleep(core(&f, 1)));
	CU_ASSERT_FALSE(post_wakes(f.many.a, 1));
	/* The other client's word still stands, but nobody sleeps behind it. */
	CU_ASSERT_TRUE(post_wakes(&second, 1));
	sleep_end(core(&f, 1));
	CU_ASSERT_FALSE(readable(core(&f, 1)));
	CU_ASSERT_FALSE(post_wakes(&second, 1));
	/* Again. */
	sleep_begin(core(&f, 1));
	CU_ASSERT_FALSE(readable(core(&f, 1)));
	CU_ASSERT_TRUE(post_wakes(&second, 1));
	CU_ASSERT_TRUE(readable(core(&f, 1)));
	sleep_end(core(&f, 1));
	uroce_engine_door.wake(f.many.a->client, QUEUES); /* no such core */
	front_detach(&second);
	many_close(&f.many);
}

/* Who attaches while a core sleeps finds its word set, and wakes it. */
static void attached_meanwhile(void)
{
	static struct fixture f;
	struct region_view view;
	struct client *client;

	fixture_open(&f);
	sleep_begin(core(&f, 2));
	CU_ASSERT_EQUAL_FATAL(uroce_engine_door.attach(f.engine, &client, &view), 0);
	CU_ASSERT_EQUAL(region_header(&view)->core[2].asleep, 1);
	CU_ASSERT_EQUAL(region_header(&view)->core[0].asleep, 0);
	CU_ASSERT_TRUE(sendring_wakes(region_header(&view), 2));
	uroce_engine_door.wake(client, 2);
	CU_ASSERT_TRUE(readable(core(&f, 2)));
	sleep_end(core(&f, 2));
	uroce_engine_door.detach(client);

	/* And who goes while it sleeps is not told afterwards. */
	CU_ASSERT_EQUAL_FATAL(uroce_engine_door.attach(f.engine, &client, &view), 0);
	sleep_begin(core(&f, 2));
	uroce_engine_door.detach(client);
	sleep_end(core(&f, 2));
	many_close(&f.many);
}

/* A packet for a sleeping core's QP arrives at another core. */
static void woken_by_a_packet(void)
{
	static struct fixture f;
	uint32_t woken = 0;

	fixture_open(&f);
	many_connect(&f.many);
	for (uint32_t n = 0; n < QUEUES; n++) {
		uint64_t before[QUEUES];

		for (uint32_t i = 0; i < QUEUES; i++)
			before[i] = core(&f, i)->core.counters.rcvd_pkts;
		sleep_begin(core(&f, n));
		many_send(&f.many, n, 1); /* the acknowledgement is the packet */
		many_run(&f.many);
		CU_ASSERT(core(&f, n)->core.counters.rcvd_pkts > before[n]);
		woken += readable(core(&f, n));
		CU_ASSERT_EQUAL(readable(core(&f, n)), !sleep_asleep(core(&f, n)));
		sleep_end(core(&f, n));
	}
	/* The wire deals flows to queues by their ports: not all can have met their own core. */
	CU_ASSERT(woken > 0);
	many_close(&f.many);
}

/* Core 0 finds what core 2 shall do. */
static void woken_by_a_command(void)
{
	struct uroce_abi_command command = {.head.op = UROCE_ABI_QUERY_QP};
	static struct fixture f;

	fixture_open(&f);
	command.head.object = f.many.qp_a[2].handle;
	sleep_begin(core(&f, 2));
	front_post(f.many.a, 0, &command);
	engine_core_round(f.engine, 0);
	CU_ASSERT_TRUE(readable(core(&f, 2)));
	CU_ASSERT_FALSE(sleep_asleep(core(&f, 2)));
	sleep_end(core(&f, 2));
	CU_ASSERT(front_done(f.many.a, 0, &command));
	many_close(&f.many);
}

/* Somebody drives the core: its thread sleeps until a time that has changed. */
static void woken_by_who_drives(void)
{
	static struct fixture f;

	fixture_open(&f);
	sleep_begin(core(&f, 1));
	engine_core_round(f.engine, 1);
	CU_ASSERT_FALSE(readable(core(&f, 1)));
	engine_round(f.engine);
	CU_ASSERT_TRUE(readable(core(&f, 1)));
	sleep_end(core(&f, 1));
	many_close(&f.many);
}

/* Without a descriptor there is nothing to close, with one it is closed once. */
static void the_descriptor(void)
{
	const struct engine_config config = {.cores = 1};
	static struct rig rig;
	struct worker *worker;
	int fd;

	rig_open_with(&rig, NULL, &config);
	worker = rig_worker(&rig, 0);
	CU_ASSERT_EQUAL(worker->sleep.wake, -1);
	sleep_fini(worker);
	CU_ASSERT_EQUAL(worker->sleep.wake, -1);
	CU_ASSERT_EQUAL(sleep_init(worker), 0);
	fd = worker->sleep.wake;
	CU_ASSERT(fd >= 0);
	CU_ASSERT_EQUAL(sleep_init(worker), 0);
	CU_ASSERT_EQUAL(worker->sleep.wake, fd);
	sleep_fini(worker);
	CU_ASSERT_EQUAL(worker->sleep.wake, -1);
	rig_close(&rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(one_core_and_no_other),
	UNIT_CASE(woken_once),
	UNIT_CASE(attached_meanwhile),
	UNIT_CASE(woken_by_a_packet),
	UNIT_CASE(woken_by_a_command),
	UNIT_CASE(woken_by_who_drives),
	UNIT_CASE(the_descriptor),
};

UNIT_MAIN("engine-sleep", cases)
