/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses: text, kinds, prefixes, the multicast addresses of RFC 4291 and RFC 2464; checksums. */
#include <errno.h>

#include "address.h"
#include "box.h"
#include "checksum.h"
#include "unit.h"

static void text(void)
{
	static const struct {
		const char *text, *hex; /* NULL: refused */
		const char *printed;
	} rows[] = {
		{"10.77.0.2", "00000000 00000000 0000ffff 0a4d0002", "10.77.0.2"},
		{"0.0.0.0", "00000000 00000000 0000ffff 00000000", "0.0.0.0"},
		{"fd00::2", "fd000000 00000000 00000000 00000002", "fd00::2"},
		{"FE80::1", "fe800000 00000000 00000000 00000001", "fe80::1"},
		{"::", "00000000 00000000 00000000 00000000", "::"},
		{"::ffff:10.77.0.2", NULL, NULL},
		{"10.77.0", NULL, NULL},
		{"10.77.0.256", NULL, NULL},
		{"10.77.0.2/24", NULL, NULL},
		{" 10.77.0.2", NULL, NULL},
		{"fd00::2%eth0", NULL, NULL},
		{"fd00::12345", NULL, NULL},
		{"host", NULL, NULL},
		{"", NULL, NULL},
	};
	uint8_t address[16], expected[16];
	char printed[ADDRESS_TEXT];

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int err = address_parse(address, rows[i].text);

		CU_ASSERT_EQUAL(err, rows[i].hex ? 0 : -EINVAL);
		if (err || !rows[i].hex)
			continue;
		box_hex(expected, sizeof(expected), rows[i].hex);
		CU_ASSERT_EQUAL(memcmp(address, expected, 16), 0);
		CU_ASSERT_STRING_EQUAL(address_format(printed, address), rows[i].printed);
	}
}

static void kinds(void)
{
	static const struct {
		const char *address;
		bool ipv4, unicast, multicast, link_local, unspecified;
	} rows[] = {
		{"10.77.0.2", true, true, false, false, false},
		{"0.0.0.0", true, false, false, false, false},
		{"0.1.2.3", true, false, false, false, false},
		{"127.0.0.1", true, false, false, false, false},
		{"126.255.255.255", true, true, false, false, false},
		{"128.0.0.0", true, true, false, false, false},
		{"223.255.255.255", true, true, false, false, false},
		{"224.0.0.0", true, false, true, false, false},
		{"239.255.255.255", true, false, true, false, false},
		{"240.0.0.1", true, false, false, false, false},
		{"255.255.255.255", true, false, false, false, false},
		{"::", false, false, false, false, true},
		{"::1", false, false, false, false, false},
		{"::2", false, true, false, false, false},
		{"fd00::2", false, true, false, false, false},
		{"fe80::1", false, true, false, true, false},
		{"febf::1", false, true, false, true, false},
		{"fec0::1", false, true, false, false, false},
		{"ff02::1", false, false, true, false, false},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t address[16];

		CU_ASSERT_EQUAL_FATAL(address_parse(address, rows[i].address), 0);
		CU_ASSERT_EQUAL(address_is_ipv4(address), rows[i].ipv4);
		CU_ASSERT_EQUAL(address_is_unicast(address), rows[i].unicast);
		CU_ASSERT_EQUAL(address_is_multicast(address), rows[i].multicast);
		CU_ASSERT_EQUAL(address_is_link_local(address), rows[i].link_local);
		CU_ASSERT_EQUAL(address_is_unspecified(address), rows[i].unspecified);
	}
}

