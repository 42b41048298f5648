/* SPDX-License-Identifier: BSD-3-Clause */
/* Each public header compiles alone in C (UROCE_HEADER names it), as strictly as C11 is. */
#include UROCE_HEADER

#include <stdio.h>

int main(void)
{
	int failed = 0;

#ifdef UROCE_UROCE_H
	failed = uroce_version() == (const char *)0;
#endif
	printf("header: %d passed, %d failed\n", !failed, failed);
	return failed;
}
