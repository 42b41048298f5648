/* SPDX-License-Identifier: BSD-3-Clause */
/* A file in memory in the place of descriptor 2. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture.h"
#include "unit.h"

void capture_begin(struct capture *capture)
{
	fflush(stderr);
	capture->file = memfd_create("stderr", 0);
	capture->saved = dup(STDERR_FILENO);
	CU_ASSERT_FATAL(capture->file >= 0 && capture->saved >= 0);
	CU_ASSERT_FATAL(dup2(capture->file, STDERR_FILENO) >= 0);
}

void capture_end(struct capture *capture)
{
	ssize_t length;

	fflush(stderr);
	CU_ASSERT_FATAL(dup2(capture->saved, STDERR_FILENO) >= 0);
	length = pread(capture->file, capture->text, sizeof(capture->text) - 1, 0);
	capture->text[length > 0 ? length : 0] = '\0';
	close(capture->saved);
	close(capture->file);
}

unsigned int capture_lines(const struct capture *capture, const char *level)
{
	const char *at = capture->text;
	unsigned int lines = 0;
	char start[32];

	snprintf(start, sizeof(start), "uroce: %s: ", level);
	for (; (at = strstr(at, start)); at += strlen(start))
		lines += at == capture->text || at[-1] == '\n';
	return lines;
}
