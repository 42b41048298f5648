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
#include "mail.h"
#include "queues.h"
#include "rx.h"
#include "sleep.h"
#include "state.h"
#include "tx.h"

/* Core 0 does that; a question that another one has had the port ask is repeated by it, too. */
static void service_port(struct worker *worker)
{
	struct port *port = worker->engine->port;

	if (worker->number != 0 || (!worker->asked && worker->core.now < worker->service_due))
		return;
	worker->asked = false;
	worker->service_due = port->ops->service(port, worker->core.now);
}

static unsigned int receive(struct worker *worker)
{
	unsigned int moved = rx_run(worker);

	if (worker->engine->cores.count > 1)
		moved += rx_inbound(worker);
	if (worker->to_self.count)
		moved += loopback_run(worker);
	return moved;
}

static bool has_to_send(const struct worker *worker)
{
	return worker->to_port.length || worker->to_port.count || worker->to_self.length ||
		worker->flushing.length;
}

static unsigned int send(struct worker *worker)
{
	if (worker->to_port.length) {
		tx_refill(worker);
		scheduler_send(worker, &worker->to_port);
	}
	if (worker->to_self.length && loopback_open(worker)) {
		tx_refill(worker);
		scheduler_send(worker, &worker->to_self);
	}
	if (worker->flushing.length)
		scheduler_flush(worker);
	return tx_flush(worker);
}

/* What the round's completions and events have left to do. */
static void settle(struct worker *worker)
{
	if (!list_empty(&worker->failed) || !list_empty(&worker->touched))
		queues_settle(worker);
	if (!list_empty(&worker->kept))
		events_retry(worker);
}

static void set_clock(struct worker *worker)
{
	struct engine *engine = worker->engine;

	worker->core.now = engine->clock(engine->clock_context);
}

/* A command may end a QP that still owes its peer an answer: an ACK, READ data. What is a QP's
 * without end goes on afterwards. */
#define OWED_TURNS 16u

unsigned int worker_send_owed(struct worker *worker)
{
	unsigned int moved = 0, turn = 1;

	for (uint32_t i = 0; i < OWED_TURNS && turn && has_to_send(worker); i++) {
		turn = send(worker);
		moved += turn;
	}
	return moved;
}

static unsigned int control(struct worker *worker)
{
	unsigned int moved = 0;

	service_port(worker);
	address_refresh(worker);
	if (!commands_wait(worker))
		return 0;
	moved = worker_send_owed(worker);
	commands_run(worker);
	if (worker->asked)
		service_port(worker);
	return moved;
}

/* Most rounds find nothing, and what has nothing to do is not called. */
unsigned int worker_round(struct worker *worker)
{
	unsigned int moved;

	set_clock(worker);
	moved = control(worker);
	announce_take(worker);
	moved += receive(worker);
	rc_core_run_timers(&worker->core);
	if (has_to_send(worker))
		moved += send(worker);
	settle(worker);
	return moved;
}

/*
 * The caller wants what has come: acknowledging it first would cost him as much time again. So it
 * goes out at the beginning of the next round, in one burst with what he posts until then, and
 * before any command, which may end the QP. (If he calls no more, the progress thread does that, or
 * the front at the program's exit.)
 */
unsigned int worker_driven_round(struct worker *worker)
{
	unsigned int sent = 0, received;
	bool sends;

	set_clock(worker);
	announce_take(worker);
	sends = has_to_send(worker);
	if (sends)
		sent = send(worker);
	sent += control(worker);
	received = receive(worker);
	rc_core_run_timers(&worker->core);
	if (!sends && received == 0 && has_to_send(worker))
		sent += send(worker);
	settle(worker);
	return sent + received;
}

/* ---- who may ---- */

/* Acquire: pairs with the release in worker_leave(): the last round's writes are seen. Full
 * barrier: pairs with is_inside() in quiescence.c. */
bool worker_enter(struct worker *worker)
{
	return __atomic_exchange_n(&worker->token, 1, __ATOMIC_SEQ_CST) == 0;
}

/* Both releases: what was done in the round has been done for whoever sees it over. */
void worker_leave(struct worker *worker)
{
	uint32_t rounds = __atomic_load_n(&worker->rounds, __ATOMIC_RELAXED);

	__atomic_store_n(&worker->rounds, rounds + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&worker->token, 0, __ATOMIC_RELEASE);
}

/* ---- for those who wait ---- */

static bool client_waits(const struct worker *worker, const struct client *client)
{
	bool commands = worker->number == 0 &&
		__atomic_load_n(&client->header->doorbell.posted, __ATOMIC_RELAXED) != 0;

	return commands || !sendring_empty(client->core[worker->number].rings);
}

bool worker_busy(struct worker *worker)
{
	if (worker->to_port.length || worker->to_port.count || worker->to_self.length ||
		worker->to_self.count || worker->flushing.length || !list_empty(&worker->touched) ||
		!list_empty(&worker->failed) || mail_waits(worker) || rx_waits(worker))
		return true;
	list_for_each (node, &worker->engine->clients)
		if (client_waits(worker, container_of(node, struct client, node)))
			return true;
	return false;
}

uint64_t worker_next_timer(const struct worker *worker)
{
	uint64_t timer = timers_next(&worker->core.timers);

	if (worker->number != 0)
		return timer;
	return timer < worker->service_due ? timer : worker->service_due;
}

/* ---- set-up ---- */

static void init(struct worker *worker, struct engine *engine, uint32_t number, uint32_t budget)
{
	worker->engine = engine;
	worker->number = number;
	worker->queue = (uint16_t)number;
	worker->sleep.wake = -1;
	worker->budget = budget ? budget : TX_BURST;
	worker->core.free = worker->buffers;
	list_init(&worker->touched);
	list_init(&worker->failed);
	list_init(&worker->kept);
	list_init(&worker->pending);
	list_init(&worker->inbox);
	list_init(&worker->inbox_failed);
	scheduler_init(&worker->to_port, worker->waiting, TX_QUEUE);
	scheduler_init(&worker->flushing, NULL, 0);
	loopback_init(worker);
	/* Acquire: pairs with the port's release; info is as new as the epoch or newer. */
	worker->refresh.epoch = __atomic_load_n(&engine->port->epoch, __ATOMIC_ACQUIRE);
	engine->port->ops->info(engine->port, &worker->info);
}

/* From each other core. */
static int make_inbound(struct worker *worker)
{
	int error = 0;

	for (uint32_t i = 0; i < worker->engine->cores.count && !error; i++)
		if (i != worker->number)
			error = handover_create(HANDOVERS, &worker->inbound[i]);
	return error;
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
	error = qp_table_init(&worker->qps, engine->max_qp, &engine->cores, number);
	if (!error)
		error = make_inbound(worker);
	if (error) {
		worker_destroy(worker);
		return error;
	}
	*created = worker;
	return 0;
}

static void drain_inbound(struct worker *worker, struct handover *inbound)
{
	struct port *port = worker->engine->port;
	struct packet frames[PORT_BURST];
	uint32_t count;

	while ((count = handover_take(inbound, frames, PORT_BURST)) > 0)
		port->ops->release(port, worker->queue, frames, count);
}

void worker_destroy(struct worker *worker)
{
	if (!worker)
		return;
	tx_fini(worker);
	for (uint32_t i = 0; i < CORES_MAX; i++)
		if (worker->inbound[i]) {
			drain_inbound(worker, worker->inbound[i]);
			handover_destroy(worker->inbound[i]);
		}
	sleep_fini(worker);
	qp_table_fini(&worker->qps);
	rc_core_fini(&worker->core);
	free(worker);
}
