/* SPDX-License-Identifier: BSD-3-Clause */
/* Work queues: both halves, step by step, by one thread; wq_threads_test.c has several. */
#include <errno.h>
#include <string.h>

#include "views.h"
#include "wq.h"

#define MIB (1ull << 20)

struct fixture {
	struct views views;
	struct wq_engine engine;
	struct wq_front front;
};

static void start_as(
	struct fixture *fixture, uint32_t depth, uint32_t max_sge, uint32_t max_inline, bool shared)
{
	views_open(&fixture->views, 4 * MIB);
	CU_ASSERT_EQUAL_FATAL(
		wq_create(fixture->views.region, depth, max_sge, max_inline, &fixture->engine), 0);
	CU_ASSERT_EQUAL_FATAL(
		wq_front_init(&fixture->front, &fixture->views.front, fixture->engine.ref, shared),
		0);
}

static void start(struct fixture *fixture, uint32_t depth)
{
	start_as(fixture, depth, 1, 0, false);
}

static void stop(struct fixture *fixture)
{
	wq_destroy(fixture->views.region, &fixture->engine);
	views_close(&fixture->views);
}

/*
 * Both sides as they are after `position` posts, all polled: every slot bears the mark of its last
 * lap.
 */
static void advance_to(struct fixture *fixture, uint32_t position)
{
	uint32_t slots = fixture->front.mask + 1;

	for (uint32_t back = 1; back <= slots; back++)
		if (position >= back)
			wq_publish(&fixture->front, position - back);
	fixture->engine.taken = position;
	fixture->engine.ring->consumer.index = position;
	fixture->front.ring->producer.index = position;
	fixture->front.released = position;
}

static void write_id(struct fixture *fixture, uint32_t position, uint64_t wr_id)
{
	struct uroce_abi_send_wqe *wqe = wq_slot(&fixture->front, position);

	wqe->wr_id = wr_id;
}

static bool post(struct fixture *fixture, uint64_t wr_id)
{
	uint32_t position;

	if (wq_reserve(&fixture->front, 1, &position) != 1)
		return false;
	write_id(fixture, position, wr_id);
	wq_publish(&fixture->front, position);
	return true;
}

/* The wr_id, or UINT64_MAX. */
static uint64_t take(struct fixture *fixture, uint32_t *position)
{
	struct uroce_abi_send_wqe wqe;

	return wq_take(&fixture->engine, &wqe, NULL, 0, position) ? wqe.wr_id : UINT64_MAX;
}

/* ---- shape ---- */

static void shapes(void)
{
	static const struct {
		uint32_t depth, max_sge, max_inline;
		uint32_t slots, stride;
	} rows[] = {
		{0, 0, 0, 1, 64},
		{1, 0, 0, 1, 64},
		{2, 1, 0, 2, 128},
		{3, 4, 0, 4, 128},
		{4, 5, 0, 4, 192},
		{5, 0, 1, 8, 128},
		{5, 1, 64, 8, 128},
		{5, 1, 65, 8, 192},
		{100, 32, 0, 128, 576},
		{100, 32, 512, 128, 576},
		{100, 31, 512, 128, 576},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture fixture;

		start_as(&fixture, rows[i].depth, rows[i].max_sge, rows[i].max_inline, false);
		CU_ASSERT_EQUAL(fixture.engine.mask, rows[i].slots - 1);
		CU_ASSERT_EQUAL(fixture.engine.stride, rows[i].stride);
		CU_ASSERT_EQUAL(fixture.engine.depth, rows[i].depth);
		CU_ASSERT_EQUAL(1u << fixture.engine.shift, rows[i].slots);
		CU_ASSERT_EQUAL(fixture.front.mask, rows[i].slots - 1);
		CU_ASSERT_EQUAL(fixture.front.stride, rows[i].stride);
		CU_ASSERT_EQUAL(fixture.front.depth, rows[i].depth);
		CU_ASSERT_EQUAL(fixture.front.shift, fixture.engine.shift);
		CU_ASSERT_EQUAL(fixture.front.ring->fixed.max_sge, rows[i].max_sge);
		CU_ASSERT_EQUAL(fixture.front.ring->fixed.max_inline, rows[i].max_inline);
		stop(&fixture);
	}
}

