/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What QPs of several cores share: a CQ (order, arming, resize, overrun), an SRQ, a channel whose
 * ring is full.
 */
#include <errno.h>

#include "many.h"

/* wr_ids: the QP's own count. Completions of a QP come in the order of its requests, none is
 * missing, none comes twice. */
static void expect_in_order(struct many *m, uint32_t first, uint32_t end)
{
	uint32_t next[MANY_QPS], n;
	struct uroce_abi_cqe cqe;

	for (n = 0; n < m->qps; n++)
		next[n] = first;
	while (many_poll(m, &cqe, &n)) {
		CU_ASSERT_EQUAL(cqe.status, IBV_WC_SUCCESS);
		CU_ASSERT_EQUAL(cqe.wr_id, next[n]);
		next[n]++;
	}
	for (n = 0; n < m->qps; n++)
		CU_ASSERT_EQUAL(next[n], end);
}

static void send_on_all(struct many *m, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++)
		for (uint32_t n = 0; n < m->qps; n++)
			many_send(m, n, i);
}

static void order_per_qp(void)
{
	static struct many m;

	for (uint32_t cores = 2; cores <= 4; cores++) {
		many_open(&m, cores, MANY_QPS, 1000);
		many_connect(&m);
		for (uint32_t i = 0; i < 60; i += 20) {
			send_on_all(&m, i, i + 20);
			many_run(&m);
			expect_in_order(&m, i, i + 20);
		}
		many_close(&m);
	}
}

/* ---- arming ---- */

static unsigned int count_events(struct many *m)
{
	unsigned int count = 0;
	uint32_t object, type;

	while ((type = front_event(&m->channel, &object)) != NO_EVENT) {
		CU_ASSERT_EQUAL(type, UROCE_ABI_EVENT_COMP);
		CU_ASSERT_EQUAL(object, m->cq_a.handle);
		count++;
	}
	return count;
}

/* However many cores complete after it. */
static void one_event_an_arming(void)
{
	static struct many m;

	many_open(&m, 3, 6, 1000);
	many_connect(&m);
	send_on_all(&m, 0, 1);
	many_run(&m);
	CU_ASSERT_EQUAL(count_events(&m), 0);
	for (uint32_t i = 1; i < 30; i++) {
		cq_arm(&m.cq_a.cq, false);
		CU_ASSERT_EQUAL(count_events(&m), 0);
		if (i % 2) /* of one core alone, or of all */
			many_send(&m, i % 6, i);
		else
			send_on_all(&m, i, i + 1);
		many_run(&m);
		CU_ASSERT_EQUAL(count_events(&m), 1);
		send_on_all(&m, i, i + 1);
		many_run(&m);
		CU_ASSERT_EQUAL(count_events(&m), 0);
		for (struct uroce_abi_cqe cqe; cq_poll(&m.cq_a.cq, &cqe);)
			for (uint32_t n = 0; n < 6; n++)
				if (cqe.qp == m.qp_a[n].handle)
					wq_release(&m.qp_a[n].sq, cqe.released);
	}
	many_close(&m);
}

/* Armed for solicited ones: what other cores complete besides is no answer. */
static void solicited_at_one_core(void)
{
	struct uroce_abi_send_wqe wqe = {
		.opcode = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED};
	static struct many m;

	many_open(&m, 2, 2, 1000);
	many_connect(&m);
	for (uint32_t n = 0; n < 2; n++) {
		cq_arm(&m.cq_a.cq, true);
		many_send(&m, 0, 1);
		many_send(&m, 1, 1);
		many_run(&m);
		CU_ASSERT_EQUAL(count_events(&m), 0);
		CU_ASSERT(front_recv(m.a, &m.qp_a[n], 2, NULL, 0, 0));
		CU_ASSERT(front_send(m.b, &m.qp_b[n], &wqe, NULL, 0, 0));
		many_run(&m);
		CU_ASSERT_EQUAL(count_events(&m), 1);
	}
	many_close(&m);
}

/* ---- resize ---- */

static int resize(struct many *m, uint32_t cqe)
{
	struct uroce_abi_command command = {
		.head = {.op = UROCE_ABI_RESIZE_CQ, .object = m->cq_a.handle}};
	int error;

	command.u.cq.cqe = cqe;
	error = front_command(m->a, &command);
	if (error)
		return error;
	CU_ASSERT_EQUAL(command.u.cq.cqe, cqe);
	CU_ASSERT_EQUAL(command.u.cq.rings, m->cores);
	return cq_front_resize(&m->cq_a.cq, command.u.cq.ring);
}

