/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One QP on one core, with everything around it in the test's hands: time, packets, queues. What
 * the QP sends, completes and raises is recorded in order. Two rigs make a connection:
 * rig_deliver() carries what one has sent to the other, and a filter in between may lose or change
 * it.
 */
#ifndef UROCE_TESTS_RC_RIG_H
#define UROCE_TESTS_RC_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include "rc.h"

#define RIG_FRAME 4400u
#define RIG_SENT 4096u
#define RIG_MEMORY (1u << 20)
#define RIG_QUEUE 8192u
#define RIG_MTU IBV_MTU_256

struct rig_frame {
	uint32_t length;
	uint8_t data[RIG_FRAME];
};

struct rig_send {
	struct rc_send send;
	uint8_t tail[512];
};

/* In the order they happened, of all kinds together. */
enum rig_what { RIG_SENT_PACKET, RIG_SEND_DONE, RIG_RECV_DONE, RIG_EVENT, RIG_STATE, RIG_OPENED };

struct rig_record {
	enum rig_what what;
	struct rc_completion completion; /* SEND_DONE, RECV_DONE */
	int value;			 /* EVENT: type; STATE; OPENED: cause; SENT_PACKET: index */
};

#define RIG_SGES 32u /* of a receive */

struct rig {
	struct rc_core core;
	struct rc_qp *qp;
	struct mem_table *mem;
	uint8_t *memory; /* RIG_MEMORY bytes, registered with all access */
	uint32_t key;
	uint32_t number; /* 1 or 2: which end; 10.0.0.number or fd99::number, QPN 0x100 + number */
	bool ipv6;	 /* of paths and packets from now on */
	bool active;	 /* activate() was called since the last rig_run() */

	struct rig_send *sends; /* posted and not taken: [taken, posted) */
	uint32_t sends_posted, sends_taken;
	struct rc_recv *recvs;
	struct mem_sge *recv_sges; /* RIG_SGES each */
	uint32_t recvs_posted, recvs_taken;
	bool invalid_recv; /* the next one is delivered as invalid */

	struct packet free[64];
	struct packet out[64];
	uint8_t *buffers;

	struct rig_frame *sent; /* every packet made, in order */
	uint32_t sent_count;
	uint32_t delivered; /* how many rig_deliver() has carried */

	struct rig_record *records;
	uint32_t record_count;
};

struct rig_options {
	bool strict;
	bool has_srq;
	bool ipv6;
	uint32_t sq_depth;	/* 0: 64 */
	uint32_t max_rd_atomic; /* 0: 16 */
	uint32_t recv_pd;	/* 0: the QP's own */
};

void rig_open(struct rig *rig, uint32_t number, const struct rig_options *options);
void rig_close(struct rig *rig);

/* The attributes of an ordinary connection between rig 1 and rig 2 (PSNs 0x100 x number); masks are
 * the required ones. Change *attr between fill and modify as a test needs. */
void rig_attr(const struct rig *rig, struct ibv_qp_attr *attr);
int rig_modify(struct rig *rig, const struct ibv_qp_attr *attr, int mask);
#define RIG_INIT_MASK (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define RIG_RTR_MASK                                                                               \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |            \
		IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RIG_RTS_MASK                                                                               \
	(IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |     \
		IBV_QP_MAX_QP_RD_ATOMIC)
#define RIG_ARM_MASK (RIG_RTR_MASK | RIG_RTS_MASK)
void rig_to_init(struct rig *rig);
void rig_to_rtr(struct rig *rig);	/* from RESET; not armed */
void rig_to_armed_rtr(struct rig *rig); /* from RESET */
void rig_to_rts(struct rig *rig);	/* from RESET */

/* Posts; addresses are offsets into the rig's memory, remote ones into the peer's. The returned
 * slot may be changed before rig_announce(). */
struct rig_send *rig_post(struct rig *rig, enum ibv_wr_opcode opcode, uint64_t wr_id,
	uint32_t local, uint32_t length, uint32_t remote, uint32_t rkey);
void rig_announce(struct rig *rig); /* rc_posted() */
void rig_post_recv(struct rig *rig, uint64_t wr_id, uint32_t local, uint32_t length);

/* rc_transmit() until there is nothing more to do now. */
void rig_run(struct rig *rig);
/* One rc_transmit() with only so many buffers; `active` says afterwards whether there is more. */
void rig_step(struct rig *rig, uint32_t buffers, unsigned int budget);
/* Sets the time (ns), runs timers, then rig_run(). */
void rig_time(struct rig *rig, uint64_t now);

/* A packet from the peer, made by hand. */
struct rig_packet {
	uint8_t opcode;
	uint32_t psn;
	bool solicited, ack_request;
	uint32_t payload_length;
	const uint8_t *payload; /* NULL: bytes 0, 1, 2 ... */
	uint64_t address;	/* RETH, AtomicETH */
	uint32_t rkey, length;
	uint64_t swap_add, compare;
	uint8_t syndrome; /* AETH */
	uint32_t msn;
	uint64_t original;
	uint32_t immediate, invalidate;
	/* departures from the ordinary: */
	bool bad_icrc, bad_pkey, bad_source, bad_destination;
};
void rig_receive(struct rig *rig, const struct rig_packet *packet);
/* A raw frame, parsed as the engine would; returns what wire_parse() said. */
enum wire_drop rig_receive_frame(struct rig *rig, const uint8_t *frame, uint32_t length);

/* The n-th packet sent, parsed. */
struct wire_packet rig_sent(const struct rig *rig, uint32_t n);
/* What it says in its AETH. */
uint8_t rig_syndrome(const struct rig *rig, uint32_t n);

/* Carries what `from` has sent and not delivered yet to `to`; pass: NULL or false = lost. */
void rig_deliver(struct rig *from, struct rig *to,
	bool (*pass)(const struct wire_packet *packet, void *context), void *context);
/* Both ways until nothing moves any more. */
void rig_exchange(struct rig *one, struct rig *two);

/* The n-th record of a kind, or NULL; how many there are. */
const struct rig_record *rig_record(const struct rig *rig, enum rig_what what, uint32_t n);
uint32_t rig_count(const struct rig *rig, enum rig_what what);
/* Index in the whole order, or -1. */
int rig_order(const struct rig *rig, enum rig_what what, uint32_t n);

#endif
