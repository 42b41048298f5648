/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines typed by hand: each kind of header, each way to be bad, and lines that don't fit. */
#include <stdio.h>
#include <string.h>

#include "dump.h"
#include "frame.h"
#include "unit.h"

#define MACS "02:00:00:00:99:02 > 02:00:00:00:99:03"
#define IPV4 " 10.99.0.2 > 10.99.0.3 tos=0x02 ttl=64 id=0x0000"
#define IPV6 " fd99::2 > fd99::3 class=0x02 flow=0x00000 hops=64"
#define UDP " udp=49513"

/* The body's byte i is 7 * i + 1, see frame.h. */
static const struct {
	struct frame_spec spec;
	enum wire_drop drop;
	const char *line;
} rows[] = {
	{{.opcode = 0x04, .destination_qp = 0x13, .psn = 7}, WIRE_OK,
		MACS IPV4 " total=44" UDP
			  " RC SEND_ONLY qp=0x000013 psn=7 pkey=0xffff len=0 pad=0 icrc=ok"},
	{{.ipv6 = true,
		 .vlan = true,
		 .opcode = 0x04,
		 .flags = 0xd0,
		 .ecn = 0xc0,
		 .request = 0x80,
		 .body = 4},
		WIRE_OK,
		MACS " vlan=291 pcp=3 dei=0" IPV6 " total=28" UDP " RC SEND_ONLY qp=0x000000 psn=0 "
		     "pkey=0xffff solicited ack_req migreq fecn becn len=3 pad=1 icrc=ok"},
	{{.opcode = 0x0b, .ecn = 0x21, .request = 0x05, .body = 20}, WIRE_OK,
		MACS IPV4
		" total=64" UDP " RC WRITE_ONLY_IMM qp=0x000000 psn=0 pkey=0xffff "
		"reserved=0x21,0x05 va=0x1080f161d242b32 rkey=0x3940474e dma_len=1432118122 "
		"imm=0x71787f86 len=0 pad=0 icrc=ok"},
	{{.opcode = 0x13, .body = 28}, WIRE_OK,
		MACS IPV4
		" total=72" UDP " RC CAS qp=0x000000 psn=0 pkey=0xffff va=0x1080f161d242b32 "
		"rkey=0x3940474e swap=0x555c636a71787f86 compare=0x8d949ba2a9b0b7be len=0 pad=0 "
		"icrc=ok"},
	{{.opcode = 0x14, .body = 28}, WIRE_OK,
		MACS IPV4
		" total=72" UDP " RC FAA qp=0x000000 psn=0 pkey=0xffff va=0x1080f161d242b32 "
		"rkey=0x3940474e add=0x555c636a71787f86 compare=0x8d949ba2a9b0b7be len=0 pad=0 "
		"icrc=ok"},
	{{.opcode = 0x12, .body = 12}, WIRE_OK,
		MACS IPV4
		" total=56" UDP " RC ATOMIC_ACK qp=0x000000 psn=0 pkey=0xffff credits=1 "
		"syndrome=0x01 msn=528150 original=0x1d242b323940474e len=0 pad=0 icrc=ok"},
	{{.opcode = 0x17, .body = 8}, WIRE_OK,
		MACS IPV4 " total=52" UDP " RC SEND_ONLY_INV qp=0x000000 psn=0 pkey=0xffff "
			  "invalidate=0x01080f16 len=4 pad=0 icrc=ok"},
	{{.opcode = 0x65, .body = 16, .destination_qp = 2}, WIRE_OK,
		MACS IPV4 " total=60" UDP " UD SEND_ONLY_IMM qp=0x000002 psn=0 pkey=0xffff "
			  "qkey=0x01080f16 source_qp=0x242b32 imm=0x3940474e len=4 pad=0 icrc=ok"},
	{{.opcode = 0x27, .body = 4}, WIRE_OK,
		MACS IPV4 " total=48" UDP
			  " UC WRITE_MIDDLE qp=0x000000 psn=0 pkey=0xffff len=4 pad=0 icrc=ok"},
	{{.opcode = 0x81, .body = 16, .ecn = 0x40}, WIRE_OK,
		MACS IPV4 " total=60" UDP
			  " CNP qp=0x000000 psn=0 pkey=0xffff becn len=0 pad=0 icrc=ok"},
	{{.opcode = 0x44, .body = 4}, WIRE_OPCODE,
		MACS IPV4 " total=48" UDP
			  " opcode=0x44 qp=0x000000 psn=0 pkey=0xffff pad=0 bad: opcode, 62 bytes"},
	{{.opcode = 0x0c, .body = 12}, WIRE_LENGTH,
		MACS IPV4 " total=56" UDP " RC READ_REQUEST qp=0x000000 psn=0 pkey=0xffff pad=0 "
			  "bad: length, 70 bytes"},
	{{.opcode = 0x04, .flags = 2}, WIRE_TVER,
		MACS IPV4 " total=44" UDP
			  " RC SEND_ONLY qp=0x000000 psn=0 pkey=0xffff tver=2 pad=0 "
			  "bad: transport version, 58 bytes"},
	{{.opcode = 0x04, .flags = 0x30}, WIRE_PAD,
		MACS IPV4 " total=44" UDP
			  " RC SEND_ONLY qp=0x000000 psn=0 pkey=0xffff pad=3 bad: pad, 58 bytes"},
	{{.opcode = 0x05, .body = 6}, WIRE_ALIGNMENT,
		MACS IPV4 " total=50" UDP
			  " RC SEND_ONLY_IMM qp=0x000000 psn=0 pkey=0xffff imm=0x01080f16 "
			  "pad=0 bad: alignment, 64 bytes"},
	{{.opcode = 0x0c, .body = 20}, WIRE_UNEXPECTED_PAYLOAD,
		MACS IPV4 " total=64" UDP " RC READ_REQUEST qp=0x000000 psn=0 pkey=0xffff "
			  "va=0x1080f161d242b32 rkey=0x3940474e dma_len=1432118122 len=4 pad=0 "
			  "bad: unexpected payload, 78 bytes"},
};

