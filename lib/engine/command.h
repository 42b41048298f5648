/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands of the region. Core 0 looks at one word a client and round; a command is copied once
 * into private memory, handed to the core that it concerns, run there, and answered. It runs under
 * the engine's control lock, between bursts of its core, so that whatever belongs to that core is
 * out of use meanwhile. What belongs to all of them is changed while no other core is in a round,
 * or waits for quiescent points afterwards.
 */
#ifndef UROCE_ENGINE_COMMAND_H
#define UROCE_ENGINE_COMMAND_H

#include "state.h"

/* A command isn't finished: it runs again next round. */
#define COMMAND_PENDING 1

/* Returns 0, -errno (then nothing has changed and the slot keeps the request), or COMMAND_PENDING.
 * The answer goes to command->abi. */
typedef int command_fn(struct worker *worker, struct command *command);

/* command_query.c */
command_fn command_query_device;
command_fn command_query_port;
command_fn command_query_gid;
/* command_pd.c */
command_fn command_alloc_pd;
command_fn command_dealloc_pd;
/* command_mem.c */
command_fn command_reg_mr;
command_fn command_rereg_mr;
command_fn command_dereg_mr;
command_fn command_alloc_mw;
command_fn command_dealloc_mw;
/* command_channel.c */
command_fn command_create_channel;
command_fn command_destroy_channel;
/* command_cq.c */
command_fn command_create_cq;
command_fn command_resize_cq;
command_fn command_destroy_cq;
/* command_srq.c */
command_fn command_create_srq;
command_fn command_modify_srq;
command_fn command_query_srq;
command_fn command_destroy_srq;
/* command_qp.c */
command_fn command_create_qp;
command_fn command_query_qp;
command_fn command_destroy_qp;
/* command_modify.c */
command_fn command_modify_qp;
/* command_ah.c */
command_fn command_create_ah;
command_fn command_destroy_ah;
/* command_thread.c */
command_fn command_attach_thread;
command_fn command_detach_thread;
/* command_hold.c */
command_fn command_qp_policy;
command_fn command_qp_arm;
command_fn command_qp_notify;
command_fn command_qp_counters;
/* command_counters.c */
command_fn command_counters;
/* command_memory.c */
command_fn command_alloc;
command_fn command_free;

/* Something is posted, pending, or mailed to this core. */
bool commands_wait(const struct worker *worker);
/* Runs what clients have posted and what is pending. */
void commands_run(struct worker *worker);
/* The client goes: its pending commands are dropped. */
void commands_cancel(struct client *client);

/* What client_destroy() does to what is left, in this order. */
void qp_vanish(struct worker *worker, struct engine_qp *qp);
void ah_vanish(struct client *client, struct engine_ah *ah, uint32_t handle);
void srq_vanish(struct client *client, struct engine_srq *srq);
void cq_vanish(struct client *client, struct engine_cq *cq);
void keys_vanish(struct client *client);
void pd_vanish(struct client *client, struct engine_pd *pd, uint32_t handle);
void channel_vanish(struct client *client, struct engine_channel *channel, uint32_t handle);
void memory_vanish(struct client *client);

#endif
