/* SPDX-License-Identifier: BSD-3-Clause */
/* The opcode table against IBTA vol. 1, tables 38 and 39, typed by hand. */
#include <string.h>

#include "opcode.h"
#include "unit.h"

#define Q IS_REQUEST
#define P IS_RESPONSE
#define DATA HAS_PAYLOAD

struct row {
	uint8_t opcode;
	enum opcode_service service;
	const char *name;
	uint8_t header_length;
	uint8_t deth, reth, aeth, atomic, atomic_ack, immdt, ieth;
	uint32_t bits;
};

/* clang-format off */
static const struct row rows[] = {
	/* opcode, service, name, length: DETH RETH AETH Atomic AtomicAck ImmDt IETH */
	{0x00, SERVICE_RC, "SEND_FIRST", 12, 0, 0, 0, 0, 0, 0, 0, Q | IS_SEND | IS_FIRST | DATA},
	{0x01, SERVICE_RC, "SEND_MIDDLE", 12, 0, 0, 0, 0, 0, 0, 0, Q | IS_SEND | IS_MIDDLE | DATA},
	{0x02, SERVICE_RC, "SEND_LAST", 12, 0, 0, 0, 0, 0, 0, 0, Q | IS_SEND | IS_LAST | DATA},
	{0x03, SERVICE_RC, "SEND_LAST_IMM", 16, 0, 0, 0, 0, 0, 12, 0, Q | IS_SEND | IS_LAST | DATA | HAS_IMMDT},
	{0x04, SERVICE_RC, "SEND_ONLY", 12, 0, 0, 0, 0, 0, 0, 0, Q | IS_SEND | IS_ONLY | DATA},
	{0x05, SERVICE_RC, "SEND_ONLY_IMM", 16, 0, 0, 0, 0, 0, 12, 0, Q | IS_SEND | IS_ONLY | DATA | HAS_IMMDT},
	{0x06, SERVICE_RC, "WRITE_FIRST", 28, 0, 12, 0, 0, 0, 0, 0, Q | IS_WRITE | IS_FIRST | DATA | HAS_RETH},
	{0x07, SERVICE_RC, "WRITE_MIDDLE", 12, 0, 0, 0, 0, 0, 0, 0, Q | IS_WRITE | IS_MIDDLE | DATA},
	{0x08, SERVICE_RC, "WRITE_LAST", 12, 0, 0, 0, 0, 0, 0, 0, Q | IS_WRITE | IS_LAST | DATA},
	{0x09, SERVICE_RC, "WRITE_LAST_IMM", 16, 0, 0, 0, 0, 0, 12, 0, Q | IS_WRITE | IS_LAST | DATA | HAS_IMMDT},
	{0x0a, SERVICE_RC, "WRITE_ONLY", 28, 0, 12, 0, 0, 0, 0, 0, Q | IS_WRITE | IS_ONLY | DATA | HAS_RETH},
	{0x0b, SERVICE_RC, "WRITE_ONLY_IMM", 32, 0, 12, 0, 0, 0, 28, 0, Q | IS_WRITE | IS_ONLY | DATA | HAS_RETH | HAS_IMMDT},
	{0x0c, SERVICE_RC, "READ_REQUEST", 28, 0, 12, 0, 0, 0, 0, 0, Q | IS_READ | IS_ONLY | HAS_RETH},
	{0x0d, SERVICE_RC, "READ_RESPONSE_FIRST", 16, 0, 0, 12, 0, 0, 0, 0, P | IS_READ_RESPONSE | IS_FIRST | DATA | HAS_AETH},
	{0x0e, SERVICE_RC, "READ_RESPONSE_MIDDLE", 12, 0, 0, 0, 0, 0, 0, 0, P | IS_READ_RESPONSE | IS_MIDDLE | DATA},
	{0x0f, SERVICE_RC, "READ_RESPONSE_LAST", 16, 0, 0, 12, 0, 0, 0, 0, P | IS_READ_RESPONSE | IS_LAST | DATA | HAS_AETH},
	{0x10, SERVICE_RC, "READ_RESPONSE_ONLY", 16, 0, 0, 12, 0, 0, 0, 0, P | IS_READ_RESPONSE | IS_ONLY | DATA | HAS_AETH},
	{0x11, SERVICE_RC, "ACK", 16, 0, 0, 12, 0, 0, 0, 0, P | IS_ONLY | HAS_AETH},
	{0x12, SERVICE_RC, "ATOMIC_ACK", 24, 0, 0, 12, 0, 16, 0, 0, P | IS_ONLY | HAS_AETH | HAS_ATOMIC_ACK_ETH},
	{0x13, SERVICE_RC, "CAS", 40, 0, 0, 0, 12, 0, 0, 0, Q | IS_ATOMIC | IS_ONLY | HAS_ATOMIC_ETH},
	{0x14, SERVICE_RC, "FAA", 40, 0, 0, 0, 12, 0, 0, 0, Q | IS_ATOMIC | IS_ONLY | HAS_ATOMIC_ETH},
	{0x16, SERVICE_RC, "SEND_LAST_INV", 16, 0, 0, 0, 0, 0, 0, 12, Q | IS_SEND | IS_LAST | DATA | HAS_IETH},
	{0x17, SERVICE_RC, "SEND_ONLY_INV", 16, 0, 0, 0, 0, 0, 0, 12, Q | IS_SEND | IS_ONLY | DATA | HAS_IETH},
	{0x20, SERVICE_UC, "SEND_FIRST", 12, 0, 0, 0, 0, 0, 0, 0, Q | IS_SEND | IS_FIRST | DATA},
	{0x21, SERVICE_UC, "SEND_MIDDLE", 12, 0, 0, 0, 0, 0, 0, 0, Q | IS_SEND | IS_MIDDLE | DATA},
	{0x22, SERVICE_UC, "SEND_LAST", 12, 0, 0, 0, 0, 0, 0, 0, Q | IS_SEND | IS_LAST | DATA},
	{0x23, SERVICE_UC, "SEND_LAST_IMM", 16, 0, 0, 0, 0, 0, 12, 0, Q | IS_SEND | IS_LAST | DATA | HAS_IMMDT},
	{0x24, SERVICE_UC, "SEND_ONLY", 12, 0, 0, 0, 0, 0, 0, 0, Q | IS_SEND | IS_ONLY | DATA},
	{0x25, SERVICE_UC, "SEND_ONLY_IMM", 16, 0, 0, 0, 0, 0, 12, 0, Q | IS_SEND | IS_ONLY | DATA | HAS_IMMDT},
	{0x26, SERVICE_UC, "WRITE_FIRST", 28, 0, 12, 0, 0, 0, 0, 0, Q | IS_WRITE | IS_FIRST | DATA | HAS_RETH},
	{0x27, SERVICE_UC, "WRITE_MIDDLE", 12, 0, 0, 0, 0, 0, 0, 0, Q | IS_WRITE | IS_MIDDLE | DATA},
	{0x28, SERVICE_UC, "WRITE_LAST", 12, 0, 0, 0, 0, 0, 0, 0, Q | IS_WRITE | IS_LAST | DATA},
	{0x29, SERVICE_UC, "WRITE_LAST_IMM", 16, 0, 0, 0, 0, 0, 12, 0, Q | IS_WRITE | IS_LAST | DATA | HAS_IMMDT},
	{0x2a, SERVICE_UC, "WRITE_ONLY", 28, 0, 12, 0, 0, 0, 0, 0, Q | IS_WRITE | IS_ONLY | DATA | HAS_RETH},
	{0x2b, SERVICE_UC, "WRITE_ONLY_IMM", 32, 0, 12, 0, 0, 0, 28, 0, Q | IS_WRITE | IS_ONLY | DATA | HAS_RETH | HAS_IMMDT},
	{0x64, SERVICE_UD, "SEND_ONLY", 20, 12, 0, 0, 0, 0, 0, 0, Q | IS_SEND | IS_ONLY | DATA | HAS_DETH},
	{0x65, SERVICE_UD, "SEND_ONLY_IMM", 24, 12, 0, 0, 0, 0, 20, 0, Q | IS_SEND | IS_ONLY | DATA | HAS_DETH | HAS_IMMDT},
	{0x81, SERVICE_CNP, "CNP", 28, 0, 0, 0, 0, 0, 0, 0, 0},
};
/* clang-format on */

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static void known(void)
{
	for (unsigned int i = 0; i < ROWS; i++) {
		const struct row *row = &rows[i];
		const struct opcode_info *info = opcode_info(row->opcode);

		CU_ASSERT_PTR_NOT_NULL_FATAL(info->name);
		CU_ASSERT_STRING_EQUAL(info->name, row->name);
		CU_ASSERT_EQUAL(info->service, row->service);
		CU_ASSERT_EQUAL(info->header_length, row->header_length);
		CU_ASSERT_EQUAL(info->deth, row->deth);
		CU_ASSERT_EQUAL(info->reth, row->reth);
		CU_ASSERT_EQUAL(info->aeth, row->aeth);
		CU_ASSERT_EQUAL(info->atomic, row->atomic);
		CU_ASSERT_EQUAL(info->atomic_ack, row->atomic_ack);
		CU_ASSERT_EQUAL(info->immdt, row->immdt);
		CU_ASSERT_EQUAL(info->ieth, row->ieth);
		CU_ASSERT_EQUAL(info->set.bits, row->bits);
	}
}

