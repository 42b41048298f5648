/* SPDX-License-Identifier: BSD-3-Clause */
/* Neighbour discovery: answers, RFC 4861's validity checks, the flags of advertisements. */
#include <errno.h>

#include "box.h"
#include "unit.h"

#define US "fd000000000000000000000000000002 "
#define PEER "fd000000000000000000000000000001 "
#define NONE "00000000000000000000000000000000 "
#define OUR_GROUP "ff0200000000000000000001ff000002 "
#define PEER_GROUP "ff0200000000000000000001ff000001 "
#define ALL_NODES "ff020000000000000000000000000001 "
#define IN "020000000001 86dd 60000000 "  /* from the peer's MAC */
#define OUT "020000000002 86dd 60000000 " /* from ours */
#define TO_GROUP "3333ff000002 "

#define ASK TO_GROUP IN "0020 3a ff " PEER OUR_GROUP "87 00 7d97 00000000 " US "0101 020000000001"
#define ANSWER                                                                                     \
	"020000000001 " OUT "0020 3a ff " US PEER "88 00 1c9a 60000000 " US "0201 020000000002"
#define ANNOUNCEMENT                                                                               \
	"333300000001 " OUT "0020 3a ff " US ALL_NODES "88 00 5a98 20000000 " US "0201 "           \
	"020000000002"
/* The report of a listener, which mld_test.c looks at. */
#define LISTENS                                                                                    \
	"3333ff000002 " OUT "0020 00 01 " NONE OUR_GROUP                                           \
	"3a00050200000100 8300 809f 00000000 " OUR_GROUP
#define PROBE "3333ff000002 " OUT "0018 3a ff " NONE OUR_GROUP "87 00 7da3 00000000 " US
#define ASK_PEER                                                                                   \
	"3333ff000001 " OUT "0020 3a ff " US PEER_GROUP "87 00 7d97 00000000 " PEER                \
	"0101 020000000002"
#define PEER_SAYS                                                                                  \
	"020000000002 " IN "0020 3a ff " PEER US "88 00 1c9c 60000000 " PEER "0201 020000000001"

