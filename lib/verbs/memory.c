/* SPDX-License-Identifier: BSD-3-Clause */
/* uroce/uroce.h: memory in the region. */
#include <stdlib.h>

#include <uroce/uroce.h>

#include "front.h"

struct memory {
	struct list node; /* first: context_close() frees records by it */
	void *address;
	uroce_abi_ref ref;
	uint64_t size;
};

static int give_back(struct context *context, uroce_abi_ref ref, uint64_t size)
{
	struct uroce_abi_command give = {.head.op = UROCE_ABI_FREE};

	give.u.memory.ref = ref;
	give.u.memory.size = size;
	return command(context, &give);
}

static int take(struct context *context, struct memory *memory)
{
	struct uroce_abi_command take = {.head.op = UROCE_ABI_ALLOC};
	int error;

	take.u.memory.size = memory->size;
	error = command(context, &take);
	if (error)
		return error;
	memory->ref = take.u.memory.ref;
	memory->address = region_at(&context->attach->view, memory->ref, memory->size);
	if (memory->address)
		return 0;
	(void)give_back(context, memory->ref, memory->size);
	return -EPROTO;
}

static void keep_record(struct context *context, struct memory *memory)
{
	pthread_mutex_lock(&context->memory_lock);
	list_append(&context->memory, &memory->node);
	pthread_mutex_unlock(&context->memory_lock);
}

EXPORT void *uroce_alloc(struct ibv_context *ibv, size_t size)
{
	struct context *context = to_context(ibv);
	struct memory *memory;
	int error;

	if (!is_ours(ibv))
		return null_errno(-EOPNOTSUPP);
	if (size == 0)
		return null_errno(-EINVAL);
	memory = calloc(1, sizeof(*memory));
	if (!memory)
		return null_errno(-ENOMEM);
	memory->size = size;
	error = take(context, memory);
	if (error) {
		free(memory);
		return null_errno(error);
	}
	keep_record(context, memory);
	return memory->address;
}

/* Takes the record out, so that of two threads that free it one does. */
static struct memory *take_record(struct context *context, const void *address)
{
	struct memory *found = NULL;

	pthread_mutex_lock(&context->memory_lock);
	list_for_each_safe (node, &context->memory) {
		struct memory *memory = container_of(node, struct memory, node);

		if (memory->address != address)
			continue;
		list_remove(node);
		found = memory;
		break;
	}
	pthread_mutex_unlock(&context->memory_lock);
	return found;
}

EXPORT int uroce_free(struct ibv_context *ibv, void *address)
{
	struct context *context = to_context(ibv);
	struct memory *memory;
	int error;

	if (!is_ours(ibv))
		return EOPNOTSUPP;
	if (!address)
		return 0;
	if (attach_dead(context->attach))
		return EIO;
	memory = take_record(context, address);
	if (!memory)
		return EINVAL;
	error = give_back(context, memory->ref, memory->size);
	if (error)
		keep_record(context, memory);
	else
		free(memory);
	return -error;
}
