/* SPDX-License-Identifier: BSD-3-Clause */
/* Each public header compiles alone in C++ (UROCE_HEADER names it) and its functions are C's. */
#include UROCE_HEADER

int main()
{
#ifdef UROCE_UROCE_H
	return uroce_version() == nullptr;
#else
	return 0;
#endif
}