/* Completions of before and after on every core; a size that one core's don't fit in is refused. */
static void resized_with_completions_pending(void)
{
	static const struct {
		uint32_t cqe;
		int status;
	} rows[] = {{7, -EINVAL}, {0, -EINVAL}, {8, 0}, {500, 0}, {8, 0}, {20, 0}};
	static struct many m;
	uint32_t unused;

	many_open(&m, 3, 5, 100); /* two QPs each at cores 0 and 1, one at core 2 */
	many_connect(&m);
	send_on_all(&m, 0, 4);
	many_run(&m);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CU_ASSERT_EQUAL(resize(&m, rows[i].cqe), rows[i].status);
	cq_arm(&m.cq_a.cq, false);
	CU_ASSERT_EQUAL(resize(&m, 24), 0);
	send_on_all(&m, 4, 8);
	many_run(&m);
	CU_ASSERT_EQUAL(count_events(&m), 1);
	expect_in_order(&m, 0, 8);
	CU_ASSERT_EQUAL(front_event(&m.events, &unused), NO_EVENT);
	many_close(&m);
}

#define RING_BYTES (4096u * 64) /* of 4096 completions */

static uroce_abi_ref alloc(struct many *m, uint64_t size)
{
	struct uroce_abi_command command = {.head.op = UROCE_ABI_ALLOC};

	command.u.memory.size = size;
	return front_command(m->a, &command) == 0 ? command.u.memory.ref : 0;
}

/* All that there is, but one block of that size. */
static void fill_region(struct many *m, uint64_t block)
{
	struct uroce_abi_command command = {.head.op = UROCE_ABI_FREE};
	uroce_abi_ref kept = alloc(m, block);

	for (uint64_t size = 1ull << 29; size >= 64; size /= 2)
		while (alloc(m, size))
			continue;
	command.u.memory.ref = kept;
	CU_ASSERT_EQUAL_FATAL(front_command(m->a, &command), 0);
}

/* Room for the ring of one core, but not of three: nothing changes. */
static void all_or_nothing(void)
{
	struct uroce_abi_command create = {.head.op = UROCE_ABI_CREATE_CQ};
	static struct many m;
	uint64_t used;

	many_open(&m, 3, 3, 100);
	many_connect(&m);
	send_on_all(&m, 0, 5);
	many_run(&m);
	fill_region(&m, RING_BYTES);
	used = region_used(m.a->client->region);
	CU_ASSERT_EQUAL(resize(&m, 4096), -ENOMEM);
	CU_ASSERT_EQUAL(region_used(m.a->client->region), used);
	create.u.cq.cqe = 4096;
	CU_ASSERT_EQUAL(front_command(m.a, &create), -ENOMEM);
	CU_ASSERT_EQUAL(region_used(m.a->client->region), used);
	CU_ASSERT_EQUAL(m.a->client->objects[OBJECT_CQ].live, 1);
	/* As deep as before, and in order. */
	send_on_all(&m, 5, 50);
	many_run(&m);
	expect_in_order(&m, 0, 50);
	CU_ASSERT_NOT_EQUAL(alloc(&m, RING_BYTES), 0);
	many_close(&m);
}

/* ---- overrun ---- */

static unsigned int count_async(struct many *m, uint32_t type, uint32_t object)
{
	unsigned int count = 0;
	uint32_t at, got;

	while ((got = front_event(&m->events, &at)) != NO_EVENT)
		count += got == type && at == object;
	return count;
}

/* Five completions of one core don't fit in a CQ of four: QPs of all cores fail, and it is told
 * once, whether one core overran or all of them did. */
static void overrun_fails_all(void)
{
	static const struct {
		uint32_t first, end; /* QPs that send too much */
	} rows[] = {{0, 1}, {1, 2}, {2, 3}, {0, 3}, {1, 3}};
	static struct many m;

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		many_open(&m, 3, 6, 4);
		many_connect(&m);
		for (uint32_t k = 0; k < 5; k++)
			for (uint32_t n = rows[i].first; n < rows[i].end; n++)
				many_send(&m, n, k);
		many_run(&m);
		for (uint32_t n = 0; n < 6; n++)
			CU_ASSERT_EQUAL(front_state(m.a, &m.qp_a[n]), IBV_QPS_ERR);
		CU_ASSERT_EQUAL(count_async(&m, IBV_EVENT_CQ_ERR, m.cq_a.handle), 1);
		CU_ASSERT_TRUE(cq_overrun(&m.cq_a.cq));
		many_run(&m);
		CU_ASSERT_EQUAL(count_async(&m, IBV_EVENT_CQ_ERR, m.cq_a.handle), 0);
		many_close(&m);
	}
}

