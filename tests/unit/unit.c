/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a table of cases under CUnit and prints the closing line that `./dev test` adds up. */
#include <stdio.h>
#include <string.h>

#include <CUnit/Basic.h>

#include "unit.h"

int unit_run(
	const char *suite, const struct unit_case *cases, unsigned int count, int argc, char **argv)
{
	const char *only = argc > 1 ? argv[1] : NULL;
	unsigned int added = 0;
	unsigned int failed;
	CU_pSuite handle;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	handle = CU_add_suite(suite, NULL, NULL);
	for (unsigned int i = 0; handle && i < count; i++) {
		if (only && strcmp(only, cases[i].name) != 0)
			continue;
		if (CU_add_test(handle, cases[i].name, cases[i].run))
			added++;
	}
	if (added == 0) {
		printf("%s: no such case\n", suite);
		return 1;
	}
	CU_basic_set_mode(CU_BRM_NORMAL);
	CU_basic_run_tests();
	failed = CU_get_number_of_tests_failed();
	printf("%s: %u passed, %u failed\n", suite, added - failed, failed);
	CU_cleanup_registry();
	return failed != 0;
}
