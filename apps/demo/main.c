/* SPDX-License-Identifier: BSD-3-Clause */
/* uroce-demo: see demo.h; `apps/demo/run` starts both sides. */
#include <stdio.h>
#include <string.h>

#include <uroce/engine.h>

#include "demo.h"

static int usage(FILE *out)
{
	fprintf(out,
		"usage: uroce-demo passive|active ENGINE ADDRESS PORT FOLDER\n"
		"\n"
		"One side of uroce's demo. Start the passive side first, each side in a network\n"
		"namespace of its own; apps/demo/run does all of that.\n"
		"\n"
		"  ENGINE   the engine's arguments, one word of the shell:\n"
		"           'EAL arguments -- uroce arguments'\n"
		"  ADDRESS  where the passive side listens for TCP: an address of its kernel\n"
		"  PORT     the TCP port\n"
		"  FOLDER   holds `file` of 64 MiB; gets by-send, by-write and by-read\n");
	return out == stderr ? 2 : 0;
}

static void run_shows(struct side *side)
{
	show_file(side);
	show_atomics(side);
	show_answer(side);
	show_thousand(side);
	show_strict(side);
	show_speed(side);
}

int main(int argc, char **argv)
{
	struct side side = {0};
	struct uroce_engine *engine;

	if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
		return usage(stdout);
	if (argc != 6 || (strcmp(argv[1], "active") != 0 && strcmp(argv[1], "passive") != 0))
		return usage(stderr);
	setvbuf(stdout, NULL, _IOLBF, 0);
	side.active = strcmp(argv[1], "active") == 0;
	side.folder = argv[5];
	engine = uroce_engine_create_line(argv[2]);
	if (!engine)
		die("the engine did not start");
	side.socket =
		side.active ? socket_connect(argv[3], argv[4]) : socket_accept(argv[3], argv[4]);
	side_open(&side);
	run_shows(&side);
	meet(&side);
	side_close(&side);
	check(&side, uroce_engine_destroy(engine) == 0, "the engine stops, nothing is left open");
	printf("%s: %u passed, %u failed\n", argv[1], side.passed, side.failed);
	return side.failed != 0;
}
