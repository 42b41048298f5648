/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of opcodes: one row says it all, and the header length and the offsets follow from the
 * row's bits, since extension headers always travel in the same order (IBTA vol. 1, 9.2.1, table
 * 38 and figure 97): BTH, DETH, RETH, AETH, AtomicETH, AtomicAckETH, ImmDt, IETH.
 */
#include "headers.h"
#include "opcode.h"

#define SIZE(set, has, type) (((set) & (has)) ? sizeof(struct type) : 0)

/* Bytes from the start of the BTH up to where each header is, if it is. */
#define UP_TO_DETH(set) sizeof(struct bth)
#define UP_TO_RETH(set) (UP_TO_DETH(set) + SIZE(set, HAS_DETH, deth))
#define UP_TO_AETH(set) (UP_TO_RETH(set) + SIZE(set, HAS_RETH, reth))
#define UP_TO_ATOMIC(set) (UP_TO_AETH(set) + SIZE(set, HAS_AETH, aeth))
#define UP_TO_ATOMIC_ACK(set) (UP_TO_ATOMIC(set) + SIZE(set, HAS_ATOMIC_ETH, atomic_eth))
#define UP_TO_IMMDT(set) (UP_TO_ATOMIC_ACK(set) + SIZE(set, HAS_ATOMIC_ACK_ETH, atomic_ack_eth))
#define UP_TO_IETH(set) (UP_TO_IMMDT(set) + SIZE(set, HAS_IMMDT, immdt))
#define UP_TO_PAYLOAD(set) (UP_TO_IETH(set) + SIZE(set, HAS_IETH, ieth))

#define AT(set, has, up_to) (((set) & (has)) ? up_to(set) : 0)

#define ROW(the_service, the_name, bits_)                                                          \
	{                                                                                          \
		.name = the_name, .service = the_service, .set = {bits_},                          \
		.header_length = UP_TO_PAYLOAD(bits_), .deth = AT(bits_, HAS_DETH, UP_TO_DETH),    \
		.reth = AT(bits_, HAS_RETH, UP_TO_RETH), .aeth = AT(bits_, HAS_AETH, UP_TO_AETH),  \
		.atomic = AT(bits_, HAS_ATOMIC_ETH, UP_TO_ATOMIC),                                 \
		.atomic_ack = AT(bits_, HAS_ATOMIC_ACK_ETH, UP_TO_ATOMIC_ACK),                     \
		.immdt = AT(bits_, HAS_IMMDT, UP_TO_IMMDT),                                        \
		.ieth = AT(bits_, HAS_IETH, UP_TO_IETH),                                           \
	}

#define RC(name, bits) ROW(SERVICE_RC, name, (bits))
#define UC(name, bits) ROW(SERVICE_UC, name, (bits))
#define UD(name, bits) ROW(SERVICE_UD, name, (bits))

#define SEND (IS_REQUEST | IS_SEND | HAS_PAYLOAD)
#define WRITE (IS_REQUEST | IS_WRITE | HAS_PAYLOAD)
#define READ_RESPONSE (IS_RESPONSE | IS_READ_RESPONSE | HAS_PAYLOAD)

