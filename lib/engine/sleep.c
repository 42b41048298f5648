/* SPDX-License-Identifier: BSD-3-Clause */
/* The words that say who sleeps, and the descriptor that wakes. */
#include "sleep.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "state.h"

int sleep_init(struct worker *worker)
{
	if (worker->sleep.wake < 0)
		worker->sleep.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return worker->sleep.wake < 0 ? -errno : 0;
}

void sleep_fini(struct worker *worker)
{
	if (worker->sleep.wake >= 0)
		close(worker->sleep.wake);
	worker->sleep.wake = -1;
}

/* The read-modify-writes pair with the exchange in sleep_begin(). The counter cannot overflow:
 * whoever wakes has taken the word back first. */
void sleep_wake(struct worker *worker)
{
	uint32_t *asleep = &worker->sleep.asleep;
	uint64_t one = 1;
	ssize_t ignored;

	if (!__atomic_fetch_add(asleep, 0, __ATOMIC_SEQ_CST) ||
		!__atomic_exchange_n(asleep, 0, __ATOMIC_SEQ_CST))
		return;
	ignored = write(worker->sleep.wake, &one, sizeof(one));
	(void)ignored;
}

bool sleep_asleep(struct worker *worker)
{
	return __atomic_load_n(&worker->sleep.asleep, __ATOMIC_RELAXED) != 0;
}

static void arm_port(struct worker *worker, bool armed)
{
	struct port *port = worker->engine->port;

	if (port->ops->arm)
		port->ops->arm(port, worker->queue, armed);
}

void sleep_begin(struct worker *worker)
{
	__atomic_exchange_n(&worker->sleep.asleep, 1, __ATOMIC_SEQ_CST);
	list_for_each (node, &worker->engine->clients)
		sendring_sleep(container_of(node, struct client, node)->header, worker->number);
	arm_port(worker, true);
}

void sleep_end(struct worker *worker)
{
	uint64_t count;
	ssize_t ignored = read(worker->sleep.wake, &count, sizeof(count));

	(void)ignored;
	arm_port(worker, false);
	list_for_each (node, &worker->engine->clients)
		sendring_awake(container_of(node, struct client, node)->header, worker->number);
	__atomic_store_n(&worker->sleep.asleep, 0, __ATOMIC_RELAXED);
}
