/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The oracle: knows verbs' semantics and nothing of how uroce works. It is told what was posted and
 * what completed, keeps a shadow of all memory, and says what must not be:
 *
 *  - every signaled request completes exactly once, in the order posted, and an unsignaled one only
 *    if it failed;
 *  - after the first failure of a QP everything else is flushed;
 *  - the n-th message that takes a receive request at the peer completes the n-th receive of that
 *    QP, with its length, immediate and bytes; receives of a QP's own queue complete in order;
 *  - after a request has succeeded its bytes are where they belong; at the end nothing else has
 *    changed anywhere, by a request that had to be refused least of all;
 *  - WRITEs take effect in order; a READ sees all earlier WRITEs, perhaps later ones, but none from
 *    the next fence on (IBTA 10.8.3.3);
 *  - atomics ran exactly once, in order;
 *  - while a gate is closed nothing of its requests is seen.
 *
 * A flow is one direction of a connection, from its making to its end: the requests of one QP and
 * the receives of the other.
 */
#ifndef UROCE_TESTS_ORACLE_H
#define UROCE_TESTS_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#define ORACLE_ARENAS 8u

struct oracle_request {
	uint64_t wr_id;
	enum ibv_wr_opcode opcode;
	bool signaled;
	bool fence;
	bool solicited;
	uint32_t length;
	uint32_t imm_or_rkey;  /* as verbs has it */
	const uint8_t *bytes;  /* SEND, WRITE: what is sent; copied here */
	uint8_t *target;       /* WRITE: in the peer's arena; READ, atomic: in the own */
	const uint8_t *source; /* READ: in the peer's arena */
	uint8_t *word;	       /* atomic: in the peer's arena, used by this flow alone */
	uint64_t compare_add, swap;
	bool board; /* a WRITE to, or READ from, the flow's board, which other requests write, too
		     */
	enum ibv_wc_status must_fail; /* or IBV_WC_SUCCESS */
};

struct oracle;
struct oracle_flow;

struct oracle *oracle_create(void);
void oracle_destroy(struct oracle *oracle);
/* Memory whose every byte is accounted for, as it is now. */
void oracle_watch(struct oracle *oracle, uint8_t *arena, uint32_t length);
/* The program itself writes its memory. */
void oracle_wrote(struct oracle *oracle, const uint8_t *at, uint32_t length);
/* srq: its receives are an SRQ's; share: another flow that has the same one, or NULL. */
struct oracle_flow *oracle_flow(
	struct oracle *oracle, uint32_t number, bool srq, const struct oracle_flow *share);
/* The memory at the peer that this flow alone WRITEs and READs, as it is now. */
void oracle_board(struct oracle_flow *flow, const uint8_t *board, uint32_t length);

void oracle_posted(struct oracle_flow *flow, const struct oracle_request *request);
/* A receive of the flow's receiving QP or of its SRQ; the same number names it in its completion.
 */
void oracle_recv_posted(struct oracle_flow *flow, uint64_t wr_id, uint8_t *buffer, uint32_t length);
void oracle_send_completed(struct oracle_flow *flow, const struct ibv_wc *wc);
/* Returns whether the message was sent as a solicited one. */
bool oracle_recv_completed(struct oracle_flow *flow, const struct ibv_wc *wc);
/* The gate of the flow's sending QP. */
void oracle_gate(struct oracle_flow *flow, bool closed);
bool oracle_closed(const struct oracle_flow *flow);
/* From now on the connection may break. lossy: the NAK that tells why may be lost, too. */
void oracle_may_break(struct oracle_flow *flow, bool lossy);
/* The sending QP is reset or gone: what has not completed never will. */
void oracle_vanished(struct oracle_flow *flow);
/* The receiving QP is in ERR: all its receives have to come back. */
void oracle_recv_flushed(struct oracle_flow *flow);
/* It is reset or gone. */
void oracle_recv_vanished(struct oracle_flow *flow);
/* Has everything that was posted come to its end? */
bool oracle_settled(const struct oracle_flow *flow);
/* A post by the flow would add to this many requests that have not completed. */
uint32_t oracle_outstanding(const struct oracle_flow *flow);
/* A request has ended with this status. */
bool oracle_saw(const struct oracle_flow *flow, enum ibv_wc_status status);

/* What others have found. */
void oracle_complain(struct oracle *oracle, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The last look, when nothing moves any more. */
void oracle_finish(struct oracle *oracle);
/* What was wrong first, or NULL; how many things were. */
const char *oracle_complaint(const struct oracle *oracle);
uint32_t oracle_complaints(const struct oracle *oracle);
/* How many requests and receives were judged, so that an idle run is noticed. */
uint64_t oracle_judged(const struct oracle *oracle);

#endif
