/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The oracle: knows verbs' semantics and nothing of how uroce works. It is told what was posted and
 * what completed, keeps a shadow of all memory, and says what must not be:
 *
 *  - every signaled request completes exactly once, in the order posted, and an unsignaled one only
 *    if it failed;
 *  - after the first failure of a QP everything else is flushed;
 *  - the n-th message that takes a receive request at the peer completes the n-th receive of that
 *    QP, with its length, immediate and bytes;
 *  - after a request has succeeded its bytes are where they belong; at the end nothing else has
 *    changed anywhere;
 *  - atomics ran exactly once, in order;
 *  - while a gate is closed nothing of its requests is seen.
 *
 * A flow is one direction of a connection: the requests of one QP and the receives of the other.
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
	uint32_t length;
	uint32_t imm_or_rkey;  /* as verbs has it */
	const uint8_t *bytes;  /* SEND, WRITE: what is sent; copied here */
	uint8_t *target;       /* WRITE: in the peer's arena; READ, atomic: in the own */
	const uint8_t *source; /* READ: in the peer's arena, which nobody writes */
	uint8_t *word;	       /* atomic: in the peer's arena, used by this flow alone */
	uint64_t compare_add, swap;
	bool must_fail; /* a wrong R_Key: has to end with REM_ACCESS_ERR */
};

struct oracle;
struct oracle_flow;

struct oracle *oracle_create(void);
void oracle_destroy(struct oracle *oracle);
/* Memory whose every byte is accounted for, as it is now. */
void oracle_watch(struct oracle *oracle, uint8_t *arena, uint32_t length);
/* The program itself writes its memory. */
void oracle_wrote(struct oracle *oracle, const uint8_t *at, uint32_t length);
/* share: a flow whose receives these are, too (an SRQ); or NULL. */
struct oracle_flow *oracle_flow(
	struct oracle *oracle, uint32_t number, const struct oracle_flow *share);

void oracle_posted(struct oracle_flow *flow, const struct oracle_request *request);
/* A receive of the flow's receiving QP or of its SRQ; the same number names it in its completion.
 */
void oracle_recv_posted(struct oracle_flow *flow, uint64_t wr_id, uint8_t *buffer, uint32_t length);
void oracle_send_completed(struct oracle_flow *flow, const struct ibv_wc *wc);
void oracle_recv_completed(struct oracle_flow *flow, const struct ibv_wc *wc);
/* The gate of the flow's sending QP. */
void oracle_gate(struct oracle_flow *flow, bool closed);
/* From now on the connection may break. lossy: the NAK that tells why may be lost, too. */
void oracle_may_break(struct oracle_flow *flow, bool lossy);
/* Has everything that was posted come to its end? */
bool oracle_settled(const struct oracle_flow *flow);
/* A post by the flow would add to this many requests that have not completed. */
uint32_t oracle_outstanding(const struct oracle_flow *flow);

/* The last look, when nothing moves any more. */
void oracle_finish(struct oracle *oracle);
/* What was wrong first, or NULL; how many things were. */
const char *oracle_complaint(const struct oracle *oracle);
uint32_t oracle_complaints(const struct oracle *oracle);
/* How many requests and receives were judged, so that an idle run is noticed. */
uint64_t oracle_judged(const struct oracle *oracle);

#endif