static void solicitations(void)
{
	static const struct {
		const char *what, *request, *reply;
		enum net_drop drop;
	} rows[] = {
		{"to the group", ASK, ANSWER, NET_OK},
		{"bytes behind the packet", ASK " 00000000", ANSWER, NET_OK},
		{"duplicate address detection",
			TO_GROUP IN "0018 3a ff " NONE OUR_GROUP "87 00 7da3 00000000 " US,
			ANNOUNCEMENT, NET_OK},
		{"on VLAN 5",
			TO_GROUP "020000000001 8100 0005 86dd 60000000 0020 3a ff "
				 "fd050000000000000000000000000001 " OUR_GROUP
				 "87 00 7d8d 00000000 "
				 "fd050000000000000000000000000002 0101 020000000001",
			"020000000001 020000000002 8100 0005 86dd 60000000 0020 3a ff "
			"fd050000000000000000000000000002 fd050000000000000000000000000001 "
			"88 00 1c8b 60000000 fd050000000000000000000000000002 0201 020000000002",
			NET_OK},
		{"for an address of another VLAN",
			TO_GROUP "020000000001 8100 0005 86dd 60000000 0020 3a ff " PEER OUR_GROUP
				 "87 00 7d97 00000000 " US "0101 020000000001",
			NULL, NET_ADDRESS},
		{"hop limit 254",
			TO_GROUP IN "0020 3a fe " PEER OUR_GROUP "87 00 7d97 00000000 " US
				    "0101 020000000001",
			NULL, NET_FORMAT},
		{"checksum",
			TO_GROUP IN "0020 3a ff " PEER OUR_GROUP "87 00 7d96 00000000 " US
				    "0101 020000000001",
			NULL, NET_CHECKSUM},
		{"code 1",
			TO_GROUP IN "0020 3a ff " PEER OUR_GROUP "87 01 7d96 00000000 " US
				    "0101 020000000001",
			NULL, NET_FORMAT},
		{"20 bytes",
			TO_GROUP IN "0014 3a ff " PEER OUR_GROUP
				    "87 00 80a7 00000000 fd000000000000000000 0000",
			NULL, NET_SHORT},
		{"target is a group",
			TO_GROUP IN "0018 3a ff " PEER OUR_GROUP "87 00 7e9f 00000000 "
				    "ff020000000000000000000000000002",
			NULL, NET_FORMAT},
		{"target is mapped",
			TO_GROUP IN "0018 3a ff " PEER OUR_GROUP "87 00 7355 00000000 "
				    "00000000000000000000ffff0a4d0002",
			NULL, NET_FORMAT},
		{"option of length 0",
			TO_GROUP IN "0020 3a ff " PEER OUR_GROUP "87 00 7d98 00000000 " US
				    "0100 020000000001",
			NULL, NET_FORMAT},
		{"option longer than the packet",
			TO_GROUP IN "0020 3a ff " PEER OUR_GROUP "87 00 7d96 00000000 " US
				    "0102 020000000001",
			NULL, NET_LENGTH},
		{"four bytes behind the last option",
			TO_GROUP IN "001c 3a ff " PEER OUR_GROUP "87 00 7d9c 00000000 " US
				    "0101 0200",
			NULL, NET_LENGTH},
		{"an unknown option first",
			TO_GROUP IN "0030 3a ff " PEER OUR_GROUP "87 00 6f85 00000000 " US
				    "0e02 000000000000 0000000000000000 0101 020000000001",
			ANSWER, NET_OK},
		{"source MAC is a group's",
			TO_GROUP IN "0020 3a ff " PEER OUR_GROUP "87 00 7c97 00000000 " US
				    "0101 030000000001",
			NULL, NET_FORMAT},
		{"from nobody, with a MAC",
			TO_GROUP IN "0020 3a ff " NONE OUR_GROUP "87 00 7a99 00000000 " US
				    "0101 020000000001",
			NULL, NET_FORMAT},
		{"from nobody, to the address",
			"020000000002 " IN "0018 3a ff " NONE US "87 00 7ea7 00000000 " US, NULL,
			NET_FORMAT},
		{"from a group",
			TO_GROUP IN "0020 3a ff " ALL_NODES OUR_GROUP "87 00 7b95 00000000 " US
				    "0101 020000000001",
			NULL, NET_FORMAT},
		{"to another's group",
			"3333ff000009 " IN "0020 3a ff " PEER "ff0200000000000000000001ff000009 "
			"87 00 7d90 00000000 " US "0101 020000000001",
			NULL, NET_ADDRESS},
		{"payload longer than the frame",
			TO_GROUP IN "0028 3a ff " PEER OUR_GROUP "87 00 7d97 00000000 " US
				    "0101 020000000001",
			NULL, NET_LENGTH},
		{"version 4 under IPv6's type",
			TO_GROUP "020000000001 86dd 40000000 0020 3a ff " PEER OUR_GROUP
				 "87 00 7d97 00000000 " US "0101 020000000001",
			NULL, NET_FORMAT},
		{"39 bytes of IPv6",
			TO_GROUP IN "0000 3a ff " PEER "ff0200000000000000000001ff0000", NULL,
			NET_SHORT},
		{"a UDP packet", "020000000002 " IN "0008 11 40 " PEER US "12b712b700080000", NULL,
			NET_TYPE},
		{"three bytes of ICMPv6", TO_GROUP IN "0003 3a ff " PEER OUR_GROUP "870000", NULL,
			NET_SHORT},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct box box;
		bool good;

		box_open(&box);
		box_input(&box, rows[i].request);
		good = !rows[i].reply || box_sent(&box, rows[i].reply);
		good = good && box.count == 0 && box.net.counters.drops[rows[i].drop] == 1;
		CU_ASSERT(good);
		if (!good)
			printf("\nthat was: %s\n", rows[i].what);
		CU_ASSERT_EQUAL(box.net.counters.nd_out, rows[i].reply ? 1 : 0);
		box_close(&box);
	}
}

