/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of the kernel into a GID table whose indices stay. */
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "address.h"
#include "gids.h"
#include "unit.h"

static struct rtnl_address address(const char *text, uint8_t scope, uint32_t flags)
{
	struct rtnl_address made = {.interface = 5, .scope = scope, .flags = flags};

	CU_ASSERT_EQUAL_FATAL(address_parse(made.gid, text), 0);
	made.prefix_length = address_is_ipv4(made.gid) ? 24 : 64;
	return made;
}

/* The table after the kernel has these addresses: a string of one letter an address. */
static bool update(struct gids *gids, const char *names)
{
	struct gids_list list = {0};

	for (const char *name = names; *name; name++) {
		char text[] = "192.0.2.0", text6[] = "2001:db8::0";
		struct rtnl_address one;

		text[8] = text6[10] = *name >= 'a' ? (char)(*name - 'a' + '0') : *name;
		one = address(*name >= 'a' ? text6 : text, RT_SCOPE_UNIVERSE, 0);
		gids_list_add(&list, &one);
	}
	return gids_update(gids, &list);
}

/* The same names, '-' for an empty entry. */
static const char *names(const struct gids *gids, char text[PORT_GIDS_MAX + 1])
{
	for (uint16_t i = 0; i < gids->count; i++) {
		const uint8_t *gid = gids->gid[i].gid;

		text[i] = (char)(address_is_ipv4(gid) ? '0' + gid[15] : 'a' + gid[15]);
		if (address_is_unspecified(gid))
			text[i] = '-';
	}
	text[gids->count] = 0;
	return text;
}

static void indices_stay(void)
{
	static const struct {
		const char *there;
		bool changed;
		const char *table;
	} rows[] = {
		{"b1a2", true, "12ba"}, /* IPv4's first */
		{"b1a2", false, "12ba"},
		{"2a1b", false, "12ba"}, /* in whatever order the kernel lists them */
		{"b2a", true, "-2ba"},
		{"b2ac", true, "c2ba"}, /* the first empty entry is taken */
		{"b2ac1", true, "c2ba1"},
		{"b2", true, "-2b"}, /* no empty entries at the end */
		{"3a", true, "3a"},
		{"", true, ""},
		{"", false, ""},
		{"a", true, "a"},
	};
	struct gids gids = {0};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[PORT_GIDS_MAX + 1];

		CU_ASSERT_EQUAL(update(&gids, rows[i].there), rows[i].changed);
		CU_ASSERT_STRING_EQUAL(names(&gids, text), rows[i].table);
	}
}

static void prefix_changes(void)
{
	struct rtnl_address one = address("192.0.2.1", RT_SCOPE_UNIVERSE, 0);
	struct gids_list list = {0}, other = {0};
	struct gids gids = {0};

	gids_list_add(&list, &one);
	CU_ASSERT(gids_update(&gids, &list));
	one.prefix_length = 16;
	gids_list_add(&other, &one);
	CU_ASSERT(gids_update(&gids, &other));
	CU_ASSERT_EQUAL(gids.gid[0].prefix_length, 16);
	CU_ASSERT_FALSE(gids.gid[0].has_vlan);
}

static void full(void)
{
	struct gids_list list = {0};
	struct gids gids = {0};

	for (unsigned int i = 1; i <= PORT_GIDS_MAX + 2; i++) {
		struct rtnl_address one = address("192.0.2.1", RT_SCOPE_UNIVERSE, 0);

		one.gid[15] = (uint8_t)i;
		gids_list_add(&list, &one);
		gids_list_add(&list, &one); /* twice is once */
	}
	CU_ASSERT_EQUAL(list.count, PORT_GIDS_MAX);
	CU_ASSERT_EQUAL(list.left_out, 4); /* what is left out cannot be told from what is new */
	CU_ASSERT(gids_update(&gids, &list));
	CU_ASSERT_EQUAL(gids.count, PORT_GIDS_MAX);
	for (unsigned int i = 0; i < PORT_GIDS_MAX; i++) /* all others */
		list.gid[i].gid[14] = 9;
	CU_ASSERT(gids_update(&gids, &list));
	CU_ASSERT_EQUAL(gids.count, PORT_GIDS_MAX);
	CU_ASSERT_EQUAL(gids.gid[PORT_GIDS_MAX - 1].gid[14], 9);
}

static void wanted(void)
{
	static const struct {
		const char *text;
		uint8_t scope;
		uint32_t flags;
		bool without, with_link_local;
	} rows[] = {
		{"192.0.2.1", RT_SCOPE_UNIVERSE, IFA_F_PERMANENT, true, true},
		{"10.0.0.1", RT_SCOPE_SITE, 0, true, true},
		{"169.254.1.1", RT_SCOPE_LINK, 0, false, false},
		{"127.0.0.1", RT_SCOPE_HOST, 0, false, false},
		{"127.0.0.1", RT_SCOPE_UNIVERSE, 0, false, false},
		{"224.0.0.1", RT_SCOPE_UNIVERSE, 0, false, false},
		{"2001:db8::1", RT_SCOPE_UNIVERSE, 0, true, true},
		{"2001:db8::1", RT_SCOPE_UNIVERSE, IFA_F_DEPRECATED, true, true},
		{"2001:db8::1", RT_SCOPE_UNIVERSE, IFA_F_TENTATIVE, false, false},
		{"2001:db8::1", RT_SCOPE_UNIVERSE, IFA_F_DADFAILED, false, false},
		{"fe80::1", RT_SCOPE_LINK, 0, false, true},
		{"fe80::1", RT_SCOPE_LINK, IFA_F_TENTATIVE, false, false},
		{"::1", RT_SCOPE_HOST, 0, false, false},
		{"::", RT_SCOPE_UNIVERSE, 0, false, false},
		{"ff02::1", RT_SCOPE_UNIVERSE, 0, false, false},
		{"192.0.2.1", RT_SCOPE_NOWHERE, 0, false, false},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rtnl_address one = address(rows[i].text, rows[i].scope, rows[i].flags);

		CU_ASSERT_EQUAL(gids_wants(&one, false), rows[i].without);
		CU_ASSERT_EQUAL(gids_wants(&one, true), rows[i].with_link_local);
	}
}

static const struct unit_case cases[] = {
	UNIT_CASE(indices_stay),
	UNIT_CASE(prefix_changes),
	UNIT_CASE(full),
	UNIT_CASE(wanted),
};

UNIT_MAIN("netlink-gids", cases)
