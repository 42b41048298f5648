/* SPDX-License-Identifier: BSD-3-Clause */
/* Configurations that must not start, and the next hop of a destination. */
#include <errno.h>

#include "address.h"
#include "box.h"
#include "unit.h"

static int try_config(const struct net_config *config)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 2};
	struct net net;
	int err = net_init(&net, config, mac, 1500, 1, 0);

	if (!err)
		net_fini(&net);
	return err;
}

static void one_address(void)
{
	static const struct {
		const char *address;
		uint8_t length;
		uint16_t vlan;
		int err;
	} rows[] = {
		{"10.77.0.2", 24, 0, 0},
		{"10.77.0.2", 32, 0, 0},
		{"10.77.0.2", 33, 0, -EINVAL},
		{"10.77.0.0", 24, 0, -EINVAL},
		{"10.77.0.255", 24, 0, -EINVAL},
		{"10.77.0.0", 31, 0, 0}, /* RFC 3021 */
		{"10.77.0.1", 31, 0, 0},
		{"10.77.0.2", 24, 4094, 0},
		{"10.77.0.2", 24, 4095, -EINVAL},
		{"127.0.0.1", 8, 0, -EINVAL},
		{"224.0.0.1", 24, 0, -EINVAL},
		{"255.255.255.255", 32, 0, -EINVAL},
		{"0.0.0.0", 0, 0, -EINVAL},
		{"fd00::2", 64, 0, 0},
		{"fd00::2", 128, 0, 0},
		{"fd00::2", 129, 0, -EINVAL},
		{"fe80::2", 64, 0, 0},
		{"::1", 128, 0, -EINVAL},
		{"ff02::1", 64, 0, -EINVAL},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct net_config config = {0};

		box_add(&config, rows[i].address, rows[i].length, rows[i].vlan);
		CU_ASSERT_EQUAL(try_config(&config), rows[i].err);
	}
}

static void sets_of_addresses(void)
{
	struct net_config config = {0};

	CU_ASSERT_EQUAL(try_config(&config), -EINVAL); /* none at all */
	box_add(&config, "10.77.0.2", 24, 0);
	box_add(&config, "10.77.0.2", 24, 5); /* a source would not name its VLAN */
	CU_ASSERT_EQUAL(try_config(&config), -EINVAL);
	config.addresses[1].gid[15] = 3;
	CU_ASSERT_EQUAL(try_config(&config), 0);
	config.addresses[1].vlan_id = 0;
	CU_ASSERT_EQUAL(try_config(&config), -EINVAL);
	config = (struct net_config){.neighbours = NEIGHBOURS_MAX + 1};
	box_add(&config, "10.77.0.2", 24, 0);
	CU_ASSERT_EQUAL(try_config(&config), -EINVAL);
}

static void as_many_addresses_as_fit(void)
{
	struct net_config config = {0};
	char text[ADDRESS_TEXT];

	for (unsigned int i = 0; i < PORT_GIDS_MAX; i++) {
		snprintf(text, sizeof(text), "10.77.0.%u", i + 1);
		box_add(&config, text, 24, 0);
	}
	CU_ASSERT_EQUAL(try_config(&config), 0);
	config.link_local = true;
	CU_ASSERT_EQUAL(try_config(&config), -EINVAL);
}

static void order_of_the_gid_table(void)
{
	static const char *const order[] = {
		"10.77.0.2", "10.88.0.2", "fd00::2", "fd05::2", "fe80::ff:fe00:2"};
	struct net_config config;
	struct box box;
	uint8_t address[16];

	box_config(&config);
	config.link_local = true;
	box_open_with(&box, &config);
	CU_ASSERT_EQUAL_FATAL(box.net.address_count, 5);
	for (unsigned int i = 0; i < 5; i++) {
		CU_ASSERT_EQUAL_FATAL(address_parse(address, order[i]), 0);
		CU_ASSERT(address_equal(box.net.addresses[i].gid, address));
	}
	CU_ASSERT_EQUAL(box.net.addresses[1].vlan_id, 5);
	box_close(&box);
}

