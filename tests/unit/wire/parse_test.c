/* SPDX-License-Identifier: BSD-3-Clause */
/* Every field of a parsed packet, and one frame for each way to be dropped. */
#include <stdio.h>
#include <string.h>

#include "frame.h"
#include "parse.h"
#include "unit.h"

#define FROM_IP 1000 /* offsets from the IP header, UDP header, BTH, and the frame's start */
#define FROM_UDP 2000
#define FROM_BTH 3000

static uint32_t offset_of(const struct frame *frame, int offset)
{
	if (offset >= FROM_BTH)
		return frame->bth + (uint32_t)(offset - FROM_BTH);
	if (offset >= FROM_UDP)
		return frame->udp + (uint32_t)(offset - FROM_UDP);
	if (offset >= FROM_IP)
		return frame->ip + (uint32_t)(offset - FROM_IP);
	return (uint32_t)offset;
}

static void fields_of(bool ipv6, bool vlan)
{
	struct frame_spec spec = {.ipv6 = ipv6,
		.vlan = vlan,
		.opcode = 0x0b,
		.flags = 0x80 | 3 << 4,
		.ecn = 0xc0,
		.request = 0x80,
		.psn = 0xabcdef,
		.destination_qp = 0x123456,
		.body = 20 + 5 + 3};
	struct frame frame;
	struct wire_packet packet;

	frame_make(&frame, &spec);
	CU_ASSERT_EQUAL_FATAL(wire_parse(frame.byte, frame.length, &packet), WIRE_OK);
	CU_ASSERT_EQUAL(packet.opcode, 0x0b);
	CU_ASSERT_PTR_EQUAL(packet.info, opcode_info(0x0b));
	CU_ASSERT_PTR_EQUAL(packet.bth, frame.byte + frame.bth);
	CU_ASSERT_PTR_EQUAL(packet.payload, frame.byte + frame.bth + 32);
	CU_ASSERT_EQUAL(packet.payload_length, 5);
	CU_ASSERT_EQUAL(packet.pad, 3);
	CU_ASSERT_EQUAL(packet.psn, 0xabcdef);
	CU_ASSERT_EQUAL(packet.destination_qp, 0x123456);
	CU_ASSERT_EQUAL(packet.pkey, FRAME_PKEY);
	CU_ASSERT_TRUE(packet.solicited && packet.ack_request && packet.fecn && packet.becn);
	CU_ASSERT_EQUAL(packet.ip_version, ipv6 ? 6 : 4);
	CU_ASSERT_EQUAL(packet.tos, FRAME_TOS);
	CU_ASSERT_EQUAL(packet.has_vlan, vlan);
	CU_ASSERT_EQUAL(packet.vlan_tci, vlan ? FRAME_VLAN : 0);
	CU_ASSERT_PTR_EQUAL(packet.ip, frame.byte + frame.ip);
	CU_ASSERT_EQUAL(packet.udp_source_port, FRAME_SOURCE_PORT);
	if (ipv6) {
		CU_ASSERT_EQUAL(memcmp(packet.source, frame_source6, 16), 0);
		CU_ASSERT_EQUAL(memcmp(packet.destination, frame_destination6, 16), 0);
	} else {
		CU_ASSERT_EQUAL(memcmp(packet.source, frame_source4, 4), 0);
		CU_ASSERT_EQUAL(memcmp(packet.destination, frame_destination4, 4), 0);
	}
	CU_ASSERT_TRUE(wire_icrc_ok(&packet));
	CU_ASSERT_EQUAL(be64_get(&wire_reth(&packet)->address), 0x01080f161d242b32);
	CU_ASSERT_EQUAL(wire_immediate(&packet), 0x71787f86);
}

static void fields(void)
{
	for (int shape = 0; shape < 4; shape++)
		fields_of(shape & 1, shape & 2);
}

