/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses as RFC 5952 writes them, and a line that never leaves its buffer. */
#include <string.h>

#include "text.h"
#include "unit.h"

static void ipv6(void)
{
	static const struct {
		uint8_t address[16];
		const char *text;
	} rows[] = {
		{{0}, "::"},
		{{[15] = 1}, "::1"},
		{{0xfd, 0x99, [15] = 2}, "fd99::2"},
		{{0xfe, 0x80}, "fe80::"},
		{{0x20, 1, 0x0d, 0xb8, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1}, "2001:db8:0:1:1:1:1:1"},
		{{0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1}, "2001:db8::1:0:0:1"},
		{{0x20, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1}, "2001:0:0:1::1"},
		{{0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 0, 0, 0}, "1:2:3:4:5:6::"},
		{{0, 0, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 0}, "0:2:3:4:5:6:7:0"},
		{{0xab, 0xcd, 0xef, 1, 0x10, 0, 1, 0, 0, 0x0a, 0, 0x0b, 0, 0x0c, 0xff, 0xff},
			"abcd:ef01:1000:100:a:b:c:ffff"},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char line[64];
		struct text text = text_start(line, sizeof(line));

		text_ipv6(&text, rows[i].address);
		CU_ASSERT_STRING_EQUAL(line, rows[i].text);
	}
}

static void others(void)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0x99, 0xff};
	static const uint8_t mapped[16] = {[10] = 0xff, 0xff, 10, 99, 0, 255};
	static const uint8_t global[16] = {0xfd, 0x99, [15] = 3};
	char line[64];
	struct text text = text_start(line, sizeof(line));

	text_mac(&text, mac);
	text_put(&text, " ");
	text_gid(&text, mapped);
	text_put(&text, " ");
	text_gid(&text, global);
	CU_ASSERT_STRING_EQUAL(line, "02:00:00:00:99:ff 10.99.0.255 fd99::3");
}

static void bytes(void)
{
	static const uint8_t data[6] = {0x01, 0x00, 0xab, 0xcd, 0, 0};
	char line[64];
	struct text text = text_start(line, sizeof(line));

	text_bytes(&text, data, sizeof(data), 8);
	CU_ASSERT_STRING_EQUAL(line, "0100abcd");
	text = text_start(line, sizeof(line));
	text_bytes(&text, data, sizeof(data), 3);
	CU_ASSERT_STRING_EQUAL(line, "0100ab...");
	text = text_start(line, sizeof(line));
	text_bytes(&text, data + 4, 2, 8);
	CU_ASSERT_STRING_EQUAL(line, "");
}

static void cut(void)
{
	char line[16];
	struct text text;

	for (size_t room = 1; room <= sizeof(line); room++) {
		memset(line, 'x', sizeof(line));
		text = text_start(line, room);
		for (int i = 0; i < 4; i++)
			text_put(&text, "%s", "abcde");
		CU_ASSERT_EQUAL(strlen(line), room - 1);
		CU_ASSERT_EQUAL(memcmp(line, "abcdeabcdeabcdeabcde", room - 1), 0);
		CU_ASSERT_EQUAL(text.left, 1);
		if (room < sizeof(line))
			CU_ASSERT_EQUAL(line[room], 'x');
	}
}

static const struct unit_case cases[] = {
	UNIT_CASE(ipv6),
	UNIT_CASE(others),
	UNIT_CASE(bytes),
	UNIT_CASE(cut),
};

UNIT_MAIN("wire-text", cases)
