/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads the captures of this folder, sorted by name. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "golden.h"
#include "pcap.h"

static _Noreturn void fail(const char *name, const char *what)
{
	fprintf(stderr, "%s: %s\n", name, what);
	exit(1);
}

static uint8_t *read_file(const char *path, size_t *length)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes;
	long size;

	if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0)
		fail(path, "can't be read");
	rewind(file);
	bytes = malloc((size_t)size + 1);
	*length = (size_t)size;
	if (!bytes || fread(bytes, 1, *length, file) != *length)
		fail(path, "can't be read");
	fclose(file);
	return bytes;
}

static void add_file(struct golden *golden, const char *path)
{
	char *name = golden->name[golden->files];
	struct pcap_record record;
	struct pcap pcap;
	size_t length;
	uint8_t *bytes = read_file(path, &length);
	int more;

	snprintf(name, sizeof(golden->name[0]), "%s", strrchr(path, '/') + 1);
	golden->contents[golden->files++] = bytes;
	if (pcap_open(&pcap, bytes, length) != 0 || pcap.link != PCAP_LINK_ETHERNET)
		fail(path, "not a capture of Ethernet");
	for (uint32_t number = 1; (more = pcap_read(&pcap, &record)) == 1; number++) {
		if (golden->packets == GOLDEN_PACKETS || record.length != record.original_length)
			fail(path, "too many packets, or one that was cut");
		golden->packet[golden->packets++] =
			(struct golden_packet){name, number, record.data, record.length};
	}
	if (more < 0)
		fail(path, "damaged");
}

struct golden *golden_load(void)
{
	struct golden *golden = calloc(1, sizeof(*golden));
	glob_t found;

	if (!golden || glob(GOLDEN_FOLDER "/*.pcap", 0, NULL, &found) != 0)
		fail(GOLDEN_FOLDER, "no captures");
	if (found.gl_pathc > GOLDEN_FILES)
		fail(GOLDEN_FOLDER, "more captures than expected");
	for (size_t i = 0; i < found.gl_pathc; i++)
		add_file(golden, found.gl_pathv[i]);
	globfree(&found);
	return golden;
}

void golden_free(struct golden *golden)
{
	for (uint32_t i = 0; i < golden->files; i++)
		free(golden->contents[i]);
	free(golden);
}

uint32_t golden_icrc(const uint8_t *frame, uint32_t ip, uint32_t udp, uint32_t icrc)
{
	struct frame copy = {.ip = ip, .udp = udp, .bth = udp + 8, .icrc = icrc};

	memcpy(copy.byte, frame, icrc);
	return frame_icrc(&copy);
}
