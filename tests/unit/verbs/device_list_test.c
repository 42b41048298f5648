/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of devices: ours, in a plain block, the same pointers every time. That of another
 * library beside them is in fallthrough_test.c. */
#include <stdlib.h>

#include "fallthrough.h"
#include "world.h"

static void none(void)
{
	struct ibv_device **list;
	int count = -1;

	list = ibv_get_device_list(&count);
	CU_ASSERT_PTR_NOT_NULL_FATAL(list); /* "if no devices are found ... non-NULL" */
	for (int i = 0; i < count; i++)
		CU_ASSERT_EQUAL(uroce_is_device(list[i]), 0);
	CU_ASSERT_PTR_NULL(list[count]);
	ibv_free_device_list(list);
}

static void several(void)
{
	struct engine *first = fake_create("uroce0", false);
	struct engine *second = fake_create("uroce1", false);
	struct ibv_device **list, **again;
	int count = -1;

	list = ibv_get_device_list(&count);
	CU_ASSERT_FATAL(count >= 2);
	CU_ASSERT_STRING_EQUAL(ibv_get_device_name(list[0]), "uroce0");
	CU_ASSERT_STRING_EQUAL(ibv_get_device_name(list[1]), "uroce1");
	again = ibv_get_device_list(NULL);
	CU_ASSERT_PTR_NOT_EQUAL(again, list);
	CU_ASSERT_PTR_EQUAL(again[0], list[0]);
	CU_ASSERT_PTR_EQUAL(again[1], list[1]);
	free(again); /* qperf does */
	ibv_free_device_list(list);
	fake_destroy(first);
	list = ibv_get_device_list(&count);
	CU_ASSERT_STRING_EQUAL(ibv_get_device_name(list[0]), "uroce1");
	ibv_free_device_list(list);
	fake_destroy(second);
}

static const struct unit_case cases[] = {UNIT_CASE(none), UNIT_CASE(several)};

UNIT_MAIN("verbs-device_list", cases)
