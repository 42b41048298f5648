/* SPDX-License-Identifier: BSD-3-Clause */
/* A program without an engine and without the engine's library (it runs where none is installed).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "local.h"
#include "log.h"
#include "unit.h"

static char line[256];

static void keep(enum log_level level, const char *text)
{
	snprintf(line, sizeof(line), "%s", text);
}

/* Looking is silent; needing it and not finding it says which file is missing. */
static void missing(void)
{
	const struct door *door = NULL;

	log_set_sink(keep);
	CU_ASSERT_EQUAL(local_door(false, &door), -ENOENT);
	CU_ASSERT_EQUAL(line[0], 0);
	CU_ASSERT_EQUAL(local_door(true, &door), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(line, "liburoce-engine.so.0"));
	CU_ASSERT_PTR_NULL(door);
	log_set_sink(NULL);
}

static const struct unit_case cases[] = {UNIT_CASE(missing)};

UNIT_MAIN("attach-missing", cases)
