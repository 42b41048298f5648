/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An engine for tests of the front: it makes rings and handles, answers commands, and moves
 * nothing. What a work request does is the test's to say: it takes the requests out of the queues
 * and puts completions and events in. Its door is the one that the front finds in this program.
 */
#ifndef UROCE_TESTS_VERBS_FAKE_H
#define UROCE_TESTS_VERBS_FAKE_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce/abi.h>

#include "door.h"

#define FAKE_OBJECTS 32u
#define FAKE_MAX_CQE 1024
#define FAKE_MAX_WR 64
#define FAKE_MAX_SGE 4
#define FAKE_MAX_INLINE 64
#define FAKE_GIDS 3 /* the table's length; index 1 is empty */
#define FAKE_GUID 0x1122334455667788ull

struct fake_send {
	struct uroce_abi_send_wqe wqe;
	uint8_t tail[1024];
};

struct fake_recv {
	struct uroce_abi_recv_wqe wqe;
	struct uroce_abi_sge sge[UROCE_ABI_MAX_SGE];
};

/* Engines of this process. Dedicated: a thread runs its rounds. */
struct engine *fake_create(const char *name, bool dedicated);
void fake_destroy(struct engine *engine);
/* What door->start() got last, NULL: it wasn't called. It makes an engine of this name. */
extern const char *fake_started_with;
extern const char *fake_start_name;
extern int fake_start_error;

/* Commands of this kind fail with this status (0: no more) until told otherwise. */
void fake_fail(struct engine *engine, uint32_t op, int status);
/* How many commands of this kind there were, and the last one's request. */
unsigned int fake_commands(const struct engine *engine, uint32_t op);
const struct uroce_abi_command *fake_last(const struct engine *engine, uint32_t op);
/* Contexts that are attached; live objects and keys of all of them. */
unsigned int fake_clients(const struct engine *engine);
unsigned int fake_objects(const struct engine *engine);
/* Threads that have a send ring. */
unsigned int fake_threads(const struct engine *engine);
/* Rounds that a front has driven. */
unsigned int fake_rounds(const struct engine *engine);

/* Of the only client: announcements taken so far, and the last one. */
unsigned int fake_announcements(struct engine *engine, uint32_t *last);
/* The next request of a queue, as the engine copies it; false: none. */
bool fake_take_send(struct engine *engine, uint32_t qp, struct fake_send *send);
bool fake_take_recv(struct engine *engine, uint32_t qp, struct fake_recv *recv);
bool fake_take_srq(struct engine *engine, uint32_t srq, struct fake_recv *recv);
/* A completion of the QP's next taken request; released: up to its position. */
void fake_complete_send(struct engine *engine, uint32_t qp, const struct uroce_abi_cqe *cqe);
void fake_complete_recv(struct engine *engine, uint32_t qp, const struct uroce_abi_cqe *cqe);
/* Into the context's asynchronous channel. */
void fake_event(struct engine *engine, uint32_t type, uint32_t object);
/* The door itself. */
extern const struct door uroce_engine_door;
/* The QP's receives must be announced from now on. */
void fake_flushing(struct engine *engine, uint32_t qp);

#endif
