/* SPDX-License-Identifier: BSD-3-Clause */
/* Echo over IPv4 and IPv6: what is answered, what is not, full size, and the budget. */
#include <stdlib.h>
#include <string.h>

#include "box.h"
#include "checksum.h"
#include "unit.h"

#define US6 "fd000000000000000000000000000002 "
#define PEER6 "fd000000000000000000000000000001 "
#define IN "020000000002 020000000001 "
#define OUT "020000000001 020000000002 "
#define ECHO4 "0800 2168 1234 0001 616263 "
#define ECHO6 "8000 af1d 1234 0001 616263 "

#define PING IN "0800 4500 001f 1111 4000 40 01 1531 0a4d0001 0a4d0002 " ECHO4
#define PONG OUT "0800 4500 001f 0000 4000 40 01 2642 0a4d0002 0a4d0001 0000 2968 1234 0001 616263"
#define PING6 IN "86dd 60000000 000b 3a 3d " PEER6 US6 ECHO6
#define PONG6 OUT "86dd 60000000 000b 3a 40 " US6 PEER6 "8100 ae1d 1234 0001 616263"

static void one_request(void)
{
	static const struct {
		const char *what, *request, *reply;
		enum net_drop drop;
	} rows[] = {
		{"IPv4", PING, PONG, NET_OK},
		{"IPv4, padded", PING "000000000000000000000000000000", PONG, NET_OK},
		{"IPv6", PING6, PONG6, NET_OK},
		{"IPv4, TOS kept",
			IN "0800 4528 001f 1111 4000 40 01 1509 0a4d0001 0a4d0002 " ECHO4,
			OUT "0800 4528 001f 0000 4000 40 01 261a 0a4d0002 0a4d0001 0000 2968 1234 "
			    "0001 616263",
			NET_OK},
		{"IPv4 with an option, answered without",
			IN "0800 4600 0023 1111 4000 40 01 132c 0a4d0001 0a4d0002 01010000 " ECHO4,
			PONG, NET_OK},
		{"IPv4 on VLAN 5",
			"020000000002 020000000001 8100 0005 0800 4500 001f 1111 4000 40 01 151b "
			"0a580001 0a580002 " ECHO4,
			"020000000001 020000000002 8100 0005 0800 4500 001f 0000 4000 40 01 262c "
			"0a580002 0a580001 0000 2968 1234 0001 616263",
			NET_OK},
		{"IPv4 on the wrong VLAN",
			"020000000002 020000000001 8100 0005 0800 4500 001f 1111 4000 40 01 1531 "
			"0a4d0001 0a4d0002 " ECHO4,
			NULL, NET_ADDRESS},
		{"header checksum",
			IN "0800 4500 001f 1111 4000 40 01 1530 0a4d0001 0a4d0002 " ECHO4, NULL,
			NET_CHECKSUM},
		{"ICMP checksum",
			IN "0800 4500 001f 1111 4000 40 01 1531 0a4d0001 0a4d0002 0800 2169 1234 "
			   "0001 616263",
			NULL, NET_CHECKSUM},
		{"ICMPv6 checksum",
			IN "86dd 60000000 000b 3a 3d " PEER6 US6 "8000 af1c 1234 0001 616263", NULL,
			NET_CHECKSUM},
		{"first fragment",
			IN "0800 4500 001f 1111 2000 40 01 3531 0a4d0001 0a4d0002 " ECHO4, NULL,
			NET_FRAGMENT},
		{"last fragment", IN "0800 4500 001f 1111 0001 40 01 5530 0a4d0001 0a4d0002 " ECHO4,
			NULL, NET_FRAGMENT},
		{"longer than the frame",
			IN "0800 4500 0020 1111 4000 40 01 1530 0a4d0001 0a4d0002 " ECHO4, NULL,
			NET_LENGTH},
		{"shorter than its header",
			IN "0800 4500 0013 1111 4000 40 01 153d 0a4d0001 0a4d0002 " ECHO4, NULL,
			NET_LENGTH},
		{"nothing behind the header",
			IN "0800 4500 0014 1111 4000 40 01 153c 0a4d0001 0a4d0002 " ECHO4, NULL,
			NET_SHORT},
		{"header of 16 bytes",
			IN "0800 4400 001f 1111 4000 40 01 1631 0a4d0001 0a4d0002 " ECHO4, NULL,
			NET_FORMAT},
		{"header of 60 bytes",
			IN "0800 4f00 001f 1111 4000 40 01 0b31 0a4d0001 0a4d0002 " ECHO4, NULL,
			NET_LENGTH},
		{"version 5", IN "0800 5500 001f 1111 4000 40 01 0531 0a4d0001 0a4d0002 " ECHO4,
			NULL, NET_FORMAT},
		{"19 bytes", IN "0800 4500 0013 1111 4000 40 01 153d 0a4d0001 0a4d00", NULL,
			NET_SHORT},
		{"to a neighbour's address",
			IN "0800 4500 001f 1111 4000 40 01 1530 0a4d0001 0a4d0003 " ECHO4, NULL,
			NET_ADDRESS},
		{"to the broadcast address",
			IN "0800 4500 001f 1111 4000 40 01 1434 0a4d0001 0a4d00ff " ECHO4, NULL,
			NET_ADDRESS},
		{"in a broadcast frame",
			"ffffffffffff 020000000001 0800 4500 001f 1111 4000 40 01 1531 0a4d0001 "
			"0a4d0002 " ECHO4,
			NULL, NET_ADDRESS},
		{"from our own address",
			IN "0800 4500 001f 1111 4000 40 01 1530 0a4d0002 0a4d0002 " ECHO4, NULL,
			NET_ADDRESS},
		{"from a group", IN "0800 4500 001f 1111 4000 40 01 3f7d e0000001 0a4d0002 " ECHO4,
			NULL, NET_ADDRESS},
		{"from broadcast",
			IN "0800 4500 001f 1111 4000 40 01 1f7f ffffffff 0a4d0002 " ECHO4, NULL,
			NET_ADDRESS},
		{"from nowhere", IN "0800 4500 001f 1111 4000 40 01 1f7f 00000000 0a4d0002 " ECHO4,
			NULL, NET_ADDRESS},
		{"to all nodes",
			"333300000001 020000000001 86dd 60000000 000b 3a 3d " PEER6
			"ff020000000000000000000000000001 8000 ad1c 1234 0001 616263",
			NULL, NET_ADDRESS},
		{"an echo reply",
			IN "0800 4500 001f 1111 4000 40 01 1531 0a4d0001 0a4d0002 0000 2968 1234 "
			   "0001 616263",
			NULL, NET_TYPE},
		{"code 1",
			IN "0800 4500 001f 1111 4000 40 01 1531 0a4d0001 0a4d0002 0801 2167 1234 "
			   "0001 616263",
			NULL, NET_FORMAT},
		{"seven bytes",
			IN "0800 4500 001b 1111 4000 40 01 1535 0a4d0001 0a4d0002 0800 e5cb 1234 "
			   "00",
			NULL, NET_SHORT},
		{"three bytes", IN "0800 4500 0017 1111 4000 40 01 1539 0a4d0001 0a4d0002 080000",
			NULL, NET_SHORT},
		{"UDP", IN "0800 4500 001c 1111 4000 40 11 1524 0a4d0001 0a4d0002 12b712b700080000",
			NULL, NET_TYPE},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct box box;
		bool good;

		box_open(&box);
		box_input(&box, rows[i].request);
		good = !rows[i].reply || box_sent(&box, rows[i].reply);
		good = good && box.count == 0 && box.net.counters.drops[rows[i].drop] == 1 &&
			box.net.counters.echo == (rows[i].reply ? 1 : 0);
		CU_ASSERT(good);
		if (!good)
			printf("\nthat was: %s\n", rows[i].what);
		CU_ASSERT_EQUAL(box.net.neighbours.count, 0);
		box_close(&box);
	}
}

