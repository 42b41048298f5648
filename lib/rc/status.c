/* SPDX-License-Identifier: BSD-3-Clause */
/* Codes into codes, by tables; see status.h. */
#include "headers.h"
#include "status.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* IBTA vol. 1, 9.7.5.2.8, the encodings of the RNR NAK timer field, in units of 10 us. */
static const uint32_t rnr_10us[32] = {65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
	49152};

static const char *const status_names[] = {
	[IBV_WC_SUCCESS] = "SUCCESS",
	[IBV_WC_LOC_LEN_ERR] = "LOC_LEN_ERR",
	[IBV_WC_LOC_QP_OP_ERR] = "LOC_QP_OP_ERR",
	[IBV_WC_LOC_EEC_OP_ERR] = "LOC_EEC_OP_ERR",
	[IBV_WC_LOC_PROT_ERR] = "LOC_PROT_ERR",
	[IBV_WC_WR_FLUSH_ERR] = "WR_FLUSH_ERR",
	[IBV_WC_MW_BIND_ERR] = "MW_BIND_ERR",
	[IBV_WC_BAD_RESP_ERR] = "BAD_RESP_ERR",
	[IBV_WC_LOC_ACCESS_ERR] = "LOC_ACCESS_ERR",
	[IBV_WC_REM_INV_REQ_ERR] = "REM_INV_REQ_ERR",
	[IBV_WC_REM_ACCESS_ERR] = "REM_ACCESS_ERR",
	[IBV_WC_REM_OP_ERR] = "REM_OP_ERR",
	[IBV_WC_RETRY_EXC_ERR] = "RETRY_EXC_ERR",
	[IBV_WC_RNR_RETRY_EXC_ERR] = "RNR_RETRY_EXC_ERR",
	[IBV_WC_LOC_RDD_VIOL_ERR] = "LOC_RDD_VIOL_ERR",
	[IBV_WC_REM_INV_RD_REQ_ERR] = "REM_INV_RD_REQ_ERR",
	[IBV_WC_REM_ABORT_ERR] = "REM_ABORT_ERR",
	[IBV_WC_INV_EECN_ERR] = "INV_EECN_ERR",
	[IBV_WC_INV_EEC_STATE_ERR] = "INV_EEC_STATE_ERR",
	[IBV_WC_FATAL_ERR] = "FATAL_ERR",
	[IBV_WC_RESP_TIMEOUT_ERR] = "RESP_TIMEOUT_ERR",
	[IBV_WC_GENERAL_ERR] = "GENERAL_ERR",
	[IBV_WC_TM_ERR] = "TM_ERR",
	[IBV_WC_TM_RNDV_INCOMPLETE] = "TM_RNDV_INCOMPLETE",
};

static const struct {
	const char *name; /* NULL: not a request */
	enum ibv_wc_opcode completion;
} requests[] = {
	[IBV_WR_RDMA_WRITE] = {"RDMA_WRITE", IBV_WC_RDMA_WRITE},
	[IBV_WR_RDMA_WRITE_WITH_IMM] = {"RDMA_WRITE_WITH_IMM", IBV_WC_RDMA_WRITE},
	[IBV_WR_SEND] = {"SEND", IBV_WC_SEND},
	[IBV_WR_SEND_WITH_IMM] = {"SEND_WITH_IMM", IBV_WC_SEND},
	[IBV_WR_RDMA_READ] = {"RDMA_READ", IBV_WC_RDMA_READ},
	[IBV_WR_ATOMIC_CMP_AND_SWP] = {"ATOMIC_CMP_AND_SWP", IBV_WC_COMP_SWAP},
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = {"ATOMIC_FETCH_AND_ADD", IBV_WC_FETCH_ADD},
	[IBV_WR_LOCAL_INV] = {"LOCAL_INV", IBV_WC_LOCAL_INV},
	[IBV_WR_BIND_MW] = {"BIND_MW", IBV_WC_BIND_MW},
	[IBV_WR_SEND_WITH_INV] = {"SEND_WITH_INV", IBV_WC_SEND},
};

/* The codes: IBTA 9.7.5.1.1; the statuses that they surface as: 11.6.2. */
enum ibv_wc_status status_of_nak(uint8_t syndrome)
{
	switch (syndrome) {
	case NAK_INVALID_REQUEST:
		return IBV_WC_REM_INV_REQ_ERR;
	case NAK_REMOTE_ACCESS_ERROR:
		return IBV_WC_REM_ACCESS_ERR;
	case NAK_REMOTE_OPERATIONAL_ERROR:
		return IBV_WC_REM_OP_ERR;
	case NAK_INVALID_RD_REQUEST:
		return IBV_WC_REM_INV_RD_REQ_ERR;
	default:
		return IBV_WC_BAD_RESP_ERR;
	}
}

/* 11.6.2, local protection error: the SGEs name no memory that is valid for the operation. */
enum ibv_wc_status status_of_local(enum mem_status status)
{
	return status == MEM_OK ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR;
}

enum ibv_wc_opcode status_wc_opcode(enum ibv_wr_opcode opcode)
{
	unsigned int i = opcode;

	return i < COUNT(requests) && requests[i].name ? requests[i].completion : IBV_WC_SEND;
}

uint64_t status_rnr_ns(uint8_t timer)
{
	return rnr_10us[timer & AETH_VALUE_MASK] * UINT64_C(10000);
}

/* 9.7.6.1.3: 4.096 us * 2^n. */
uint64_t status_ack_timeout_ns(uint8_t timeout)
{
	uint8_t exponent = timeout & 0x1f;

	return exponent == 0 ? STATUS_NEVER : UINT64_C(4096) << exponent;
}

const char *status_name(enum ibv_wc_status status)
{
	unsigned int i = status;

	return i < COUNT(status_names) && status_names[i] ? status_names[i] : "unknown";
}

const char *status_opcode_name(enum ibv_wr_opcode opcode)
{
	unsigned int i = opcode;

	return i < COUNT(requests) && requests[i].name ? requests[i].name : "unknown";
}
