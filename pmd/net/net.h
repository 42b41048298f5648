/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network rules of a port whose addresses are its own: which next hop a destination has, who
 * that is on the link, and what this port answers to others. Pure: frames and time are handed in,
 * answers go into buffers of a sink. One owner at a time.
 */
#ifndef UROCE_NET_NET_H
#define UROCE_NET_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "address.h"
#include "announce.h"
#include "echo.h"
#include "frame.h"
#include "log.h"
#include "neighbours.h"
#include "port.h"
#include "routes.h"

#define NET_ROUTES_MAX 64u
#define NET_NEIGHBOURS_DEFAULT 1024u

/* A static route, or with prefix_length 0 a default gateway. */
struct net_route {
	uint8_t prefix[16];
	uint8_t prefix_length; /* of the family */
	uint8_t gateway[16];
	bool has_vlan; /* else the VLAN of the address whose prefix holds the gateway */
	uint16_t vlan_id;
};

struct net_config {
	uint16_t address_count;
	struct port_gid addresses[PORT_GIDS_MAX];
	uint16_t route_count;
	struct net_route routes[NET_ROUTES_MAX];
	bool link_local;     /* add fe80::/64 from the MAC */
	uint32_t neighbours; /* capacity of the table; 0: NET_NEIGHBOURS_DEFAULT */
};

struct net_counters {
	uint64_t arp_in, arp_out, nd_in, nd_out, echo;
	uint64_t conflicts;
	uint64_t drops[NET_DROPS]; /* [NET_OK]: frames that were of use */
};

struct net {
	uint8_t mac[6];
	uint32_t mtu;
	uint16_t address_count;
	struct port_gid addresses[PORT_GIDS_MAX]; /* IPv4-mapped first */
	struct announcement announcements[PORT_GIDS_MAX];
	struct routes routes;
	struct neighbours neighbours;
	struct echo_budget echo;
	struct net_counters counters;
	struct log_limit conflict_log;
};

/*
 * Checks the configuration and begins to announce the addresses. 0; -EINVAL (and a line that says
 * what is wrong), -ENOMEM.
 */
int net_init(struct net *net, const struct net_config *config, const uint8_t mac[6], uint32_t mtu,
	uint64_t seed, uint64_t now);
void net_fini(struct net *net);

/* A frame that is not RoCE. */
void net_input(
	struct net *net, struct net_sink *sink, const uint8_t *data, uint32_t length, uint64_t now);
/* As in struct port_ops; -ENOBUFS: the neighbour table is full. */
int net_route(struct net *net, const uint8_t source[16], const uint8_t destination[16],
	uint64_t now, uint32_t *neighbour);
/* As in struct port_ops; -ESTALE: the table was full and gave the entry up: route again. */
int net_neighbour(
	struct net *net, struct net_sink *sink, uint32_t neighbour, uint64_t now, uint8_t mac[6]);
/* Repeats, ageing, announcements. Returns when it wants to run next. */
uint64_t net_service(struct net *net, struct net_sink *sink, uint64_t now);
/* The link came up, perhaps on another switch: the addresses are announced again. */
void net_link_up(struct net *net, uint64_t now);

/* For the files of this folder. */

/* setup.c */
int net_setup_addresses(struct net *net, const struct net_config *config);
int net_setup_routes(struct net *net, const struct net_config *config);

static inline uint16_t gid_vlan(const struct port_gid *gid)
{
	return gid->has_vlan ? gid->vlan_id : VLAN_NONE;
}

#define NET_NO_ADDRESS UINT16_MAX

/* The index of our address on that VLAN, or NET_NO_ADDRESS. */
uint16_t net_own_address(const struct net *net, const uint8_t address[16], uint16_t vlan);
/* Somebody else claims an address of ours: logged, and defended. */
void net_conflict(struct net *net, uint16_t index, const uint8_t mac[6], uint64_t now);

#endif