/* An IPv4 request of `total` bytes, header included. Returns the frame's length. */
static uint32_t big_request(uint8_t *frame, uint32_t total)
{
	static const char head[] = IN "0800 4500 0000 0000 4000 40 01 0000 0a4d0001 0a4d0002 "
				      "0800 0000 1234 0001";
	uint32_t length = box_hex(frame, 64, head);
	uint16_t sum;

	for (uint32_t i = length; i < 14 + total; i++)
		frame[i] = (uint8_t)(i * 7);
	frame[16] = (uint8_t)(total >> 8);
	frame[17] = (uint8_t)total;
	sum = checksum_finish(checksum_add(0, frame + 14, 20));
	frame[24] = (uint8_t)(sum >> 8);
	frame[25] = (uint8_t)sum;
	sum = checksum_finish(checksum_add(0, frame + 34, total - 20));
	frame[36] = (uint8_t)(sum >> 8);
	frame[37] = (uint8_t)sum;
	return 14 + total;
}

/* Up to the MTU the whole payload comes back; an answer above it is not sent. */
static void sizes(void)
{
	static const struct {
		uint32_t total;
		bool answered;
	} rows[] = {{28, true}, {29, true}, {1500, true}, {4099, true}, {BOX_MTU, true},
		{BOX_MTU + 1, false}, {9000, false}};
	uint8_t *frame = malloc(16384);

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t length = big_request(frame, rows[i].total);
		const uint8_t *sent;
		struct box box;

		box_open(&box);
		box_input_bytes(&box, frame, length);
		CU_ASSERT_EQUAL(box.count, rows[i].answered);
		CU_ASSERT_EQUAL(box.net.counters.drops[NET_LENGTH], !rows[i].answered);
		if (box.count) {
			sent = box.sent[0].data;
			CU_ASSERT_EQUAL(box.sent[0].length, length < 60 ? 60 : length);
			CU_ASSERT_EQUAL(memcmp(sent + 38, frame + 38, length - 38), 0);
			CU_ASSERT_EQUAL(checksum_finish(checksum_add(0, sent + 14, 20)), 0);
			CU_ASSERT_EQUAL(
				checksum_finish(checksum_add(0, sent + 34, length - 34)), 0);
		}
		box_close(&box);
	}
	free(frame);
}

