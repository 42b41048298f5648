/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traffic to an address of our own never reaches the port: the packets that the scheduler makes in
 * one round are delivered by the next one, through the same checks as any others. A queue of a
 * bounded length: when it is full, QPs wait their turn as they do for a port.
 */
#ifndef UROCE_ENGINE_LOOPBACK_H
#define UROCE_ENGINE_LOOPBACK_H

#include <stdbool.h>

struct worker;

void loopback_init(struct worker *worker);
/* May it be filled? Not while another core has so much to take over that the next round might find
 * no room: nothing is lost within a host. */
bool loopback_open(const struct worker *worker);
/* Delivers the last round's packets. Returns how many. */
unsigned int loopback_run(struct worker *worker);

#endif