/* clang-format off */
const struct opcode_info opcode_table[256] = {
	[OPCODE_RC_SEND_FIRST] = RC("SEND_FIRST", SEND | IS_FIRST),
	[OPCODE_RC_SEND_MIDDLE] = RC("SEND_MIDDLE", SEND | IS_MIDDLE),
	[OPCODE_RC_SEND_LAST] = RC("SEND_LAST", SEND | IS_LAST),
	[OPCODE_RC_SEND_LAST_IMM] = RC("SEND_LAST_IMM", SEND | IS_LAST | HAS_IMMDT),
	[OPCODE_RC_SEND_ONLY] = RC("SEND_ONLY", SEND | IS_ONLY),
	[OPCODE_RC_SEND_ONLY_IMM] = RC("SEND_ONLY_IMM", SEND | IS_ONLY | HAS_IMMDT),
	[OPCODE_RC_WRITE_FIRST] = RC("WRITE_FIRST", WRITE | IS_FIRST | HAS_RETH),
	[OPCODE_RC_WRITE_MIDDLE] = RC("WRITE_MIDDLE", WRITE | IS_MIDDLE),
	[OPCODE_RC_WRITE_LAST] = RC("WRITE_LAST", WRITE | IS_LAST),
	[OPCODE_RC_WRITE_LAST_IMM] = RC("WRITE_LAST_IMM", WRITE | IS_LAST | HAS_IMMDT),
	[OPCODE_RC_WRITE_ONLY] = RC("WRITE_ONLY", WRITE | IS_ONLY | HAS_RETH),
	[OPCODE_RC_WRITE_ONLY_IMM] = RC("WRITE_ONLY_IMM", WRITE | IS_ONLY | HAS_RETH | HAS_IMMDT),
	[OPCODE_RC_READ_REQUEST] = RC("READ_REQUEST", IS_REQUEST | IS_READ | IS_ONLY | HAS_RETH),
	[OPCODE_RC_READ_RESPONSE_FIRST] = RC("READ_RESPONSE_FIRST", READ_RESPONSE | IS_FIRST | HAS_AETH),
	[OPCODE_RC_READ_RESPONSE_MIDDLE] = RC("READ_RESPONSE_MIDDLE", READ_RESPONSE | IS_MIDDLE),
	[OPCODE_RC_READ_RESPONSE_LAST] = RC("READ_RESPONSE_LAST", READ_RESPONSE | IS_LAST | HAS_AETH),
	[OPCODE_RC_READ_RESPONSE_ONLY] = RC("READ_RESPONSE_ONLY", READ_RESPONSE | IS_ONLY | HAS_AETH),
	[OPCODE_RC_ACK] = RC("ACK", IS_RESPONSE | IS_ONLY | HAS_AETH),
	[OPCODE_RC_ATOMIC_ACK] = RC("ATOMIC_ACK", IS_RESPONSE | IS_ONLY | HAS_AETH | HAS_ATOMIC_ACK_ETH),
	[OPCODE_RC_CAS] = RC("CAS", IS_REQUEST | IS_ATOMIC | IS_ONLY | HAS_ATOMIC_ETH),
	[OPCODE_RC_FAA] = RC("FAA", IS_REQUEST | IS_ATOMIC | IS_ONLY | HAS_ATOMIC_ETH),
	[OPCODE_RC_SEND_LAST_INV] = RC("SEND_LAST_INV", SEND | IS_LAST | HAS_IETH),
	[OPCODE_RC_SEND_ONLY_INV] = RC("SEND_ONLY_INV", SEND | IS_ONLY | HAS_IETH),

	[OPCODE_UC_SEND_FIRST] = UC("SEND_FIRST", SEND | IS_FIRST),
	[OPCODE_UC_SEND_MIDDLE] = UC("SEND_MIDDLE", SEND | IS_MIDDLE),
	[OPCODE_UC_SEND_LAST] = UC("SEND_LAST", SEND | IS_LAST),
	[OPCODE_UC_SEND_LAST_IMM] = UC("SEND_LAST_IMM", SEND | IS_LAST | HAS_IMMDT),
	[OPCODE_UC_SEND_ONLY] = UC("SEND_ONLY", SEND | IS_ONLY),
	[OPCODE_UC_SEND_ONLY_IMM] = UC("SEND_ONLY_IMM", SEND | IS_ONLY | HAS_IMMDT),
	[OPCODE_UC_WRITE_FIRST] = UC("WRITE_FIRST", WRITE | IS_FIRST | HAS_RETH),
	[OPCODE_UC_WRITE_MIDDLE] = UC("WRITE_MIDDLE", WRITE | IS_MIDDLE),
	[OPCODE_UC_WRITE_LAST] = UC("WRITE_LAST", WRITE | IS_LAST),
	[OPCODE_UC_WRITE_LAST_IMM] = UC("WRITE_LAST_IMM", WRITE | IS_LAST | HAS_IMMDT),
	[OPCODE_UC_WRITE_ONLY] = UC("WRITE_ONLY", WRITE | IS_ONLY | HAS_RETH),
	[OPCODE_UC_WRITE_ONLY_IMM] = UC("WRITE_ONLY_IMM", WRITE | IS_ONLY | HAS_RETH | HAS_IMMDT),

	[OPCODE_UD_SEND_ONLY] = UD("SEND_ONLY", SEND | IS_ONLY | HAS_DETH),
	[OPCODE_UD_SEND_ONLY_IMM] = UD("SEND_ONLY_IMM", SEND | IS_ONLY | HAS_DETH | HAS_IMMDT),

	/* The 16 reserved bytes behind a CNP's BTH count as a header: the packet has one length. */
	[OPCODE_CNP] = { .name = "CNP", .service = SERVICE_CNP,
		.header_length = sizeof(struct bth) + CNP_RESERVED_LENGTH },
};
/* clang-format on */

const char *opcode_service_name(enum opcode_service service)
{
	static const char *const name[] = {
		[SERVICE_NONE] = "none",
		[SERVICE_RC] = "RC",
		[SERVICE_UC] = "UC",
		[SERVICE_UD] = "UD",
		[SERVICE_CNP] = "CNP",
	};

	return name[service];
}
