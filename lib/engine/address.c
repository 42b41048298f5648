/* SPDX-License-Identifier: BSD-3-Clause */
/* Address vectors to paths. The peer's address is never learned from a packet (EP-16). */
#include "address.h"

#include <errno.h>
#include <string.h>

#include "events.h"
#include "state.h"

#define HOP_LIMIT 64u
#define SL_MAX 15u
#define FLOW_LABEL_MAX 0xfffffu
/* QPs a round whose neighbour is looked up again. */
#define REFRESH_QPS 64u

static bool is_zero(const uint8_t gid[16])
{
	static const uint8_t zero[16];

	return memcmp(gid, zero, sizeof(zero)) == 0;
}

/* The one table entry that says where we are in it. */
static int find_source(
	const struct port_info *info, const struct ibv_ah_attr *av, struct wire_path_attr *path)
{
	const struct port_gid *gid;

	if (av->grh.sgid_index >= info->gid_count)
		return -EINVAL;
	gid = &info->gids[av->grh.sgid_index];
	if (is_zero(gid->gid))
		return -EINVAL;
	memcpy(path->source, gid->gid, sizeof(path->source));
	memcpy(path->source_mac, info->mac, sizeof(path->source_mac));
	path->has_vlan = gid->has_vlan;
	if (gid->has_vlan) /* PCP from the SL, as Linux maps it: three bits */
		path->vlan_tci = (uint16_t)((av->sl & 7) << 13 | gid->vlan_id);
	return 0;
}

static bool is_own(const struct port_info *info, const uint8_t gid[16])
{
	for (uint16_t i = 0; i < info->gid_count; i++)
		if (memcmp(info->gids[i].gid, gid, 16) == 0)
			return true;
	return false;
}

/*
 * Programs put 0 or 1 into the hop limit (ibv_rc_pingpong: 1) because on Linux the kernel's route
 * decides it; with RoCE that is 64. Other values are meant.
 */
static uint8_t hop_limit(const struct ibv_ah_attr *av)
{
	return av->grh.hop_limit > 1 ? av->grh.hop_limit : HOP_LIMIT;
}

static bool vector_ok(const struct ibv_ah_attr *av)
{
	return av->is_global && av->port_num == LIMIT_PORT && av->sl <= SL_MAX &&
		av->grh.flow_label <= FLOW_LABEL_MAX && !is_zero(av->grh.dgid.raw);
}

static bool is_mapped(const uint8_t gid[16])
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(gid, prefix, sizeof(prefix)) == 0;
}

static int set_hop(struct port *port, const struct wire_path_attr *path, struct next_hop *hop)
{
	memcpy(hop->source, path->source, sizeof(hop->source));
	memcpy(hop->destination, path->destination, sizeof(hop->destination));
	return port->ops->route(port, hop->source, hop->destination, &hop->neighbour);
}

int address_find(struct port *port, const struct ibv_ah_attr *av, struct address *address)
{
	struct wire_path_attr *path = &address->path;
	struct port_info info;
	int error;

	*address = (struct address){0};
	if (!vector_ok(av))
		return -EINVAL;
	port->ops->info(port, &info);
	error = find_source(&info, av, path);
	if (error)
		return error;
	memcpy(path->destination, av->grh.dgid.raw, sizeof(path->destination));
	path->traffic_class = av->grh.traffic_class;
	path->flow_label = av->grh.flow_label;
	path->hop_limit = hop_limit(av);
	if (is_mapped(path->source) != is_mapped(path->destination))
		return -EINVAL;
	address->own = is_own(&info, path->destination);
	if (address->own) {
		memcpy(path->destination_mac, info.mac, sizeof(path->destination_mac));
		return 0;
	}
	return set_hop(port, path, &address->hop);
}

/*
 * A neighbour that the port has given up for others is routed to again. The port may have sent a
 * question, so when it wants to run next has changed.
 */
