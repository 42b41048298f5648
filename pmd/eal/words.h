/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Command lines as lists of words: taken from one line of text, and divided at `--` into EAL's part
 * and ours.
 */
#ifndef UROCE_EAL_WORDS_H
#define UROCE_EAL_WORDS_H

struct words {
	int count;
	int room;
	char **word; /* ends with NULL */
};

void words_init(struct words *words);
void words_fini(struct words *words);
/* Appends a copy. 0 or -ENOMEM. */
int words_add(struct words *words, const char *text);

/*
 * Appends the words of a line: white space separates, '...' and "..." group (in any part of a word,
 * as in a shell), a backslash keeps the next character except between single quotes. 0, -EINVAL
 * (a quote is left open, or the line ends in a backslash), -ENOMEM.
 */
int words_split(struct words *words, const char *line);

/*
 * Divides argv[1..] at the first "--": the words before are EAL's, those behind are ours. Without
 * a "--" all are ours: then a person has nothing to say to EAL. Each list gets argv[0] first.
 */
int words_divide(int argc, char *const argv[], struct words *eal, struct words *ours);

#endif
