/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client that writes anything anywhere in its region. The engine must not crash, not hang, not
 * leave its slots, and not believe what the client says about geometry and positions. The slots lie
 * between pages that the engine's view cannot touch; what lies around a send ring's entries bears a
 * mark that must never come out. A failing case is replayed by its seed.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_ring.h>

#include "cq.h"
#include "eventring.h"
#include "patience.h"
#include "random.h"
#include "sendring.h"
#include "views.h"
#include "wq.h"

#define MIB (1ull << 20)
#define PAGE 4096u
#define QUOTA 100u
#define RING_ENTRIES 256u /* 2 * QUOTA + 2, rounded up */
#define POISON 0xdead0000u
#define SEED 1u
#define ROUNDS 300000u
#define LIMIT_SECONDS 100u /* a hang ends in SIGALRM */

struct target {
	uint32_t *words;
	uint32_t count;
};

struct fixture {
	struct views views;
	struct random random;
	struct wq_engine sq, srq;
	struct cq_ring cq;
	struct eventring events;
	struct sendring_set *set;
	uroce_abi_ref guards[3], ring_ref;
	uint32_t bit;
	int fd;
	struct target targets[10];
	uint32_t target_count;
	uint32_t wrong;
};

/* ---- set-up ---- */

static void add_target(struct fixture *fixture, uroce_abi_ref ref, uint64_t size)
{
	struct target *target = &fixture->targets[fixture->target_count++];

	target->words = region_at(&fixture->views.front, ref, size);
	target->count = (uint32_t)(size / 4);
	CU_ASSERT_PTR_NOT_NULL_FATAL(target->words);
}

/* A page of its own; the objects between two of them are reached by no overrun. */
static void add_guard(struct fixture *fixture, uint32_t n)
{
	fixture->guards[n] = region_alloc(fixture->views.region, PAGE);
	CU_ASSERT_EQUAL_FATAL(mprotect(region_at(fixture->views.engine, fixture->guards[n], PAGE),
				      PAGE, PROT_NONE),
		0);
}

static void remove_guard(struct fixture *fixture, uint32_t n)
{
	mprotect(region_at(fixture->views.engine, fixture->guards[n], PAGE), PAGE,
		PROT_READ | PROT_WRITE);
	region_free(fixture->views.region, fixture->guards[n], PAGE);
}

/* Slots of exactly one page, between guards. */
static void make_queues(struct fixture *fixture)
{
	struct region *region = fixture->views.region;
	uroce_abi_ref first = region_alloc(region, sizeof(struct uroce_abi_ring));

	region_free(region, first, sizeof(struct uroce_abi_ring)); /* their page is carved now */
	add_guard(fixture, 0);
	CU_ASSERT_EQUAL_FATAL(wq_create(region, 32, 4, 0, &fixture->sq), 0);
	add_guard(fixture, 1);
	CU_ASSERT_EQUAL_FATAL(wq_create(region, 60, 0, 0, &fixture->srq), 0);
	add_guard(fixture, 2);
	CU_ASSERT_EQUAL_FATAL(fixture->sq.slots_ref, fixture->guards[0] + PAGE);
	CU_ASSERT_EQUAL_FATAL(fixture->guards[1], fixture->sq.slots_ref + PAGE);
	CU_ASSERT_EQUAL_FATAL(fixture->srq.slots_ref, fixture->guards[1] + PAGE);
	CU_ASSERT_EQUAL_FATAL(fixture->guards[2], fixture->srq.slots_ref + PAGE);
	CU_ASSERT_EQUAL_FATAL(cq_ring_create(region, 16, &fixture->cq), 0);
	CU_ASSERT_EQUAL_FATAL(eventring_create(region, 8, fixture->fd, &fixture->events), 0);
	add_target(fixture, fixture->sq.ref, sizeof(struct uroce_abi_ring));
	add_target(fixture, fixture->srq.ref, sizeof(struct uroce_abi_ring));
	add_target(fixture, fixture->cq.ref, sizeof(struct uroce_abi_ring));
	add_target(fixture, fixture->events.ref, sizeof(struct uroce_abi_ring));
	add_target(fixture, fixture->sq.slots_ref, PAGE);
	add_target(fixture, fixture->srq.slots_ref, PAGE);
	add_target(fixture, fixture->cq.slots_ref, 16 * 64);
	add_target(fixture, fixture->events.slots_ref, 8 * 64);
}

