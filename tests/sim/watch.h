/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What may be seen on the wire, from outside: nothing from behind a closed gate, nothing during the
 * silence that an RNR NAK asks for, nothing from a queue that has drained; and when the first
 * packet of a peer has come, so that the gate may be open from then on.
 */
#ifndef UROCE_TESTS_WATCH_H
#define UROCE_TESTS_WATCH_H

#include "traffic.h"

void watch_open(struct traffic *traffic);
/* The gate of the half opens by itself at its time. */
void watch_time(struct traffic *traffic, struct half *half);

#endif
