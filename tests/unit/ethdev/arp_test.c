/* SPDX-License-Identifier: BSD-3-Clause */
/* ARP: answers, learning, announcements, conflicts; frames typed from RFC 826 and RFC 5227. */
#include <errno.h>
#include <string.h>

#include "box.h"
#include "unit.h"

#define HEAD "0001 0800 06 04 " /* Ethernet, IPv4, 6, 4 */
#define US "020000000002 0a4d0002 "
#define PEER "020000000001 0a4d0001 "
#define NOBODY "000000000000 "
#define ALL "ffffffffffff "

#define REQUEST ALL "020000000001 0806 " HEAD "0001 " PEER NOBODY "0a4d0002"
#define REPLY "020000000001 020000000002 0806 " HEAD "0002 " US PEER
#define ASK_PEER ALL "020000000002 0806 " HEAD "0001 " US NOBODY "0a4d0001"
#define PEER_SAYS "020000000002 020000000001 0806 " HEAD "0002 " PEER US

static void requests_are_answered(void)
{
	static const struct {
		const char *request, *reply; /* NULL: no answer */
		enum net_drop drop;
	} rows[] = {
		{REQUEST, REPLY, NET_OK},
		/* trailing padding of a short frame */
		{REQUEST " 00000000 00000000", REPLY, NET_OK},
		/* unicast poll (RFC 1122 2.3.2.1) */
		{"020000000002 020000000001 0806 " HEAD "0001 " PEER "020000000002 0a4d0002", REPLY,
			NET_OK},
		/* probe: somebody without an address asks (RFC 5227 2.1.1) */
		{ALL "020000000001 0806 " HEAD "0001 020000000001 00000000 " NOBODY "0a4d0002",
			"020000000001 020000000002 0806 " HEAD "0002 " US "020000000001 00000000",
			NET_OK},
		/* tagged with VLAN 0: a priority tag, answered without it */
		{ALL "020000000001 8100 a000 0806 " HEAD "0001 " PEER NOBODY "0a4d0002", REPLY,
			NET_OK},
		/* VLAN 5 has addresses of its own */
		{ALL "020000000001 8100 6005 0806 " HEAD "0001 020000000001 0a580001 " NOBODY
		     "0a580002",
			"020000000001 020000000002 8100 0005 0806 " HEAD
			"0002 020000000002 0a580002 020000000001 0a580001",
			NET_OK},
		{ALL "020000000001 8100 0005 0806 " HEAD "0001 " PEER NOBODY "0a4d0002", NULL,
			NET_ADDRESS},
		{ALL "020000000001 0806 " HEAD "0001 020000000001 0a580001 " NOBODY "0a580002",
			NULL, NET_ADDRESS},
		/* for somebody else */
		{ALL "020000000001 0806 " HEAD "0001 " PEER NOBODY "0a4d0003", NULL, NET_ADDRESS},
		/* to another station's MAC */
		{"020000000003 020000000001 0806 " HEAD "0001 " PEER NOBODY "0a4d0002", NULL,
			NET_ADDRESS},
		/* from our own MAC, from a group's, from none */
		{ALL "020000000002 0806 " HEAD "0001 " PEER NOBODY "0a4d0002", NULL, NET_OWN},
		{ALL "030000000001 0806 " HEAD "0001 " PEER NOBODY "0a4d0002", NULL, NET_FORMAT},
		{ALL "000000000000 0806 " HEAD "0001 " PEER NOBODY "0a4d0002", NULL, NET_FORMAT},
		/* a sender whose MAC is a group's, or none */
		{ALL "020000000001 0806 " HEAD "0001 ffffffffffff 0a4d0001 " NOBODY "0a4d0002",
			NULL, NET_FORMAT},
		{ALL "020000000001 0806 " HEAD "0001 000000000000 0a4d0001 " NOBODY "0a4d0002",
			NULL, NET_FORMAT},
		/* hardware, protocol, lengths, operation */
		{ALL "020000000001 0806 0006 0800 06 04 0001 " PEER NOBODY "0a4d0002", NULL,
			NET_FORMAT},
		{ALL "020000000001 0806 0001 0801 06 04 0001 " PEER NOBODY "0a4d0002", NULL,
			NET_FORMAT},
		{ALL "020000000001 0806 0001 0800 08 04 0001 " PEER NOBODY "0a4d0002", NULL,
			NET_FORMAT},
		{ALL "020000000001 0806 0001 0800 06 10 0001 " PEER NOBODY "0a4d0002", NULL,
			NET_FORMAT},
		{ALL "020000000001 0806 " HEAD "0003 " PEER NOBODY "0a4d0002", NULL, NET_TYPE},
		/* one byte short, the tag alone, the Ethernet header alone, less than that */
		{ALL "020000000001 0806 " HEAD "0001 " PEER NOBODY "0a4d00", NULL, NET_SHORT},
		{ALL "020000000001 8100 0005", NULL, NET_SHORT},
		{ALL "020000000001 0806", NULL, NET_SHORT},
		{ALL "020000000001 08", NULL, NET_SHORT},
		{"", NULL, NET_SHORT},
		/* another protocol */
		{ALL "020000000001 88cc 0207", NULL, NET_TYPE},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct box box;

		box_open(&box);
		box_input(&box, rows[i].request);
		if (rows[i].reply)
			CU_ASSERT(box_sent(&box, rows[i].reply));
		CU_ASSERT_EQUAL(box.count, 0);
		CU_ASSERT_EQUAL(box.net.counters.drops[rows[i].drop], 1);
		CU_ASSERT_EQUAL(box.net.counters.arp_out, rows[i].reply ? 1 : 0);
		box_close(&box);
	}
}