/* Core 0 runs it, and no other core is in a round meanwhile. */
static void at_core_0(struct many *m, uint32_t op, uint32_t object, enum ibv_qp_state state)
{
	struct uroce_abi_command command = {.head = {.op = op, .object = object}};

	command.u.qp.mask = IBV_QP_STATE;
	command.u.qp.attr.qp_state = state;
	front_post(m->a, 0, &command);
	engine_core_round(m->rig.engines[0], 0);
	CU_ASSERT_EQUAL_FATAL(m->a->slots[0].head.state, UROCE_ABI_DONE);
	CU_ASSERT(front_done(m->a, 0, &command));
	CU_ASSERT_EQUAL(command.head.status, 0);
}

/* The CQ overran at core 0; before core 1 has looked into its mail, the CQ is gone. */
static void gone_before_the_mail_is_read(void)
{
	struct worker *other;
	struct front_cq cq;
	struct front_qp qp;
	static struct many m;

	many_open(&m, 2, 2, 100);
	other = m.rig.engines[0]->workers[1];
	cq = front_create_cq(m.a, 1, 0);
	qp = front_create_qp(m.a, &cq);
	CU_ASSERT_EQUAL(core_of(&m.a->cores, qp.handle), 0);
	CU_ASSERT_EQUAL(front_to_init(m.a, &qp), 0);
	for (uint32_t i = 0; i < 3; i++)
		CU_ASSERT(front_recv(m.a, &qp, i, NULL, 0, 0));
	at_core_0(&m, UROCE_ABI_MODIFY_QP, qp.handle, IBV_QPS_ERR);
	engine_core_round(m.rig.engines[0], 0);
	CU_ASSERT_FALSE(list_empty(&other->inbox_failed));
	at_core_0(&m, UROCE_ABI_DESTROY_QP, qp.handle, 0);
	at_core_0(&m, UROCE_ABI_DESTROY_CQ, cq.handle, 0);
	CU_ASSERT_TRUE(list_empty(&other->inbox_failed));
	many_run(&m);
	CU_ASSERT_EQUAL(count_async(&m, IBV_EVENT_CQ_ERR, cq.handle), 1);
	CU_ASSERT_NOT_EQUAL(front_state(m.a, &m.qp_a[1]), IBV_QPS_ERR);
	many_close(&m);
}

/* ---- SRQ ---- */

static int set_limit(struct many *m, uint32_t srq, uint32_t limit)
{
	struct uroce_abi_command command = {.head = {.op = UROCE_ABI_MODIFY_SRQ, .object = srq}};

	command.u.srq.mask = IBV_SRQ_LIMIT;
	command.u.srq.limit = limit;
	return front_command(m->a, &command);
}

