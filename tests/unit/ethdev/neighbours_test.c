/* SPDX-License-Identifier: BSD-3-Clause */
/* The neighbour table's states and times (RFC 4861 10: 3 solicitations, 1 s; reachable 30 s). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "list.h"
#include "neighbours.h"
#include "unit.h"

#define SECOND 1000000000ull
#define MS 1000000ull
#define START (50 * SECOND)

static const uint8_t first_mac[6] = {2, 0, 0, 0, 0, 0x11};
static const uint8_t other_mac[6] = {2, 0, 0, 0, 0, 0x22};
static const uint8_t ours[16] = {[10] = 0xff, 0xff, 10, 77, 0, 2};

/* A table, the time, and what was solicited since the last look. */
struct bench {
	struct neighbours table;
	uint64_t now;
	unsigned int to_all, to_mac;
	uint32_t id;
};

static void count_solicitation(struct neighbours *neighbours, const struct neighbour *neighbour,
	bool to_all, void *context)
{
	struct bench *bench = context;

	CU_ASSERT_PTR_EQUAL(neighbours, &bench->table);
	bench->to_all += to_all;
	bench->to_mac += !to_all;
}

/* Solicitations since the last call, as 10 x to all + to the MAC. */
static unsigned int solicited(struct bench *bench)
{
	unsigned int result = 10 * bench->to_all + bench->to_mac;

	bench->to_all = bench->to_mac = 0;
	return result;
}

static void address_of(uint8_t address[16], uint32_t host)
{
	const uint8_t ipv4[4] = {10, 77, (uint8_t)(host >> 8), (uint8_t)host};

	address_from_ipv4(address, ipv4);
}

static int open_host(struct bench *bench, uint32_t host, uint32_t *id)
{
	uint8_t address[16];

	address_of(address, host);
	return neighbours_open(&bench->table, address, 0, ours, bench->now, id);
}

static struct neighbour *entry(struct bench *bench)
{
	uint8_t address[16];

	address_of(address, 1);
	return neighbours_find(&bench->table, address, 0);
}

static void set_up(struct bench *bench, uint32_t capacity)
{
	memset(bench, 0, sizeof(*bench));
	bench->now = START;
	CU_ASSERT_EQUAL_FATAL(neighbours_init(&bench->table, capacity, 7, count_solicitation), 0);
	CU_ASSERT_EQUAL_FATAL(open_host(bench, 1, &bench->id), 0);
}

static int ask(struct bench *bench, uint8_t mac[6])
{
	return neighbours_ask(&bench->table, bench->id, bench->now, mac, bench);
}

static int ask_only(struct bench *bench)
{
	uint8_t mac[6];

	return ask(bench, mac);
}

static uint64_t run(struct bench *bench, uint64_t nanoseconds)
{
	bench->now += nanoseconds;
	return neighbours_run(&bench->table, bench->now, bench);
}

static void answered(struct bench *bench, const uint8_t mac[6])
{
	neighbours_answered(&bench->table, entry(bench), mac, bench->now, bench);
}

static void heard(struct bench *bench, const uint8_t mac[6])
{
	neighbours_heard(&bench->table, entry(bench), mac, bench->now, bench);
}

/* Asked and answered. */
static void make_reachable(struct bench *bench)
{
	CU_ASSERT_EQUAL(ask_only(bench), -EINPROGRESS);
	answered(bench, first_mac);
	CU_ASSERT_EQUAL(entry(bench)->state, NEIGHBOUR_REACHABLE);
	solicited(bench);
}

static void resolves(void)
{
	struct bench bench;
	uint64_t changes;
	uint8_t mac[6];

	set_up(&bench, 4);
	CU_ASSERT_EQUAL(entry(&bench)->state, NEIGHBOUR_IDLE);
	CU_ASSERT_EQUAL(solicited(&bench), 0);
	CU_ASSERT_EQUAL(ask(&bench, mac), -EINPROGRESS);
	CU_ASSERT_EQUAL(solicited(&bench), 10);
	CU_ASSERT_EQUAL(ask(&bench, mac), -EINPROGRESS); /* asking again sends nothing */
	CU_ASSERT_EQUAL(solicited(&bench), 0);
	changes = bench.table.changes;
	answered(&bench, first_mac);
	CU_ASSERT_EQUAL(bench.table.changes, changes + 1);
	CU_ASSERT_EQUAL(ask(&bench, mac), 0);
	CU_ASSERT(mac_equal(mac, first_mac));
	CU_ASSERT_EQUAL(solicited(&bench), 0);
	neighbours_fini(&bench.table);
}