static void without_a_buffer(void)
{
	struct box box;

	box_open(&box);
	box.starved = true;
	box_input(&box, REQUEST);
	CU_ASSERT_EQUAL(box.net.counters.drops[NET_BUFFER], 1);
	CU_ASSERT_EQUAL(box.net.counters.arp_out, 0);
	CU_ASSERT_EQUAL(box.net.counters.arp_in, 1);
	box_close(&box);
}

static void resolution(void)
{
	struct box box;
	uint32_t id;
	uint64_t mac;

	box_open(&box);
	CU_ASSERT_EQUAL(box_route(&box, "10.77.0.2", "10.77.0.1", &id), 0);
	CU_ASSERT_EQUAL(box.count, 0);
	CU_ASSERT_EQUAL(box_ask(&box, id, &mac), -EINPROGRESS);
	CU_ASSERT(box_sent(&box, ASK_PEER));
	box_run(&box, BOX_SECOND);
	CU_ASSERT(box_sent(&box, ASK_PEER));
	box_input(&box, PEER_SAYS);
	CU_ASSERT_EQUAL(box_ask(&box, id, &mac), 0);
	CU_ASSERT_EQUAL(mac, 0x020000000001);
	/* Between 15 and 45 s later it is asked again, by itself. */
	box_run(&box, 46 * BOX_SECOND);
	CU_ASSERT(box_sent(
		&box, "020000000001 020000000002 0806 " HEAD "0001 " US NOBODY "0a4d0001"));
	CU_ASSERT_EQUAL(box.net.counters.arp_out, 3);
	CU_ASSERT_EQUAL(box.net.counters.arp_in, 1);
	box_close(&box);
}

static void resolution_on_a_vlan(void)
{
	struct box box;
	uint32_t id;
	uint64_t mac;

	box_open(&box);
	CU_ASSERT_EQUAL(box_route(&box, "10.88.0.2", "10.88.0.1", &id), 0);
	CU_ASSERT_EQUAL(box_ask(&box, id, &mac), -EINPROGRESS);
	CU_ASSERT(box_sent(&box,
		ALL "020000000002 8100 0005 0806 " HEAD "0001 020000000002 0a580002 " NOBODY
		    "0a580001"));
	/* The same words without the tag are somebody else's. */
	box_input(&box,
		"020000000002 020000000001 0806 " HEAD
		"0002 020000000001 0a580001 020000000002 0a580002");
	CU_ASSERT_EQUAL(box_ask(&box, id, &mac), -EINPROGRESS);
	box_input(&box,
		"020000000002 020000000001 8100 0005 0806 " HEAD
		"0002 020000000001 0a580001 020000000002 0a580002");
	CU_ASSERT_EQUAL(box_ask(&box, id, &mac), 0);
	box_close(&box);
}

static void nobody_answers(void)
{
	struct box box;
	uint32_t id;
	uint64_t mac;

	box_open(&box);
	CU_ASSERT_EQUAL(box_route(&box, "10.77.0.2", "10.77.0.9", &id), 0);
	CU_ASSERT_EQUAL(box_ask(&box, id, &mac), -EINPROGRESS);
	for (unsigned int i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(box_forget(&box), 1);
		CU_ASSERT_EQUAL(box_ask(&box, id, &mac), -EINPROGRESS);
		box_run(&box, BOX_SECOND);
	}
	CU_ASSERT_EQUAL(box.count, 0);
	CU_ASSERT_EQUAL(box_ask(&box, id, &mac), -EHOSTUNREACH);
	CU_ASSERT_EQUAL(box.net.neighbours.unreachable, 1);
	box_close(&box);
}

/* Whatever comes unasked, no entry is made from it. */
static void nothing_is_learned_from_strangers(void)
{
	struct box box;

	box_open(&box);
	box_input(&box, REQUEST);
	box_input(&box, PEER_SAYS);
	/* a gratuitous reply and an announcement */
	box_input(&box, ALL "020000000001 0806 " HEAD "0002 " PEER "ffffffffffff 0a4d0001");
	box_input(&box, ALL "020000000001 0806 " HEAD "0001 " PEER NOBODY "0a4d0001");
	CU_ASSERT_EQUAL(box.net.neighbours.count, 0);
	box_close(&box);
}

