/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets to fields and back: typed values out of frames made by hand. */
#include <errno.h>
#include <string.h>

#include "fields.h"
#include "frame.h"
#include "icrc.h"
#include "tile.h"
#include "unit.h"

static void tiles(void)
{
	static const uint16_t lengths[WIRE_HEADERS] = {
		14, 4, 20, 40, 8, 12, 8, 16, 4, 28, 8, 4, 4, 16};

	for (unsigned int header = 0; header < WIRE_HEADERS; header++) {
		CU_ASSERT_EQUAL(wire_layout[header].length, lengths[header]);
		check_tiles(&wire_layout[header]);
	}
}

static void ipv4_write(void)
{
	struct frame_spec spec = {.vlan = true,
		.opcode = 0x0b,
		.flags = 0xc0 | 1 << 4,
		.ecn = 0x6a,
		.request = 0x81,
		.psn = 0xabcdef,
		.destination_qp = 0x123456,
		.body = 20 + 7 + 1};
	struct frame frame;
	struct wire_fields fields;

	frame_make(&frame, &spec);
	CU_ASSERT_EQUAL_FATAL(wire_decode(frame.byte, frame.length, &fields), 0);
	CU_ASSERT_EQUAL(memcmp(fields.ethernet.destination, frame_destination_mac, 6), 0);
	CU_ASSERT_EQUAL(memcmp(fields.ethernet.source, frame_source_mac, 6), 0);
	CU_ASSERT_EQUAL(fields.ethernet.type, 0x8100);
	CU_ASSERT_EQUAL(fields.vlan.pcp, 3); /* 0x6123 */
	CU_ASSERT_EQUAL(fields.vlan.dei, 0);
	CU_ASSERT_EQUAL(fields.vlan.vid, 0x123);
	CU_ASSERT_EQUAL(fields.vlan.type, 0x0800);
	CU_ASSERT_EQUAL(fields.ipv4.version, 4);
	CU_ASSERT_EQUAL(fields.ipv4.ihl, 5);
	CU_ASSERT_EQUAL(fields.ipv4.dscp, 0);
	CU_ASSERT_EQUAL(fields.ipv4.ecn, 2);
	CU_ASSERT_EQUAL(fields.ipv4.total_length, 20 + 8 + 12 + 28 + 4);
	CU_ASSERT_EQUAL(fields.ipv4.id, 0);
	CU_ASSERT_EQUAL(fields.ipv4.dont_fragment, 1);
	CU_ASSERT_EQUAL(fields.ipv4.more_fragments, 0);
	CU_ASSERT_EQUAL(fields.ipv4.fragment_offset, 0);
	CU_ASSERT_EQUAL(fields.ipv4.ttl, 64);
	CU_ASSERT_EQUAL(fields.ipv4.protocol, 17);
	CU_ASSERT_EQUAL(fields.ipv4.source, 0x0a630002);
	CU_ASSERT_EQUAL(fields.ipv4.destination, 0x0a630003);
	CU_ASSERT_EQUAL(fields.udp.source_port, FRAME_SOURCE_PORT);
	CU_ASSERT_EQUAL(fields.udp.destination_port, 4791);
	CU_ASSERT_EQUAL(fields.udp.length, 8 + 12 + 28 + 4);
	CU_ASSERT_EQUAL(fields.udp.checksum, 0);
	CU_ASSERT_EQUAL(fields.bth.opcode, 0x0b);
	CU_ASSERT_EQUAL(fields.bth.solicited, 1);
	CU_ASSERT_EQUAL(fields.bth.migreq, 1);
	CU_ASSERT_EQUAL(fields.bth.pad_count, 1);
	CU_ASSERT_EQUAL(fields.bth.tver, 0);
	CU_ASSERT_EQUAL(fields.bth.pkey, 0xffff);
	CU_ASSERT_EQUAL(fields.bth.fecn, 0);
	CU_ASSERT_EQUAL(fields.bth.becn, 1);
	CU_ASSERT_EQUAL(fields.bth.reserved_congestion, 0x2a);
	CU_ASSERT_EQUAL(fields.bth.destination_qp, 0x123456);
	CU_ASSERT_EQUAL(fields.bth.ack_request, 1);
	CU_ASSERT_EQUAL(fields.bth.reserved_ack, 1);
	CU_ASSERT_EQUAL(fields.bth.psn, 0xabcdef);
	CU_ASSERT_EQUAL(fields.reth.address, 0x01080f161d242b32);
	CU_ASSERT_EQUAL(fields.reth.rkey, 0x3940474e);
	CU_ASSERT_EQUAL(fields.reth.length, 0x555c636a);
	CU_ASSERT_EQUAL(fields.immdt.data, 0x71787f86);
	CU_ASSERT_EQUAL(fields.payload_length, 7);
	CU_ASSERT_EQUAL(memcmp(fields.payload, frame.byte + frame.bth + 32, 7), 0);
	CU_ASSERT_EQUAL(fields.pad_length, 1);
	CU_ASSERT_EQUAL(fields.pad[0], 0);
	CU_ASSERT_EQUAL(fields.icrc, icrc_get(frame.byte + frame.icrc));
	CU_ASSERT_EQUAL(wire_fields_icrc(&fields), fields.icrc);
	CU_ASSERT_EQUAL(fields.trailer_length, 0);
	CU_ASSERT_EQUAL(fields.headers,
		1 << HEADER_ETHERNET | 1 << HEADER_VLAN | 1 << HEADER_IPV4 | 1 << HEADER_UDP |
			1 << HEADER_BTH | 1 << HEADER_RETH | 1 << HEADER_IMMDT);
}

