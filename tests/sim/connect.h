/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TESTS_CONNECT_H
#define UROCE_TESTS_CONNECT_H

#include "traffic.h"

/* What a connection will be: its ends, depths, attributes, fate. */
void connect_plan(struct traffic *traffic, uint32_t pair);
/* Makes it by new flows, of QPs that are new or reset. */
void connect_pair(struct traffic *traffic, struct pair *pair);
/* The modify from RTR to RTS. Returns what it returns. */
int connect_to_rts(const struct half *half);

#endif
