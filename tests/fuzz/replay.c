/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Feeds the files of a corpus to a fuzz target, for the default suite: replay NAME FOLDER. Each
 * file is given whole, and cut after each of its bytes; a broken promise crashes the program, which
 * counts as a failure.
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "fuzz.h"

/* An exact copy in a block of its own (see fuzz.h). */
static void feed(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static int replay(const char *folder, const char *name)
{
	static uint8_t data[65536];
	char path[4096];
	size_t size;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "rb");
	if (!file) {
		printf("%s: %s\n", path, strerror(errno));
		return -1;
	}
	size = fread(data, 1, sizeof(data), file);
	fclose(file);
	for (size_t cut = 0; cut <= size; cut++)
		feed(data, cut);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned int passed = 0, failed = 0;
	struct dirent *entry;
	DIR *folder;

	if (argc != 3)
		return 2;
	folder = opendir(argv[2]);
	if (!folder) {
		printf("%s: %s\n", argv[2], strerror(errno));
		return 1;
	}
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		if (replay(argv[2], entry->d_name) == 0)
			passed++;
		else
			failed++;
	}
	closedir(folder);
	printf("%s: %u passed, %u failed\n", argv[1], passed, failed);
	return failed != 0;
}
