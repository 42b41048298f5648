/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of next hops over a kernel that does what the case says. */
#include <errno.h>
#include <linux/neighbour.h>
#include <string.h>

#include "address.h"
#include "hops.h"
#include "unit.h"

#define SECOND HOPS_SECOND
#define CAPACITY 4u

/* The kernel: one neighbour state for all, and counts. */
struct kernel {
	struct hops_io io;
	int route_error;
	uint8_t gateway[16]; /* "::": on link */
	int look_error;
	struct rtnl_neighbour neighbour;
	unsigned int routes, looks, uses;
	uint8_t used[16]; /* the last that was */
};

static int route(struct hops_io *io, const uint8_t source[16], const uint8_t destination[16],
	uint8_t next[16])
{
	struct kernel *kernel = (struct kernel *)io;

	kernel->routes++;
	memcpy(next, address_is_unspecified(kernel->gateway) ? destination : kernel->gateway, 16);
	return kernel->route_error;
}

static int look(struct hops_io *io, const uint8_t next[16], struct rtnl_neighbour *neighbour)
{
	struct kernel *kernel = (struct kernel *)io;

	kernel->looks++;
	*neighbour = kernel->neighbour;
	memcpy(neighbour->address, next, 16);
	return kernel->look_error;
}

static void use(struct hops_io *io, const uint8_t source[16], const uint8_t next[16])
{
	struct kernel *kernel = (struct kernel *)io;

	kernel->uses++;
	memcpy(kernel->used, next, 16);
}

static struct kernel kernel;
static struct hops hops;
static const uint8_t own[16] = {[10] = 0xff, 0xff, 192, 0, 2, 1};
static const uint8_t peer[16] = {[10] = 0xff, 0xff, 192, 0, 2, 2};
static const uint8_t far[16] = {[10] = 0xff, 0xff, 198, 51, 100, 2};
static const uint8_t gateway[16] = {[10] = 0xff, 0xff, 192, 0, 2, 254};
static const uint8_t mac_a[6] = {2, 0, 0, 0, 0, 0xa};
static const uint8_t mac_b[6] = {2, 0, 0, 0, 0, 0xb};

static void set_up(void)
{
	kernel = (struct kernel){
		.io = {.route = route, .look = look, .use = use}, .look_error = -ENOENT};
	CU_ASSERT_EQUAL_FATAL(hops_init(&hops, CAPACITY, &kernel.io), 0);
}

static uint32_t open_to(const uint8_t destination[16], uint64_t now)
{
	uint32_t id = 0;

	CU_ASSERT_EQUAL_FATAL(hops_open(&hops, own, destination, now, &id), 0);
	return id;
}

static void set_neighbour(struct rtnl_neighbour *neighbour, const uint8_t address[16],
	uint16_t state, const uint8_t *mac)
{
	*neighbour = (struct rtnl_neighbour){.state = state, .has_mac = mac != NULL};
	memcpy(neighbour->address, address, 16);
	if (mac)
		memcpy(neighbour->mac, mac, 6);
}

static void hear(const uint8_t address[16], uint16_t state, const uint8_t *mac, uint64_t now)
{
	struct rtnl_neighbour neighbour;

	set_neighbour(&neighbour, address, state, mac);
	hops_heard(&hops, &neighbour, false, now);
}

static void ask_is(uint32_t id, uint64_t now, int error, const uint8_t *mac)
{
	uint8_t found[6] = {0};

	CU_ASSERT_EQUAL(hops_ask(&hops, id, now, found), error);
	if (mac)
		CU_ASSERT(mac_equal(found, mac));
}

static void resolved_by_the_kernel(void)
{
	uint32_t id;

	set_up();
	id = open_to(peer, 0);
	CU_ASSERT_EQUAL(kernel.looks + kernel.uses, 0); /* nobody has asked yet */
	CU_ASSERT_EQUAL(hops_run(&hops, 0), UINT64_MAX);
	ask_is(id, 0, -EINPROGRESS, NULL);
	ask_is(id, 0, -EINPROGRESS, NULL);
	CU_ASSERT_EQUAL(kernel.looks, 1);
	CU_ASSERT_EQUAL(kernel.uses, 1);
	CU_ASSERT(address_equal(kernel.used, peer));
	CU_ASSERT_EQUAL(hops_run(&hops, 5), 5 + HOPS_EAGER);
	hear(far, NUD_REACHABLE, mac_b, 10); /* somebody else */
	ask_is(id, 10, -EINPROGRESS, NULL);
	hear(peer, NUD_INCOMPLETE, NULL, 10);
	ask_is(id, 10, -EINPROGRESS, NULL);
	hear(peer, NUD_REACHABLE, mac_a, 20);
	ask_is(id, 20, 0, mac_a);
	CU_ASSERT_EQUAL(hops.changes, 1);
	CU_ASSERT_EQUAL(hops_run(&hops, 20), UINT64_MAX);
	hops_fini(&hops);
}

