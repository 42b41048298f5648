/* SPDX-License-Identifier: BSD-3-Clause */
/* Each public header compiles alone in C (UROCE_HEADER names it), as strictly as C11 is. */
#include UROCE_HEADER

int main(void)
{
#ifdef UROCE_UROCE_H
	return uroce_version() == (const char *)0;
#else
	return 0;
#endif
}
