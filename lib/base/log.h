/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One line a fact, on stderr or wherever the embedder's sink puts it. The level is read from
 * UROCE_LOG (error, warning, notice, info, debug; default notice) at first use. Never called on
 * the data path, except through log_limited(), which a flood cannot abuse.
 */
#ifndef UROCE_BASE_LOG_H
#define UROCE_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARNING, LOG_NOTICE, LOG_INFO, LOG_DEBUG };

typedef void log_sink(enum log_level level, const char *line);

void log_set_level(enum log_level level);
/* Returns -EINVAL for an unknown word. */
int log_set_level_name(const char *name);
/* NULL: stderr. The sink gets one line without the newline. Set-up only. */
void log_set_sink(log_sink *sink);
bool log_enabled(enum log_level level);

void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_WARNING, __VA_ARGS__)
#define log_notice(...) log_write(LOG_NOTICE, __VA_ARGS__)
#define log_info(...) log_write(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__)

/* A budget for lines that a stranger can provoke: at most `burst` lines per second of `now`. */
struct log_limit {
	uint64_t second;
	uint32_t written;
	uint32_t suppressed;
};

#define LOG_LIMIT_BURST 5u

/* True if a line may be written now; counts the others and reports them with the next line. */
bool log_limited(struct log_limit *limit, uint64_t now);

#endif
