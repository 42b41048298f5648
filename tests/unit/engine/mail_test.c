/* SPDX-License-Identifier: BSD-3-Clause */
/* What cores tell each other: commands in order, failed CQs once each, and a core that sleeps is
 * woken. */
#include "mail.h"

#include <unistd.h>

#include "many.h"
#include "sleep.h"
#include "worker.h"

static struct worker *core(struct many *m, uint32_t number)
{
	return m->rig.engines[0]->workers[number];
}

static bool was_woken(struct worker *worker)
{
	uint64_t count;

	return read(worker->sleep.wake, &count, sizeof(count)) == sizeof(count);
}

static void init(struct command *commands, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		list_init(&commands[i].pending);
}

static void commands_in_order(void)
{
	struct command commands[3];
	static struct many m;

	many_open(&m, 2, 0, 4);
	init(commands, 3);
	CU_ASSERT_FALSE(mail_waits(core(&m, 1)));
	CU_ASSERT_PTR_NULL(mail_take(core(&m, 1)));
	for (uint32_t i = 0; i < 3; i++)
		mail_command(core(&m, 1), &commands[i]);
	CU_ASSERT_TRUE(mail_waits(core(&m, 1)));
	CU_ASSERT_FALSE(mail_waits(core(&m, 0)));
	CU_ASSERT_PTR_NULL(mail_take(core(&m, 0)));
	for (uint32_t i = 0; i < 3; i++) {
		CU_ASSERT_PTR_EQUAL(mail_take(core(&m, 1)), &commands[i]);
		CU_ASSERT_FALSE(list_linked(&commands[i].pending));
	}
	CU_ASSERT_PTR_NULL(mail_take(core(&m, 1)));
	CU_ASSERT_FALSE(mail_waits(core(&m, 1)));
	many_close(&m);
}

/* Who sends nothing wakes nobody; who sleeps is woken once. */
static void wakes(void)
{
	struct command commands[2];
	static struct many m;

	many_open(&m, 3, 0, 4);
	init(commands, 2);
	for (uint32_t i = 0; i < 3; i++)
		CU_ASSERT_EQUAL_FATAL(sleep_init(core(&m, i)), 0);
	mail_command(core(&m, 1), &commands[0]);
	CU_ASSERT_FALSE(was_woken(core(&m, 1))); /* it wasn't asleep */
	CU_ASSERT_PTR_EQUAL(mail_take(core(&m, 1)), &commands[0]);
	for (uint32_t i = 1; i < 3; i++)
		sleep_begin(core(&m, i));
	mail_command(core(&m, 1), &commands[0]);
	mail_command(core(&m, 1), &commands[1]);
	CU_ASSERT_TRUE(was_woken(core(&m, 1)));
	CU_ASSERT_FALSE(was_woken(core(&m, 1)));
	CU_ASSERT_FALSE(sleep_asleep(core(&m, 1)));
	CU_ASSERT_FALSE(was_woken(core(&m, 2)));
	CU_ASSERT_TRUE(sleep_asleep(core(&m, 2)));
	while (mail_take(core(&m, 1)))
		continue;
	for (uint32_t i = 1; i < 3; i++)
		sleep_end(core(&m, i));
	many_close(&m);
}

static struct engine_cq *cq_of(struct many *m)
{
	return client_object(m->a->client, OBJECT_CQ, m->cq_a.handle);
}

/* To all cores but the one that knows; however often it is told. */
static void failed_cqs(void)
{
	struct engine_cq *cq;
	static struct many m;

	many_open(&m, 3, 0, 4);
	cq = cq_of(&m);
	CU_ASSERT_EQUAL_FATAL(sleep_init(core(&m, 2)), 0);
	sleep_begin(core(&m, 2));
	mail_failed_cq(core(&m, 1), cq);
	mail_failed_cq(core(&m, 1), cq);
	CU_ASSERT_TRUE(was_woken(core(&m, 2)));
	CU_ASSERT_FALSE(mail_waits(core(&m, 1)));
	CU_ASSERT_TRUE(list_empty(&core(&m, 1)->inbox_failed));
	for (uint32_t i = 0; i < 3; i += 2) {
		CU_ASSERT_TRUE(mail_waits(core(&m, i)));
		CU_ASSERT_TRUE(list_linked(&cq->share[i].mail));
		CU_ASSERT_PTR_NULL(mail_take(core(&m, i)));
		CU_ASSERT_FALSE(mail_waits(core(&m, i)));
		CU_ASSERT_FALSE(list_linked(&cq->share[i].mail));
		CU_ASSERT_PTR_EQUAL(list_first(&core(&m, i)->failed), &cq->share[i].failed);
		/* Again, while it is on the core's own list already. */
		mail_failed_cq(core(&m, 1), cq);
		CU_ASSERT_PTR_NULL(mail_take(core(&m, i)));
		list_remove(&cq->share[i].failed);
		CU_ASSERT_TRUE(list_empty(&core(&m, i)->failed));
	}
	sleep_end(core(&m, 2));
	many_close(&m);
}

/* An engine of one core has nobody to tell. */
static void alone(void)
{
	static struct many m;

	many_open(&m, 1, 1, 4);
	mail_failed_cq(core(&m, 0), cq_of(&m));
	CU_ASSERT_FALSE(mail_waits(core(&m, 0)));
	CU_ASSERT_FALSE(list_linked(&cq_of(&m)->share[0].mail));
	many_close(&m);
}

static const struct unit_case cases[] = {
	UNIT_CASE(commands_in_order),
	UNIT_CASE(wakes),
	UNIT_CASE(failed_cqs),
	UNIT_CASE(alone),
};

UNIT_MAIN("engine-mail", cases)
