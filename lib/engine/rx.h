/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames in: from the port, and from ourselves. */
#ifndef UROCE_ENGINE_RX_H
#define UROCE_ENGINE_RX_H

#include <stdint.h>

struct packet;
struct worker;

/* A burst from the port. Returns how many frames there were. */
unsigned int rx_run(struct worker *worker);
/* Frames that are RoCE for sure or nothing. They stay the caller's. */
void rx_deliver(struct worker *worker, const struct packet *frames, uint32_t count);

#endif
