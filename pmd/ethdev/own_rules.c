/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses that are the port's own: pmd/net answers for them and asks for others. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"
#include "random.h"
#include "rules.h"

struct own_rules {
	struct rules rules; /* first */
	struct net net;
};

static struct net *net_of(struct rules *rules)
{
	return &((struct own_rules *)rules)->net;
}

static const struct net *const_net_of(const struct rules *rules)
{
	return &((const struct own_rules *)rules)->net;
}

static void input(struct rules *rules, struct net_sink *sink, const uint8_t *data, uint32_t length,
	uint64_t now)
{
	net_input(net_of(rules), sink, data, length, now);
}

static int route(struct rules *rules, const uint8_t source[16], const uint8_t destination[16],
	uint64_t now, uint32_t *neighbour)
{
	return net_route(net_of(rules), source, destination, now, neighbour);
}

static int neighbour_mac(struct rules *rules, struct net_sink *sink, uint32_t neighbour,
	uint64_t now, uint8_t mac[6])
{
	return net_neighbour(net_of(rules), sink, neighbour, now, mac);
}

static uint64_t service(struct rules *rules, struct net_sink *sink, uint64_t now)
{
	return net_service(net_of(rules), sink, now);
}

static void link_up(struct rules *rules, uint64_t now)
{
	net_link_up(net_of(rules), now);
}

static void addresses(const struct rules *rules, struct port_info *info)
{
	const struct net *net = const_net_of(rules);

	memcpy(info->mac, net->mac, sizeof(info->mac));
	info->gid_count = net->address_count;
	memcpy(info->gids, net->addresses, sizeof(info->gids));
}

static uint64_t changes(const struct rules *rules)
{
	return const_net_of(rules)->neighbours.changes;
}

static void counters(const struct rules *rules, struct port_counters *sum)
{
	const struct net *net = const_net_of(rules);

	sum->arp_in = net->counters.arp_in;
	sum->arp_out = net->counters.arp_out;
	sum->nd_in = net->counters.nd_in;
	sum->nd_out = net->counters.nd_out;
	sum->echo = net->counters.echo;
	sum->unreachable = net->neighbours.unreachable;
	for (unsigned int i = NET_OK + 1; i < NET_DROPS; i++)
		sum->other_dropped += net->counters.drops[i];
}

static void close_rules(struct rules *rules)
{
	net_fini(net_of(rules));
	free(rules);
}

static const struct rules_ops ops = {
	.input = input,
	.route = route,
	.neighbour = neighbour_mac,
	.service = service,
	.link_up = link_up,
	.addresses = addresses,
	.changes = changes,
	.counters = counters,
	.close = close_rules,
};

int own_rules_open(
	const struct rules_port *port, const struct net_config *config, struct rules **rules)
{
	struct own_rules *own = calloc(1, sizeof(*own));
	uint64_t seed;
	int err;

	if (!own)
		return -ENOMEM;
	own->rules.ops = &ops;
	err = random_system(&seed, sizeof(seed));
	/* Time 0: the first service() announces the addresses. */
	if (!err)
		err = net_init(&own->net, config, port->mac, port->mtu, seed, 0);
	if (err) {
		free(own);
		return err;
	}
	*rules = &own->rules;
	return 0;
}
