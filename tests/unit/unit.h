/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The frame of every unit test program: a table of cases, run by CUnit. Assertions are CUnit's
 * (CU_ASSERT, CU_ASSERT_EQUAL, CU_ASSERT_FATAL ...).
 */
#ifndef UROCE_TESTS_UNIT_H
#define UROCE_TESTS_UNIT_H

#include <CUnit/CUnit.h>

struct unit_case {
	const char *name;
	void (*run)(void);
};

#define UNIT_CASE(function)                                                                        \
	{                                                                                          \
#function, function                                                                \
	}

/*
 * Runs the cases, or only the one named in argv[1]. The last line printed is
 * `SUITE: N passed, N failed`, counted in cases. Returns the exit status.
 */
int unit_run(const char *suite, const struct unit_case *cases, unsigned int count, int argc,
	char **argv);

#define UNIT_MAIN(suite, cases)                                                                    \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		return unit_run(suite, cases, sizeof(cases) / sizeof(cases[0]), argc, argv);       \
	}

#endif