/* A neighbour that moves to another MAC says so; that is taken up and verified. */
static void neighbour_moves(void)
{
	struct box box;
	uint32_t id;
	uint64_t mac;

	box_open(&box);
	CU_ASSERT_EQUAL(box_route(&box, "10.77.0.2", "10.77.0.1", &id), 0);
	box_ask(&box, id, &mac);
	box_input(&box, PEER_SAYS);
	box_run(&box, 2 * BOX_SECOND);
	box_forget(&box);
	box_input(&box,
		ALL "020000000007 0806 " HEAD "0001 020000000007 0a4d0001 " NOBODY "0a4d0001");
	CU_ASSERT_EQUAL(box_ask(&box, id, &mac), 0);
	CU_ASSERT_EQUAL(mac, 0x020000000007);
	CU_ASSERT(box_sent(
		&box, "020000000007 020000000002 0806 " HEAD "0001 " US NOBODY "0a4d0001"));
	box_close(&box);
}

/* A reply to all is no answer to us: it may teach, but it proves nothing. */
static void broadcast_reply_proves_nothing(void)
{
	struct box box;
	uint32_t id;
	uint64_t mac;

	box_open(&box);
	CU_ASSERT_EQUAL(box_route(&box, "10.77.0.2", "10.77.0.1", &id), 0);
	box_ask(&box, id, &mac);
	CU_ASSERT_EQUAL(box_forget(&box), 1);
	box_input(&box, ALL "020000000001 0806 " HEAD "0002 " PEER US);
	CU_ASSERT_EQUAL(box_ask(&box, id, &mac), 0);
	CU_ASSERT_EQUAL(box_forget(&box), 1); /* the probe that verifies it */
	box_close(&box);
}

#define PROBE ALL "020000000002 0806 " HEAD "0001 020000000002 00000000 " NOBODY "0a4d0002"
#define ANNOUNCEMENT ALL "020000000002 0806 " HEAD "0001 " US NOBODY "0a4d0002"

/* Probe at once, announcements after 1 and 3 s. */
static void announces_itself(void)
{
	struct net_config config = {0};
	struct box box;

	box_add(&config, "10.77.0.2", 24, 0);
	box_open_with(&box, &config);
	CU_ASSERT_EQUAL(box.count, 0);
	CU_ASSERT_EQUAL(box_run(&box, 0), box.now + BOX_SECOND);
	CU_ASSERT(box_sent(&box, PROBE));
	CU_ASSERT_EQUAL(box_run(&box, BOX_SECOND - 1), box.now + 1);
	CU_ASSERT_EQUAL(box.count, 0);
	CU_ASSERT_EQUAL(box_run(&box, 1), box.now + 2 * BOX_SECOND);
	CU_ASSERT(box_sent(&box, ANNOUNCEMENT));
	CU_ASSERT_EQUAL(box_run(&box, 2 * BOX_SECOND), TIMER_NEVER);
	CU_ASSERT(box_sent(&box, ANNOUNCEMENT));
	net_link_up(&box.net, box.now);
	box_run(&box, 0);
	CU_ASSERT(box_sent(&box, PROBE));
	box_close(&box);
}

/* Somebody else has our address: counted, and defended once in 10 s. */
static void conflict(void)
{
	static const char claim[] =
		ALL "020000000001 0806 " HEAD "0001 020000000001 0a4d0002 " NOBODY "0a4d0002";
	struct box box;

	box_open(&box);
	for (unsigned int i = 0; i < 5; i++) {
		box_input(&box, claim);
		box_run(&box, BOX_SECOND);
	}
	CU_ASSERT(box_sent(&box, ANNOUNCEMENT));
	CU_ASSERT_EQUAL(box.count, 0);
	CU_ASSERT_EQUAL(box.net.counters.conflicts, 5);
	box_run(&box, 5 * BOX_SECOND);
	box_input(&box, claim);
	box_run(&box, 0);
	CU_ASSERT(box_sent(&box, ANNOUNCEMENT));
	CU_ASSERT_EQUAL(box.count, 0);
	/* Our own words that come back are no conflict. */
	box_input(&box, "ffffffffffff 020000000003 0806 " HEAD "0001 " US NOBODY "0a4d0002");
	CU_ASSERT_EQUAL(box.net.counters.conflicts, 6);
	CU_ASSERT_EQUAL(box.net.counters.drops[NET_OWN], 1);
	box_close(&box);
}

static const struct unit_case cases[] = {
	UNIT_CASE(requests_are_answered),
	UNIT_CASE(without_a_buffer),
	UNIT_CASE(resolution),
	UNIT_CASE(resolution_on_a_vlan),
	UNIT_CASE(nobody_answers),
	UNIT_CASE(nothing_is_learned_from_strangers),
	UNIT_CASE(neighbour_moves),
	UNIT_CASE(broadcast_reply_proves_nothing),
	UNIT_CASE(announces_itself),
	UNIT_CASE(conflict),
};

UNIT_MAIN("ethdev-arp", cases)
