/* SPDX-License-Identifier: BSD-3-Clause */
/* The burst's transmit buffers. Ask tx_possible() first; a frame that isn't committed costs
 * nothing. */
#ifndef UROCE_RC_TX_H
#define UROCE_RC_TX_H

#include "prefetch.h"
#include "rc.h"

static inline uint8_t *tx_frame(struct rc_core *core)
{
	return core->free[core->free_count - 1].data;
}

/*
 * A buffer that comes back was last in another core's cache. The one that is written some packets
 * later is asked for ahead, with both lines that headers and a small payload take.
 */
#define TX_AHEAD 4u

static inline void tx_prefetch(const struct rc_core *core)
{
	if (core->free_count > TX_AHEAD) {
		uint8_t *data = core->free[core->free_count - 1 - TX_AHEAD].data;

		prefetch_write(data);
		prefetch_write(data + 64);
	}
}

static inline void tx_commit(struct rc_core *core, uint32_t length)
{
	struct packet *packet = &core->out[core->out_count++];

	tx_prefetch(core);
	*packet = core->free[--core->free_count];
	packet->length = length;
}

#endif
