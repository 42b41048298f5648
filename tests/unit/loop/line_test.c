/* SPDX-License-Identifier: BSD-3-Clause */
/* Rate, delay, queue length and marks of a line, with times worked out by hand. */
#include "wire_fixture.h"

#define GIGABIT 1000000000ull
/* 1226 bytes and 24 of preamble, FCS and gap are 10,000 bits: 10 us at 1 Gbit/s. */
#define TEN_MICROSECONDS 1226u

static void rate_and_delay(void)
{
	struct loop_link link = {.rate = GIGABIT, .delay = 5000};
	struct fixture f;

	fixture_open(&f, NULL);
	loop_set_link(f.wire, 1, &link);
	f.now = 1000;
	for (uint32_t i = 0; i < 3; i++)
		fixture_send(&f, 0, 1, i, TEN_MICROSECONDS);
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t due = 1000 + (i + 1) * 10000 + 5000;

		CU_ASSERT_EQUAL(loop_next_event(f.wire), due);
		f.now = due - 1;
		CU_ASSERT_EQUAL(fixture_receive(&f, 1), -1);
		f.now = due;
		CU_ASSERT_EQUAL(fixture_receive(&f, 1), i);
	}
	CU_ASSERT_EQUAL(loop_next_event(f.wire), UINT64_MAX);
	/* The other direction has no limit. */
	fixture_send(&f, 1, 0, 9, TEN_MICROSECONDS);
	CU_ASSERT_EQUAL(fixture_receive(&f, 0), 9);
	fixture_close(&f);
}

/* Two senders to one end share its line. */
static void senders_share_the_line(void)
{
	struct loop_link link = {.rate = GIGABIT};
	struct fixture f;

	fixture_open(&f, NULL);
	loop_set_link(f.wire, 2, &link);
	fixture_send(&f, 0, 2, 1, TEN_MICROSECONDS);
	fixture_send(&f, 1, 2, 2, TEN_MICROSECONDS);
	f.now = 19999;
	CU_ASSERT_EQUAL(fixture_receive(&f, 2), 1);
	CU_ASSERT_EQUAL(fixture_receive(&f, 2), -1);
	f.now = 20000;
	CU_ASSERT_EQUAL(fixture_receive(&f, 2), 2);
	fixture_close(&f);
}

static void a_full_queue_drops_the_latest(void)
{
	struct loop_link link = {.rate = GIGABIT, .queue = 2};
	struct fixture f;

	fixture_open(&f, NULL);
	loop_set_link(f.wire, 1, &link);
	for (uint32_t i = 0; i < 4; i++)
		fixture_send(&f, 0, 1, i, TEN_MICROSECONDS);
	CU_ASSERT_EQUAL(fixture_count(&f, 0, 1).queue_full, 2);
	f.now = 10000; /* the first has left */
	fixture_send(&f, 0, 1, 4, TEN_MICROSECONDS);
	CU_ASSERT_EQUAL(fixture_count(&f, 0, 1).queue_full, 2);
	f.now = 30000;
	CU_ASSERT_EQUAL(fixture_receive(&f, 1), 0);
	CU_ASSERT_EQUAL(fixture_receive(&f, 1), 1);
	CU_ASSERT_EQUAL(fixture_receive(&f, 1), 4);
	CU_ASSERT_EQUAL(fixture_receive(&f, 1), -1);
	CU_ASSERT_EQUAL(loop_buffers_used(f.wire) + loop_buffers_flying(f.wire), 0);
	fixture_close(&f);
}

