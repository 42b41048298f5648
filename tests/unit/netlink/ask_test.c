/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests, byte by byte, as rtnetlink(7) lays them out on a little-endian host. */
#include <string.h>

#include "address.h"
#include "rtnl.h"
#include "unit.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the messages of these tests are a little-endian host's"
#endif

#define U16(v) (v) & 0xff, (v) >> 8 & 0xff
#define U32(v) U16(v), U16((v) >> 16)

static const uint8_t ipv4_a[16] = {[10] = 0xff, 0xff, 192, 0, 2, 1};
static const uint8_t ipv4_b[16] = {[10] = 0xff, 0xff, 198, 51, 100, 2};
static const uint8_t ipv6_a[16] = {0x20, 1, 0x0d, 0xb8, [15] = 1};
static const uint8_t ipv6_b[16] = {0xfe, 0x80, [15] = 2};

static uint8_t buffer[RTNL_REQUEST_MAX] RTNL_ALIGNED;

/* Padding is zero, whatever lay in the buffer. */
static void dirty(void)
{
	memset(buffer, 0xa5, sizeof(buffer));
}

static void is(size_t length, const uint8_t *expected, size_t expected_length)
{
	CU_ASSERT_EQUAL(length, expected_length);
	CU_ASSERT(memcmp(buffer, expected, expected_length) == 0);
}

#define IS(length, expected) is(length, expected, sizeof(expected))

static void addresses(void)
{
	const uint8_t expected[] = {U32(24), U16(22), U16(0x301) /* NLM_F_REQUEST, NLM_F_DUMP */,
		U32(3), U32(0), 10, 0, 0, 0, U32(5)};

	dirty();
	IS(rtnl_ask_addresses(buffer, 3, 10, 5), expected);
}

static void link_question(void)
{
	const uint8_t expected[] = {
		U32(32), U16(18), U16(1), U32(4), U32(0), 0, 0, U16(0), U32(5), U32(0), U32(0)};

	dirty();
	IS(rtnl_ask_link(buffer, 4, 5), expected);
}

static void ipv4_route(void)
{
	const uint8_t expected[] = {U32(44), U16(26), U16(1), U32(9), U32(0), 2, 32, 32, 0, 0, 0, 0,
		0, U32(0), U16(8), U16(1), 198, 51, 100, 2, U16(8), U16(2), 192, 0, 2, 1};

	dirty();
	IS(rtnl_ask_route(buffer, 9, ipv4_a, ipv4_b, 5), expected);
}

/* fe80::/64 is on every interface: the question has to name ours. */
static void link_local_route(void)
{
	const uint8_t expected[] = {U32(76), U16(26), U16(1), U32(9), U32(0), 10, 128, 128, 0, 0, 0,
		0, 0, U32(0), U16(20), U16(1), 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
		U16(20), U16(2), 0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, U16(8),
		U16(4), U32(5)};

	dirty();
	IS(rtnl_ask_route(buffer, 9, ipv6_a, ipv6_b, 5), expected);
}

static void neighbour(void)
{
	const uint8_t expected[] = {U32(36), U16(30), U16(1), U32(2), U32(0), 2, 0, 0, 0, U32(5),
		U16(0), 0, 0, U16(8), U16(1), 192, 0, 2, 1};

	dirty();
	IS(rtnl_ask_neighbour(buffer, 2, 5, ipv4_a), expected);
}

static void use(void)
{
	const uint8_t expected[] = {U32(48), U16(28),
		U16(0x405) /* NLM_F_REQUEST, NLM_F_ACK, NLM_F_CREATE */, U32(2), U32(0), 10, 0, 0,
		0, U32(5), U16(0), 0x01 /* NTF_USE */, 0, U16(20), U16(1), 0xfe, 0x80, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 2};

	dirty();
	IS(rtnl_use_neighbour(buffer, 2, 5, ipv6_b), expected);
}

static const struct unit_case cases[] = {
	UNIT_CASE(addresses),
	UNIT_CASE(link_question),
	UNIT_CASE(ipv4_route),
	UNIT_CASE(link_local_route),
	UNIT_CASE(neighbour),
	UNIT_CASE(use),
};

UNIT_MAIN("netlink-ask", cases)
