/* SPDX-License-Identifier: BSD-3-Clause */
/* The log: levels, UROCE_LOG, one safe line whatever the words, and the limit on a flood. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log.h"
#include "unit.h"

#define SECOND 1000000000ull

static char last_line[4096];
static enum log_level last_level;
static unsigned int lines;

static void capture(enum log_level level, const char *line)
{
	snprintf(last_line, sizeof(last_line), "%s", line);
	last_level = level;
	lines++;
}

static void start(enum log_level level)
{
	log_set_sink(capture);
	log_set_level(level);
	last_line[0] = '\0';
	lines = 0;
}

/* Runs in a child: what is written before the level was ever set, on stderr. */
static void speak_with(const char *level, int stderr_to)
{
	if (level)
		setenv("UROCE_LOG", level, 1);
	else
		unsetenv("UROCE_LOG");
	dup2(stderr_to, STDERR_FILENO);
	log_error("e");
	log_warning("w");
	log_notice("n");
	log_info("i");
	log_debug("d");
	_exit(0);
}

static void output_with(const char *level, char *output, size_t size)
{
	int ends[2];
	size_t length = 0;
	ssize_t n;
	pid_t child;

	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	child = fork();
	CU_ASSERT_FATAL(child >= 0);
	if (child == 0)
		speak_with(level, ends[1]);
	close(ends[1]);
	while ((n = read(ends[0], output + length, size - 1 - length)) > 0)
		length += (size_t)n;
	output[length] = '\0';
	close(ends[0]);
	waitpid(child, NULL, 0);
}

#define ERRORS "uroce: error: e\n"
#define WARNINGS ERRORS "uroce: warning: w\n"
#define NOTICES WARNINGS "uroce: notice: n\n"
#define INFOS NOTICES "uroce: info: i\n"
#define DEBUGS INFOS "uroce: debug: d\n"
#define UNKNOWN(word)                                                                              \
	"uroce: warning: UROCE_LOG=" word " is none of error, warning, notice, info, debug\n"

/* Must be the first case: the variable is read once per process, here by each child. */
static void environment(void)
{
	static const struct {
		const char *value, *output;
	} rows[] = {
		{NULL, NOTICES},
		{"error", ERRORS},
		{"warning", WARNINGS},
		{"notice", NOTICES},
		{"info", INFOS},
		{"debug", DEBUGS},
		{"loud", UNKNOWN("loud") NOTICES},
		{"", UNKNOWN("") NOTICES},
		{"Debug", UNKNOWN("Debug") NOTICES},
		{"a\nb", UNKNOWN("a?b") NOTICES},
	};
	char output[1024];

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		output_with(rows[i].value, output, sizeof(output));
		CU_ASSERT_STRING_EQUAL(output, rows[i].output);
	}
}

static void levels(void)
{
	for (int limit = LOG_ERROR; limit <= LOG_DEBUG; limit++)
		for (int level = LOG_ERROR; level <= LOG_DEBUG; level++) {
			start((enum log_level)limit);
			log_write((enum log_level)level, "level %d", level);
			CU_ASSERT_EQUAL(lines, level <= limit);
			CU_ASSERT_EQUAL(log_enabled((enum log_level)level), level <= limit);
			CU_ASSERT(lines == 0 || (int)last_level == level);
		}
}

static void level_names(void)
{
	start(LOG_NOTICE);
	CU_ASSERT_EQUAL(log_set_level_name("debug"), 0);
	CU_ASSERT_TRUE(log_enabled(LOG_DEBUG));
	CU_ASSERT_EQUAL(log_set_level_name("verbose"), -EINVAL);
	CU_ASSERT_EQUAL(log_set_level_name(""), -EINVAL);
	CU_ASSERT_EQUAL(log_set_level_name("debug "), -EINVAL);
	CU_ASSERT_TRUE(log_enabled(LOG_DEBUG)); /* an unknown word changes nothing */
	CU_ASSERT_EQUAL(log_set_level_name("error"), 0);
	CU_ASSERT_FALSE(log_enabled(LOG_WARNING));
}

/* Around the size of the buffer: 511 characters fit, one more is cut and marked. */
static void long_lines_are_cut(void)
{
	static const struct {
		int asked;
		size_t length;
		int cut;
	} rows[] = {
		{0, 0, 0},
		{510, 510, 0},
		{511, 511, 0},
		{512, 511, 1},
		{513, 511, 1},
		{100000, 511, 1},
	};

	static char text[100000];

	memset(text, 'a', sizeof(text));
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t length;

		start(LOG_NOTICE);
		log_notice("%.*s", rows[i].asked, text);
		length = strlen(last_line);
		CU_ASSERT_EQUAL(length, rows[i].length);
		CU_ASSERT_EQUAL(length > 3 && !strcmp(last_line + length - 3, "..."), rows[i].cut);
	}
}