static void resolution(void)
{
	struct box box;
	uint32_t id;
	uint64_t mac;

	box_open(&box);
	CU_ASSERT_EQUAL(box_route(&box, "fd00::2", "fd00::1", &id), 0);
	CU_ASSERT_EQUAL(box_ask(&box, id, &mac), -EINPROGRESS);
	CU_ASSERT(box_sent(&box, ASK_PEER));
	box_input(&box, PEER_SAYS);
	CU_ASSERT_EQUAL(box_ask(&box, id, &mac), 0);
	CU_ASSERT_EQUAL(mac, 0x020000000001);
	box_run(&box, 46 * BOX_SECOND);
	CU_ASSERT(box_sent(&box,
		"020000000001 " OUT "0020 3a ff " US PEER "87 00 7e9b 00000000 " PEER
		"0101 020000000002"));
	CU_ASSERT_EQUAL(box.net.counters.nd_in, 1);
	CU_ASSERT_EQUAL(box.net.counters.nd_out, 2);
	box_close(&box);
}

/*
 * RFC 4861 7.2.5 and appendix C. MAC 1 is the peer's, MAC 7 another. The entry is INCOMPLETE, or
 * REACHABLE with MAC 1; what state and MAC does the advertisement leave?
 */
static void flags(void)
{
	static const struct {
		bool reachable;
		const char *advertisement; /* from the ICMPv6 checksum on */
		bool to_all;
		enum neighbour_state state;
		uint8_t mac; /* its last byte */
	} rows[] = {
		/* INCOMPLETE: S makes it reachable, without S it needs a probe; O does not matter
		 */
		{false, "1c9c 60000000 " PEER "0201 020000000001", false, NEIGHBOUR_REACHABLE, 1},
		{false, "3c9c 40000000 " PEER "0201 020000000001", false, NEIGHBOUR_REACHABLE, 1},
		{false, "5c9c 20000000 " PEER "0201 020000000001", false, NEIGHBOUR_PROBE, 1},
		{false, "7c9c 00000000 " PEER "0201 020000000001", false, NEIGHBOUR_PROBE, 1},
		/* INCOMPLETE, no MAC in it: of no use */
		{false, "20a6 60000000 " PEER, false, NEIGHBOUR_INCOMPLETE, 0},
		/* S to all nodes is invalid */
		{false, "1a9b 60000000 " PEER "0201 020000000001", true, NEIGHBOUR_INCOMPLETE, 0},
		/* REACHABLE, the same MAC */
		{true, "7c9c 00000000 " PEER "0201 020000000001", false, NEIGHBOUR_REACHABLE, 1},
		{true, "5c9c 20000000 " PEER "0201 020000000001", false, NEIGHBOUR_REACHABLE, 1},
		/* REACHABLE, another MAC, no O: kept, and doubted */
		{true, "7c96 00000000 " PEER "0201 020000000007", false, NEIGHBOUR_PROBE, 1},
		{true, "3c96 40000000 " PEER "0201 020000000007", false, NEIGHBOUR_PROBE, 1},
		/* REACHABLE, another MAC, O: taken, and verified */
		{true, "5c96 20000000 " PEER "0201 020000000007", false, NEIGHBOUR_PROBE, 7},
		{true, "5a95 20000000 " PEER "0201 020000000007", true, NEIGHBOUR_PROBE, 7},
		/* REACHABLE, no MAC: nothing new */
		{true, "60a6 20000000 " PEER, false, NEIGHBOUR_REACHABLE, 1},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool has_option = strlen(rows[i].advertisement) > 50;
		struct neighbour *neighbour;
		char frame[400];
		struct box box;
		uint32_t id;
		uint64_t mac;
		bool good;

		box_open(&box);
		box_route(&box, "fd00::2", "fd00::1", &id);
		box_ask(&box, id, &mac);
		if (rows[i].reachable)
			box_input(&box, PEER_SAYS);
		box_run(&box, rows[i].reachable ? 2 * BOX_SECOND : 0);
		snprintf(frame, sizeof(frame), "%s " IN "%s 3a ff " PEER "%s 88 00 %s",
			rows[i].to_all ? "333300000001" : "020000000002",
			has_option ? "0020" : "0018", rows[i].to_all ? ALL_NODES : US,
			rows[i].advertisement);
		box_input(&box, frame);
		neighbour = &box.net.neighbours.entries[0];
		CU_ASSERT_EQUAL(box.net.counters.drops[NET_CHECKSUM], 0);
		good = neighbour->state == rows[i].state &&
			(rows[i].mac == 0 || neighbour->mac[5] == rows[i].mac);
		CU_ASSERT(good);
		if (!good)
			printf("\nrow %u: state %d, MAC %u\n", i, (int)neighbour->state,
				neighbour->mac[5]);
		box_close(&box);
	}
}

