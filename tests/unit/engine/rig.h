/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engines over a wire in memory, with a clock that the test owns, and fronts that know nothing but
 * the door, the region's layout and lib/queue. What an application does by hundreds of lines of
 * libibverbs is done here by a few calls; every one that cannot go wrong in a test ends it if it
 * does.
 */
#ifndef UROCE_TESTS_ENGINE_RIG_H
#define UROCE_TESTS_ENGINE_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce/abi.h>

#include "cq.h"
#include "door.h"
#include "engine.h"
#include "eventring.h"
#include "loop.h"
#include "sendring.h"
#include "state.h"
#include "unit.h"
#include "wq.h"

#define RIG_ENDS 2u
#define RIG_ADDRESS 0x0a000001u /* of the first end; the others follow */
#define MS 1000000ull

struct rig;

/* An attached client and its one posting thread, which has a ring at each core. */
struct front {
	struct rig *rig;
	struct client *client;
	struct region_view view;
	struct uroce_abi_header *header;
	struct uroce_abi_command *slots;
	struct cores cores;
	struct sendring_front ring[CORES_MAX];
	uint32_t ring_bit; /* at core 0 */
	uint32_t pd;
};

struct rig {
	uint64_t now;
	struct loop_wire *wire;
	struct port *ports[RIG_ENDS];
	struct engine *engines[RIG_ENDS];
	struct front fronts[RIG_ENDS]; /* one on each */
};

struct front_cq {
	uint32_t handle;
	struct cq_front cq;
};

struct front_qp {
	uint32_t handle;
	uint32_t qp_num;
	struct wq_front sq;
	struct wq_front rq;
	struct front_cq *send_cq;
	struct front_cq *recv_cq;
};

struct front_channel {
	uint32_t handle;
	int fd;
	struct eventring_front events;
};

/* Two engines in inline mode, a front on each with a PD, and a wire between them. */
void rig_open(struct rig *rig);
/* The same with a wire and engines as the test wants them; both may be NULL. */
void rig_open_with(
	struct rig *rig, const struct loop_config *wire, const struct engine_config *engine);
/* Detaches, destroys, and checks that no buffer and no key is left. */
void rig_close(struct rig *rig);
/* A round of each engine; returns packets moved. */
unsigned int rig_round(struct rig *rig);
/* Rounds, and steps of time from event to event, until nothing is to be done or `until` is over. */
void rig_run(struct rig *rig, uint64_t until);
struct worker *rig_worker(struct rig *rig, unsigned int end);

void front_attach(struct rig *rig, unsigned int end, struct front *front);
void front_detach(struct front *front);

/* Posts into a slot and returns; then waits (rounds, no time passes): false if it isn't done. */
void front_post(struct front *front, uint32_t slot, const struct uroce_abi_command *command);
bool front_done(struct front *front, uint32_t slot, struct uroce_abi_command *command);
/* Both. The status. */
int front_command(struct front *front, struct uroce_abi_command *command);
/* A command without arguments but an object. */
int front_simple(struct front *front, enum uroce_abi_op op, uint32_t object);

uint32_t front_alloc_pd(struct front *front);
uint32_t front_reg_mr(struct front *front, void *at, uint64_t length, uint32_t access);
struct front_cq front_create_cq(struct front *front, uint32_t cqe, uint32_t channel);
struct front_channel front_create_channel(struct front *front, bool asynchronous);
void front_close_channel(struct front_channel *channel); /* its descriptor */
uint32_t front_create_srq(struct front *front, uint32_t max_wr, struct wq_front *srq);
/* One CQ for both directions. Depth 64, four SGEs, 64 bytes inline. */
struct front_qp front_create_qp(struct front *front, struct front_cq *cq);
struct front_qp front_create_qp_srq(struct front *front, struct front_cq *cq, uint32_t srq);
/* The request as the calls above make it, for tests that change something in it. */
struct uroce_abi_command front_qp_request(const struct front *front, uint32_t cq, uint32_t srq);

/* ibv_modify_qp with the usual attributes. */
int front_to_init(struct front *front, const struct front_qp *qp);
int front_to_rtr(struct front *front, const struct front_qp *qp, uint32_t address, uint32_t qp_num);
int front_to_rts(struct front *front, const struct front_qp *qp);
int front_to_state(struct front *front, const struct front_qp *qp, enum ibv_qp_state state);
/* What front_to_rtr() asks for. */
struct uroce_abi_command front_rtr_request(
	const struct front_qp *qp, uint32_t address, uint32_t qp_num);
enum ibv_qp_state front_state(struct front *front, const struct front_qp *qp);
/* RESET to RTS, both sides; fails the test if anything fails. */
void front_connect(struct front *a, const struct front_qp *qp_a, uint32_t address_a,
	struct front *b, const struct front_qp *qp_b, uint32_t address_b);

/* Posts one request with one SGE or none (length 0); announces it. False: full. */
bool front_send(struct front *front, struct front_qp *qp, const struct uroce_abi_send_wqe *wqe,
	const void *at, uint32_t length, uint32_t lkey);
bool front_recv(struct front *front, struct front_qp *qp, uint64_t wr_id, const void *at,
	uint32_t length, uint32_t lkey);
bool front_srq_recv(
	struct wq_front *srq, uint64_t wr_id, const void *at, uint32_t length, uint32_t lkey);
/* The next completion; releases its slots. */
bool front_poll(struct front_qp *qp, struct uroce_abi_cqe *cqe);
/* The next event, without waiting: its type, or UINT32_MAX - 1: none. */
#define NO_EVENT (UINT32_MAX - 1)
uint32_t front_event(struct front_channel *channel, uint32_t *object);

#endif