/* The cut falls inside a two-byte character: the whole character goes. */
static void cut_respects_utf8(void)
{
	char text[1001];

	for (unsigned int shift = 0; shift < 2; shift++) {
		size_t kept = 508 - (508 - shift) % 2;

		memset(text, 'a', shift);
		for (size_t i = shift; i + 2 <= 1000; i += 2)
			memcpy(text + i, "\xc3\xa9", 2);
		text[999] = '\0';
		start(LOG_NOTICE);
		log_notice("%s", text);
		CU_ASSERT_EQUAL(strlen(last_line), kept + 3);
		CU_ASSERT_EQUAL((unsigned char)last_line[kept - 1], 0xa9);
		CU_ASSERT_STRING_EQUAL(last_line + kept, "...");
	}
}

static void control_characters_are_harmless(void)
{
	start(LOG_NOTICE);
	log_notice("name \"%s\"", "a\nuroce: error: b\r\x1b[2J\x7f\t\xc3\xa9");
	CU_ASSERT_STRING_EQUAL(last_line, "name \"a?uroce: error: b??[2J??\xc3\xa9\"");
	CU_ASSERT_EQUAL(lines, 1);
}

static void errno_is_kept(void)
{
	start(LOG_NOTICE);
	errno = EXDEV;
	log_notice("%ls", L"\xffffff"); /* a wide character that vsnprintf() cannot convert */
	CU_ASSERT_EQUAL(errno, EXDEV);
	CU_ASSERT_EQUAL(lines, 1);
	CU_ASSERT_STRING_EQUAL(last_line, "(a line that cannot be formatted)");
}

/* How many of `asked` lines at this time may be written. */
static unsigned int granted(struct log_limit *limit, uint64_t now, unsigned int asked)
{
	unsigned int n = 0;

	while (asked--)
		n += log_limited(limit, now);
	return n;
}

static void limit_per_second(void)
{
	struct log_limit limit = {0};

	start(LOG_NOTICE);
	CU_ASSERT_EQUAL(granted(&limit, 0, 5), 5);
	CU_ASSERT_EQUAL(granted(&limit, SECOND - 1, 100), 0);
	CU_ASSERT_EQUAL(limit.suppressed, 100);
	CU_ASSERT_EQUAL(lines, 0);
}

/* The report counts against the budget of its second, so that 5 lines are never exceeded. */
static void suppressed_are_reported(void)
{
	struct log_limit limit = {0};

	start(LOG_NOTICE);
	granted(&limit, 7 * SECOND, 105);
	CU_ASSERT_EQUAL(granted(&limit, 8 * SECOND, 1), 1);
	CU_ASSERT_EQUAL(lines, 1);
	CU_ASSERT_EQUAL(last_level, LOG_WARNING);
	CU_ASSERT_STRING_EQUAL(last_line, "100 lines like the next one were suppressed");
	CU_ASSERT_EQUAL(granted(&limit, 8 * SECOND, 10), 3);
	CU_ASSERT_EQUAL(lines, 1); /* reported once */
	CU_ASSERT_EQUAL(limit.suppressed, 7);
	CU_ASSERT_EQUAL(granted(&limit, 100 * SECOND, 1), 1);
	CU_ASSERT_STRING_EQUAL(last_line, "7 lines like the next one were suppressed");
}

/* In a quiet second nothing is said and the budget is whole. */
static void quiet_seconds_say_nothing(void)
{
	struct log_limit limit = {0};

	start(LOG_NOTICE);
	for (uint64_t second = 1; second < 10; second++)
		CU_ASSERT_EQUAL(granted(&limit, second * SECOND, 5), 5);
	CU_ASSERT_EQUAL(lines, 0);
}

static const struct unit_case cases[] = {
	UNIT_CASE(environment),
	UNIT_CASE(levels),
	UNIT_CASE(level_names),
	UNIT_CASE(long_lines_are_cut),
	UNIT_CASE(cut_respects_utf8),
	UNIT_CASE(control_characters_are_harmless),
	UNIT_CASE(errno_is_kept),
	UNIT_CASE(limit_per_second),
	UNIT_CASE(suppressed_are_reported),
	UNIT_CASE(quiet_seconds_say_nothing),
};

UNIT_MAIN("base-log", cases)