static void prefixes(void)
{
	static const struct {
		const char *address, *prefix;
		unsigned int length; /* of the family */
		bool in;
	} rows[] = {
		{"10.77.0.2", "10.77.0.0", 24, true},
		{"10.77.1.2", "10.77.0.0", 24, false},
		{"10.77.1.2", "10.77.0.0", 23, true},
		{"10.77.2.2", "10.77.0.0", 23, false},
		{"10.77.0.2", "10.77.0.2", 32, true},
		{"10.77.0.3", "10.77.0.2", 32, false},
		{"10.77.0.3", "10.77.0.2", 31, true},
		{"192.168.0.1", "0.0.0.0", 0, true},
		{"192.168.0.1", "128.0.0.0", 1, true},
		{"64.168.0.1", "128.0.0.0", 1, false},
		{"fd00::2", "fd00::", 64, true},
		{"fd00:0:0:1::2", "fd00::", 64, false},
		{"fd00:0:0:1::2", "fd00::", 63, true},
		{"fd00::2", "fd00::2", 128, true},
		{"fd00::3", "fd00::2", 128, false},
		{"fd00::3", "fd00::2", 127, true},
		{"::2", "::", 0, true},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t address[16], prefix[16];

		CU_ASSERT_EQUAL_FATAL(address_parse(address, rows[i].address), 0);
		CU_ASSERT_EQUAL_FATAL(address_parse(prefix, rows[i].prefix), 0);
		CU_ASSERT_EQUAL(
			address_in_prefix(address, prefix, address_bits(prefix, rows[i].length)),
			rows[i].in);
	}
}

static void tails(void)
{
	static const struct {
		const char *address;
		unsigned int length;
		bool zeros, ones;
	} rows[] = {
		{"10.77.0.0", 24, true, false},
		{"10.77.0.255", 24, false, true},
		{"10.77.0.2", 24, false, false},
		{"10.77.0.0", 23, true, false},
		{"10.77.1.255", 23, false, true},
		{"10.77.0.255", 23, false, false},
		{"10.77.1.0", 23, false, false},
		{"10.77.0.2", 32, true, true},
		{"10.77.0.4", 30, true, false},
		{"10.77.0.7", 30, false, true},
		{"fd00::", 64, true, false},
		{"fd00::1", 64, false, false},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned int bits;
		uint8_t address[16];

		CU_ASSERT_EQUAL_FATAL(address_parse(address, rows[i].address), 0);
		bits = address_bits(address, rows[i].length);
		CU_ASSERT_EQUAL(address_tail_is(address, bits, false), rows[i].zeros);
		CU_ASSERT_EQUAL(address_tail_is(address, bits, true), rows[i].ones);
	}
}

/* The EUI-64 example is RFC 4291's, appendix A, with 34-56-78-9A-BC-DE as the MAC. */
static void derived(void)
{
	static const uint8_t mac[6] = {0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde};
	uint8_t made[16], expected[16], group_mac[6];

	address_link_local(made, mac);
	CU_ASSERT_EQUAL_FATAL(address_parse(expected, "fe80::3656:78ff:fe9a:bcde"), 0);
	CU_ASSERT(address_equal(made, expected));
	address_solicited_node(made, expected);
	CU_ASSERT_EQUAL_FATAL(address_parse(expected, "ff02::1:ff9a:bcde"), 0);
	CU_ASSERT(address_equal(made, expected));
	address_multicast_mac(group_mac, made);
	CU_ASSERT_EQUAL(memcmp(group_mac, "\x33\x33\xff\x9a\xbc\xde", 6), 0);
	CU_ASSERT(mac_is_multicast(group_mac));
	CU_ASSERT_FALSE(mac_is_unicast(group_mac));
	CU_ASSERT_FALSE(mac_is_unicast((const uint8_t[6]){0}));
	CU_ASSERT(mac_is_unicast(mac));
	CU_ASSERT_FALSE(mac_is_unicast(mac_broadcast));
}

/* RFC 1071's own example (section 3), an odd length, and a sum that carries twice. */
static void checksums(void)
{
	static const uint8_t rfc[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
	static const uint8_t ones[] = {0xff, 0xff, 0x00, 0x01, 0xff, 0xff};

	CU_ASSERT_EQUAL(checksum_finish(checksum_add(0, rfc, sizeof(rfc))), 0x220d);
	CU_ASSERT_EQUAL(checksum_finish(checksum_add(0, rfc, 3)), 0x0dfe);
	CU_ASSERT_EQUAL(checksum_finish(checksum_add(0, ones, sizeof(ones))), 0xfffe);
	CU_ASSERT_EQUAL(checksum_finish(0), 0xffff);
}

static const struct unit_case cases[] = {
	UNIT_CASE(text),
	UNIT_CASE(kinds),
	UNIT_CASE(prefixes),
	UNIT_CASE(tails),
	UNIT_CASE(derived),
	UNIT_CASE(checksums),
};

UNIT_MAIN("ethdev-address", cases)