/* The block is larger than ring and entries; the rest bears the mark. */
static void make_ring(struct fixture *fixture)
{
	uint32_t size = sizeof(struct rte_ring) + RING_ENTRIES * 4;
	uint32_t *words;

	CU_ASSERT_EQUAL_FATAL(
		sendring_set_create(fixture->views.region, QUOTA, true, &fixture->set), 0);
	CU_ASSERT_EQUAL_FATAL(sendring_attach(fixture->views.region, fixture->set,
				      &fixture->ring_ref, &fixture->bit),
		0);
	words = region_at(fixture->views.engine, fixture->ring_ref, 2048);
	for (uint32_t i = size / 4; i < 2048 / 4; i++)
		words[i] = POISON | i;
	add_target(fixture, fixture->ring_ref, sizeof(struct rte_ring));
	add_target(fixture, fixture->ring_ref + sizeof(struct rte_ring), RING_ENTRIES * 4);
}

static void start(struct fixture *fixture, uint64_t seed)
{
	*fixture = (struct fixture){.fd = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK)};
	random_seed(&fixture->random, seed);
	views_open(&fixture->views, 4 * MIB);
	make_queues(fixture);
	make_ring(fixture);
	alarm(LIMIT_SECONDS);
}

static void stop(struct fixture *fixture)
{
	struct region *region = fixture->views.region;

	alarm(0);
	for (uint32_t i = 0; i < 3; i++)
		remove_guard(fixture, i);
	wq_destroy(region, &fixture->sq);
	wq_destroy(region, &fixture->srq);
	cq_ring_destroy(region, &fixture->cq);
	eventring_destroy(region, &fixture->events);
	sendring_set_destroy(region, fixture->set);
	views_close(&fixture->views);
	close(fixture->fd);
}

/* ---- the client ---- */

/* Never the mark, which would look as if the engine had left the entries. */
static uint32_t any_value(struct random *random)
{
	static const uint32_t edges[] = {0, 1, 2, 15, 16, 63, 64, 255, 256, 257, 0x7fffffff,
		0x80000000, 0xfffffffe, 0xffffffff};
	uint32_t value;

	if (random_below(random, 2))
		return edges[random_below(random, sizeof(edges) / sizeof(edges[0]))];
	value = (uint32_t)random_next(random);
	return (value & 0xffff0000u) == POISON ? 0 : value;
}