static void one_route(void)
{
	static const struct {
		const char *prefix;
		uint8_t length;
		const char *gateway;
		int err;
	} rows[] = {
		{"192.168.0.0", 16, "10.77.0.9", 0},
		{"192.168.0.0", 33, "10.77.0.9", -EINVAL},
		{"192.168.1.0", 16, "10.77.0.9", -EINVAL}, /* bits behind the prefix */
		{"192.168.0.0", 16, "10.78.0.9", -EINVAL}, /* on no link of ours */
		{"192.168.0.0", 16, "10.77.0.2", -EINVAL}, /* ourselves */
		{"192.168.0.0", 16, "fd00::9", -EINVAL},
		{"0.0.0.0", 0, "10.77.0.9", -EINVAL}, /* a second default */
		{"10.88.1.0", 24, "10.88.0.9", 0},    /* on VLAN 5 */
		{"fd07::", 32, "fd00::9", 0},
		{"fd07::", 32, "fe80::9", 0},
		{"fd07::", 129, "fd00::9", -EINVAL},
		{"fd07::1", 32, "fd00::9", -EINVAL},
		{"fd07::", 32, "fd09::9", -EINVAL},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct net_config config;

		box_config(&config);
		box_add_route(&config, rows[i].prefix, rows[i].length, rows[i].gateway);
		CU_ASSERT_EQUAL(try_config(&config), rows[i].err);
	}
}

/* What the neighbour behind a route is, read off the table. */
static bool hop_is(struct box *box, uint32_t id, const char *hop, uint16_t vlan, const char *source)
{
	struct neighbour *neighbour;
	uint8_t address[16], from[16];
	uint32_t found;

	CU_ASSERT_EQUAL_FATAL(address_parse(address, hop), 0);
	CU_ASSERT_EQUAL_FATAL(address_parse(from, source), 0);
	neighbour = neighbours_find(&box->net.neighbours, address, vlan);
	if (!neighbour || !address_equal(neighbour->source, from))
		return false;
	/* The same next hop has the same id, whoever asks. */
	return neighbours_open(&box->net.neighbours, address, vlan, from, box->now, &found) == 0 &&
		found == id;
}

static void next_hops(void)
{
	static const struct {
		const char *source, *destination, *hop; /* hop NULL: an error */
		uint16_t vlan;
		const char *asks; /* the source of solicitations */
		int err;
	} rows[] = {
		{"10.77.0.2", "10.77.0.1", "10.77.0.1", 0, "10.77.0.2", 0},
		{"10.77.0.2", "10.77.1.1", "10.77.0.254", 0, "10.77.0.2", 0},
		{"10.77.0.2", "192.168.1.1", "10.77.0.9", 0, "10.77.0.2", 0},
		{"10.77.0.2", "192.168.1.129", "10.77.0.8", 0, "10.77.0.2", 0},
		{"10.77.0.2", "192.168.2.129", "10.77.0.9", 0, "10.77.0.2", 0},
		{"10.66.0.2", "10.77.0.66", "10.77.0.66", 0, "10.77.0.2", 0},
		{"10.88.0.2", "10.88.0.1", "10.88.0.1", 5, "10.88.0.2", 0},
		{"10.88.0.2", "10.77.0.1", NULL, 0, NULL, -ENETUNREACH}, /* other VLAN */
		{"10.88.0.2", "172.16.1.1", NULL, 0, NULL, -ENETUNREACH},
		{"10.88.0.2", "192.168.1.1", "10.88.0.9", 5, "10.88.0.2", 0},
		{"10.77.0.2", "10.77.0.255", NULL, 0, NULL, -EINVAL},
		{"10.77.0.2", "10.77.0.0", NULL, 0, NULL, -EINVAL},
		{"10.77.0.2", "10.77.1.255", "10.77.0.254", 0, "10.77.0.2", 0},
		{"10.77.0.2", "224.0.0.1", NULL, 0, NULL, -EINVAL},
		{"10.77.0.2", "255.255.255.255", NULL, 0, NULL, -EINVAL},
		{"10.77.0.2", "127.0.0.1", NULL, 0, NULL, -EINVAL},
		{"10.77.0.2", "fd00::1", NULL, 0, NULL, -EINVAL},
		{"10.77.0.3", "10.77.0.1", NULL, 0, NULL, -EINVAL}, /* not ours */
		{"fd00::2", "10.77.0.1", NULL, 0, NULL, -EINVAL},
		{"fd00::2", "fd00::1", "fd00::1", 0, "fd00::2", 0},
		{"fd00::2", "fd99::1", "fe80::fe", 0, "fd00::2", 0},
		{"fd05::2", "fd05::1", "fd05::1", 5, "fd05::2", 0},
		{"fd05::2", "fd99::1", "fe80::fd", 5, "fd05::2", 0},
		{"fd00::2", "ff02::1", NULL, 0, NULL, -EINVAL},
		{"fd00::2", "::", NULL, 0, NULL, -EINVAL},
		{"fd00::2", "::1", NULL, 0, NULL, -EINVAL},
	};
	struct net_config config;
	struct box box;

	box_config(&config);
	box_add(&config, "10.66.0.2", 32, 0);
	box_add_route(&config, "192.168.0.0", 16, "10.77.0.9");
	box_add_route(&config, "192.168.1.128", 25, "10.77.0.8");
	box_add_route(&config, "192.168.0.0", 16, "10.88.0.9"); /* the same on VLAN 5 */
	box_add_route(&config, "::", 0, "fe80::fd");
	config.routes[config.route_count - 1].has_vlan = true;
	config.routes[config.route_count - 1].vlan_id = 5;
	box_open_with(&box, &config);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t id = UINT32_MAX;

		CU_ASSERT_EQUAL(
			box_route(&box, rows[i].source, rows[i].destination, &id), rows[i].err);
		if (rows[i].hop)
			CU_ASSERT(hop_is(&box, id, rows[i].hop, rows[i].vlan, rows[i].asks));
	}
	box_close(&box);
}