/* Solicitations at 0, 1 and 2 s, and not a millisecond earlier; the end at 3 s. */
static void gives_up_after_three(void)
{
	struct bench bench;

	set_up(&bench, 4);
	CU_ASSERT_EQUAL(ask_only(&bench), -EINPROGRESS);
	CU_ASSERT_EQUAL(solicited(&bench), 10);
	for (unsigned int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(run(&bench, SECOND - MS), bench.now + MS);
		CU_ASSERT_EQUAL(solicited(&bench), 0);
		CU_ASSERT_EQUAL(run(&bench, MS), bench.now + SECOND);
		CU_ASSERT_EQUAL(solicited(&bench), 10);
	}
	run(&bench, SECOND - MS);
	CU_ASSERT_EQUAL(ask_only(&bench), -EINPROGRESS);
	CU_ASSERT_EQUAL(run(&bench, MS), TIMER_NEVER);
	CU_ASSERT_EQUAL(solicited(&bench), 0);
	CU_ASSERT_EQUAL(bench.table.unreachable, 1);
	CU_ASSERT_EQUAL(entry(&bench)->state, NEIGHBOUR_UNREACHABLE);
	neighbours_fini(&bench.table);
}

/* Whoever waits is told, however late; then a new attempt begins. */
static void failure_is_told_then_retried(void)
{
	struct bench bench;

	set_up(&bench, 4);
	ask_only(&bench);
	for (unsigned int i = 0; i < 3; i++)
		run(&bench, SECOND);
	run(&bench, 60 * SECOND);
	solicited(&bench);
	CU_ASSERT_EQUAL(ask_only(&bench), -EHOSTUNREACH);
	run(&bench, SECOND - MS);
	CU_ASSERT_EQUAL(ask_only(&bench), -EHOSTUNREACH);
	CU_ASSERT_EQUAL(solicited(&bench), 0);
	run(&bench, MS);
	CU_ASSERT_EQUAL(ask_only(&bench), -EINPROGRESS);
	CU_ASSERT_EQUAL(solicited(&bench), 10);
	for (unsigned int i = 0; i < 3; i++)
		run(&bench, SECOND);
	CU_ASSERT_EQUAL(ask_only(&bench), -EHOSTUNREACH); /* told anew */
	neighbours_fini(&bench.table);
}

/* Reachable for 15 to 45 s; then the MAC stays in use while it is probed. */
static void ages_and_is_confirmed(void)
{
	struct bench bench;
	uint64_t due, earliest = UINT64_MAX, latest = 0;

	set_up(&bench, 4);
	make_reachable(&bench);
	for (unsigned int i = 0; i < 200; i++) {
		due = run(&bench, 0) - bench.now;
		earliest = due < earliest ? due : earliest;
		latest = due > latest ? due : latest;
		CU_ASSERT_EQUAL(solicited(&bench), 0);
		run(&bench, due);
		CU_ASSERT_EQUAL(entry(&bench)->state, NEIGHBOUR_PROBE);
		CU_ASSERT_EQUAL(solicited(&bench), 1);
		CU_ASSERT_EQUAL(ask_only(&bench), 0);
		answered(&bench, first_mac);
		CU_ASSERT_EQUAL(entry(&bench)->state, NEIGHBOUR_REACHABLE);
	}
	CU_ASSERT(earliest >= 15 * SECOND && earliest < 18 * SECOND);
	CU_ASSERT(latest <= 45 * SECOND && latest > 42 * SECOND);
	CU_ASSERT_EQUAL(bench.table.changes, 1); /* the MAC never changed */
	neighbours_fini(&bench.table);
}

/* Three probes at the MAC, three to all, then it is gone, and users hear of that. */
static void ages_and_is_gone(void)
{
	static const unsigned int expected[] = {1, 1, 1, 10, 10, 10};
	struct bench bench;

	set_up(&bench, 4);
	make_reachable(&bench);
	run(&bench, run(&bench, 0) - bench.now);
	for (unsigned int i = 0; i < 6; i++) {
		CU_ASSERT_EQUAL(solicited(&bench), expected[i]);
		CU_ASSERT_EQUAL(ask_only(&bench), 0);
		CU_ASSERT_EQUAL(bench.table.changes, 1);
		run(&bench, SECOND);
	}
	CU_ASSERT_EQUAL(solicited(&bench), 0);
	CU_ASSERT_EQUAL(bench.table.changes, 2);
	CU_ASSERT_EQUAL(ask_only(&bench), -EHOSTUNREACH);
	neighbours_fini(&bench.table);
}

