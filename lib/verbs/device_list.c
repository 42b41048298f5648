/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ibv_get_device_list() and what a device tells of itself. The list holds ours first, then those of
 * the installed library. It is one plain block of malloc(), because some programs free() it
 * (qperf); which list of the installed library belongs to it is kept beside.
 */
#include <errno.h>
#include <stdlib.h>

#include "device.h"
#include "front.h"
#include "process.h"

struct merged {
	struct merged *next;
	struct ibv_device **list;
	struct ibv_device **real;
};

/* Under process_lock(). */
static struct merged *merged_lists;

/* Takes the record of this list out; NULL: there is none. */
static struct merged *take_record(struct ibv_device **list)
{
	struct merged **link = &merged_lists;
	struct merged *record;

	process_lock();
	while (*link && (*link)->list != list)
		link = &(*link)->next;
	record = *link;
	if (record)
		*link = record->next;
	process_unlock();
	return record;
}

static void drop_record(struct ibv_device **list)
{
	struct merged *record = take_record(list);

	if (!record)
		return;
	REAL_CALL_VOID(ibv_free_device_list, record->real);
	free(record);
}

static int keep_record(struct ibv_device **list, struct ibv_device **real)
{
	struct merged *record = malloc(sizeof(*record));

	if (!record)
		return -ENOMEM;
	record->list = list;
	record->real = real;
	process_lock();
	record->next = merged_lists;
	merged_lists = record;
	process_unlock();
	return 0;
}

/* Whatever is wrong there (no kernel support is ENOSYS): it has no devices, ours count. */
static struct ibv_device **real_devices(int *count)
{
	struct ibv_device **list;
	int saved = errno;

	*count = 0;
	list = REAL_CALL(ibv_get_device_list, NULL, count);
	if (!list)
		*count = 0;
	errno = saved;
	return list;
}

static struct ibv_device **join_lists(struct ibv_device **real, size_t real_count, size_t *count)
{
	size_t room = device_list(NULL, 0);
	struct ibv_device **list = calloc(room + real_count + 1, sizeof(struct ibv_device *));

	if (!list)
		return NULL;
	drop_record(list); /* of an earlier list at this address that the program gave to free() */
	*count = device_list(list, room);
	if (*count > room) /* one more appeared meanwhile; the next list has it */
		*count = room;
	for (size_t i = 0; i < real_count; i++)
		list[(*count)++] = real[i];
	return list;
}

EXPORT struct ibv_device **ibv_get_device_list(int *num_devices)
{
	int real_count;
	struct ibv_device **real = real_devices(&real_count);
	size_t count = 0;
	struct ibv_device **list = join_lists(real, (size_t)real_count, &count);

	if (num_devices)
		*num_devices = list ? (int)count : 0;
	if (list && (!real || keep_record(list, real) == 0))
		return list;
	if (real)
		REAL_CALL_VOID(ibv_free_device_list, real);
	if (num_devices)
		*num_devices = 0;
	free(list);
	return null_errno(-ENOMEM);
}

EXPORT void ibv_free_device_list(struct ibv_device **list)
{
	drop_record(list);
	free(list);
}

EXPORT const char *ibv_get_device_name(struct ibv_device *device)
{
	if (!device_find(device))
		return REAL_CALL(ibv_get_device_name, device->name, device);
	return device->name;
}

EXPORT __be64 ibv_get_device_guid(struct ibv_device *device)
{
	struct device *ours = device_find(device);

	return ours ? device_guid(ours) : REAL_CALL(ibv_get_device_guid, 0, device);
}

/* An index is the kernel's, and it doesn't know ours. */
EXPORT int ibv_get_device_index(struct ibv_device *device)
{
	return device_find(device) ? -1 : REAL_CALL(ibv_get_device_index, -1, device);
}
