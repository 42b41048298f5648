/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tests of the transport say most often: a QP in RTS, a post, an answer from the peer, and
 * what was sent or completed. The functions that judge say what they found where they refuse; the
 * macros make assertions of them.
 *
 * In an ordinary connection rig 1 sends from PSN 0x100 on, and its peer from 0x200.
 */
#ifndef UROCE_TESTS_RC_EXPECT_H
#define UROCE_TESTS_RC_EXPECT_H

#include <stdio.h>
#include <string.h>

#include "qp.h"
#include "rig.h"
#include "unit.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define US 1000ull
#define MS (1000 * US)
#define SECOND (1000 * MS)

/* Where requests of rig 1 point to: memory of nobody, as the packets are only looked at. */
#define REMOTE 0x11223344000ull
#define REMOTE_KEY 0xaabbcc01u

/* ---- set-up ---- */

/* The attributes of rig_attr(). */
struct ibv_qp_attr attr_of(uint32_t number);
/* Opens the rig and goes to RTS; attr: NULL for the ordinary ones. */
void open_rts(struct rig *rig, uint32_t number, const struct ibv_qp_attr *attr);
/* From RESET to RTS with these attributes. */
void to_rts(struct rig *rig, const struct ibv_qp_attr *attr);
/* RTS to SQD and back. */
void to_sqd(struct rig *rig, bool notify);
int back_to_rts(struct rig *rig);
int to_state(struct rig *rig, enum ibv_qp_state state);
/* Fills the rig's memory with bytes that differ from their neighbours near and far. */
void fill(struct rig *rig);

/* ---- the owner posts ---- */

/* From the start of the rig's memory to REMOTE; atomics have 8 bytes whatever `length` says. */
struct rig_send *put(struct rig *rig, enum ibv_wr_opcode opcode, uint64_t wr_id, uint32_t length);
/* Announces what was put, and runs. */
void go(struct rig *rig);

/* ---- the peer answers; each runs the rig afterwards ---- */

void ack(struct rig *rig, uint32_t psn);
void nak(struct rig *rig, uint32_t psn, uint8_t syndrome);
void read_response(struct rig *rig, uint8_t opcode, uint32_t psn, uint32_t length);
void atomic_ack(struct rig *rig, uint32_t psn, uint64_t original);
/* A request, or whatever is in the struct. */
#define HEAR(rig, ...)                                                                             \
	do {                                                                                       \
		rig_receive(rig, &(struct rig_packet){__VA_ARGS__});                               \
		rig_run(rig);                                                                      \
	} while (0)

/* ---- the peer asks ---- */

/* Where it writes and reads, in the rig's memory. */
#define PLACE 4096u

uint64_t place(const struct rig *rig);
/* A request as it should be: AckReq, at PLACE, by the rig's key, immediate 0xd1d2d3d4; 16 bytes, or
 * a whole packet of 512 if the opcode is FIRST or MIDDLE. */
struct rig_packet request(const struct rig *rig, uint8_t opcode, uint32_t psn);
/* Receives the packet and runs. */
void hear(struct rig *rig, struct rig_packet packet);
/* Receives of 4 KiB each at the start of the memory; wr_id from 1 on. */
void receives(struct rig *rig, uint32_t n);

/* ---- judging ---- */

bool is_sent(const struct rig *rig, uint32_t n, uint8_t opcode, uint32_t psn);
bool is_answer(const struct rig *rig, uint32_t n, uint8_t syndrome, uint32_t psn, uint32_t msn);
bool is_done(const struct rig *rig, uint32_t n, uint64_t wr_id, enum ibv_wc_status status);
bool is_received(const struct rig *rig, uint32_t n, uint64_t wr_id, enum ibv_wc_status status,
	uint32_t byte_len);
bool is_event(const struct rig *rig, uint32_t n, enum ibv_event_type type);
bool is_number(uint64_t found, uint64_t expected);

/* The n-th packet sent. */
#define SENT(rig, n, opcode, psn) CU_ASSERT(is_sent(rig, n, opcode, psn))
/* The n-th packet sent, an ACK or NAK. */
#define ANSWER(rig, n, syndrome, psn, msn) CU_ASSERT(is_answer(rig, n, syndrome, psn, msn))
#define SENT_COUNT(rig, n) CU_ASSERT(is_number((rig)->sent_count, n))
/* The n-th completion of the send queue, and of the receive queue. */
#define DONE(rig, n, wr_id, status) CU_ASSERT(is_done(rig, n, wr_id, status))
#define DONE_COUNT(rig, n) CU_ASSERT(is_number(rig_count(rig, RIG_SEND_DONE), n))
#define RECEIVED(rig, n, wr_id, status, byte_len)                                                  \
	CU_ASSERT(is_received(rig, n, wr_id, status, byte_len))
#define RECEIVED_COUNT(rig, n) CU_ASSERT(is_number(rig_count(rig, RIG_RECV_DONE), n))
#define EVENT(rig, n, type) CU_ASSERT(is_event(rig, n, type))
#define EVENT_COUNT(rig, n) CU_ASSERT(is_number(rig_count(rig, RIG_EVENT), n))
#define COUNTED(rig, name, n) CU_ASSERT(is_number((rig)->core.counters.name, n))
#define STATE(rig, state) CU_ASSERT_EQUAL(rc_qp_state((rig)->qp), state)
#define SAME(found, expected) CU_ASSERT(is_number(found, expected))

/* As CU_ASSERT, and says which row of a table failed. */
#define ROW(condition, row)                                                                        \
	do {                                                                                       \
		bool right_ = (condition);                                                         \
		CU_ASSERT(right_);                                                                 \
		if (!right_)                                                                       \
			fprintf(stderr, "\n    row %u: %s\n", (unsigned int)(row), #condition);    \
	} while (0)

#endif