/* What the kernel knows need not be asked for again; but what is stale is to be verified. */
static void known_already(void)
{
	static const struct {
		uint16_t state;
		unsigned int uses;
	} rows[] = {{NUD_REACHABLE, 0}, {NUD_PERMANENT, 0}, {NUD_NOARP, 0}, {NUD_DELAY, 0},
		{NUD_PROBE, 0}, {NUD_STALE, 1}};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		set_up();
		kernel.look_error = 0;
		set_neighbour(&kernel.neighbour, peer, rows[i].state, mac_a);
		ask_is(open_to(peer, 0), 0, 0, mac_a);
		CU_ASSERT_EQUAL(kernel.uses, rows[i].uses);
		hops_fini(&hops);
	}
}

static void through_a_gateway(void)
{
	uint32_t id;

	set_up();
	memcpy(kernel.gateway, gateway, 16);
	id = open_to(far, 0);
	ask_is(id, 0, -EINPROGRESS, NULL);
	CU_ASSERT(address_equal(kernel.used, gateway));
	hear(far, NUD_REACHABLE, mac_b, 1);
	ask_is(id, 1, -EINPROGRESS, NULL);
	hear(gateway, NUD_REACHABLE, mac_a, 1);
	ask_is(id, 1, 0, mac_a);
	hops_fini(&hops);
}

static void no_route(void)
{
	static const int errors[] = {-ENETUNREACH, -EINVAL, -ENOBUFS};
	uint32_t id;

	set_up();
	for (unsigned int i = 0; i < 3; i++) {
		kernel.route_error = errors[i];
		CU_ASSERT_EQUAL(hops_open(&hops, own, peer, 0, &id), errors[i]);
	}
	CU_ASSERT_EQUAL(hops.used, 0);
	hops_fini(&hops);
}

static void one_entry_a_pair(void)
{
	set_up();
	CU_ASSERT_EQUAL(open_to(peer, 0), open_to(peer, 1));
	CU_ASSERT_NOT_EQUAL(open_to(peer, 0), open_to(far, 1));
	CU_ASSERT_EQUAL(hops.used, 2);
	hops_fini(&hops);
}

static void mac_changes(void)
{
	uint32_t id;

	set_up();
	id = open_to(peer, 0);
	ask_is(id, 0, -EINPROGRESS, NULL);
	hear(peer, NUD_REACHABLE, mac_a, 1);
	hear(peer, NUD_REACHABLE, mac_a, 2); /* no news */
	CU_ASSERT_EQUAL(hops.changes, 1);
	hear(peer, NUD_STALE, mac_b, 3); /* a gratuitous ARP */
	CU_ASSERT_EQUAL(hops.changes, 2);
	ask_is(id, 3, 0, mac_b);
	CU_ASSERT_EQUAL(kernel.uses, 2); /* and it is verified */
	hops_fini(&hops);
}

/* Our traffic doesn't keep the kernel's entry alive: we say that it is in use. */
static void entry_is_gone(void)
{
	struct rtnl_neighbour neighbour;
	uint32_t id;

	set_up();
	id = open_to(peer, 0);
	ask_is(id, 0, -EINPROGRESS, NULL);
	hear(peer, NUD_REACHABLE, mac_a, 1);
	set_neighbour(&neighbour, peer, NUD_STALE, mac_a);
	hops_heard(&hops, &neighbour, true, 2);
	CU_ASSERT_EQUAL(kernel.uses, 2);
	ask_is(id, 2, 0, mac_a); /* stays in use */
	hear(peer, NUD_REACHABLE, mac_b, 3);
	ask_is(id, 3, 0, mac_b);
	hops_fini(&hops);
}

