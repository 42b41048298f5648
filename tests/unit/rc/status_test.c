/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Codes and times, typed from the standard: NAK codes of IBTA 9.7.5.1.1 with the statuses of
 * 11.6.2, the RNR NAK timer of 9.7.5.2.8 (enum ib_rnr_timeout of Linux's ib_verbs.h has the same in
 * its names), the ack time-out of 9.7.6.1.3.
 */
#include <stdio.h>

#include "status.h"
#include "unit.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* All 256 syndromes: four end a request with a status of their own. */
static void naks(void)
{
	for (unsigned int syndrome = 0; syndrome < 256; syndrome++) {
		enum ibv_wc_status want = syndrome == 0x61 ? IBV_WC_REM_INV_REQ_ERR
			: syndrome == 0x62		   ? IBV_WC_REM_ACCESS_ERR
			: syndrome == 0x63		   ? IBV_WC_REM_OP_ERR
			: syndrome == 0x64		   ? IBV_WC_REM_INV_RD_REQ_ERR
							   : IBV_WC_BAD_RESP_ERR;

		CU_ASSERT_EQUAL(status_of_nak((uint8_t)syndrome), want);
	}
}

static void local_checks(void)
{
	static const enum mem_status wrong[] = {
		MEM_BAD_KEY, MEM_BAD_PD, MEM_BAD_ACCESS, MEM_BAD_RANGE, MEM_BAD_ALIGNMENT};

	CU_ASSERT_EQUAL(status_of_local(MEM_OK), IBV_WC_SUCCESS);
	for (unsigned int i = 0; i < COUNT(wrong); i++)
		CU_ASSERT_EQUAL(status_of_local(wrong[i]), IBV_WC_LOC_PROT_ERR);
}

/* man ibv_post_send's operations beside man ibv_poll_cq's. */
static const struct {
	int request;
	enum ibv_wc_opcode completion;
	const char *name;
} opcodes[] = {
	{IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, "RDMA_WRITE"},
	{IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE, "RDMA_WRITE_WITH_IMM"},
	{IBV_WR_SEND, IBV_WC_SEND, "SEND"},
	{IBV_WR_SEND_WITH_IMM, IBV_WC_SEND, "SEND_WITH_IMM"},
	{IBV_WR_RDMA_READ, IBV_WC_RDMA_READ, "RDMA_READ"},
	{IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_COMP_SWAP, "ATOMIC_CMP_AND_SWP"},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD, "ATOMIC_FETCH_AND_ADD"},
	{IBV_WR_LOCAL_INV, IBV_WC_LOCAL_INV, "LOCAL_INV"},
	{IBV_WR_BIND_MW, IBV_WC_BIND_MW, "BIND_MW"},
	{IBV_WR_SEND_WITH_INV, IBV_WC_SEND, "SEND_WITH_INV"},
	/* not requests of an RC, UC or UD QP here */
	{IBV_WR_TSO, IBV_WC_SEND, "unknown"},
	{IBV_WR_DRIVER1, IBV_WC_SEND, "unknown"},
	{12, IBV_WC_SEND, "unknown"},
	{IBV_WR_ATOMIC_WRITE, IBV_WC_SEND, "unknown"},
	{16, IBV_WC_SEND, "unknown"},
	{255, IBV_WC_SEND, "unknown"},
	{-1, IBV_WC_SEND, "unknown"},
};

static void completions(void)
{
	for (unsigned int i = 0; i < COUNT(opcodes); i++) {
		enum ibv_wr_opcode request = (enum ibv_wr_opcode)opcodes[i].request;

		CU_ASSERT_EQUAL(status_wc_opcode(request), opcodes[i].completion);
		CU_ASSERT_STRING_EQUAL(status_opcode_name(request), opcodes[i].name);
	}
}

/* In the table's own unit and digits: milliseconds. */
static const double rnr_ms[32] = {655.36, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.16, 0.24,
	0.32, 0.48, 0.64, 0.96, 1.28, 1.92, 2.56, 3.84, 5.12, 7.68, 10.24, 15.36, 20.48, 30.72,
	40.96, 61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52};