/* Unsolicited news of a MAC: taken into entries that exist, in use at once, and verified. */
static void hearsay_is_verified(void)
{
	struct bench bench;
	uint8_t mac[6];

	set_up(&bench, 4);
	heard(&bench, first_mac); /* IDLE */
	CU_ASSERT_EQUAL(entry(&bench)->state, NEIGHBOUR_PROBE);
	CU_ASSERT_EQUAL(solicited(&bench), 1);
	CU_ASSERT_EQUAL(ask(&bench, mac), 0);
	answered(&bench, first_mac);
	run(&bench, 2 * SECOND);
	heard(&bench, first_mac); /* the same again: no probe */
	CU_ASSERT_EQUAL(entry(&bench)->state, NEIGHBOUR_REACHABLE);
	CU_ASSERT_EQUAL(solicited(&bench), 0);
	heard(&bench, other_mac);
	CU_ASSERT_EQUAL(entry(&bench)->state, NEIGHBOUR_PROBE);
	CU_ASSERT_EQUAL(solicited(&bench), 1);
	CU_ASSERT_EQUAL(ask(&bench, mac), 0);
	CU_ASSERT(mac_equal(mac, other_mac));
	CU_ASSERT_EQUAL(bench.table.changes, 2);
	neighbours_fini(&bench.table);
}

/* A reply that nobody asked for is hearsay, whatever it says of itself. */
static void answer_without_question(void)
{
	struct bench bench;

	set_up(&bench, 4);
	make_reachable(&bench);
	run(&bench, 2 * SECOND);
	answered(&bench, other_mac);
	CU_ASSERT_EQUAL(entry(&bench)->state, NEIGHBOUR_PROBE);
	CU_ASSERT_EQUAL(solicited(&bench), 1);
	neighbours_fini(&bench.table);
}

/* A MAC that has just been set does not change again within the second. */
static void mac_is_locked_for_a_second(void)
{
	struct bench bench;
	uint8_t mac[6];

	set_up(&bench, 4);
	make_reachable(&bench);
	run(&bench, SECOND - MS);
	heard(&bench, other_mac);
	CU_ASSERT_EQUAL(ask(&bench, mac), 0);
	CU_ASSERT(mac_equal(mac, first_mac));
	CU_ASSERT_EQUAL(entry(&bench)->state, NEIGHBOUR_REACHABLE);
	run(&bench, MS);
	heard(&bench, other_mac);
	CU_ASSERT_EQUAL(ask(&bench, mac), 0);
	CU_ASSERT(mac_equal(mac, other_mac));
	answered(&bench, first_mac); /* an answer's MAC is locked out too, and proves nothing */
	CU_ASSERT_EQUAL(entry(&bench)->state, NEIGHBOUR_PROBE);
	CU_ASSERT_EQUAL(ask(&bench, mac), 0);
	CU_ASSERT(mac_equal(mac, other_mac));
	neighbours_fini(&bench.table);
}

/* A neighbour that comes back speaks, and is used at once. */
static void comes_back(void)
{
	struct bench bench;
	uint8_t mac[6];

	set_up(&bench, 4);
	ask_only(&bench);
	for (unsigned int i = 0; i < 3; i++)
		run(&bench, SECOND);
	CU_ASSERT_EQUAL(entry(&bench)->state, NEIGHBOUR_UNREACHABLE);
	CU_ASSERT_EQUAL(bench.table.changes, 0);
	answered(&bench, first_mac); /* late */
	CU_ASSERT_EQUAL(bench.table.changes, 1);
	CU_ASSERT_EQUAL(ask(&bench, mac), 0);
	neighbours_fini(&bench.table);
}

static void doubt_starts_a_probe(void)
{
	struct bench bench;

	set_up(&bench, 4);
	make_reachable(&bench);
	neighbours_doubt(&bench.table, entry(&bench), bench.now, &bench);
	CU_ASSERT_EQUAL(entry(&bench)->state, NEIGHBOUR_PROBE);
	CU_ASSERT_EQUAL(solicited(&bench), 1);
	neighbours_doubt(&bench.table, entry(&bench), bench.now, &bench);
	CU_ASSERT_EQUAL(solicited(&bench), 0);
	neighbours_fini(&bench.table);
}

static void permanent_entries_stay(void)
{
	static const uint8_t own[16] = {[10] = 0xff, 0xff, 10, 77, 0, 2};
	struct bench bench;
	uint8_t mac[6];
	uint32_t id;

	set_up(&bench, 2);
	CU_ASSERT_EQUAL(neighbours_open_permanent(&bench.table, own, 0, first_mac, &id), 0);
	neighbours_heard(&bench.table, neighbours_find(&bench.table, own, 0), other_mac,
		bench.now + 5 * SECOND, &bench);
	for (uint32_t host = 10; host < 14; host++)
		CU_ASSERT_EQUAL(open_host(&bench, host, &bench.id), 0);
	CU_ASSERT_EQUAL(neighbours_ask(&bench.table, id, bench.now, mac, &bench), 0);
	CU_ASSERT(mac_equal(mac, first_mac));
	CU_ASSERT_EQUAL(solicited(&bench), 0);
	neighbours_fini(&bench.table);
}

