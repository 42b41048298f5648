/* SPDX-License-Identifier: BSD-3-Clause */
/* Announcements: of QPs that are gone, of nonsense, of more than a round takes. */
#include "rig.h"

struct fixture {
	struct rig rig;
	struct front *front;
	struct front_cq cq;
	struct front_qp qp;
	struct worker *worker;
	struct uroce_abi_ring flag; /* an announced flag of nobody's */
};

static void fixture_open(struct fixture *f)
{
	rig_open(&f->rig);
	f->front = &f->rig.fronts[0];
	f->cq = front_create_cq(f->front, 64, 0);
	f->qp = front_create_qp(f->front, &f->cq);
	f->worker = rig_worker(&f->rig, 0);
}

static void announce(struct fixture *f, uint32_t announcement)
{
	f->flag.flag.word = 0;
	CU_ASSERT(sendring_announce(&f->front->ring[0], &f->flag, announcement));
}

static void nonsense(void)
{
	static const uint32_t values[] = {
		0, 2, 256, 0x7fffffff, SENDRING_RECV, SENDRING_RECV | 2, UINT32_MAX};
	static struct fixture f;

	fixture_open(&f);
	for (unsigned int i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		announce(&f, values[i]);
	CU_ASSERT(engine_busy(f.rig.engines[0]));
	rig_round(&f.rig);
	CU_ASSERT_EQUAL(f.worker->counters.announcements, sizeof(values) / sizeof(values[0]));
	CU_ASSERT_EQUAL(f.worker->counters.stale_announcements, sizeof(values) / sizeof(values[0]));
	CU_ASSERT_FALSE(engine_busy(f.rig.engines[0]));
	rig_close(&f.rig);
}

static void of_the_dead(void)
{
	static struct fixture f;

	fixture_open(&f);
	announce(&f, f.qp.handle);
	CU_ASSERT_EQUAL(front_simple(f.front, UROCE_ABI_DESTROY_QP, f.qp.handle), 0);
	CU_ASSERT_EQUAL(f.worker->counters.stale_announcements, 1);
	rig_close(&f.rig);
}

/* Nobody announces the receives of an SRQ. */
static void of_receives(void)
{
	static struct fixture f;
	struct wq_front srq;
	struct front_qp shared;

	fixture_open(&f);
	shared = front_create_qp_srq(f.front, &f.cq, front_create_srq(f.front, 4, &srq));
	announce(&f, shared.handle | SENDRING_RECV);
	rig_round(&f.rig);
	CU_ASSERT_EQUAL(f.worker->counters.stale_announcements, 1);
	announce(&f, f.qp.handle | SENDRING_RECV);
	rig_round(&f.rig);
	CU_ASSERT_EQUAL(f.worker->counters.stale_announcements, 1);
	rig_close(&f.rig);
}

/* The flag is clear once the core has taken the announcement, so the next post announces again. */
static void the_flag_is_cleared(void)
{
	static struct fixture f;

	fixture_open(&f);
	CU_ASSERT(sendring_announce(&f.front->ring[0], f.qp.sq.ring, f.qp.handle));
	CU_ASSERT_FALSE(sendring_announce(&f.front->ring[0], f.qp.sq.ring, f.qp.handle));
	rig_round(&f.rig);
	CU_ASSERT_EQUAL(f.worker->counters.announcements, 1);
	CU_ASSERT_EQUAL(f.qp.sq.ring->flag.word, 0);
	CU_ASSERT(sendring_announce(&f.front->ring[0], f.qp.sq.ring, f.qp.handle));
	rig_round(&f.rig);
	CU_ASSERT_EQUAL(f.worker->counters.announcements, 2);
	rig_close(&f.rig);
}

/* A round takes 512 of a client; the rest comes next, and nobody else waits meanwhile. */
static void rounds_are_bounded(void)
{
	struct engine_config config = {.max_qp = 1000};
	static struct fixture f;
	struct front other;
	struct front_cq cq;
	struct front_qp qp;

	rig_open_with(&f.rig, NULL, &config);
	f.front = &f.rig.fronts[0];
	f.worker = rig_worker(&f.rig, 0);
	front_attach(&f.rig, 0, &other);
	cq = front_create_cq(&other, 4, 0);
	qp = front_create_qp(&other, &cq);
	for (unsigned int i = 0; i < 1500; i++)
		announce(&f, 999);
	CU_ASSERT(sendring_announce(&other.ring[0], qp.sq.ring, qp.handle));
	rig_round(&f.rig);
	CU_ASSERT_EQUAL(f.worker->counters.stale_announcements, 512);
	CU_ASSERT_EQUAL(qp.sq.ring->flag.word, 0);
	rig_round(&f.rig);
	rig_round(&f.rig);
	CU_ASSERT_EQUAL(f.worker->counters.stale_announcements, 1500);
	front_detach(&other);
	rig_close(&f.rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(nonsense),
	UNIT_CASE(of_the_dead),
	UNIT_CASE(of_receives),
	UNIT_CASE(the_flag_is_cleared),
	UNIT_CASE(rounds_are_bounded),
};

UNIT_MAIN("engine-announce", cases)
