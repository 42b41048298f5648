/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of the kernel into GIDs of the port. */
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "address.h"
#include "gids.h"

bool gids_wants(const struct rtnl_address *address, bool link_local)
{
	if (!address_is_unicast(address->gid) ||
		address->flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED))
		return false;
	if (address->scope == RT_SCOPE_LINK)
		return link_local && address_is_link_local(address->gid);
	return address->scope < RT_SCOPE_LINK;
}

static int find(const struct port_gid *gid, uint16_t count, const uint8_t address[16])
{
	for (uint16_t i = 0; i < count; i++)
		if (address_equal(gid[i].gid, address))
			return i;
	return -1;
}

bool gids_list_has(const struct gids_list *list, const uint8_t gid[16])
{
	return find(list->gid, list->count, gid) >= 0;
}

void gids_list_add(struct gids_list *list, const struct rtnl_address *address)
{
	struct port_gid *gid;

	if (gids_list_has(list, address->gid))
		return;
	if (list->count == PORT_GIDS_MAX) {
		list->left_out++;
		return;
	}
	gid = &list->gid[list->count++];
	*gid = (struct port_gid){.prefix_length = address->prefix_length};
	memcpy(gid->gid, address->gid, sizeof(gid->gid));
}

static bool is_zero(const struct port_gid *gid)
{
	return address_is_unspecified(gid->gid);
}

/* Entries whose addresses are gone become zero. */
static bool drop_gone(struct gids *gids, const struct gids_list *list)
{
	bool changed = false;

	for (uint16_t i = 0; i < gids->count; i++) {
		if (is_zero(&gids->gid[i]) || gids_list_has(list, gids->gid[i].gid))
			continue;
		gids->gid[i] = (struct port_gid){0};
		changed = true;
	}
	while (gids->count && is_zero(&gids->gid[gids->count - 1]))
		gids->count--;
	return changed;
}

/* There is room: each entry that is not zero is one of the list's, which has room itself. */
static void add(struct gids *gids, const struct port_gid *gid)
{
	uint16_t at = 0;

	while (at < gids->count && !is_zero(&gids->gid[at]))
		at++;
	gids->gid[at] = *gid;
	if (at == gids->count)
		gids->count++;
}

static bool add_new(struct gids *gids, const struct gids_list *list, bool ipv4)
{
	bool changed = false;

	for (uint16_t i = 0; i < list->count; i++) {
		const struct port_gid *gid = &list->gid[i];
		int at = find(gids->gid, gids->count, gid->gid);

		if (address_is_ipv4(gid->gid) != ipv4)
			continue;
		if (at < 0) {
			add(gids, gid);
			changed = true;
		} else if (gids->gid[at].prefix_length != gid->prefix_length) {
			gids->gid[at] = *gid;
			changed = true;
		}
	}
	return changed;
}

bool gids_update(struct gids *gids, const struct gids_list *list)
{
	bool changed = drop_gone(gids, list);

	changed |= add_new(gids, list, true);
	changed |= add_new(gids, list, false);
	return changed;
}
