/* SPDX-License-Identifier: BSD-3-Clause */
/* Between cores, under the control lock. */
#include "mail.h"

#include "sleep.h"
#include "state.h"

/* Release: pairs with the acquire in mail_waits(); it is the lock that shows what is in the box. */
static void ring(struct worker *to)
{
	__atomic_store_n(&to->mail, 1, __ATOMIC_RELEASE);
	sleep_wake(to);
}

void mail_command(struct worker *to, struct command *command)
{
	list_append(&to->inbox, &command->pending);
	ring(to);
}

static void mail_share(struct worker *to, struct cq_share *share)
{
	if (list_linked(&share->mail))
		return;
	list_append(&to->inbox_failed, &share->mail);
	ring(to);
}

void mail_failed_cq(struct worker *from, struct engine_cq *cq)
{
	struct engine *engine = from->engine;

	if (engine->cores.count == 1)
		return;
	pthread_mutex_lock(&engine->control);
	for_each_worker(to, engine) if (to != from) mail_share(to, &cq->share[to->number]);
	pthread_mutex_unlock(&engine->control);
}

bool mail_waits(const struct worker *worker)
{
	return __atomic_load_n(&worker->mail, __ATOMIC_ACQUIRE) != 0;
}

static void take_failed(struct worker *worker)
{
	while (!list_empty(&worker->inbox_failed)) {
		struct cq_share *share =
			container_of(list_first(&worker->inbox_failed), struct cq_share, mail);

		list_remove(&share->mail);
		if (!list_linked(&share->failed))
			list_append(&worker->failed, &share->failed);
	}
}

struct command *mail_take(struct worker *worker)
{
	struct command *command;

	__atomic_store_n(&worker->mail, 0, __ATOMIC_RELAXED);
	take_failed(worker);
	if (list_empty(&worker->inbox))
		return NULL;
	command = container_of(list_first(&worker->inbox), struct command, pending);
	list_remove(&command->pending);
	return command;
}