static void rnr_timer(void)
{
	for (unsigned int timer = 0; timer < 256; timer++) {
		/* half a nanosecond: the factor's rounding, not the table's */
		uint64_t want = (uint64_t)(rnr_ms[timer % 32] * 1e6 + 0.5);

		CU_ASSERT_EQUAL(status_rnr_ns((uint8_t)timer), want);
	}
	CU_ASSERT_EQUAL(status_rnr_ns(0), 655360000);
	CU_ASSERT_EQUAL(status_rnr_ns(1), 10000);
	CU_ASSERT_EQUAL(status_rnr_ns(31), 491520000);
	/* as a syndrome carries it: kind RNR NAK, timer 12 */
	CU_ASSERT_EQUAL(status_rnr_ns(0x2c), 640000);
}

/* 4.096 us * 2^n, in numbers. */
static const struct {
	uint8_t timeout;
	uint64_t ns;
} timeouts[] = {
	{0, UINT64_MAX},
	{1, 8192},
	{2, 16384},
	{3, 32768},
	{4, 65536},
	{5, 131072},
	{6, 262144},
	{7, 524288},
	{8, 1048576},
	{9, 2097152},
	{10, 4194304},
	{11, 8388608},
	{12, 16777216},
	{13, 33554432},
	{14, 67108864}, /* 67.1 ms, what most programs set */
	{15, 134217728},
	{16, 268435456},
	{17, 536870912},
	{18, 1073741824},
	{19, 2147483648},
	{20, 4294967296},
	{21, 8589934592},
	{22, 17179869184},
	{23, 34359738368},
	{24, 68719476736},
	{25, 137438953472},
	{26, 274877906944},
	{27, 549755813888},
	{28, 1099511627776},
	{29, 2199023255552},
	{30, 4398046511104},
	{31, 8796093022208}, /* 2.4 hours */
	{32, UINT64_MAX},
	{33, 8192},
	{255, 8796093022208},
};

static void ack_timeout(void)
{
	CU_ASSERT_EQUAL(STATUS_NEVER, UINT64_MAX);
	for (unsigned int i = 0; i < COUNT(timeouts); i++)
		CU_ASSERT_EQUAL(status_ack_timeout_ns(timeouts[i].timeout), timeouts[i].ns);
}

static const struct {
	int status;
	const char *name;
} statuses[] = {
	{0, "SUCCESS"},
	{1, "LOC_LEN_ERR"},
	{2, "LOC_QP_OP_ERR"},
	{3, "LOC_EEC_OP_ERR"},
	{4, "LOC_PROT_ERR"},
	{5, "WR_FLUSH_ERR"},
	{6, "MW_BIND_ERR"},
	{7, "BAD_RESP_ERR"},
	{8, "LOC_ACCESS_ERR"},
	{9, "REM_INV_REQ_ERR"},
	{10, "REM_ACCESS_ERR"},
	{11, "REM_OP_ERR"},
	{12, "RETRY_EXC_ERR"},
	{13, "RNR_RETRY_EXC_ERR"},
	{14, "LOC_RDD_VIOL_ERR"},
	{15, "REM_INV_RD_REQ_ERR"},
	{16, "REM_ABORT_ERR"},
	{17, "INV_EECN_ERR"},
	{18, "INV_EEC_STATE_ERR"},
	{19, "FATAL_ERR"},
	{20, "RESP_TIMEOUT_ERR"},
	{21, "GENERAL_ERR"},
	{22, "TM_ERR"},
	{23, "TM_RNDV_INCOMPLETE"},
	{24, "unknown"},
	{-1, "unknown"},
};

static void names(void)
{
	for (unsigned int i = 0; i < COUNT(statuses); i++)
		CU_ASSERT_STRING_EQUAL(
			status_name((enum ibv_wc_status)statuses[i].status), statuses[i].name);
}

static const struct unit_case cases[] = {
	UNIT_CASE(naks),
	UNIT_CASE(local_checks),
	UNIT_CASE(completions),
	UNIT_CASE(rnr_timer),
	UNIT_CASE(ack_timeout),
	UNIT_CASE(names),
};

UNIT_MAIN("rc-status", cases)
