/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes frames to a classic pcap file, for tshark and uroce-dump. */
#ifndef UROCE_LOOP_CAPTURE_H
#define UROCE_LOOP_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct capture {
	FILE *file; /* NULL: none wanted */
	bool nanoseconds;
};

/* path NULL: nothing will be written. 0 or -errno. */
int capture_open(struct capture *capture, const char *path, bool nanoseconds);
void capture_close(struct capture *capture);
void capture_write(struct capture *capture, uint64_t now, const uint8_t *data, uint32_t length);

#endif
