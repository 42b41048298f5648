/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine's state. Two kinds of it:
 *
 *   struct worker   one core's: only whoever has its token touches it, for one round at a time.
 *                   That is the core's own thread, or, if it has none, any thread that drives;
 *                   and between rounds whoever stops it (attach, detach, destroy, exclusive
 *                   commands).
 *   struct engine   what cores share: set up before the first round, or changed by commands under
 *                   the control lock, which the data path never takes.
 *
 * What belongs to a QP belongs to its core: the numbers and handles of QPs carry their core's
 * number in their lowest bits, so that each core has tables of its own for them, and whoever sees
 * one knows where it belongs (core.h).
 */
#ifndef UROCE_ENGINE_STATE_H
#define UROCE_ENGINE_STATE_H

#include <pthread.h>
#include <sys/types.h>

#include "client.h"
#include "core.h"
#include "counters.h"
#include "engine.h"
#include "handle.h"
#include "handover.h"
#include "limit.h"
#include "log.h"
#include "object.h"
#include "parse.h"
#include "qp_table.h"
#include "random.h"
#include "rc.h"
#include "scheduler.h"
#include "sleep.h"

_Static_assert(CORES_MAX == UROCE_ABI_MAX_CORES, "a CQ has a ring for each core");

#define TX_BUFFERS 128u /* kept at hand for packets to come */
#define TX_BURST 32u	/* packets a QP and turn, unless configured */
#define TX_QUEUE 256u	/* packets that wait for the port */
#define LOOP_QUEUE 256u /* packets a round to addresses of our own */
#define HANDOVERS 1024u /* packets on their way from one core to another */

/* Packets to own addresses: filled by this round's scheduler, delivered by the next round. */
struct loopback {
	struct packet packets[2][LOOP_QUEUE];
	uint32_t filling; /* 0 or 1 */
};

/* The walk over QPs after a neighbour's MAC may have changed, a few a round. */
struct refresh {
	uint32_t epoch; /* the port's, as last seen */
	uint32_t next;
	uint32_t left;
};

struct worker {
	struct rc_core core; /* first, so that the transport's callbacks find the worker */
	struct engine *engine;
	uint32_t number;
	uint16_t queue;
	uint32_t budget; /* packets a QP and turn */
	struct outlet to_port;
	struct outlet to_self;
	struct outlet flushing; /* QPs in ERR */
	struct qp_table qps;
	struct list touched; /* struct cq_share */
	struct list failed;
	struct list kept;    /* struct channel_share */
	struct list pending; /* struct command: they run every round until they are done */
	uint64_t service_due;
	bool asked; /* a neighbour, in this round */
	struct refresh refresh;
	uint64_t drops[WIRE_DROPS];
	struct engine_counters counters;
	struct log_limit log;

	struct packet buffers[TX_BUFFERS];
	struct packet waiting[TX_QUEUE];
	struct loopback loopback;
	struct port_info info;		     /* as last seen, to tell what has changed */
	struct handover *inbound[CORES_MAX]; /* by the core that gives; NULL: itself, or none */

	/* Commands and failed CQs that other cores have put here, under the control lock. */
	struct list inbox;	  /* struct command */
	struct list inbox_failed; /* struct cq_share, by mail */

	uint32_t token UROCE_ABI_ALIGNED; /* atomic; 1: a round is under way */
	uint32_t rounds;		  /* atomic; how many have ended */
	uint32_t mail;			  /* atomic; 1: look into the inboxes */
	uint32_t driven;		  /* atomic; rounds by others than who serves it */
	struct sleep sleep UROCE_ABI_ALIGNED;
};

struct engine {
	char name[64];
	uint32_t dedicated; /* cores that have a thread each, the first ones; others are driven */
	struct serve *progress; /* atomic; the driven ones' progress thread, or NULL */
	struct port *port;
	uint64_t (*clock)(void *context);
	void *clock_context;
	uint32_t max_qp;
	uint32_t max_mr;
	uint64_t region_size;
	bool memfd_regions;
	pid_t process; /* a child of fork() has no engine */

	struct cores cores;
	struct worker *workers[CORES_MAX];
	struct mem_table *mem;

	pthread_mutex_t control;  /* for what follows, and for changes of what is above */
	struct random random;	  /* QP numbers */
	uint32_t qp_count;	  /* of all cores */
	struct handle_table pds;  /* numbers of protection domains */
	struct engine_key **keys; /* by index */
	struct list clients;	  /* changed only while all workers are paused */
	uint32_t client_count;
	uint32_t next_client;
	struct list node; /* in the door's list */

	uint32_t stopping UROCE_ABI_ALIGNED; /* atomic; how many want the workers' tokens */
};

static inline struct worker *to_worker(struct rc_core *core)
{
	return (struct worker *)(void *)core;
}

#define for_each_worker(each, engine)                                                              \
	for (struct worker *const *each##_at = (engine)->workers, *each;                           \
		each##_at < (engine)->workers + (engine)->cores.count && (each = *each##_at);      \
		each##_at++)

/* Between rounds: takes the workers' tokens, and sets their clocks. Any thread that isn't inside a
 * round. Pairs with engine_resume(). */
void engine_pause(struct engine *engine);
void engine_resume(struct engine *engine);

/*
 * The same from inside a round of core 0, which has its own token already: nobody but core 0 takes
 * several tokens, and all others take them in ascending order, so that none waits for the other.
 * The caller doesn't hold the control lock, which the others' rounds may want.
 */
void engine_hold_others(struct engine *engine);
void engine_release_others(struct engine *engine);

#endif
