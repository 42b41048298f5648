/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of words, owned copies; the splitting follows POSIX sh 2.2, without expansions. */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"

#define FIRST_ROOM 16

void words_init(struct words *words)
{
	memset(words, 0, sizeof(*words));
}

void words_fini(struct words *words)
{
	for (int i = 0; i < words->count; i++)
		free(words->word[i]);
	free(words->word);
	words_init(words);
}

/* Room for one more and for the NULL behind it. */
static int grow(struct words *words)
{
	int room = words->room ? words->room * 2 : FIRST_ROOM;
	char **bigger;

	if (words->count + 1 < words->room)
		return 0;
	bigger = reallocarray(words->word, (size_t)room, sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	words->word = bigger;
	words->room = room;
	return 0;
}

int words_add(struct words *words, const char *text)
{
	char *copy;
	int err = grow(words);

	if (err)
		return err;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	words->word[words->count++] = copy;
	words->word[words->count] = NULL;
	return 0;
}

/* A character that stands for itself: between quotes, or behind a backslash. */
static int take_literal(const char **at, char *quote, char *out, bool *literal)
{
	*literal = false;
	if (**at == '\\' && *quote != '\'') {
		if (!*++*at)
			return -EINVAL;
		*literal = true;
	} else if (*quote && **at != *quote) {
		*literal = true;
	}
	*out = **at;
	return 0;
}

/* Copies one word without its quotes; *at moves behind it. */
static int take_word(const char **at, char *word)
{
	char quote = 0;

	for (; **at; ++*at) {
		bool literal;
		char c;

		if (take_literal(at, &quote, &c, &literal))
			return -EINVAL;
		if (!literal && !quote && isspace((unsigned char)c))
			break;
		if (literal || (!quote && c != '\'' && c != '"'))
			*word++ = c;
		else
			quote = quote ? 0 : c; /* its end, or its beginning */
	}
	*word = 0;
	return quote ? -EINVAL : 0;
}

int words_split(struct words *words, const char *line)
{
	char *word = malloc(strlen(line) + 1);
	int err = word ? 0 : -ENOMEM;

	while (!err) {
		while (isspace((unsigned char)*line))
			line++;
		if (!*line)
			break;
		err = take_word(&line, word);
		if (!err)
			err = words_add(words, word);
	}
	free(word);
	return err;
}

int words_divide(int argc, char *const argv[], struct words *eal, struct words *ours)
{
	const char *program = argc > 0 ? argv[0] : "uroce";
	int divider = 1;
	int err = words_add(eal, program);

	if (!err)
		err = words_add(ours, program);
	while (divider < argc && strcmp(argv[divider], "--") != 0)
		divider++;
	if (divider >= argc)
		divider = 0; /* there is none: everything is ours */
	for (int i = 1; !err && i < divider; i++)
		err = words_add(eal, argv[i]);
	for (int i = divider + 1; !err && i < argc; i++)
		err = words_add(ours, argv[i]);
	return err;
}
