/* SPDX-License-Identifier: BSD-3-Clause */
/* QPs as they are shown to outsiders: all of them once, a few at a time, and one with its gate. */
#include <errno.h>
#include <string.h>

#include "rig.h"

#define QPS 7u

static struct rig rig;
static struct front_cq cq;
static struct front_qp qps[QPS];

static void open_all(void)
{
	rig_open(&rig);
	cq = front_create_cq(&rig.fronts[0], 64, 0);
	for (unsigned int i = 0; i < QPS; i++)
		qps[i] = front_create_qp(&rig.fronts[0], &cq);
}

/* Every QP that is there, exactly once, whatever room there is. */
static void every_qp_once(void)
{
	struct engine_qp_info infos[QPS + 1];

	open_all();
	CU_ASSERT_EQUAL(front_simple(&rig.fronts[0], UROCE_ABI_DESTROY_QP, qps[2].handle), 0);
	for (unsigned int room = 1; room <= QPS; room++) {
		uint64_t place = 0;
		unsigned int seen[QPS] = {0}, count = 0;

		while (place != ENGINE_QPS_END) {
			unsigned int n = engine_qps(rig.engines[0], &place, infos, room);

			CU_ASSERT(n <= room);
			count += n;
			for (unsigned int i = 0; i < n; i++)
				for (unsigned int q = 0; q < QPS; q++)
					seen[q] += infos[i].qp_num == qps[q].qp_num;
		}
		CU_ASSERT_EQUAL(count, QPS - 1);
		for (unsigned int q = 0; q < QPS; q++)
			CU_ASSERT_EQUAL(seen[q], q == 2 ? 0 : 1);
	}
	rig_close(&rig);
}

static void no_qp(void)
{
	struct engine_qp_info info;
	uint64_t place = 0;

	rig_open(&rig);
	CU_ASSERT_EQUAL(engine_qps(rig.engines[0], &place, &info, 1), 0);
	CU_ASSERT_EQUAL(place, ENGINE_QPS_END);
	place = UINT32_MAX;
	CU_ASSERT_EQUAL(engine_qps(rig.engines[0], &place, &info, 1), 0);
	CU_ASSERT_EQUAL(place, ENGINE_QPS_END);
	rig_close(&rig);
}

struct told {
	uint64_t held, released, count;
};

static void take(void *context, const char *name, uint64_t value)
{
	struct told *told = context;

	told->count++;
	if (strcmp(name, "held") == 0)
		told->held = value;
	if (strcmp(name, "released") == 0)
		told->released = value;
}

static void look(const struct front_qp *qp, struct engine_qp_info *info, struct told *told)
{
	*told = (struct told){0};
	CU_ASSERT_EQUAL(engine_qp(rig.engines[0], qp->qp_num, info, take, told), 0);
	CU_ASSERT_EQUAL(info->qp_num, qp->qp_num);
	CU_ASSERT_EQUAL(told->count, sizeof(struct rc_hold_counters) / 8);
}

static void post(struct front_qp *qp)
{
	struct uroce_abi_send_wqe wqe = {.opcode = IBV_WR_SEND, .flags = IBV_SEND_INLINE};

	CU_ASSERT(front_send(&rig.fronts[0], qp, &wqe, NULL, 0, 0));
}

/* The gate closed with two requests for 3 ms, then open. */
static void gate(void)
{
	struct engine_qp_info info;
	struct told told;

	open_all();
	look(&qps[0], &info, &told);
	CU_ASSERT_STRING_EQUAL(info.state, "RESET");
	CU_ASSERT_STRING_EQUAL(info.cause, "none");
	CU_ASSERT(!info.closed && info.held_now == 0 && info.held_ns == 0);
	CU_ASSERT_EQUAL(front_to_init(&rig.fronts[0], &qps[0]), 0);
	CU_ASSERT_EQUAL(front_to_rtr(&rig.fronts[0], &qps[0], RIG_ADDRESS + 1, qps[1].qp_num), 0);
	post(&qps[0]);
	post(&qps[0]);
	rig_round(&rig);
	rig.now += 3 * MS;
	look(&qps[0], &info, &told);
	CU_ASSERT_STRING_EQUAL(info.state, "RTR");
	CU_ASSERT_STRING_EQUAL(info.shown, "RTR");
	CU_ASSERT(info.closed && !info.armed && !info.strict);
	CU_ASSERT_EQUAL(info.held_now, 2);
	CU_ASSERT_EQUAL(info.held_ns, 3 * MS);
	CU_ASSERT(told.held == 2 && told.released == 0);
	CU_ASSERT_EQUAL(front_to_rts(&rig.fronts[0], &qps[0]), 0);
	look(&qps[0], &info, &told);
	CU_ASSERT_STRING_EQUAL(info.state, "RTS");
	CU_ASSERT_STRING_EQUAL(info.cause, "modify");
	CU_ASSERT(!info.closed && info.held_now == 0 && info.held_ns == 0);
	CU_ASSERT(told.held == 2 && told.released == 2);
	CU_ASSERT_EQUAL(engine_qp(rig.engines[0], 0, &info, take, &told), -ENOENT);
	CU_ASSERT_EQUAL(engine_qp(rig.engines[1], qps[0].qp_num, &info, take, &told), -ENOENT);
	rig_close(&rig);
}

static const struct unit_case cases[] = {
	UNIT_CASE(every_qp_once),
	UNIT_CASE(no_qp),
	UNIT_CASE(gate),
};

UNIT_MAIN("engine-inspect", cases)