static void create_refuses(void)
{
	struct views views;
	struct wq_engine wq;

	views_open(&views, MIB);
	CU_ASSERT_EQUAL(wq_create(views.region, 1, 33, 0, &wq), -EINVAL);
	CU_ASSERT_EQUAL(wq_create(views.region, 1, 0, 513, &wq), -EINVAL);
	CU_ASSERT_EQUAL(wq_create(views.region, 1, UINT32_MAX, 0, &wq), -EINVAL);
	CU_ASSERT_EQUAL(wq_create(views.region, MIB, 32, 0, &wq), -ENOMEM);
	CU_ASSERT_EQUAL(wq_create(views.region, UINT32_MAX, 32, 0, &wq), -ENOMEM);
	views_close(&views);
}

static void front_refuses(void)
{
	struct fixture fixture;
	struct wq_front front;

	start(&fixture, 4);
	CU_ASSERT_EQUAL(wq_front_init(&front, &fixture.views.front, 0, false), -EPROTO);
	CU_ASSERT_EQUAL(
		wq_front_init(&front, &fixture.views.front, fixture.engine.ref + 4 * MIB, false),
		-EPROTO);
	stop(&fixture);
}

/* ---- reserving ---- */

static void reserve(void)
{
	static const struct {
		uint32_t depth, outstanding, wanted;
		uint32_t got;
	} rows[] = {
		{4, 0, 0, 0},
		{4, 0, 1, 1},
		{4, 0, 4, 4},
		{4, 0, 5, 4},
		{4, 3, 1, 1},
		{4, 3, 2, 1},
		{4, 4, 1, 0},
		{4, 4, UINT32_MAX, 0},
		{4, 1, UINT32_MAX, 3},
		{5, 0, 8, 5}, /* as many as granted, though there are 8 slots */
		{5, 5, 1, 0},
		{1, 0, 2, 1},
		{1, 1, 1, 0},
		{0, 0, 1, 0},
	};
	static const uint32_t starts[] = {0, 3, UINT32_MAX - 2, UINT32_MAX};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned int s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
			struct fixture fixture;
			uint32_t position = 12345;

			start(&fixture, rows[i].depth);
			advance_to(&fixture, starts[s]);
			fixture.front.ring->producer.index += rows[i].outstanding;
			CU_ASSERT_EQUAL(wq_outstanding(&fixture.front), rows[i].outstanding);
			CU_ASSERT_EQUAL(
				wq_reserve(&fixture.front, rows[i].wanted, &position), rows[i].got);
			CU_ASSERT_EQUAL(
				position, rows[i].got ? starts[s] + rows[i].outstanding : 12345);
			CU_ASSERT_EQUAL(fixture.front.ring->producer.index,
				starts[s] + rows[i].outstanding + rows[i].got);
			stop(&fixture);
		}
}

/* Only forward, in whatever order completions are polled, across the wrap too. */
static void release(void)
{
	static const uint32_t starts[] = {0, 1000, UINT32_MAX - 2};

	for (unsigned int s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
		uint32_t at = starts[s];
		struct fixture fixture;
		uint32_t position;

		start(&fixture, 8);
		advance_to(&fixture, at);
		CU_ASSERT_EQUAL(wq_reserve(&fixture.front, 8, &position), 8);
		wq_release(&fixture.front, at + 3);
		CU_ASSERT_EQUAL(wq_outstanding(&fixture.front), 5);
		wq_release(&fixture.front, at + 2);
		wq_release(&fixture.front, at + 3);
		wq_release(&fixture.front, at);
		CU_ASSERT_EQUAL(wq_outstanding(&fixture.front), 5);
		CU_ASSERT_EQUAL(wq_reserve(&fixture.front, 8, &position), 3);
		CU_ASSERT_EQUAL(position, at + 8);
		wq_release(&fixture.front, at + 11);
		CU_ASSERT_EQUAL(wq_outstanding(&fixture.front), 0);
		stop(&fixture);
	}
}

/* ---- publishing and taking ---- */

