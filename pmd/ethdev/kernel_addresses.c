/* SPDX-License-Identifier: BSD-3-Clause */
/* Which addresses the kernel's interface has, and which of them are shared. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "address.h"
#include "kernel_rules.h"

#define LIST_ATTEMPTS 4u /* at a list that changes while it is read */

struct reading {
	const struct kernel_rules *kernel;
	struct gids_list *list;
};

static bool is_chosen(const struct kernel_choice *choice, const uint8_t gid[16])
{
	for (uint16_t i = 0; i < choice->count; i++)
		if (address_equal(choice->gid[i], gid))
			return true;
	return false;
}

/* Whoever names an address of the link wants it. */
static bool is_shared(const struct kernel_choice *choice, const struct rtnl_address *address)
{
	if (choice->count == 0)
		return gids_wants(address, choice->link_local);
	if (is_chosen(choice, address->gid))
		return gids_wants(address, true);
	return choice->link_local && address_is_link_local(address->gid) &&
		gids_wants(address, true);
}

static void add(void *context, const struct rtnl_message *message)
{
	struct reading *reading = context;

	if (message->kind == RTNL_ADDRESS && !message->gone &&
		message->address.interface == reading->kernel->index &&
		is_shared(&reading->kernel->choice, &message->address))
		gids_list_add(reading->list, &message->address);
}

static int read_family(struct kernel_rules *kernel, uint8_t family, struct gids_list *list)
{
	struct kernel_netlink *netlink = &kernel->netlink;
	struct reading reading = {kernel, list};
	int err = -EINTR;

	/* What was read of a list that changed is right as well; the change will be heard of. */
	for (unsigned int i = 0; err == -EINTR && i < LIST_ATTEMPTS; i++)
		err = netlink_list(netlink,
			rtnl_ask_addresses(
				netlink->request, netlink_sequence(netlink), family, kernel->index),
			add, &reading);
	return err == -EINTR ? 0 : err;
}

/* -ENODEV: the interface is gone, and its addresses with it. */
static int read_list(struct kernel_rules *kernel, struct gids_list *list)
{
	int err = read_family(kernel, AF_INET, list);

	if (!err)
		err = read_family(kernel, AF_INET6, list);
	return err == -ENODEV ? 0 : err;
}

static int complain_missing(const struct kernel_rules *kernel, const uint8_t gid[16])
{
	char text[ADDRESS_TEXT];

	log_error("address %s is not the kernel's on %s, or not usable yet (ip address show dev "
		  "%s): with --address-mode kernel it has to be",
		address_format(text, gid), kernel->interface, kernel->interface);
	return -EADDRNOTAVAIL;
}

static int check_list(const struct kernel_rules *kernel, const struct gids_list *list)
{
	for (uint16_t i = 0; i < kernel->choice.count; i++)
		if (!gids_list_has(list, kernel->choice.gid[i]))
			return complain_missing(kernel, kernel->choice.gid[i]);
	if (list->count == 0) {
		log_error("the kernel has no address on %s that could be shared: give it one (ip "
			  "address add A/P dev %s)",
			kernel->interface, kernel->interface);
		return -EADDRNOTAVAIL;
	}
	if (list->left_out)
		log_notice("%s has more addresses than the %u that a port has room for: name the "
			   "ones to share with --address",
			kernel->interface, PORT_GIDS_MAX);
	return 0;
}

int kernel_addresses_open(struct kernel_rules *kernel)
{
	struct gids_list list = {0};
	int err = read_list(kernel, &list);

	if (err) {
		log_error("the addresses of %s cannot be read: %s", kernel->interface,
			strerror(-err));
		return err;
	}
	err = check_list(kernel, &list);
	if (!err)
		err = held_update(&kernel->held, &list);
	if (!err)
		gids_update(&kernel->gids, &list);
	return err;
}

/* What differs, in words. */
static void log_difference(const struct kernel_rules *kernel, const struct gids *a,
	const struct gids *b, const char *is)
{
	char text[ADDRESS_TEXT];

	for (uint16_t i = 0; i < a->count; i++) {
		bool found = address_is_unspecified(a->gid[i].gid);

		for (uint16_t j = 0; !found && j < b->count; j++)
			found = address_equal(a->gid[i].gid, b->gid[j].gid);
		if (!found)
			log_notice("address %s is %s %s", address_format(text, a->gid[i].gid), is,
				kernel->interface);
	}
}

void kernel_addresses_reread(struct kernel_rules *kernel)
{
	struct gids before = kernel->gids;
	struct gids_list list = {0};

	if (read_list(kernel, &list)) {
		kernel->addresses_changed = true; /* once more, later */
		return;
	}
	held_update(&kernel->held, &list);
	if (!gids_update(&kernel->gids, &list))
		return;
	kernel->changes++;
	log_difference(kernel, &before, &kernel->gids, "gone from");
	log_difference(kernel, &kernel->gids, &before, "new on");
}

int kernel_mac_read(struct kernel_rules *kernel)
{
	struct kernel_netlink *netlink = &kernel->netlink;
	struct rtnl_message answer;
	int err = netlink_ask(netlink,
		rtnl_ask_link(netlink->request, netlink_sequence(netlink), kernel->index), &answer);

	if (err)
		return err;
	if (answer.kind != RTNL_LINK || !answer.link.has_mac)
		return -EPROTO;
	if (!mac_equal(kernel->mac, answer.link.mac))
		kernel->changes++;
	memcpy(kernel->mac, answer.link.mac, sizeof(kernel->mac));
	return 0;
}