static void flags_clear(void)
{
	struct frame_spec spec = {.opcode = 0x04, .ecn = 0x3f, .request = 0x7f, .flags = 0x40};
	struct frame frame;
	struct wire_packet packet;

	/* Reserved bits and MigReq are not looked at. */
	frame_make(&frame, &spec);
	CU_ASSERT_EQUAL_FATAL(wire_parse(frame.byte, frame.length, &packet), WIRE_OK);
	CU_ASSERT_FALSE(packet.solicited || packet.ack_request || packet.fecn || packet.becn);
	CU_ASSERT_EQUAL(packet.pad, 0);
	CU_ASSERT_EQUAL(packet.payload_length, 0);
}

static void extension_headers(void)
{
	struct frame_spec spec = {.body = 28};
	struct frame frame;
	struct wire_packet packet;

	spec.opcode = 0x13; /* CAS; the body's byte i is 7 * i + 1 */
	frame_make(&frame, &spec);
	CU_ASSERT_EQUAL_FATAL(wire_parse(frame.byte, frame.length, &packet), WIRE_OK);
	CU_ASSERT_EQUAL(be32_get(&wire_atomic(&packet)->rkey), 0x3940474e);
	CU_ASSERT_EQUAL(be64_get(&wire_atomic(&packet)->compare), 0x8d949ba2a9b0b7be);
	spec.opcode = 0x12;
	spec.body = 12;
	frame_make(&frame, &spec);
	CU_ASSERT_EQUAL_FATAL(wire_parse(frame.byte, frame.length, &packet), WIRE_OK);
	CU_ASSERT_EQUAL(wire_aeth(&packet)->syndrome, 0x01);
	CU_ASSERT_EQUAL(be24_get(&wire_aeth(&packet)->msn), 0x080f16);
	CU_ASSERT_EQUAL(be64_get(&wire_atomic_ack(&packet)->original), 0x1d242b323940474e);
	spec.opcode = 0x64;
	frame_make(&frame, &spec);
	CU_ASSERT_EQUAL_FATAL(wire_parse(frame.byte, frame.length, &packet), WIRE_OK);
	CU_ASSERT_EQUAL(be24_get(&wire_deth(&packet)->source_qp), 0x242b32);
	CU_ASSERT_EQUAL(packet.payload_length, 4);
	spec.opcode = 0x17;
	frame_make(&frame, &spec);
	CU_ASSERT_EQUAL_FATAL(wire_parse(frame.byte, frame.length, &packet), WIRE_OK);
	CU_ASSERT_EQUAL(wire_invalidate_rkey(&packet), 0x01080f16);
}

/* One byte of a sound frame set to `value`, checksum and ICRC made right again. */
struct change {
	const char *what;
	bool ipv6;
	uint8_t opcode;
	uint32_t body;
	int offset;
	uint8_t value;
	enum wire_drop drop;
};

