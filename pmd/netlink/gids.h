/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The GID table of a port whose addresses come and go. An entry keeps its index as long as its
 * address is there, since applications name it by that (ibv_ah_attr.grh.sgid_index) and Linux does
 * so, too (drivers/infiniband/core/cache.c): what is gone leaves a zero entry, what comes takes the
 * first of those. At first IPv4's are before IPv6's.
 */
#ifndef UROCE_NETLINK_GIDS_H
#define UROCE_NETLINK_GIDS_H

#include <stdbool.h>
#include <stdint.h>

#include "port.h"
#include "rtnl.h"

struct gids {
	uint16_t count; /* behind the last entry that is not zero */
	struct port_gid gid[PORT_GIDS_MAX];
};

/* The addresses that are there now. */
struct gids_list {
	uint16_t count;
	uint16_t left_out; /* for which there is no room */
	struct port_gid gid[PORT_GIDS_MAX];
};

/*
 * Is the kernel's address one to share: usable (not tentative, not a duplicate), one host's, and
 * of global scope, or IPv6's of the link if that is wanted?
 */
bool gids_wants(const struct rtnl_address *address, bool link_local);
/* Adds the address, unless it is there. */
void gids_list_add(struct gids_list *list, const struct rtnl_address *address);
bool gids_list_has(const struct gids_list *list, const uint8_t gid[16]);
/* Makes the table hold what the list holds. True if it has changed. */
bool gids_update(struct gids *gids, const struct gids_list *list);

#endif
