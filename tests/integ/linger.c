/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * linger ARGUMENT...: an engine from a command line, which is driven until standard input has
 * something, or ends. Prints `started` when it is there.
 */
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include <uroce/engine.h>

int main(int argc, char **argv)
{
	struct uroce_engine *engine = uroce_engine_create(argc, argv);
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	if (!engine)
		return 1;
	printf("started\n");
	fflush(stdout);
	while (poll(&input, 1, 0) == 0)
		uroce_engine_poll(engine);
	return uroce_engine_destroy(engine) != 0;
}
