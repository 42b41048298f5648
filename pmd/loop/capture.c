/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The classic pcap format (pcap-savefile(5)): a file header, then each frame behind a record
 * header. Numbers are in the writer's byte order; the magic number tells which.
 */
#include <errno.h>

#include "capture.h"

#define BILLION 1000000000ull
#define SNAPLEN 65535u

enum magic { MAGIC_MICROSECONDS = 0xa1b2c3d4, MAGIC_NANOSECONDS = 0xa1b23c4d };
enum link_type { LINKTYPE_ETHERNET = 1 };

struct file_header {
	uint32_t magic;
	uint16_t major;
	uint16_t minor;
	uint32_t zone;
	uint32_t accuracy;
	uint32_t snaplen;
	uint32_t link_type;
};

struct record_header {
	uint32_t seconds;
	uint32_t fraction;
	uint32_t captured;
	uint32_t length;
};

int capture_open(struct capture *capture, const char *path, bool nanoseconds)
{
	struct file_header header = {
		.magic = nanoseconds ? MAGIC_NANOSECONDS : MAGIC_MICROSECONDS,
		.major = 2,
		.minor = 4,
		.snaplen = SNAPLEN,
		.link_type = LINKTYPE_ETHERNET,
	};

	capture->file = NULL;
	capture->nanoseconds = nanoseconds;
	if (!path)
		return 0;
	capture->file = fopen(path, "wbe");
	if (!capture->file)
		return -errno;
	fwrite(&header, sizeof(header), 1, capture->file);
	return 0;
}

void capture_close(struct capture *capture)
{
	if (capture->file)
		fclose(capture->file);
	capture->file = NULL;
}

void capture_write(struct capture *capture, uint64_t now, const uint8_t *data, uint32_t length)
{
	struct record_header header = {
		.seconds = (uint32_t)(now / BILLION),
		.fraction = (uint32_t)(now % BILLION / (capture->nanoseconds ? 1 : 1000)),
		.captured = length,
		.length = length,
	};

	if (!capture->file)
		return;
	fwrite(&header, sizeof(header), 1, capture->file);
	fwrite(data, length, 1, capture->file);
}
