/* SPDX-License-Identifier: BSD-3-Clause */
/* Nothing is sent twice, dropped or waited for on a wire that loses nothing. */
#ifndef UROCE_TESTS_THRIFT_H
#define UROCE_TESTS_THRIFT_H

#include "traffic.h"

/* Of a world that is clean, and in which no connection broke. */
void thrift_judge(struct traffic *traffic);

#endif
