/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects of another provider go to the library that made them, beside ours in one process. */
#include <dlfcn.h>
#include <stdlib.h>

#include "fallthrough.h"
#include "foreign.h"
#include "world.h"

static struct world world;
static struct foreign *foreign;

static void begin(void)
{
	void *library = dlopen("libibverbs.so.1", RTLD_LAZY);

	CU_ASSERT_PTR_NOT_NULL_FATAL(library);
	foreign = dlsym(library, "foreign");
	CU_ASSERT_PTR_NOT_NULL_FATAL(foreign); /* else it is the real one: no LD_LIBRARY_PATH */
	foreign->list_error = 0;
	foreign->calls = 0;
	world_open(&world, false);
}

static struct ibv_context *open_foreign(void)
{
	struct ibv_context *context = ibv_open_device(&foreign->device);

	CU_ASSERT_PTR_NOT_NULL_FATAL(context);
	return context;
}

static void devices(void)
{
	struct ibv_device **list;
	int count = -1;

	begin();
	list = ibv_get_device_list(&count);
	CU_ASSERT_EQUAL(count, 2);
	CU_ASSERT_PTR_EQUAL(list[0], world.context->device);
	CU_ASSERT_PTR_EQUAL(list[1], &foreign->device);
	CU_ASSERT_PTR_NULL(list[2]);
	CU_ASSERT_EQUAL(foreign->lists, 1);
	CU_ASSERT_STRING_EQUAL(ibv_get_device_name(list[1]), "foreign0");
	CU_ASSERT_EQUAL(ibv_get_device_guid(list[1]), 0x99);
	CU_ASSERT_EQUAL(ibv_get_device_index(list[1]), -1); /* it has no such function */
	CU_ASSERT_EQUAL(uroce_is_device(list[1]), 0);
	ibv_free_device_list(list);
	CU_ASSERT_EQUAL(foreign->lists, 0);
	world_close(&world);
}

/* man ibv_get_device_list: without kernel support ENOSYS. Ours are there all the same. */
static void list_fails(void)
{
	struct ibv_device **list;
	int count = -1;

	begin();
	foreign->list_error = ENOSYS;
	errno = 0;
	list = ibv_get_device_list(&count);
	CU_ASSERT_PTR_NOT_NULL_FATAL(list);
	CU_ASSERT_EQUAL(errno, 0);
	CU_ASSERT_EQUAL(count, 1);
	CU_ASSERT_PTR_NULL(list[1]);
	ibv_free_device_list(list);
	CU_ASSERT_PTR_NOT_NULL(list = ibv_get_device_list(NULL));
	ibv_free_device_list(list);
	world_close(&world);
}

/* qperf gives the list to free(); the next one may get its address and is freed as it should be. */
static void list_freed_by_free(void)
{
	struct ibv_device **list;

	begin();
	for (unsigned int i = 0; i < 10; i++) {
		list = ibv_get_device_list(NULL);
		free(list);
	}
	list = ibv_get_device_list(NULL);
	CU_ASSERT(foreign->lists >= 1);
	ibv_free_device_list(list);
	foreign->list_error = ENOSYS;
	for (unsigned int i = 0; i < 10; i++) { /* lists without a record of their own */
		list = ibv_get_device_list(NULL);
		ibv_free_device_list(list);
	}
	CU_ASSERT(foreign->lists >= 0);
	world_close(&world);
	foreign->lists = 0;
}

static void passed_on(void)
{
	struct ibv_context *context;
	enum gid_type_sysfs type = 0;
	struct ibv_port_attr port;
	struct ibv_pd *pd;

	begin();
	context = open_foreign();
	pd = ibv_alloc_pd(context);
	CU_ASSERT_PTR_EQUAL(pd, &foreign->pd);
	CU_ASSERT_EQUAL(ibv_dealloc_pd(pd), EBUSY); /* its errors are its own */
	CU_ASSERT_EQUAL(___ibv_query_port(context, 1, &port), ENOTTY);
	CU_ASSERT_EQUAL(ibv_query_gid_type(context, 1, 0, &type), 0);
	CU_ASSERT_EQUAL(type, GID_TYPE_SYSFS_ROCE_V2);
	CU_ASSERT_EQUAL(foreign->calls, 4);
	CU_ASSERT_EQUAL(ibv_close_device(context), 0);
	CU_ASSERT_EQUAL(foreign->calls, 5);
	CU_ASSERT_EQUAL(fake_clients(world.engine), 1);
	world_close(&world);
}

/* Functions that the other library hasn't: an error in the call's own way, no crash. */
static void not_there(void)
{
	struct ibv_context *context;
	struct ibv_device_attr device;
	union ibv_gid gid;
	__be16 pkey;

	begin();
	context = open_foreign();
	CU_ASSERT_EQUAL(ibv_query_device(context, &device), ENOSYS);
	ASSERT_MINUS_ERRNO(ibv_query_gid(context, 1, 0, &gid), ENOSYS);
	ASSERT_MINUS_ERRNO(ibv_query_pkey(context, 1, 0, &pkey), ENOSYS);
	ASSERT_NULL_ERRNO(ibv_create_comp_channel(context), ENOSYS);
	ASSERT_NULL_ERRNO(ibv_create_cq(context, 1, NULL, NULL, 0), ENOSYS);
	CU_ASSERT_EQUAL(_ibv_query_gid_table(context, NULL, 1, 0, 0), -ENOSYS);
	CU_ASSERT_EQUAL(uroce_query_counters(context, NULL, 0), EOPNOTSUPP);
	ASSERT_NULL_ERRNO(uroce_alloc(context, 1), EOPNOTSUPP);
	CU_ASSERT_EQUAL(ibv_close_device(context), 0);
	world_close(&world);
}

static const struct unit_case cases[] = {
	UNIT_CASE(devices),
	UNIT_CASE(list_fails),
	UNIT_CASE(list_freed_by_free),
	UNIT_CASE(passed_on),
	UNIT_CASE(not_there),
};

UNIT_MAIN("verbs-fallthrough", cases)
