/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tests of the gate share: a rig whose QP holds, packets that may be the first one, and
 * the ways to open it. Rig 1 is the passive side; its peer's PSNs start at 0x200.
 */
#ifndef UROCE_TESTS_RC_HOLD_RIG_H
#define UROCE_TESTS_RC_HOLD_RIG_H

#include <stdio.h>

#include "rig.h"
#include "unit.h"

#define US 1000ull
#define MS (1000 * US)
#define SECOND (1000 * MS)

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A counter of the gate, which the core and the QP keep alike: a rig has one QP. */
#define ASSERT_COUNTED(rig, name, value)                                                           \
	do {                                                                                       \
		CU_ASSERT_EQUAL((rig)->core.hold_counters.name, (value));                          \
		CU_ASSERT_EQUAL(rc_qp_hold_counters((rig)->qp)->name, (value));                    \
	} while (0)

/* As CUnit's assertions, with the row of the table that failed. */
#define ASSERT_ROW(condition, row)                                                                 \
	do {                                                                                       \
		bool right_ = (condition);                                                         \
		CU_ASSERT(right_);                                                                 \
		if (!right_)                                                                       \
			fprintf(stderr, "%s:%d: %s: %s\n", __func__, __LINE__, row, #condition);   \
	} while (0)

/* Posts n SENDs of 16 bytes, wr_id from 1 on in the order of posting, and announces them. */
void hold_post(struct rig *rig, uint32_t n);
/* Of another kind: what is remote lies in the peer's memory, 16 bytes (atomics: 8) at `remote`. */
struct rig_send *hold_post_one(
	struct rig *rig, const struct rig *peer, enum ibv_wr_opcode opcode, uint32_t remote);

bool hold_closed(struct rig *rig);
uint32_t hold_held_now(struct rig *rig);
int hold_cause(struct rig *rig);
/* All openings that were counted. */
uint64_t hold_promotions(const struct rc_hold_counters *counters);
/* held = released + flushed + vanished + held now, in the core's and the QP's counters. */
void hold_assert_sum(struct rig *rig);

/* Attributes that arm: SQ PSN as rig_attr() has it, time-out 14, both retries 7, depth 16. */
struct rc_arm hold_arm(const struct rig *rig);
/* RESET to RTR, armed, the CM's. */
void hold_to_cm_rtr(struct rig *rig);
/* modify to RESET, which empties the queues. */
void hold_reset(struct rig *rig);
/* Destroys the QP; another one takes its place in the rig. */
void hold_destroy(struct rig *rig);
/* The move to RTS as its owner makes it. */
int hold_modify_rts(struct rig *rig);

/* A valid request from the peer with the PSN that is expected; 16 bytes, or what the opcode wants.
 */
struct rig_packet hold_request(const struct rig *rig, uint8_t opcode);
/* A SEND of 16 bytes, for which a receive is posted first. */
void hold_first_send(struct rig *rig);

/* How many packets sent so far are requests. */
uint32_t hold_requests_sent(const struct rig *rig);
/* The requests that were sent carry these PSNs, one packet each, from `psn` on. */
void hold_assert_psns(const struct rig *rig, uint32_t psn, uint32_t count);
/* The peer acknowledges everything up to this PSN. */
void hold_ack(struct rig *rig, uint32_t psn);

/* How an opening may come about. */
struct hold_way {
	const char *name;
	enum rc_hold_cause cause;
	bool cm; /* only on a QP that the CM owns */
	void (*open)(struct rig *rig);
};
extern const struct hold_way hold_ways[];
extern const unsigned int hold_way_count;

#endif
