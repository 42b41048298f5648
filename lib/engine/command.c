/* SPDX-License-Identifier: BSD-3-Clause */
/* From the doorbell to the answer: which command is run by what. */
#include "command.h"

#include <errno.h>
#include <string.h>

static int no_operation(struct worker *worker, struct command *command)
{
	return 0;
}

static command_fn *const functions[UROCE_ABI_OPS] = {
	[UROCE_ABI_NOP] = no_operation,
	[UROCE_ABI_QUERY_DEVICE] = command_query_device,
	[UROCE_ABI_QUERY_PORT] = command_query_port,
	[UROCE_ABI_QUERY_GID] = command_query_gid,
	[UROCE_ABI_ALLOC_PD] = command_alloc_pd,
	[UROCE_ABI_DEALLOC_PD] = command_dealloc_pd,
	[UROCE_ABI_REG_MR] = command_reg_mr,
	[UROCE_ABI_REREG_MR] = command_rereg_mr,
	[UROCE_ABI_DEREG_MR] = command_dereg_mr,
	[UROCE_ABI_ALLOC_MW] = command_alloc_mw,
	[UROCE_ABI_DEALLOC_MW] = command_dealloc_mw,
	[UROCE_ABI_CREATE_CHANNEL] = command_create_channel,
	[UROCE_ABI_DESTROY_CHANNEL] = command_destroy_channel,
	[UROCE_ABI_CREATE_CQ] = command_create_cq,
	[UROCE_ABI_RESIZE_CQ] = command_resize_cq,
	[UROCE_ABI_DESTROY_CQ] = command_destroy_cq,
	[UROCE_ABI_CREATE_SRQ] = command_create_srq,
	[UROCE_ABI_MODIFY_SRQ] = command_modify_srq,
	[UROCE_ABI_QUERY_SRQ] = command_query_srq,
	[UROCE_ABI_DESTROY_SRQ] = command_destroy_srq,
	[UROCE_ABI_CREATE_QP] = command_create_qp,
	[UROCE_ABI_MODIFY_QP] = command_modify_qp,
	[UROCE_ABI_QUERY_QP] = command_query_qp,
	[UROCE_ABI_DESTROY_QP] = command_destroy_qp,
	[UROCE_ABI_CREATE_AH] = command_create_ah,
	[UROCE_ABI_DESTROY_AH] = command_destroy_ah,
	[UROCE_ABI_ATTACH_THREAD] = command_attach_thread,
	[UROCE_ABI_DETACH_THREAD] = command_detach_thread,
	[UROCE_ABI_QP_POLICY] = command_qp_policy,
	[UROCE_ABI_QP_ARM] = command_qp_arm,
	[UROCE_ABI_QP_NOTIFY] = command_qp_notify,
	[UROCE_ABI_QP_COUNTERS] = command_qp_counters,
	[UROCE_ABI_COUNTERS] = command_counters,
	[UROCE_ABI_ALLOC] = command_alloc,
	[UROCE_ABI_FREE] = command_free,
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
	int status = op < UROCE_ABI_OPS ? functions[op](worker, command) : -EOPNOTSUPP;

	if (status == COMMAND_PENDING) {
		if (!list_linked(&command->pending))
			list_append(&worker->pending, &command->pending);
		return;
	}
	list_remove(&command->pending);
	answer(worker, command, status);
}

/* Copies the slot once. Acquire: pairs with the front's release of POSTED. */
static void start(struct worker *worker, struct client *client, uint32_t slot)
{
	struct command *command = &client->commands[slot];

	if (command->busy ||
		__atomic_load_n(&client->slots[slot].head.state, __ATOMIC_ACQUIRE) !=
			UROCE_ABI_POSTED)
		return;
	memcpy(&command->abi, &client->slots[slot], sizeof(command->abi));
	command->busy = true;
	worker->counters.commands++;
	run(worker, command);
}

/* The exchange takes all bits at once; acquire: pairs with the front's setting of them. */
static void take_posted(struct worker *worker, struct client *client)
{
	uint64_t *doorbell = &client->header->doorbell.posted;
	uint64_t posted = __atomic_exchange_n(doorbell, 0, __ATOMIC_ACQUIRE);

	for (; posted; posted &= posted - 1)
		start(worker, client, (uint32_t)__builtin_ctzll(posted));
}

static bool has_posted(const struct client *client)
{
	return __atomic_load_n(&client->header->doorbell.posted, __ATOMIC_RELAXED) != 0;
}

static bool anything_to_do(const struct worker *worker)
{
	if (!list_empty(&worker->pending))
		return true;
	list_for_each (node, &worker->engine->clients)
		if (has_posted(container_of(node, struct client, node)))
			return true;
	return false;
}

void commands_run(struct worker *worker)
{
	struct engine *engine = worker->engine;

	if (!anything_to_do(worker))
		return;
	pthread_mutex_lock(&engine->control);
	list_for_each_safe (pending, &worker->pending)
		run(worker, container_of(pending, struct command, pending));
	list_for_each (node, &engine->clients)
		take_posted(worker, container_of(node, struct client, node));
	pthread_mutex_unlock(&engine->control);
}

void commands_cancel(struct client *client)
{
	for (uint32_t i = 0; i < UROCE_ABI_COMMANDS; i++)
		list_remove(&client->commands[i].pending);
}
