/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Levels, the sink, and one line at a time. The level and the sink are the process's and not an
 * engine's: a line may be due before there is an engine, and UROCE_LOG is one variable.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

#define LINE_SIZE 512u
#define NS_PER_SECOND 1000000000ull
#define LEVEL_UNREAD (-1)

static const char *const level_names[] = {
	[LOG_ERROR] = "error",
	[LOG_WARNING] = "warning",
	[LOG_NOTICE] = "notice",
	[LOG_INFO] = "info",
	[LOG_DEBUG] = "debug",
};

#define LEVELS ((int)(sizeof(level_names) / sizeof(level_names[0])))

/*
 * Relaxed throughout: the level is one word that orders nothing else. The sink is set before
 * there are threads that log (see log.h).
 */
static int current_level = LEVEL_UNREAD;
static log_sink *current_sink;

/* Returns LEVELS for an unknown word. */
static int level_of(const char *name)
{
	int level = 0;

	while (level < LEVELS && strcmp(level_names[level], name) != 0)
		level++;
	return level;
}

void log_set_level(enum log_level level)
{
	__atomic_store_n(&current_level, (int)level, __ATOMIC_RELAXED);
}

int log_set_level_name(const char *name)
{
	int level = level_of(name);

	if (level == LEVELS)
		return -EINVAL;
	log_set_level((enum log_level)level);
	return 0;
}

void log_set_sink(log_sink *sink)
{
	current_sink = sink;
}

/* At first use. Several threads may come here at once: one of them, or log_set_level(), wins. */
static int level_from_environment(void)
{
	const char *name = getenv("UROCE_LOG");
	int found = name ? level_of(name) : LOG_NOTICE;
	int level = found < LEVELS ? found : LOG_NOTICE;
	int expected = LEVEL_UNREAD;

	if (!__atomic_compare_exchange_n(
		    &current_level, &expected, level, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return expected;
	if (found == LEVELS)
		log_warning("UROCE_LOG=%s is none of error, warning, notice, info, debug", name);
	return level;
}

bool log_enabled(enum log_level level)
{
	int limit = __atomic_load_n(&current_level, __ATOMIC_RELAXED);

	if (limit == LEVEL_UNREAD)
		limit = level_from_environment();
	return (int)level <= limit;
}

/*
 * A name that a peer or a client chose must not start a line of its own or steer a terminal:
 * control characters become '?'. Bytes above 0x7f are left, they may be UTF-8.
 */
static void make_printable(char *line)
{
	for (; *line; line++)
		if ((unsigned char)*line < 0x20 || *line == 0x7f)
			*line = '?';
}

/* The line was longer than the buffer: it ends in "...", and not inside a UTF-8 character. */
static void mark_truncated(char *line)
{
	size_t cut = LINE_SIZE - sizeof("...");

	while (cut > 0 && ((unsigned char)line[cut] & 0xc0) == 0x80)
		cut--;
	memcpy(line + cut, "...", sizeof("..."));
}

void log_write(enum log_level level, const char *format, ...)
{
	int saved = errno; /* callers log first and return -errno afterwards */
	char line[LINE_SIZE];
	va_list arguments;
	int length;

	if (!log_enabled(level))
		return;
	va_start(arguments, format);
	length = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (length < 0)
		memcpy(line, "(a line that cannot be formatted)",
			sizeof("(a line that cannot be formatted)"));
	else if ((size_t)length >= sizeof(line))
		mark_truncated(line);
	make_printable(line);
	if (current_sink)
		current_sink(level, line);
	else
		fprintf(stderr, "uroce: %s: %s\n", level_names[level], line);
	errno = saved;
}

bool log_limited(struct log_limit *limit, uint64_t now)
{
	uint64_t second = now / NS_PER_SECOND;
	uint32_t suppressed = limit->suppressed;

	if (second != limit->second) {
		limit->second = second;
		limit->written = 0;
	}
	if (limit->written >= LOG_LIMIT_BURST) {
		limit->suppressed += limit->suppressed < UINT32_MAX;
		return false;
	}
	limit->written++;
	limit->suppressed = 0;
	if (suppressed) {
		limit->written++; /* the report is a line too */
		log_warning("%u lines like the next one were suppressed", suppressed);
	}
	return true;
}