/* The MAC is another by now, and nobody has said so: the kernel asks the old one, in vain. */
static void mac_fails(void)
{
	uint32_t id;

	set_up();
	id = open_to(peer, 0);
	ask_is(id, 0, -EINPROGRESS, NULL);
	hear(peer, NUD_REACHABLE, mac_a, 1);
	hear(peer, NUD_STALE, mac_a, 2);
	hear(peer, NUD_PROBE, mac_a, 3);
	hear(peer, NUD_FAILED, NULL, 4);
	CU_ASSERT_EQUAL(kernel.uses, 3); /* resolve, verify, resolve */
	CU_ASSERT_EQUAL(hops.unreachable, 0);
	ask_is(id, 4, 0, mac_a);
	hear(peer, NUD_INCOMPLETE, NULL, 5);
	hear(peer, NUD_REACHABLE, mac_b, 6);
	ask_is(id, 6, 0, mac_b);
	hear(peer, NUD_FAILED, NULL, 7);
	hear(peer, NUD_FAILED, NULL, 10); /* nobody */
	ask_is(id, 10, -EHOSTUNREACH, NULL);
	hops_fini(&hops);
}

static void kernel_gives_up(void)
{
	uint32_t id;

	set_up();
	id = open_to(peer, 0);
	ask_is(id, 0, -EINPROGRESS, NULL);
	hear(peer, NUD_FAILED, NULL, 3 * SECOND);
	CU_ASSERT_EQUAL(hops.unreachable, 1);
	ask_is(id, 100 * SECOND, -EHOSTUNREACH, NULL); /* whenever that is */
	ask_is(id, 100 * SECOND + SECOND - 1, -EHOSTUNREACH, NULL);
	ask_is(id, 101 * SECOND, -EINPROGRESS, NULL); /* a new attempt */
	CU_ASSERT_EQUAL(kernel.uses, 2);
	hear(peer, NUD_REACHABLE, mac_a, 102 * SECOND);
	ask_is(id, 102 * SECOND, 0, mac_a);
	hops_fini(&hops);
}

/* The kernel's old failure is no answer to a new question. */
static void old_failure(void)
{
	uint32_t id;

	set_up();
	kernel.look_error = 0;
	set_neighbour(&kernel.neighbour, peer, NUD_FAILED, NULL);
	id = open_to(peer, 0);
	ask_is(id, 0, -EINPROGRESS, NULL);
	CU_ASSERT_EQUAL(kernel.uses, 1);
	hops_fini(&hops);
}

/* The peer is back and speaks before anybody asks. */
static void failed_and_heard(void)
{
	uint32_t id;

	set_up();
	id = open_to(peer, 0);
	ask_is(id, 0, -EINPROGRESS, NULL);
	hear(peer, NUD_FAILED, NULL, 3);
	hear(peer, NUD_STALE, mac_a, 4);
	ask_is(id, 4, 0, mac_a);
	hops_fini(&hops);
}

/* Nothing is heard: looked for each second, and given up after ten. */
static void silence(void)
{
	uint64_t now = 0;
	uint32_t id;

	set_up();
	id = open_to(peer, 0);
	ask_is(id, 0, -EINPROGRESS, NULL);
	while (hops_run(&hops, now) != UINT64_MAX && now < 60 * SECOND)
		now = hops_run(&hops, now);
	CU_ASSERT_EQUAL(now, HOPS_PATIENCE);
	CU_ASSERT_EQUAL(kernel.looks, 1 + 9);
	ask_is(id, now, -EHOSTUNREACH, NULL);
	hops_fini(&hops);
}

static void found_by_looking(void)
{
	uint32_t id;

	set_up();
	id = open_to(peer, 0);
	ask_is(id, 0, -EINPROGRESS, NULL);
	kernel.look_error = 0;
	set_neighbour(&kernel.neighbour, peer, NUD_REACHABLE, mac_a);
	hops_run(&hops, SECOND - 1);
	ask_is(id, SECOND - 1, -EINPROGRESS, NULL);
	hops_run(&hops, SECOND);
	ask_is(id, SECOND, 0, mac_a);
	hops_fini(&hops);
}

