/* SPDX-License-Identifier: BSD-3-Clause */
/* What is written to stderr meanwhile, uroce's log among it. */
#ifndef UROCE_TESTS_CAPTURE_H
#define UROCE_TESTS_CAPTURE_H

#define CAPTURE_MAX 8192u

struct capture {
	int file; /* stderr, meanwhile */
	int saved;
	char text[CAPTURE_MAX]; /* once it has ended */
};

void capture_begin(struct capture *capture);
void capture_end(struct capture *capture);
/* How many of the lines are the log's and of this level: "error", "warning" ... */
unsigned int capture_lines(const struct capture *capture, const char *level);

#endif
