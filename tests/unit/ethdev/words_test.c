/* SPDX-License-Identifier: BSD-3-Clause */
/* Splitting a line into words as a shell does, and dividing a command line at `--`. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "unit.h"
#include "words.h"

#define WORDS_MAX 8

static bool words_are(const struct words *words, const char *const *expected)
{
	int n = 0;

	while (expected[n]) {
		if (n >= words->count || strcmp(words->word[n], expected[n]) != 0)
			return false;
		n++;
	}
	return n == words->count && (n == 0 || words->word[n] == NULL);
}

static void split(void)
{
	static const struct {
		const char *line;
		int err;
		const char *words[WORDS_MAX];
	} rows[] = {
		{"", 0, {NULL}},
		{" \t\n ", 0, {NULL}},
		{"a", 0, {"a"}},
		{"  a \t b\n", 0, {"a", "b"}},
		{"-l 0 --vdev=net_ring0 -- --port net_ring0", 0,
			{"-l", "0", "--vdev=net_ring0", "--", "--port", "net_ring0"}},
		{"'a b' c", 0, {"a b", "c"}},
		{"\"a b\" c", 0, {"a b", "c"}},
		{"a' b'c", 0, {"a bc"}},
		{"--name='my nic'", 0, {"--name=my nic"}},
		{"''", 0, {""}},
		{"'' \"\"", 0, {"", ""}},
		{"'a\"b'", 0, {"a\"b"}},
		{"\"a'b\"", 0, {"a'b"}},
		{"a\\ b", 0, {"a b"}},
		{"\"a\\\"b\"", 0, {"a\"b"}},
		{"'a\\b'", 0, {"a\\b"}},
		{"a\\\\b", 0, {"a\\b"}},
		{"\\'", 0, {"'"}},
		{"'a", -EINVAL, {NULL}},
		{"a \"b", -EINVAL, {"a"}},
		{"a\\", -EINVAL, {NULL}},
		{"\"a\\", -EINVAL, {NULL}},
		{"'a\\'", 0, {"a\\"}},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct words words;

		words_init(&words);
		CU_ASSERT_EQUAL(words_split(&words, rows[i].line), rows[i].err);
		CU_ASSERT(words_are(&words, rows[i].words));
		words_fini(&words);
	}
}

static void many(void)
{
	struct words words;
	char line[4096];

	memset(line, ' ', sizeof(line));
	line[sizeof(line) - 1] = 0;
	for (unsigned int i = 0; i < sizeof(line) - 1; i += 2)
		line[i] = 'w';
	words_init(&words);
	CU_ASSERT_EQUAL(words_split(&words, line), 0);
	CU_ASSERT_EQUAL_FATAL(words.count, 2048);
	CU_ASSERT_STRING_EQUAL(words.word[2047], "w");
	CU_ASSERT_PTR_NULL(words.word[2048]);
	words_fini(&words);
}

static void divide(void)
{
	static const struct {
		const char *argv[WORDS_MAX], *eal[WORDS_MAX], *ours[WORDS_MAX];
	} rows[] = {
		{{"p"}, {"p"}, {"p"}},
		{{"p", "--"}, {"p"}, {"p"}},
		{{"p", "-l", "0", "--", "--port", "0"}, {"p", "-l", "0"}, {"p", "--port", "0"}},
		{{"p", "--", "--port", "0"}, {"p"}, {"p", "--port", "0"}},
		{{"p", "-l", "0", "--"}, {"p", "-l", "0"}, {"p"}},
		{{"p", "--port", "0"}, {"p"}, {"p", "--port", "0"}},
		{{"p", "--", "a", "--", "b"}, {"p"}, {"p", "a", "--", "b"}},
		{{NULL}, {"uroce"}, {"uroce"}},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct words given, eal, ours;

		words_init(&given);
		words_init(&eal);
		words_init(&ours);
		for (unsigned int j = 0; rows[i].argv[j]; j++)
			CU_ASSERT_EQUAL_FATAL(words_add(&given, rows[i].argv[j]), 0);
		CU_ASSERT_EQUAL(words_divide(given.count, given.word, &eal, &ours), 0);
		CU_ASSERT(words_are(&eal, rows[i].eal));
		CU_ASSERT(words_are(&ours, rows[i].ours));
		words_fini(&given);
		words_fini(&eal);
		words_fini(&ours);
	}
}

static const struct unit_case cases[] = {
	UNIT_CASE(split),
	UNIT_CASE(many),
	UNIT_CASE(divide),
};

UNIT_MAIN("ethdev-words", cases)
