/* SPDX-License-Identifier: BSD-3-Clause */
/* The burst's transmit buffers. Ask tx_possible() first; a frame that isn't committed costs
 * nothing. */
#ifndef UROCE_RC_TX_H
#define UROCE_RC_TX_H

#include "rc.h"

static inline uint8_t *tx_frame(struct rc_core *core)
{
	return core->free[core->free_count - 1].data;
}

static inline void tx_commit(struct rc_core *core, uint32_t length)
{
	struct packet *packet = &core->out[core->out_count++];

	*packet = core->free[--core->free_count];
	packet->length = length;
}

#endif
