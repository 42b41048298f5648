/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of the kernel from bytes, as rtnetlink(7) and linux/rtnetlink.h lay them out, in the
 * byte order of a little-endian host. The addresses are those of RFC 5737 and RFC 3849.
 */
#include <errno.h>
#include <string.h>

#include "address.h"
#include "rtnl.h"
#include "unit.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the messages of these tests are a little-endian host's"
#endif

#define U16(v) (v) & 0xff, (v) >> 8 & 0xff
#define U32(v) U16(v), U16((v) >> 16)
/* nlmsghdr: length, type, flags, sequence, port */
#define HEADER(length, type, flags) U32(length), U16(type), U16(flags), U32(7), U32(99)

enum { ERROR = 2, DONE = 3, OVERRUN = 4, NEWLINK = 16, DELLINK = 17, NEWADDR = 20, DELADDR = 21 };
enum { NEWROUTE = 24, DELROUTE = 25, NEWNEIGH = 28, DELNEIGH = 29 };

#define MAPPED(a, b, c, d)                                                                         \
	{                                                                                          \
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d                               \
	}
#define IPV6_TAIL 0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5

static const uint8_t ipv4[16] = MAPPED(192, 0, 2, 1);
static const uint8_t ipv4_gateway[16] = MAPPED(192, 0, 2, 254);
static const uint8_t ipv6[16] = {IPV6_TAIL};
static const uint8_t mac[6] = {2, 0, 0, 0, 0, 7};

static uint8_t buffer[1024] RTNL_ALIGNED;

/* The first message of the bytes. */
static struct rtnl_message parse(const uint8_t *bytes, size_t length)
{
	struct rtnl_message message;
	const uint8_t *data = buffer;

	memcpy(buffer, bytes, length);
	CU_ASSERT_FATAL(rtnl_next(&data, &length, &message));
	return message;
}

#define PARSE(bytes) parse(bytes, sizeof(bytes))

static const uint8_t new_ipv4[] = {HEADER(48, NEWADDR, 2), 2, 24, 0x80, 0,
	U32(5),			       /* ifaddrmsg: IPv4, /24, flags, scope, index */
	U16(8), U16(1), 192, 0, 2, 99, /* IFA_ADDRESS: the other end */
	U16(8), U16(2), 192, 0, 2, 1,  /* IFA_LOCAL */
	U16(8), U16(8), U32(0x280)};   /* IFA_FLAGS */

static void ipv4_address(void)
{
	struct rtnl_message m = PARSE(new_ipv4);

	CU_ASSERT_EQUAL(m.kind, RTNL_ADDRESS);
	CU_ASSERT_FALSE(m.gone);
	CU_ASSERT_EQUAL(m.sequence, 7);
	CU_ASSERT_EQUAL(m.address.interface, 5);
	CU_ASSERT_EQUAL(m.address.prefix_length, 24);
	CU_ASSERT_EQUAL(m.address.scope, 0);
	CU_ASSERT_EQUAL(m.address.flags, 0x280);
	CU_ASSERT(address_equal(m.address.gid, ipv4));
}

static void ipv6_address(void)
{
	const uint8_t bytes[] = {HEADER(44, DELADDR, 0x10 /* NLM_F_DUMP_INTR */), 10, 64, 0x40, 253,
		U32(5), U16(20), U16(1), IPV6_TAIL};
	struct rtnl_message m = PARSE(bytes);

	CU_ASSERT_EQUAL(m.kind, RTNL_ADDRESS);
	CU_ASSERT(m.gone);
	CU_ASSERT(m.interrupted);
	CU_ASSERT_EQUAL(m.address.scope, 253);
	CU_ASSERT_EQUAL(m.address.flags, 0x40); /* the fixed part's, where there is no IFA_FLAGS */
	CU_ASSERT(address_equal(m.address.gid, ipv6));
}

static void route(void)
{
	const uint8_t bytes[] = {HEADER(44, NEWROUTE, 0), 2, 32, 32, 0, 254, 0, 0, 1,
		U32(0),				 /* rtmsg: family ... type: unicast, flags */
		U16(8), U16(4), U32(9),		 /* RTA_OIF */
		U16(8), U16(5), 192, 0, 2, 254}; /* RTA_GATEWAY */
	struct rtnl_message m = PARSE(bytes);

	CU_ASSERT_EQUAL(m.kind, RTNL_ROUTE);
	CU_ASSERT_EQUAL(m.route.type, 1);
	CU_ASSERT_EQUAL(m.route.interface, 9);
	CU_ASSERT(m.route.has_gateway);
	CU_ASSERT(address_equal(m.route.gateway, ipv4_gateway));
}