/* The engine stops at the first slot that isn't valid, however many behind it are. */
static void stops_at_the_gap(void)
{
	struct fixture fixture;
	uint32_t position, first;

	start(&fixture, 8);
	CU_ASSERT_FALSE(wq_ready(&fixture.engine));
	CU_ASSERT_EQUAL(wq_reserve(&fixture.front, 4, &first), 4);
	CU_ASSERT_FALSE(wq_ready(&fixture.engine));
	for (uint32_t i = 0; i < 4; i++)
		write_id(&fixture, first + i, 100 + i);
	wq_publish(&fixture.front, first + 1);
	wq_publish(&fixture.front, first + 3);
	CU_ASSERT_FALSE(wq_ready(&fixture.engine));
	CU_ASSERT_EQUAL(take(&fixture, &position), UINT64_MAX);
	wq_publish(&fixture.front, first);
	CU_ASSERT_TRUE(wq_ready(&fixture.engine));
	CU_ASSERT_EQUAL(wq_count(&fixture.engine, 8), 2);
	CU_ASSERT_EQUAL(wq_count(&fixture.engine, 1), 1);
	CU_ASSERT_EQUAL(take(&fixture, &position), 100);
	CU_ASSERT_EQUAL(take(&fixture, &position), 101);
	CU_ASSERT_EQUAL(take(&fixture, &position), UINT64_MAX);
	wq_publish(&fixture.front, first + 2);
	CU_ASSERT_EQUAL(take(&fixture, &position), 102);
	CU_ASSERT_EQUAL(take(&fixture, &position), 103);
	CU_ASSERT_EQUAL(position, first + 3);
	CU_ASSERT_EQUAL(take(&fixture, &position), UINT64_MAX);
	CU_ASSERT_EQUAL(fixture.front.ring->consumer.index, 4);
	stop(&fixture);
}

/* Three laps and more, from positions before, at and behind the wrap of 32 bits. */
static void laps(void)
{
	static const uint32_t depths[] = {1, 2, 3, 4, 8, 64};
	static const uint32_t starts[] = {
		0, 1, 77, 0x7ffffff0, 0x7fffffff, 0xffffff00, 0xfffffff0, 0xfffffffe, 0xffffffff};

	for (unsigned int d = 0; d < sizeof(depths) / sizeof(depths[0]); d++)
		for (unsigned int s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
			struct fixture fixture;
			unsigned int wrong = 0;

			start(&fixture, depths[d]);
			advance_to(&fixture, starts[s]);
			for (uint32_t i = 0; i < 3 * depths[d] + 300; i++) {
				uint32_t position = 0;

				wrong += wq_ready(&fixture.engine);
				wrong += !post(&fixture, i);
				wrong += wq_count(&fixture.engine, UINT32_MAX) != 1;
				wrong += take(&fixture, &position) != i;
				wrong += position != starts[s] + i;
				wrong += wq_ready(&fixture.engine);
				wq_release(&fixture.front, position + 1);
			}
			CU_ASSERT_EQUAL(wrong, 0);
			stop(&fixture);
		}
}

/* The same with the ring filled in each lap: no slot of the lap before counts as valid. */
static void full_laps(void)
{
	static const uint32_t depths[] = {1, 2, 4, 5};
	static const uint32_t starts[] = {0, 0xffffffe0, 0xffffffff};

	for (unsigned int d = 0; d < sizeof(depths) / sizeof(depths[0]); d++)
		for (unsigned int s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
			struct fixture fixture;
			unsigned int wrong = 0;
			uint64_t posted = 0, taken = 0;

			start(&fixture, depths[d]);
			advance_to(&fixture, starts[s]);
			for (unsigned int lap = 0; lap < 50; lap++) {
				uint32_t position = 0;

				while (post(&fixture, posted))
					posted++;
				wrong += wq_count(&fixture.engine, UINT32_MAX) != depths[d];
				while (wq_ready(&fixture.engine))
					wrong += take(&fixture, &position) != taken++;
				wq_release(&fixture.front, position + 1);
			}
			CU_ASSERT_EQUAL(wrong, 0);
			CU_ASSERT_EQUAL(taken, 50 * depths[d]);
			stop(&fixture);
		}
}

/* The engine's copy of record and tail; what wasn't asked for is left alone. */
static void copies(void)
{
	static const struct {
		uint32_t tail_size;
		uint32_t copied; /* of the 128 bytes that the slot has behind the record */
	} rows[] = {{0, 0}, {1, 1}, {8, 8}, {13, 13}, {80, 80}, {128, 128}, {129, 128}, {500, 128}};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture fixture;
		uint8_t record[64], tail[512], *slot;
		uint32_t position;

		start_as(&fixture, 2, 5, 100, false);
		CU_ASSERT_EQUAL(wq_reserve(&fixture.front, 2, &position), 2);
		slot = wq_slot(&fixture.front, position);
		for (unsigned int n = 4; n < 64 + 128; n++)
			slot[n] = (uint8_t)(n * 7 + 1);
		wq_publish(&fixture.front, position);
		memset(tail, 0xee, sizeof(tail));
		CU_ASSERT_TRUE(
			wq_take(&fixture.engine, record, tail, rows[i].tail_size, &position));
		CU_ASSERT_EQUAL(memcmp(record + 4, slot + 4, 60), 0);
		CU_ASSERT_EQUAL(memcmp(tail, slot + 64, rows[i].copied), 0);
		for (unsigned int n = rows[i].copied; n < sizeof(tail); n++)
			CU_ASSERT_EQUAL(tail[n], 0xee);
		stop(&fixture);
	}
}

