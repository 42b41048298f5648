/* SPDX-License-Identifier: BSD-3-Clause */
/* What the stand-in shows to the test: it is found by dlsym(). */
#ifndef UROCE_TESTS_VERBS_FOREIGN_H
#define UROCE_TESTS_VERBS_FOREIGN_H

#include <infiniband/verbs.h>

struct foreign {
	struct ibv_device device;
	struct ibv_pd pd;
	int list_error; /* ibv_get_device_list() fails with this */
	int lists;	/* given out and not freed */
	int calls;
};

#endif
