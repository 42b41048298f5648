/* SPDX-License-Identifier: BSD-3-Clause */
/* A port's rules where the addresses are the kernel's: see kernel_rules.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "address.h"
#include "kernel_rules.h"

#define LISTEN_INTERVAL 20000000ull    /* ns between two looks at what the kernel tells */
#define REROUTE_INTERVAL 1000000000ull /* however often routes change */

static struct kernel_rules *to_kernel(struct rules *rules)
{
	return (struct kernel_rules *)rules;
}

static const struct kernel_rules *to_const_kernel(const struct rules *rules)
{
	return (const struct kernel_rules *)rules;
}

/* ---- what the kernel tells ---- */

/* Only marked here, since a burst of changes wants one look. Neighbours are taken as told. */
static void heard(void *context, const struct rtnl_message *message)
{
	struct kernel_rules *kernel = context;

	switch (message->kind) {
	case RTNL_ADDRESS:
		kernel->addresses_changed |= message->address.interface == kernel->index;
		break;
	case RTNL_LINK:
		if (message->link.interface == kernel->index) {
			kernel->link_changed = true;
			kernel->addresses_changed |= message->gone;
		}
		break;
	case RTNL_ROUTE:
		kernel->routes_changed = true;
		break;
	case RTNL_NEIGHBOUR:
		if (message->neighbour.interface == kernel->index)
			hops_heard(&kernel->hops, &message->neighbour, message->gone, kernel->now);
		break;
	default:
		break;
	}
}

/* Some of it was lost: everything is looked at again. */
static void resync(struct kernel_rules *kernel)
{
	if (log_limited(&kernel->log, kernel->now))
		log_notice("the kernel told of more changes than there was room for: addresses, "
			   "routes and neighbours of %s are read again",
			kernel->interface);
	kernel->addresses_changed = true;
	kernel->link_changed = true;
	hops_resync(&kernel->hops, kernel->now);
}

static void listen_to_kernel(struct kernel_rules *kernel)
{
	int err = netlink_hear(&kernel->netlink, heard, kernel);

	if (err == -ENOBUFS)
		resync(kernel);
	kernel->listen_due = err == -EAGAIN ? kernel->now : kernel->now + LISTEN_INTERVAL;
}

static void look_at_changes(struct kernel_rules *kernel)
{
	if (kernel->link_changed) {
		kernel->link_changed = false;
		kernel_mac_read(kernel);
	}
	if (kernel->addresses_changed) {
		kernel->addresses_changed = false;
		kernel_addresses_reread(kernel);
	}
	/* A route may go by with an address, and one daemon may change many. */
	if (kernel->routes_changed && kernel->now >= kernel->reroute_due) {
		kernel->routes_changed = false;
		kernel->reroute_due = kernel->now + REROUTE_INTERVAL;
		hops_reroute(&kernel->hops);
	}
}

static uint64_t service(struct rules *rules, struct net_sink *sink, uint64_t now)
{
	struct kernel_rules *kernel = to_kernel(rules);
	uint64_t hops;

	kernel->now = now;
	listen_to_kernel(kernel);
	look_at_changes(kernel);
	hops = hops_run(&kernel->hops, now);
	return hops < kernel->listen_due ? hops : kernel->listen_due;
}

/* ---- what the engine asks ---- */

static bool is_own(const struct kernel_rules *kernel, const uint8_t gid[16])
{
	for (uint16_t i = 0; i < kernel->gids.count; i++)
		if (address_equal(kernel->gids.gid[i].gid, gid))
			return true;
	return false;
}

static int route(struct rules *rules, const uint8_t source[16], const uint8_t destination[16],
	uint64_t now, uint32_t *neighbour)
{
	struct kernel_rules *kernel = to_kernel(rules);

	kernel->now = now;
	if (!is_own(kernel, source) || !address_is_unicast(destination) ||
		address_is_ipv4(source) != address_is_ipv4(destination))
		return -EINVAL;
	return hops_open(&kernel->hops, source, destination, now, neighbour);
}

static int neighbour_mac(struct rules *rules, struct net_sink *sink, uint32_t neighbour,
	uint64_t now, uint8_t mac[6])
{
	struct kernel_rules *kernel = to_kernel(rules);

	kernel->now = now;
	return hops_ask(&kernel->hops, neighbour, now, mac);
}

static void link_up(struct rules *rules, uint64_t now)
{
	to_kernel(rules)->routes_changed = true;
}

static void addresses(const struct rules *rules, struct port_info *info)
{
	const struct kernel_rules *kernel = to_const_kernel(rules);

	memcpy(info->mac, kernel->mac, sizeof(info->mac));
	info->gid_count = kernel->gids.count;
	memcpy(info->gids, kernel->gids.gid, sizeof(info->gids));
}

static uint64_t changes(const struct rules *rules)
{
	const struct kernel_rules *kernel = to_const_kernel(rules);

	return kernel->changes + kernel->hops.changes;
}

static void counters(const struct rules *rules, struct port_counters *sum)
{
	sum->unreachable = to_const_kernel(rules)->hops.unreachable;
}

static void close_rules(struct rules *rules)
{
	struct kernel_rules *kernel = to_kernel(rules);
	struct gids_list none = {0};

	held_update(&kernel->held, &none);
	netlink_close(&kernel->netlink);
	hops_fini(&kernel->hops);
	free(kernel);
}

static const struct rules_ops ops = {
	/* no input(): the kernel gets those frames itself */
	.route = route,
	.neighbour = neighbour_mac,
	.service = service,
	.link_up = link_up,
	.addresses = addresses,
	.changes = changes,
	.counters = counters,
	.close = close_rules,
};

/* ---- set-up ---- */

static void choose(struct kernel_choice *choice, const struct net_config *config)
{
	choice->link_local = config->link_local;
	choice->count = config->address_count;
	for (uint16_t i = 0; i < config->address_count; i++)
		memcpy(choice->gid[i], config->addresses[i].gid, ADDRESS_LENGTH);
}

/* Listening begins before the first look, so that no change falls between. */
static int set_up(struct kernel_rules *kernel)
{
	int err = netlink_open(&kernel->netlink);

	if (!err)
		err = kernel_mac_read(kernel);
	if (err) {
		log_error("the kernel's interface %s cannot be asked about: %s", kernel->interface,
			strerror(-err));
		return err;
	}
	return kernel_addresses_open(kernel);
}

int kernel_rules_open(
	const struct rules_port *port, const struct net_config *config, struct rules **rules)
{
	struct kernel_rules *kernel = calloc(1, sizeof(*kernel));
	uint32_t capacity = config->neighbours ? config->neighbours : NET_NEIGHBOURS_DEFAULT;
	int err;

	if (!kernel)
		return -ENOMEM;
	kernel->rules.ops = &ops;
	kernel->io = kernel_questions;
	kernel->netlink.ask = kernel->netlink.hear = -1;
	kernel->index = kernel->held.index = port->index;
	strncpy(kernel->interface, port->interface, sizeof(kernel->interface) - 1);
	choose(&kernel->choice, config);
	err = capacity <= HOPS_MAX ? hops_init(&kernel->hops, capacity, &kernel->io) : -EINVAL;
	if (!err)
		err = set_up(kernel);
	if (err) {
		close_rules(&kernel->rules);
		return err;
	}
	*rules = &kernel->rules;
	return 0;
}