static void expect(
	const struct frame *frame, uint32_t length, enum wire_drop drop, const char *want)
{
	char line[DUMP_LINE];

	CU_ASSERT_EQUAL(wire_dump(frame->byte, length, line, sizeof(line)), drop);
	CU_ASSERT_STRING_EQUAL(line, want);
	if (strcmp(line, want) != 0)
		printf("\n got %s\nwant %s\n", line, want);
}

static void lines(void)
{
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct frame frame;

		frame_make(&frame, &rows[i].spec);
		expect(&frame, frame.length, rows[i].drop, rows[i].line);
	}
}

/* Table 45 and the NAK codes, by the byte in the AETH. */
static void syndromes(void)
{
	static const struct {
		uint8_t syndrome;
		const char *text;
	} aeth[] = {
		{0x1f, "credits=none"},
		{0x00, "credits=0"},
		{0x20, "RNR_NAK timer=0 (655.36 ms)"},
		{0x21, "RNR_NAK timer=1 (0.01 ms)"},
		{0x22, "RNR_NAK timer=2 (0.02 ms)"},
		{0x23, "RNR_NAK timer=3 (0.03 ms)"},
		{0x25, "RNR_NAK timer=5 (0.06 ms)"},
		{0x2c, "RNR_NAK timer=12 (0.64 ms)"},
		{0x2d, "RNR_NAK timer=13 (0.96 ms)"},
		{0x38, "RNR_NAK timer=24 (40.96 ms)"},
		{0x3f, "RNR_NAK timer=31 (491.52 ms)"},
		{0x60, "NAK (PSN sequence error)"},
		{0x61, "NAK (invalid request)"},
		{0x62, "NAK (remote access error)"},
		{0x63, "NAK (remote operational error)"},
		{0x64, "NAK (invalid RD request)"},
		{0x65, "NAK (reserved code)"},
		{0x40, "syndrome=reserved"},
		{0x80, "syndrome=reserved"},
	};

	for (unsigned int i = 0; i < sizeof(aeth) / sizeof(aeth[0]); i++) {
		struct frame_spec spec = {.opcode = 0x11, .body = 4};
		char want[400];
		struct frame frame;

		frame_make(&frame, &spec);
		frame.byte[frame.bth + 12] = aeth[i].syndrome;
		frame_seal(&frame);
		snprintf(want, sizeof(want),
			MACS IPV4 " total=48" UDP
				  " RC ACK qp=0x000000 psn=0 pkey=0xffff %s syndrome=0x%02x "
				  "msn=528150 len=0 pad=0 icrc=ok",
			aeth[i].text, aeth[i].syndrome);
		expect(&frame, frame.length, WIRE_OK, want);
	}
}

