/* SPDX-License-Identifier: BSD-3-Clause */
/* Multicast listener discovery: reports unasked and asked for, frames typed from RFC 2710. */
#include <stdio.h>

#include "box.h"
#include "unit.h"

#define NONE "00000000000000000000000000000000 "
#define GROUP "ff0200000000000000000001ff000002 "
#define ALL_NODES "ff020000000000000000000000000001 "
#define QUERIER "fe800000000000000000000000000001 "
#define OPTIONS "3a00050200000100 " /* ICMPv6 next, router alert: MLD, padding */
#define TO_ALL "333300000001 020000000001 "
#define V6 "86dd 60000000 "

#define REPORT                                                                                     \
	"3333ff000002 020000000002 " V6 "0020 00 01 " NONE GROUP OPTIONS                           \
	"8300 809f 0000 0000 " GROUP
#define REPORT_VLAN                                                                                \
	"3333ff000002 020000000002 81000005 " V6 "0020 00 01 " NONE GROUP OPTIONS                  \
	"8300 809f 0000 0000 " GROUP
#define QUERY TO_ALL V6 "0020 00 01 " QUERIER ALL_NODES OPTIONS "8200 7c3f 03e8 0000 " NONE

/* Each query asks for a report within 1000 ms. */
static void queries(void)
{
	static const struct {
		const char *what, *query, *report; /* NULL: none */
		enum net_drop drop;
	} rows[] = {
		{"general", QUERY, REPORT, NET_OK},
		{"general, of version 2",
			TO_ALL V6 "0024 00 01 " QUERIER ALL_NODES OPTIONS
				  "8200 79be 03e8 0000 " NONE "027d0000",
			REPORT, NET_OK},
		{"about our group",
			"3333ff000002 020000000001 " V6 "0020 00 01 " QUERIER GROUP OPTIONS
			"8200 7f35 03e8 0000 " GROUP,
			REPORT, NET_OK},
		{"about another group",
			TO_ALL V6 "0020 00 01 " QUERIER ALL_NODES OPTIONS
				  "8200 7e31 03e8 0000 ff0200000000000000000001ff000009",
			NULL, NET_OK},
		{"on VLAN 5",
			"333300000001 020000000001 81000005 " V6
			"0020 00 01 " QUERIER ALL_NODES OPTIONS "8200 7c3f 03e8 0000 " NONE,
			REPORT_VLAN, NET_OK},
		{"from an address that is not link-local",
			TO_ALL V6 "0020 00 01 fd000000000000000000000000000001 " ALL_NODES OPTIONS
				  "8200 7dbf 03e8 0000 " NONE,
			NULL, NET_FORMAT},
		{"with hop limit 2",
			TO_ALL V6 "0020 00 02 " QUERIER ALL_NODES OPTIONS
				  "8200 7c3f 03e8 0000 " NONE,
			NULL, NET_FORMAT},
		{"with a wrong checksum",
			TO_ALL V6 "0020 00 01 " QUERIER ALL_NODES OPTIONS
				  "8200 7c3e 03e8 0000 " NONE,
			NULL, NET_CHECKSUM},
		{"23 bytes",
			TO_ALL V6 "001f 00 01 " QUERIER ALL_NODES OPTIONS
				  "8200 7c40 03e8 0000 000000000000000000000000000000",
			NULL, NET_SHORT},
		{"options longer than the packet",
			TO_ALL V6 "0020 00 01 " QUERIER ALL_NODES "3a04050200000100 "
				  "8200 7c3f 03e8 0000 " NONE,
			NULL, NET_LENGTH},
		{"seven bytes of options",
			TO_ALL V6 "0007 00 01 " QUERIER ALL_NODES "3a000502000001", NULL,
			NET_SHORT},
		{"nothing behind the options", TO_ALL V6 "0008 00 01 " QUERIER ALL_NODES OPTIONS,
			NULL, NET_SHORT},
		{"UDP behind the options",
			TO_ALL V6 "0020 00 01 " QUERIER ALL_NODES "1100050200000100 "
				  "8200 7c3f 03e8 0000 " NONE,
			NULL, NET_TYPE},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct box box;
		bool good;

		box_open(&box);
		box_input(&box, rows[i].query);
		box_run(&box, BOX_SECOND);
		good = box.net.counters.drops[rows[i].drop] == 1;
		if (rows[i].report)
			good = good && box_sent(&box, rows[i].report);
		good = good && box.count == 0;
		CU_ASSERT(good);
		if (!good)
			printf("\nthat was: %s\n", rows[i].what);
		CU_ASSERT_EQUAL(box_run(&box, BOX_SECOND), TIMER_NEVER);
		box_close(&box);
	}
}

/* The delay is random, never longer than asked for, and one report answers several queries. */
static void delays(void)
{
	uint64_t earliest = UINT64_MAX, latest = 0;
	struct box box;

	box_open(&box);
	for (unsigned int i = 0; i < 200; i++) {
		uint64_t due;

		box_input(&box, QUERY);
		box_input(&box, QUERY);
		due = box_run(&box, 0) - box.now;
		earliest = due < earliest ? due : earliest;
		latest = due > latest ? due : latest;
		CU_ASSERT_EQUAL(box.count, 0);
		box_run(&box, due);
		CU_ASSERT_EQUAL(box_forget(&box), 1);
		box_run(&box, BOX_SECOND);
		CU_ASSERT_EQUAL(box_forget(&box), 0);
	}
	CU_ASSERT(earliest < BOX_SECOND / 10);
	CU_ASSERT(latest <= BOX_SECOND && latest > BOX_SECOND / 2);
	/* An absurd delay counts as 10 s. */
	box_input(&box,
		TO_ALL V6 "0020 00 01 " QUERIER ALL_NODES OPTIONS "8200 8027 ffff 0000 " NONE);
	CU_ASSERT(box_run(&box, 0) <= box.now + 10 * BOX_SECOND);
	box_close(&box);
}

/* Before each of the three steps of an address's announcement. */
static void unasked(void)
{
	struct net_config config = {0};
	struct box box;

	box_add(&config, "fd00::2", 64, 0);
	box_open_with(&box, &config);
	for (unsigned int i = 0; i < 3; i++) {
		box_run(&box, 2 * BOX_SECOND);
		CU_ASSERT(box_sent(&box, REPORT));
		CU_ASSERT_EQUAL(box_forget(&box), 1);
	}
	box_close(&box);
}

static void without_a_buffer(void)
{
	struct box box;

	box_open(&box);
	box.starved = true;
	box_input(&box, QUERY);
	box_run(&box, BOX_SECOND);
	CU_ASSERT_EQUAL(box.net.counters.drops[NET_BUFFER], 1);
	CU_ASSERT_EQUAL(box.net.counters.nd_in, 1);
	CU_ASSERT_EQUAL(box.net.counters.nd_out, 0);
	box_close(&box);
}

static const struct unit_case cases[] = {
	UNIT_CASE(queries),
	UNIT_CASE(delays),
	UNIT_CASE(unasked),
	UNIT_CASE(without_a_buffer),
};

UNIT_MAIN("ethdev-mld", cases)
