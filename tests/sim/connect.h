/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TESTS_CONNECT_H
#define UROCE_TESTS_CONNECT_H

#include "traffic.h"

/* Makes a connection between two random ends (or within one) with random attributes. */
void connect_halves(struct traffic *traffic, uint32_t pair);

#endif
