/* SPDX-License-Identifier: BSD-3-Clause */
/* The capture file, byte for byte as pcap-savefile(5) says (on a little-endian machine). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "wire_fixture.h"

static const uint8_t head_us[24] = {
	0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0};
static const uint8_t head_ns[24] = {
	0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0};
/* 3.000456789 s; 60 bytes. */
static const uint8_t record_us[16] = {3, 0, 0, 0, 0xc8, 0x01, 0, 0, 60, 0, 0, 0, 60, 0, 0, 0};
static const uint8_t record_ns[16] = {3, 0, 0, 0, 0x55, 0xf8, 0x06, 0, 60, 0, 0, 0, 60, 0, 0, 0};

static size_t capture(bool nanoseconds, uint8_t *bytes, size_t size)
{
	struct loop_faults all = {.loss = LOOP_MILLION};
	char path[] = "/tmp/loop-capture-XXXXXX";
	struct loop_config config = {.pcap = path, .pcap_nanoseconds = nanoseconds};
	struct fixture f;
	FILE *file;
	size_t length;
	int fd = mkstemp(path);

	CU_ASSERT_FATAL(fd >= 0);
	close(fd);
	fixture_open(&f, &config);
	f.now = 3000456789ull;
	fixture_send(&f, 0, 1, 0x01020304, 60);
	loop_set_faults(f.wire, 0, 1, &all);
	fixture_send(&f, 0, 1, 5, 60); /* doesn't cross */
	fixture_close(&f);
	file = fopen(path, "rb");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	length = fread(bytes, 1, size, file);
	fclose(file);
	unlink(path);
	return length;
}

static void check(bool nanoseconds, const uint8_t head[24], const uint8_t record[16])
{
	uint8_t bytes[1000];

	CU_ASSERT_EQUAL(capture(nanoseconds, bytes, sizeof(bytes)), 24 + 16 + 60);
	CU_ASSERT_EQUAL(memcmp(bytes, head, 24), 0);
	CU_ASSERT_EQUAL(memcmp(bytes + 24, record, 16), 0);
	CU_ASSERT_EQUAL(memcmp(bytes + 40, "\2\0\0\0\0\2\2\0\0\0\0\1\0\0\4\3\2\1", 18), 0);
}

static void microseconds(void)
{
	check(false, head_us, record_us);
}

static void nanoseconds(void)
{
	check(true, head_ns, record_ns);
}

static void a_file_that_cannot_be(void)
{
	struct loop_config config = {.pcap = "/nonexistent/file"};
	struct loop_wire *wire;

	CU_ASSERT_EQUAL(loop_create(&config, &wire), -ENOENT);
}

static const struct unit_case cases[] = {
	UNIT_CASE(microseconds),
	UNIT_CASE(nanoseconds),
	UNIT_CASE(a_file_that_cannot_be),
};

UNIT_MAIN("loop-capture", cases)