static const struct change changes[] = {
	{"nothing", false, 0x04, 8, FROM_IP, 0x45, WIRE_OK},
	{"ARP", false, 0x04, 8, 13, 0x06, WIRE_NOT_ROCE},
	{"IP version", false, 0x04, 8, FROM_IP, 0x65, WIRE_IP_HEADER},
	{"IHL too short", false, 0x04, 8, FROM_IP, 0x44, WIRE_IP_HEADER},
	{"total length below the header", false, 0x04, 8, FROM_IP + 3, 19, WIRE_IP_HEADER},
	{"total length above the frame", false, 0x04, 8, FROM_IP + 3, 53, WIRE_RUNT},
	{"no room for UDP", false, 0x04, 8, FROM_IP + 3, 27, WIRE_RUNT},
	{"TCP", false, 0x04, 8, FROM_IP + 9, 6, WIRE_NOT_ROCE},
	{"another port", false, 0x04, 8, FROM_UDP + 3, 0xb6, WIRE_NOT_ROCE},
	{"more fragments", false, 0x04, 8, FROM_IP + 6, 0x20, WIRE_FRAGMENT},
	{"fragment offset", false, 0x04, 8, FROM_IP + 7, 1, WIRE_FRAGMENT},
	{"UDP too long", false, 0x04, 8, FROM_UDP + 5, 33, WIRE_UDP_LENGTH},
	{"UDP too short", false, 0x04, 8, FROM_UDP + 5, 31, WIRE_UDP_LENGTH},
	{"IPv6 version", true, 0x04, 8, FROM_IP, 0x45, WIRE_IP_HEADER},
	{"IPv6 length above the frame", true, 0x04, 8, FROM_IP + 5, 33, WIRE_RUNT},
	{"IPv6 length below the UDP length", true, 0x04, 8, FROM_IP + 5, 31, WIRE_UDP_LENGTH},
	{"ICMPv6", true, 0x04, 8, FROM_IP + 6, 58, WIRE_NOT_ROCE},
	{"IPv6 fragment, not UDP", true, 0x04, 8, FROM_IP + 6, 44, WIRE_NOT_ROCE},
	{"opcode", false, 0x15, 8, FROM_IP, 0x45, WIRE_OPCODE},
	{"opcode of RD", false, 0x44, 8, FROM_IP, 0x45, WIRE_OPCODE},
	{"XRC", false, 0xa4, 8, FROM_IP, 0x45, WIRE_OPCODE},
	{"no room for RETH", false, 0x0c, 12, FROM_IP, 0x45, WIRE_LENGTH},
	{"TVer", false, 0x04, 8, FROM_BTH + 1, 0x01, WIRE_TVER},
	{"pad without payload", false, 0x0c, 16, FROM_BTH + 1, 0x10, WIRE_PAD},
	{"pad", false, 0x04, 8, FROM_BTH + 1, 0x30, WIRE_OK},
	{"not a multiple of 4", false, 0x04, 7, FROM_IP, 0x45, WIRE_ALIGNMENT},
	{"payload of a READ request", false, 0x0c, 20, FROM_IP, 0x45, WIRE_UNEXPECTED_PAYLOAD},
	{"payload of an ACK", false, 0x11, 8, FROM_BTH + 1, 0x30, WIRE_UNEXPECTED_PAYLOAD},
	{"CNP", false, 0x81, 16, FROM_IP, 0x45, WIRE_OK},
	{"CNP too short", false, 0x81, 12, FROM_IP, 0x45, WIRE_LENGTH},
	{"CNP too long", false, 0x81, 20, FROM_IP, 0x45, WIRE_UNEXPECTED_PAYLOAD},
};

static void drops(void)
{
	for (unsigned int i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		const struct change *change = &changes[i];
		struct frame_spec spec = {
			.ipv6 = change->ipv6, .opcode = change->opcode, .body = change->body};
		struct frame frame;
		struct wire_packet packet;

		frame_make(&frame, &spec);
		frame.byte[offset_of(&frame, change->offset)] = change->value;
		frame_seal(&frame);
		CU_ASSERT_EQUAL(wire_parse(frame.byte, frame.length, &packet), change->drop);
		if (wire_parse(frame.byte, frame.length, &packet) != change->drop)
			printf("\n  %s\n", change->what);
	}
}

static void ipv6_udp_fragment(void)
{
	struct frame_spec spec = {.ipv6 = true, .opcode = 0x04, .body = 8};
	struct frame frame;
	struct wire_packet packet;

	frame_make(&frame, &spec);
	frame.byte[frame.ip + 6] = 44;
	frame.byte[frame.udp] = 17;
	CU_ASSERT_EQUAL(wire_parse(frame.byte, frame.length, &packet), WIRE_FRAGMENT);
}

/* A packet with options is sound, and so for the neighbour code, unless it is RoCE. */
static void ipv4_options(void)
{
	struct frame_spec spec = {.opcode = 0x04, .body = 8};
	struct frame frame;
	struct wire_packet packet;

	frame_make(&frame, &spec);
	memmove(frame.byte + frame.udp + 4, frame.byte + frame.udp, frame.length - frame.udp);
	memset(frame.byte + frame.udp, 0, 4);
	frame.byte[frame.ip] = 0x46;
	frame.byte[frame.ip + 3] += 4;
	frame_seal(&frame); /* four zero bytes more don't change the sum */
	CU_ASSERT_EQUAL(wire_parse(frame.byte, frame.length + 4, &packet), WIRE_IP_HEADER);
	frame.byte[frame.ip + 9] = 1;
	frame_seal(&frame);
	CU_ASSERT_EQUAL(wire_parse(frame.byte, frame.length + 4, &packet), WIRE_NOT_ROCE);
	CU_ASSERT_PTR_EQUAL(packet.ip, frame.byte + frame.ip);
}

