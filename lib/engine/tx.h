/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames out: buffers before the round's packets are made, the port afterwards. */
#ifndef UROCE_ENGINE_TX_H
#define UROCE_ENGINE_TX_H

struct worker;

/* Fills up the buffers at hand. */
void tx_refill(struct worker *worker);
/* Hands the port what was made, in order. What it refuses waits. Returns how many it took. */
unsigned int tx_flush(struct worker *worker);
/* Gives all buffers back: the engine ends. */
void tx_fini(struct worker *worker);

#endif