static void ipv6_atomic(void)
{
	struct frame_spec spec = {.ipv6 = true, .opcode = 0x13, .body = 28};
	struct frame frame;
	struct wire_fields fields;

	frame_make(&frame, &spec);
	frame.byte[frame.ip + 1] |= 0x0a;
	frame.byte[frame.ip + 3] = 0xbc;
	frame_seal(&frame);
	CU_ASSERT_EQUAL_FATAL(wire_decode(frame.byte, frame.length, &fields), 0);
	CU_ASSERT_EQUAL(fields.ipv6.version, 6);
	CU_ASSERT_EQUAL(fields.ipv6.dscp, 0);
	CU_ASSERT_EQUAL(fields.ipv6.ecn, 2);
	CU_ASSERT_EQUAL(fields.ipv6.flow_label, 0xa00bc);
	CU_ASSERT_EQUAL(fields.ipv6.payload_length, 8 + 12 + 28 + 4);
	CU_ASSERT_EQUAL(fields.ipv6.next_header, 17);
	CU_ASSERT_EQUAL(fields.ipv6.hop_limit, 64);
	CU_ASSERT_EQUAL(memcmp(fields.ipv6.source, frame_source6, 16), 0);
	CU_ASSERT_EQUAL(memcmp(fields.ipv6.destination, frame_destination6, 16), 0);
	CU_ASSERT_EQUAL(fields.atomic_eth.address, 0x01080f161d242b32);
	CU_ASSERT_EQUAL(fields.atomic_eth.rkey, 0x3940474e);
	CU_ASSERT_EQUAL(fields.atomic_eth.swap_or_add, 0x555c636a71787f86);
	CU_ASSERT_EQUAL(fields.atomic_eth.compare, 0x8d949ba2a9b0b7be);
	CU_ASSERT_EQUAL(wire_fields_icrc(&fields), fields.icrc);
}

static void others(void)
{
	struct frame_spec spec = {.opcode = 0x65, .body = 12};
	struct frame frame;
	struct wire_fields fields;

	frame_make(&frame, &spec);
	CU_ASSERT_EQUAL_FATAL(wire_decode(frame.byte, frame.length, &fields), 0);
	CU_ASSERT_EQUAL(fields.deth.qkey, 0x01080f16);
	CU_ASSERT_EQUAL(fields.deth.reserved, 0x1d);
	CU_ASSERT_EQUAL(fields.deth.source_qp, 0x242b32);
	CU_ASSERT_EQUAL(fields.immdt.data, 0x3940474e);
	spec.opcode = 0x12;
	frame_make(&frame, &spec);
	CU_ASSERT_EQUAL_FATAL(wire_decode(frame.byte, frame.length, &fields), 0);
	CU_ASSERT_EQUAL(fields.aeth.syndrome, 0x01);
	CU_ASSERT_EQUAL(fields.aeth.msn, 0x080f16);
	CU_ASSERT_EQUAL(fields.atomic_ack_eth.original, 0x1d242b323940474e);
	spec.opcode = 0x17;
	frame_make(&frame, &spec);
	CU_ASSERT_EQUAL_FATAL(wire_decode(frame.byte, frame.length, &fields), 0);
	CU_ASSERT_EQUAL(fields.ieth.rkey, 0x01080f16);
	CU_ASSERT_EQUAL(fields.payload_length, 8);
	spec.opcode = 0x81;
	spec.body = 16;
	frame_make(&frame, &spec);
	CU_ASSERT_EQUAL_FATAL(wire_decode(frame.byte, frame.length, &fields), 0);
	CU_ASSERT_EQUAL(memcmp(fields.cnp.reserved, frame.byte + frame.bth + 12, 16), 0);
}