static void bad_icrc(void)
{
	struct frame_spec spec = {.opcode = 0x04};
	char want[400];
	struct frame frame;

	frame_make(&frame, &spec);
	memset(frame.byte + frame.icrc, 0, 4);
	snprintf(want, sizeof(want),
		MACS IPV4 " total=44" UDP " RC SEND_ONLY qp=0x000000 psn=0 pkey=0xffff len=0 pad=0 "
			  "icrc=BAD (0x00000000, should be 0x%08x)",
		frame_icrc(&frame));
	expect(&frame, frame.length, WIRE_ICRC, want);
}

static void below_the_transport(void)
{
	struct frame_spec spec = {.opcode = 0x04};
	struct frame frame;

	frame_make(&frame, &spec);
	expect(&frame, 13, WIRE_RUNT, " bad: runt, 13 bytes");
	expect(&frame, 40, WIRE_RUNT, MACS " bad: runt, 40 bytes");
	frame.byte[frame.udp + 5]++;
	frame.byte[frame.udp + 7] = 9;
	expect(&frame, 58, WIRE_UDP_LENGTH,
		MACS IPV4 " total=44" UDP " checksum=0x0009 bad: UDP length, 58 bytes");
	frame_make(&frame, &spec);
	frame.byte[frame.ip + 6] = 0x20;
	frame_seal(&frame);
	expect(&frame, 58, WIRE_FRAGMENT,
		MACS IPV4 " fragment=0x2000 total=44 bad: IP fragment, 58 bytes");
	frame_make(&frame, &spec);
	frame.byte[frame.ip + 9] = 6;
	frame_seal(&frame);
	expect(&frame, 58, WIRE_NOT_ROCE, MACS IPV4 " total=44 protocol=6 not RoCE, 58 bytes");
	frame.byte[13] = 6;
	expect(&frame, 58, WIRE_NOT_ROCE, MACS " type=0x0806 not RoCE, 58 bytes");
	spec.vlan = true;
	spec.ipv6 = true;
	frame_make(&frame, &spec);
	frame.byte[frame.ip + 6] = 58;
	expect(&frame, frame.length, WIRE_NOT_ROCE,
		MACS " vlan=291 pcp=3 dei=0" IPV6 " total=24 protocol=58 not RoCE, 82 bytes");
	frame.byte[17] = 6;
	expect(&frame, frame.length, WIRE_NOT_ROCE,
		MACS " vlan=291 pcp=3 dei=0 type=0x8606 not RoCE, 82 bytes");
}

static void cut(void)
{
	struct frame_spec spec = {.opcode = 0x04};
	struct frame frame;
	char whole[DUMP_LINE];
	char line[DUMP_LINE];

	frame_make(&frame, &spec);
	wire_dump(frame.byte, frame.length, whole, sizeof(whole));
	for (size_t room = 1; room < strlen(whole) + 2; room++) {
		CU_ASSERT_EQUAL(wire_dump(frame.byte, frame.length, line, room), WIRE_OK);
		CU_ASSERT_EQUAL(strlen(line), room - 1);
		CU_ASSERT_EQUAL(strncmp(line, whole, room - 1), 0);
	}
}

static const struct unit_case cases[] = {
	UNIT_CASE(lines),
	UNIT_CASE(syndromes),
	UNIT_CASE(bad_icrc),
	UNIT_CASE(below_the_transport),
	UNIT_CASE(cut),
};

UNIT_MAIN("wire-dump", cases)