/* Each receive serves one message; whichever core's goes below the limit tells it, and once. */
static void an_srq_of_all_cores(void)
{
	const struct uroce_abi_send_wqe wqe = {.opcode = IBV_WR_SEND};
	struct front_qp qps[MANY_QPS];
	unsigned int seen[60] = {0};
	struct uroce_abi_cqe cqe;
	static struct many m;
	struct wq_front wq;
	uint32_t srq;

	many_open(&m, 4, MANY_QPS, 100);
	srq = front_create_srq(m.a, 64, &wq);
	for (uint32_t n = 0; n < MANY_QPS; n++) {
		qps[n] = front_create_qp_srq(m.a, &m.cq_a, srq);
		front_connect(m.a, &qps[n], RIG_ADDRESS, m.b, &m.qp_b[n], RIG_ADDRESS + 1);
	}
	for (uint32_t i = 0; i < 60; i++)
		CU_ASSERT(front_srq_recv(&wq, i, NULL, 0, 0));
	CU_ASSERT_EQUAL(set_limit(&m, srq, 30), 0);
	for (uint32_t i = 0; i < 60; i++) {
		CU_ASSERT(front_send(m.b, &m.qp_b[i % MANY_QPS], &wqe, NULL, 0, 0));
		many_run(&m);
		CU_ASSERT_EQUAL(count_async(&m, IBV_EVENT_SRQ_LIMIT_REACHED, srq), i == 30);
	}
	while (cq_poll(&m.cq_a.cq, &cqe)) {
		CU_ASSERT_EQUAL(cqe.status, IBV_WC_SUCCESS);
		CU_ASSERT_FATAL(cqe.wr_id < 60);
		seen[cqe.wr_id]++;
	}
	for (unsigned int i = 0; i < 60; i++)
		CU_ASSERT_EQUAL(seen[i], 1);
	/* Undershot by messages to all cores in one round: once. */
	for (uint32_t i = 0; i < 40; i++)
		CU_ASSERT(front_srq_recv(&wq, i, NULL, 0, 0));
	CU_ASSERT_EQUAL(set_limit(&m, srq, 36), 0);
	for (uint32_t n = 0; n < MANY_QPS; n++)
		CU_ASSERT(front_send(m.b, &m.qp_b[n], &wqe, NULL, 0, 0));
	many_run(&m);
	CU_ASSERT_EQUAL(count_async(&m, IBV_EVENT_SRQ_LIMIT_REACHED, srq), 1);
	many_close(&m);
}

/* ---- events ---- */

#define CHANNEL_HOLDS 512u

/* Each core has a CQ of its own, and they share the channel. More events than it holds stay with
 * their cores until there is room; none is lost, none told twice. */
static void a_full_channel(void)
{
	uint32_t told[3] = {0}, object, kept = 0, total = 0;
	struct front_qp qp[3], peer[3];
	struct front_cq cq[3];
	static struct many m;

	many_open(&m, 3, 3, 8);
	for (uint32_t n = 0; n < 3; n++) {
		cq[n] = front_create_cq(m.a, 4, m.channel.handle);
		qp[n] = front_create_qp(m.a, &cq[n]);
		peer[n] = front_create_qp(m.b, &m.cq_b);
		front_connect(m.a, &qp[n], RIG_ADDRESS, m.b, &peer[n], RIG_ADDRESS + 1);
	}
	for (uint32_t i = 0; i < 200; i++)
		for (uint32_t n = 0; n < 3; n++) {
			const struct uroce_abi_send_wqe wqe = {
				.opcode = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED};
			struct uroce_abi_cqe cqe;

			cq_arm(&cq[n].cq, false);
			CU_ASSERT(front_recv(m.b, &peer[n], i, NULL, 0, 0));
			CU_ASSERT(front_send(m.a, &qp[n], &wqe, NULL, 0, 0));
			many_run(&m);
			CU_ASSERT(front_poll(&qp[n], &cqe));
			while (front_poll(&peer[n], &cqe))
				;
		}
	for (uint32_t core = 0; core < 3; core++) {
		kept += m.rig.engines[0]->workers[core]->counters.events_kept > 0;
		CU_ASSERT_FALSE(list_empty(&m.rig.engines[0]->workers[core]->kept));
	}
	CU_ASSERT_EQUAL(kept, 3);
	for (uint32_t i = 0; i < 600; i++) {
		if (front_event(&m.channel, &object) != UROCE_ABI_EVENT_COMP)
			break;
		total++;
		for (uint32_t n = 0; n < 3; n++)
			told[n] += object == cq[n].handle;
		rig_round(&m.rig);
	}
	CU_ASSERT_EQUAL(total, 600);
	for (uint32_t n = 0; n < 3; n++) {
		CU_ASSERT_EQUAL(told[n], 200);
		CU_ASSERT_TRUE(list_empty(&m.rig.engines[0]->workers[n]->kept));
	}
	CU_ASSERT_EQUAL(front_event(&m.channel, NULL), NO_EVENT);
	many_close(&m);
}

static const struct unit_case cases[] = {
	UNIT_CASE(order_per_qp),
	UNIT_CASE(one_event_an_arming),
	UNIT_CASE(solicited_at_one_core),
	UNIT_CASE(resized_with_completions_pending),
	UNIT_CASE(all_or_nothing),
	UNIT_CASE(overrun_fails_all),
	UNIT_CASE(gone_before_the_mail_is_read),
	UNIT_CASE(an_srq_of_all_cores),
	UNIT_CASE(a_full_channel),
};

UNIT_MAIN("engine-cores_cq", cases)
