/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stand-in for the installed libibverbs, with one device of another provider, named as the real
 * library is and found in its place. It has only some of the functions, and old versions of none.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "foreign.h"

#undef ibv_get_device_list
#undef ibv_query_port

#define EXPORT __attribute__((visibility("default")))

EXPORT struct foreign foreign = {.device = {.name = "foreign0"}};

static int poll_none(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
	return 0;
}

EXPORT struct ibv_device **ibv_get_device_list(int *count)
{
	struct ibv_device **list;

	if (foreign.list_error) {
		errno = foreign.list_error;
		return NULL;
	}
	list = calloc(2, sizeof(struct ibv_device *));
	list[0] = &foreign.device;
	*count = 1;
	foreign.lists++;
	return list;
}

EXPORT void ibv_free_device_list(struct ibv_device **list)
{
	foreign.lists--;
	free(list);
}

EXPORT const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

EXPORT __be64 ibv_get_device_guid(struct ibv_device *device)
{
	return 0x99;
}

EXPORT struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *context = calloc(1, sizeof(*context));

	context->device = device;
	context->ops.poll_cq = poll_none;
	return context;
}

EXPORT int ibv_close_device(struct ibv_context *context)
{
	foreign.calls++;
	free(context);
	return 0;
}

EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	foreign.pd.context = context;
	foreign.calls++;
	return &foreign.pd;
}

EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
	foreign.calls++;
	return EBUSY;
}

EXPORT int ibv_query_port(
	struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	foreign.calls++;
	return ENOTTY;
}

int ibv_query_gid_type(
	struct ibv_context *context, uint8_t port, unsigned int index, unsigned int *type);

EXPORT int ibv_query_gid_type(
	struct ibv_context *context, uint8_t port, unsigned int index, unsigned int *type)
{
	foreign.calls++;
	*type = 1;
	return 0;
}
