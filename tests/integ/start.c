/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * start ARGUMENT...: an engine from a command line, as an application passes its own on. Prints
 * `started NAME`, or the name of the error; start_test.py looks at that and at the log.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <uroce/engine.h>

int main(int argc, char **argv)
{
	struct uroce_engine *engine = uroce_engine_create(argc, argv);

	if (!engine) {
		printf("%s\n", strerrorname_np(errno));
		return 1;
	}
	printf("started %s\n", ibv_get_device_name(uroce_engine_device(engine)));
	return uroce_engine_destroy(engine) != 0;
}
