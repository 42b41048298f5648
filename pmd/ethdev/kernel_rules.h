/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inside of the rules for addresses that are the kernel's: it answers for them (ARP, ND, MLD,
 * echo), its routes and neighbours are asked for, and changes are heard of.
 */
#ifndef UROCE_ETHDEV_KERNEL_RULES_H
#define UROCE_ETHDEV_KERNEL_RULES_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "gids.h"
#include "hops.h"
#include "kernel_netlink.h"
#include "kernel_udp.h"
#include "log.h"
#include "rules.h"

/* Which of the kernel's addresses are shared. */
struct kernel_choice {
	bool link_local;
	uint16_t count; /* 0: all */
	uint8_t gid[PORT_GIDS_MAX][16];
};

struct kernel_rules {
	struct rules rules; /* first */
	struct hops_io io;
	struct hops hops;
	struct gids gids;
	struct held_addresses held;
	struct kernel_netlink netlink;
	struct kernel_choice choice;
	char interface[IF_NAMESIZE];
	unsigned int index;
	uint8_t mac[6];
	uint64_t changes; /* of addresses, and of our MAC */
	uint64_t now;
	uint64_t listen_due;
	uint64_t reroute_due;
	/* Heard of, and to be looked at. */
	bool addresses_changed, link_changed, routes_changed;
	struct log_limit log;
};

/* kernel_addresses.c */

/* Reads the interface's addresses, and holds UDP 4791 of those that are shared. At first each that
 * was chosen has to be there; later they may come and go. 0 or -errno, with a line. */
int kernel_addresses_open(struct kernel_rules *kernel);
void kernel_addresses_reread(struct kernel_rules *kernel);
/* The interface's MAC. */
int kernel_mac_read(struct kernel_rules *kernel);

/* kernel_questions.c */

extern const struct hops_io kernel_questions;

#endif