static int ask(struct worker *worker, struct next_hop *hop, uint8_t mac[6])
{
	struct port *port = worker->engine->port;
	uint64_t now = worker->core.now;
	int error = port->ops->neighbour(port, hop->neighbour, now, mac);

	if (error == -ESTALE) {
		error = port->ops->route(port, hop->source, hop->destination, &hop->neighbour);
		if (!error)
			error = port->ops->neighbour(port, hop->neighbour, now, mac);
	}
	worker->asked |= error == -EINPROGRESS;
	return error;
}

int address_resolve(struct worker *worker, struct address *address)
{
	if (address->own)
		return 0;
	return ask(worker, &address->hop, address->path.destination_mac);
}

/*
 * As Linux reckons (iboe_get_mtu() in include/rdma/ib_addr.h), so that two ends with the same MTU
 * come to the same result: IPv6 or GRH 40, UDP 8, BTH 12, XRC 4, AtomicETH 28, ICRC 4.
 */
#define OVERHEAD (40u + 8u + 12u + 4u + 28u + 4u)

enum ibv_mtu address_mtu(uint32_t port_mtu)
{
	for (unsigned int mtu = IBV_MTU_4096; mtu >= IBV_MTU_256; mtu--)
		if (port_mtu >= (128u << mtu) + OVERHEAD)
			return (enum ibv_mtu)mtu;
	return (enum ibv_mtu)0;
}

/* ---- changes ---- */

static void refresh_qp(struct worker *worker, struct engine_qp *qp)
{
	struct wire_path *path = rc_qp_path(qp->rc);
	uint8_t mac[6];

	if (!qp->routed)
		return;
	wire_path_set_source_mac(path, worker->info.mac); /* the kernel's may change, too */
	/* While the neighbour is being asked, or doesn't answer, the old MAC stays. */
	if (ask(worker, &qp->hop, mac) != 0 || memcmp(path->header, mac, sizeof(mac)) == 0)
		return;
	wire_path_set_mac(path, mac);
	worker->counters.mac_changes++;
}

static void raise_all(struct worker *worker, enum ibv_event_type type)
{
	list_for_each (node, &worker->engine->clients) {
		struct client *client = container_of(node, struct client, node);

		if (client->events)
			events_raise(worker, client->events, &client->port_events, type);
	}
}

static bool gids_differ(const struct port_info *a, const struct port_info *b)
{
	if (a->gid_count != b->gid_count)
		return true;
	for (uint16_t i = 0; i < a->gid_count; i++)
		if (memcmp(a->gids[i].gid, b->gids[i].gid, sizeof(a->gids[i].gid)) != 0)
			return true;
	return false;
}

static void tell_changes(struct worker *worker)
{
	struct engine *engine = worker->engine;
	struct port_info before = worker->info;
	struct port_info *now = &worker->info;

	engine->port->ops->info(engine->port, now);
	if (worker->number != 0) /* core 0 tells */
		return;
	worker->counters.link_downed += before.up && !now->up;
	if (before.up == now->up && !gids_differ(&before, now))
		return;
	if (before.up != now->up)
		raise_all(worker, now->up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
	if (gids_differ(&before, now))
		raise_all(worker, IBV_EVENT_GID_CHANGE);
}

static void start_refresh(struct worker *worker, uint32_t epoch)
{
	worker->refresh.epoch = epoch;
	worker->refresh.left = worker->qps.used;
	tell_changes(worker);
}

void address_refresh(struct worker *worker)
{
	struct refresh *refresh = &worker->refresh;
	const struct qp_table *qps = &worker->qps;
	/* Acquire: pairs with the port's release; what has changed can be seen. */
	uint32_t epoch = __atomic_load_n(&worker->engine->port->epoch, __ATOMIC_ACQUIRE);
	uint32_t count;

	if (epoch != refresh->epoch)
		start_refresh(worker, epoch);
	count = refresh->left < REFRESH_QPS ? refresh->left : REFRESH_QPS;
	refresh->left -= count;
	for (; count; count--) {
		struct engine_qp *qp = qps->slots[refresh->next % qps->used].qp;

		refresh->next = (refresh->next + 1) % qps->used;
		if (qp)
			refresh_qp(worker, qp);
	}
}
