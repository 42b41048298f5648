/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the engine counts besides lib/rc and lib/wire, and all of it together for those who look on
 * from outside (telemetry). docs/counters.md says what each one means.
 */
#ifndef UROCE_ENGINE_COUNTERS_H
#define UROCE_ENGINE_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

struct engine;

#define ENGINE_COUNTERS(X)                                                                         \
	X(rx_packets)	  /* frames from the port */                                               \
	X(tx_packets)	  /* frames that the port took */                                          \
	X(tx_refused)	  /* frames that it left to a later round */                               \
	X(looped_packets) /* frames to addresses of our own */                                     \
	X(no_buffer)	  /* the port had no buffer for a frame */                                 \
	X(drop_no_qp)	  /* no QP has that number */                                              \
	X(handed_over)	  /* frames for a QP of another core */                                    \
	X(handover_full)  /* frames dropped because that core didn't keep up */                    \
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
	X(mac_changes)	  /* of live QPs' neighbours */                                            \
	X(link_downed)	  /* the port's link was lost */                                           \
	X(refused_full)	  /* posts that found the send queue full: clients count them */           \
	X(refused_strict) /* posts in RTR under the strict policy, likewise */

struct engine_counters {
#define X(name) uint64_t name;
	ENGINE_COUNTERS(X)
#undef X
};

extern const char *const engine_counter_names[sizeof(struct engine_counters) / 8];
/* By enum wire_drop; the first two are no drops. */
extern const char *const engine_drop_names[];
/* In the order of struct port_counters. */
extern const char *const engine_port_counter_names[];

/* Takes one counter. */
typedef void engine_tell(void *context, const char *name, uint64_t value);

/*
 * Tells all counters of the engine, summed over its cores, in the order of the API (uroce_
 * counter_name()). The engine stands still while they are added, and not while they are told. Any
 * thread that isn't inside a round.
 */
void engine_counters(struct engine *engine, engine_tell *tell, void *context);

#define ENGINE_HOLD_BUCKETS 12u

/* How often gates have held for how long: bucket n counts times below bound_us[n], from the bound
 * before it on. The last one is open. */
struct engine_hold_histogram {
	uint64_t bound_us[ENGINE_HOLD_BUCKETS];
	uint64_t count[ENGINE_HOLD_BUCKETS];
};
void engine_hold_histogram(struct engine *engine, struct engine_hold_histogram *histogram);

/* ---- QPs (inspect.c) ---- */

struct engine_qp_info {
	uint32_t qp_num;
	uint32_t core;
	const char *state; /* the transport's: "RTR" as long as the gate is closed */
	const char *shown; /* what query_qp says */
	const char *cause; /* of the gate's latest opening, or "none" */
	bool closed, armed, strict;
	uint32_t held_now;
	uint64_t held_ns; /* for so long; 0: nothing is held */
};

#define ENGINE_QPS_END UINT64_MAX

/*
 * Up to `room` QPs from a place on, which is 0 for the first and then what the last call left
 * there, until that is ENGINE_QPS_END. May give fewer, or none, before the end. Returns how many.
 */
unsigned int engine_qps(
	struct engine *engine, uint64_t *place, struct engine_qp_info *infos, unsigned int room);
/* One QP, and its share of the gate's counters. 0 or -ENOENT. */
int engine_qp(struct engine *engine, uint32_t qp_num, struct engine_qp_info *info,
	engine_tell *tell, void *context);

#endif
