/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between the wire's codes and the API's: completion statuses and opcodes, the encoded times of
 * RNR NAK and ack time-out, and the names that log lines use.
 */
#ifndef UROCE_RC_STATUS_H
#define UROCE_RC_STATUS_H

#include <stdint.h>

#include <infiniband/verbs.h>

#include "mem.h"

#define STATUS_NEVER UINT64_MAX

/*
 * What a request completes with that was refused by this AETH syndrome (the whole byte). A syndrome
 * that refuses no request for good (ACK, RNR NAK, PSN sequence error) or that no table has, is a
 * response that must not be there: IBV_WC_BAD_RESP_ERR.
 */
enum ibv_wc_status status_of_nak(uint8_t syndrome);

/* What a request completes with whose own buffers failed this check. */
enum ibv_wc_status status_of_local(enum mem_status status);

/* The opcode of a send request's completion. One that no request may have: IBV_WC_SEND, as man
 * ibv_poll_cq leaves it undefined in the error that follows. */
enum ibv_wc_opcode status_wc_opcode(enum ibv_wr_opcode opcode);

/* How long an RNR NAK asks to wait at least; the low five bits count, as in the AETH. */
uint64_t status_rnr_ns(uint8_t timer);

/* ibv_qp_attr.timeout: 0 is STATUS_NEVER; the low five bits count, modify refuses more. */
uint64_t status_ack_timeout_ns(uint8_t timeout);

/* "WR_FLUSH_ERR", "RDMA_READ", ...; "unknown" for what the enum does not have. */
const char *status_name(enum ibv_wc_status status);
const char *status_opcode_name(enum ibv_wr_opcode opcode);

#endif