static void ipv4_checksum(void)
{
	struct frame_spec spec = {.opcode = 0x04, .body = 8};
	struct frame frame;
	struct wire_packet packet;

	frame_make(&frame, &spec);
	memset(frame.byte + frame.ip + 12, 0xff, 8); /* many carries */
	for (unsigned int id = 0; id < 0x10000; id += 7) {
		uint8_t bit = (uint8_t)(1 << id % 8);

		frame.byte[frame.ip + 4] = (uint8_t)(id >> 8);
		frame.byte[frame.ip + 5] = (uint8_t)id;
		frame_seal(&frame);
		CU_ASSERT_EQUAL(wire_parse(frame.byte, frame.length, &packet), WIRE_OK);
		frame.byte[frame.ip + 10 + id % 2] ^= bit;
		CU_ASSERT_EQUAL(wire_parse(frame.byte, frame.length, &packet), WIRE_IP_HEADER);
	}
}

static void cut(bool ipv6, bool vlan)
{
	struct frame_spec spec = {.ipv6 = ipv6, .vlan = vlan, .opcode = 0x04, .body = 8};
	struct frame frame;
	struct wire_packet packet;

	frame_make(&frame, &spec);
	for (uint32_t length = 0; length < frame.length; length++)
		CU_ASSERT_EQUAL(wire_parse(frame.byte, length, &packet), WIRE_RUNT);
	/* Ethernet pads short frames; what lies behind the IP packet is nothing. */
	for (uint32_t length = frame.length; length < frame.length + 20; length++)
		CU_ASSERT_EQUAL(wire_parse(frame.byte, length, &packet), WIRE_OK);
	CU_ASSERT_TRUE(wire_icrc_ok(&packet));
}

static void cut_anywhere(void)
{
	for (int shape = 0; shape < 4; shape++)
		cut(shape & 1, shape & 2);
}

static void not_ip(void)
{
	uint8_t arp[60] = {[12] = 0x08, [13] = 0x06};
	uint8_t tagged[60] = {[12] = 0x81, [14] = 0x20, [15] = 0x05, [16] = 0x08, [17] = 0x06};
	uint8_t twice[60] = {[12] = 0x81, [16] = 0x81, [20] = 0x08};
	struct wire_packet packet;

	CU_ASSERT_EQUAL(wire_parse(arp, sizeof(arp), &packet), WIRE_NOT_ROCE);
	CU_ASSERT_PTR_EQUAL(packet.ip, arp + 14);
	CU_ASSERT_EQUAL(packet.ip_version, 0);
	CU_ASSERT_EQUAL(wire_parse(tagged, sizeof(tagged), &packet), WIRE_NOT_ROCE);
	CU_ASSERT_PTR_EQUAL(packet.ip, tagged + 18);
	CU_ASSERT_TRUE(packet.has_vlan);
	CU_ASSERT_EQUAL(packet.vlan_tci, 0x2005);
	CU_ASSERT_EQUAL(wire_parse(twice, sizeof(twice), &packet), WIRE_NOT_ROCE);
	CU_ASSERT_EQUAL(wire_parse(arp, 14, &packet), WIRE_NOT_ROCE);
}