/* No default route: the default of the other family is none either. */
static void families_do_not_mix(void)
{
	struct net_config config = {0};
	struct box box;
	uint32_t id;

	box_add(&config, "10.77.0.2", 24, 0);
	box_add(&config, "fd00::2", 64, 0);
	box_add_route(&config, "::", 0, "fd00::fe");
	box_open_with(&box, &config);
	CU_ASSERT_EQUAL(box_route(&box, "10.77.0.2", "192.168.1.1", &id), -ENETUNREACH);
	CU_ASSERT_EQUAL(box_route(&box, "fd00::2", "fd99::1", &id), 0);
	box_close(&box);
}

/* An own address resolves to the own MAC, without a word on the link. */
static void own_addresses(void)
{
	struct box box;
	uint32_t id;
	uint64_t mac;

	box_open(&box);
	CU_ASSERT_EQUAL(box_route(&box, "10.77.0.2", "10.77.0.2", &id), 0);
	CU_ASSERT_EQUAL(box_ask(&box, id, &mac), 0);
	CU_ASSERT_EQUAL(mac, 0x020000000002);
	CU_ASSERT_EQUAL(box_run(&box, 1000 * BOX_SECOND), TIMER_NEVER);
	CU_ASSERT_EQUAL(box.count, 0);
	box_close(&box);
}

static void many_routes(void)
{
	struct net_config config = {0};
	char text[ADDRESS_TEXT];

	box_add(&config, "10.77.0.2", 24, 0);
	for (unsigned int i = 0; i < NET_ROUTES_MAX; i++) {
		snprintf(text, sizeof(text), "192.168.%u.0", i);
		box_add_route(&config, text, 24, "10.77.0.9");
	}
	CU_ASSERT_EQUAL(try_config(&config), 0);
}

static void table_of_routes_is_full(void)
{
	struct routes routes = {0};
	struct route route = {.bits = 128, .on_link = true};

	for (unsigned int i = 0; i < ROUTES_MAX; i++) {
		route.prefix[0] = (uint8_t)i;
		CU_ASSERT_EQUAL(routes_add(&routes, &route), 0);
		CU_ASSERT_EQUAL(routes_add(&routes, &route), -EEXIST);
	}
	route.prefix[0] = 0xee;
	CU_ASSERT_EQUAL(routes_add(&routes, &route), -ENOSPC);
	CU_ASSERT_PTR_NULL(routes_find(&routes, route.prefix, 0));
	route.prefix[0] = 7;
	CU_ASSERT_PTR_NOT_NULL(routes_find(&routes, route.prefix, 0));
	CU_ASSERT_PTR_NULL(routes_find(&routes, route.prefix, 5));
}

static const struct unit_case cases[] = {
	UNIT_CASE(one_address),
	UNIT_CASE(sets_of_addresses),
	UNIT_CASE(as_many_addresses_as_fit),
	UNIT_CASE(order_of_the_gid_table),
	UNIT_CASE(one_route),
	UNIT_CASE(next_hops),
	UNIT_CASE(families_do_not_mix),
	UNIT_CASE(own_addresses),
	UNIT_CASE(many_routes),
	UNIT_CASE(table_of_routes_is_full),
};

UNIT_MAIN("ethdev-path", cases)