static void routes_change(void)
{
	uint32_t id;

	set_up();
	id = open_to(far, 0);
	ask_is(id, 0, -EINPROGRESS, NULL);
	hear(far, NUD_REACHABLE, mac_a, 1);
	hops_reroute(&hops);
	hops_run(&hops, 2); /* the same way */
	ask_is(id, 2, 0, mac_a);
	CU_ASSERT_EQUAL(hops.changes, 1);
	memcpy(kernel.gateway, gateway, 16);
	kernel.look_error = 0;
	set_neighbour(&kernel.neighbour, gateway, NUD_REACHABLE, mac_b);
	hops_reroute(&hops);
	hops_run(&hops, 3);
	ask_is(id, 3, 0, mac_b);
	CU_ASSERT_EQUAL(hops.changes, 2);
	memcpy(kernel.gateway, own, 16); /* by a third, of which nothing is known */
	kernel.look_error = -ENOENT;
	CU_ASSERT_EQUAL(open_to(far, 3), id);
	ask_is(id, 3, -EINPROGRESS, NULL);
	memcpy(kernel.gateway, gateway, 16);
	kernel.look_error = 0;
	CU_ASSERT_EQUAL(open_to(far, 3), id);
	ask_is(id, 3, 0, mac_b);
	kernel.route_error = -ENETUNREACH; /* and now there is none */
	hops_reroute(&hops);
	hops_run(&hops, 4);
	ask_is(id, 4, -EHOSTUNREACH, NULL);
	kernel.route_error = 0;
	ask_is(id, 4 + SECOND, 0, mac_b); /* a later call is a new attempt */
	kernel.route_error = -ENETUNREACH;
	hops_reroute(&hops);
	hops_run(&hops, 5 + SECOND);
	kernel.route_error = 0; /* it is there again, for whoever opens before it is told */
	ask_is(open_to(far, 6 + SECOND), 6 + SECOND, 0, mac_b);
	ask_is(id, 6 + SECOND, 0, mac_b);
	hops_fini(&hops);
}

/* A few questions a run, and the rest at once. */
static void many_routes_change(void)
{
	const uint32_t many = 3 * HOPS_QUESTIONS;
	uint8_t to[16];

	set_up();
	hops_fini(&hops);
	CU_ASSERT_EQUAL_FATAL(hops_init(&hops, many, &kernel.io), 0);
	memcpy(to, far, 16);
	for (uint32_t i = 0; i < many; i++) {
		to[15] = (uint8_t)i;
		open_to(to, 0);
	}
	hops_reroute(&hops);
	for (uint32_t i = 1; i <= 3; i++) {
		CU_ASSERT_EQUAL(hops_run(&hops, 7), i < 3 ? 7 : UINT64_MAX);
		CU_ASSERT_EQUAL(kernel.routes, many + i * HOPS_QUESTIONS);
	}
	hops_fini(&hops);
}

static void resync(void)
{
	uint32_t id;

	set_up();
	id = open_to(peer, 0);
	ask_is(id, 0, -EINPROGRESS, NULL);
	hear(peer, NUD_REACHABLE, mac_a, 1);
	kernel.look_error = 0;
	set_neighbour(&kernel.neighbour, peer, NUD_REACHABLE, mac_b);
	hops_resync(&hops, 5);
	ask_is(id, 5, 0, mac_a);
	hops_run(&hops, 5);
	ask_is(id, 5, 0, mac_b);
	CU_ASSERT_EQUAL(hops.changes, 2);
	hops_fini(&hops);
}

/* The one that nobody has asked for longest makes room; its id is stale. */
static void table_is_full(void)
{
	uint32_t ids[CAPACITY + 1];
	uint64_t before;
	uint8_t to[16];

	set_up();
	memcpy(to, far, 16);
	for (uint32_t i = 0; i <= CAPACITY; i++) {
		to[15] = (uint8_t)(10 + i);
		if (i == CAPACITY)
			ask_is(ids[0], 50, -EINPROGRESS, NULL);
		before = hops.changes;
		ids[i] = open_to(to, i);
	}
	CU_ASSERT_EQUAL(hops.changes, before + 1);
	ask_is(ids[1], 60, -ESTALE, NULL);
	ask_is(ids[0], 60, -EINPROGRESS, NULL);
	ask_is(ids[CAPACITY], 60, -EINPROGRESS, NULL);
	ask_is(UINT32_MAX, 60, -ESTALE, NULL);
	to[15] = 11;
	CU_ASSERT_NOT_EQUAL(open_to(to, 61), ids[1]); /* again, in another's place */
	hops_fini(&hops);
}

static const struct unit_case cases[] = {
	UNIT_CASE(resolved_by_the_kernel),
	UNIT_CASE(known_already),
	UNIT_CASE(through_a_gateway),
	UNIT_CASE(no_route),
	UNIT_CASE(one_entry_a_pair),
	UNIT_CASE(mac_changes),
	UNIT_CASE(entry_is_gone),
	UNIT_CASE(mac_fails),
	UNIT_CASE(kernel_gives_up),
	UNIT_CASE(old_failure),
	UNIT_CASE(failed_and_heard),
	UNIT_CASE(silence),
	UNIT_CASE(found_by_looking),
	UNIT_CASE(routes_change),
	UNIT_CASE(many_routes_change),
	UNIT_CASE(resync),
	UNIT_CASE(table_is_full),
};

UNIT_MAIN("netlink-hops", cases)