static void route_on_link(void)
{
	const uint8_t bytes[] = {HEADER(36, DELROUTE, 0), 10, 128, 0, 0, 254, 0, 0, 1, U32(0),
		U16(8), U16(4), U32(9)};
	struct rtnl_message m = PARSE(bytes);

	CU_ASSERT_EQUAL(m.kind, RTNL_ROUTE);
	CU_ASSERT(m.gone);
	CU_ASSERT_FALSE(m.route.has_gateway);
}

/* An IPv4 route with an IPv6 gateway: RTA_VIA, its family and then the address. */
static void route_via_other_family(void)
{
	const uint8_t bytes[] = {HEADER(60, NEWROUTE, 0), 2, 32, 0, 0, 254, 0, 0, 1, U32(0), U16(8),
		U16(4), U32(9), U16(22), U16(18), U16(10), IPV6_TAIL, 0, 0};
	struct rtnl_message m = PARSE(bytes);

	CU_ASSERT_EQUAL(m.kind, RTNL_ROUTE);
	CU_ASSERT(m.route.has_gateway);
	CU_ASSERT(address_equal(m.route.gateway, ipv6));
}

static const uint8_t new_neighbour[] = {HEADER(48, NEWNEIGH, 0), 2, 0, 0, 0, U32(5), U16(0x02), 0,
	1,			      /* ndmsg: family, index, NUD_REACHABLE, flags, type */
	U16(8), U16(1), 192, 0, 2, 1, /* NDA_DST */
	U16(10), U16(2), 2, 0, 0, 0, 0, 7, 0, 0}; /* NDA_LLADDR, padded */

static void neighbour(void)
{
	struct rtnl_message m = PARSE(new_neighbour);

	CU_ASSERT_EQUAL(m.kind, RTNL_NEIGHBOUR);
	CU_ASSERT_EQUAL(m.neighbour.interface, 5);
	CU_ASSERT_EQUAL(m.neighbour.state, 0x02);
	CU_ASSERT(m.neighbour.has_mac);
	CU_ASSERT(mac_equal(m.neighbour.mac, mac));
	CU_ASSERT(address_equal(m.neighbour.address, ipv4));
}

static void neighbour_without_mac(void)
{
	const uint8_t bytes[] = {HEADER(36, DELNEIGH, 0), 2, 0, 0, 0, U32(5), U16(0x20), 0, 1,
		U16(8), U16(1), 192, 0, 2, 1};
	struct rtnl_message m = PARSE(bytes);

	CU_ASSERT_EQUAL(m.kind, RTNL_NEIGHBOUR);
	CU_ASSERT(m.gone);
	CU_ASSERT_FALSE(m.neighbour.has_mac);
}

/* InfiniBand's has 20 bytes: none that we could send to. */
static void hardware_address_of_20_bytes(void)
{
	uint8_t bytes[60] = {HEADER(60, NEWNEIGH, 0), 2, 0, 0, 0, U32(5), U16(0x02), 0, 1, U16(8),
		U16(1), 192, 0, 2, 1, U16(24), U16(2), 1, 2, 3};

	CU_ASSERT_EQUAL(PARSE(bytes).kind, RTNL_NEIGHBOUR);
	CU_ASSERT_FALSE(PARSE(bytes).neighbour.has_mac);
}

static void link_message(void)
{
	const uint8_t bytes[] = {HEADER(44, DELLINK, 0), 0, 0, U16(1), U32(5), U32(0x1043), U32(0),
		U16(10), U16(1), 2, 0, 0, 0, 0, 7, 0, 0};
	struct rtnl_message m = PARSE(bytes);

	CU_ASSERT_EQUAL(m.kind, RTNL_LINK);
	CU_ASSERT(m.gone);
	CU_ASSERT_EQUAL(m.link.interface, 5);
	CU_ASSERT(m.link.has_mac && mac_equal(m.link.mac, mac));
}

static void ends(void)
{
	const uint8_t refused[] = {HEADER(36, ERROR, 0), U32(-101), HEADER(20, 26, 1)};
	const uint8_t acknowledged[] = {HEADER(36, ERROR, 0), U32(0), HEADER(20, 26, 1)};
	const uint8_t done[] = {HEADER(20, DONE, 2), U32(0)};
	const uint8_t failed[] = {HEADER(20, DONE, 2), U32(-105)};
	const uint8_t bare[] = {HEADER(16, DONE, 2)};
	const uint8_t overrun[] = {HEADER(16, OVERRUN, 0)};

	CU_ASSERT_EQUAL(PARSE(refused).kind, RTNL_ERROR);
	CU_ASSERT_EQUAL(PARSE(refused).error, -ENETUNREACH);
	CU_ASSERT_EQUAL(PARSE(acknowledged).kind, RTNL_ERROR);
	CU_ASSERT_EQUAL(PARSE(acknowledged).error, 0);
	CU_ASSERT_EQUAL(PARSE(done).kind, RTNL_DONE);
	CU_ASSERT_EQUAL(PARSE(done).error, 0);
	CU_ASSERT_EQUAL(PARSE(failed).error, -ENOBUFS);
	CU_ASSERT_EQUAL(PARSE(bare).kind, RTNL_DONE);
	CU_ASSERT_EQUAL(PARSE(overrun).kind, RTNL_OVERRUN);
}

