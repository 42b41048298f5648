/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine's state. Two kinds of it:
 *
 *   struct worker   one core's: only whoever has its token touches it, for one round at a time.
 *                   In inline mode that is any thread that drives; in dedicated mode the core, and
 *                   between its rounds whoever stops it (attach, detach, destroy).
 *   struct engine   what cores share: set up before the first round, or changed by commands under
 *                   the control lock, which the data path never takes.
 *
 * An engine has one core; what belongs to a core lies in struct worker, and a QP knows its own, so
 * that more of them change nothing in the files of the data path.
 */
#ifndef UROCE_ENGINE_STATE_H
#define UROCE_ENGINE_STATE_H

#include <pthread.h>
#include <sys/types.h>

#include "client.h"
#include "counters.h"
#include "engine.h"
#include "handle.h"
#include "limit.h"
#include "log.h"
#include "object.h"
#include "parse.h"
#include "qp_table.h"
#include "random.h"
#include "rc.h"
#include "scheduler.h"

#define ENGINE_CORES 1u

#define TX_BUFFERS 128u /* kept at hand for packets to come */
#define TX_BURST 32u	/* packets a QP and turn, unless configured */
#define TX_QUEUE 256u	/* packets that wait for the port */
#define LOOP_QUEUE 256u /* packets a round to addresses of our own */

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
	struct list touched;	/* struct engine_cq */
	struct list failed;
	struct list kept;    /* struct engine_channel */
	struct list pending; /* struct command */
	uint64_t service_due;
	bool asked; /* a neighbour, in this round */
	struct refresh refresh;
	uint64_t drops[WIRE_DROPS];
	struct engine_counters counters;
	struct log_limit log;

	struct packet buffers[TX_BUFFERS];
	struct packet waiting[TX_QUEUE];
	struct loopback loopback;
	struct port_info info; /* as last seen, to tell what has changed */

	uint32_t token UROCE_ABI_ALIGNED; /* atomic; 1: a round is under way */
};

struct engine {
	char name[64];
	enum engine_mode mode;
	struct port *port;
	uint64_t (*clock)(void *context);
	void *clock_context;
	uint32_t max_qp;
	uint32_t max_mr;
	uint64_t region_size;
	bool memfd_regions;
	pid_t process; /* a child of fork() has no engine */

	struct worker *workers[ENGINE_CORES];
	struct mem_table *mem;
	struct qp_table qps;

	pthread_mutex_t control;  /* for what follows, and for changes of what is above */
	struct random random;	  /* QP numbers */
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

/* Between rounds: takes the workers' tokens, and sets their clocks. Any thread that isn't inside a
 * round. Pairs with engine_resume(). */
void engine_pause(struct engine *engine);
void engine_resume(struct engine *engine);

#endif
