/* SPDX-License-Identifier: BSD-3-Clause */
/* From the doorbell to the answer: which command is run by what. */
#include "command.h"

#include <errno.h>
#include <string.h>

#include "mail.h"
#include "trace.h"

static int no_operation(struct worker *worker, struct command *command)
{
	return 0;
}

/* Where a command runs. */
enum where {
	CORE_0,
	QP_CORE,     /* the object is a QP's handle */
	NEW_CORE,    /* the core that will own the QP */
	THREAD_CORE, /* it names its core */
	ALL_CORES,   /* core 0, while no other core is in a round */
};

static const struct {
	command_fn *run;
	enum where where;
} functions[UROCE_ABI_OPS] = {
	[UROCE_ABI_NOP] = {no_operation, CORE_0},
	[UROCE_ABI_QUERY_DEVICE] = {command_query_device, CORE_0},
	[UROCE_ABI_QUERY_PORT] = {command_query_port, ALL_CORES},
	[UROCE_ABI_QUERY_GID] = {command_query_gid, CORE_0},
	[UROCE_ABI_ALLOC_PD] = {command_alloc_pd, CORE_0},
	[UROCE_ABI_DEALLOC_PD] = {command_dealloc_pd, CORE_0},
	[UROCE_ABI_REG_MR] = {command_reg_mr, CORE_0},
	[UROCE_ABI_REREG_MR] = {command_rereg_mr, CORE_0},
	[UROCE_ABI_DEREG_MR] = {command_dereg_mr, CORE_0},
	[UROCE_ABI_ALLOC_MW] = {command_alloc_mw, CORE_0},
	[UROCE_ABI_DEALLOC_MW] = {command_dealloc_mw, CORE_0},
	[UROCE_ABI_CREATE_CHANNEL] = {command_create_channel, CORE_0},
	[UROCE_ABI_DESTROY_CHANNEL] = {command_destroy_channel, ALL_CORES},
	[UROCE_ABI_CREATE_CQ] = {command_create_cq, CORE_0},
	[UROCE_ABI_RESIZE_CQ] = {command_resize_cq, ALL_CORES},
	[UROCE_ABI_DESTROY_CQ] = {command_destroy_cq, ALL_CORES},
	[UROCE_ABI_CREATE_SRQ] = {command_create_srq, CORE_0},
	[UROCE_ABI_MODIFY_SRQ] = {command_modify_srq, CORE_0},
	[UROCE_ABI_QUERY_SRQ] = {command_query_srq, CORE_0},
	[UROCE_ABI_DESTROY_SRQ] = {command_destroy_srq, ALL_CORES},
	[UROCE_ABI_CREATE_QP] = {command_create_qp, NEW_CORE},
	[UROCE_ABI_MODIFY_QP] = {command_modify_qp, QP_CORE},
	[UROCE_ABI_QUERY_QP] = {command_query_qp, QP_CORE},
	[UROCE_ABI_DESTROY_QP] = {command_destroy_qp, QP_CORE},
	[UROCE_ABI_CREATE_AH] = {command_create_ah, CORE_0},
	[UROCE_ABI_DESTROY_AH] = {command_destroy_ah, CORE_0},
	[UROCE_ABI_ATTACH_THREAD] = {command_attach_thread, THREAD_CORE},
	[UROCE_ABI_DETACH_THREAD] = {command_detach_thread, THREAD_CORE},
	[UROCE_ABI_QP_POLICY] = {command_qp_policy, QP_CORE},
	[UROCE_ABI_QP_ARM] = {command_qp_arm, QP_CORE},
	[UROCE_ABI_QP_NOTIFY] = {command_qp_notify, QP_CORE},
	[UROCE_ABI_QP_COUNTERS] = {command_qp_counters, QP_CORE},
	[UROCE_ABI_COUNTERS] = {command_counters, ALL_CORES},
	[UROCE_ABI_ALLOC] = {command_alloc, CORE_0},
	[UROCE_ABI_FREE] = {command_free, CORE_0},
};

static void answer(struct worker *worker, struct command *command, int status)
{
	struct uroce_abi_command *slot = &command->client->slots[command->slot];

	command->busy = false;
	if (status == 0) {
		slot->head.object = command->abi.head.object;
		memcpy(&slot->u, &command->abi.u, sizeof(slot->u));
	} else {
		worker->counters.commands_failed++;
	}
	slot->head.status = status;
	/* Release: the front that acquires DONE sees the answer. */
	__atomic_store_n(&slot->head.state, UROCE_ABI_DONE, __ATOMIC_RELEASE);
}

static void run(struct worker *worker, struct command *command)
{
	uint32_t op = command->abi.head.op;
	int status = op < UROCE_ABI_OPS ? functions[op].run(worker, command) : -EOPNOTSUPP;

	if (status == COMMAND_PENDING) {
		if (!list_linked(&command->pending))
			list_append(&worker->pending, &command->pending);
		return;
	}
	list_remove(&command->pending);
	TRACE_COMMAND(op, command->abi.head.object, status);
	answer(worker, command, status);
}