/* A header with the given TOS from RFC 1071's rule, done by hand below for 0, 2 and 3. */
static const struct {
	const char *name;
	uint8_t header[40];
	uint32_t length;
	bool vlan;
	bool marked;
	uint8_t changes[4]; /* offsets in the IP header that change, 0 closes */
	uint8_t to[4];
} rows[] = {
	/* Sum of the words without checksum: 4500 + 0014 + 4011 + 0a00 + 0001 + 0a00 + 0002 =
	 * 9928; with TOS 2: 992a, checksum 66d5; with TOS 3: 992b, 66d4. */
	{"ipv4 ect", {0x45, 2, 0, 20, 0, 0, 0, 0, 64, 17, 0x66, 0xd5, 10, 0, 0, 1, 10, 0, 0, 2}, 20,
		false, true, {1, 11}, {3, 0xd4}},
	{"ipv4 vlan", {0x45, 2, 0, 20, 0, 0, 0, 0, 64, 17, 0x66, 0xd5, 10, 0, 0, 1, 10, 0, 0, 2},
		20, true, true, {1, 11}, {3, 0xd4}},
	{"ipv4 not ect", {0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0x66, 0xd7, 10, 0, 0, 1, 10, 0, 0, 2},
		20, false, false, {0}, {0}},
	{"ipv6 ect 1", {0x60, 0x10, 0, 0, 0, 0, 17, 64}, 40, false, true, {1}, {0x30}},
	{"ipv6 not ect", {0x6f, 0xc0, 0, 0, 0, 0, 17, 64}, 40, false, false, {0}, {0}},
	{"ipv4 cut off", {0x45, 2}, 19, false, false, {0}, {0}},
};

static uint32_t put_frame(uint8_t *data, unsigned int row)
{
	uint32_t offset = 14;

	memset(data, 0, FRAME);
	memcpy(data, "\2\0\0\0\0\2\2\0\0\0\0\1", 12);
	if (rows[row].vlan) {
		memcpy(data + 12, "\x81\0\0\5", 4);
		offset += 4;
	}
	memcpy(data + offset - 2, rows[row].header[0] >> 4 == 4 ? "\x08\0" : "\x86\xdd", 2);
	memcpy(data + offset, rows[row].header, rows[row].length);
	return offset;
}

static void frames_are_marked_from_the_threshold_on(void)
{
	struct loop_link link = {.rate = GIGABIT, .mark = 1};
	uint64_t marked = 0;
	struct fixture f;

	fixture_open(&f, NULL);
	loop_set_link(f.wire, 1, &link);
	for (unsigned int row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		struct packet packets[2];
		struct port *port = f.port[0];
		uint32_t offset = 0;

		CU_ASSERT_EQUAL_FATAL(port->ops->alloc(port, 0, packets, 2), 2);
		for (unsigned int i = 0; i < 2; i++) {
			offset = put_frame(packets[i].data, row);
			packets[i].length = offset + rows[row].length;
		}
		CU_ASSERT_EQUAL(port->ops->tx(port, 0, packets, 2), 2);
		f.now += 1000000;
		CU_ASSERT_EQUAL_FATAL(f.port[1]->ops->rx(f.port[1], 0, packets, 2), 2);
		/* The first found the queue empty. */
		CU_ASSERT_EQUAL(
			memcmp(packets[0].data + offset, rows[row].header, rows[row].length), 0);
		for (unsigned int byte = 0; byte < rows[row].length; byte++) {
			uint8_t expected = rows[row].header[byte];

			for (unsigned int i = 0; i < 4 && rows[row].changes[i]; i++)
				if (rows[row].changes[i] == byte)
					expected = rows[row].to[i];
			CU_ASSERT_EQUAL(packets[1].data[offset + byte], expected);
		}
		f.port[1]->ops->release(f.port[1], 0, packets, 2);
		marked += rows[row].marked;
		CU_ASSERT_EQUAL(fixture_count(&f, 0, 1).marked, marked);
	}
	fixture_close(&f);
}

static const struct unit_case cases[] = {
	UNIT_CASE(rate_and_delay),
	UNIT_CASE(senders_share_the_line),
	UNIT_CASE(a_full_queue_drops_the_latest),
	UNIT_CASE(frames_are_marked_from_the_threshold_on),
};

UNIT_MAIN("loop-line", cases)