static void bad_icrc(void)
{
	struct frame_spec spec = {.opcode = 0x04, .body = 64};
	struct frame frame;
	struct wire_packet packet;

	frame_make(&frame, &spec);
	for (uint32_t bit = 0; bit < 32; bit++) {
		frame.byte[frame.icrc + bit / 8] ^= (uint8_t)(1 << bit % 8);
		CU_ASSERT_EQUAL_FATAL(wire_parse(frame.byte, frame.length, &packet), WIRE_OK);
		CU_ASSERT_FALSE(wire_icrc_ok(&packet));
		frame.byte[frame.icrc + bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	CU_ASSERT_TRUE(wire_icrc_ok(&packet));
}

static void length_ok(void)
{
	static const struct {
		uint8_t opcode;
		uint32_t length, pmtu;
		bool ok;
	} rows[] = {
		{0x00, 1024, 1024, true},
		{0x00, 1023, 1024, false},
		{0x00, 1025, 1024, false},
		{0x00, 0, 1024, false},
		{0x01, 256, 256, true},
		{0x01, 255, 256, false},
		{0x02, 0, 256, false},
		{0x02, 1, 256, true},
		{0x02, 256, 256, true},
		{0x02, 257, 256, false},
		{0x04, 0, 256, true},
		{0x04, 256, 256, true},
		{0x04, 257, 256, false},
		{0x06, 4096, 4096, true},
		{0x06, 4092, 4096, false},
		{0x07, 4096, 4096, true},
		{0x07, 1, 4096, false},
		{0x09, 0, 4096, false},
		{0x09, 1, 4096, true},
		{0x0b, 0, 4096, true},
		{0x0c, 0, 256, true},
		{0x0d, 512, 512, true},
		{0x0d, 511, 512, false},
		{0x0e, 512, 512, true},
		{0x0e, 513, 512, false},
		{0x0f, 0, 512, false},
		{0x0f, 1, 512, true},
		{0x10, 0, 512, true},
		{0x10, 513, 512, false},
		{0x11, 0, 256, true},
		{0x16, 0, 256, false},
		{0x17, 0, 256, true},
		{0x28, 0, 256, false},
		{0x64, 4096, 4096, true},
		{0x64, 4097, 4096, false},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wire_packet packet = {
			.info = opcode_info(rows[i].opcode), .payload_length = rows[i].length};

		CU_ASSERT_EQUAL(wire_length_ok(&packet, rows[i].pmtu), rows[i].ok);
	}
}

static void pkey_ok(void)
{
	static const struct {
		uint16_t received, own;
		bool ok;
	} rows[] = {
		{0xffff, 0xffff, true},
		{0xffff, 0x7fff, true},
		{0x7fff, 0xffff, true},
		{0x7fff, 0x7fff, false},
		{0xffff, 0xfffe, false},
		{0x8001, 0x0001, true},
		{0x0001, 0x8001, true},
		{0x0001, 0x0001, false},
		{0x8000, 0x8000, false},
		{0x0000, 0x8000, false},
		{0x8001, 0x8002, false},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CU_ASSERT_EQUAL(wire_pkey_ok(rows[i].received, rows[i].own), rows[i].ok);
}

static void drop_names(void)
{
	for (int drop = 0; drop < WIRE_DROPS; drop++)
		for (int other = 0; other < drop; other++)
			CU_ASSERT_STRING_NOT_EQUAL(wire_drop_name(drop), wire_drop_name(other));
	CU_ASSERT_STRING_EQUAL(wire_drop_name(WIRE_ICRC), "ICRC");
	CU_ASSERT_STRING_EQUAL(wire_drop_name(WIRE_DROPS), "unknown");
}

static const struct unit_case cases[] = {
	UNIT_CASE(fields),
	UNIT_CASE(flags_clear),
	UNIT_CASE(extension_headers),
	UNIT_CASE(drops),
	UNIT_CASE(ipv6_udp_fragment),
	UNIT_CASE(ipv4_options),
	UNIT_CASE(ipv4_checksum),
	UNIT_CASE(cut_anywhere),
	UNIT_CASE(not_ip),
	UNIT_CASE(bad_icrc),
	UNIT_CASE(length_ok),
	UNIT_CASE(pkey_ok),
	UNIT_CASE(drop_names),
};

UNIT_MAIN("wire-parse", cases)
