/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one table of BTH opcodes (IBTA vol. 1, 9.2.1, table 38). An opcode is a byte from the wire;
 * its properties are a struct opcode_set, a type of its own, so that the two cannot be compared.
 */
#ifndef UROCE_WIRE_OPCODE_H
#define UROCE_WIRE_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

enum opcode {
	OPCODE_RC_SEND_FIRST = 0x00,
	OPCODE_RC_SEND_MIDDLE = 0x01,
	OPCODE_RC_SEND_LAST = 0x02,
	OPCODE_RC_SEND_LAST_IMM = 0x03,
	OPCODE_RC_SEND_ONLY = 0x04,
	OPCODE_RC_SEND_ONLY_IMM = 0x05,
	OPCODE_RC_WRITE_FIRST = 0x06,
	OPCODE_RC_WRITE_MIDDLE = 0x07,
	OPCODE_RC_WRITE_LAST = 0x08,
	OPCODE_RC_WRITE_LAST_IMM = 0x09,
	OPCODE_RC_WRITE_ONLY = 0x0a,
	OPCODE_RC_WRITE_ONLY_IMM = 0x0b,
	OPCODE_RC_READ_REQUEST = 0x0c,
	OPCODE_RC_READ_RESPONSE_FIRST = 0x0d,
	OPCODE_RC_READ_RESPONSE_MIDDLE = 0x0e,
	OPCODE_RC_READ_RESPONSE_LAST = 0x0f,
	OPCODE_RC_READ_RESPONSE_ONLY = 0x10,
	OPCODE_RC_ACK = 0x11,
	OPCODE_RC_ATOMIC_ACK = 0x12,
	OPCODE_RC_CAS = 0x13,
	OPCODE_RC_FAA = 0x14,
	OPCODE_RC_SEND_LAST_INV = 0x16,
	OPCODE_RC_SEND_ONLY_INV = 0x17,

	OPCODE_UC_SEND_FIRST = 0x20,
	OPCODE_UC_SEND_MIDDLE = 0x21,
	OPCODE_UC_SEND_LAST = 0x22,
	OPCODE_UC_SEND_LAST_IMM = 0x23,
	OPCODE_UC_SEND_ONLY = 0x24,
	OPCODE_UC_SEND_ONLY_IMM = 0x25,
	OPCODE_UC_WRITE_FIRST = 0x26,
	OPCODE_UC_WRITE_MIDDLE = 0x27,
	OPCODE_UC_WRITE_LAST = 0x28,
	OPCODE_UC_WRITE_LAST_IMM = 0x29,
	OPCODE_UC_WRITE_ONLY = 0x2a,
	OPCODE_UC_WRITE_ONLY_IMM = 0x2b,

	OPCODE_UD_SEND_ONLY = 0x64,
	OPCODE_UD_SEND_ONLY_IMM = 0x65,

	OPCODE_CNP = 0x81, /* RoCEv2 congestion notification, annex A17.9.3 */
};

enum opcode_service {
	SERVICE_NONE, /* not an opcode of ours: drop and count */
	SERVICE_RC,
	SERVICE_UC,
	SERVICE_UD,
	SERVICE_CNP,
};

/* Bits of opcode_set. */
enum opcode_property {
	IS_REQUEST = 1 << 0,
	IS_RESPONSE =
		1 << 1, /* travels from responder to requester: ACK, READ response, atomic ACK */
	IS_SEND = 1 << 2,
	IS_WRITE = 1 << 3,
	IS_READ = 1 << 4,   /* the READ request */
	IS_ATOMIC = 1 << 5, /* CAS and FAA requests */
	IS_READ_RESPONSE = 1 << 6,
	IS_FIRST = 1 << 7, /* exactly one of FIRST, MIDDLE, LAST, ONLY for all but CNP */
	IS_MIDDLE = 1 << 8,
	IS_LAST = 1 << 9,
	IS_ONLY = 1 << 10,
	HAS_DETH = 1 << 11,
	HAS_RETH = 1 << 12,
	HAS_AETH = 1 << 13,
	HAS_ATOMIC_ETH = 1 << 14,
	HAS_ATOMIC_ACK_ETH = 1 << 15,
	HAS_IMMDT = 1 << 16,
	HAS_IETH = 1 << 17,
	HAS_PAYLOAD = 1 << 18, /* may carry payload */
};

struct opcode_set {
	uint32_t bits;
};

struct opcode_info {
	const char *name; /* "SEND_ONLY_IMM"; NULL if SERVICE_NONE */
	enum opcode_service service;
	struct opcode_set set;
	uint8_t header_length; /* BTH and all extension headers, bytes */
	/* offset from the start of the BTH; 0: not present */
	uint8_t deth, reth, aeth, atomic, atomic_ack, immdt, ieth;
};

/* Indexed by every value of the byte. */
extern const struct opcode_info opcode_table[256];

static inline const struct opcode_info *opcode_info(uint8_t opcode)
{
	return &opcode_table[opcode];
}

static inline bool opcode_is(const struct opcode_info *info, enum opcode_property property)
{
	return (info->set.bits & property) != 0;
}

/* "RC", "UC", ... */
const char *opcode_service_name(enum opcode_service service);

#endif