/* ---- reset, notices ---- */

static void reset(void)
{
	struct fixture fixture;
	uint32_t position;

	start(&fixture, 4);
	for (unsigned int lap = 0; lap < 3; lap++) {
		CU_ASSERT_TRUE(post(&fixture, 1));
		CU_ASSERT_TRUE(post(&fixture, 2));
		CU_ASSERT_EQUAL(take(&fixture, &position), 1);
		CU_ASSERT_EQUAL(position, 2 * lap);
		wq_reset(&fixture.engine);
		wq_front_reset(&fixture.front);
		CU_ASSERT_FALSE(wq_ready(&fixture.engine));
		CU_ASSERT_EQUAL(wq_count(&fixture.engine, 4), 0);
		CU_ASSERT_EQUAL(wq_outstanding(&fixture.front), 0);
		CU_ASSERT_EQUAL(fixture.front.ring->producer.index, 2 * lap + 2);
		CU_ASSERT_EQUAL(fixture.front.ring->consumer.index, 2 * lap + 2);
	}
	CU_ASSERT_EQUAL(wq_reserve(&fixture.front, 9, &position), 4);
	CU_ASSERT_EQUAL(position, 6);
	stop(&fixture);
}

/* A thread reserves, another one resets the QP and posts anew, the first goes on: what it writes is
 * dropped, and what was posted after the reset is all there, in order. */
static void reset_amid_a_post(void)
{
	struct fixture fixture;
	uint32_t late, position;

	start(&fixture, 4);
	CU_ASSERT_TRUE(post(&fixture, 1));
	CU_ASSERT_EQUAL_FATAL(wq_reserve(&fixture.front, 1, &late), 1);
	wq_reset(&fixture.engine);
	wq_front_reset(&fixture.front);
	CU_ASSERT_TRUE(post(&fixture, 2));
	wq_publish(&fixture.front, late);
	CU_ASSERT_EQUAL(wq_count(&fixture.engine, 4), 1);
	for (unsigned int i = 3; i < 5; i++)
		CU_ASSERT_TRUE(post(&fixture, i));
	for (unsigned int i = 2; i < 5; i++)
		CU_ASSERT_EQUAL(take(&fixture, &position), i);
	CU_ASSERT_FALSE(wq_ready(&fixture.engine));
	stop(&fixture);
}

/* A thread that has seen the QP's state reserves when the engine has reset and the front is about
 * to: its request counts as posted behind the reset, and no later one is lost. */
static void reset_before_a_post(void)
{
	struct fixture fixture;
	uint32_t position;

	start(&fixture, 4);
	for (unsigned int i = 1; i < 4; i++)
		CU_ASSERT_TRUE(post(&fixture, i));
	wq_reset(&fixture.engine);
	CU_ASSERT_TRUE(post(&fixture, 4));
	wq_front_reset(&fixture.front);
	for (unsigned int i = 5; i < 8; i++)
		CU_ASSERT_TRUE(post(&fixture, i));
	CU_ASSERT_FALSE(post(&fixture, 8));
	for (unsigned int i = 4; i < 8; i++)
		CU_ASSERT_EQUAL(take(&fixture, &position), i);
	stop(&fixture);
}

static void notice(void)
{
	struct fixture fixture;

	start(&fixture, 4);
	CU_ASSERT_FALSE(wq_announce_recv(&fixture.front));
	wq_set_notice(&fixture.engine, UROCE_ABI_ANNOUNCE_RECV);
	CU_ASSERT_TRUE(wq_announce_recv(&fixture.front));
	CU_ASSERT_TRUE(wq_announce_recv(&fixture.front));
	wq_set_notice(&fixture.engine, 0);
	CU_ASSERT_FALSE(wq_announce_recv(&fixture.front));
	stop(&fixture);
}

/* ---- SRQ ---- */