static unsigned int pings(struct box *box, unsigned int count)
{
	unsigned int answers = 0;

	for (unsigned int i = 0; i < count; i++) {
		box_input(box, PING);
		answers += box_forget(box);
	}
	return answers;
}

/* 200 in a row, then one a millisecond, and never more than 200 saved up. */
static void budget(void)
{
	struct box box;

	box_open(&box);
	box.now += 10 * BOX_SECOND;
	CU_ASSERT_EQUAL(pings(&box, 1000), 200);
	CU_ASSERT_EQUAL(box.net.counters.drops[NET_RATE], 800);
	box.now += 999999;
	CU_ASSERT_EQUAL(pings(&box, 10), 0);
	box.now += 1;
	CU_ASSERT_EQUAL(pings(&box, 10), 1);
	box.now += 50500000;
	CU_ASSERT_EQUAL(pings(&box, 100), 50);
	box.now += 500000; /* the half that was left over counts */
	CU_ASSERT_EQUAL(pings(&box, 100), 1);
	box.now += 3600 * BOX_SECOND;
	CU_ASSERT_EQUAL(pings(&box, 1000), 200);
	box.now -= BOX_SECOND; /* a clock that stands still or goes back gives nothing */
	CU_ASSERT_EQUAL(pings(&box, 10), 0);
	CU_ASSERT_EQUAL(box.net.counters.echo, 200 + 1 + 50 + 1 + 200);
	box_close(&box);
}

static void without_a_buffer(void)
{
	struct box box;

	box_open(&box);
	box.starved = true;
	box_input(&box, PING);
	box_input(&box, PING6);
	CU_ASSERT_EQUAL(box.net.counters.drops[NET_BUFFER], 2);
	CU_ASSERT_EQUAL(box.net.counters.echo, 0);
	box_close(&box);
}

static const struct unit_case cases[] = {
	UNIT_CASE(one_request),
	UNIT_CASE(sizes),
	UNIT_CASE(budget),
	UNIT_CASE(without_a_buffer),
};

UNIT_MAIN("ethdev-echo", cases)
