/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues: both halves by one thread; cq_threads_test.c has several. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cq.h"
#include "views.h"

#define MIB (1ull << 20)
#define RINGS_MAX 3u

struct fixture {
	struct views views;
	struct cq_ring engine[RINGS_MAX];
	struct cq_front front;
	uroce_abi_ref refs[RINGS_MAX];
	uint32_t rings;
};

static void start(struct fixture *fixture, uint32_t rings, uint32_t depth)
{
	*fixture = (struct fixture){.rings = rings};
	views_open(&fixture->views, 4 * MIB);
	for (uint32_t i = 0; i < rings; i++) {
		CU_ASSERT_EQUAL_FATAL(
			cq_ring_create(fixture->views.region, depth, &fixture->engine[i]), 0);
		fixture->refs[i] = fixture->engine[i].ref;
	}
	CU_ASSERT_EQUAL_FATAL(
		cq_front_init(&fixture->front, &fixture->views.front, rings, fixture->refs), 0);
}

static void stop(struct fixture *fixture)
{
	for (uint32_t i = 0; i < fixture->rings; i++)
		cq_ring_destroy(fixture->views.region, &fixture->engine[i]);
	views_close(&fixture->views);
}

/* As after `position` completions, all polled. */
static void advance_to(struct fixture *fixture, uint32_t position)
{
	for (uint32_t i = 0; i < fixture->rings; i++) {
		fixture->engine[i].produced = position;
		fixture->engine[i].consumed = position;
		fixture->engine[i].ring->producer.index = position;
		fixture->engine[i].ring->consumer.index = position;
		fixture->front.ring[i].consumed = position;
	}
}

static bool push(struct fixture *fixture, uint32_t ring, uint32_t qp, uint64_t wr_id)
{
	struct uroce_abi_cqe *cqe = cq_slot(&fixture->engine[ring]);

	if (!cqe)
		return false;
	*cqe = (struct uroce_abi_cqe){.wr_id = wr_id, .qp = qp};
	cq_push(&fixture->engine[ring], false);
	return true;
}

/* The wr_id, or UINT64_MAX. */
static uint64_t poll_id(struct fixture *fixture)
{
	struct uroce_abi_cqe cqe;

	return cq_poll(&fixture->front, &cqe) ? cqe.wr_id : UINT64_MAX;
}

/* ---- pushing and polling ---- */

static void in_order(void)
{
	static const uint32_t starts[] = {0, 3, UINT32_MAX - 4, UINT32_MAX};
	static const uint32_t depths[] = {1, 2, 3, 8};

	for (unsigned int s = 0; s < sizeof(starts) / sizeof(starts[0]); s++)
		for (unsigned int d = 0; d < sizeof(depths) / sizeof(depths[0]); d++) {
			struct fixture fixture;
			uint64_t pushed = 0, polled = 0;
			unsigned int wrong = 0;

			start(&fixture, 1, depths[d]);
			advance_to(&fixture, starts[s]);
			for (unsigned int lap = 0; lap < 20; lap++) {
				for (uint32_t i = 0; i < depths[d]; i++)
					wrong += !push(&fixture, 0, 1, pushed++);
				wrong += cq_pending(&fixture.engine[0]) != depths[d];
				for (uint32_t i = 0; i < depths[d]; i++)
					wrong += poll_id(&fixture) != polled++;
				wrong += poll_id(&fixture) != UINT64_MAX;
				wrong += cq_pending(&fixture.engine[0]) != 0;
			}
			CU_ASSERT_EQUAL(wrong, 0);
			CU_ASSERT_FALSE(cq_overrun(&fixture.front));
			stop(&fixture);
		}
}

/* A slot is invisible until it is pushed; all 64 bytes arrive. */
static void whole_record(void)
{
	struct fixture fixture;
	struct uroce_abi_cqe *slot, cqe;

	start(&fixture, 1, 2);
	slot = cq_slot(&fixture.engine[0]);
	CU_ASSERT_PTR_NOT_NULL_FATAL(slot);
	for (unsigned int i = 0; i < sizeof(*slot); i++)
		((uint8_t *)slot)[i] = (uint8_t)(i * 5 + 3);
	CU_ASSERT_FALSE(cq_poll(&fixture.front, &cqe));
	CU_ASSERT_PTR_EQUAL(cq_slot(&fixture.engine[0]), slot);
	cq_push(&fixture.engine[0], false);
	CU_ASSERT_TRUE(cq_poll(&fixture.front, &cqe));
	for (unsigned int i = 0; i < sizeof(cqe); i++)
		CU_ASSERT_EQUAL(((uint8_t *)&cqe)[i], (uint8_t)(i * 5 + 3));
	stop(&fixture);
}

