/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From an address vector to a path: GID table, route, neighbour. Finding the neighbour's MAC may
 * take several rounds.
 */
#ifndef UROCE_ENGINE_ADDRESS_H
#define UROCE_ENGINE_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "build.h"
#include "object.h"
#include "port.h"

struct worker;

struct address {
	struct wire_path_attr path; /* all but P_Key, destination QPN and UDP source port */
	bool own;		    /* an address of this engine: looped, no neighbour */
	struct next_hop hop;
};

/*
 * Everything but the MAC. 0; -EINVAL: not global, no such GID, families differ, no unicast address;
 * -ENETUNREACH: no route.
 */
int address_find(struct port *port, const struct ibv_ah_attr *av, struct address *address);
/* The MAC. 0, -EINPROGRESS (ask again), -EHOSTUNREACH. */
int address_resolve(struct worker *worker, struct address *address);

/* The largest path MTU that a port's frames carry; 0: none. */
enum ibv_mtu address_mtu(uint32_t port_mtu);

/* Once a round: when the port's epoch has moved, tells clients what has changed and brings the MACs
 * of live QPs up to date, a few a round. */
void address_refresh(struct worker *worker);

#endif
