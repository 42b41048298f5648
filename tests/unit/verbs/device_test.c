/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices come and go with engines; one comes from the environment and starts when it is opened. */
#include <stdlib.h>

#include "device.h"
#include "world.h"

static void by_name(void)
{
	struct engine *first = fake_create("uroce0", false);
	struct engine *second = fake_create("other", false);
	struct ibv_device *device = uroce_find_device("other");

	CU_ASSERT_PTR_NOT_NULL_FATAL(device);
	CU_ASSERT_STRING_EQUAL(device->name, "other");
	CU_ASSERT_STRING_EQUAL(device->ibdev_path, "/sys/class/infiniband/other");
	CU_ASSERT_EQUAL(device->node_type, IBV_NODE_CA);
	CU_ASSERT_EQUAL(device->transport_type, IBV_TRANSPORT_IB);
	CU_ASSERT_PTR_NOT_EQUAL(device, uroce_find_device("uroce0"));
	ASSERT_NULL_ERRNO(uroce_find_device("uroce1"), ENODEV);
	ASSERT_NULL_ERRNO(uroce_find_device(""), ENODEV);
	fake_destroy(second);
	ASSERT_NULL_ERRNO(uroce_find_device("other"), ENODEV);
	second = fake_create("other", false);
	CU_ASSERT_PTR_EQUAL(uroce_find_device("other"), device); /* the same pointer */
	fake_destroy(first);
	fake_destroy(second);
}

/* libmlx5 and libefa look for their operations behind the public struct of any device. */
static void zeros_behind(void)
{
	struct engine *engine = fake_create("uroce0", false);
	const struct device *device = device_find(uroce_find_device("uroce0"));
	static const uint8_t zeros[sizeof(device->behind)];

	CU_ASSERT_PTR_NOT_NULL_FATAL(device);
	CU_ASSERT_EQUAL(memcmp(device->behind, zeros, sizeof(zeros)), 0);
	fake_destroy(engine);
}

static void guid(void)
{
	struct engine *engine = fake_create("uroce0", false);
	struct ibv_device *device = uroce_find_device("uroce0");
	unsigned int asked;

	CU_ASSERT_EQUAL(ibv_get_device_guid(device), FAKE_GUID);
	asked = fake_commands(engine, UROCE_ABI_QUERY_DEVICE);
	CU_ASSERT_EQUAL(asked, 1);
	CU_ASSERT_EQUAL(ibv_get_device_guid(device), FAKE_GUID);
	CU_ASSERT_EQUAL(fake_commands(engine, UROCE_ABI_QUERY_DEVICE), asked); /* remembered */
	CU_ASSERT_EQUAL(fake_clients(engine), 0);
	fake_destroy(engine);
	CU_ASSERT_EQUAL(ibv_get_device_index(device), -1);
}

static const struct {
	const char *arguments;
	const char *name;
} lines[] = {
	{"-l 0 -- --port a", "uroce0"},
	{"-l 0 -- --name left --port a", "left"},
	{"-l 0 -- --port a --name=right", "right"},
	{"-- --name\tlast", "last"},
};

static void from_environment(void)
{
	for (unsigned int i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct ibv_device *device;
		struct ibv_context *context;

		fake_started_with = NULL;
		fake_start_name = lines[i].name;
		setenv("UROCE_ARGS", lines[i].arguments, 1);
		device = uroce_find_device(lines[i].name);
		CU_ASSERT_PTR_NOT_NULL_FATAL(device);
		CU_ASSERT_PTR_NULL(fake_started_with); /* a look costs nothing */
		context = ibv_open_device(device);
		CU_ASSERT_PTR_NOT_NULL_FATAL(context);
		CU_ASSERT_STRING_EQUAL(fake_started_with, lines[i].arguments);
		fake_started_with = NULL;
		CU_ASSERT_EQUAL(ibv_close_device(context), 0);
		context = ibv_open_device(device);
		CU_ASSERT_PTR_NULL(fake_started_with); /* once */
		CU_ASSERT_EQUAL(ibv_close_device(context), 0);
		fake_destroy(uroce_engine_door.engine(0));
		unsetenv("UROCE_ARGS");
		ASSERT_NULL_ERRNO(uroce_find_device(lines[i].name), ENODEV);
	}
}

static void start_fails(void)
{
	struct ibv_device *device;

	setenv("UROCE_ARGS", "-- --name uroce0", 1);
	device = uroce_find_device("uroce0");
	fake_start_error = EADDRINUSE;
	ASSERT_NULL_ERRNO(ibv_open_device(device), EADDRINUSE);
	fake_start_error = 0;
	fake_start_name = "somebody"; /* it starts, but by another name */
	ASSERT_NULL_ERRNO(ibv_open_device(device), ENODEV);
	fake_destroy(uroce_engine_door.engine(0));
	unsetenv("UROCE_ARGS");
}

static const struct unit_case cases[] = {
	UNIT_CASE(by_name),
	UNIT_CASE(zeros_behind),
	UNIT_CASE(guid),
	UNIT_CASE(from_environment),
	UNIT_CASE(start_fails),
};

UNIT_MAIN("verbs-device", cases)