/* A solicitation from a neighbour that we know carries its MAC. */
static void solicitation_teaches(void)
{
	struct box box;
	uint32_t id;
	uint64_t mac;

	box_open(&box);
	box_input(&box, ASK);
	CU_ASSERT_EQUAL(box.net.neighbours.count, 0); /* but never makes an entry */
	box_forget(&box);
	box_route(&box, "fd00::2", "fd00::1", &id);
	box_input(&box, ASK);
	CU_ASSERT_EQUAL(box_ask(&box, id, &mac), 0);
	CU_ASSERT_EQUAL(mac, 0x020000000001);
	box_close(&box);
}

static void unknown_neighbours_are_not_learned(void)
{
	struct box box;

	box_open(&box);
	box_input(&box, PEER_SAYS);
	CU_ASSERT_EQUAL(box.net.neighbours.count, 0);
	CU_ASSERT_EQUAL(box.net.counters.drops[NET_ADDRESS], 1);
	box_close(&box);
}

static void announces_itself(void)
{
	struct net_config config = {0};
	struct box box;

	box_add(&config, "fd00::2", 64, 0);
	box_open_with(&box, &config);
	box_run(&box, 0);
	CU_ASSERT(box_sent(&box, LISTENS));
	CU_ASSERT(box_sent(&box, PROBE));
	for (unsigned int i = 0; i < 2; i++) {
		box_run(&box, 2 * BOX_SECOND);
		CU_ASSERT(box_sent(&box, LISTENS));
		CU_ASSERT(box_sent(&box, ANNOUNCEMENT));
	}
	CU_ASSERT_EQUAL(box_run(&box, 2 * BOX_SECOND), TIMER_NEVER);
	CU_ASSERT_EQUAL(box.count, 0);
	box_close(&box);
}

/* Another node advertises our address, or asks in our name. */
static void conflict(void)
{
	struct box box;

	box_open(&box);
	box_input(&box,
		"333300000001 " IN "0020 3a ff " US ALL_NODES "88 00 5a99 20000000 " US
		"0201 020000000001");
	CU_ASSERT_EQUAL(box.net.counters.conflicts, 1);
	box_run(&box, 0);
	CU_ASSERT(box_sent(&box, LISTENS));
	CU_ASSERT(box_sent(&box, ANNOUNCEMENT));
	box_input(&box,
		TO_GROUP IN "0020 3a ff " US OUR_GROUP "87 00 7d96 00000000 " US
			    "0101 020000000001");
	CU_ASSERT_EQUAL(box.net.counters.conflicts, 2);
	box_run(&box, 0);
	CU_ASSERT_EQUAL(box.count, 0);
	box_close(&box);
}

static const struct unit_case cases[] = {
	UNIT_CASE(solicitations),
	UNIT_CASE(resolution),
	UNIT_CASE(flags),
	UNIT_CASE(solicitation_teaches),
	UNIT_CASE(unknown_neighbours_are_not_learned),
	UNIT_CASE(announces_itself),
	UNIT_CASE(conflict),
};

UNIT_MAIN("ethdev-nd", cases)