/* Poll goes round the sub-rings, so that a busy one doesn't hide the others. */
static void round_the_rings(void)
{
	static const uint64_t expected[] = {100, 200, 300, 101, 201, 102, 103, UINT64_MAX};
	struct fixture fixture;

	start(&fixture, 3, 8);
	for (uint64_t i = 0; i < 4; i++)
		CU_ASSERT_TRUE(push(&fixture, 0, 1, 100 + i));
	for (uint64_t i = 0; i < 2; i++)
		CU_ASSERT_TRUE(push(&fixture, 1, 1, 200 + i));
	CU_ASSERT_TRUE(push(&fixture, 2, 1, 300));
	for (unsigned int i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		CU_ASSERT_EQUAL(poll_id(&fixture), expected[i]);
	stop(&fixture);
}

static void init_refuses(void)
{
	uroce_abi_ref refs[UROCE_ABI_MAX_CORES + 1] = {0};
	struct fixture fixture;
	struct cq_front front;

	start(&fixture, 1, 4);
	for (unsigned int i = 0; i <= UROCE_ABI_MAX_CORES; i++)
		refs[i] = fixture.refs[0];
	CU_ASSERT_EQUAL(cq_front_init(&front, &fixture.views.front, 0, refs), -EPROTO);
	CU_ASSERT_EQUAL(cq_front_init(&front, &fixture.views.front, 17, refs), -EPROTO);
	CU_ASSERT_EQUAL(cq_front_init(&front, &fixture.views.front, 16, refs), 0);
	refs[15] = 0;
	CU_ASSERT_EQUAL(cq_front_init(&front, &fixture.views.front, 16, refs), -EPROTO);
	fixture.engine[0].ring->fixed.stride = 128;
	CU_ASSERT_EQUAL(cq_front_init(&front, &fixture.views.front, 1, refs), -EPROTO);
	stop(&fixture);
}

static void create_without_room(void)
{
	struct views views;
	struct cq_ring ring;

	views_open(&views, MIB);
	CU_ASSERT_EQUAL(cq_ring_create(views.region, 20000, &ring), -ENOMEM);
	CU_ASSERT_EQUAL(cq_ring_create(views.region, UINT32_MAX, &ring), -ENOMEM);
	views_close(&views);
}

/* ---- overrun ---- */

/* Flagged, for good, and nothing that was there is overwritten. */
static void overrun(void)
{
	static const uint32_t depths[] = {0, 1, 3, 4};

	for (unsigned int d = 0; d < sizeof(depths) / sizeof(depths[0]); d++) {
		struct fixture fixture;

		start(&fixture, 2, depths[d]);
		for (uint64_t i = 0; i < depths[d]; i++)
			CU_ASSERT_TRUE(push(&fixture, 1, 1, i));
		CU_ASSERT_FALSE(fixture.engine[1].overrun);
		CU_ASSERT_FALSE(cq_overrun(&fixture.front));
		CU_ASSERT_FALSE(push(&fixture, 1, 1, 99));
		CU_ASSERT_TRUE(fixture.engine[1].overrun);
		CU_ASSERT_TRUE(cq_overrun(&fixture.front));
		CU_ASSERT_FALSE(push(&fixture, 1, 1, 99));
		for (uint64_t i = 0; i < depths[d]; i++)
			CU_ASSERT_EQUAL(poll_id(&fixture), i);
		CU_ASSERT_EQUAL(poll_id(&fixture), UINT64_MAX);
		CU_ASSERT_FALSE(push(&fixture, 1, 1, 99));
		CU_ASSERT_TRUE(cq_overrun(&fixture.front));
		stop(&fixture);
	}
}

/* Room that the front made after the engine's last look counts. */
static void just_in_time(void)
{
	struct fixture fixture;

	start(&fixture, 1, 2);
	for (uint64_t i = 0; i < 1000; i++) {
		CU_ASSERT_TRUE(push(&fixture, 0, 1, i));
		if (i > 0)
			CU_ASSERT_EQUAL(poll_id(&fixture), i - 1);
	}
	CU_ASSERT_FALSE(cq_overrun(&fixture.front));
	stop(&fixture);
}

/* ---- arming ---- */

enum arming { NONE, SOLICITED, ANY, SOLICITED_THEN_ANY, ANY_THEN_SOLICITED };

static void arm(struct fixture *fixture, enum arming arming)
{
	if (arming == SOLICITED || arming == SOLICITED_THEN_ANY)
		cq_arm(&fixture->front, true);
	if (arming == ANY || arming == SOLICITED_THEN_ANY || arming == ANY_THEN_SOLICITED)
		cq_arm(&fixture->front, false);
	if (arming == ANY_THEN_SOLICITED)
		cq_arm(&fixture->front, true);
}

static bool arm_check(struct fixture *fixture, uint32_t ring)
{
	return cq_arm_check(&fixture->engine[ring], fixture->engine[0].ring);
}

/* Completions: p plain, s one that wakes. man ibv_req_notify_cq, IBTA 11.4.2.2. */
static void which_completions_wake(void)
{
	static const struct {
		enum arming arming;
		const char *completions;
		bool event;
	} rows[] = {
		{NONE, "", false},
		{NONE, "p", false},
		{NONE, "s", false},
		{SOLICITED, "", false},
		{SOLICITED, "p", false},
		{SOLICITED, "pp", false},
		{SOLICITED, "s", true},
		{SOLICITED, "sp", true},
		{SOLICITED, "ps", true},
		{ANY, "", false},
		{ANY, "p", true},
		{ANY, "s", true},
		{ANY, "ppp", true},
		{SOLICITED_THEN_ANY, "p", true},
		{ANY_THEN_SOLICITED, "p", true}, /* asking for less takes nothing back */
		{ANY_THEN_SOLICITED, "", false},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (uint32_t ring = 0; ring < 2; ring++) {
			struct fixture fixture;

			start(&fixture, 2, 8);
			arm(&fixture, rows[i].arming);
			for (const char *c = rows[i].completions; *c; c++) {
				CU_ASSERT_PTR_NOT_NULL(cq_slot(&fixture.engine[ring]));
				cq_push(&fixture.engine[ring], *c == 's');
			}
			CU_ASSERT_EQUAL(arm_check(&fixture, ring), rows[i].event);
			CU_ASSERT_FALSE(arm_check(&fixture, ring));
			stop(&fixture);
		}
}

/* One event an arming, from whichever sub-ring; completions from before the arming don't count. */
static void once_per_arming(void)
{
	struct fixture fixture;

	start(&fixture, 2, 8);
	push(&fixture, 0, 1, 1);
	CU_ASSERT_FALSE(arm_check(&fixture, 0));
	cq_arm(&fixture.front, false);
	CU_ASSERT_FALSE(arm_check(&fixture, 0));
	push(&fixture, 0, 1, 2);
	push(&fixture, 1, 1, 3);
	CU_ASSERT_TRUE(arm_check(&fixture, 1));
	CU_ASSERT_FALSE(arm_check(&fixture, 0));
	push(&fixture, 0, 1, 4);
	CU_ASSERT_FALSE(arm_check(&fixture, 0));
	cq_arm(&fixture.front, false);
	cq_arm(&fixture.front, false);
	push(&fixture, 0, 1, 5);
	CU_ASSERT_TRUE(arm_check(&fixture, 0));
	push(&fixture, 0, 1, 6);
	CU_ASSERT_FALSE(arm_check(&fixture, 0));
	stop(&fixture);
}

/* A plain completion leaves an arming for solicited ones as it is. */
static void solicited_stays(void)
{
	struct fixture fixture;

	start(&fixture, 1, 8);
	cq_arm(&fixture.front, true);
	push(&fixture, 0, 1, 1);
	CU_ASSERT_FALSE(arm_check(&fixture, 0));
	CU_ASSERT_PTR_NOT_NULL(cq_slot(&fixture.engine[0]));
	cq_push(&fixture.engine[0], true);
	CU_ASSERT_TRUE(arm_check(&fixture, 0));
	CU_ASSERT_EQUAL(fixture.front.ring[0].ring->flag.word, UROCE_ABI_ARM_NONE);
	stop(&fixture);
}

/* ---- purge ---- */

struct released {
	uint64_t ids[16];
	unsigned int count;
};

static void note_release(void *context, const struct uroce_abi_cqe *cqe)
{
	struct released *released = context;

	released->ids[released->count++] = cqe->wr_id;
}

/* QP 7 goes, the others keep their order, on every sub-ring and across the wrap. */
static void purge(void)
{
	static const uint32_t starts[] = {0, 6, UINT32_MAX - 2};

	for (unsigned int s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
		static const uint64_t left[] = {10, 20, 12, 13, 14, UINT64_MAX};
		static const uint64_t gone[] = {15, 11, 22, 21};
		struct released released = {.count = 0};
		struct fixture fixture;

		start(&fixture, 2, 6);
		advance_to(&fixture, starts[s]);
		push(&fixture, 0, 1, 10);
		push(&fixture, 0, 7, 11);
		push(&fixture, 0, 2, 12);
		push(&fixture, 0, 1, 13);
		push(&fixture, 1, 9, 20);
		push(&fixture, 1, 7, 21);
		push(&fixture, 1, 7, 22);
		push(&fixture, 0, 2, 14);
		push(&fixture, 0, 7, 15);
		cq_purge(&fixture.front, 7, note_release, &released);
		CU_ASSERT_EQUAL(released.count, 4);
		for (unsigned int i = 0; i < 4; i++)
			CU_ASSERT_EQUAL(released.ids[i], gone[i]);
		CU_ASSERT_EQUAL(cq_pending(&fixture.engine[0]), 4);
		CU_ASSERT_EQUAL(cq_pending(&fixture.engine[1]), 1);
		for (unsigned int i = 0; i < sizeof(left) / sizeof(left[0]); i++)
			CU_ASSERT_EQUAL(poll_id(&fixture), left[i]);
		for (uint64_t i = 0; i < 6; i++)
			CU_ASSERT_TRUE(push(&fixture, 0, 7, i)); /* the room is free again */
		cq_purge(&fixture.front, 7, NULL, NULL);
		CU_ASSERT_EQUAL(poll_id(&fixture), UINT64_MAX);
		stop(&fixture);
	}
}

/* ---- resize ---- */

static int resize(struct fixture *fixture, uint32_t depth)
{
	int error = 0;

	for (uint32_t i = 0; i < fixture->rings && !error; i++)
		error = cq_ring_resize(fixture->views.region, &fixture->engine[i], depth);
	return error;
}

/* Old and new size, pending before, pushed before the front takes over and afterwards. */
static void resize_keeps_order(void)
{
	static const struct {
		uint32_t from, to;
		uint32_t before, between, after;
	} rows[] = {
		{4, 8, 0, 0, 8},
		{4, 8, 4, 0, 4},
		{4, 8, 4, 4, 0},
		{4, 8, 3, 2, 3},
		{8, 4, 4, 0, 0},
		{8, 4, 3, 1, 0},
		{8, 4, 0, 4, 0},
		{8, 3, 2, 1, 0},
		{4, 4, 4, 0, 0},
		{1, 2, 1, 1, 0},
		{2, 1, 1, 0, 0},
		{5, 1000, 5, 400, 595},
	};
	static const uint32_t starts[] = {0, 3, UINT32_MAX - 1, UINT32_MAX - 6};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned int s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
			struct fixture fixture;
			uint64_t pushed = 0, polled = 0;
			unsigned int wrong = 0;

			start(&fixture, 1, rows[i].from);
			advance_to(&fixture, starts[s]);
			for (uint32_t n = 0; n < rows[i].before; n++)
				wrong += !push(&fixture, 0, 1, pushed++);
			wrong += resize(&fixture, rows[i].to) != 0;
			for (uint32_t n = 0; n < rows[i].between; n++)
				wrong += !push(&fixture, 0, 1, pushed++);
			wrong += cq_front_resize(&fixture.front, fixture.refs) != 0;
			for (uint32_t n = 0; n < rows[i].after; n++)
				wrong += !push(&fixture, 0, 1, pushed++);
			wrong += push(&fixture, 0, 1, 0); /* each row fills it */
			while (polled < pushed)
				wrong += poll_id(&fixture) != polled++;
			CU_ASSERT_EQUAL(wrong, 0);
			stop(&fixture);
		}
}

/* Until the front has taken over, it polls the old slots and no further. */
static void polls_the_old_first(void)
{
	struct fixture fixture;

	start(&fixture, 2, 4);
	push(&fixture, 0, 1, 1);
	push(&fixture, 0, 1, 2);
	CU_ASSERT_EQUAL(resize(&fixture, 16), 0);
	push(&fixture, 0, 1, 3);
	push(&fixture, 0, 1, 4);
	CU_ASSERT_EQUAL(poll_id(&fixture), 1);
	CU_ASSERT_EQUAL(poll_id(&fixture), 2);
	CU_ASSERT_EQUAL(poll_id(&fixture), UINT64_MAX);
	CU_ASSERT_EQUAL(cq_front_resize(&fixture.front, fixture.refs), 0);
	CU_ASSERT_EQUAL(cq_front_resize(&fixture.front, fixture.refs), 0);
	CU_ASSERT_EQUAL(poll_id(&fixture), 3);
	CU_ASSERT_EQUAL(poll_id(&fixture), 4);
	CU_ASSERT_EQUAL(poll_id(&fixture), UINT64_MAX);
	stop(&fixture);
}

/* Many resizes without a poll; an arming from before them stays; memory doesn't grow. */
static void resize_again_and_again(void)
{
	struct fixture fixture;
	uint64_t used = 0;

	start(&fixture, 1, 4);
	cq_arm(&fixture.front, false);
	for (uint64_t i = 0; i < 4; i++)
		CU_ASSERT_TRUE(push(&fixture, 0, 1, i));
	for (uint32_t n = 0; n < 20000; n++) {
		CU_ASSERT_EQUAL(resize(&fixture, n % 2 ? 4 : 600), 0);
		CU_ASSERT_EQUAL(cq_front_resize(&fixture.front, fixture.refs), 0);
		if (n == 1)
			used = region_used(fixture.views.region);
	}
	CU_ASSERT_EQUAL(region_used(fixture.views.region), used);
	CU_ASSERT_TRUE(arm_check(&fixture, 0));
	for (uint64_t i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(poll_id(&fixture), i);
	CU_ASSERT_EQUAL(poll_id(&fixture), UINT64_MAX);
	stop(&fixture);
}

static void resize_refuses(void)
{
	uroce_abi_ref wrong[1];
	struct fixture fixture;

	start(&fixture, 1, 8);
	for (uint64_t i = 0; i < 5; i++)
		CU_ASSERT_TRUE(push(&fixture, 0, 1, i));
	CU_ASSERT_EQUAL(resize(&fixture, 4), -EINVAL);
	CU_ASSERT_EQUAL(resize(&fixture, 0), -EINVAL);
	CU_ASSERT_EQUAL(resize(&fixture, 1u << 20), -ENOMEM);
	CU_ASSERT_EQUAL(resize(&fixture, UINT32_MAX), -ENOMEM);
	CU_ASSERT_EQUAL(fixture.engine[0].depth, 8);
	CU_ASSERT_EQUAL(poll_id(&fixture), 0);
	CU_ASSERT_EQUAL(resize(&fixture, 4), 0);
	wrong[0] = fixture.refs[0] + 64;
	CU_ASSERT_EQUAL(cq_front_resize(&fixture.front, wrong), -EPROTO);
	wrong[0] = 0;
	CU_ASSERT_EQUAL(cq_front_resize(&fixture.front, wrong), -EPROTO);
	CU_ASSERT_EQUAL(cq_front_resize(&fixture.front, fixture.refs), 0);
	for (uint64_t i = 1; i < 5; i++)
		CU_ASSERT_EQUAL(poll_id(&fixture), i);
	stop(&fixture);
}

/* A purge before the takeover works on what the front can see. */
static void purge_between(void)
{
	struct fixture fixture;

	start(&fixture, 1, 4);
	push(&fixture, 0, 7, 1);
	push(&fixture, 0, 1, 2);
	push(&fixture, 0, 7, 3);
	CU_ASSERT_EQUAL(resize(&fixture, 8), 0);
	push(&fixture, 0, 7, 4);
	push(&fixture, 0, 1, 5);
	cq_purge(&fixture.front, 7, NULL, NULL);
	CU_ASSERT_EQUAL(cq_front_resize(&fixture.front, fixture.refs), 0);
	CU_ASSERT_EQUAL(poll_id(&fixture), 2);
	CU_ASSERT_EQUAL(poll_id(&fixture), 4);
	CU_ASSERT_EQUAL(poll_id(&fixture), 5);
	CU_ASSERT_EQUAL(poll_id(&fixture), UINT64_MAX);
	stop(&fixture);
}

static const struct unit_case cases[] = {
	UNIT_CASE(in_order),
	UNIT_CASE(whole_record),
	UNIT_CASE(round_the_rings),
	UNIT_CASE(init_refuses),
	UNIT_CASE(create_without_room),
	UNIT_CASE(overrun),
	UNIT_CASE(just_in_time),
	UNIT_CASE(which_completions_wake),
	UNIT_CASE(once_per_arming),
	UNIT_CASE(solicited_stays),
	UNIT_CASE(purge),
	UNIT_CASE(resize_keeps_order),
	UNIT_CASE(polls_the_old_first),
	UNIT_CASE(resize_again_and_again),
	UNIT_CASE(resize_refuses),
	UNIT_CASE(purge_between),
};

UNIT_MAIN("queue-cq", cases)