/* Every opcode that exists, both families, with and without VLAN, pad and trailer. */
static void back_again(void)
{
	uint8_t again[FRAME_MAX];
	unsigned int built = 0;

	for (unsigned int i = 0; i < 256 * 16; i++) {
		struct frame_spec spec = {.opcode = (uint8_t)(i / 16),
			.ipv6 = i & 1,
			.vlan = i & 2,
			.flags = i & 4 ? 3 << 4 : 0};
		struct frame frame;
		struct wire_fields fields;
		uint32_t trailer = i & 8 ? 5 : 0;

		for (spec.body = 0; spec.body <= 64; spec.body += 4) {
			frame_make(&frame, &spec);
			memset(frame.byte + frame.length, 0x5a, trailer);
			if (wire_decode(frame.byte, frame.length + trailer, &fields) != 0)
				continue;
			built++;
			CU_ASSERT_EQUAL(fields.trailer_length, trailer);
			CU_ASSERT_EQUAL_FATAL(wire_encode(&fields, again, sizeof(again)),
				(int)(frame.length + trailer));
			CU_ASSERT_EQUAL(memcmp(again, frame.byte, frame.length + trailer), 0);
			CU_ASSERT_EQUAL(wire_fields_icrc(&fields), fields.icrc);
		}
	}
	CU_ASSERT(built > 16 * 38);
}

static void errors(void)
{
	struct frame_spec spec = {.opcode = 0x04, .body = 4};
	struct frame frame;
	struct wire_fields fields;
	uint8_t again[100];

	frame_make(&frame, &spec);
	CU_ASSERT_EQUAL(wire_decode(frame.byte, frame.length - 1, &fields), -EINVAL);
	CU_ASSERT_EQUAL(wire_decode(frame.byte, frame.length + 64, &fields), 0);
	CU_ASSERT_EQUAL(wire_decode(frame.byte, frame.length + 65, &fields), -EMSGSIZE);
	CU_ASSERT_EQUAL_FATAL(wire_decode(frame.byte, frame.length, &fields), 0);
	CU_ASSERT_EQUAL(wire_encode(&fields, again, frame.length), (int)frame.length);
	CU_ASSERT_EQUAL(wire_encode(&fields, again, frame.length - 1), -EMSGSIZE);
	fields.payload_length = WIRE_FIELDS_PAYLOAD + 1;
	CU_ASSERT_EQUAL(wire_encode(&fields, again, sizeof(again)), -EINVAL);
	fields.payload_length = 0;
	fields.pad_length = 4;
	CU_ASSERT_EQUAL(wire_encode(&fields, again, sizeof(again)), -EINVAL);
	fields.pad_length = 0;
	fields.trailer_length = 65;
	CU_ASSERT_EQUAL(wire_encode(&fields, again, sizeof(again)), -EINVAL);
}

/* Values wider than their field are cut, and spill into no neighbour. */
static void too_wide(void)
{
	struct frame_spec spec = {.opcode = 0x04, .body = 0};
	struct frame frame;
	struct wire_fields fields;
	uint8_t again[100];

	frame_make(&frame, &spec);
	CU_ASSERT_EQUAL_FATAL(wire_decode(frame.byte, frame.length, &fields), 0);
	fields.bth.psn = 0xff000000;
	fields.bth.reserved_ack = 0x80;
	CU_ASSERT_EQUAL(wire_encode(&fields, again, sizeof(again)), (int)frame.length);
	CU_ASSERT_EQUAL(memcmp(again, frame.byte, frame.length), 0);
}

static const struct unit_case cases[] = {
	UNIT_CASE(tiles),
	UNIT_CASE(ipv4_write),
	UNIT_CASE(ipv6_atomic),
	UNIT_CASE(others),
	UNIT_CASE(back_again),
	UNIT_CASE(errors),
	UNIT_CASE(too_wide),
};

UNIT_MAIN("wire-fields", cases)