/* ---- where ---- */

/* The core with the fewest QPs: where the peer's packets will arrive isn't known before their UDP
 * source port is, which the peer chooses. */
static uint32_t least_used(const struct engine *engine)
{
	uint32_t least = 0;

	for_each_worker(each, engine) if (each->qps.count < engine->workers[least]->qps.count)
		least = each->number;
	return least;
}

static uint32_t core_for(const struct engine *engine, const struct command *command)
{
	uint32_t op = command->abi.head.op;

	switch (op < UROCE_ABI_OPS ? functions[op].where : CORE_0) {
	case QP_CORE:
		return core_of(&engine->cores, command->abi.head.object);
	case NEW_CORE:
		return least_used(engine);
	case THREAD_CORE:
		return command->abi.u.thread.core;
	default:
		return 0;
	}
}

/* One that names a core which isn't there finds nothing at core 0 either. */
static struct worker *worker_for(const struct engine *engine, const struct command *command)
{
	uint32_t core = core_for(engine, command);

	return engine->workers[core < engine->cores.count ? core : 0];
}

static bool wants_all(const struct engine *engine, const struct command *command)
{
	uint32_t op = command->abi.head.op;

	return engine->cores.count > 1 && op < UROCE_ABI_OPS && functions[op].where == ALL_CORES;
}

static void dispatch(struct worker *worker, struct command *command, struct list *exclusive)
{
	struct worker *to = worker_for(worker->engine, command);

	if (wants_all(worker->engine, command))
		list_append(exclusive, &command->pending);
	else if (to == worker)
		run(worker, command);
	else
		mail_command(to, command);
}

/* ---- what was posted ---- */

/* Copies the slot once. Acquire: pairs with the front's release of POSTED. */
static void start(
	struct worker *worker, struct client *client, uint32_t slot, struct list *exclusive)
{
	struct command *command = &client->commands[slot];

	if (command->busy ||
		__atomic_load_n(&client->slots[slot].head.state, __ATOMIC_ACQUIRE) !=
			UROCE_ABI_POSTED)
		return;
	memcpy(&command->abi, &client->slots[slot], sizeof(command->abi));
	command->busy = true;
	worker->counters.commands++;
	dispatch(worker, command, exclusive);
}

/* The exchange takes all bits at once; acquire: pairs with the front's setting of them. */
static void take_posted(struct worker *worker, struct client *client, struct list *exclusive)
{
	uint64_t *doorbell = &client->header->doorbell.posted;
	uint64_t posted = __atomic_exchange_n(doorbell, 0, __ATOMIC_ACQUIRE);

	for (; posted; posted &= posted - 1)
		start(worker, client, (uint32_t)__builtin_ctzll(posted), exclusive);
}

static bool has_posted(const struct client *client)
{
	return __atomic_load_n(&client->header->doorbell.posted, __ATOMIC_RELAXED) != 0;
}

/* Core 0 hears of what is posted, and hands on what isn't its own. */
static bool anything_posted(const struct worker *worker)
{
	if (worker->number != 0)
		return false;
	list_for_each (node, &worker->engine->clients)
		if (has_posted(container_of(node, struct client, node)))
			return true;
	return false;
}

static void run_mail(struct worker *worker)
{
	struct command *command;

	while ((command = mail_take(worker)))
		run(worker, command);
}

static void run_exclusive(struct worker *worker, struct list *exclusive)
{
	struct engine *engine = worker->engine;

	if (list_empty(exclusive))
		return;
	engine_hold_others(engine);
	pthread_mutex_lock(&engine->control);
	while (!list_empty(exclusive)) {
		struct command *command =
			container_of(list_first(exclusive), struct command, pending);

		list_remove(&command->pending);
		run(worker, command);
	}
	pthread_mutex_unlock(&engine->control);
	engine_release_others(engine);
}

bool commands_wait(const struct worker *worker)
{
	return !list_empty(&worker->pending) || mail_waits(worker) || anything_posted(worker);
}

void commands_run(struct worker *worker)
{
	struct engine *engine = worker->engine;
	struct list exclusive;

	list_init(&exclusive);
	pthread_mutex_lock(&engine->control);
	list_for_each_safe (pending, &worker->pending)
		run(worker, container_of(pending, struct command, pending));
	run_mail(worker);
	if (worker->number == 0)
		list_for_each (node, &engine->clients)
			take_posted(worker, container_of(node, struct client, node), &exclusive);
	pthread_mutex_unlock(&engine->control);
	run_exclusive(worker, &exclusive);
}

void commands_cancel(struct client *client)
{
	for (uint32_t i = 0; i < UROCE_ABI_COMMANDS; i++)
		list_remove(&client->commands[i].pending);
}
