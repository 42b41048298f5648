/* SPDX-License-Identifier: BSD-3-Clause */
/* Each public header compiles alone in C++ (UROCE_HEADER names it) and its functions are C's. */
#include UROCE_HEADER

#include <cstdio>

int main()
{
	int failed = 0;

#ifdef UROCE_UROCE_H
	failed = uroce_version() == nullptr;
#endif
	std::printf("header: %d passed, %d failed\n", !failed, failed);
	return failed;
}