/* The entry that nobody asked for longest goes, unless one is unreachable; ids of old are stale. */
static void full_table_gives_up_the_oldest(void)
{
	struct bench bench;
	uint32_t id[4];
	uint8_t mac[6];
	uint64_t changes;

	set_up(&bench, 3);
	id[1] = bench.id;
	for (uint32_t host = 2; host <= 3; host++) {
		bench.now += MS;
		CU_ASSERT_EQUAL(open_host(&bench, host, &id[host]), 0);
	}
	bench.now += MS;
	CU_ASSERT_EQUAL(neighbours_ask(&bench.table, id[1], bench.now, mac, &bench), -EINPROGRESS);
	changes = bench.table.changes;
	CU_ASSERT_EQUAL(open_host(&bench, 9, &id[0]), 0); /* host 2 was the oldest */
	CU_ASSERT_EQUAL(bench.table.changes, changes + 1);
	CU_ASSERT_EQUAL(neighbours_ask(&bench.table, id[2], bench.now, mac, &bench), -ESTALE);
	CU_ASSERT_EQUAL(neighbours_ask(&bench.table, id[1], bench.now, mac, &bench), -EINPROGRESS);
	for (unsigned int i = 0; i < 3; i++)
		run(&bench, SECOND); /* host 1 is unreachable now, though asked for last */
	CU_ASSERT_EQUAL(open_host(&bench, 8, &id[2]), 0);
	CU_ASSERT_EQUAL(neighbours_ask(&bench.table, id[1], bench.now, mac, &bench), -ESTALE);
	CU_ASSERT_EQUAL(bench.table.count, 3);
	neighbours_fini(&bench.table);
}

static void ids_that_were_never_given(void)
{
	struct bench bench;
	uint8_t mac[6];

	set_up(&bench, 3);
	CU_ASSERT_EQUAL(neighbours_ask(&bench.table, bench.id + 1, 0, mac, &bench), -ESTALE);
	CU_ASSERT_EQUAL(neighbours_ask(&bench.table, bench.id + 3, 0, mac, &bench), -ESTALE);
	CU_ASSERT_EQUAL(neighbours_ask(&bench.table, bench.id + 4096, 0, mac, &bench), -ESTALE);
	CU_ASSERT_EQUAL(neighbours_ask(&bench.table, UINT32_MAX, 0, mac, &bench), -ESTALE);
	neighbours_fini(&bench.table);
}

static void a_table_of_permanent_entries(void)
{
	struct bench bench;
	uint8_t address[16];
	uint32_t id;

	memset(&bench, 0, sizeof(bench));
	CU_ASSERT_EQUAL_FATAL(neighbours_init(&bench.table, 1, 7, count_solicitation), 0);
	address_of(address, 1);
	CU_ASSERT_EQUAL(neighbours_open_permanent(&bench.table, address, 0, first_mac, &id), 0);
	CU_ASSERT_EQUAL(open_host(&bench, 2, &id), -ENOBUFS);
	address_of(address, 2);
	CU_ASSERT_EQUAL(
		neighbours_open_permanent(&bench.table, address, 0, first_mac, &id), -ENOBUFS);
	neighbours_fini(&bench.table);
}

/* Ten times the capacity passes through; every entry is found under its address and VLAN only. */
static void chains_survive_churn(void)
{
	struct bench bench;
	uint32_t id;

	set_up(&bench, 64);
	for (uint32_t host = 1; host <= 640; host++) {
		bench.now += MS;
		CU_ASSERT_EQUAL(open_host(&bench, host, &id), 0);
	}
	for (uint32_t host = 1; host <= 640; host++) {
		uint8_t address[16];

		address_of(address, host);
		CU_ASSERT_EQUAL(neighbours_find(&bench.table, address, 0) != NULL, host > 576);
		CU_ASSERT_PTR_NULL(neighbours_find(&bench.table, address, 5));
	}
	neighbours_fini(&bench.table);
}

static const struct unit_case cases[] = {
	UNIT_CASE(resolves),
	UNIT_CASE(gives_up_after_three),
	UNIT_CASE(failure_is_told_then_retried),
	UNIT_CASE(ages_and_is_confirmed),
	UNIT_CASE(ages_and_is_gone),
	UNIT_CASE(hearsay_is_verified),
	UNIT_CASE(answer_without_question),
	UNIT_CASE(mac_is_locked_for_a_second),
	UNIT_CASE(comes_back),
	UNIT_CASE(doubt_starts_a_probe),
	UNIT_CASE(permanent_entries_stay),
	UNIT_CASE(full_table_gives_up_the_oldest),
	UNIT_CASE(ids_that_were_never_given),
	UNIT_CASE(a_table_of_permanent_entries),
	UNIT_CASE(chains_survive_churn),
};

UNIT_MAIN("ethdev-neighbours", cases)