static void scribble(struct fixture *fixture, struct random *random)
{
	const struct target *target =
		&fixture->targets[random_below(random, fixture->target_count)];
	uint32_t *word = &target->words[random_below(random, target->count)];
	uint32_t value = any_value(random);

	if (random_below(random, 4) == 0) /* near what is there: plausible positions */
		value = __atomic_load_n(word, __ATOMIC_RELAXED) + value % 8 - 4;
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* Marks as valid what the engine will look at next: it must be fed, too. */
static void feed(struct fixture *fixture, struct wq_engine *wq, struct random *random)
{
	uint32_t position = wq->taken + (uint32_t)random_below(random, wq->mask + 2);
	uint64_t at = (position & wq->mask) * (uint64_t)wq->stride;
	uint32_t *valid = region_at(&fixture->views.front, wq->slots_ref + at, 4);

	__atomic_store_n(valid, (position >> wq->shift) + 1, __ATOMIC_RELAXED);
}

/* The same for rings that the client consumes: now and then an index that makes sense. */
static void feed_consumer(struct fixture *fixture, uroce_abi_ref ref, uint32_t produced)
{
	struct uroce_abi_ring *ring = region_at(&fixture->views.front, ref, sizeof(*ring));
	uint32_t back = (uint32_t)random_below(&fixture->random, 20);

	if (random_below(&fixture->random, 4) == 0)
		__atomic_store_n(&ring->consumer.index, produced - back, __ATOMIC_RELAXED);
}

/* ---- the engine ---- */

static void use_queue(struct fixture *fixture)
{
	struct wq_engine *wq = &fixture->sq;
	uint32_t limit = (uint32_t)random_below(&fixture->random, 100);
	uint32_t before = wq->taken, position = before;
	uint8_t record[64], tail[64];
	uint32_t count = wq_count(wq, limit);

	fixture->wrong += count > limit || count > 32;
	for (uint32_t i = 0; i < 40 && wq_take(wq, record, tail, sizeof(tail), &position); i++)
		fixture->wrong += position != before + i || wq->taken != position + 1;
}

static void use_shared_queue(struct fixture *fixture)
{
	uint32_t before = fixture->srq.taken;
	uint8_t record[64];

	fixture->wrong += wq_count(&fixture->srq, UINT32_MAX) > 64;
	if (wq_claim(&fixture->srq, record, NULL, 0))
		fixture->wrong += fixture->srq.taken != before + 1;
	else
		fixture->wrong += fixture->srq.taken != before;
}

static void use_completions(struct fixture *fixture)
{
	struct cq_ring *cq = &fixture->cq;
	struct uroce_abi_cqe *slot = cq_slot(cq);

	fixture->wrong += cq_pending(cq) > cq->depth;
	if (slot) {
		fixture->wrong += slot < cq->slots || slot > cq->slots + cq->mask;
		memset(slot, 0x5a, sizeof(*slot));
		cq_push(cq, random_below(&fixture->random, 2));
	}
	cq_arm_check(cq, cq->ring);
	cq->overrun = false; /* so that it goes on */
}

static void use_events(struct fixture *fixture)
{
	uint64_t count;

	eventring_push(&fixture->events, 1, 2);
	fixture->wrong += read(fixture->fd, &count, sizeof(count)) > (ssize_t)sizeof(count);
}

static void use_ring(struct fixture *fixture)
{
	uint32_t announcements[64];
	uint32_t count = (uint32_t)random_below(&fixture->random, 65);
	uint32_t taken;

	sendring_empty(fixture->set);
	taken = sendring_take(fixture->set, announcements, count);
	fixture->wrong += taken > count;
	for (uint32_t i = 0; i < taken && i < count; i++)
		fixture->wrong += (announcements[i] & 0xffff0000u) == POISON;
}

/* Threads that come and go find fresh rings, whatever was done to the old ones. */
static void change_ring(struct fixture *fixture)
{
	struct region *region = fixture->views.region;
	uroce_abi_ref ref;
	uint32_t bit;

	if (sendring_attach(region, fixture->set, &ref, &bit) == 0)
		fixture->wrong += sendring_detach(region, fixture->set, bit) != 0;
}

static void engine_round(struct fixture *fixture)
{
	use_queue(fixture);
	use_shared_queue(fixture);
	use_completions(fixture);
	use_events(fixture);
	use_ring(fixture);
	sendring_taken(fixture->sq.ring);
	wq_set_notice(&fixture->sq, UROCE_ABI_ANNOUNCE_RECV);
	if (random_below(&fixture->random, 100) == 0)
		change_ring(fixture);
}

/* What the engine keeps is not what the client says. */
static bool unmoved(const struct wq_engine *now, const struct wq_engine *then)
{
	return now->ring == then->ring && now->slots == then->slots &&
		now->stride == then->stride && now->mask == then->mask &&
		now->shift == then->shift && now->depth == then->depth;
}

/* ---- cases ---- */

static void scribbles(void)
{
	struct fixture fixture;
	struct wq_engine sq, srq;
	uint32_t produced;

	start(&fixture, SEED);
	sq = fixture.sq;
	srq = fixture.srq;
	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint64_t n = random_below(&fixture.random, 8); n > 0; n--)
			scribble(&fixture, &fixture.random);
		for (uint64_t n = random_below(&fixture.random, 4); n > 0; n--)
			feed(&fixture, &fixture.sq, &fixture.random);
		feed(&fixture, &fixture.srq, &fixture.random);
		feed_consumer(&fixture, fixture.cq.ref, fixture.cq.produced);
		feed_consumer(&fixture, fixture.events.ref, fixture.events.produced);
		produced = fixture.cq.produced;
		engine_round(&fixture);
		fixture.wrong += fixture.cq.produced - produced > 1;
		fixture.wrong += !unmoved(&fixture.sq, &sq) || !unmoved(&fixture.srq, &srq);
		fixture.wrong += fixture.cq.mask != 15 || fixture.events.mask != 7;
		if (fixture.wrong) {
			printf("seed %u, round %u\n", SEED, round);
			break;
		}
	}
	CU_ASSERT_EQUAL(fixture.wrong, 0);
	CU_ASSERT_TRUE(fixture.sq.taken > ROUNDS / 100); /* it was at work */
	CU_ASSERT_TRUE(fixture.srq.taken > ROUNDS / 100);
	CU_ASSERT_TRUE(fixture.cq.produced > ROUNDS / 100);
	CU_ASSERT_TRUE(fixture.events.produced > ROUNDS / 100);
	stop(&fixture);
}

/* Resizing in the middle of it: new slots come from the engine's own books. */
static void scribbles_and_resizes(void)
{
	struct fixture fixture;
	uint32_t resized = 0;

	start(&fixture, SEED + 1);
	for (uint32_t round = 0; round < ROUNDS / 10; round++) {
		uint32_t depth = 1 + (uint32_t)random_below(&fixture.random, 200);
		uint32_t *word = &fixture.targets[2].words[random_below(&fixture.random, 80)];

		*word = any_value(&fixture.random);
		if (cq_ring_resize(fixture.views.region, &fixture.cq, depth) == 0) {
			resized++;
			fixture.wrong += fixture.cq.depth != depth;
		}
		use_completions(&fixture);
	}
	CU_ASSERT_EQUAL(fixture.wrong, 0);
	CU_ASSERT_TRUE(resized > 100);
	stop(&fixture);
}

struct client {
	struct fixture *fixture;
	uint32_t stop; /* atomic */
};

