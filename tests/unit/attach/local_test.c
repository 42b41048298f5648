/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding the door: this program has one, whose version the cases change. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "local.h"
#include "log.h"
#include "unit.h"

/* As an engine library exports it, but not const. */
__attribute__((visibility("default"))) struct door uroce_engine_door;

static char line[256];

static void keep(enum log_level level, const char *text)
{
	snprintf(line, sizeof(line), "%s", text);
}

static const struct {
	uint32_t version, size;
	int error;
} doors[] = {
	{DOOR_VERSION, sizeof(struct door), 0},
	{DOOR_VERSION + 1, sizeof(struct door), -EPROTO},
	{DOOR_VERSION - 1, sizeof(struct door), -EPROTO},
	{DOOR_VERSION, sizeof(struct door) - 8, -EPROTO},
};

static void versions(void)
{
	log_set_sink(keep);
	for (unsigned int i = 0; i < sizeof(doors) / sizeof(doors[0]); i++)
		for (int load = 0; load < 2; load++) {
			const struct door *door = NULL;

			uroce_engine_door.version = doors[i].version;
			uroce_engine_door.size = doors[i].size;
			line[0] = 0;
			CU_ASSERT_EQUAL(local_door(load, &door), doors[i].error);
			CU_ASSERT_PTR_EQUAL(door, doors[i].error ? NULL : &uroce_engine_door);
			CU_ASSERT_EQUAL(line[0] != 0, doors[i].error != 0);
		}
	log_set_sink(NULL);
}

/* Both numbers are in the message. */
static void message(void)
{
	const struct door *door;

	log_set_sink(keep);
	uroce_engine_door.version = 777;
	uroce_engine_door.size = 555;
	CU_ASSERT_EQUAL(local_door(false, &door), -EPROTO);
	CU_ASSERT_PTR_NOT_NULL(strstr(line, "version 777"));
	CU_ASSERT_PTR_NOT_NULL(strstr(line, "555 bytes"));
	CU_ASSERT_PTR_NOT_NULL(strstr(line, "version 2 "));
	log_set_sink(NULL);
}

static const struct unit_case cases[] = {UNIT_CASE(versions), UNIT_CASE(message)};

UNIT_MAIN("attach-local", cases)