/* A claimed slot is free at once; wq_release() has no say. */
static void shared(void)
{
	static const uint32_t starts[] = {0, UINT32_MAX - 5};

	for (unsigned int s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
		struct fixture fixture;
		struct uroce_abi_send_wqe wqe;
		uint32_t position;
		unsigned int posted = 0;

		start_as(&fixture, 3, 1, 0, true);
		advance_to(&fixture, starts[s]);
		for (unsigned int i = 0; i < 20; i++) {
			while (post(&fixture, posted))
				posted++;
			CU_ASSERT_EQUAL(posted, i + 3);
			CU_ASSERT_EQUAL(wq_outstanding(&fixture.front), 3);
			CU_ASSERT_EQUAL(wq_count(&fixture.engine, 10), 3);
			CU_ASSERT_TRUE(wq_claim(&fixture.engine, &wqe, NULL, 0));
			CU_ASSERT_EQUAL(wqe.wr_id, i);
			CU_ASSERT_EQUAL(fixture.front.ring->consumer.index, starts[s] + i + 1);
			CU_ASSERT_EQUAL(wq_outstanding(&fixture.front), 2);
		}
		CU_ASSERT_EQUAL(wq_reserve(&fixture.front, 1, &position), 1);
		CU_ASSERT_TRUE(wq_claim(&fixture.engine, &wqe, NULL, 0));
		CU_ASSERT_TRUE(wq_claim(&fixture.engine, &wqe, NULL, 0));
		CU_ASSERT_FALSE(wq_claim(&fixture.engine, &wqe, NULL, 0));
		stop(&fixture);
	}
}

/* Of the four SGEs' or 64 inline bytes' room behind a record, what the record says to use. */
static void send_tails(void)
{
	static const struct {
		uint8_t flags;
		uint16_t sge_count;
		uint32_t inline_length;
		uint32_t tail_size;
		uint32_t copied;
	} rows[] = {
		{0, 0, 0, 64, 0},
		{0, 1, 0, 64, 16},
		{0, 3, 64, 64, 48}, /* not inline: the length means nothing */
		{0, 4, 0, 64, 64},
		{0, 4, 0, 32, 32},
		{0, 5, 0, 1024, 64}, /* more than the queue has */
		{0, 65535, 0, 1024, 64},
		{IBV_SEND_INLINE, 4, 0, 64, 0},
		{IBV_SEND_INLINE, 0, 1, 64, 1},
		{IBV_SEND_INLINE | IBV_SEND_SIGNALED, 0, 13, 64, 13},
		{IBV_SEND_INLINE, 0, 64, 64, 64},
		{IBV_SEND_INLINE, 0, 65, 1024, 64},
		{IBV_SEND_INLINE, 0, UINT32_MAX, 64, 64},
	};
	struct fixture fixture;

	start_as(&fixture, 4, 4, 64, false);
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct uroce_abi_send_wqe *slot = wq_slot(&fixture.front, i);
		struct uroce_abi_send_wqe wqe;
		uint8_t tail[1024] = {0};
		uint32_t position;

		slot->flags = rows[i].flags;
		slot->sge_count = rows[i].sge_count;
		slot->inline_length = rows[i].inline_length;
		memset(slot + 1, 0xee, 64);
		CU_ASSERT_FALSE(
			wq_take_send(&fixture.engine, &wqe, tail, rows[i].tail_size, &position));
		CU_ASSERT_TRUE(post(&fixture, 100 + i));
		CU_ASSERT_TRUE_FATAL(
			wq_take_send(&fixture.engine, &wqe, tail, rows[i].tail_size, &position));
		CU_ASSERT_EQUAL(position, i);
		CU_ASSERT_EQUAL(wqe.wr_id, 100 + i);
		for (uint32_t at = 0; at < sizeof(tail); at++)
			CU_ASSERT_EQUAL(tail[at], at < rows[i].copied ? 0xee : 0);
		CU_ASSERT_EQUAL(fixture.engine.ring->consumer.index, i + 1);
		wq_release(&fixture.front, i + 1);
	}
	stop(&fixture);
}

static const struct unit_case cases[] = {
	UNIT_CASE(shapes),
	UNIT_CASE(create_refuses),
	UNIT_CASE(front_refuses),
	UNIT_CASE(reserve),
	UNIT_CASE(release),
	UNIT_CASE(stops_at_the_gap),
	UNIT_CASE(laps),
	UNIT_CASE(full_laps),
	UNIT_CASE(copies),
	UNIT_CASE(reset),
	UNIT_CASE(reset_amid_a_post),
	UNIT_CASE(reset_before_a_post),
	UNIT_CASE(notice),
	UNIT_CASE(shared),
	UNIT_CASE(send_tails),
};

UNIT_MAIN("queue-wq", cases)