/* What the groups that we listen to tell besides. */
static void of_no_interest(void)
{
	const uint8_t bridge_entry[] = {HEADER(40, NEWNEIGH, 0), 7 /* AF_BRIDGE */, 0, 0, 0, U32(5),
		U16(2), 0, 0, U16(10), U16(2), 2, 0, 0, 0, 0, 7, 0, 0};
	const uint8_t bridge_port[] = {
		HEADER(32, NEWLINK, 0), 7, 0, U16(1), U32(5), U32(0), U32(0)};
	const uint8_t mpls_route[] = {
		HEADER(28, NEWROUTE, 0), 28 /* AF_MPLS */, 20, 0, 0, 254, 0, 0, 1, U32(0)};
	const uint8_t other[] = {HEADER(16, 36 /* RTM_NEWQDISC */, 0)};

	CU_ASSERT_EQUAL(PARSE(bridge_entry).kind, RTNL_OTHER);
	CU_ASSERT_EQUAL(PARSE(bridge_port).kind, RTNL_OTHER);
	CU_ASSERT_EQUAL(PARSE(mpls_route).kind, RTNL_OTHER);
	CU_ASSERT_EQUAL(PARSE(other).kind, RTNL_OTHER);
}

static void several_in_a_buffer(void)
{
	const uint8_t *data = buffer;
	struct rtnl_message message;
	size_t length = sizeof(new_ipv4) + sizeof(new_neighbour);

	memcpy(buffer, new_ipv4, sizeof(new_ipv4));
	memcpy(buffer + sizeof(new_ipv4), new_neighbour, sizeof(new_neighbour));
	CU_ASSERT(rtnl_next(&data, &length, &message));
	CU_ASSERT_EQUAL(message.kind, RTNL_ADDRESS);
	CU_ASSERT(rtnl_next(&data, &length, &message));
	CU_ASSERT_EQUAL(message.kind, RTNL_NEIGHBOUR);
	CU_ASSERT_FALSE(rtnl_next(&data, &length, &message));
}

/* ---- lengths that contradict each other ---- */

/* One field of a good message, overwritten: what it then must be. */
struct hostile {
	const char *what;
	const uint8_t *bytes;
	size_t length; /* of the buffer */
	size_t at;
	uint32_t value;
	unsigned int width;
};

#define GOOD(message) message, sizeof(message)

static const struct hostile hostile[] = {
	{"a message longer than the buffer", GOOD(new_ipv4), 0, 49, 4},
	{"much longer", GOOD(new_ipv4), 0, 0x7fffffff, 4},
	{"2 GiB: negative as an int", GOOD(new_ipv4), 0, 0x80000000, 4},
	{"4 GiB less one", GOOD(new_ipv4), 0, 0xffffffff, 4},
	{"shorter than its header", GOOD(new_ipv4), 0, 15, 4},
	{"of no length", GOOD(new_ipv4), 0, 0, 4},
	{"without its fixed part", GOOD(new_ipv4), 0, 16, 4},
	{"with half of it", GOOD(new_ipv4), 0, 23, 4},
	{"an attribute longer than the message", GOOD(new_ipv4), 40, 9, 2},
	{"much longer", GOOD(new_ipv4), 32, 0xffff, 2},
	{"shorter than its header", GOOD(new_ipv4), 24, 3, 2},
	{"of no length", GOOD(new_ipv4), 32, 0, 2},
	{"an address of 3 bytes", GOOD(new_ipv4), 32, 7, 2},
	{"an address of no bytes", GOOD(new_ipv4), 32, 4, 2},
	{"a prefix of 33 bits", GOOD(new_ipv4), 17, 33, 1},
	{"IPv6 with an address of 4 bytes", GOOD(new_ipv4), 16, 10, 1},
	{"flags of 3 bytes", GOOD(new_ipv4), 40, 7, 2},
	{"no address at all", GOOD(new_neighbour), 30, 9, 2},
	{"a neighbour of 3 bytes", GOOD(new_neighbour), 28, 7, 2},
	{"an attribute that ends behind the message", GOOD(new_neighbour), 36, 13, 2},
};

