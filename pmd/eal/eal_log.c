/* SPDX-License-Identifier: BSD-3-Clause */
/* A stream (fopencookie(3)) under rte_log, which tells the level of the message it writes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_log.h>

#include "eal_log.h"
#include "log.h"

/*
 * EAL says at NOTICE and INFO what it finds at every start: that is our info and debug, or each
 * program would begin with a page of it.
 */
static enum log_level level_of(int rte_level)
{
	if (rte_level <= (int)RTE_LOG_ERR)
		return LOG_ERROR;
	if (rte_level == (int)RTE_LOG_WARNING)
		return LOG_WARNING;
	if (rte_level == (int)RTE_LOG_NOTICE)
		return LOG_INFO;
	return LOG_DEBUG;
}

/* One message, perhaps of several lines. */
static ssize_t write_lines(void *cookie, const char *text, size_t size)
{
	enum log_level level = level_of(rte_log_cur_msg_loglevel());
	size_t at = 0;

	while (at < size) {
		const char *end = memchr(text + at, '\n', size - at);
		size_t length = end ? (size_t)(end - text) - at : size - at;

		if (length > 0)
			log_write(level, "%.*s", (int)length, text + at);
		at += length + 1;
	}
	return (ssize_t)size;
}

int eal_log_bridge(void)
{
	static const cookie_io_functions_t functions = {.write = write_lines};
	FILE *stream = fopencookie(NULL, "w", functions);

	if (!stream)
		return -ENOMEM;
	rte_openlog_stream(stream);
	return 0;
}