static bool listed(unsigned int opcode)
{
	for (unsigned int i = 0; i < ROWS; i++)
		if (rows[i].opcode == opcode)
			return true;
	return false;
}

static void unknown(void)
{
	unsigned int unlisted = 0;

	for (unsigned int opcode = 0; opcode < 256; opcode++) {
		const struct opcode_info *info = opcode_info((uint8_t)opcode);

		if (listed(opcode))
			continue;
		unlisted++;
		CU_ASSERT_EQUAL(info->service, SERVICE_NONE);
		CU_ASSERT_PTR_NULL(info->name);
		CU_ASSERT_EQUAL(info->set.bits, 0);
		CU_ASSERT_EQUAL(info->header_length, 0);
	}
	CU_ASSERT_EQUAL(unlisted, 256 - 38);
}

static void names(void)
{
	CU_ASSERT_STRING_EQUAL(opcode_service_name(SERVICE_NONE), "none");
	CU_ASSERT_STRING_EQUAL(opcode_service_name(SERVICE_RC), "RC");
	CU_ASSERT_STRING_EQUAL(opcode_service_name(SERVICE_UC), "UC");
	CU_ASSERT_STRING_EQUAL(opcode_service_name(SERVICE_UD), "UD");
	CU_ASSERT_STRING_EQUAL(opcode_service_name(SERVICE_CNP), "CNP");
}

static void properties(void)
{
	CU_ASSERT_TRUE(opcode_is(opcode_info(OPCODE_RC_CAS), IS_ATOMIC));
	CU_ASSERT_FALSE(opcode_is(opcode_info(OPCODE_RC_CAS), IS_READ));
	CU_ASSERT_TRUE(opcode_is(opcode_info(OPCODE_RC_ACK), IS_RESPONSE));
	CU_ASSERT_FALSE(opcode_is(opcode_info(OPCODE_CNP), HAS_PAYLOAD));
}

static const struct unit_case cases[] = {
	UNIT_CASE(known),
	UNIT_CASE(unknown),
	UNIT_CASE(names),
	UNIT_CASE(properties),
};

UNIT_MAIN("wire-opcode", cases)