static void *scribble_on(void *argument)
{
	struct client *client = argument;
	struct random random;

	random_seed(&random, SEED + 2);
	while (!__atomic_load_n(&client->stop, __ATOMIC_RELAXED))
		scribble(client->fixture, &random);
	return NULL;
}

/* At the same time, which no seed replays. The thread sanitizer would object, rightly. */
static void scribbles_meanwhile(void)
{
	struct fixture fixture;
	struct client client = {.fixture = &fixture};
	uint64_t end = now_ns() + 1000000000ull;
	pthread_t thread;

	if (!VIEWS_DIFFER)
		return;
	start(&fixture, SEED + 3);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, scribble_on, &client), 0);
	while (now_ns() < end && !fixture.wrong) {
		feed(&fixture, &fixture.sq, &fixture.random);
		feed(&fixture, &fixture.srq, &fixture.random);
		engine_round(&fixture);
	}
	__atomic_store_n(&client.stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(fixture.wrong, 0);
	stop(&fixture);
}

/* ---- what is decided, not only survived ---- */

/* More announcements than a ring holds cannot be: they are dropped, and the next ones count. */
static void impossible_tail(void)
{
	static const uint32_t tails[] = {256, 257, 1000, 0x80000000, 0xffffffff};

	for (unsigned int i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		struct fixture fixture;
		struct sendring_front front;
		struct rte_ring *ring;
		struct uroce_abi_ring queue = {0};
		uint32_t announcements[300];

		start(&fixture, SEED);
		ring = region_at(&fixture.views.front, fixture.ring_ref, sizeof(*ring));
		CU_ASSERT_EQUAL_FATAL(
			sendring_front_init(&front, &fixture.views.front, fixture.ring_ref), 0);
		ring->prod.head = tails[i];
		ring->prod.tail = tails[i];
		CU_ASSERT_FALSE(sendring_empty(fixture.set));
		CU_ASSERT_EQUAL(sendring_take(fixture.set, announcements, 300), 0);
		CU_ASSERT_TRUE(sendring_empty(fixture.set));
		CU_ASSERT_TRUE(sendring_announce(&front, &queue, 77));
		CU_ASSERT_EQUAL(sendring_take(fixture.set, announcements, 300), 1);
		CU_ASSERT_EQUAL(announcements[0], 77);
		stop(&fixture);
	}
}

/* Size and mask in the ring's memory are not what the engine goes by. */
static void false_geometry(void)
{
	struct fixture fixture;
	struct rte_ring *ring;
	uint32_t announcements[300], *entries;

	start(&fixture, SEED);
	ring = region_at(&fixture.views.front, fixture.ring_ref, sizeof(*ring));
	entries = (uint32_t *)(ring + 1);
	for (uint32_t i = 0; i < RING_ENTRIES; i++)
		entries[i] = i;
	ring->size = 1u << 20;
	ring->mask = (1u << 20) - 1;
	ring->capacity = 1u << 20;
	for (uint32_t lap = 0; lap < 4; lap++) {
		ring->prod.tail += 255;
		CU_ASSERT_EQUAL(sendring_take(fixture.set, announcements, 300), 255);
		for (uint32_t i = 0; i < 255; i++)
			CU_ASSERT_EQUAL(announcements[i], (lap * 255 + i) % RING_ENTRIES);
	}
	stop(&fixture);
}

/* A consumer index that makes no sense is no room. */
static void false_consumer(void)
{
	static const struct {
		uint32_t consumer; /* 10 were produced, the depth is 16 */
		uint32_t pending;
		bool room;
	} rows[] = {
		{0, 10, true},
		{10, 0, true},
		{11, 16, false},
		{1000, 16, false},
		{(uint32_t)-6, 16, false},
		{(uint32_t)-5, 15, true},
		{0x80000000, 16, false},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture fixture;

		start(&fixture, SEED);
		fixture.cq.produced = 10;
		fixture.cq.consumed = 10 - 16; /* as last read: full */
		fixture.cq.ring->consumer.index = rows[i].consumer;
		CU_ASSERT_EQUAL(cq_pending(&fixture.cq), rows[i].pending);
		CU_ASSERT_EQUAL(cq_slot(&fixture.cq) != NULL, rows[i].room);
		CU_ASSERT_EQUAL(fixture.cq.overrun, !rows[i].room);
		stop(&fixture);
	}
}

static const struct unit_case cases[] = {
	UNIT_CASE(scribbles),
	UNIT_CASE(scribbles_and_resizes),
	UNIT_CASE(scribbles_meanwhile),
	UNIT_CASE(impossible_tail),
	UNIT_CASE(false_geometry),
	UNIT_CASE(false_consumer),
};

UNIT_MAIN("queue-hostile", cases)
