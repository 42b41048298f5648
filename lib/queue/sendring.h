/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Send rings: how a post tells the engine core which QP has work. A post announces its QP once,
 * until the core has taken the announcement. Each posting thread has one single-producer rte_ring
 * per core, made at its first post, because in every multi-producer mode of rte_ring a preempted
 * producer hides all later entries from the consumer; the core goes round the rings by a bitmap.
 *
 * Announcing and parking is store buffering (blueprint "Barriers"):
 *   poster: publish the slot;             atomic exchange announced <- 1;  if it was 0: enqueue
 *   core:   dequeue; atomic exchange announced <- 0;  look at the queue
 * The exchanges are full barriers and pair with each other.
 *
 * So is sleeping and waking, by the core's word in the region's header:
 *   poster: announce;          sendring_wakes(): exchange asleep <- 0;  if it was 1: wake the core
 *   core:   sendring_sleep():  exchange asleep <- 1;  look at all rings once more; sleep
 *
 * One core attaches, detaches and takes; nothing here is for two threads at once but the rings.
 */
#ifndef UROCE_QUEUE_SENDRING_H
#define UROCE_QUEUE_SENDRING_H

#include <stdbool.h>
#include <stdint.h>

#include "region.h"

#define SENDRING_MAX 1024u /* posting threads per client and core */

/* An announcement: which queue of which QP. */
#define SENDRING_RECV 0x80000000u /* the receive queue (only in ERR); otherwise the send queue */

/* ---- the engine's side: the rings of one client on one core ---- */
struct sendring_set;

/* quota: QPs that the client may have on this core; each ring holds two announcements per QP, so an
 * honest announcement never fails. hostile: the client can write the ring (another process): the
 * engine keeps geometry and positions on its side. 0, -ENOMEM. */
int sendring_set_create(
	struct region *region, uint32_t quota, bool hostile, struct sendring_set **set);
void sendring_set_destroy(struct region *region, struct sendring_set *set);
/* A thread attaches: its ring. 0, -ENOMEM, -EAGAIN if SENDRING_MAX are in use. */
int sendring_attach(
	struct region *region, struct sendring_set *set, uroce_abi_ref *ring, uint32_t *bit);
/* The thread left. What it had announced is still taken; its ring goes when it is empty. 0 or
 * -EINVAL: no such thread. */
int sendring_detach(struct region *region, struct sendring_set *set, uint32_t bit);
/* Takes up to `count` announcements, round robin over the rings. Every value is the client's word:
 * the caller checks that the handle is that client's QP. */
uint32_t sendring_take(struct sendring_set *set, uint32_t *announcements, uint32_t count);
/* How many rings there are, for leak checks: all of one client are of one size. */
uint32_t sendring_count(const struct sendring_set *set);
/* Anything announced? For the look before sleep. */
bool sendring_empty(const struct sendring_set *set);
/* Before sleep (look once more afterwards) and after it. */
void sendring_sleep(struct uroce_abi_header *header, uint32_t core);
void sendring_awake(struct uroce_abi_header *header, uint32_t core);
/* The core took the announcement: clears the flag (full barrier). The caller then reads the queue.
 */
void sendring_taken(struct uroce_abi_ring *queue);

/* ---- the front's side ---- */

struct sendring_front {
	void *ring; /* the rte_ring in this side's view */
};

int sendring_front_init(
	struct sendring_front *front, const struct region_view *view, uroce_abi_ref ring);
/* Step 4 of posting; queue: the SQ's (or RQ's) ring. Only the thread that owns the front. True:
 * this call announced it, so the caller looks whether the core sleeps, by sendring_wakes(). */
bool sendring_announce(
	struct sendring_front *front, struct uroce_abi_ring *queue, uint32_t announcement);
/* True: the core sleeps, and it is the caller who wakes it (one of those who ask is told so). Also
 * after a command was posted. Full barrier. */
bool sendring_wakes(struct uroce_abi_header *header, uint32_t core);

#endif
