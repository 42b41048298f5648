/* SPDX-License-Identifier: BSD-3-Clause */
/* What the engine counts besides lib/rc and lib/wire. */
#ifndef UROCE_ENGINE_COUNTERS_H
#define UROCE_ENGINE_COUNTERS_H

#include <stdint.h>

#define ENGINE_COUNTERS(X)                                                                         \
	X(rx_packets)	  /* frames from the port */                                               \
	X(tx_packets)	  /* frames that the port took */                                          \
	X(tx_refused)	  /* frames that it left to a later round */                               \
	X(looped_packets) /* frames to addresses of our own */                                     \
	X(no_buffer)	  /* the port had no buffer for a frame */                                 \
	X(drop_no_qp)	  /* no QP has that number */                                              \
	X(announcements)                                                                           \
	X(stale_announcements) /* of a QP that is gone, or a client's nonsense */                  \
	X(commands)                                                                                \
	X(commands_failed)                                                                         \
	X(invalid_sends) /* work requests that were refused when they were taken */                \
	X(invalid_recvs)                                                                           \
	X(cq_overruns)                                                                             \
	X(events)                                                                                  \
	X(events_kept)	  /* the channel was full; told later */                                   \
	X(events_unheard) /* the client has no channel for them */                                 \
	X(mac_changes)	  /* of live QPs' neighbours */

struct engine_counters {
#define X(name) uint64_t name;
	ENGINE_COUNTERS(X)
#undef X
};

extern const char *const engine_counter_names[sizeof(struct engine_counters) / 8];

#endif
