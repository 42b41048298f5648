/* SPDX-License-Identifier: BSD-3-Clause */
/* Our part of the arguments, the one behind `--`. */
#ifndef UROCE_EAL_ARGUMENTS_H
#define UROCE_EAL_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "engine.h"
#include "ethdev.h"
#include "lcores.h"

#define ARGUMENTS_NAME_MAX 64u /* IBV_SYSFS_NAME_MAX */

struct arguments {
	bool help;
	char name[ARGUMENTS_NAME_MAX]; /* of the device; "": the first free one */
	enum engine_mode mode;
	uint32_t cores;		 /* 0: as many as there are lcores, or one */
	struct lcores lcores;	 /* of the cores that have a thread, the first ones */
	uint64_t idle;		 /* ns until such a thread sleeps, or SERVE_NEVER */
	bool progress;		 /* a thread drives the other cores when nobody does */
	uint32_t max_qp, max_mr; /* 0: the engine's defaults */
	struct ethdev_config port;
};

/*
 * Parses argv[1..]. 0; or -EINVAL and one log line that names the argument and says what it should
 * be. With --help the rest is not looked at. Uses getopt_long(3), whose variables are the process's
 * and are left as they were: one thread at a time.
 */
int arguments_parse(struct arguments *arguments, int argc, char *const argv[]);
/* The text of --help. */
void arguments_help(FILE *out, const char *program);

#endif
