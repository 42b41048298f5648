/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets from one engine core to another: a frame arrived at the one whose QP is the other's. One
 * ring for each pair of cores, so that each has one producer and one consumer. It holds the
 * packets' descriptions; the buffers themselves stay where they are and change hands.
 */
#ifndef UROCE_QUEUE_HANDOVER_H
#define UROCE_QUEUE_HANDOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "packet.h"

struct handover;

/* count: slots, a power of two from 2 on, one of which rte_ring leaves unused. 0 or -ENOMEM,
 * -EINVAL. */
int handover_create(uint32_t count, struct handover **handover);
/* What is left in it was taken before. */
void handover_destroy(struct handover *handover);
/* By the one core: false if the ring is full; the packet stays the caller's. */
bool handover_put(struct handover *handover, const struct packet *packet);
/* How many more it takes at least, for the one that puts. */
uint32_t handover_room(const struct handover *handover);
/* By the other: up to `count` packets, in order. They are the caller's now. */
uint32_t handover_take(struct handover *handover, struct packet *packets, uint32_t count);
/* A hint for the one that takes. */
bool handover_empty(const struct handover *handover);

#endif
