/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames in: from the port, from other cores, and from ourselves. */
#ifndef UROCE_ENGINE_RX_H
#define UROCE_ENGINE_RX_H

#include <stdbool.h>
#include <stdint.h>

struct packet;
struct worker;

/* A burst from the port. Returns how many frames there were. */
unsigned int rx_run(struct worker *worker);
/* A burst from each other core. */
unsigned int rx_inbound(struct worker *worker);
/* Something from other cores waits. */
bool rx_waits(const struct worker *worker);
/* Frames of the port's, which go back to it or to another core. */
void rx_take(struct worker *worker, const struct packet *frames, uint32_t count);

#endif
