/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing a device: the connection, the table of operations, the descriptors. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "context.h"
#include "front.h"

static int close_xrcd(struct ibv_xrcd *xrcd)
{
	return EOPNOTSUPP;
}

/* What is NULL here, verbs.h answers with EOPNOTSUPP; ibv_close_xrcd() alone doesn't look. */
static void set_operations(struct verbs_context *verbs)
{
	verbs->sz = sizeof(*verbs);
	verbs->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	verbs->query_port = verbs_query_port;
	verbs->query_device_ex = verbs_query_device_ex;
	verbs->create_qp_ex = verbs_create_qp_ex;
	verbs->close_xrcd = close_xrcd;
	verbs->context.ops.alloc_mw = verbs_alloc_mw;
	verbs->context.ops.bind_mw = verbs_bind_mw;
	verbs->context.ops.dealloc_mw = verbs_dealloc_mw;
	verbs->context.ops.poll_cq = verbs_poll_cq;
	verbs->context.ops.req_notify_cq = verbs_req_notify_cq;
	verbs->context.ops.post_srq_recv = verbs_post_srq_recv;
	verbs->context.ops.post_send = verbs_post_send;
	verbs->context.ops.post_recv = verbs_post_recv;
}

static void init(struct context *context, struct device *device)
{
	set_operations(&context->verbs);
	context->verbs.context.device = &device->base;
	context->verbs.context.num_comp_vectors = 1;
	context->verbs.context.cmd_fd = -1;
	context->verbs.context.async_fd = -1;
	pthread_mutex_init(&context->verbs.context.mutex, NULL);
	pthread_mutex_init(&context->handles, NULL);
	pthread_mutex_init(&context->memory_lock, NULL);
	list_init(&context->memory);
}

/*
 * Nothing is commanded through cmd_fd, but programs dup() it (pyverbs does to share a device), so
 * it is a descriptor of something.
 */
static int open_descriptors(struct context *context)
{
	struct ibv_context *ibv = &context->verbs.context;

	ibv->cmd_fd = memfd_create("uroce", MFD_CLOEXEC);
	if (ibv->cmd_fd < 0)
		return -errno;
	ibv->async_fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	return ibv->async_fd < 0 ? -errno : 0;
}

static int query_limits(struct context *context, struct device *device)
{
	struct uroce_abi_command ask = {.head.op = UROCE_ABI_QUERY_DEVICE};
	int error = command(context, &ask);

	if (error)
		return error;
	context->limits = ask.u.device;
	device_set_guid(device, context->limits.node_guid);
	return 0;
}

static void release(struct context *context)
{
	struct ibv_context *ibv = &context->verbs.context;

	if (ibv->cmd_fd >= 0)
		close(ibv->cmd_fd);
	if (ibv->async_fd >= 0)
		close(ibv->async_fd);
	table_free(&context->qps);
	table_free(&context->cqs);
	table_free(&context->srqs);
	pthread_mutex_destroy(&context->handles);
	pthread_mutex_destroy(&context->memory_lock);
	pthread_mutex_destroy(&ibv->mutex);
	free(context);
}

static int connect_context(struct context *context, struct device *device)
{
	const struct door *door;
	struct engine *engine;
	int error = device_engine(device, &door, &engine);

	if (error)
		return error;
	error = attach_open(door, engine, &context->attach);
	if (error)
		return error;
	error = query_limits(context, device);
	if (!error)
		error = events_open(
			context, &context->async, context->verbs.context.async_fd, true);
	if (error)
		attach_close(context->attach);
	return error;
}

int context_open(struct device *device, struct context **context)
{
	struct context *made = calloc(1, sizeof(*made));
	int error;

	if (!made)
		return -ENOMEM;
	init(made, device);
	error = open_descriptors(made);
	if (!error)
		error = connect_context(made, device);
	if (error) {
		release(made);
		return error;
	}
	*context = made;
	return 0;
}

static void free_memory_records(struct context *context)
{
	list_for_each_safe (node, &context->memory) {
		free(node);
	}
}

/* In the child of a fork, too: what it has inherited goes, the engine is the parent's. */
void context_close(struct context *context)
{
	attach_close(context->attach);
	free_memory_records(context);
	pthread_mutex_destroy(&context->async.lock);
	release(context);
}

EXPORT struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct device *ours = device_find(device);
	struct context *context;
	int error;

	if (!ours)
		return REAL_CALL(ibv_open_device, null_errno(-ENODEV), device);
	error = context_open(ours, &context);
	return error ? null_errno(error) : &context->verbs.context;
}

EXPORT int ibv_close_device(struct ibv_context *context)
{
	if (!is_ours(context))
		return REAL_CALL(ibv_close_device, minus_errno(-ENOSYS), context);
	context_close(to_context(context));
	return 0;
}