static void lengths(void)
{
	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
		const struct hostile *row = &hostile[i];
		struct rtnl_message message;
		const uint8_t *data = buffer;
		size_t length = row->length;

		memcpy(buffer, row->bytes, row->length);
		memcpy(buffer + row->at, &row->value, row->width);
		CU_ASSERT_FATAL(rtnl_next(&data, &length, &message));
		if (message.kind != RTNL_MALFORMED)
			printf("\n%s (row %zu): kind %d", row->what, i, message.kind);
		CU_ASSERT_EQUAL(message.kind, RTNL_MALFORMED);
		CU_ASSERT_EQUAL(length, 0);
		CU_ASSERT_FALSE(rtnl_next(&data, &length, &message));
	}
}

/* A message cut off anywhere is none, whatever lies behind it in memory. */
static void cut_off(void)
{
	for (size_t cut = 1; cut < sizeof(new_neighbour); cut++) {
		const uint8_t *data = buffer;
		struct rtnl_message message;
		size_t length = cut;

		memcpy(buffer, new_neighbour, sizeof(new_neighbour));
		CU_ASSERT_FATAL(rtnl_next(&data, &length, &message));
		CU_ASSERT_EQUAL(message.kind, RTNL_MALFORMED);
	}
}

static void errors_that_are_none(void)
{
	const uint8_t positive[] = {HEADER(36, ERROR, 0), U32(22), HEADER(20, 26, 1)};
	const uint8_t huge[] = {HEADER(36, ERROR, 0), U32(0x80000000), HEADER(20, 26, 1)};
	const uint8_t brief[] = {HEADER(20, ERROR, 0), U32(-22)};
	const uint8_t done[] = {HEADER(18, DONE, 0), 0, 0};

	CU_ASSERT_EQUAL(PARSE(positive).kind, RTNL_MALFORMED);
	CU_ASSERT_EQUAL(PARSE(huge).kind, RTNL_MALFORMED);
	CU_ASSERT_EQUAL(PARSE(brief).kind, RTNL_MALFORMED);
	CU_ASSERT_EQUAL(PARSE(done).kind, RTNL_MALFORMED);
}

/* ::ffff:192.0.2.1 as an IPv6 address would be taken for the IPv4 one. */
static void ipv4_in_ipv6_clothes(void)
{
	const uint8_t bytes[] = {HEADER(44, NEWADDR, 0), 10, 64, 0, 0, U32(5), U16(20), U16(1), 0,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1};

	CU_ASSERT_EQUAL(PARSE(bytes).kind, RTNL_MALFORMED);
}

static void short_vias(void)
{
	uint8_t bytes[] = {HEADER(36, NEWROUTE, 0), 2, 32, 0, 0, 254, 0, 0, 1, U32(0), U16(5),
		U16(18), 10, 0, 0, 0};

	CU_ASSERT_EQUAL(PARSE(bytes).kind, RTNL_MALFORMED); /* half a family */
	bytes[28] = 6;
	CU_ASSERT_EQUAL(PARSE(bytes).kind, RTNL_MALFORMED); /* no address */
	bytes[28] = 8;
	CU_ASSERT_EQUAL(PARSE(bytes).kind, RTNL_MALFORMED); /* two bytes of one */
}

/* Any byte of a message changed to any value: nothing is read out of bounds, and it ends. */
static void any_byte(void)
{
	for (size_t at = 0; at < sizeof(new_neighbour); at++)
		for (unsigned int value = 0; value < 256; value++) {
			const uint8_t *data = buffer;
			size_t length = sizeof(new_neighbour);
			struct rtnl_message message;
			unsigned int n = 0;

			memcpy(buffer, new_neighbour, sizeof(new_neighbour));
			buffer[at] = (uint8_t)value;
			while (rtnl_next(&data, &length, &message))
				n++;
			CU_ASSERT(n >= 1 && n <= sizeof(new_neighbour) / 16);
		}
}

static const struct unit_case cases[] = {
	UNIT_CASE(ipv4_address),
	UNIT_CASE(ipv6_address),
	UNIT_CASE(route),
	UNIT_CASE(route_on_link),
	UNIT_CASE(route_via_other_family),
	UNIT_CASE(neighbour),
	UNIT_CASE(neighbour_without_mac),
	UNIT_CASE(hardware_address_of_20_bytes),
	UNIT_CASE(link_message),
	UNIT_CASE(ends),
	UNIT_CASE(of_no_interest),
	UNIT_CASE(several_in_a_buffer),
	UNIT_CASE(lengths),
	UNIT_CASE(cut_off),
	UNIT_CASE(errors_that_are_none),
	UNIT_CASE(ipv4_in_ipv6_clothes),
	UNIT_CASE(short_vias),
	UNIT_CASE(any_byte),
};

UNIT_MAIN("netlink-answer", cases)
