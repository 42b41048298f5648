/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loop. A round reads the clock once and looks at each source of work once, with a bound for
 * each, so that none of them can keep the others waiting.
 */
#include "worker.h"

#include <errno.h>
#include <stdlib.h>

#include "address.h"
#include "announce.h"
#include "command.h"
#include "events.h"
#include "loopback.h"
#include "queues.h"
#include "rx.h"
#include "state.h"
#include "tx.h"

static void service_port(struct worker *worker)
{
	struct port *port = worker->engine->port;

	if (!worker->asked && worker->core.now < worker->service_due)
		return;
	worker->asked = false;
	worker->service_due = port->ops->service(port, worker->core.now);
}

unsigned int worker_round(struct worker *worker)
{
	struct engine *engine = worker->engine;
	unsigned int moved;

	worker->core.now = engine->clock(engine->clock_context);
	service_port(worker);
	address_refresh(worker);
	commands_run(worker);
	service_port(worker); /* if neighbours were asked for */
	announce_take(worker);

	moved = rx_run(worker);
	moved += loopback_run(worker);
	rc_core_run_timers(&worker->core);

	tx_refill(worker);
	scheduler_send(worker, &worker->to_port);
	tx_refill(worker);
	scheduler_send(worker, &worker->to_self);
	scheduler_flush(worker);
	moved += tx_flush(worker);

	queues_settle(worker);
	events_retry(worker);
	return moved;
}

/* ---- who may ---- */

/* Acquire: pairs with the release in worker_leave(): the last round's writes are seen. */
bool worker_enter(struct worker *worker)
{
	return __atomic_exchange_n(&worker->token, 1, __ATOMIC_ACQUIRE) == 0;
}

void worker_leave(struct worker *worker)
{
	__atomic_store_n(&worker->token, 0, __ATOMIC_RELEASE);
}

/* ---- for those who wait ---- */

static bool client_waits(const struct client *client)
{
	return __atomic_load_n(&client->header->doorbell.posted, __ATOMIC_RELAXED) != 0 ||
		!sendring_empty(client->rings);
}

bool worker_busy(struct worker *worker)
{
	if (worker->to_port.length || worker->to_port.count || worker->to_self.length ||
		worker->to_self.count || worker->flushing.length || !list_empty(&worker->touched) ||
		!list_empty(&worker->failed))
		return true;
	list_for_each (node, &worker->engine->clients)
		if (client_waits(container_of(node, struct client, node)))
			return true;
	return false;
}

uint64_t worker_next_timer(const struct worker *worker)
{
	uint64_t timer = timers_next(&worker->core.timers);

	return timer < worker->service_due ? timer : worker->service_due;
}

/* ---- set-up ---- */

static void init(struct worker *worker, struct engine *engine, uint32_t number, uint32_t budget)
{
	worker->engine = engine;
	worker->number = number;
	worker->queue = (uint16_t)number;
	worker->budget = budget ? budget : TX_BURST;
	worker->core.free = worker->buffers;
	list_init(&worker->touched);
	list_init(&worker->failed);
	list_init(&worker->kept);
	list_init(&worker->pending);
	scheduler_init(&worker->to_port, worker->waiting, TX_QUEUE);
	scheduler_init(&worker->flushing, NULL, 0);
	loopback_init(worker);
	/* Acquire: pairs with the port's release; info is as new as the epoch or newer. */
	worker->refresh.epoch = __atomic_load_n(&engine->port->epoch, __ATOMIC_ACQUIRE);
	engine->port->ops->info(engine->port, &worker->info);
}

int worker_create(struct engine *engine, uint32_t number, uint64_t seed, uint32_t budget,
	struct worker **created)
{
	struct worker *worker = aligned_alloc(UROCE_ABI_LINE, sizeof(*worker));
	int error;

	if (!worker)
		return -ENOMEM;
	*worker = (struct worker){0};
	error = rc_core_init(&worker->core, &queues_ops, engine->mem, seed);
	if (error) {
		free(worker);
		return error;
	}
	init(worker, engine, number, budget);
	*created = worker;
	return 0;
}

void worker_destroy(struct worker *worker)
{
	if (!worker)
		return;
	tx_fini(worker);
	rc_core_fini(&worker->core);
	free(worker);
}
