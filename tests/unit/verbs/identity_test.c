/* SPDX-License-Identifier: BSD-3-Clause */
/* Which library, which devices; meson's version is the headers'. */
#include "world.h"

static void version(void)
{
	CU_ASSERT_STRING_EQUAL(uroce_version(), PROJECT_VERSION);
}

static void ours(void)
{
	struct engine *engine = fake_create("uroce0", false);
	struct ibv_device *device = uroce_find_device("uroce0");
	struct ibv_device copy = *device;

	CU_ASSERT_EQUAL(uroce_is_device(device), 1);
	CU_ASSERT_EQUAL(uroce_is_device(&copy), 0);
	CU_ASSERT_EQUAL(uroce_is_device(NULL), 0);
	fake_destroy(engine);
	CU_ASSERT_EQUAL(uroce_is_device(device), 1); /* a stale pointer hurts nobody */
}

static const struct unit_case cases[] = {UNIT_CASE(version), UNIT_CASE(ours)};

UNIT_MAIN("verbs-identity", cases)
